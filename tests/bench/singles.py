"""What is measured once, of monitor.py alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tests.bench import pages
from tests.bench.measure import Cost, cost, fault, in_turns, median, ratio
from tests.bench.programs import Ours, Page
from tests.bench.server import Serving, Site

FLOOR = [sys.executable, "-c", "import yaml, argparse, json"]
MANY, DUE = 10_000, 10


def measured(site: Site, ours: Ours, rounds: int) -> Iterator[str]:
    """A line for each."""
    site.serve(Serving())
    for count in (20, 1000):
        yield _nothing_due(site, ours, count, rounds)
    yield _few_due(site, ours, rounds)
    big = Page("big", f"{site.base(0)}/big")
    yield _first_visit(ours, f"a page of {pages.BIG / 1e6:.0f} MB, first visit", big, rounds)
    sitemap = Page("sitemap", f"{site.base(0)}/sitemap.xml", "source: sitemap")
    yield _first_visit(ours, f"a sitemap of {pages.SITEMAP_URLS:,} URLs, first visit", sitemap, rounds)


def _nothing_due(site: Site, ours: Ours, count: int, rounds: int) -> str:
    _visit(ours, _small(site, range(count)))
    _run(ours, ours.scheduled())  # leaves a note for those after it
    run = partial(_checked, partial(_run, ours, ours.scheduled()), site, {})
    costs = in_turns(rounds, {"ours": run, "floor": partial(_run, ours, FLOOR)})
    times = 1 / ratio(costs["floor"], costs["ours"])
    return _line(f"nothing due of {count:,}", costs["ours"], f", {times:.2f} times what its imports take")


def _few_due(site: Site, ours: Ours, rounds: int) -> str:
    """Ten watches whose time has come again at once, among many that are looked at daily."""
    due = [replace(page, keys=f'every: 30s\n    select: "{pages.SELECT}"') for page in _small(site, range(DUE))]
    _visit(ours, [*due, *_small(site, range(DUE, MANY))])
    ours.keep()

    def turn() -> Cost:
        ours.restore()
        return _checked(partial(_run, ours, ours.scheduled()), site, {304: DUE})

    return _line(f"{DUE} due of {MANY:,}", in_turns(rounds, {"": turn})[""])


def _first_visit(ours: Ours, what: str, page: Page, rounds: int) -> str:
    ours.configure([page])

    def turn() -> Cost:
        ours.clear()
        spent = _run(ours, ours.command())
        return replace(spent, fault=spent.output.strip() if spent.status else "")

    return _line(what, in_turns(rounds, {"": turn})[""])


def _small(site: Site, numbers: range) -> list[Page]:
    return [Page(f"item {number}", f"{site.base(number)}/small/{number}") for number in numbers]


def _visit(ours: Ours, watched: list[Page]) -> None:
    ours.configure(watched)
    ours.clear()
    _run(ours, ours.command())


def _run(ours: Ours, command: Sequence[str]) -> Cost:
    return cost(command, ours.environment, ours.folder / "output.txt")


def _checked(run: Callable[[], Cost], site: Site, answered: dict[int, int]) -> Cost:
    site.serve(Serving())
    spent = run()
    found = site.answered()
    right = spent.status == 0 and found == answered
    return spent if right else replace(spent, fault=f"exit status {spent.status}, was answered {found}")


def _line(what: str, costs: Sequence[Cost], remark: str = "") -> str:
    if wrong := fault(costs):
        return f"{what}: not measured: {wrong}"
    return f"{what}: {median(costs, 'seconds'):.3f} s, {median(costs, 'memory'):.0f} MB{remark}"
