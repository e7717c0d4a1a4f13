"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import scenarios, singles
from tests.bench.programs import Limit, Ours, Program, Urlwatch, Webchanges
from tests.bench.server import Site
from tests.process import MONITOR


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    unknown = [name for name in options.scenarios if name not in scenarios.SCENARIOS]
    if unknown:
        print(f"no such scenario: {', '.join(unknown)}; there are {', '.join(scenarios.SCENARIOS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Site() as site:
        if options.n and options.scenarios:
            for number, count in enumerate(options.n):
                programs = _programs(Path(folder) / str(number), options)
                print(scenarios.head(programs) if number == 0 else "", end="\n" if number == 0 else "", flush=True)
                for row in scenarios.measured(site, programs, options.scenarios, count, options.rounds):
                    print(row, flush=True)
        if not options.no_singles:
            ours = Ours(Path(folder) / "single", options.monitor)
            for line in singles.measured(site, ours, options.rounds):
                print(f"- {line}", flush=True)
    return 0


def _programs(folder: Path, options: argparse.Namespace) -> list[Program]:
    """Ours first: the others are measured by it."""
    programs: list[Program] = [Ours(folder / "ours", options.monitor)]
    if options.before:
        programs.append(Ours(folder / "before", options.before, "before"))
    programs.append(Limit(folder / "limit"))
    if options.urlwatch:
        programs.append(Urlwatch(folder / "urlwatch", options.urlwatch))
    if options.webchanges:
        programs.append(Webchanges(folder / "webchanges", options.webchanges))
    return programs


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Ratios of seconds, in turns.")
    every = ",".join(scenarios.SCENARIOS)
    parser.add_argument("--n", type=_numbers, default="10,100,1000", help="numbers of watches (10,100,1000)")
    parser.add_argument("--scenarios", type=_words, default=every, help=f"which ({every})")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program in each scenario (5)")
    parser.add_argument("--no-singles", action="store_true", help="leave out what is measured once")
    parser.add_argument("--monitor", type=_file, default=MONITOR, help="the monitor.py to measure (this project's)")
    parser.add_argument("--before", type=_file, help="another one to compare it with, such as that before a change")
    parser.add_argument("--urlwatch", metavar="PYTHON", help="the Python of an environment that has urlwatch")
    parser.add_argument("--webchanges", metavar="PYTHON", help="the Python of an environment that has webchanges")
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


def _file(text: str) -> Path:
    return Path(text).absolute()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
