"""Signs of life: the heartbeat that says all is well, and the ping of a dead man's switch."""

from __future__ import annotations

import pytest

from tests.program import Program, configuration, ok, price
from tests.site import Site, answer
from tests.targets import http_target
from tests.values import DAY, HOUR

GONE = answer(b"<p>redesigned</p>", "Content-Type: text/html")


def test_a_heartbeat_says_once_a_period_that_all_is_well(program: Program, site: Site) -> None:
    with http_target() as target:
        text = configuration(price(site), notify=target.url, heartbeat="7d")
        for _ in range(15):
            assert program.check(config=text).returncode == 0
            program.clock.forward(DAY)
    assert target.titles == ["1 watched, all well"] * 2


def test_a_heartbeat_says_what_is_not_well(program: Program, site: Site) -> None:
    with http_target() as target:
        text = configuration(price(site), price(site, name="Old"), notify=target.url, heartbeat="2d")
        program.check(config=text)
        site.script("/p", GONE)
        program.clock.forward(DAY)
        program.check(config=text)
        program.clock.forward(DAY)
        program.check(config=text)
    assert target.titles[-1] == "2 watched, 2 in trouble"
    assert 'Price: no-match since 2026-03-03, select "#price" matches nothing' in target.messages[-1]["message"]


def test_a_watch_that_is_broken_in_the_file_is_not_well(program: Program, site: Site) -> None:
    with http_target() as target:
        text = configuration(price(site), price(site, name="Old", select=":::"), notify=target.url, heartbeat="1d")
        program.check(config=text)
        program.clock.forward(DAY)
        program.check(config=text)
    assert "2 watched, 1 in trouble" in target.titles


def test_a_heartbeat_comes_although_nothing_is_due(program: Program, site: Site) -> None:
    with http_target() as target:
        text = configuration(price(site, every="4w"), notify=target.url, heartbeat="1d")
        for _ in range(3):
            program("check", config=text)
            program.clock.forward(DAY)
        assert target.titles == ["1 watched, all well"] * 2
        program("check", "--dry-run", config=text)
        program("check", "Price", config=text)
        assert len(target.titles) == 2


def test_a_heartbeat_that_is_taken_out_of_the_file_ends(program: Program, site: Site) -> None:
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url, heartbeat="1d"))
        program.clock.forward(DAY)
        program.check(config=configuration(price(site), notify=target.url))
        assert "heartbeat" not in program.document


def test_a_ping_follows_each_run_that_has_finished(program: Program, site: Site) -> None:
    site.script("/alive", answer(b"OK", "Content-Type: text/plain"))
    text = configuration(price(site), ping=f"{site.url}/alive")
    program("check", config=text)
    program.clock.forward(HOUR)
    program("check", config=text)  # nothing is due
    site.script("/p", GONE)
    program.clock.forward(DAY)
    assert program("check", config=text).returncode == 1  # trouble that was told is no failed run
    assert len(site.to("/alive")) == 3
    program("check", "--dry-run", config=text)
    program("check", "Price", "--now", config=text)
    assert len(site.to("/alive")) == 3


@pytest.mark.parametrize("broken", [{"select": ":::"}, {"every": "never"}])
def test_no_ping_follows_a_run_that_failed(program: Program, site: Site, broken: dict[str, str]) -> None:
    text = configuration(price(site), price(site, name="Old", **broken), ping=f"{site.url}/alive")
    assert program("check", config=text).returncode == 2
    assert site.to("/alive") == []


@pytest.mark.parametrize("status", [404, 500])
def test_a_ping_that_does_not_arrive_is_said_once_and_without_its_address(
    program: Program, site: Site, status: int
) -> None:
    site.script("/secret-uuid", answer(b"no", status=status))
    text = configuration(price(site), ping=f"{site.url}/secret-uuid")
    run = program("check", config=text)
    assert str(status) in run.stderr and run.stderr.startswith("ping: ") and run.returncode == 0
    assert "secret-uuid" not in run.stdout + run.stderr + str(program.document)
    program.clock.forward(HOUR)
    assert program("check", config=text).stderr == ""
    site.script("/secret-uuid", ok("fine"))
    program.clock.forward(HOUR)
    program("check", config=text)
    assert "ping_told" not in program.document


def test_a_ping_without_a_body_arrives(program: Program, site: Site) -> None:
    site.script("/alive", answer(b"", status=204))
    assert program("check", config=configuration(price(site), ping=f"{site.url}/alive")).stderr == ""


# ------------------------------------------------------------------------------------------- not seen for long


@pytest.mark.parametrize("status", [429, 503])
def test_a_watch_that_waits_for_long_because_its_host_asked_for_it_is_told_as_stale(
    program: Program, site: Site, status: int
) -> None:
    """Each look that is not made is excusable; that nobody has seen the page for a week is not."""
    with http_target() as target:
        text = configuration(price(site), notify=target.url)
        program("check", config=text)
        site.script("/p", answer(b"", f"Retry-After: {29 * 86_400}", status=status))
        for _ in range(20):
            program.clock.forward(DAY)
            program("check", config=text)
    assert len(target.titles) == 1 and "not verified since 2026-03-02" in target.titles[0]


def test_a_heartbeat_knows_of_trouble_that_was_not_told_yet(program: Program, site: Site) -> None:
    with http_target() as target:
        text = configuration(price(site), notify=target.url, heartbeat="1d")
        program("check", config=text)
        site.script("/p", answer(b"", status=500))
        program.clock.forward(DAY)
        program("check", config=text)
    assert target.titles == ["1 watched, 1 in trouble"]


def test_a_history_that_cannot_be_written_is_said_once_and_shown_by_list_and_doctor(
    program: Program, site: Site
) -> None:
    program("check", config=configuration(price(site)))
    (program.state / "history.db").unlink()
    (program.state / "history.db").mkdir()
    said = []
    for text in ("18 dollars", "17 dollars"):
        site.script("/p", ok(text))
        program.clock.forward(DAY)
        said.append(program("check").stderr)
    assert "history.db" in said[0] and said[1] == ""
    assert "history.db" in program("list").stdout
    run = program("doctor")
    assert run.returncode != 0 and "history.db" in run.stdout
    (program.state / "history.db").rmdir()
    site.script("/p", ok("16 dollars"))
    program.clock.forward(DAY)
    program("check")
    assert program("history", "Price").stdout.count("dollars →") == 3
    assert "history.db" not in program("list").stdout
