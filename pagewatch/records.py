"""The JSON of what is remembered: values to records and back, records to lines, lines to the one document state.json.

A record leaves out what has its default, and reading takes the default for what is not there, so that a field added
to a value needs no new version of the file. The document is one JSON object with one line for each record, so that a
run with ten watches due among ten thousand decodes and encodes ten: the other lines stay the bytes they are. Its
first line has the version and the CRC-32 of all that follows: any flipped or missing byte is found, whichever record
it is in, before a single one is believed. All is ASCII, so that every string is safe, lone surrogates included.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from functools import cache, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from pagewatch.answers import Amount, Extract, Item, Validators
from pagewatch.frozen import MISSING, dataclass, fields
from pagewatch.model import Baseline, Candidate, Episode, Every, Pause, Target

VERSION = 1  # of the document: a higher one is not touched

V = TypeVar("V")
Lines = dict[str, bytes]
Rows = list[bytes]

_JSON = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False)


def dumps(record: object) -> bytes:
    """Compact JSON in ASCII without a line break, the same bytes for the same record."""
    return _JSON.encode(record).encode("ascii")


# ---------------------------------------------------------------------------------------------- values and records


def encode(value: object, kind: type | None = None) -> dict[str, Any]:
    """The record of a dataclass (of the part that `kind` declares): the fields that differ from their default."""
    record, given = {}, vars(value)
    for name, (default, codec) in _plan(kind or type(value)).items():
        if (field := given.get(name, default)) is not default and (default is None or field != default):
            record[name] = codec.encode(field)
    return record


def decode(kind: type[V], record: object) -> V:
    """The value of a record. ValueError where a shape or a type is wrong or something required is missing."""
    if not isinstance(record, dict):
        raise ValueError(f"{kind.__name__} is not an object")
    declared: type = kind
    plan = _plan(declared)
    try:
        return kind(**{name: field.codec.decode(record[name]) for name, field in plan.items() if name in record})
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


class _Codec(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class _Field(NamedTuple):
    default: object
    codec: _Codec


@cache
def _plan(kind: type) -> dict[str, _Field]:
    """By the annotations of a dataclass: what a field is by default, and how it is written and read."""
    plan = {}
    for field in fields(kind):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        plan[field.name] = _Field(default, _codec(str(field.type)))
    return plan


@cache
def _codec(annotation: str) -> _Codec:
    if annotation.endswith(" | None"):
        return _optional(_codec(annotation.removesuffix(" | None")))
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        return _many(_codec(annotation[len("tuple[") : -len(", ...]")]))
    if annotation.startswith("tuple["):
        return _several([_codec(part) for part in annotation[len("tuple[") : -1].split(", ")])
    if annotation.startswith("dict[str, "):
        return _mapping(_codec(annotation[len("dict[str, ") : -1]))
    return _LEAVES[annotation]


def _plain(kind: type) -> _Codec:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{value!r:.40} is not of the type {kind.__name__}")
        return value

    return _Codec(lambda value: value, check)


def _nested(kind: type) -> _Codec:
    return _Codec(encode, lambda record: decode(kind, record))


def _optional(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: None if value is None else codec.encode(value),
        lambda value: None if value is None else codec.decode(value),
    )


def _many(codec: _Codec) -> _Codec:
    return _Codec(
        lambda values: [codec.encode(value) for value in values],
        lambda values: tuple([codec.decode(value) for value in _sequence(values)]),
    )


def _several(codecs: list[_Codec]) -> _Codec:
    return _Codec(
        lambda values: [codec.encode(value) for codec, value in zip(codecs, values, strict=True)],
        lambda values: tuple([codec.decode(value) for codec, value in zip(codecs, _sequence(values), strict=True)]),
    )


def _mapping(codec: _Codec) -> _Codec:
    return _Codec(
        lambda values: {key: codec.encode(value) for key, value in values.items()},
        lambda values: {key: codec.decode(value) for key, value in values.items()},
    )


def _sequence(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{values!r:.40} is not an array")
    return values


@lru_cache(maxsize=64)
def time_text(value: datetime) -> str:
    """ISO 8601 in UTC, exact to the microsecond. Most times in a document are those of the last run."""
    if value.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    return value.astimezone(timezone.utc).isoformat()[: -len("+00:00")] + "Z"


@lru_cache(maxsize=64)
def time_value(text: str) -> datetime:
    """The inverse of `time_text`; Python 3.10 reads no "Z"."""
    if not text.endswith("Z"):
        raise ValueError(f"{text!r:.40} is not a time in UTC")
    return datetime.fromisoformat(text[:-1] + "+00:00")


@lru_cache(maxsize=64)
def _every(low: float, high: float) -> Every:
    """One for all watches that are looked at as often."""
    return Every(timedelta(seconds=low), timedelta(seconds=high))


def _seconds(value: timedelta) -> float:
    seconds = value.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


_LEAVES = {
    "str": _plain(str),
    "int": _plain(int),
    "bool": _plain(bool),
    "float": _plain(float),
    "bytes": _Codec(lambda value: value.decode("latin-1"), lambda value: value.encode("latin-1")),
    "datetime": _Codec(time_text, time_value),
    "timedelta": _Codec(_seconds, lambda value: timedelta(seconds=value)),
    "Amount": _nested(Amount),
    "Baseline": _nested(Baseline),
    "Candidate": _nested(Candidate),
    "Episode": _nested(Episode),
    "Every": _Codec(encode, lambda record: _every(record["low"], record["high"])),
    "Extract": _nested(Extract),
    "Item": _nested(Item),
    "Pause": _nested(Pause),
    "Target": _nested(Target),
    "Validators": _nested(Validators),
}


# ------------------------------------------------------------------------------------------------ records and lines


def peek(line: bytes, name: str) -> str:
    """The text of a line's first member of this name without decoding the line; "" if there is none.

    Inside a JSON string quotes are escaped, so that no text of a page can be taken for a member.
    """
    found = _member(name).search(line)
    if found is None:
        return ""
    text = found[1]
    return json.loads(b'"%s"' % text) if b"\\" in text else text.decode("ascii")


@cache
def _member(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%s":"((?:[^"\\]|\\.)*)"' % name.encode("ascii"))


class Table(Generic[V]):
    """Values by key, in the order they came, kept as lines: a line is decoded when it is asked for, encoded when its
    value was set.

    `decode` may answer None: the record cannot be used any more, and is dropped.
    """

    def __init__(self, lines: Lines, decode: Callable[[bytes], V | None], encode: Callable[[str, V], bytes]) -> None:
        self._lines, self._decode, self._encode = lines, decode, encode
        self._values: dict[str, V] = {}
        self._pending: set[str] = set()
        self.changed = False

    def get(self, key: str) -> V | None:
        if key not in self._values and key in self._lines:
            value = self._decode(self._lines[key])
            if value is None:
                del self[key]
            else:
                self._values[key] = value
        return self._values.get(key)

    def __setitem__(self, key: str, value: V) -> None:
        if self._values.get(key) == value:
            return
        self._lines.setdefault(key, b"")
        self._values[key] = value
        self._pending.add(key)
        self.changed = True

    def __delitem__(self, key: str) -> None:
        del self._lines[key]
        self._values.pop(key, None)
        self._pending.discard(key)
        self.changed = True

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._lines))

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: object) -> bool:
        return key in self._lines

    def values(self) -> tuple[V, ...]:
        return tuple([value for key in self if (value := self.get(key)) is not None])

    def loaded(self, key: str) -> V | None:
        """The value if it has been decoded or set already."""
        return self._values.get(key)

    def peek(self, key: str, name: str) -> str:
        """One member of a line, for a value that is not loaded."""
        return peek(self._lines[key], name)

    def line(self, key: str) -> bytes:
        """The line of a value as it was read or encoded last."""
        return self._lines[key]

    def rows(self) -> Rows:
        """The lines, those of the values set since the last time encoded anew."""
        for key in tuple(self._pending):
            self._lines[key] = self._encode(key, self._values[key])
            self._pending.discard(key)
        return list(self._lines.values())


# ---------------------------------------------------------------------------------------------- lines and document


@dataclass(frozen=True)
class Document:
    """state.json, its bytes verified: members of one line, and tables with a line for each record, all undecoded."""

    members: Lines
    tables: dict[str, Rows]


@dataclass(frozen=True)
class Damage:
    """These bytes are not what was written. `reason` goes on after the file's name."""

    reason: str


