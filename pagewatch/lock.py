"""One run at a time: a lock on the state folder.

It is the operating system's lock on an open file, which ends with the process however that ends, so that a killed run
or a file that was left behind never stops the next one. The file says since when it is held.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pagewatch.errors import StateError, reason
from pagewatch.frozen import dataclass

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NAME = "lock"
POLL = 0.1  # seconds between two tries
OURS = (
    *("state.json", "content", NAME, "README", ".gitignore"),
    *("history.db", "quiet.txt", "watches.txt", "report.html", "changes.atom", "error"),
)  # beginnings of the names of what a state folder holds


@dataclass(frozen=True)
class Locked:
    """This run is the only one."""


@dataclass(frozen=True)
class Busy:
    """Another run is at work, since then if it could say so."""

    since: datetime | None


@contextmanager
def lock(
    folder: Path,
    *,
    now: datetime,
    wait: float = 0,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> Iterator[Locked | Busy]:
    """Hold `folder`, which is made if need be, waiting up to `wait` seconds for another run to end.

    StateError where the folder cannot be used.
    """
    began = monotonic()
    descriptor = _open(folder)
    try:
        while not (held := _acquire(descriptor, folder)) and monotonic() - began < wait:
            sleep(min(POLL, wait))
        if not held:
            yield Busy(_start(descriptor))
            return
        _write(descriptor, (now + timedelta(seconds=int(monotonic() - began))).isoformat())
        try:
            yield Locked()
        finally:
            _write(descriptor, "")
            _release(descriptor)
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _make_private(folder)
        return os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise StateError(f"the state folder {folder} cannot be used: {reason(error)}") from error


def _make_private(folder: Path) -> None:
    """The owner's only, unless other things are kept there too (`--state ~`)."""
    if folder.stat().st_mode & 0o077 and all(path.name.startswith(OURS) for path in folder.iterdir()):
        with suppress(OSError):
            folder.chmod(0o700)


if sys.platform == "win32":
    FAR = 1 << 30  # a locked byte cannot be read by others: take one far behind the text

    def _acquire(descriptor: int, folder: Path) -> bool:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        with suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _acquire(descriptor: int, folder: Path) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise StateError(f"{folder / NAME} cannot be locked on this file system: {reason(error)}") from error
        return True

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _write(descriptor: int, text: str) -> None:
    """Only for others to read: a full disk is no reason not to run."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, text.encode("ascii"))


def _start(descriptor: int) -> datetime | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        since = datetime.fromisoformat(os.read(descriptor, 64).decode("ascii"))
    except (OSError, ValueError):
        return None
    return since.astimezone(timezone.utc) if since.tzinfo else None
