"""The benchmark runs, and would notice a program that does not do its work. What is fast is not asked here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import pages
from tests.bench.measure import Cost, cost, in_turns
from tests.bench.programs import Limit, Page
from tests.bench.scenarios import SCENARIOS, expected, row
from tests.bench.server import Serving
from tests.process import PROJECT

TOOK = Cost(2.0, 1.5, 30.0, 0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a child's own memory and time are told by POSIX only")
def test_a_small_run_prints_ratios_for_each_scenario(clean_environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "tests.bench", "--n", "6", "--rounds", "1", "--no-singles"]
    command += ["--scenarios", "S0,S2,S5,S2tls"]
    run = subprocess.run(command, cwd=PROJECT, env=clean_environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    head, _, *rows = run.stdout.splitlines()
    assert "limit/ours" in head
    assert [re.match(r"\| (\w+) [^|]*\| 6 \| [\d.]+ \(", line)[1] for line in rows] == command[-1].split(",")  # type: ignore[index]


def test_a_scenario_that_is_unknown_is_named() -> None:
    command = [sys.executable, "-m", "tests.bench", "--scenarios", "S0,S9"]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "no such scenario: S9" in run.stderr


def test_a_tenth_of_the_pages_changes_and_only_those_are_sent_again() -> None:
    assert expected(SCENARIOS["S5"], 20) == (2, {200: 2, 304: 18})
    assert [number for number in range(20) if Serving("changed").version_of(number) == "changed"] == [4, 14]
    assert b"<b>104.95</b>" in pages.page(4, "changed")


def test_noise_leaves_the_price_alone() -> None:
    base, noise = pages.page(3, "base"), pages.page(3, "noise")
    assert base != noise
    assert b"<b>103.49</b>" in base and b"<b>103.49</b>" in noise
    assert pages.STAMP not in base and pages.PRICE not in base


def test_pages_have_three_sizes_in_their_shares() -> None:
    lengths = [len(pages.page(number, "base")) for number in range(20)]
    near = [sum(abs(length / size - 1) < 0.05 for length in lengths) for size in (20_000, 150_000, 1_000_000)]
    assert near == [14, 5, 1]


def test_a_program_that_missed_a_change_has_no_time() -> None:
    missed = replace(TOOK, fault="limit: told 0 changes")
    assert (
        row("S5", 10, {"ours": [TOOK], "limit": [missed]})
        == "| S5 | 10 | 2.000 (1.50) | 30 | limit: told 0 changes | – | 1.00 |"
    )


def test_ratios_are_taken_round_by_round() -> None:
    ours = [replace(TOOK, seconds=1.0), replace(TOOK, seconds=4.0), replace(TOOK, seconds=2.0)]
    limit = [replace(TOOK, seconds=0.5), replace(TOOK, seconds=2.0), replace(TOOK, seconds=1.0)]
    assert row("S2", 10, {"ours": ours, "limit": limit}).endswith("| 1.000 (1.50) | 0.50 (1.00) | 4.00 |")


def test_programs_take_turns() -> None:
    order: list[str] = []

    def turn(name: str) -> Cost:
        order.append(name)
        return TOOK

    in_turns(2, {"a": lambda: turn("a"), "b": lambda: turn("b")})
    assert order == ["a", "b", "a", "b"]


def test_a_cost_is_that_of_the_process_itself(tmp_path: Path, clean_environment: Mapping[str, str]) -> None:
    code = (
        "import sys; held = bytearray(90_000_000); held[::4096] = b'x' * len(held[::4096]); print('seen'); sys.exit(3)"
    )
    spent = cost([sys.executable, "-c", code], clean_environment, tmp_path / "output.txt")
    assert (spent.status, spent.output) == (3, "seen\n")
    assert spent.memory > 90  # the peak may be that of the process which started it
    assert 0 < spent.processor < spent.seconds + 1


def test_limit_says_what_is_new(tmp_path: Path) -> None:
    limit = Limit(tmp_path / "limit")
    limit.configure([Page("shop 1", "http://127.0.0.1:1/p/1")])
    assert limit.changes("NEW shop 1\nCHANGED shop 2\n") == 1
