"""The five runs that explain the program: in the README's table, and played by `monitor.py demo`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pagewatch.commands import demo
from pagewatch.output import WORDS
from tests.process import PROJECT, Monitor
from tests.program import Program, configuration, page, price
from tests.site import Site, conditional
from tests.targets import closed_port, http_target
from tests.values import DAY

RUNS = 5
PAGES = (  # the site before each of the runs
    page("20 dollars", "08:00"),
    page("20 dollars", "08:00"),
    page("20 dollars", "09:30"),
    page("18 dollars", "09:30"),
    b"<!doctype html><title>Shop</title><p class=amount>18 dollars</p>\n",
)
ARE_TOLD = (0, 0, 0, 1, 1)  # notices of each run


def table() -> list[list[str]]:
    """The rows of the README's table of the five runs: number, what happens, answer, what the program does."""
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    lines = readme[readme.index("| run | what happens on the site") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_readmes_five_runs_are_what_happens(tmp_path: Path) -> None:
    rows = table()
    assert len(rows) == RUNS
    program, seen = Program(tmp_path), []
    with Site() as site, http_target() as target:
        program.config.write_text(configuration(price(site), notify=target.url), encoding="utf-8")
        for number, body in enumerate(PAGES):
            site.script("/p", conditional(body, etag=f'"{hash(body)}"'))
            told = len(target.messages)
            run = program.check()
            row, asked = run.watches["Price"], site.to("/p")
            assert len(asked) == number + 1
            assert (asked[-1].field("If-None-Match") is not None) == (number > 0)
            assert len(target.messages) - told == ARE_TOLD[number]
            seen.append(row)
            program.clock.forward(DAY)
    for row, (_, _, answer, does) in zip(seen, rows, strict=True):
        word = re.split("[ :]", does)[0]
        assert WORDS.get(row["outcome"], row["outcome"]).startswith(word)
        assert (row["outcome"] == "not-modified") == answer.startswith("304")
    assert f"`{seen[3]['old']} → {seen[3]['new']}`" in rows[3][3]
    assert target.titles[0] == "Price: 20 dollars → 18 dollars"
    assert 'select "#price" matches nothing' in target.titles[1]


def test_the_demo_plays_them_without_network_and_says_that_all_went_well(run_monitor: Monitor) -> None:
    run = run_monitor("demo")
    assert run.returncode == 0
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    observed = [re.search(r" (\d+) +(\d{3}) +(\d+)  (\S+) ", line) for line in lines[1 : RUNS + 1]]
    assert all(observed)
    requests, statuses, sizes, outcomes = zip(*(found.groups() for found in observed if found), strict=True)
    assert requests == ("2", "1", "1", "1", "1")  # robots.txt once
    assert statuses == ("200", "304", "200", "200", "200")
    assert [size != "0" for size in sizes] == [True, False, True, True, True]
    assert outcomes == ("baseline", "not-modified", "unchanged", "changed", "no-match")
    assert "notification received at json://127.0.0.1: Ticket price: 20 dollars → 18 dollars" in lines
    assert max(map(len, lines[: RUNS + 1])) <= 80
    assert run.stdout.count("notification received at json://127.0.0.1: Ticket price") == 2
    assert lines[-1] == "All five runs did what they promise."
    assert not run_monitor.state.exists()


def test_the_demo_does_not_ask_the_machines_proxy(run_monitor: Monitor) -> None:
    proxy = f"http://127.0.0.1:{closed_port()}"
    run = run_monitor("demo", environment={"http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy})
    assert (run.returncode, run.stderr) == (0, "")


def test_the_demo_fails_where_the_program_does_not_do_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.demonstrate(lambda arguments: 0) == 1
    printed = capsys.readouterr()
    assert "demo: run 1: outcome: nothing, expected baseline" in printed.err
    assert "demo: run 4: the notice does not show old and new text" in printed.err
    assert "The demonstration failed." in printed.out
