"""The folder `state/`: read, verified, and saved by one rename.

Nothing is ever half there: contents first, then state.json is replaced as a whole, so that a baseline and its notices
appear together. Nothing is silently reset: damage is kept under another name while the copy from the start of the
last run serves, and where there is no good copy, or state.json is gone from among its companions, every run stops
with advice. Only the main thread of the run that holds the lock writes; others may read, for every file is whole at
any moment.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pagewatch.errors import StateError, reason
from pagewatch.memory import Memory
from pagewatch.model import VERSION as PROGRAM
from pagewatch.records import VERSION, Damage, Document, Newer, parse

STATE = "state.json"
COPY = "state.json.bak"
DAMAGED = "state.json.damaged-"
REPORT, FEED = "report.html", "changes.atom"
CONTENT = "content"
COMPANIONS = (COPY, DAMAGED, CONTENT, "history.db")  # names begin so that are there only where state.json was
LEFT_BEHIND = timedelta(hours=1)  # what is older is nobody's work any more
EMPTY = Document({}, {})
_IS_KEPT = re.compile(r"(?:state\.json|history\.db)\.damaged-\w+(?:-\d+)?\Z")  # not what belongs to a database
_REFERENCE = re.compile(rb'"content":"([0-9a-f]{64})"')


# -------------------------------------------------------------------------------------------------- files, one by one


class Files:
    """The steps of writing, a method each, so that a test can end the process or fill the disk at each in turn."""

    patience = 20 if os.name == "nt" else 0

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self.sleep = sleep

    def make_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """A new file that only its owner can read; it is on the disk when this returns."""
        path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            self.sync(file.fileno())

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Windows refuses while another program reads the target: that passes."""
        for _ in range(self.patience):
            with suppress(PermissionError):
                return self.rename(source, target)
            self.sleep(0.05)
        return self.rename(source, target)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def sync_folder(self, folder: Path) -> None:
        """POSIX: a name is on the disk when its folder is. Some file systems know no such thing."""
        if os.name != "posix":
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            self.sync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


