"""Of a file that is known a scheduled run reads the watches that may be due, and does what it would have done."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

import monitor
from pagewatch import commandline, config, document, state
from tests.process import PROJECT
from tests.program import Program, configuration, ok, price
from tests.site import Site, answer
from tests.values import DAY, HOUR

EVERY_HOUR = {"name": "Hourly", "every": "1h"}

FILES = {
    "remarks and empty lines between": "watches:\n# one\n- url: http://a/1\n\n- url: http://a/2\n  every: 1h\n# end\n",
    "keys above and below": "gap: 0s\nwatches:\n  - url: http://a/1\n  - url: http://a/2\n\ncontact: me@a.org\n",
    "no line end at the end": "watches:\n  - url: http://a/1\n  - {url: http://a/2,\n    every: 1h}\n  - url: http://a/3",
    "blocks of text": (
        "watches:\n- url: http://a/1\n  body: |+\n    - url: no\n\n"
        '- url: http://a/2\n  name: "a\n   b"\n- url: http://a/3'
    ),
    "the same defaults": "defaults: {every: 1h}\nwatches:\n- url: http://a/1?x=1&y=2\n- url: http://a/2\n",
    "a mark at the start": "\ufeffwatches:\n- url: http://a/1\n- url: http://a/2\n",
}
TANGLED = {
    "an anchor": "watches:\n- &one\n  url: http://a/1\n  every: 1h\n- <<: *one\n  url: http://a/2\n",
    "a list in brackets": "watches: [{url: http://a/1},\n {url: http://a/2}]\n",
    "a mapping in brackets": "{watches:\n [{url: http://a/1},\n {url: http://a/2}]}\n",
    "a dash on a line of its own": "watches:\n-\n  url: http://a/1\n- url: http://a/2\n",
    "dashes on lines of their own": "watches:\n-\n  url: http://a/1\n  name: a\n-\n  url: http://a/1\n  name: b\n",
    "remarks behind dashes": "watches:\n- # a\n  url: http://a/1\n- # b\n  url: http://a/2\n",
    "an anchor at a value": 'watches:\n- {"url":&u "http://a/1"}\n- {url: *u, name: b}\n',
    "a key with a question mark": "watches:\n- url: http://a/1\n- url: http://a/2\n?\n  contact\n: me@a.org\n",
    "line ends of Windows": "watches:\r\n- url: http://a/1\r\n- url: http://a/2\r\n",
    "a line end that only YAML knows": 'watches:\n- url: http://a/1\n  reject: "a\x85b"\n- url: http://a/2\n',
    "none": "gap: 0s\n",
}


def blocks(text: str) -> dict[int, int]:
    data = text.encode()
    return document.blocks(data, document.read(data), "watches")


@pytest.mark.parametrize("text", FILES.values(), ids=list(FILES))
def test_without_some_watches_the_others_are_what_they_were(text: str) -> None:
    whole, spans = config.load(text.encode(), file="", environment={}), blocks(text)
    assert len(spans) == len(whole.watches)
    for count in range(1, len(spans)):
        for left_out in combinations(spans.items(), count):
            data = document.without(text.encode(), left_out)
            rest = config.load(data, file="", environment={})
            assert rest.watches == tuple(watch for watch in whole.watches if watch.line not in dict(left_out))
            assert rest.settings == whole.settings
            assert data.count(b"\n") == text.count("\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_nothing_is_left_out_of_bytes_that_are_not_utf_8(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = f"{mark}watches:\n- url: http://a/1\n- url: http://a/2\n".encode(encoding)
    assert document.blocks(data, document.read(data), "watches") == {}


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


@pytest.mark.parametrize("text", TANGLED.values(), ids=list(TANGLED))
def test_where_one_may_depend_on_another_none_is_left_out(text: str) -> None:
    assert blocks(text) == {}


def test_a_watch_with_a_variable_is_always_read() -> None:
    assert blocks("watches:\n- url: http://a/1\n- url: http://a/${NAME}\n- url: http://a/3\n") == {2: 2, 4: 5}


def read(program: Program, *arguments: str) -> list[str]:
    """The names of the watches that the next run would read."""
    command = [*arguments, "--config", str(program.config), "--state", str(program.state)]
    options = commandline.parse(command, PROJECT)
    options.clock, options.environment = program.clock, {}
    memory = state.read_memory(program.state, program.clock())
    return [watch.name for watch in monitor.configured(options, memory).watches]


def three(site: Site, **keys: object) -> str:
    """The first, which is always read, a daily one, and one that is due every hour."""
    site.script("/q", ok("20 dollars"))
    first = price(site, name="First")
    return configuration(first, price(site, **keys), {**price(site, url=f"{site.url}/q"), **EVERY_HOUR})


def test_only_what_may_be_due_is_read_and_looked_at(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    assert read(program) == ["First", "Hourly"]
    site.script("/q", ok("18 dollars"))
    assert "Hourly: 20 dollars → 18 dollars" in program().stdout
    assert (len(site.to("/p")), len(site.to("/q"))) == (1, 2)
    assert read(program) == ["First"]
    program.clock.forward(DAY)
    assert read(program) == ["First", "Price", "Hourly"]
    site.script("/p", ok("17 dollars"))
    assert "Price: 20 dollars → 17 dollars" in program().stdout


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
    assert read(program) == ["Price", "Secret", "Ill"]
    assert program().returncode == 1


def test_a_clock_that_went_back_or_a_touched_state_makes_all_be_read(program: Program, site: Site) -> None:
    program(config=three(site))
    program.clock.forward(HOUR)
    program()
    assert read(program) == ["First"]
    program.clock.forward(-HOUR)
    assert read(program) == ["First", "Price", "Hourly"]
    program.clock.forward(HOUR)
    (program.state / "state.json").touch()
    assert read(program) == ["First", "Price", "Hourly"]
