"""Whole runs in this process: who is asked, what is sent, what is decided and what is left for the next run."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from pagewatch.lock import lock
from tests.program import Program, configuration, files, ok, page, price, robots, until
from tests.site import SERVER, Line, Site, answer, conditional, silence
from tests.targets import closed_port, http_target
from tests.values import DAY, HOUR, MINUTE

CONTACT = "me@example.org"


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as site:
        site.script("/p", ok("20 dollars"))
        yield site


def dead(name: str) -> dict[str, object]:
    """A watch on a host where nobody answers."""
    return {"name": name, "url": f"http://127.0.0.1:{closed_port()}/p"}


# ------------------------------------------------------------------------------------------------------- one fetch


def test_watches_of_one_url_share_its_fetch(program: Program, site: Site) -> None:
    title = price(site, name="Title", select="title")
    run = program.check(config=configuration(price(site), title, price(site, name="Whole", select="body")))
    assert {name: row["new"] for name, row in run.watches.items()} == {
        "Price": "20 dollars",
        "Title": "Shop",
        "Whole": "20 dollars",
    }
    assert len(site.to("/p")) == 1
    assert run.summary["requests_avoided"] == 2


def test_watches_that_ask_differently_share_nothing(program: Program, site: Site) -> None:
    german = price(site, name="Preis", headers={"Accept-Language": "de"})
    program.check(config=configuration(price(site), german))
    assert [request.field("Accept-Language") for request in site.to("/p")] == [None, b"de"]


def test_where_validators_differ_one_unconditional_request_serves_both(program: Program, site: Site) -> None:
    site.script("/p", conditional(page("20 dollars"), etag='"1"'))
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    run = program.check(config=configuration(price(site), price(site, name="Title", select="title")))
    assert {name: row["outcome"] for name, row in run.watches.items()} == {"Price": "unchanged", "Title": "baseline"}
    assert [request.field("If-None-Match") for request in site.to("/p")] == [None, None]
    program.clock.forward(DAY)
    run = program.check()
    assert {row["outcome"] for row in run.watches.values()} == {"not-modified"}
    assert site.to("/p")[-1].field("If-None-Match") == b'"1"'
    assert len(site.to("/p")) == 3


# ---------------------------------------------------------------------------------------------------- robots.txt


def test_a_page_that_robots_txt_forbids_is_never_requested(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: pagewatch\nDisallow: /p\n"))
    run = program.check(config=configuration(price(site)))
    row = run.watches["Price"]
    assert row["outcome"] == "disallowed"
    assert row["detail"] == f"{site.url}/robots.txt line 2: Disallow: /p"
    assert run.returncode == 1
    program.clock.forward(DAY)
    assert program.check("--now").watches["Price"]["outcome"] == "disallowed"
    assert site.to("/p") == []


def test_a_redirect_does_not_lead_past_the_robots_txt_of_its_target(program: Program, site: Site, other: Site) -> None:
    site.script("/p", answer(b"", f"Location: {other.url}/p", status=302))
    other.script("/robots.txt", robots("User-agent: *\nDisallow: /\n"))
    row = program.check(config=configuration(price(site))).watches["Price"]
    assert row["outcome"] == "disallowed"
    assert f"{other.url}/p" in row["detail"]
    assert f"{other.url}/robots.txt line 2" in row["detail"]
    assert [request.target for request in other.requests] == ["/robots.txt"]


def test_robots_txt_is_asked_once_a_run_and_origin_and_kept_for_less_than_a_day(program: Program, site: Site) -> None:
    site.script("/q", ok("30 dollars"))
    program.check(config=configuration(price(site), price(site, name="Other", url=f"{site.url}/q")))
    assert [request.target for request in site.requests] == ["/robots.txt", "/p", "/q"]
    program.clock.forward(21 * HOUR)
    program.check("--now")
    assert len(site.to("/robots.txt")) == 1
    program.clock.forward(2 * HOUR)
    program.check("--now")
    assert len(site.to("/robots.txt")) == 2


def test_robots_txt_that_changes_is_obeyed_the_next_day(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: *\nAllow: /\n"), robots("User-agent: *\nDisallow: /p\n"))
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    assert program.check().watches["Price"]["outcome"] == "disallowed"
    assert len(site.to("/p")) == 1


def test_what_a_page_says_to_indexes_is_not_said_to_us(program: Program, site: Site) -> None:
    """rf-012: X-Robots-Tag and the meta element are about indexing, and no part of RFC 9309."""
    body = b"<!doctype html><meta name=robots content=noindex,nofollow><p id=price>20 dollars</p>"
    site.script("/p", answer(body, "Content-Type: text/html", "X-Robots-Tag: noindex, nofollow"))
    row = program.check(config=configuration(price(site))).watches["Price"]
    assert (row["outcome"], row["new"]) == ("baseline", "20 dollars")


def test_robots_txt_and_page_are_asked_by_the_same_user_agent(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site), contact=CONTACT))
    agents = {request.field("User-Agent") for request in site.requests}
    assert agents == {b"pagewatch/1.0.0 (+me@example.org)"}


def test_a_user_agent_of_ones_own_is_what_robots_txt_groups_are_matched_with(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: mybot\nDisallow: /p\n"))
    config = configuration(price(site), user_agent="mybot/2.0 (+https://example.org/bot)")
    assert program.check(config=config).watches["Price"]["outcome"] == "disallowed"
    assert {request.field("User-Agent") for request in site.requests} == {b"mybot/2.0 (+https://example.org/bot)"}


def test_while_robots_txt_cannot_be_read_its_pages_are_not_requested(program: Program, site: Site) -> None:
    site.script("/robots.txt", answer(b"", status=500))
    row = program.check(config=configuration(price(site))).watches["Price"]
    assert (row["outcome"], row["kind"]) == ("failed", "robots-unreachable")
    assert site.to("/p") == []


def test_robots_txt_is_ignored_with_a_reason_only_and_list_shows_it(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: *\nDisallow: /\n"))
    run = program.check(config=configuration(price(site, robots="ignore: the operator is my sister")))
    assert run.watches["Price"]["outcome"] == "baseline"
    assert "robots.txt is ignored: the operator is my sister" in program("list").stdout


# ----------------------------------------------------------------------------------------------- pauses and times


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_pauses_the_whole_host_over_runs_and_now_does_not_override_it(
    program: Program, site: Site, status: int
) -> None:
    site.script("/q", ok("30 dollars"))
    both = (price(site, every="1h"), price(site, name="Other", url=f"{site.url}/q", every="1h"))
    program.check(config=configuration(*both))
    site.script("/p", answer(b"", "Retry-After: 10800", status=status), ok("20 dollars"))
    program.clock.forward(HOUR)
    run = program.check()
    assert (run.watches["Price"]["outcome"], run.watches["Price"]["kind"]) == ("failed", "rate-limited")
    assert run.watches["Other"]["outcome"] == "deferred"
    asked = len(site.requests)
    program.clock.forward(2 * HOUR)
    assert {row["outcome"] for row in program.check("--now").watches.values()} == {"deferred"}
    assert {row["outcome"] for row in program.check().watches.values()} <= {"deferred", "not-due"}
    assert len(site.requests) == asked
    program.clock.forward(HOUR + MINUTE)
    assert {row["outcome"] for row in program.check().watches.values()} == {"unchanged"}


def test_a_pause_that_the_target_of_a_redirect_asks_for_holds_for_that_host(
    program: Program, site: Site, other: Site
) -> None:
    other.script("/busy", answer(b"", "Retry-After: 7200", status=429))
    site.script("/away", answer(b"", f"Location: {other.url}/busy", status=302))
    away, there, here = price(site, name="Away", url=f"{site.url}/away"), price(other, name="There"), price(site)
    program.config.write_text(configuration(away, there, here), encoding="utf-8")
    assert program.check("Away").watches["Away"]["kind"] == "rate-limited"
    assert program.check("There").watches["There"]["outcome"] == "deferred"
    assert other.to("/p") == []
    assert program.check("Price").watches["Price"]["outcome"] == "baseline"  # it asked for nothing


def test_now_overrides_interval_freshness_and_back_off(program: Program, site: Site, other: Site) -> None:
    site.script("/p", ok("20 dollars", "Cache-Control: max-age=86000"))
    other.script("/p", answer(b"", status=500))
    program.check(config=configuration(price(site), price(other, name="Broken")))
    program.clock.forward(MINUTE)
    assert {row["outcome"] for row in program.check().watches.values()} == {"not-due"}
    assert (len(site.to("/p")), len(other.to("/p"))) == (1, 1)
    run = program.check("--now")
    assert {row["outcome"] for row in run.watches.values()} == {"unchanged", "failed"}
    assert (len(site.to("/p")), len(other.to("/p"))) == (2, 2)


def test_a_host_that_is_backed_off_from_without_its_asking_is_asked_with_now(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site, every="1h")))
    site.script("/p", answer(b"", status=429))
    program.clock.forward(HOUR)
    program.check()
    program.clock.forward(MINUTE)
    assert program.check().watches["Price"]["outcome"] in ("deferred", "not-due")
    assert len(site.to("/p")) == 2
    program.check("--now")
    assert len(site.to("/p")) == 3


def test_an_hourly_watch_under_an_hourly_scheduler_is_looked_at_each_time(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site, every="1h")))
    for early in (2, -2, 3, -1):
        program.clock.forward(HOUR - timedelta(seconds=early))
        assert program.check().watches["Price"]["outcome"] == "unchanged"


def test_a_page_that_says_it_is_fresh_is_not_requested(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars", "Cache-Control: max-age=9000"))
    run = program.check(config=configuration(price(site, every="1h")))
    assert "`expires: ignore` looks anyway" in run.watches["Price"]["detail"]
    program.clock.forward(HOUR)
    run = program.check()
    assert run.watches["Price"]["outcome"] == "fresh"
    assert run.watches["Price"]["next_check"] == "2026-03-02T10:30:00Z"
    assert run.summary["requests_avoided"] == 1
    assert len(site.to("/p")) == 1
    program.clock.forward(2 * HOUR)
    assert program.check().watches["Price"]["outcome"] == "unchanged"


def test_with_expires_ignore_a_fresh_page_is_requested(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars", "Cache-Control: max-age=9000"))
    program.check(config=configuration(price(site, every="1h", expires="ignore")))
    program.clock.forward(HOUR)
    assert program.check().watches["Price"]["outcome"] == "unchanged"


def test_a_clock_that_was_wrong_does_not_put_off_the_next_look(program: Program, site: Site) -> None:
    program.clock.forward(400 * DAY)
    program.check(config=configuration(price(site)))
    program.clock.forward(-400 * DAY)
    assert program.check().watches["Price"]["outcome"] == "unchanged"


# ---------------------------------------------------------------------------------------------------------- trouble


def test_no_match_is_not_hidden_by_a_304_and_the_change_behind_it_is_told_from_the_last_good_look(
    program: Program, site: Site
) -> None:
    site.script("/p", conditional(page("20 dollars"), etag='"1"'))
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        site.script("/p", conditional(b"<p>closed</p>", etag='"2"'))
        for _ in range(2):
            program.clock.forward(DAY)
            run = program.check()
            assert run.watches["Price"]["outcome"] == "no-match"
            assert run.returncode == 1
            assert site.to("/p")[-1].field("If-None-Match") == b'"1"'
        site.script("/p", conditional(page("18 dollars"), etag='"3"'))
        program.clock.forward(DAY)
        run = program.check()
    assert (run.watches["Price"]["old"], run.watches["Price"]["new"]) == ("20 dollars", "18 dollars")
    assert run.returncode == 0
    assert len(target.titles) == 2
    assert "well again" in target.messages[1]["message"]


def test_a_page_that_is_gone_is_told_at_the_third_look_and_when_it_is_back(program: Program, site: Site) -> None:
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        site.script("/p", answer(b"", status=404))
        outcomes = []
        for _ in range(4):
            program.clock.forward(DAY)
            outcomes.append(program.check().watches["Price"]["outcome"])
        site.script("/p", ok("20 dollars"))
        program.clock.forward(DAY)
        program.check()
    assert outcomes == ["missing", "missing", "gone", "gone"]
    assert target.titles[0].startswith("Price: the page is gone")
    assert target.titles[1].startswith("Price: well again")
    assert len(target.titles) == 2


def test_a_page_that_cannot_be_read_is_told_at_the_third_look(program: Program, site: Site, other: Site) -> None:
    with http_target() as target:
        program.check(config=configuration(price(site), price(other, name="Good"), notify=target.url))
        site.script("/p", answer(b"", status=500))
        for told, returncode in ((0, 0), (0, 0), (1, 1), (1, 1)):
            program.clock.forward(DAY)
            run = program.check()
            assert (run.watches["Price"]["kind"], run.returncode) == ("http-500", returncode)
            assert len(target.titles) == told


def test_a_mistyped_url_is_told_at_the_first_look(program: Program, site: Site) -> None:
    with http_target() as target:
        run = program.check(config=configuration(price(site, url=f"{site.url}/pp"), notify=target.url))
        program.clock.forward(DAY)
        program.check()
    assert run.watches["Price"]["outcome"] == "missing"
    assert [title.split(",")[0] for title in target.titles] == ["Price: page not found"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (answer(b"x" * 25_000_000, "Content-Type: text/html"), "too-large"),
        (answer(gzip.compress(bytes(25_000_000)), "Content-Type: text/html", "Content-Encoding: gzip"), "too-large"),
        (answer(gzip.compress(page("18"))[:-9], "Content-Encoding: gzip"), "incomplete-body"),
        (answer(b"\x89PNG\r\n\x1a\n", "Content-Type: image/png"), "media-type"),
        (answer(b"", "Content-Type: text/html"), "empty-body"),
    ],
    ids=["25 MB", "a gzip bomb", "cut off gzip", "a picture", "nothing"],
)
def test_what_is_no_content_fails_and_moves_nothing(program: Program, site: Site, reply: bytes, kind: str) -> None:
    program.check(config=configuration(price(site)))
    before = program.record("Price")
    site.script("/p", reply, ok("18 dollars"))
    program.clock.forward(DAY)
    row = program.check().watches["Price"]
    assert (row["outcome"], row["kind"]) == ("failed", kind)
    assert program.record("Price")["baseline"] == before["baseline"]
    program.clock.forward(DAY)
    assert program.check().watches["Price"]["old"] == "20 dollars"


# ----------------------------------------------------------------------------------------------------------- offline


def test_a_machine_that_is_offline_blames_no_watch_and_says_so_once_a_day_later(program: Program, site: Site) -> None:
    with http_target() as target:
        lost = (dead("One"), dead("Two"))
        run = program.check(config=configuration(*lost, notify=target.url))
        assert {(row["outcome"], row["kind"]) for row in run.watches.values()} == {("failed", "offline")}
        assert run.stderr == "none of 2 hosts could be reached: this machine seems to be offline\n"
        assert "failures" not in program.record("One")
        for hours, told in ((12, 0), (12, 1), (12, 1)):
            program.clock.forward(hours * HOUR)
            run = program.check()
            assert {row["kind"] for row in run.watches.values()} == {"offline"}  # all have stayed due
            assert run.stderr == ""
            assert len(target.titles) == told
        program.clock.forward(HOUR)
        program.check(config=configuration(*lost, price(site), notify=target.url))
    assert "offline" in target.titles[0]
    assert any("online again" in f"{message['title']}{message['message']}" for message in target.messages[1:])
    assert "offline_since" not in program.document


def test_one_dead_host_beside_a_good_one_is_its_own_trouble(program: Program, site: Site) -> None:
    run = program.check(config=configuration(dead("Dead"), price(site)))
    assert run.watches["Price"]["outcome"] == "baseline"
    assert run.watches["Dead"]["outcome"] == "failed"
    assert run.watches["Dead"]["kind"] in ("connection", "robots-unreachable")
    assert program.record("Dead")["failures"] == 1


def test_two_watches_of_one_dead_host_do_not_make_the_machine_offline(program: Program) -> None:
    one = dead("One")
    run = program.check(config=configuration(one, {"name": "Two", "url": f"{one['url']}/q"}))
    assert "offline" not in {row["kind"] for row in run.watches.values()}


def test_status_1_while_the_machine_is_offline_and_that_was_told(program: Program) -> None:
    with http_target() as target:
        assert program.check(config=configuration(dead("One"), dead("Two"), notify=target.url)).returncode == 0
        program.clock.forward(DAY)
        assert program.check().returncode == 1


def test_an_offline_time_that_began_in_the_future_is_mended_and_told(program: Program) -> None:
    with http_target() as target:
        program.clock.forward(400 * DAY)
        program.check(config=configuration(dead("One"), dead("Two"), notify=target.url))
        program.clock.forward(-400 * DAY)
        for _ in range(3):
            program.check()
            program.clock.forward(DAY)
    assert len(target.titles) == 1


# ------------------------------------------------------------------------------------------------------ watches.yaml


def test_a_mistake_in_one_watch_takes_out_only_that_watch_and_is_told_once_an_edit(
    program: Program, site: Site
) -> None:
    with http_target() as target:
        broken = price(site, name="Broken", every="often")
        run = program.check(config=configuration(price(site), broken, notify=target.url))
        assert run.watches["Price"]["outcome"] == "baseline"
        assert (run.watches["Broken"]["outcome"], run.watches["Broken"]["kind"]) == ("failed", "config")
        assert run.returncode == 2
        assert run.stderr.startswith('watches.yaml:10: watch "Broken": every')
        assert (program.check().returncode, len(target.titles)) == (2, 1)
        program.check(config=configuration(price(site), {**broken, "every": "never"}, notify=target.url))
        assert len(target.titles) == 2
        run = program.check(config=configuration(price(site), {**broken, "every": "1d"}, notify=target.url))
    assert (run.returncode, run.stderr, len(target.titles)) == (0, "", 2)


def test_a_watch_keeps_its_state_while_its_definition_is_wrong(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check(config=configuration(price(site, select="p[")))
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    row = program.check(config=configuration(price(site))).watches["Price"]
    assert (row["outcome"], row["old"]) == ("changed", "20 dollars")


@pytest.mark.parametrize(
    "config",
    ["watches: [", "watches:\n", "wathces:\n  - url: {url}\n", "watches:\n  - url: {url}\nwatch: 1\n"],
    ids=["no YAML", "no watches", "a misspelt key", "an unknown key"],
)
def test_a_mistake_of_the_file_stops_the_run_before_any_request_and_is_told_once(
    program: Program, site: Site, config: str
) -> None:
    with http_target() as target:
        text = f"notify: {target.url}\n{config.replace('{url}', f'{site.url}/p')}"
        runs = [program.check(config=text), program.check()]
        assert [run.returncode for run in runs] == [2, 2]
        assert all(run.stderr.startswith("watches.yaml") for run in runs)
        assert site.requests == []
        assert len(target.titles) == 1
    assert "Traceback" not in runs[0].stderr


def test_two_watches_with_one_name_are_a_mistake_of_the_file(program: Program, site: Site) -> None:
    run = program.check(config=configuration(price(site), price(site, select="title")))
    assert run.returncode == 2
    assert "names must differ" in run.stderr
    assert site.requests == []


def test_a_variable_that_is_not_set_takes_out_its_watch_and_is_named(program: Program, site: Site) -> None:
    secret = price(site, name="Secret", headers={"Authorization": "Bearer ${PAGEWATCH_TEST_TOKEN}"})
    run = program.check(config=configuration(price(site), secret))
    assert run.watches["Secret"]["kind"] == "config"
    assert "${PAGEWATCH_TEST_TOKEN} is not set" in run.watches["Secret"]["detail"]
    assert run.watches["Price"]["outcome"] == "baseline"
    (program.config.parent / ".env").write_text("PAGEWATCH_TEST_TOKEN=abc\n", encoding="utf-8")
    (program.config.parent / ".env").chmod(0o600)
    program.check()
    assert site.to("/p")[-1].field("Authorization") == b"Bearer abc"


def test_a_target_that_cannot_be_used_is_reported_while_the_other_is_told(program: Program, site: Site) -> None:
    with http_target() as target:
        targets = {"good": target.url, "bad": "nosuchservice://somewhere"}
        program.config.write_text(
            configuration(price(site)).replace(
                "watches:", f"notify:\n  good: {targets['good']}\n  bad: {targets['bad']}\nwatches:"
            ),
            encoding="utf-8",
        )
        run = program.check()
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        assert program.check().returncode == 2
    assert run.returncode == 2
    assert "bad" in run.stderr
    assert "nosuchservice://somewhere" not in run.stderr
    assert target.titles[-1] == "Price: 20 dollars → 18 dollars"


def test_a_target_that_is_mended_gets_what_it_missed(program: Program, site: Site) -> None:
    with http_target() as target, http_target() as mended:
        wrong = f"notify:\n  good: {target.url}\n  bad: nosuchservice://x\n"
        program.check(config=wrong + configuration(price(site)))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program.check()
        assert program.outbox == [("Price", "changed", "bad")]
        right = wrong.replace("nosuchservice://x", mended.url)
        assert program.check(config=right + configuration(price(site))).returncode == 0
        assert mended.titles == ["Price: 20 dollars → 18 dollars"]


def test_a_missing_configuration_is_said_in_one_line(program: Program) -> None:
    run = program.check()
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert str(program.config) in run.stderr


# ------------------------------------------------------------------------------------------------------------ edits


def test_a_renamed_watch_keeps_all_that_is_remembered(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    run = program.check(config=configuration(price(site, name="Concert")))
    assert (run.watches["Concert"]["outcome"], run.watches["Concert"]["old"]) == ("changed", "20 dollars")
    assert [record["name"] for record in program.document["watches"]] == ["Concert"]


def test_an_edited_selector_makes_a_quiet_baseline_and_sends_no_validators(program: Program, site: Site) -> None:
    site.script("/p", conditional(page("20 dollars", around="tax included"), etag='"1"'))
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        program.clock.forward(DAY)
        run = program.check(config=configuration(price(site, select="p"), notify=target.url))
    row = run.watches["Price"]
    assert row["outcome"] == "baseline"
    assert "20 dollars → tax included" in row["detail"]
    assert site.to("/p")[-1].field("If-None-Match") is None
    assert (target.titles, run.returncode) == ([], 0)


def test_an_edit_of_how_it_is_asked_for_only_drops_the_validators(program: Program, site: Site) -> None:
    site.script("/p", conditional(page("20 dollars"), etag='"1"'))
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    run = program.check(config=configuration(price(site), contact=CONTACT))
    assert run.watches["Price"]["outcome"] == "unchanged"
    assert site.to("/p")[-1].field("If-None-Match") is None


def test_another_password_in_the_url_hides_no_change(program: Program, site: Site) -> None:
    """It is how the page is asked for, not what is watched."""
    url = f"{site.url}/p".replace("//", "//me:${PASSWORD}@")
    dot_env = program.config.parent / ".env"
    dot_env.write_text("PASSWORD=first-one\n", encoding="utf-8")
    dot_env.chmod(0o600)
    program.check(config=configuration(price(site, url=url)))
    dot_env.write_text("PASSWORD=second-one\n", encoding="utf-8")
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    row = program.check().watches["Price"]
    assert (row["outcome"], row["old"]) == ("changed", "20 dollars")


def test_a_watch_that_is_switched_off_is_not_asked_and_keeps_its_state(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    for _ in range(2):
        program.clock.forward(DAY)
        run = program.check(config=configuration(price(site, enabled=False), price(site, name="Title", select="title")))
        assert "Price" not in run.watches
    program.clock.forward(DAY)
    assert program.check(config=configuration(price(site))).watches["Price"]["outcome"] == "changed"


def test_an_edited_url_makes_a_quiet_baseline(program: Program, site: Site) -> None:
    site.script("/p", conditional(page("20 dollars"), etag='"1"'))
    site.script("/q", conditional(page("30 dollars"), etag='"1"'))
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    row = program.check(config=configuration(price(site, url=f"{site.url}/q"))).watches["Price"]
    assert (row["outcome"], row["new"]) == ("baseline", "30 dollars")
    assert "edited: 20 dollars → 30 dollars" in row["detail"]
    assert site.to("/q")[0].field("If-None-Match") is None


def test_a_shorter_interval_holds_from_the_next_run_on(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site, every="2w")))
    program.clock.forward(2 * HOUR)
    assert program.check(config=configuration(price(site, every="1h"))).watches["Price"]["outcome"] == "unchanged"


# ------------------------------------------------------------------------------------------------------ keys at work

LIST = "<ul><li>one</li><li>{}</li></ul>"
HTML = "Content-Type: text/html; charset=utf-8"


def html(body: str, status: int = 200) -> bytes:
    return answer(body.encode(), HTML, status=status)


@pytest.mark.parametrize(
    ("keys", "before", "after", "outcome", "old", "new"),
    [
        ({"select": "li"}, html(LIST.format(2)), html(LIST.format(3)), "unchanged", None, None),
        ({"select": "li", "match": "all"}, html(LIST.format(2)), html(LIST.format(3)), "changed", "one\n2", "one\n3"),
        ({"ignore": [".ad"]}, ok("20<b class=ad> a</b>"), ok("20<b class=ad> b</b>"), "unchanged", None, None),
        ({"ignore_text": "[0-9]+ visitors"}, ok("20, 7 visitors"), ok("20, 8 visitors"), "unchanged", None, None),
        ({"ignore_order": True}, ok("a<br>b"), ok("b<br>a"), "unchanged", None, None),
        ({"expect": "Tickets"}, ok("20 Tickets"), ok("error"), "no-match", None, None),
        ({"reject": "maintenance"}, ok("20"), ok("down for maintenance"), "no-match", None, None),
        ({"if_missing": "ok"}, ok("20"), html("<p>sold out</p>"), "changed", "20", ""),
        ({"confirm": 2}, ok("20"), ok("18"), "unchanged", None, None),
        ({"accept_status": [200, 404]}, ok("20"), html("<p id=price>none</p>", 404), "changed", "20", "none"),
        ({"encoding": "cp1251"}, answer(b"<p id=price>\xe0"), answer(b"<p id=price>\xe1"), "changed", "а", "б"),
        ({"source": "text", "select": ""}, html("<p>1"), html("<p>2"), "changed", "<p>1", "<p>2"),
        ({"headers": {"X-Key": "abc"}}, ok("20"), ok("18"), "changed", "20", "18"),
        ({"body": {"q": "tickets"}}, ok("20"), ok("18"), "changed", "20", "18"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_key_of_a_watch_does_what_the_readme_says(
    program: Program,
    site: Site,
    keys: dict[str, object],
    before: bytes,
    after: bytes,
    outcome: str,
    old: str | None,
    new: str | None,
) -> None:
    site.script("/p", before, after)
    watch = {key: value for key, value in {**price(site), **keys}.items() if value != ""}
    program.check(config=configuration(watch))
    program.clock.forward(DAY)
    row = program.check().watches["Price"]
    assert row["outcome"] == outcome
    assert (row["old"], row["new"]) == (old, new) or outcome == "unchanged"
    assert [(request.method, request.body) for request in site.to("/p")] == (
        [("POST", b"q=tickets")] * 2 if "body" in keys else [("GET", b"")] * 2
    )
    assert site.to("/p")[0].field("X-Key") == (b"abc" if "headers" in keys else None)


def test_an_adaptive_interval_is_doubled_and_halved_within_its_bounds(program: Program, site: Site) -> None:
    texts = ["20", "20", "20", "20", "18", "17", "17"]
    site.script("/p", *(ok(text) for text in texts))
    program.config.write_text(configuration(price(site, every="1h..4h")), encoding="utf-8")
    hours = []
    for _ in texts:
        due = program.check().watches["Price"]["next_check"]
        hours.append((datetime.fromisoformat(due.replace("Z", "+00:00")) - program.clock()) / HOUR)
        program.clock.forward(hours[-1] * HOUR)
    assert hours == [1, 2, 4, 4, 2, 1, 2]


def test_defaults_hold_for_every_watch_that_says_nothing_else(program: Program, site: Site) -> None:
    text = configuration(
        {"name": "Price", "url": f"{site.url}/p"}, {"name": "T", "url": f"{site.url}/p", "select": "title"}
    )
    run = program.check(config=text.replace("watches:", 'defaults:\n  select: "#price"\n  every: 2h\nwatches:'))
    assert {name: row["new"] for name, row in run.watches.items()} == {"Price": "20 dollars", "T": "Shop"}
    assert {row["next_check"] for row in run.watches.values()} == {"2026-03-02T10:00:00Z"}


def test_a_certificate_that_nobody_signed_is_refused_unless_the_user_says_otherwise(program: Program) -> None:
    with Site(tls=SERVER) as site:
        site.script("/p", ok("20 dollars"))
        strict, lax = (
            price(site, robots="ignore: mine"),
            price(site, name="Lax", robots="ignore: mine", verify_tls=False),
        )
        run = program.check(config=configuration(strict, lax))
    assert (run.watches["Price"]["outcome"], run.watches["Price"]["kind"]) == ("failed", "tls")
    assert run.watches["Lax"]["outcome"] == "baseline"


def test_a_silent_server_costs_its_timeout_and_no_more(program: Program, site: Site) -> None:
    site.script("/p", silence)
    began = time.monotonic()
    row = program.check(config=configuration(price(site, timeout="1s"))).watches["Price"]
    assert (row["outcome"], row["kind"]) == ("failed", "timeout")
    assert time.monotonic() - began < 3


# ---------------------------------------------------------------------------------------------- options of the run


def test_a_dry_run_saves_and_sends_nothing(program: Program, site: Site) -> None:
    site.script("/p", conditional(page("20 dollars"), etag='"1"'))
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        before = files(program.state)
        site.script("/p", conditional(page("18 dollars"), etag='"2"'))
        program.clock.forward(DAY)
        run = program.check("--dry-run")
        assert (run.watches["Price"]["outcome"], run.watches["Price"]["new"]) == ("changed", "18 dollars")
        assert files(program.state) == before
        assert target.requests == []
        assert program.check().watches["Price"]["outcome"] == "changed"
        assert target.titles == ["Price: 20 dollars → 18 dollars"]


def test_a_dry_run_before_the_first_run_leaves_a_first_visit(program: Program, site: Site) -> None:
    assert program.check("--dry-run", config=configuration(price(site))).watches["Price"]["outcome"] == "baseline"
    assert program.check().watches["Price"]["detail"] == "first look"


def test_a_dry_run_shows_a_change_on_a_pipe(program: Program, site: Site) -> None:
    program(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    assert "20 dollars → 18 dollars" in program("--dry-run").stdout


def test_check_name_looks_at_that_watch_only(program: Program, site: Site) -> None:
    site.script("/q", ok("30 dollars"))
    config = configuration(price(site), price(site, name="Other", url=f"{site.url}/q"))
    run = program.check("Other", config=config)
    assert list(run.watches) == ["Other"]
    assert site.to("/p") == []


def test_an_unknown_name_is_refused_with_the_nearest_one(program: Program, site: Site) -> None:
    run = program("check", "Prise", config=configuration(price(site)))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == 'there is no watch "Prise": did you mean "Price"?\n'
    assert site.requests == []


def test_a_watch_that_is_switched_off_is_refused_by_name(program: Program, site: Site) -> None:
    run = program("check", "Price", config=configuration(price(site, enabled=False), price(site, name="Other")))
    assert run.returncode == 2
    assert "enabled: false" in run.stderr


def test_a_broken_watch_that_is_asked_for_by_name_is_a_row_and_no_crash(program: Program, site: Site) -> None:
    run = program.check("Broken", config=configuration(price(site), price(site, name="Broken", every="often")))
    assert list(run.watches) == ["Broken"]
    assert (run.watches["Broken"]["kind"], run.returncode) == ("config", 2)
    assert site.requests == []


# ------------------------------------------------------------------------------------------------------- one at a time


def test_a_second_run_at_once_leaves_with_status_0_and_says_so_when_asked(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    with lock(program.state, now=program.clock()):
        silent, verbose, as_json = program(), program("-v"), program.check()
        on_terminal = program(terminal=True)
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    assert (verbose.returncode, verbose.stdout) == (0, "another run is at work; nothing was done\n")
    assert on_terminal.stdout == verbose.stdout
    assert (as_json.returncode, as_json.summary["locked"]) == (0, True)
    assert site.requests == []


def test_a_run_that_has_been_at_work_for_over_an_hour_is_warned_of(program: Program, site: Site) -> None:
    with lock(program.state, now=program.clock()):
        program.clock.forward(HOUR + MINUTE)
        run = program(config=configuration(price(site)))
        as_json = program.check()
    assert run.returncode == 1
    assert run.stderr == "another run has been at work since 2026-03-02 08:00 UTC: is it stuck?\n"
    assert (as_json.returncode, as_json.summary["locked"]) == (1, True)


def test_wait_waits_for_the_other_run_to_end(program: Program, site: Site) -> None:
    ended = threading.Event()

    def hold() -> None:
        with lock(program.state, now=program.clock()):
            held.set()
            ended.wait(5)

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(5)
    threading.Timer(0.3, ended.set).start()
    began = time.monotonic()
    run = program.check("Price", "--now", "--wait", "10", config=configuration(price(site)))
    thread.join()
    assert run.watches["Price"]["outcome"] == "baseline"
    assert time.monotonic() - began > 0.25


def test_wait_gives_up_when_its_time_is_over(program: Program, site: Site) -> None:
    with lock(program.state, now=program.clock()):
        run = program.check("--wait", "0.2", config=configuration(price(site)))
    assert (run.returncode, run.summary["locked"]) == (0, True)


# ----------------------------------------------------------------------------------------------------- side by side


def test_thirty_slow_hosts_are_asked_side_by_side(program: Program) -> None:
    def slow(line: Line) -> None:
        line.wait(0.4)
        line.send(ok("20 dollars"))

    sites = [Site() for _ in range(30)]
    try:
        for site in sites:
            site.script("/p", slow)
        began = time.monotonic()
        run = program.check(config=configuration(*(price(site, name=f"Shop {n}") for n, site in enumerate(sites))))
    finally:
        for site in sites:
            site.close()
    assert run.summary == {"watches": 30, "baseline": 30, "requests_avoided": 0, "unsent": 0}
    assert time.monotonic() - began < 6  # one after another: 12


def test_between_two_requests_to_one_host_is_a_gap(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site), gap="1s"))
    first, second = (request.at for request in site.requests)
    assert second - first >= 0.99


def test_what_a_run_has_no_time_for_is_deferred_and_stays_due(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    run = program.check_as(began=time.monotonic() - 13.5 * 60)
    assert run.watches["Price"]["outcome"] == "deferred"
    assert site.requests == []
    assert run.returncode == 0
    assert program.check().watches["Price"]["outcome"] == "baseline"


# ---------------------------------------------------------------------------------------------- records that are gone

LISTED = "<ul>{}</ul>"


def listed(site: Site, *names: str) -> bytes:
    rows = "".join(f"<li><a href={name}>{name}</a>" for name in names)
    return answer(f"<ul>{rows}</ul>".encode(), "Content-Type: text/html")


def test_what_became_of_records_is_asked_once_the_change_is_safe(program: Program, site: Site) -> None:
    saved: list[list[tuple[str, str, str]]] = []

    def gone(line: Line) -> None:
        until(lambda: program.outbox)
        saved.append(program.outbox)
        line.send(answer(b"", status=410))

    with http_target() as target, Site() as other:
        site.script("/list", listed(site, "/a", "/b", "/c", f"{other.url.replace('127.0.0.1', 'localhost')}/d"))
        keys = {"items": "li", "key": "a@href", "verify_removed": True}
        watch = {"name": "List", "url": f"{site.url}/list", **keys}
        program.check(config=configuration(watch, notify=target.url))
        site.script("/list", listed(site, "/a"))
        site.script("/b", gone)
        site.script("/c", answer(b"still", "Content-Type: text/html"))
        program.clock.forward(DAY)
        row = program.check().watches["List"]
        assert len(row["removed"]) == 3
        assert other.requests == []  # a page of another site is nobody's wish
    assert saved == [[("List", "changed", "json")]]
    text = target.messages[0]["message"]
    assert "− /b (its page is gone, 410)" in text and "− /c (no longer listed, its page is still there)" in text
    assert len(site.to("/b")) == len(site.to("/c")) == 1


def test_removed_records_that_nobody_is_told_of_are_not_asked_for(program: Program, site: Site) -> None:
    site.script("/list", listed(site, "/a", "/b"))
    keys = {"items": "li", "key": "a@href", "verify_removed": True, "only": "added"}
    program.check(config=configuration({"name": "List", "url": f"{site.url}/list", **keys}))
    site.script("/list", listed(site, "/a"))
    program.clock.forward(DAY)
    program.check("--dry-run")
    assert program.check().watches["List"]["detail"] == "muted by only: added"
    assert site.to("/b") == []


def in_three_seconds(line: Line) -> None:
    line.wait(3)
    line.send(answer(b"<urlset/>"))


def test_who_waits_for_further_documents_keeps_nobody_from_reading(program: Program, site: Site) -> None:
    """Two threads read; both wait for the sitemaps of an index, and the page of another host is read meanwhile."""
    with Site() as one, Site() as two, Site() as three:
        for slow in (one, two):
            child = f"<sitemapindex><sitemap><loc>{slow.url}/1.xml</loc></sitemap></sitemapindex>"
            slow.script("/s.xml", answer(child.encode(), "Content-Type: application/xml"))
            slow.script("/1.xml", in_three_seconds)
        three.script("/p", ok("20 dollars"))
        three.script("/q", ok("20 dollars"))
        maps = [{"name": slow.url, "url": f"{slow.url}/s.xml", "source": "sitemap"} for slow in (one, two)]
        pages = [{"name": path, "url": f"{three.url}{path}", "select": "#price"} for path in ("/p", "/q")]
        program.check(config=configuration(*maps, *pages))
        assert three.to("/q")[0].at - three.to("/p")[0].at < 2