def save(path: Path, data: bytes, files: Files, mark: str = "") -> None:
    """Replace a file as a whole or, with a StateError, not at all. `mark` tells the temporary files apart of those
    who write it at the same time."""
    temporary = path.with_name(f"{path.name}{mark}.tmp")
    try:
        with _saving(path):
            files.write(temporary, data)
            files.replace(temporary, path)
            files.sync_folder(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def save_for_readers(folder: Path, name: str, text: str) -> None:
    """The same for a page or a feed, which nothing is read from again: the lock need not be held, and the folder is
    made if need be."""
    files = Files()
    with _saving(folder / name):
        files.make_folder(folder)
    save(folder / name, text.encode("utf-8"), files, f"-{os.getpid()}")


@contextmanager
def _saving(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(f"{path} cannot be saved: {reason(error)}. What was saved before is whole.") from error


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{path} cannot be read: {reason(error)}") from error


class Folder:
    """The store of a memory: state.json, and longer contents each in a file named by the SHA-256 of its bytes."""

    def __init__(self, path: Path, files: Files) -> None:
        self._path, self._files = path, files
        self._contents = path / CONTENT
        self._good: set[str] = set()

    def save(self, document: bytes) -> None:
        save(self._path / STATE, document, self._files)

    def put(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._good and self.get(digest) is None:
            with _saving(self._contents):
                self._files.make_folder(self._contents)
            save(self._contents / digest, content, self._files)
            self._good.add(digest)
        return digest

    def get(self, name: str) -> bytes | None:
        """None where it is missing, damaged or unreadable: the program goes on without it."""
        try:
            content = (self._contents / name).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content).hexdigest() != name:
            return None
        self._good.add(name)
        return content

    def collect(self) -> None:
        """Removes the contents that neither state.json nor its copy refers to; none where one of the two is unsound."""
        with suppress(OSError, StateError):
            contents = list(self._contents.iterdir())
            documents = [raw for name in (STATE, COPY) if (raw := _read(self._path / name)) is not None]
            if not all(isinstance(parse(raw), Document) for raw in documents):
                return
            kept = {name.decode("ascii") for raw in documents for name in _REFERENCE.findall(raw)}
            for content in contents:
                if content.name not in kept:
                    self._files.remove(content)
                    self._good.discard(content.name)


class ReadOnly(Folder):
    """For commands that look on, and need no lock."""

    def save(self, document: bytes) -> None:
        raise RuntimeError("this memory is for reading only")

    def put(self, content: bytes) -> str:
        raise RuntimeError("this memory is for reading only")


# ------------------------------------------------------------------------------------------------------------ opening


def open_memory(folder: Path, now: datetime, files: Files | None = None) -> Memory:
    """What is remembered in `folder`, whose lock is held. StateError where it cannot be relied on.

    `Memory.recovered` is the name under which a damaged state.json was kept, if the copy is used.
    """
    files = files or Files()
    _sweep(folder, files, now)
    raw = _read(folder / STATE)
    if raw is None:
        _refuse_if_gone(folder)
        memory = Memory(EMPTY, Folder(folder, files), now)
        memory.commit(always=True)
        return memory
    document = _verified(folder / STATE, raw)
    if isinstance(document, Damage):
        return _recover(folder, document, raw, now, files)
    _renew_copy(folder, raw, document, files)
    return Memory(document, Folder(folder, files), now)


def read_memory(folder: Path, now: datetime) -> Memory:
    """The same for commands that only look on: no lock is needed, nothing is written, `commit` is an error.

    `Memory.recovered` is "state.json" if the next run is going to use the copy.
    """
    store = ReadOnly(folder, Files())
    raw = _read(folder / STATE)
    if raw is None:
        _refuse_if_gone(folder)
        return Memory(EMPTY, store, now)
    document = _verified(folder / STATE, raw)
    if isinstance(document, Document):
        return Memory(document, store, now)
    memory = Memory(_copy(folder, document), store, now)
    memory.recover(STATE)
    return memory


def damaged_files(folder: Path) -> tuple[str, ...]:
    """The names of damaged files that were kept aside: shown to the user until they are deleted."""
    return tuple(sorted(path.name for path in folder.glob("*.damaged-*") if _IS_KEPT.match(path.name)))


def _sweep(folder: Path, files: Files, now: datetime) -> None:
    """What a run that was killed left unfinished. A page or a feed may just be in the making by a command."""
    with suppress(OSError):
        for path in folder.glob(f"{STATE}*.tmp"):
            files.remove(path)
        for path in (*folder.glob(f"{REPORT}-*.tmp"), *folder.glob(f"{FEED}-*.tmp")):
            if path.stat().st_mtime < (now - LEFT_BEHIND).timestamp():
                files.remove(path)


def _refuse_if_gone(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    companions = [name for name in names if name.startswith(COMPANIONS)]
    if companions:
        raise StateError(
            f"{folder / STATE} is gone, but {', '.join(companions)} shows that there was one. Nothing was changed. "
            f"Put it back (a copy from the start of the last run is {COPY}), or delete the whole folder to begin anew."
        )


def _renew_copy(folder: Path, raw: bytes, document: Document, files: Files) -> None:
    """Of a verified state.json; one that remembers nothing is no good copy. If the disk is full the old one stays."""
    with suppress(StateError):
        known = _read(folder / COPY)
        if known != raw and (document.tables.get("watches") or known is not None):
            save(folder / COPY, raw, files)


def _recover(folder: Path, damage: Damage, raw: bytes, now: datetime, files: Files) -> Memory:
    """The memory of the copy, saved as state.json once the damaged one is safe under another name."""
    try:
        copy = _copy(folder, damage)
    except StateError:
        with suppress(StateError):
            _keep_aside(folder, raw, now, files)
        raise
    memory = Memory(copy, Folder(folder, files), now)
    memory.recover(_keep_aside(folder, raw, now, files))
    memory.commit(always=True)
    return memory


def _copy(folder: Path, damage: Damage) -> Document:
    """What state.json.bak holds, to be used in the place of a damaged state.json."""
    raw = _read(folder / COPY)
    copy = Damage("it is missing") if raw is None else _verified(folder / COPY, raw)
    if isinstance(copy, Damage):
        raise StateError(
            f"{folder / STATE} is damaged ({damage.reason}), and {COPY} cannot take its place ({copy.reason}). "
            f"Nothing was changed. Put back a backup, or delete the whole folder: then all are first visits."
        )
    return copy


def _verified(path: Path, raw: bytes) -> Document | Damage:
    document = parse(raw)
    if isinstance(document, Newer):
        raise StateError(
            f"{path} is of version {document.version}, and this program knows versions up to {VERSION}. "
            f"Nothing was changed. Use the newer program that wrote it, or another folder (--state)."
        )
    return document


def _keep_aside(folder: Path, raw: bytes, now: datetime, files: Files) -> str:
    """The name under which these bytes are kept: once, however many runs find them."""
    for name in damaged_files(folder):
        if name.startswith(DAMAGED) and _read(folder / name) == raw:
            return name
    name = stem = f"{DAMAGED}{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}"
    number = 1
    while (folder / name).exists():
        number += 1
        name = f"{stem}-{number}"
    save(folder / name, raw, files)
    return name


def keep_traceback(folder: Path, text: str) -> str:
    """Where the traceback of a bug was written, for its owner only; a lasting bug has one file."""
    path = folder / f"error-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}.txt"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f"pagewatch {PROGRAM}, Python {sys.version}\n{text}\n")
    except OSError:
        print(text, file=sys.stderr)
        return "the lines above"
    return str(path)
