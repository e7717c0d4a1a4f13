"""The history of each watch: every version in full, the last decisions, what became of each notice (SQLite).

A row is known by its id and time, so that rows written again by a run after a crash are there once. All rows of a
call are written in one transaction. WAL lets the commands read while a run writes. `synchronous=NORMAL` is enough: it
never damages the file, and what a power failure may take are rows that state.json keeps until its next save, or looks
that found nothing new. Damage is set aside, never repaired by guessing: watching does not depend on this file.

Rows are JSON in ASCII (`records`), so that any text of a page fits and a field added later needs no new schema.
Watches are known by id only: their names may change.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

from pagewatch.answers import Extract
from pagewatch.errors import StateError, reason
from pagewatch.frozen import dataclass, replace
from pagewatch.model import MUTED, Event, Told
from pagewatch.records import decode, dumps, encode, peek, time_text, time_value

NAME = "history.db"
KEPT = 1000  # decisions of a watch, and notices told
PATIENCE = 2.0  # seconds that another program may hold the file
SCHEMA = 1  # in `user_version`: a higher one is not touched
PAGE = 4096  # bytes: the file is a multiple of it
ROWS = (
    "watch TEXT NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY (watch, number), UNIQUE (watch, key)) WITHOUT ROWID"
)
TABLES = (
    "CREATE TABLE content (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL)",
    f"CREATE TABLE version (content INTEGER NOT NULL, {ROWS}",
    f"CREATE TABLE event ({ROWS}",
    f"CREATE TABLE told ({ROWS}",
)
INSERT = (  # under the watch's next number, unless it is there
    "INSERT OR IGNORE INTO {0} VALUES ({1}?1, (SELECT coalesce(max(number), 0) + 1 FROM {0} WHERE watch = ?1), ?2, ?3)"
)
TRIM = "DELETE FROM {0} WHERE watch = ?1 AND number <= (SELECT max(number) FROM {0} WHERE watch = ?1) - ?2"
ADVICE = {  # by a part of what SQLite says
    "locked": "another program holds it (close that program; the rows are kept and written by the next run)",
    "full": "no room (make room on the disk, or raise the limit)",
    "disk I/O": "the disk refuses (make room on it, or see whether it is sound)",
    "readonly": "no permission (run as the user whom the folder belongs to, or give it to this one)",
    "unable to open": "it does not open (see that it is a file, and that the folder belongs to this user)",
}

V = TypeVar("V", Event, Told)


@dataclass(frozen=True)
class Version:
    """The `number`-th version of a watch, from 1. `event` is the look that saw it: its `extract` is None where the
    content was not asked for."""

    number: int
    event: Event


class _Damaged(StateError):
    """The file is not what was written."""


# -------------------------------------------------------------------------------------------------------- writing


def write(folder: Path, events: Sequence[Event], told: Sequence[Told], now: datetime) -> str:
    """Add these rows, in the order they came, those already there excepted.

    A damaged file is set aside and a new one begun: the answer is the name under which it is kept, else "".
    StateError where the file cannot be written: then none of the rows is there.
    """
    if not events and not told:
        return ""
    path = folder / NAME
    try:
        _add(path, events, told)
        return ""
    except _Damaged:
        aside = _set_aside(path, now)
    _add(path, events, told)
    return aside


def forget(folder: Path, watch_id: str) -> None:
    """Remove all that is known of a watch. StateError as for `write`, and where the file is damaged."""
    path = folder / NAME
    with _explained(path, "written"):
        if not path.exists():
            return
        with closing(_connect(path)) as connection, _transaction(connection, path):
            for table in ("version", "event", "told"):
                connection.execute(f"DELETE FROM {table} WHERE watch = ?", (watch_id,))
            connection.execute("DELETE FROM content WHERE id NOT IN (SELECT content FROM version)")


def _add(path: Path, events: Sequence[Event], told: Sequence[Told]) -> None:
    with _explained(path, "written"):
        _make(path)
        with closing(_connect(path)) as connection, _transaction(connection, path):
            for event in events:
                if event.extract is not None:
                    content = _stored(connection, dumps(encode(event.extract)))
                    connection.execute(INSERT.format("version", "?4, "), (*_row(event), content))
            _insert_last(connection, "event", events)
            _insert_last(connection, "told", told)


def _stored(connection: sqlite3.Connection, text: bytes) -> object:
    """The id of a content: equal ones are stored once."""
    digest = hashlib.sha256(text).digest()
    for (known,) in connection.execute("SELECT id FROM content WHERE digest = ?", (digest,)):
        return known
    query = "INSERT INTO content (digest, body) VALUES (?, ?)"
    return connection.execute(query, (digest, zlib.compress(text))).lastrowid


def _insert_last(connection: sqlite3.Connection, table: str, rows: Sequence[Event] | Sequence[Told]) -> None:
    """Of each watch no more than are kept, so that none comes back that had to go. Numbers have no gaps: what has to
    go is a range."""
    of_watch: dict[str, list[Event | Told]] = defaultdict(list)
    for row in rows:
        of_watch[row.watch_id].append(row)
    last = (_row(row) for its in of_watch.values() for row in its[-KEPT:])
    connection.executemany(INSERT.format(table, ""), last)
    connection.executemany(TRIM.format(table), [(watch_id, KEPT) for watch_id in of_watch])


def _row(row: Event | Told) -> tuple[str, bytes, bytes]:
    if isinstance(row, Event) and row.extract is not None:
        row = replace(row, extract=None)
    return row.watch_id, _key(row), dumps(encode(row))


def _key(row: Event | Told) -> bytes:
    """With the time, because a state brought back from its copy counts from there again."""
    return dumps([row.id, time_text(row.at)])


def _set_aside(path: Path, now: datetime) -> str:
    """What belongs to the file goes first: a leftover must never be taken for part of the new one."""
    stem = f"{NAME}.damaged-{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    name = next(name for name in names if not path.with_name(name).exists())
    with _explained(path, "set aside"):
        path.with_name(f"{NAME}-shm").unlink(missing_ok=True)
        for suffix in ("-wal", "-journal", ""):
            with suppress(FileNotFoundError):
                path.with_name(NAME + suffix).replace(path.with_name(name + suffix))
    return name


# -------------------------------------------------------------------------------------------------------- reading


def versions(folder: Path, watch_id: str) -> list[Version]:
    """All versions of a watch, the oldest first, without their content."""
    query = "SELECT number, record FROM version WHERE watch = ? ORDER BY number"
    with _rows(folder, query, watch_id) as rows:
        return [Version(number, _value(Event, record)) for number, record in rows]


def content(folder: Path, watch_id: str, number: int) -> Extract | None:
    """What was seen in a version; None where there is no such version."""
    query = "SELECT body FROM version JOIN content ON content.id = content WHERE watch = ? AND number = ?"
    with _rows(folder, query, watch_id, number) as rows:
        return next((_extract(body) for (body,) in rows), None)


def all_versions(folder: Path, contents: int = 2) -> dict[str, list[Version]]:
    """The versions of every watch by its id, the oldest first; the last `contents` of each with their extracts."""
    query = (
        "SELECT version.watch, number, record, body FROM version"
        " JOIN (SELECT watch, max(number) AS newest FROM version GROUP BY watch) AS last ON last.watch = version.watch"
        " LEFT JOIN content ON content.id = version.content AND number > newest - ?"
        " ORDER BY version.watch, number"
    )
    found: dict[str, list[Version]] = defaultdict(list)
    with _rows(folder, query, contents) as rows:
        for watch, number, record, body in rows:
            event = _value(Event, record)
            if body is not None:
                event = replace(event, extract=_extract(body))
            found[watch.decode()].append(Version(number, event))
    return dict(found)


def changes(folder: Path, most: int) -> list[tuple[Event, Extract | None]]:
    """The newest told changes of all watches, the newest first: the look that saw each, and what was there before."""
    query = (
        "SELECT newest.record, now.body, past.body FROM ("
        " SELECT watch, number, content, record FROM version"
        """ WHERE instr(record, '"outcome":"changed"') AND NOT instr(record, '"detail":"' || ?)"""
        """ ORDER BY substr(record, instr(record, '"at":"'), 26) DESC LIMIT ?) AS newest"""
        " JOIN content AS now ON now.id = newest.content"
        " LEFT JOIN version AS earlier ON earlier.watch = newest.watch AND earlier.number = newest.number - 1"
        " LEFT JOIN content AS past ON past.id = earlier.content"
    )
    with _rows(folder, query, MUTED, most) as rows:
        found = [
            (replace(_value(Event, record), extract=_extract(now)), None if past is None else _extract(past))
            for record, now, past in rows
        ]
    return sorted(found, key=lambda change: change[0].at, reverse=True)


def extracts(folder: Path, watch_id: str, last: int) -> list[tuple[datetime, Extract]]:
    """What was seen in the last versions of a watch and since when, the newest first."""
    query = (
        "SELECT record, body FROM version JOIN content ON content.id = content WHERE watch = ?"
        " ORDER BY number DESC LIMIT ?"
    )
    with _rows(folder, query, watch_id, last) as rows:
        return [(time_value(peek(record, "at")), _extract(body)) for record, body in rows]


def decisions(folder: Path, watch_id: str, last: int) -> list[Event]:
    """The last decisions about a watch, the newest first, without contents."""
    return _last(folder, "event", Event, watch_id, last)


def told(folder: Path, watch_id: str, last: int) -> list[Told]:
    """What became of the last notices of a watch, the newest first."""
    return _last(folder, "told", Told, watch_id, last)


def looks(folder: Path, watch_id: str) -> list[tuple[datetime, str]]:
    """When a watch was decided about and with which outcome, the oldest first, as far back as decisions are kept."""
    query = "SELECT record FROM event WHERE watch = ? ORDER BY number"
    with _rows(folder, query, watch_id) as rows:
        return [(time_value(peek(record, "at")), peek(record, "outcome")) for (record,) in rows]


def _last(folder: Path, table: str, kind: type[V], watch_id: str, last: int) -> list[V]:
    query = f"SELECT record FROM {table} WHERE watch = ? ORDER BY number DESC LIMIT ?"
    with _rows(folder, query, watch_id, last) as rows:
        return [_value(kind, record) for (record,) in rows]


def _value(kind: type[V], record: bytes) -> V:
    return decode(kind, json.loads(record))


def _extract(body: bytes) -> Extract:
    return decode(Extract, json.loads(zlib.decompress(body)))


@contextmanager
def _rows(folder: Path, query: str, *values: object) -> Iterator[Iterable[tuple[Any, ...]]]:
    """The rows of a query, none where there is no history; what cannot be understood in them is damage."""
    path = folder / NAME
    with _explained(path, "read"):
        if not path.exists():
            yield ()
            return
        with closing(_connect_to_read(path)) as connection:
            try:
                yield () if _is_new(connection, path) else connection.execute(query, values)
            except (ValueError, TypeError, AttributeError, zlib.error) as error:
                raise _damaged(path, "a row cannot be understood") from error


# -------------------------------------------------------------------------------------------------------- the file


@contextmanager
def _explained(path: Path, done: str) -> Iterator[None]:
    """What goes wrong with the file, said to people; nothing of a damaged file is quoted."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if _is_damage(error):
            raise _damaged(path, "SQLite cannot make sense of it") from error
        if not isinstance(error, sqlite3.OperationalError):
            raise  # a bug
        advice = next((advice for part, advice in ADVICE.items() if part in str(error)), str(error))
        raise StateError(f"{path} cannot be {done}: {advice}") from error
    except OSError as error:
        raise StateError(f"{path} cannot be {done}: {reason(error)}") from error


