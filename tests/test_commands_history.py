"""`history`, `diff`, `why`: what they say after runs of all kinds, and that they change nothing."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from pagewatch import differences, history
from pagewatch.errors import StateError
from pagewatch.model import Change, Event, Told
from pagewatch.output import Style
from tests.process import Run
from tests.program import Program, configuration, files, ok, price, robots
from tests.site import Site, answer, conditional
from tests.targets import Answer, closed_port, http_target
from tests.values import DAY, HOUR

COMMANDS = ("history", "diff", "why")
HTML = "Content-Type: text/html; charset=utf-8"
LINES = [f"<p>line {number} of the page</p>" for number in range(30)]


def looks(program: Program, site: Site, *texts: str, **keys: object) -> None:
    """A daily look at each price in turn."""
    program.config.write_text(configuration(price(site, **keys)), encoding="utf-8")
    for text in texts:
        site.script("/p", ok(text))
        assert program().returncode == 0
        program.clock.forward(DAY)


def killed(events: Sequence[Event], told: Sequence[Told], now: datetime) -> str:
    """The process ends when the history is to be written."""
    raise SystemExit(137)


def listed(lines: Sequence[str]) -> bytes:
    return answer("".join(lines).encode(), HTML)


def section(run: Run, title: str) -> list[str]:
    """The lines of a part of what `why` prints."""
    assert (run.returncode, run.stderr) == (0, "")
    return [line.strip() for line in run.stdout.partition(f"\n{title}")[2].split("\n\n")[0].splitlines()[1:]]


def silent(run: Run) -> str:
    return "\n".join(section(run, "No alert"))


# ------------------------------------------------------------------------------------------------------------- history


def test_history_lists_every_version_with_its_time_and_how_to_see_what_changed(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "20 dollars", "18 dollars", "17 dollars")
    run = program("history", "Price")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "1  2026-03-02 08:00 UTC  20 dollars (first look)",
        "2  2026-03-04 08:00 UTC  20 dollars → 18 dollars",
        "3  2026-03-05 08:00 UTC  18 dollars → 17 dollars",
        'monitor.py diff "Price" shows the last change in full, monitor.py diff "Price" 1 that from version 1 to 2',
    ]


def test_history_says_of_a_version_why_it_was_not_told(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "19 dollars", number=True, when={"below": 10})
    looks(program, site, "19 dollars")
    first, second, third, _ = program("history", "Price").stdout.splitlines()
    assert first.endswith("20 dollars (first look)")
    assert second.endswith("(muted by when: below 10)")
    assert third.endswith("19 dollars (the watch's definition was edited)")


def test_history_of_one_version_says_so(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    last = program("history", "Price").stdout.splitlines()[-1]
    assert last == 'One version so far; monitor.py diff "Price" shows it in full'


def test_a_long_text_is_one_bounded_line_of_the_history(program: Program, site: Site) -> None:
    looks(program, site, "word " * 2_000)
    assert [len(line) < 250 for line in program("history", "Price").stdout.splitlines()] == [True, True]


def test_a_set_of_items_is_one_line_of_the_history(program: Program, site: Site) -> None:
    site.script("/p", answer(b"<ul><li>Go<li>Chess</ul>", HTML))
    program(config=configuration({"name": "Courses", "url": f"{site.url}/p", "items": "li"}))
    assert program("history", "Courses").stdout.splitlines()[0].endswith("Go; Chess (first look; 2 items)")


@pytest.mark.parametrize("command", ["history", "diff"])
def test_a_watch_that_was_never_looked_at_has_no_history_yet(program: Program, site: Site, command: str) -> None:
    run = program(command, "Price", config=configuration(price(site)))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == '"Price" has no history yet: it has not been looked at.\n'
    assert not program.state.exists()


@pytest.mark.parametrize("command", ["history", "diff"])
def test_a_watch_that_never_saw_its_content_has_no_version(program: Program, site: Site, command: str) -> None:
    site.script("/p", answer(b"", status=404))
    program(config=configuration(price(site)))
    run = program(command, "Price")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith('No version of "Price" has been seen yet')
    assert 'monitor.py why "Price"' in run.stdout


@pytest.mark.parametrize("command", ["history", "diff"])
def test_a_history_that_was_deleted_is_not_taken_for_a_first_visit(program: Program, site: Site, command: str) -> None:
    looks(program, site, "20 dollars")
    for path in program.state.glob("history.db*"):
        path.unlink()
    run = program(command, "Price")
    assert (run.returncode, run.stderr) == (0, "")
    assert "though it was seen at 2026-03-02 08:00 UTC" in run.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_nowhere_is_an_error_with_the_nearest_one(program: Program, site: Site, command: str) -> None:
    looks(program, site, "20 dollars")
    run = program(command, "Prise", config=configuration(price(site, name="Title")))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == 'there is no watch "Prise": did you mean "Price"?\n'


@pytest.mark.parametrize("command", COMMANDS)
def test_a_watch_that_is_no_longer_in_the_file_still_has_its_history(
    program: Program, site: Site, command: str
) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    run = program(command, "Price", config=configuration(price(site, name="Title", select="title")))
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"20.* dollars → .*18.* dollars", run.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_renamed_watch_has_its_history_before_the_next_run(program: Program, site: Site, command: str) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    run = program(command, "Prize", config=configuration(price(site, name="Prize")))
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"20.* dollars → .*18.* dollars", run.stdout)


@pytest.mark.parametrize(
    "arguments", [("history", "Price"), ("diff", "Price"), ("diff", "Price", "1"), ("why", "Price")]
)
def test_they_change_nothing_and_ask_nobody(program: Program, site: Site, arguments: tuple[str, ...]) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    before, asked = files(program.state), len(site.requests)
    assert program(*arguments).returncode == 0
    assert (files(program.state), len(site.requests)) == (before, asked)


# --------------------------------------------------------------------------------------- rows that still wait


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_killed_run_has_not_written_is_shown_as_it_will_be(program: Program, site: Site, command: str) -> None:
    with http_target() as target:
        config = configuration(price(site), notify=target.url)
        program.check(config=config)
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        assert program.check_as(keep=killed).returncode == 137
        assert len(program.document["events"]) == 1
        before = program(command, "Price")
        program()
    assert "events" not in program.document
    assert (before.returncode, before.stderr) == (0, "")
    assert "18" in before.stdout
    assert program(command, "Price").stdout == before.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_rows_that_were_written_before_the_kill_are_there_once(program: Program, site: Site, command: str) -> None:
    def killed_later(events: Sequence[Event], told: Sequence[Told], now: datetime) -> str:
        history.write(program.state, events, told, now)
        raise SystemExit(137)

    looks(program, site, "20 dollars")
    site.script("/p", ok("18 dollars"))
    assert program.check_as(keep=killed_later).returncode == 137
    before = program(command, "Price").stdout
    assert before.count("2026-03-03 08:00 UTC  ") == (command != "diff")
    program()
    assert program(command, "Price").stdout == before


def test_a_long_text_that_waits_is_compared_too(program: Program, site: Site) -> None:
    site.script("/p", listed(LINES * 10), listed([*LINES * 10, "<p>one more</p>"]))
    config = configuration({"name": "Page", "url": f"{site.url}/p"})
    for _ in range(2):
        program.config.write_text(config, encoding="utf-8")
        program.check_as(keep=killed)
        program.clock.forward(DAY)
    assert not (program.state / "history.db").exists()
    assert program("diff", "Page").stdout.splitlines()[-1] == "+ one more"


def test_why_says_that_the_history_cannot_be_written(program: Program, site: Site) -> None:
    def full(events: Sequence[Event], told: Sequence[Told], now: datetime) -> str:
        raise StateError("history.db cannot be written: no room")

    looks(program, site, "20 dollars")
    program.check_as(keep=full)
    assert "The history could not be written: history.db cannot be written: no room\n" in program("why", "Price").stdout


# ---------------------------------------------------------------------------------------------------------------- diff


def test_a_short_change_is_one_step_with_the_changed_words_marked(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    assert program("diff", "Price").stdout.splitlines() == [
        "Price: version 1 (2026-03-02 08:00 UTC) → version 2 (2026-03-03 08:00 UTC)",
        "[-20-] dollars → {+18+} dollars",
    ]


def test_what_has_no_word_in_common_needs_no_marks(program: Program, site: Site) -> None:
    looks(program, site, "sold out", "now")
    assert program("diff", "Price").stdout.splitlines()[1] == "sold out → now"


def test_a_number_is_shown_with_how_far_it_went(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "18 dollars", number=True)
    assert program("diff", "Price").stdout.splitlines()[1] == "[-20-] dollars → {+18+} dollars (−2, −10 %)"


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        pytest.param((), "[-18-] dollars → {+17+} dollars", id="no number: the last two"),
        pytest.param(("1",), "[-20-] dollars → {+18+} dollars", id="one number: that and the next"),
        pytest.param(("1", "3"), "[-20-] dollars → {+17+} dollars", id="two numbers"),
        pytest.param(("3", "1"), "[-17-] dollars → {+20+} dollars", id="backwards"),
        pytest.param(("-3", "-1"), "[-20-] dollars → {+17+} dollars", id="negative numbers count from the end"),
        pytest.param(("-2",), "[-18-] dollars → {+17+} dollars", id="the last but one and the next"),
        pytest.param(("2", "2"), "There is no difference in what is watched.", id="the same twice"),
    ],
)
def test_the_versions_that_are_compared(program: Program, site: Site, numbers: tuple[str, ...], shown: str) -> None:
    looks(program, site, "20 dollars", "18 dollars", "17 dollars")
    run = program("diff", "Price", *numbers)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[1:] == [shown]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (("4",), 'there is no version 4 of "Price": it has versions 1 to 3'),
        (("1", "9"), 'there is no version 9 of "Price": it has versions 1 to 3'),
        (("0",), 'there is no version 0 of "Price": it has versions 1 to 3'),
        (("-4",), 'there is no version -4 of "Price": it has versions 1 to 3'),
        (
            ("3",),
            '3 is the last version of "Price": name another to compare it with, such as monitor.py diff "Price" 1 3',
        ),
    ],
)
def test_a_number_that_is_no_version_is_an_error_that_names_the_range(
    program: Program, site: Site, numbers: tuple[str, ...], said: str
) -> None:
    looks(program, site, "20 dollars", "18 dollars", "17 dollars")
    run = program("diff", "Price", *numbers)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"{said}\n")


def test_a_word_for_a_number_is_an_error(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    assert program("diff", "Price", "last").returncode == 2


def test_the_only_version_is_shown(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    run = program("diff", "Price")
    assert run.returncode == 0
    assert run.stdout.splitlines() == [
        "Price: version 1 (2026-03-02 08:00 UTC) is the only one so far, so there is nothing to compare it with. "
        "It shows:",
        "  20 dollars",
    ]
    assert program("diff", "Price", "1").returncode == 2
    assert program("diff", "Price", "2").stderr == 'there is no version 2 of "Price": it has one version, 1\n'


def test_lines_of_a_long_text_are_shown_with_what_stands_around_them(program: Program, site: Site) -> None:
    changed = [line.replace("line 10 of the", "line 10 of this") for line in LINES]
    changed.insert(25, "<p>a new one</p>")
    site.script("/p", listed(LINES), listed(changed))
    program(config=configuration({"name": "Page", "url": f"{site.url}/p"}))
    program.clock.forward(DAY)
    program()
    assert program("diff", "Page").stdout.splitlines()[1:] == [
        "… line 8",
        *(f"  line {number} of the page" for number in (7, 8, 9)),
        "− line 10 of [-the-] page",
        "+ line 10 of {+this+} page",
        *(f"  line {number} of the page" for number in (11, 12, 13)),
        "… line 23",
        *(f"  line {number} of the page" for number in (22, 23, 24)),
        "+ a new one",
        *(f"  line {number} of the page" for number in (25, 26, 27)),
    ]


def test_very_many_lines_are_shown_as_what_went_and_what_came(program: Program, site: Site) -> None:
    many = LINES * 50
    site.script("/p", listed(many), listed(["<p>a new one</p>", *many[1:]]))
    program(config=configuration({"name": "Page", "url": f"{site.url}/p"}))
    program.clock.forward(DAY)
    program()
    assert program("diff", "Page").stdout.splitlines()[1:] == ["− line 0 of the page", "+ a new one"]


def test_one_long_line_is_shown_below_the_other_with_its_words_marked(program: Program, site: Site) -> None:
    words = [f"word{number}" for number in range(100)]
    looks(program, site, " ".join(words), " ".join([*words[:5], "other", *words[6:90], "more", *words[90:]]))
    _, *shown = program("diff", "Price").stdout.splitlines()
    assert shown[0] == "… line 1"
    assert "word4 [-word5-] word6" in shown[1]
    assert "word4 {+other+} word6" in shown[2]
    assert "word89 {+more+} word90" in shown[2]


def test_fields_are_a_table(program: Program, site: Site) -> None:
    site.script("/p", ok("20", around="<b>3</b>"), ok("18", around="<i>new</i>"))
    fields = {"price": "#price", "stock": "b", "label": "i"}
    program(config=configuration({"name": "Bicycle", "url": f"{site.url}/p", "fields": fields}))
    program.clock.forward(DAY)
    program()
    assert program("diff", "Bicycle").stdout.splitlines()[1:] == [
        "~ price  20 → 18",
        "− stock  3 → (none)",
        "+ label  (none) → new",
    ]


def test_items_are_added_updated_and_removed(program: Program, site: Site) -> None:
    def courses(*rows: tuple[str, str]) -> bytes:
        return listed([f"<li id={name}><a href=/{name}>{name}</a> <b>{places}</b></li>" for name, places in rows])

    site.script("/p", courses(("Go", "3"), ("Chess", "4")), courses(("Go", "1"), ("Bridge", "2")))
    fields = {"name": "a", "places": "b"}
    watch = {"name": "Courses", "url": f"{site.url}/p", "items": "li", "key": "@id", "fields": fields}
    program(config=configuration(watch))
    program.clock.forward(DAY)
    program()
    assert program("diff", "Courses").stdout.splitlines()[1:] == [
        "+ Bridge",
        "    places: 2",
        f"    {site.url}/Bridge",
        "~ Go",
        "  places: 3 → 1",
        f"  {site.url}/Go",
        "− Chess",
    ]


def test_entries_that_leave_a_feed_are_not_removed(program: Program, site: Site) -> None:
    def feed(*names: str) -> bytes:
        entries = "".join(f"<item><title>{name}</title><guid>{name}</guid></item>" for name in names)
        text = f'<rss version="2.0"><channel><title>News</title>{entries}</channel></rss>'
        return answer(text.encode(), "Content-Type: application/rss+xml")

    site.script("/p", feed("one", "two"), feed("two", "three"), feed("three", "four"))
    for keys in ({}, {}, {"fields": ["title"]}):  # an edited watch begins with what is there then
        program(config=configuration({"name": "News", "url": f"{site.url}/p", "source": "feed", **keys}))
        program.clock.forward(DAY)
    assert program("diff", "News", "1").stdout.splitlines()[1:] == ["+ three"]
    assert program("diff", "News", "2").stdout.splitlines()[1] == "+ four"
    assert "−" not in program("diff", "News", "2").stdout
    assert program("diff", "News", "2", "1").stdout.splitlines()[1:] == ["− three"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, ["What version 1 showed is lost: its content is not in the history any more. Now:", "  18 dollars"]),
        (2, ["What version 2 showed is lost: its content is not in the history any more."]),
    ],
)
def test_a_content_that_is_lost_is_named(program: Program, site: Site, number: int, said: list[str]) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    with closing(sqlite3.connect(program.state / "history.db")) as connection:
        connection.execute("DELETE FROM content WHERE id = (SELECT content FROM version WHERE number = ?)", (number,))
        connection.commit()
    run = program("diff", "Price")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[1:] == said
    assert ("(its content is lost)" in program("history", "Price").stdout) is (number == 1)


def test_why_a_change_was_not_told_stands_below_it(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "19 dollars", number=True, when={"below": 10})
    assert program("diff", "Price").stdout.splitlines()[-1] == "(muted by when: below 10)"


@pytest.mark.parametrize("command", COMMANDS)
def test_text_from_pages_cannot_steer_the_terminal(program: Program, site: Site, command: str) -> None:
    def hostile(text: str) -> bytes:
        fields = {"text": f"{text}\x1b]0;owned\x07\x1b[2J\r\u202e\x9b31m\n− faked"}
        return answer(json.dumps(fields).encode(), "Content-Type: application/json")

    site.script("/p", hostile("one"), hostile("two"))
    program(config=configuration({"name": "J\u202eSON", "url": f"{site.url}/p", "fields": {"text": "text"}}))
    program.clock.forward(DAY)
    program()
    run = program(command, "J\u202eSON")
    assert (run.returncode, run.stderr) == (0, "")
    assert "two" in run.stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", run.stdout)
    assert not re.search("^− faked", run.stdout, re.MULTILINE)


def test_a_secret_that_a_page_shows_is_not_printed(program: Program, site: Site) -> None:
    (program.config.parent / ".env").write_text("KEY=s3cr3t\n", encoding="utf-8")
    (program.config.parent / ".env").chmod(0o600)
    looks(program, site, "20 for s3cr3t", "18 for s3cr3t", headers={"X-Key": "${KEY}"})
    for command in COMMANDS:
        run = program(command, "Price")
        assert "20" in run.stdout
        assert "s3cr3t" not in run.stdout + run.stderr


def test_colours_are_on_a_terminal_only(program: Program, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    seen = program("diff", "Price", terminal=True).stdout
    assert seen.splitlines()[1] == (
        "\x1b[31m\x1b[1;4m20\x1b[0;31m dollars\x1b[0m → \x1b[32m\x1b[1;4m18\x1b[0;32m dollars\x1b[0m"
    )
    assert "\x1b" not in program("diff", "Price").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert program("diff", "Price", terminal=True).stdout == program("diff", "Price").stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a b " * 50_000, "b a " * 50_000, id="one very long line of few words"),
        pytest.param("a\nb\n" * 450, "b\nb\na\n" * 300, id="many lines of two kinds"),
        pytest.param("a\n" * 100_000, "b\n" * 100_000, id="very many lines"),
        pytest.param(
            "\n".join(f"{n} " + "a b " * 400 for n in range(100)),
            "\n".join(f"{n} " + "b a " * 400 for n in range(100)),
            id="many long lines",
        ),
    ],
)
def test_the_time_that_a_diff_takes_is_bounded(old: str, new: str) -> None:
    began = time.monotonic()
    assert differences.lines(Change(old, new), Style("pipe"))
    assert time.monotonic() - began < 3


# ----------------------------------------------------------------------------------------------------------------- why


def test_why_shows_the_last_decisions_with_reason_and_cost_the_newest_last(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "20 dollars", "18 dollars")
    shown = section(program("why", "Price"), "Its decisions")
    plain = [re.sub(r"\d+ ms", "N ms", re.sub(" {3,}", "  ", line)) for line in shown]
    assert plain == [
        "2026-03-02 08:00 UTC  baseline  first look; version 1 (HTTP 200, 68 bytes, N ms)",
        "2026-03-03 08:00 UTC  unchanged  the page came, and what is watched is the same (HTTP 200, 68 bytes, N ms)",
        "2026-03-04 08:00 UTC  changed  20 dollars → 18 dollars; version 2 (HTTP 200, 68 bytes, N ms)",
    ]


def test_why_shows_ten_decisions_and_says_how_many_are_kept(program: Program, site: Site) -> None:
    looks(program, site, *["20 dollars"] * 12)
    run = program("why", "Price")
    assert len(section(run, "The last 10 of 12 decisions")) == 10


def test_why_before_the_first_look(program: Program, site: Site) -> None:
    run = program("why", "Price", config=configuration(price(site)))
    assert "It has not been looked at yet." in run.stdout
    assert "the next run does that" in silent(run)
    assert section(run, "An alert") == ["No change has been told so far."]
    assert not program.state.exists()


def test_why_names_the_304_that_was_believed_and_the_next_look_without_condition(program: Program, site: Site) -> None:
    site.script("/p", conditional(b"<p id=price>20</p>", HTML, etag='"1"'))
    program(config=configuration(price(site)))
    program.clock.forward(DAY)
    program()
    run = program("why", "Price")
    assert section(run, "Its decisions")[-1].split("  ")[1] == "not modified (304)"
    assert "(304), and that is believed" in silent(run)
    assert "is again between 2026-03-08 08:00 UTC and 2026-03-10 08:00 UTC" in silent(run)


RULES: list[tuple[dict[str, object], str]] = [
    ({"select": "#price"}, "What counts is select #price (the first match); outside of it nothing counts"),
    ({"select": "p", "match": "all"}, "select p (every match)"),
    ({"select": "body", "ignore": [".ad", ".date"]}, "Left out of that: the elements .ad, .date (ignore)."),
    ({"ignore_text": ["[0-9]+ visitors"]}, "before it is compared: [0-9]+ visitors (ignore_text)."),
    ({"ignore_order": True}, "The order of lines does not count (ignore_order)."),
    ({"number": True}, "Only the number counts, not how it is written (number)."),
    ({"select": "", "fields": {"price": "#price"}, "number": {"price": "."}}, "Only the number counts in price"),
    ({"only": "added"}, "Only what is added is told (only: added)."),
    ({"when": {"contains": "sale"}}, "told only when this becomes true: contains sale (when)."),
    ({"notify": []}, "told to nobody"),
]


@pytest.mark.parametrize(("keys", "said"), RULES, ids=[" ".join(keys) for keys, _ in RULES])
def test_why_names_the_rule_by_which_a_change_counts_for_nothing(
    program: Program, site: Site, keys: dict[str, object], said: str
) -> None:
    given = {name: value for name, value in price(site, **keys).items() if value != ""}
    program(config=configuration(given))
    program.clock.forward(DAY)
    program()
    run = program("why", "Price")
    assert "the fingerprint of what is watched was the same" in silent(run)
    assert said in silent(run)


def test_why_says_until_when_it_is_not_due_and_then_that_it_is(program: Program, site: Site) -> None:
    program(config=configuration(price(site)))
    program.clock.forward(HOUR)
    text = silent(program("why", "Price"))
    assert "It is not due until 2026-03-03 08:00 UTC (it is looked at every 24 hours)" in text
    assert 'monitor.py check "Price" --now looks at once' in text
    program.clock.forward(DAY)
    assert "It is due: the next run looks at it." in silent(program("why", "Price"))


def test_why_says_until_when_the_page_is_fresh(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars", "Cache-Control: max-age=7200"))
    program(config=configuration(price(site, every="1h")))
    program.clock.forward(HOUR)
    assert "stays fresh until 2026-03-02 10:00 UTC" in silent(program("why", "Price"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("Retry-After: 7200",), "asked for a pause (Retry-After) until 2026-03-02 10:00 UTC"),
        ((), "is being backed off from, after errors until 2026-03-02 09:00 UTC"),
    ],
)
def test_why_says_until_when_its_host_is_left_alone(
    program: Program, site: Site, lines: tuple[str, ...], said: str
) -> None:
    site.script("/p", answer(b"", *lines, status=503))
    program(config=configuration(price(site)))
    text = silent(program("why", "Price"))
    assert said in text
    assert "--now" not in text


def test_why_names_the_line_of_robots_txt(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: *\nDisallow: /p\n"))
    program(config=configuration(price(site)))
    run = program("why", "Price")
    assert "robots.txt forbids it" in section(run, "Its decisions")[-1]
    assert f"robots.txt forbids it: {site.url}/robots.txt line 2: Disallow: /p" in silent(run)


def test_why_names_the_change_that_was_muted_and_how_to_see_it(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "19 dollars", number=True, when={"below": 10})
    text = silent(program("why", "Price"))
    assert "The last change (version 2, 2026-03-03 08:00 UTC) was not told: muted by when: below 10." in text
    assert 'monitor.py diff "Price" 1 2 shows it' in text


def test_why_says_how_many_looks_have_to_agree(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "19 dollars", confirm=2)
    run = program("why", "Price")
    assert "what is watched differs: 1 of 2 looks that have to agree (confirm)" in section(run, "Its decisions")[-1]
    assert "only 1 of 2 looks in a row agree so far (confirm)" in silent(run)


def test_why_says_when_trouble_will_be_told_and_then_that_it_was(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    site.script("/p", answer(b"", status=500))
    program()
    text = silent(program("why", "Price"))
    assert "in trouble since 2026-03-03 08:00 UTC: http-500: " in text
    assert "told after 3 failed looks in a row (alert_after); so far it is 1" in text
    for _ in range(2):
        program.clock.forward(DAY)
        program()
    text = silent(program("why", "Price"))
    assert "3 failed looks in a row: it is tried again after 4 hours" in text
    assert "told once (failing), to standard output" in text


def test_why_says_that_a_first_404_may_pass(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    site.script("/p", answer(b"", status=404))
    program()
    text = silent(program("why", "Price"))
    assert "missing: the server answers 404 (1 in a row, gone at 3)" in text
    assert "has not been told yet" in text


def test_why_says_who_took_the_notice_who_did_not_and_when_it_is_tried_again(program: Program, site: Site) -> None:
    with http_target() as good, http_target(Answer(401)) as bad:
        targets = {"phone": good.url, "mail": bad.url}
        program(config=configuration(price(site), notify=targets))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program()
        told = section(program("why", "Price"), "What was told")
        config = configuration(price(site), notify={"phone": good.url})
        left = section(program("why", "Price", config=config), "What was told")
    title = '"Price: 20 dollars → 18 dollars"'
    refused = "the service answered 401 (is the password or token right?)"
    assert sorted(told[:2]) == [
        f"2026-03-03 08:00 UTC {title} delivered to phone",
        f"2026-03-03 08:00 UTC {title} not taken by mail: {refused}",
    ]
    assert told[2:] == [f"unsent {title} to mail: tried 1 time ({refused}); next try 2026-03-03 08:01 UTC"]
    assert left[2] == (
        f"unsent {title} to mail, which is no longer in watches.yaml: monitor.py forget --target mail drops it"
    )


def test_why_knows_of_a_notice_that_nobody_has_begun_to_send(program: Program, site: Site) -> None:
    with http_target() as target:
        program(config=configuration(price(site), notify={"phone": target.url}))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program.check_as(send=lambda *_: frozenset())
    (line,) = section(program("why", "Price"), "What was told")
    assert line == 'unsent "Price: 20 dollars → 18 dollars" to phone: not tried yet; the next run tries'


def test_why_an_alert_came_is_the_last_change_that_was_told(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars", "9 dollars", "19 dollars", number=True, when={"below": 10})
    first, advice = section(program("why", "Price"), "An alert")
    assert first.startswith("The last change told was version 2, seen at 2026-03-03 08:00 UTC: 20 dollars → 9 dollars")
    assert 'monitor.py diff "Price" 1 2 shows all of it' in first
    assert "ignore_text" in advice


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"enabled": False}, "It is switched off in watches.yaml (enabled: false)"),
        ({"select": "p["}, "It is not looked at, because it cannot be used (line 5 of watches.yaml: select: "),
        ({"select": "title"}, "It has been edited since the last look"),
    ],
    ids=["switched off", "broken", "edited"],
)
def test_why_says_what_an_edit_has_done(program: Program, site: Site, keys: dict[str, object], said: str) -> None:
    looks(program, site, "20 dollars")
    assert said in silent(program("why", "Price", config=configuration(price(site, **keys))))


def test_why_says_that_a_watch_is_not_in_the_file_any_more(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    run = program("why", "Price", config=configuration(price(site, name="Title", select="title")))
    assert "it is no longer in watches.yaml" in silent(run)


def test_why_of_a_broken_watch_shows_no_notices_of_others(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        config = configuration(price(site), price(site, name="Bad", select="p["), notify=target.url)
        program(config=config)
        assert [kind for _, kind, _ in program.outbox] == ["config"]
        run = program("why", "Bad")
    assert "What was told" not in run.stdout
    assert run.stdout.startswith(f"Bad: {site.url}/p\n")


def test_why_names_the_new_baseline_of_an_edited_watch(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    looks(program, site, "18 dollars", ignore=["b"])
    text = silent(program("why", "Price"))
    assert "At 2026-03-03 08:00 UTC the edited watch made a new baseline (version 2), which is not told" in text
    assert 'monitor.py diff "Price" 1 2 shows what was different' in text


def test_why_says_that_the_machine_is_offline(program: Program) -> None:
    dead = [{"name": f"W{n}", "url": f"http://127.0.0.1:{closed_port()}/"} for n in range(2)]
    program(config=configuration(*dead))
    assert "This machine has been offline since 2026-03-02 08:00 UTC" in silent(program("why", "W0"))


def test_why_says_that_a_server_whose_304_lied_is_not_believed(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars", 'ETag: "1"'), answer(b"", status=304))
    program(config=configuration(price(site)))
    for _ in range(9):
        program.clock.forward(DAY)
        if program.clock.now >= datetime.fromisoformat("2026-03-10T08:00:00+00:00"):
            site.script("/p", ok("18 dollars", 'ETag: "1"'))
        program()
    assert "Its server has said 304 though the page had changed" in silent(program("why", "Price"))


# ------------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_history_is_one_line_and_status_2_and_stays_as_it_is(
    program: Program, site: Site, command: str
) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    (program.state / "history.db").write_bytes(b"no database at all\n" * 300)
    before = files(program.state)
    run = program(command, "Price")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert "history.db is damaged" in run.stderr
    assert "Traceback" not in run.stderr
    assert files(program.state) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_the_copy_of_a_damaged_state_is_named(program: Program, site: Site, command: str) -> None:
    looks(program, site, "20 dollars", "18 dollars")
    (program.state / "state.json").write_bytes(b"{")
    run = program(command, "Price")
    assert run.returncode == 0
    assert run.stderr.count("\n") == 1
    assert "state.json is damaged: this is from its copy" in run.stderr
    assert "18" in run.stdout


# ------------------------------------------------------------------------------------------------------------- forget


def history_of(folder: Path, *tables: str) -> list[int]:
    with closing(sqlite3.connect(folder / "history.db")) as connection:
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_forget_drops_the_history_of_the_watch(program: Program, site: Site) -> None:
    config = configuration(price(site), price(site, name="Title", select="title"))
    program(config=config)
    run = program("forget", "Price")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == 'forgot "Price" and its history: its next look is a first visit\n'
    assert program("history", "Price").stdout.startswith('"Price" has no history yet')
    assert program("history", "Title").stdout.startswith("1  2026-03-02 08:00 UTC  Shop")
    assert history_of(program.state, "version", "event", "content") == [1, 1, 1]


def test_forget_drops_what_the_history_has_not_got_yet(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    program.check_as(keep=killed)
    program("forget", "Price")
    program.clock.forward(DAY)
    program()
    assert history_of(program.state, "version", "event") == [1, 1]


def test_a_damaged_history_is_no_reason_to_keep_a_watch(program: Program, site: Site) -> None:
    looks(program, site, "20 dollars")
    (program.state / "history.db").write_bytes(b"no database at all\n" * 300)
    run = program("forget", "Price")
    assert run.returncode == 0
    assert run.stdout == 'forgot "Price", but not its history: its next look is a first visit\n'
    assert "history.db is damaged" in run.stderr
    assert program.document["watches"] == []


def test_what_is_told_after_a_forget_is_no_history_of_anybody(program: Program, site: Site) -> None:
    with http_target(Answer(500), Answer(200)) as target:
        program(config=configuration(price(site), notify=target.url))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program()
        program("forget", "Price")
        program.clock.forward(DAY)
        program()
    assert len(target.titles) == 1
    assert history_of(program.state, "told") == [0]


# -------------------------------------------------------------------------------------------------------------- notices


def test_the_command_that_a_shortened_notice_names_shows_what_was_cut(program: Program, site: Site) -> None:
    lines: Callable[[int], list[str]] = lambda last: [f"<p>{n} of a long list of lines</p>" for n in range(last)]  # noqa: E731
    site.script("/p", listed(lines(2)), listed(lines(200)))
    with http_target() as target:
        program(config=configuration({"name": "News", "url": f"{site.url}/p"}, notify=target.url))
        program.clock.forward(DAY)
        program()
    (message,) = target.messages
    found = re.search(r'all of it: monitor\.py (\w+) "(\w+)"\]', message["message"])
    assert found
    assert "+ 199 of a long list of lines" not in message["message"]
    assert "+ 199 of a long list of lines\n" in program(*found.groups()).stdout
