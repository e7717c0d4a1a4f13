"""`monitor.py report` and changes.atom: what they show of a real state, and that neither gets in a run's way."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from datetime import datetime
from pathlib import Path
from typing import Any

import feedparser  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]
import pytest

import monitor
from pagewatch import changes, history, publishing
from pagewatch.answers import Amount, Extract, Item
from pagewatch.frozen import replace
from pagewatch.lock import lock
from pagewatch.model import Baseline, Event
from pagewatch.state import read_memory
from tests.program import Program, configuration, files, mode, ok, price
from tests.site import Site, answer
from tests.targets import closed_port
from tests.values import DAY, HOUR, MINUTE, START, first_sight, watch

posix = pytest.mark.skipif(os.name != "posix", reason="needs fork")


def looks_at(program: Program, site: Site, *texts: str, **keys: object) -> None:
    """A daily look at each of these prices."""
    for text in texts:
        site.script("/p", ok(text))
        program("check", config=configuration(price(site, **keys)))
        program.clock.forward(DAY)


def page_of(program: Program) -> Any:
    run = program("report")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{program.state / 'report.html'}\n", "")
    return lxml.html.document_fromstring((program.state / "report.html").read_text(encoding="utf-8"))


def section(page: Any, name: str) -> Any:
    (found,) = [each for each in page.iterfind(".//section") if each.findtext(".//h2") == name]
    return found


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


def feed_of(program: Program) -> Any:
    feed = feedparser.parse((program.state / "changes.atom").read_bytes())
    assert not feed.bozo
    return feed


def titles(program: Program) -> list[str]:
    return [entry.title for entry in feed_of(program).entries]


# --------------------------------------------------------------------------------------------------------- the page


def test_the_report_shows_every_watch_of_the_file_as_list_does(program: Program, site: Site) -> None:
    others = [
        price(site, name="Trouble", select="#none"),
        price(site, name="Off", enabled=False),
        price(site, name="Robots", robots="ignore: the clerk said so", every="1h..30d"),
    ]
    program("check", config=configuration(price(site), *others))
    program.config.write_text(configuration(price(site), *others, price(site, name="Broken", select="p[")))
    page = page_of(program)
    listed = {row["watch"]: row["state"] for row in program("list", "--json").lines}
    assert listed == {"Price": "ok", "Trouble": "no-match", "Off": "off", "Robots": "ok", "Broken": "failed"}
    assert "Well" in words(section(page, "Price")) and "Verifiednow" in words(section(page, "Price"))
    assert "Trouble: no-match" in words(section(page, "Trouble"))
    assert 'select "#none" matches nothing' in words(section(page, "Trouble"))
    assert "Off" in words(section(page, "Off"))
    robots = words(section(page, "Robots"))
    assert "robots.txt is ignored: the clerk said so" in robots and "1 hour (1 hour to 30 days)" in robots
    assert "Trouble: failed" in words(section(page, "Broken")) and "line " in words(section(page, "Broken"))


def test_the_report_shows_the_last_changes_side_by_side_and_the_values_of_a_number(
    program: Program, site: Site
) -> None:
    looks_at(program, site, *[f"{number} dollars" for number in (20, 18, 25, 25, 24, 23, 22, 21)], number=True)
    shown = section(page_of(program), "Price")
    rows = [[words(cell) for cell in row] for row in shown.iterfind(".//table/tbody/tr")]
    assert rows[0] == ["22 dollars", "21 dollars"]
    assert rows == [[f"{number + 1} dollars", f"{number} dollars"] for number in (21, 22, 23, 24)] + [
        ["18 dollars", "25 dollars"]
    ]
    assert words(shown.find(".//summary")).endswith("22 dollars → 21 dollars (−1, −4.5 %)")
    assert "1 earlier change: see monitor.py history" in words(shown)
    assert "Now21" in words(shown) and "Lowest18" in words(shown) and "Highest25" in words(shown)
    assert "6 changes on 6 days" in words(shown) and "Looks8 Changes6".replace(" ", "") in words(shown).replace(" ", "")


def test_the_report_shows_what_is_different_in_records(program: Program, site: Site) -> None:
    course = "<li data-id={}><h3>{}</h3><p class=places>{}</p>"
    keys = {"items": "li", "key": "@data-id", "fields": {"title": "h3", "places": ".places"}}
    for rows in ((1, "Go", 3), (2, "Chess", 5)), ((1, "Go", 1), (3, "Bridge", 4)):
        site.script("/p", answer("".join(course.format(*row) for row in rows).encode(), "Content-Type: text/html"))
        program("check", config=configuration({"name": "Courses", "url": f"{site.url}/p", **keys}))
        program.clock.forward(DAY)
    table = section(page_of(program), "Courses").iterfind(".//table/tbody/tr")
    assert [[words(cell) for cell in row] for row in table] == [
        ["", "Bridge"],
        ["Go, places: 3", "Go, places: 1"],
        ["Chess", ""],
    ]


def test_entries_that_leave_a_feed_are_not_shown_as_removed(program: Program, site: Site) -> None:
    entry = "<item><title>{0}</title><link>/{0}</link><guid>{0}</guid></item>"
    for names in (("Budget", "Parks"), ("Ferry", "Budget")):
        text = f"<rss version='2.0'><channel><title>N</title>{''.join(map(entry.format, names))}</channel></rss>"
        site.script("/p", answer(text.encode(), "Content-Type: application/rss+xml"))
        program("check", config=configuration({"name": "News", "url": f"{site.url}/p"}))
        program.clock.forward(DAY)
    (row,) = section(page_of(program), "News").iterfind(".//table/tbody/tr")
    assert [words(cell) for cell in row] == ["", "Ferry"]
    assert "Parks" not in feed_of(program).entries[0].content[0].value


def test_a_report_before_the_first_run_shows_new_watches_and_no_feed(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)))
    assert "Waiting: new" in words(section(page_of(program), "Price"))
    assert list(files(program.state)) == ["report.html"]
    assert program("check").returncode == 0, "it is no sign that there was a state"
    if os.name == "posix":
        assert (mode(program.state), mode(program.state / "report.html")) == (0o700, 0o600)


def test_neither_page_nor_feed_has_a_secret_that_a_page_repeats(program: Program, site: Site) -> None:
    secret = "s3cret-token"
    (program.config.parent / ".env").write_text(f"TOKEN={secret}\n")
    (program.config.parent / ".env").chmod(0o600)
    headers = {"X-Token": "${TOKEN}"}
    around = "word " * 20
    looks_at(program, site, f"{around} hello {secret}", f"{around} bye {secret} {around}", headers=headers)
    page_of(program)
    for name in ("report.html", "changes.atom"):
        text = (program.state / name).read_text(encoding="utf-8")
        assert "bye •••" in text.replace("</ins> <ins>", " ")
        assert "s3cret" not in text


def test_notes_say_what_else_there_is_to_know(program: Program, site: Site) -> None:
    dead = {"phone": f"json://127.0.0.1:{closed_port()}"}
    for text in ("20", "18"):
        site.script("/p", ok(text))
        program("check", config=configuration(price(site), price(site, name="Old"), notify=dead))
        program.clock.forward(DAY)
    assert "2 notices not delivered yet" in words(page_of(program).find(".//ul[@class='notes']"))
    program.config.write_text(configuration(price(site), notify={"mail": "json://127.0.0.1:9"}))
    (program.state / "history.db.damaged-20260302T080000Z").write_bytes(b"x")
    notes = words(page_of(program).find(".//ul[@class='notes']"))
    assert "2 unsent for phone, no longer in the file" in notes
    assert "remembered, but no longer in the file: Old" in notes
    assert "kept aside as damaged: history.db.damaged-20260302T080000Z" in notes


@pytest.mark.parametrize("damage", ["bytes", "folder"])
def test_where_the_history_cannot_be_read_the_report_says_so_and_is_written(
    program: Program, site: Site, damage: str
) -> None:
    looks_at(program, site, "20", "18")
    (program.state / "history.db").unlink()
    if damage == "bytes":
        (program.state / "history.db").write_bytes(b"no database at all")
    else:
        (program.state / "history.db").mkdir()
    feed = (program.state / "changes.atom").read_bytes()
    run = program("report")
    assert run.returncode == 0 and run.stdout and run.stderr.count("\n") == 1 and "history.db" in run.stderr
    page = lxml.html.document_fromstring((program.state / "report.html").read_text(encoding="utf-8"))
    assert "history.db" in words(page.find(".//ul[@class='notes']"))
    assert "Well" in words(section(page, "Price"))
    assert (program.state / "changes.atom").read_bytes() == feed


def test_what_the_history_has_not_got_yet_is_in_the_report(program: Program, site: Site) -> None:
    """It was never written: a folder was in its place."""
    program("check", config=configuration(price(site)))
    (program.state / "history.db").rename(program.state.parent / "history.db")
    (program.state / "history.db").mkdir()
    program.clock.forward(DAY)
    for text in ("19 dollars", "18 dollars"):
        site.script("/p", ok(text))
        program("check")
        program.clock.forward(DAY)
    assert not (program.state / "changes.atom").exists()
    program("report")
    page = lxml.html.document_fromstring((program.state / "report.html").read_text(encoding="utf-8"))
    rows = section(page, "Price").iterfind(".//table/tbody/tr")
    assert [words(cell) for row in rows for cell in row] == ["19 dollars", "18 dollars"]
    (program.state / "history.db").rmdir()
    (program.state.parent / "history.db").rename(program.state / "history.db")
    rows = section(page_of(program), "Price").iterfind(".//table/tbody/tr")
    assert [words(cell) for row in rows for cell in row][-2:] == ["20 dollars", "19 dollars"]
    assert titles(program) == ["Price: 19 dollars → 18 dollars", "Price: 20 dollars → 19 dollars"]


def test_a_run_at_work_does_not_matter(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "18")
    with lock(program.state, now=program.clock()):
        assert "Well" in words(section(page_of(program), "Price"))


def test_a_report_that_cannot_be_written_is_the_users_to_mend(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    (program.state / "report.html").mkdir()
    run = program("report")
    assert (run.returncode, run.stdout) == (2, "") and "report.html cannot be saved: " in run.stderr
    assert not list(program.state.glob("*.tmp"))


def test_a_wrong_file_or_a_state_that_is_gone_is_the_usual_error(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    (program.state / "state.json").unlink()
    run = program("report")
    assert run.returncode == 2 and "state.json is gone" in run.stderr
    run = program("report", config="watches:\n")
    assert run.returncode == 2 and run.stderr.startswith("watches.yaml:1: ")
    assert not (program.state / "report.html").exists()


def test_fifty_watches_with_two_thousand_versions_are_a_page_of_two_megabytes_in_two_seconds(
    program: Program, site: Site
) -> None:
    watches = [price(site, name=f"Watch {number}", number=True) for number in range(50)]
    program("check", config=configuration(*watches))
    lines = [f"line {number} of a page that is neither short nor long" for number in range(100)]
    events = []
    for record in program.document["watches"]:
        for number in range(2, 42):
            lines[number] = f"line {number} has changed"
            at = program.clock() + number * MINUTE
            extract = Extract("\n".join(lines), amounts=(Amount("", str(number), str(number)),))
            look = Event(f"{record['id']}-{number}", record["id"], at, "changed", fingerprint=f"{number}")
            events.append(replace(look, extract=extract, title=f"line {number}"))
    history.write(program.state, events, [], program.clock())
    program.clock.forward(DAY)
    began = time.process_time()
    page = page_of(program)
    assert time.process_time() - began < 2
    assert (program.state / "report.html").stat().st_size < 2_000_000
    assert len(page.findall(".//section")) == 51 and "41 values" in words(section(page, "Watch 7"))
    assert len(feed_of(program).entries) == 100


# --------------------------------------------------------------------------------------------------------- the feed


def test_a_change_is_in_the_feed_when_the_run_has_ended(program: Program, site: Site) -> None:
    looks_at(program, site, "20 dollars", "18 dollars")
    (entry,) = feed_of(program).entries
    assert entry.title == "Price: 20 dollars → 18 dollars"
    assert entry.link == f"{site.url}/p"
    assert entry.content[0].value == "20 dollars → 18 dollars"
    assert entry.updated == "2026-03-03T08:00:00Z"
    if os.name == "posix":
        assert mode(program.state / "changes.atom") == 0o600


def test_feed_and_entries_keep_their_ids(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "18")
    before = feed_of(program)
    looks_at(program, site, "19", "19")
    program("report")
    after = feed_of(program)
    assert after.feed.id == before.feed.id
    assert [entry.id for entry in after.entries][1:] == [entry.id for entry in before.entries]


def test_two_installations_have_two_feeds(program: Program, site: Site, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Program(tmp_path / "other")
    other.clock.forward(HOUR)
    for each in (program, other):
        looks_at(each, site, "20", "18")
    assert feed_of(program).feed.id != feed_of(other).feed.id


def test_a_run_without_a_change_writes_no_feed(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "18")
    (program.state / "changes.atom").unlink()
    looks_at(program, site, "18")
    assert not (program.state / "changes.atom").exists()
    program("report")
    assert titles(program) == ["Price: 20 → 18"]


def test_a_baseline_is_no_change(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    looks_at(program, site, "20", select="title")
    assert not (program.state / "changes.atom").exists()
    program("report")
    assert titles(program) == []


def test_what_a_watch_does_not_want_to_be_told_is_not_in_the_feed(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "30", when={"below": 18})
    assert not (program.state / "changes.atom").exists()
    looks_at(program, site, "17", "16", when={"below": 18})
    assert titles(program) == ["Price: 30 → 17 (−13, −43.3 %, the lowest seen)"]
    assert "30 → 17" in words(page_of(program)) and "20 → 30" in words(page_of(program))


def test_of_a_change_only_the_part_is_in_the_feed_that_is_told(program: Program, site: Site) -> None:
    for names in ("ab", "bc"):
        rows = "".join(f"<li>{name}" for name in names)
        site.script("/p", answer(f"<ul>{rows}</ul>".encode(), "Content-Type: text/html"))
        program("check", config=configuration({"name": "L", "url": f"{site.url}/p", "items": "li", "only": "added"}))
        program.clock.forward(DAY)
    (entry,) = feed_of(program).entries
    assert (entry.title, entry.content[0].value) == ("L: 1 added: c", "+ c")


def test_a_forgotten_watch_is_in_the_feed_no_more_and_a_renamed_one_has_its_new_name(
    program: Program, site: Site
) -> None:
    looks_at(program, site, "20", "18")
    looks_at(program, site, "18", name="Ticket")
    program("report")
    assert titles(program) == ["Ticket: 20 → 18"]
    program("forget", "Ticket")
    program("report")
    assert titles(program) == []


def test_a_feed_that_cannot_be_written_is_said_once_and_written_later(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    (program.state / "changes.atom").mkdir()
    site.script("/p", ok("18"))
    run = program("check")
    assert run.returncode == 0 and "Price: 20 → 18" in run.stdout
    assert run.stderr.count("\n") == 1 and "changes.atom cannot be saved: " in run.stderr
    program.clock.forward(DAY)
    run = program("check")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    run = program("report")
    assert run.returncode == 0 and "changes.atom cannot be saved: " in run.stderr
    (program.state / "changes.atom").rmdir()
    program.clock.forward(DAY)
    program("check")
    assert titles(program) == ["Price: 20 → 18"]


def test_a_run_that_cannot_read_its_configuration_leaves_the_feed_to_the_next(program: Program, site: Site) -> None:
    """Nobody would know the secrets."""
    looks_at(program, site, "20")
    (program.state / "changes.atom").mkdir()
    looks_at(program, site, "18")
    (program.state / "changes.atom").rmdir()
    assert program("check", config="watches:\n").returncode == 2
    assert not (program.state / "changes.atom").exists()
    looks_at(program, site, "18")
    assert titles(program) == ["Price: 20 → 18"]


def test_a_dry_run_writes_no_feed(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "18")
    before = files(program.state, "lock")
    site.script("/p", ok("17"))
    program("check", "--dry-run")
    assert files(program.state, "lock") == before


@posix
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_before_or_after_the_feed_is_written_the_next_run_has_all_of_it(
    program: Program, site: Site, moment: str
) -> None:
    looks_at(program, site, "20", "19")
    site.script("/p", ok("18"))

    def publish(*values: Any) -> None:
        if moment == "after":
            monitor.publish(Namespace(state=program.state, asleep=()), *values)
        os._exit(9)

    child = os.fork()
    if child == 0:
        program.check_as(publish=publish)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert titles(program) == ["Price: 19 → 18", "Price: 20 → 19"][moment == "before" :]
    program.clock.forward(DAY)
    program("check")
    assert titles(program) == ["Price: 19 → 18", "Price: 20 → 19"]
    assert [version.number for version in history.versions(program.state, program.record("Price")["id"])] == [1, 2, 3]


def test_what_a_killed_writer_left_is_cleared_away_when_it_is_old(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    old, new, other = (program.state / name for name in ("changes.atom-7.tmp", "report.html-8.tmp", "mine.tmp"))
    for path, age in ((old, 2 * HOUR), (new, MINUTE), (other, 2 * HOUR)):
        path.touch()
        at = (program.clock() - age).timestamp()
        os.utime(path, (at, at))
    program("check")
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_a_report_never_leaves_the_feed_older_than_a_run_has_written_it(program: Program, site: Site) -> None:
    looks_at(program, site, "20", "18")
    program.config.write_text(configuration(price(site)))
    memory = read_memory(program.state, program.clock())
    ran: list[int] = []

    def redact(text: str) -> str:
        if not ran:  # a whole run while the feed is in the making
            ran.append(1)
            looks_at(program, site, "17")
        return text

    publishing.refresh_feed(program.state, memory, (watch(select="#price"),), redact, program.clock())
    assert ran and titles(program) == ["Price: 18 → 17", "Price: 20 → 18"]


def test_the_id_of_the_feed_is_given_at_the_first_look_and_stays(program: Program, site: Site) -> None:
    looks_at(program, site, "20")
    given = program.document["feed_id"]
    looks_at(program, site, "18", "17")
    assert given and program.document["feed_id"] == given and not program.document.get("feed_due")


def test_a_change_without_its_content_has_its_title() -> None:
    subject = changes.subject(first_sight(), None)
    event = Event("w1-2", "w1", datetime(2026, 3, 2, 8).astimezone(), "changed", fingerprint="f", title="20 → 18")
    entry = changes.entry(event, None, subject, str)
    assert (entry.gist, entry.text) == ("20 → 18", "20 → 18")
    compared = changes.compared(event, None, subject, str)
    assert (compared.title, compared.rows) == ("20 → 18", ())
    seen = replace(event, extract=Extract("", items=(Item("k", "18"),)))
    assert changes.compared(seen, None, subject, str).rows == ()


def test_what_a_feed_knows_no_longer_was_not_removed_and_of_other_records_it_was() -> None:
    past = replace(first_sight(), baseline=Baseline("", "", None, START, source="feed"))
    before = Extract("", items=(Item("a", "Budget"), Item("b", "Parks")))
    event = Event("w1-2", "w1", START, "changed", extract=Extract("", items=(Item("b", "Parks"), Item("c", "Ferry"))))
    for subject, rows, text in (
        (changes.subject(past, watch()), ((None, "Ferry"),), "+ Ferry"),
        (changes.subject(first_sight(), watch()), ((None, "Ferry"), ("Budget", None)), "+ Ferry\n− Budget"),
    ):
        assert changes.compared(event, before, subject, str).rows == rows
        assert changes.entry(event, before, subject, str).text == text