def _is_damage(error: sqlite3.DatabaseError | UnicodeDecodeError) -> bool:
    """SQLITE_CORRUPT and SQLITE_NOTADB are of no subclass; a message that quotes damage may be no text."""
    return type(error) in (sqlite3.DatabaseError, UnicodeDecodeError) or "unsupported file format" in str(error)


def _damaged(path: Path, why: str) -> _Damaged:
    return _Damaged(f"{path} is damaged ({why}). Move it away, or put back a backup: without it a new one is begun.")


def _make(path: Path) -> None:
    """SQLite gives its other files the mode of this one."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with suppress(OSError):
        path.chmod(0o600)  # a backup may have brought it back with another mode


def _connect(path: Path, options: str = "mode=rw") -> sqlite3.Connection:
    """A connection that begins no transaction of its own and gives text as bytes. It never makes a file."""
    if _is_cut(path):
        raise _damaged(path, "its end is missing")
    uri = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.text_factory = bytes
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """For reading only, but able to write: SQLite cannot read a file in WAL mode without making two others, and only
    who may write removes them. Where no file may be made, the file is read as it stands, which is safe only while
    nothing has been left in the WAL."""
    connection = _connect(path)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA user_version").fetchone()
        return connection
    except sqlite3.DatabaseError as error:
        connection.close()
        if _has_rest(path) or not any(part in str(error) for part in ("unable to open", "readonly")):
            raise
    return _connect(path, "mode=ro&immutable=1")


def _is_cut(path: Path) -> bool:
    """SQLite takes a part of a page for a whole one; while there is a rest to be worked in, that may be right."""
    return path.stat().st_size % PAGE != 0 and not _has_rest(path)


def _has_rest(path: Path) -> bool:
    rests = (path.with_name(NAME + suffix) for suffix in ("-wal", "-journal"))
    return any(rest.exists() and rest.stat().st_size for rest in rests)


@contextmanager
def _transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing: a connection that is closed without COMMIT has written nothing."""
    if _is_new(connection, path):
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    if _is_new(connection, path):
        for table in TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    yield
    connection.execute("COMMIT")


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing is in the file yet; StateError where it is another's. One query, because another program may
    just be making it."""
    found = connection.execute("SELECT user_version, sql FROM pragma_user_version LEFT JOIN sqlite_master").fetchall()
    schema, tables = found[0][0], {sql.decode("ascii", "replace") for _, sql in found if sql is not None}
    if schema > SCHEMA:
        raise StateError(
            f"{path} is of version {schema}, and this program knows versions up to {SCHEMA}. Nothing was changed. "
            f"Use the newer program that wrote it, or another folder (--state)."
        )
    if (schema or tables) and not (schema == SCHEMA and tables.issuperset(TABLES)):
        raise _damaged(path, "it has not the tables of a history")
    return not tables
