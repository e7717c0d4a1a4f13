"""What watches.yaml was read as, kept for the next runs: text out, and the same configuration in again.

To read YAML and to check every key takes longer than many a run has to do. What was read and found good is kept under
a digest of all that it depends on, a line a watch; whoever has that digest may take it, and of the watches those that
may be due. It holds no secret: of a text that has one in it, it only says where in watches.yaml it is written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from pagewatch.configuration import SHORTEST_SECRET, Configuration
from pagewatch.environment import Used, fill, secrets
from pagewatch.model import Settings, Watch
from pagewatch.nodes import Scalar
from pagewatch.records import decode, dumps, encode

FILE = "watches.txt"  # nothing but what watches.yaml says: no one need keep a damaged one

Environment = Mapping[str, str]


class _NotKept(Exception):
    """A text that must not be kept, and does not stand in watches.yaml as it is."""


def text(configuration: Configuration, digest: str, data: bytes, environment: Environment) -> bytes | None:
    """To be kept of what was read from `data`; None where that cannot be done: there are problems in it, a body, or a
    secret that is written in another way than it is used."""
    if configuration.problems or any(watch.body is not None for watch in configuration.watches):
        return None
    head = {
        "digest": digest,
        "variables": sorted(configuration.variables),
        "declared": configuration.declared,
        "lines": [watch.line for watch in configuration.watches],
    }
    try:
        settings, *watches = [
            dumps(_without_secrets(encode(value), configuration, data, environment))
            for value in (configuration.settings, *configuration.watches)
        ]
    except _NotKept:
        return None
    body = b"\n".join([dumps(head), settings, *watches])
    return b"%08x\n%s" % (zlib.crc32(body), body)


def _without_secrets(value: Any, configuration: Configuration, data: bytes, environment: Environment) -> Any:
    """The value with the places of texts in the place of those that have a secret in them."""
    if isinstance(value, dict):
        return {key: _without_secrets(part, configuration, data, environment) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_secrets(part, configuration, data, environment) for part in value]
    if not isinstance(value, str):
        return value
    long_enough = (secret for secret in configuration.secrets if len(secret) >= SHORTEST_SECRET)
    if value not in configuration.written and not any(secret in value for secret in long_enough):
        return value
    written = configuration.written.get(value, value).encode()
    start = data.find(written)
    place = {"at": [start, len(written)]}
    if start < 0 or _there(place, data, environment) != value:
        raise _NotKept
    return place


def _there(record: dict[str, Any], data: bytes, environment: Environment) -> Any:
    """What an object of the JSON means: the text at a place, or itself."""
    if record.keys() != {"at"}:
        return record
    start, length = record["at"]
    written = data[start : start + length].decode()
    node = fill(Scalar(written, 0, True, "", written), environment, Used())
    return node.text.strip() if isinstance(node, Scalar) else None


def read(
    kept: bytes,
    digest: Callable[[Iterable[str]], str],
    data: bytes,
    environment: Environment,
    asleep: Collection[int] = (),
) -> Configuration | None:
    """The configuration, without the watches of the lines `asleep`; None where another was kept, or a damaged one.
    `digest` is that of now, by the variables which the file names; `data` is the file."""
    check, _, body = kept.partition(b"\n")
    if check != b"%08x" % zlib.crc32(body):
        return None
    head, settings, *rows = body.split(b"\n")
    known = json.loads(head)
    if known["digest"] != digest(known["variables"]):
        return None
    wanted = [row for line, row in zip(known["lines"], rows, strict=True) if line not in asleep]
    first, *others = json.loads(
        b"[%s]" % b",".join([settings, *wanted]), object_hook=lambda record: _there(record, data, environment)
    )
    settings_read, watches = decode(Settings, first), tuple([decode(Watch, record) for record in others])
    values = [environment[name] for name in known["variables"] if name in environment]
    return Configuration(
        settings=settings_read,
        watches=watches,
        problems=(),
        names=tuple([watch.name for watch in watches]),
        declared=known["declared"],
        variables=frozenset(known["variables"]),
        secrets=secrets([*values, settings_read.ping], settings_read.targets, watches),
    )
