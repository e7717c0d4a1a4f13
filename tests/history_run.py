"""Runs of the history alone that end badly: `python -m tests.history_run HOW FOLDER`.

It prints a word for each promise that it has been given: what was printed has to be there afterwards.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from types import FrameType

from pagewatch.answers import Extract
from pagewatch.errors import StateError
from pagewatch.history import NAME, versions, write
from pagewatch.model import Event, Told

NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
BATCH = 5
ENOUGH = 400  # steps: more than one call of `write` has


def event(number: int, watch_id: str = "w1", **keys: object) -> Event:
    """A change, seen so many minutes after NOW, with a content of its own."""
    given: dict[str, object] = {
        "id": f"{watch_id}-{number}",
        "watch_id": watch_id,
        "at": NOW + timedelta(minutes=number),
        "outcome": "changed",
        "fingerprint": f"fingerprint {number}",
        "extract": Extract(f"text {number}\n" * 100),
        "title": f"Price: {number}",
        **keys,
    }
    return Event(**given)  # type: ignore[arg-type]


def telling(number: int, watch_id: str = "w1", **keys: object) -> Told:
    given: dict[str, object] = {
        "id": f"{watch_id}-{number} mail 1",
        "watch_id": watch_id,
        "at": NOW + timedelta(minutes=number),
        "target": "mail",
        "title": f"Price: {number}",
        **keys,
    }
    return Told(**given)  # type: ignore[arg-type]


def batch(number: int, count: int = 1) -> tuple[list[Event], list[Told]]:
    """The rows of one run, the `number`-th from 0, or of so many from there."""
    numbers = range(number * BATCH + 1, (number + count) * BATCH + 1)
    return [event(each) for each in numbers], [telling(each) for each in numbers]


def write_batch(folder: Path, number: int) -> None:
    write(folder, *batch(number), NOW)


def endless(folder: Path) -> None:
    """Run after run, until it is killed."""
    number = len(versions(folder, "w1")) // BATCH
    while True:
        write_batch(folder, number)
        say(f"written {number}")
        number += 1


def stepwise(folder: Path) -> None:
    """In each folder below one child, killed before its n-th call of SQLite; the last one ends by itself."""
    first = folder / "000"
    first.mkdir()
    write_batch(first, 0)
    for step in range(1, ENOUGH):
        place = folder / f"{step:03}"
        shutil.copytree(first, place)
        if not _in_child(partial(_killed, place, step)):
            say(f"calls {step}")
            return


def _killed(folder: Path, last: int) -> None:
    count = 0

    def step(frame: FrameType, what: str, function: object) -> None:
        nonlocal count
        if what == "c_call" and type(getattr(function, "__self__", None)).__module__ == "sqlite3":
            count += 1
            if count == last:
                os._exit(9)

    sys.setprofile(step)
    write_batch(folder, 1)
    os._exit(0)


def _in_child(act: Callable[[], None]) -> bool:
    """Whether the child was killed."""
    child = os.fork()
    if child == 0:
        act()
    return os.waitpid(child, 0)[1] != 0


def full(folder: Path) -> None:
    """With no room for a file longer than those that are there."""
    import resource

    longest = max((path.stat().st_size for path in folder.glob(f"{NAME}*")), default=0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest))
    for number in range(1, 20):
        try:
            write_batch(folder, number)
            say(f"written {number}")
        except StateError as error:
            say(f"StateError {error}")
            return


def say(word: str) -> None:
    print(word, flush=True)


if __name__ == "__main__":
    {"endless": endless, "stepwise": stepwise, "full": full}[sys.argv[1]](Path(sys.argv[2]))
