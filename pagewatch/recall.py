"""The history as of this moment: what is in its file, and the rows that still wait in the memory.

A run writes its history last, so that a change which has been told may not be there yet. The memory has to be read
before the history is: then no row is missed, and one that is found in both counts once. StateError where the file
cannot be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pagewatch import history
from pagewatch.answers import Extract
from pagewatch.memory import Memory
from pagewatch.model import MUTED, Event


def versions(folder: Path, memory: Memory, contents: int) -> dict[str, list[Event]]:
    """The versions of each watch by its id, the oldest first; the last `contents` of each have their extracts."""
    found = history.all_versions(folder, contents)
    return with_waiting({watch_id: [version.event for version in its] for watch_id, its in found.items()}, memory)


def with_waiting(found: dict[str, list[Event]], memory: Memory) -> dict[str, list[Event]]:
    """The same with the versions that are not in the file yet."""
    merged = defaultdict(list, found)
    for event in waiting(memory, (event for its in found.values() for event in its)):
        if event.fingerprint:
            merged[event.watch_id].append(event)
    return dict(merged)


def numbers(folder: Path, memory: Memory, watch_id: str, last: int) -> list[Event]:
    """The last versions of a watch with their extracts, the oldest first."""
    found = [
        Event("", watch_id, at, "changed", extract=extract)
        for at, extract in reversed(history.extracts(folder, watch_id, last))
    ]
    times = {event.at for event in found}
    rest = (event for event in memory.events.values() if event.watch_id == watch_id and event.at not in times)
    return [*found, *(event for event in rest if event.extract is not None)]


def changes(folder: Path, memory: Memory, most: int) -> list[tuple[Event, Extract | None]]:
    """The newest changes of all watches that were told, in no order, each with what was there before."""
    found = history.changes(folder, most)
    last: dict[str, Extract | None] = {}
    for event in waiting(memory, (event for event, _ in found)):
        if not event.fingerprint:
            continue
        if event.watch_id not in last:
            last[event.watch_id] = next((seen for _, seen in history.extracts(folder, event.watch_id, 1)), None)
        if event.outcome == "changed" and not event.detail.startswith(MUTED):
            found.append((event, last[event.watch_id]))
        last[event.watch_id] = event.extract
    return found


def looks(folder: Path, memory: Memory, watch_id: str) -> list[tuple[datetime, str]]:
    """When a watch was decided about and with which outcome, the oldest first."""
    found = history.looks(folder, watch_id)
    known = set(found)
    rest = ((event.at, event.outcome) for event in memory.events.values() if event.watch_id == watch_id)
    return [*found, *(look for look in rest if look not in known)]


def waiting(memory: Memory, found: Iterable[Event]) -> list[Event]:
    """The decisions that are not among those found in the file, the oldest first."""
    known = {(event.id, event.at) for event in found}
    return [event for event in memory.events.values() if (event.id, event.at) not in known]
