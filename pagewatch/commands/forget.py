"""`monitor.py forget`: drops what is remembered of a watch, or the unsent notices of a target."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from pagewatch import history
from pagewatch.errors import StateError, UsageError, unknown
from pagewatch.lock import Busy, lock
from pagewatch.memory import Memory
from pagewatch.state import REPORT, open_memory

PATIENCE = 10.0  # seconds to wait for a run that is at work


def run(options: Namespace) -> int:
    if bool(options.name) == bool(options.target):
        raise UsageError("name either a watch, or a target with --target")
    start = options.clock()
    with lock(options.state, now=start, wait=PATIENCE) as held:
        if isinstance(held, Busy):
            raise UsageError("another run is at work: try again when it has ended")
        memory = open_memory(options.state, start)
        return forget_target(memory, options.target) if options.target else forget(memory, options.name, options.state)


def forget(memory: Memory, name: str, folder: Path) -> int:
    """The watch's next look is a first visit, and its history is gone. What was seen and not told yet is still told."""
    past = memory.find(name)
    if past is None:
        raise UsageError(unknown("remembered watch", name, memory.names()))
    history_is_gone = _forget_history(folder, past.id)  # first: afterwards nobody could name it
    memory.forget(past.id)
    memory.feed_due = bool(memory.feed_id)  # the next run writes the feed without it
    (folder / REPORT).unlink(missing_ok=True)
    memory.commit()
    unsent = sum(notice.watch_id == past.id for notice in memory.outbox)
    kept = f"; {unsent} unsent notice{'s are' if unsent > 1 else ' is'} kept" if unsent else ""
    its = " and its history" if history_is_gone else ", but not its history"
    print(f'forgot "{name}"{its}: its next look is a first visit{kept}')
    return 0


def _forget_history(folder: Path, watch_id: str) -> bool:
    """Whether it is gone. A damaged history is no reason to keep a watch."""
    try:
        history.forget(folder, watch_id)
    except StateError as error:
        print(error, file=sys.stderr)
        return False
    return True


def forget_target(memory: Memory, target: str) -> int:
    targets = tuple(dict.fromkeys(notice.target for notice in memory.outbox))
    if target not in targets:
        raise UsageError(unknown("target with unsent notices", target, targets))
    dropped = memory.drop_target(target)
    memory.commit()
    print(f"dropped {dropped} unsent notice{'s' if dropped > 1 else ''} of {target}")
    return 0
