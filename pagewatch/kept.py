"""What watches.yaml was read as, kept for the next runs: text out, and the same configuration in again.

To read YAML and to check every key takes longer than many a run has to do. What was read and found good is kept under
a digest of all that it depends on, a line a watch; whoever has that digest may take it, and of the watches those that
may be due. It holds no secret: of a text that has one in it, it only says where in watches.yaml it is written.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from pagewatch.configuration import SHORTEST_SECRET, Configuration
from pagewatch.environment import Used, fill, secrets
from pagewatch.model import Settings, Watch
from pagewatch.nodes import Scalar
from pagewatch.records import decode, dumps, encode

FILE = "watches.txt"  # nothing but what watches.yaml says: no one need keep a damaged one

PASSWORD = re.compile(r"//[^/?#\s@]*:[^/?#\s]*@")  # in a URL, however short

Environment = Mapping[str, str]


class _NotKept(Exception):
    """A text that must not be kept, and does not stand in watches.yaml as it is."""


def text(configuration: Configuration, digest: str, data: bytes, environment: Environment) -> bytes | None:
    """To be kept of what was read from `data`; None where that cannot be done: there are problems in it, a body, two
    watches on one line, by which they are known, or a secret that is written in another way than it is used."""
    watches = configuration.watches
    lines = [watch.line for watch in watches]
    if configuration.problems or len(set(lines)) < len(lines) or any(watch.body is not None for watch in watches):
        return None
    variables, declared = sorted(configuration.variables), configuration.declared
    head = {"digest": digest, "variables": variables, "declared": declared, "lines": lines}
    is_secret, place_of = _known_secrets(configuration), partial(_place_of, configuration.written, data, environment)
    try:
        rows = [dumps(_without(encode(value), is_secret, place_of)) for value in (configuration.settings, *watches)]
    except _NotKept:
        return None
    body = b"\n".join([dumps(head), *rows])
    return b"%08x\n%s" % (zlib.crc32(body), body)


def _known_secrets(configuration: Configuration) -> Callable[[str], bool]:
    """Whether a text has a secret in it. They are looked for by their beginnings: there may be some for each watch."""
    starting: dict[str, list[str]] = defaultdict(list)
    for secret in configuration.secrets:
        if len(secret) >= SHORTEST_SECRET:
            starting[secret[:SHORTEST_SECRET]].append(secret)

    def is_secret(text: str) -> bool:
        if text in configuration.secrets or text in configuration.written or PASSWORD.search(text):
            return True
        places = ((at, text[at : at + SHORTEST_SECRET]) for at in range(len(text) if starting else 0))
        return any(text.startswith(secret, at) for at, start in places for secret in starting.get(start, ()))

    return is_secret


def _without(value: Any, is_secret: Callable[[str], bool], place_of: Callable[[str], dict[str, Any]]) -> Any:
    """The value with the places of texts in the place of those that have a secret in them."""
    if isinstance(value, dict):
        return {key: _without(part, is_secret, place_of) for key, part in value.items()}
    if isinstance(value, list):
        return [_without(part, is_secret, place_of) for part in value]
    return place_of(value) if isinstance(value, str) and is_secret(value) else value


def _place_of(known: Mapping[str, str], data: bytes, environment: Environment, value: str) -> dict[str, Any]:
    """Where a text is written; `known` are those with a ${NAME} in them, by what they became."""
    written = known.get(value, value).encode()
    place = {"at": [data.find(written), len(written)]}
    if place["at"][0] < 0 or _there(place, data, environment) != value:
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
    if not body or check != b"%08x" % zlib.crc32(body):
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
    return Configuration(
        settings=settings_read,
        watches=watches,
        problems=(),
        names=tuple([watch.name for watch in watches]),
        declared=known["declared"],
        variables=frozenset(known["variables"]),
        secrets=secrets(known["variables"], environment, settings_read, watches),
    )
