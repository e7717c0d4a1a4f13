"""The feed of changes in the state folder, for feed readers.

It is written as a whole and by one rename. A run writes it after its history, and only where a change was told; the
command `report` writes it too, without the lock, and never leaves it older than it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pagewatch import atom, changes, recall
from pagewatch.changes import Redact
from pagewatch.frozen import replace
from pagewatch.memory import Memory
from pagewatch.model import Watch
from pagewatch.state import FEED, save_for_readers


def write_feed(folder: Path, memory: Memory, watches: Sequence[Watch], redact: Redact, now: datetime) -> None:
    """The newest changes. StateError where the history cannot be read or the feed not be written."""
    save_for_readers(folder, FEED, _text(folder, memory, watches, redact, now))


def refresh_feed(folder: Path, memory: Memory, watches: Sequence[Watch], redact: Redact, now: datetime) -> None:
    """The same beside a run that may be at work. That writes its history before its feed: so what has been written
    here is new, if the history is the same afterwards."""
    written, text = "", _text(folder, memory, watches, redact, now)
    while text != written:
        save_for_readers(folder, FEED, text)
        written, text = text, _text(folder, memory, watches, redact, now)


def _text(folder: Path, memory: Memory, watches: Sequence[Watch], redact: Redact, now: datetime) -> str:
    definitions = {watch.name: watch for watch in watches}
    entries = []
    for event, before in recall.changes(folder, memory, atom.MOST_ENTRIES):
        past = memory.watches.get(event.watch_id)
        if past is not None:  # else it has been forgotten
            subject = changes.subject(past, definitions.get(past.name))
            event = replace(event, at=min(event.at, now))  # the clock may have been wrong then
            entries.append(changes.entry(event, before, subject, redact))
    return atom.feed(entries, memory.feed_id, now)
