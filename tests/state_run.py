"""A run of the state alone, killed or with the disk full from a step on: `python -m tests.state_run FOLDER 3 kill`.

It prints a word for each promise that it has been given: what was printed has to be there afterwards.
"""

from __future__ import annotations

import errno
import os
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pagewatch.answers import Extract, Validators
from pagewatch.errors import StateError
from pagewatch.frozen import replace
from pagewatch.lock import lock
from pagewatch.memory import Memory
from pagewatch.model import Baseline, Notice, RobotsRecord
from pagewatch.state import Files, open_memory

NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)
URL = "http://127.0.0.1/tickets"
NAMES = frozenset({"Price", "Other"})
ORIGIN = "http://127.0.0.1"
ROBOTS = b"User-agent: *\nDisallow: /private\n" * 100
NEVER = 10**9
NOWHERE = Path()


def long_text(word: str) -> str:
    return f"{word} line\n" * 500


class Mortal(Files):
    """Files that fail at a step. `how`: "kill" before it, "half" in the middle of it, "full": no room from then on."""

    def __init__(self, step: int, how: str) -> None:
        super().__init__()
        self.step, self.how = step, how
        self.log: list[str] = []

    @property
    def writes(self) -> list[int]:
        """The numbers of the steps that have a half."""
        return [number for number, step in enumerate(self.log, start=1) if step.startswith("write ")]

    def make_folder(self, folder: Path) -> None:
        self._step(f"make {folder.name}")
        super().make_folder(folder)

    def write(self, path: Path, data: bytes) -> None:
        self._step(f"write {path.name}", path, data[: len(data) // 2])
        super().write(path, data)

    def sync(self, descriptor: int) -> None:
        self._step("sync")
        super().sync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._step(f"rename {target.name}")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._step(f"remove {path.name}")
        super().remove(path)

    def _step(self, what: str, path: Path = NOWHERE, half: bytes = b"") -> None:
        self.log.append(what)
        needs_room = not what.startswith(("rename", "remove"))
        if len(self.log) < self.step or (self.how == "full" and not needs_room):
            return
        if self.how != "kill" and path is not NOWHERE:
            path.write_bytes(half)
        if self.how == "full":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        os._exit(9)


def look(memory: Memory, word: str, number: int) -> None:
    """What a run remembers when it sees a change: a baseline with a longer text, two notices, a long robots.txt."""
    state = memory.state_of("Price", URL, "select", NAMES)
    baseline = Baseline("recipe", f"fingerprint of {word}", Extract(long_text(word)), NOW, URL)
    memory.put(replace(state, baseline=baseline, validators=Validators(f'"{word}"', "", URL), events=number))
    memory.post([notice(f"{state.id}-{number}", target) for target in ("mail", "phone")])
    memory.robots[ORIGIN] = RobotsRecord(NOW, ROBOTS + word.encode())


def notice(notice_id: str, target: str) -> Notice:
    return Notice(notice_id, notice_id.split("-")[0], "Price", "changed", "Price: 20 → 18", "old → new", target, NOW)


def run(folder: Path, files: Files) -> None:
    with lock(folder, now=LATER):
        memory = open_memory(folder, LATER, files)
        say("opened")
        look(memory, "new", 2)
        memory.commit()
        say("saved")
        first = memory.outbox[0]
        memory.settle(first.id, first.target)
        memory.commit()
        say("settled")
        memory.finish(LATER)
        say("finished")


def say(word: str) -> None:
    print(word, flush=True)


def main(folder: str, step: str, how: str) -> None:
    if how == "limit":
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    files = Mortal(int(step), how)
    try:
        run(Path(folder), files)
    except StateError as error:
        say(f"StateError {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
