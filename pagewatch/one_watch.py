"""All that is known of one watch: its state, and its history with the rows that history.db has not got yet.

A run that was killed, or could not write the history, leaves rows in state.json: they are shown as if they were in
the history, under the numbers that the next run gives them. What is remembered is read first, so that a row which a
run writes meanwhile is there once and not missed. Nothing is changed.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from pagewatch import history, recall, setup, watches_yaml
from pagewatch.answers import Extract
from pagewatch.configuration import Configuration
from pagewatch.errors import UsageError, unknown
from pagewatch.frozen import dataclass
from pagewatch.history import Version
from pagewatch.memory import Memory
from pagewatch.model import Event, Problem, Told, Watch, WatchState
from pagewatch.output import Style
from pagewatch.state import STATE, read_memory
from pagewatch.urls import without_login


@dataclass(frozen=True)
class Recalled:
    """One watch. `watch` is None where the file has it no more, or `problem` says why it cannot be used; `past` has
    made no checks where it has never been looked at."""

    watch: Watch | None
    problem: Problem | None
    past: WatchState
    memory: Memory
    folder: Path

    def versions(self) -> list[Version]:
        """All versions, the oldest first."""
        known = history.versions(self.folder, self.past.id)
        more = (event for event in self._waiting(version.event for version in known) if event.extract is not None)
        first = known[-1].number + 1 if known else 1
        return known + [Version(first + place, event) for place, event in enumerate(more)]

    def content(self, version: Version) -> Extract | None:
        """What was seen; None where that is lost."""
        return version.event.extract or history.content(self.folder, self.past.id, version.number)

    def decisions(self) -> list[Event]:
        """The decisions that are kept, the oldest first."""
        known = history.decisions(self.folder, self.past.id, history.KEPT)[::-1]
        return known + self._waiting(known)

    def told(self) -> list[Told]:
        """What became of the notices that are kept, the oldest first."""
        known = history.told(self.folder, self.past.id, history.KEPT)[::-1]
        seen = {(row.id, row.at) for row in known}
        waiting = (row for row in self.memory.told.values() if row.watch_id == self.past.id)
        return known + [row for row in waiting if (row.id, row.at) not in seen]

    def _waiting(self, found: Iterable[Event]) -> list[Event]:
        return [event for event in recall.waiting(self.memory, found) if event.watch_id == self.past.id]


def versions(options: Namespace) -> tuple[Recalled, list[Version], Style]:
    """The watch of the name that was given, what was seen of it, the oldest first, and the way to print it."""
    configuration = watches_yaml.read(options)
    recalled = find(options, configuration)
    return recalled, recalled.versions(), setup.style_of(options, configuration.secrets)


def find(options: Namespace, configuration: Configuration) -> Recalled:
    """The watch of the name that was given, in the file or only remembered. Raises UsageError, StateError."""
    memory = read_memory(options.state, options.clock())
    if memory.recovered == STATE:
        print(f"{options.state / STATE} is damaged: this is from its copy, which the next run uses", file=sys.stderr)
    known = tuple(dict.fromkeys((*configuration.names, *memory.names())))
    if options.name not in known:
        raise UsageError(unknown("watch", options.name, known))
    watch = next((watch for watch in configuration.watches if watch.name == options.name), None)
    problem = next((problem for problem in configuration.broken() if problem.watch == options.name), None)
    return Recalled(watch, problem, _state(memory, watch, options.name, configuration), memory, options.state)


def _state(memory: Memory, watch: Watch | None, name: str, configuration: Configuration) -> WatchState:
    """A watch that has been renamed since the last run has its state under its old name."""
    if watch is not None:
        return memory.state_of(name, without_login(watch.url), watch.select, frozenset(configuration.names))
    return memory.find(name) or WatchState("", name, "")
