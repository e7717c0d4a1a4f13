"""`monitor.py report`: writes report.html into the state folder, and the feed of changes anew; prints its path.

It reads only what is remembered, and needs no lock: a run may be at work. A history that cannot be read is said on the
page, which is written all the same.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from pagewatch import changes, checking, health, recall
from pagewatch.arithmetic import spoken
from pagewatch.changes import Redact
from pagewatch.comparison import Compared
from pagewatch.configuration import Configuration, line
from pagewatch.errors import StateError
from pagewatch.frozen import dataclass
from pagewatch.health import Health
from pagewatch.memory import Memory
from pagewatch.model import Event
from pagewatch.notices import harmless
from pagewatch.plots import Point
from pagewatch.publishing import refresh_feed
from pagewatch.report import MOST_CHANGES, Report, Shown, html
from pagewatch.setup import style_of
from pagewatch.state import REPORT, STATE, damaged_files, read_memory, save_for_readers

MOST_VALUES = 1_000  # of one number


@dataclass(frozen=True)
class Source:
    """What the report is made from. `versions` are those of each watch by its id, `unread` is why there are none but
    those that the history has not got yet."""

    folder: Path
    memory: Memory
    versions: dict[str, list[Event]]
    unread: str
    redact: Redact


def run(options: Namespace) -> int:
    configuration, now, folder = checking.read(options), options.clock(), options.state
    style = style_of(options, configuration.secrets)
    memory = read_memory(folder, now)
    versions, unread = _versions(folder, memory)
    source = Source(folder, memory, versions, unread, style.redact)
    notes = _notes(configuration, source, options.config.name)
    save_for_readers(folder, REPORT, html(report(configuration, source, notes, now)))
    print(style.clean(str(folder / REPORT)))
    if memory.feed_id:  # else nothing has been looked at yet
        _refresh(source, configuration, now)
    return 0


def _refresh(source: Source, configuration: Configuration, now: datetime) -> None:
    try:
        refresh_feed(source.folder, source.memory, configuration.watches, source.redact, now)
    except StateError as error:
        print(harmless(source.redact(str(error))), file=sys.stderr)


def _versions(folder: Path, memory: Memory) -> tuple[dict[str, list[Event]], str]:
    try:
        return recall.versions(folder, memory, MOST_CHANGES + 1), ""
    except StateError as error:
        return recall.with_waiting({}, memory), str(error)


def report(configuration: Configuration, source: Source, notes: tuple[str, ...], now: datetime) -> Report:
    gone = source.memory.unclaimed(configuration.declared)
    unsent = sum(notice.target not in gone for notice in source.memory.outbox)
    watches = tuple(_shown(watch, source) for watch in health.of_all(configuration, source.memory))
    return Report(watches, now, unsent, notes)


def _notes(configuration: Configuration, source: Source, file: str) -> tuple[str, ...]:
    notes = [source.unread] if source.unread else []
    if source.memory.recovered == STATE:
        notes.append(f"{STATE} is damaged: the next run uses its copy")
    notes += [f"kept aside as damaged: {name}" for name in damaged_files(source.folder)]
    notes += [line(problem, file) for problem in configuration.problems if not problem.watch]
    notes += health.unclaimed(configuration, source.memory)
    notes += health.forgotten_by_the_file(configuration, source.memory)
    return tuple(source.redact(note) for note in notes)


def _shown(watch: Health, source: Source) -> Shown:
    past, redact = watch.past, source.redact
    versions = source.versions.get(past.id, [])
    return Shown(
        name=redact(watch.name),
        url=redact(watch.url),
        state=watch.state,
        health=watch.health,
        detail=redact("; ".join(watch.remarks)),
        last_verified=past.last_verified,
        last_changed=past.last_changed,
        next_check=watch.next_check,
        interval=_interval(watch),
        checks=past.checks,
        changes=past.changes,
        moments=tuple(event.at for event in versions if event.outcome == "changed"),
        values=_values(watch, source),
        diffs=_diffs(watch, versions, redact),
    )


def _interval(watch: Health) -> str:
    if watch.watch is None or watch.interval is None:
        return ""
    every = watch.watch.every
    return spoken(watch.interval) + (f" ({spoken(every.low)} to {spoken(every.high)})" if every.adaptive else "")


def _values(watch: Health, source: Source) -> tuple[Point, ...]:
    """Of the first number of the watch."""
    if watch.watch is None or not watch.watch.number or not watch.past.id or source.unread:
        return ()
    versions = recall.numbers(source.folder, source.memory, watch.past.id, MOST_VALUES)
    return changes.values(versions, watch.watch.number[0][0])


def _diffs(watch: Health, versions: list[Event], redact: Redact) -> tuple[Compared, ...]:
    subject = changes.subject(watch.past, watch.watch)
    pairs = [pair for pair in pairwise(versions) if pair[1].outcome == "changed"]
    return tuple(
        changes.compared(event, before.extract, subject, redact) for before, event in reversed(pairs[-MOST_CHANGES:])
    )