@dataclass(frozen=True)
class Newer:
    """A document of a later version of the program."""

    version: int


def compose(document: Document) -> bytes:
    """One JSON object: first a line with version and CRC-32 of the rest, then one for each member or record.

    There is at least one member or table.
    """
    lines = [b'"%s":%s' % (name.encode("ascii"), line) for name, line in document.members.items()]
    for name, rows in document.tables.items():
        lines += [b'"%s":[\n%s' % (name.encode("ascii"), b"".join(rows[:1])), *rows[1:]]
        lines[-1] += b"\n]"
    lines[-1] += b"}\n"
    body = b",\n".join(lines)
    return b'{"version":%d,"crc32":"%08x",\n' % (VERSION, zlib.crc32(body)) + body


def parse(raw: bytes) -> Document | Damage | Newer:
    """The inverse of `compose`. Never raises, whatever the bytes are."""
    if not raw:
        return Damage("it is empty")
    head = re.match(rb'\{"version":(\d{1,9}),"crc32":"([0-9a-f]{8})",\n', raw)
    if head and int(head[1]) == VERSION and int(head[2], 16) == zlib.crc32(memoryview(raw)[head.end() :]):
        return _sections(raw, head.end())
    version = int(head[1]) if head else _version(raw)
    return Newer(version) if version > VERSION else Damage("its checksum is not that of its content")


def _version(raw: bytes) -> int:
    """The version of a document of another form; 0 where there is none."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return 0
    version = document.get("version") if isinstance(document, dict) else 0
    return version if isinstance(version, int) else 0


def _sections(raw: bytes, at: int) -> Document | Damage:
    members: Lines = {}
    tables: dict[str, Rows] = {}
    try:
        while at < len(raw):
            colon = raw.index(b'":', at)
            name = raw[at + 1 : colon].decode("ascii")
            start = colon + len(b'":')
            if raw.startswith(b"[\n", start):
                start += len(b"[\n")
                end = raw.index(b"\n]", start - 1)
                tables[name] = raw[start:end].split(b",\n") if end > start else []
                at = end + len(b"\n],\n")
            else:
                end = raw.index(b"\n", start)
                members[name] = raw[start : end - 1]
                at = end + 1
    except ValueError:
        return Damage("its checksum is right, but its lines are not those of this program")
    return Document(members, tables)
