"""Of a file that is known a scheduled run reads the watches that may be due, and does what it would have done."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest

import monitor
from pagewatch import commandline, state
from tests.process import PROJECT
from tests.program import Program, configuration, ok, price
from tests.site import Line, Site, answer
from tests.values import DAY, HOUR

EVERY_HOUR = {"name": "Hourly", "every": "1h"}

NOTES = {
    "a column more": lambda note: [row.append(1) for row in note["rows"]],
    "a row that is none": lambda note: note["rows"].append([1]),
    "a row of other types": lambda note: note["rows"][0].__setitem__(4, "soon"),
    "a variable that is none": lambda note: note["variables"].append(1),
}


@pytest.mark.parametrize("spoil", NOTES.values(), ids=list(NOTES))
def test_a_note_of_another_form_is_no_note(
    program: Program, site: Site, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    program("check", config=configuration(price(site), price(site, name="Other")))
    file = program.state / "quiet.txt"
    note = json.loads(file.read_text(encoding="utf-8"))
    spoil(note)
    file.write_text(json.dumps(note), encoding="utf-8")
    program.clock.forward(DAY)
    run = program("check")
    assert (run.returncode, run.stderr, len(site.to("/p"))) == (0, "", 2)


def test_a_note_nested_without_end_is_no_note(program: Program, site: Site) -> None:
    program("check", config=configuration(price(site)))
    (program.state / "quiet.txt").write_text("[" * 100_000, encoding="utf-8")
    program.clock.forward(DAY)
    assert program("check").returncode == 0


def options_of(program: Program, *arguments: str) -> Namespace:
    command = [*arguments, "--config", str(program.config), "--state", str(program.state)]
    options = commandline.parse(command, PROJECT)
    options.clock, options.environment = program.clock, {}
    return options


def read(program: Program, *arguments: str) -> list[str]:
    """The names of the watches that the next run would read."""
    options, memory = options_of(program, *arguments), state.read_memory(program.state, program.clock())
    return [watch.name for watch in monitor.configured(options, memory).watches]


def three(site: Site, **keys: object) -> str:
    """Two daily ones, and one that is due every hour."""
    site.script("/q", ok("20 dollars"))
    first = price(site, name="First")
    return configuration(first, price(site, **keys), {**price(site, url=f"{site.url}/q"), **EVERY_HOUR})


def test_only_what_may_be_due_is_read_and_looked_at(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    assert read(program) == ["Hourly"]
    site.script("/q", ok("18 dollars"))
    assert "Hourly: 20 dollars → 18 dollars" in program().stdout
    assert (len(site.to("/p")), len(site.to("/q"))) == (1, 2)
    assert read(program) == []
    program.clock.forward(DAY)
    assert read(program) == ["First", "Price", "Hourly"]
    site.script("/p", ok("17 dollars"))
    assert "Price: 20 dollars → 17 dollars" in program().stdout


def test_of_watches_on_one_line_each_is_looked_at_when_it_is_due(program: Program, site: Site) -> None:
    site.script("/q", ok("20 dollars"), ok("18 dollars"))
    watches = [price(site), {**price(site, url=f"{site.url}/q"), **EVERY_HOUR}]
    program(config=f"gap: 0s\nwatches: {json.dumps(watches)}\n")
    program.clock.forward(HOUR)
    assert "Hourly: 20 dollars → 18 dollars" in program().stdout


def test_an_env_file_that_is_spoilt_meanwhile_does_not_end_the_run(program: Program, site: Site) -> None:
    """The feed of changes has those of all watches, for which what was kept is read once more."""
    program(config=three(site))
    program.clock.forward(HOUR)

    def spoil(line: Line) -> None:
        (program.config.parent / ".env").write_text("no line of such a file\n", encoding="utf-8")
        line.send(ok("18 dollars"))

    site.script("/q", spoil)
    run = program()
    assert (run.returncode, run.stderr) == (0, "")
    assert "18 dollars" in (program.state / state.FEED).read_text(encoding="utf-8")


def test_all_are_counted_and_remembered(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    assert program(terminal=True).stdout.splitlines()[-1] == "3 watches: 1 unchanged, 2 not due"
    assert "no longer in the file" not in program("list").stdout
    assert set(program.check().watches) == {"First", "Price", "Hourly"}


def test_an_edit_is_looked_at_at_once(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    config = three(site, select="title")
    program.config.write_text(config, encoding="utf-8")
    assert read(program) == ["First", "Price", "Hourly"]
    program()
    assert program.record("Price")["baseline"]["extract"]["text"] == "Shop"


def test_an_edit_during_the_run_does_not_keep_the_feed_from_being_written(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    options, memory = options_of(program), state.read_memory(program.state, program.clock())
    watches = monitor.configured(options, memory).watches
    assert [row.watch for row in options.asleep] == ["First", "Price"]
    (program.config.parent / ".env").write_text("no variable\n", encoding="utf-8")
    monitor.publish(options, memory, watches, str, program.clock())
    assert (program.state / "changes.atom").is_file()


def test_an_edit_that_could_not_be_looked_at_is_read_again(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    site.script("/q", answer(b"", "Retry-After: 7200", status=503))
    program()
    assert "Price" not in read(program)
    edited = three(site, select="title")
    assert program.check(config=edited).watches["Price"]["outcome"] == "deferred"
    assert "Price" in read(program)


@pytest.mark.parametrize("arguments", [["--now"], ["--json"], ["-v"], ["Price"], ["list"]], ids=lambda words: words[0])
def test_where_more_is_asked_all_are_read(program: Program, site: Site, arguments: list[str]) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    assert read(program, *arguments) == ["First", "Price", "Hourly"]


def test_a_watch_in_trouble_or_with_a_secret_is_always_read(program: Program, site: Site) -> None:
    site.script("/r", answer(b"<!doctype html><p>closed</p>", "Content-Type: text/html"))
    secret = price(site, name="Secret", headers={"X-Key": "value-of-key"})
    ill = price(site, name="Ill", url=f"{site.url}/r")
    program(config=configuration(price(site), price(site, name="Well"), secret, ill))
    program.clock.forward(HOUR)
    assert read(program) == ["Secret", "Ill"]
    assert program().returncode == 1


def test_a_clock_that_went_back_or_a_touched_state_makes_all_be_read(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    program()
    assert read(program) == []
    program.clock.forward(-HOUR)
    assert read(program) == ["First", "Price", "Hourly"]
    program.clock.forward(HOUR)
    (program.state / "state.json").touch()
    assert read(program) == ["First", "Price", "Hourly"]
