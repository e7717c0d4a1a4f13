"""How every watch is: what `list` and the report show of it, from the configuration and what is remembered.

One place for the words, so that both say the same of a watch. A watch that is off or broken is shown with what is
remembered of it.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from pagewatch import schedule
from pagewatch.configuration import Configuration
from pagewatch.frozen import dataclass
from pagewatch.memory import Memory
from pagewatch.model import Problem, Watch, WatchState
from pagewatch.urls import without_login


@dataclass(frozen=True)
class Health:
    """One watch. `state` is the contract's word (off, ok, new, or the outcome of its trouble), `health` one of
    trouble, waiting, good and off. `error` is the kind and detail of its trouble, `remarks` are clauses for people.
    `watch` is None where its definition is broken: then there is no interval."""

    name: str
    url: str
    state: str
    health: str
    past: WatchState
    watch: Watch | None = None
    error: str = ""
    interval: timedelta | None = None
    next_check: datetime | None = None
    remarks: tuple[str, ...] = ()


def of_all(configuration: Configuration, memory: Memory) -> list[Health]:
    """Every watch of the file, the broken ones last."""
    good = [_of_watch(watch, memory.find(watch.name)) for watch in configuration.watches]
    return good + [_of_broken(problem, memory.find(problem.watch)) for problem in configuration.broken()]


def _of_watch(watch: Watch, known: WatchState | None) -> Health:
    past = known or WatchState("", watch.name, watch.url)
    trouble = past.episode
    state, health = ("ok", "good") if past.baseline is not None else ("new", "waiting")
    if trouble is not None:
        state, health = trouble.outcome, "trouble"
    if not watch.enabled:
        state = health = "off"
    return Health(
        name=watch.name,
        url=without_login(watch.url),
        state=state,
        health=health,
        past=past,
        watch=watch,
        error=": ".join(filter(None, (trouble.kind, trouble.detail))) if trouble else "",
        interval=schedule.interval_of(watch, past),
        next_check=past.next_check if watch.enabled else None,
        remarks=_remarks(watch, past),
    )


def _remarks(watch: Watch, past: WatchState) -> tuple[str, ...]:
    remarks = []
    if past.episode is not None:
        remarks.append(f"{past.episode.detail} (since {past.episode.began:%Y-%m-%d %H:%M} UTC)")
    if past.moved_to:
        remarks.append(f"moved permanently to {past.moved_to}")
    if not past.trusted:
        remarks.append("its server's validators are not trusted; the page is always read in full")
    if watch.robots_reason:
        remarks.append(f"robots.txt is ignored: {watch.robots_reason}")
    return tuple(remarks)


def _of_broken(problem: Problem, known: WatchState | None) -> Health:
    past = known or WatchState("", problem.watch, problem.url)
    said = f"line {problem.line}: {problem.message}"
    return Health(problem.watch, problem.url, "failed", "trouble", past, error=f"config: {said}", remarks=(said,))


# ------------------------------------------------------------------------------------------ what belongs to no watch


def unclaimed(configuration: Configuration, memory: Memory) -> list[str]:
    """Notices that wait for a target which is gone, and how to give them up."""
    return [
        f"{count} unsent for {name}, no longer in the file: `monitor.py forget --target {name}` drops them"
        for name, count in memory.unclaimed(configuration.declared).items()
    ]


def unsent(configuration: Configuration, memory: Memory) -> list[str]:
    """Notices that wait for a target which is there, and what it said last."""
    gone = memory.unclaimed(configuration.declared)
    lines = []
    for target, count in Counter(notice.target for notice in memory.outbox if notice.target not in gone).items():
        error = next(notice.error for notice in memory.outbox if notice.target == target)
        lines.append(f"{count} unsent for {target or 'standard output'}" + (f": {error}" if error else ""))
    return lines


def forgotten_by_the_file(configuration: Configuration, memory: Memory) -> list[str]:
    """Watches that are remembered, but no longer in the file."""
    there = frozenset(configuration.names)
    gone = (name for name in memory.names() if name not in there)
    return [f"remembered, but no longer in the file: {name} (`monitor.py forget NAME` drops it)" for name in gone]
