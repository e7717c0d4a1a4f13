"""What is measured for N watches: the scenarios, and the programs in turns through each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tests.bench import pages
from tests.bench.measure import Cost, cost, fault, in_turns, median, ratio, spread
from tests.bench.programs import Page, Program
from tests.bench.server import Serving, Site


@dataclass(frozen=True)
class Scenario:
    what: str
    serving: Serving = field(default_factory=Serving)
    scheme: str = "http"
    asks: bool = True  # or only the list is shown
    first: bool = False  # or the pages were seen before


SCENARIOS = {
    "S0": Scenario("the list only", asks=False),
    "S1": Scenario("first visit", first=True),
    "S2": Scenario("all 304"),
    "S3": Scenario("same bytes, 200", Serving(validators=False)),
    "S4": Scenario("noise elsewhere", Serving("noise")),
    "S5": Scenario("10 % changed", Serving("changed")),
    "S6": Scenario("all 304, 50 ms away", Serving(latency=0.05)),
    "S2tls": Scenario("all 304, https", scheme="https"),
}


def expected(scenario: Scenario, count: int) -> tuple[int, dict[int, int]]:
    """How many changes there are to tell, and how the site must have been asked: pages by status."""
    changed = sum(map(pages.is_changed, range(count))) if scenario.serving.content == "changed" else 0
    if not scenario.asks:
        return 0, {}
    all_sent = scenario.first or not scenario.serving.validators or scenario.serving.content == "noise"
    sent = count if all_sent else changed
    return changed, {status: pages for status, pages in ((200, sent), (304, count - sent)) if pages}


def measured(site: Site, programs: Sequence[Program], names: Sequence[str], count: int, rounds: int) -> Iterator[str]:
    """The table's rows for N watches, one scheme after the other, so that each has one first visit to begin with."""
    for scheme in ("http", "https"):
        chosen = {name: SCENARIOS[name] for name in names if SCENARIOS[name].scheme == scheme}
        if not chosen:
            continue
        for program in programs:
            _prepare(site, program, scheme, count)
        for name, scenario in chosen.items():
            actions = {each.name: partial(_turn, site, each, scenario, count) for each in programs}
            yield row(f"{name} {scenario.what}", count, in_turns(rounds, actions))


def _prepare(site: Site, program: Program, scheme: str, count: int) -> None:
    """Configures it and lets it make the first visit, which warms it up as well."""
    program.configure([Page(f"shop {number}", site.url(number, scheme)) for number in range(count)])
    program.clear()
    site.serve(Serving())
    cost(program.command(), program.environment, program.folder / "output.txt")
    program.keep()


def _turn(site: Site, program: Program, scenario: Scenario, count: int) -> Cost:
    """One run from where the first visit left off, and whether it did what there was to do."""
    program.clear() if scenario.first else program.restore()
    site.serve(scenario.serving)
    command = program.command() if scenario.asks else program.listing()
    spent = cost(command, program.environment, program.folder / "output.txt")
    found = program.changes(spent.output), site.answered()
    if spent.status:
        return replace(spent, fault=f"{program.name}: exit status {spent.status}")
    if found != expected(scenario, count):
        told, answered = found
        return replace(spent, fault=f"{program.name}: told {told} changes, was answered {answered}")
    return spent


# --------------------------------------------------------------------------------------------------------- the table


def head(programs: Sequence[Program]) -> str:
    ours, *others = [program.name for program in programs]
    columns = ["scenario", "N", f"{ours} s (CPU)", "MB", *(f"{name} s (CPU)" for name in others)]
    columns += [*(f"{name}/ours (CPU)" for name in others), "noise"]
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def row(what: str, count: int, costs: dict[str, list[Cost]]) -> str:
    """Seconds are medians, ratios medians of the rounds' own; in brackets the same of processor seconds, which a busy
    machine changes less. `noise` is our longest round in our shortest."""
    ours, *others = costs.values()
    if wrong := fault(ours):
        return f"| {what} | {count} | {wrong} |"
    cells = [_times(ours), f"{median(ours, 'memory'):.0f}", *(fault(each) or _times(each) for each in others)]
    cells += ["–" if fault(each) else _ratios(each, ours) for each in others]
    return f"| {' | '.join([what, str(count), *cells, f'{spread(ours):.2f}'])} |"


def _times(costs: Sequence[Cost]) -> str:
    return f"{median(costs, 'seconds'):.3f} ({median(costs, 'processor'):.2f})"


def _ratios(costs: Sequence[Cost], ours: Sequence[Cost]) -> str:
    return f"{ratio(costs, ours):.2f} ({ratio(costs, ours, 'processor'):.2f})"
