"""What counts as the same: normalised text, digests of content, and short hashes of how it was asked for.

Lines are kept for people and for diffs; what is hashed is the form with all white space collapsed, so that a
re-wrapped page is the same page, while words are never glued. Every digest names the version of its rules (`SCHEME`):
when the rules change, all recipes change with them, and the next look is a quiet new baseline instead of a false
change.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import warnings
from functools import lru_cache
from typing import Any

from pagewatch import amounts
from pagewatch.answers import Amount, Extract, Item, Representation
from pagewatch.frozen import MISSING, fields
from pagewatch.model import Settings, Watch
from pagewatch.urls import credentials, without_login

SCHEME = 1

# What makes up the watched content. A default is left out, so that a key which is added later changes no old recipe.
_RECIPE = frozenset(
    """url source select match path items key fields counted ignore ignore_text ignore_order number encoding body
    body_type render""".split()
)
_DEFAULTS = {f.name: f.default for f in fields(Watch) if f.default is not MISSING}

_JSON = json.JSONEncoder(sort_keys=True, default=bytes.hex)

# Dropped everywhere: controls but white space, soft hyphen, zero-width space, word joiner, byte order mark.
_CONTROLS = "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_UNPRINTED = re.compile(f"[{_CONTROLS}\xad\u180e\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Dropped in what is hashed only, because people's scripts and emoji need them: joiners and marks of direction.
_UNSEEN = re.compile("[\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069]")


def normalise(text: str) -> str:
    """Text in lines, as a person reads it: NFC, every Unicode space one space, no empty lines, nothing invisible."""
    text = _UNPRINTED.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def without_noise(text: str, patterns: tuple[str, ...]) -> str:
    """Normalised `text` without what the regular expressions match; `^` and `$` stand at the ends of lines."""
    for pattern in patterns:
        text = regex(pattern).sub("", text)
    return normalise(text) if patterns else text


@lru_cache(maxsize=1024)
def regex(pattern: str) -> re.Pattern[str]:
    """A user's regular expression. What Python finds odd about it was no error when the file was read, and is none
    now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, re.MULTILINE)


def collapse(text: str) -> str:
    """The form that is compared: one line, nothing that cannot be seen."""
    return " ".join(_UNSEEN.sub("", text).split())


def fingerprint(extract: Extract, watch: Watch) -> str:
    """A versioned SHA-256 of the watched content, `1:` and 64 hex digits.

    Fields are compared by name, a null is not an empty value; items are a set by key; with `ignore_order` the lines
    are a set in which the number of equal lines counts. "Nothing there" (`if_missing: ok`) is not "there, but empty".
    """
    content: list[object]
    if extract.items is not None:
        content = ["items", sorted(comparable_item(item, watch) for item in extract.items)]
    elif extract.fields:
        content = ["fields", sorted(comparable_fields(extract).items())]
    elif extract.amounts:
        content = [*_number(extract.amounts[0])]
    elif watch.ignore_order:
        content = ["lines", extract.matched > 0, sorted(collapse(line) for line in extract.text.split("\n"))]
    else:
        content = ["text", extract.matched > 0, collapse(extract.text)]
    return f"{SCHEME}:{_sha256(content)}"


def comparable_item(item: Item, watch: Watch) -> tuple[Any, ...]:
    """What of an item is compared: its key, and its fields or, where it has none, its text."""
    if not item.fields:
        return item.key, collapse(item.text), ()
    fields = comparable_fields(Extract("", item.fields, amounts=item_amounts(item, watch)))
    return item.key, "", tuple(sorted(fields.items()))


def item_amounts(item: Item, watch: Watch) -> tuple[Amount, ...]:
    """The numbers in the fields of an item. They are read without looking back: what an item's text leaves open is the
    same for all items."""
    marks = dict(watch.number)
    read = (amounts.read(value, marks[name], name) for name, value in item.fields if value and name in marks)
    return tuple(amount for amount in read if amount is not None)


def comparable_fields(extract: Extract) -> dict[str, tuple[str, ...]]:
    """The fields by name as they are compared: a null is not an empty value, and numbers count by their value."""
    numbers = {amount.field: _number(amount) for amount in extract.amounts}
    texts = {name: ("null" if value is None else "text", collapse(value or "")) for name, value in extract.fields}
    return {name: numbers.get(name, text) for name, text in texts.items()}


def _number(amount: Amount) -> tuple[str, ...]:
    return "number", amount.low, amount.high


def recipe(watch: Watch) -> str:
    """A short hash of all that changes what is fingerprinted; another recipe means a new baseline and no validators."""
    values = vars(watch)
    given = {name: values[name] for name in _RECIPE if name in values and values[name] != _DEFAULTS.get(name)}
    given["url"] = without_login(watch.url)
    return f"{SCHEME}-{_sha256(given)[:16]}"


def request_digest(watch: Watch, settings: Settings) -> str:
    """A short hash of how the content is asked for and when it is believed; another one only drops the validators."""
    headers = tuple([(name.lower(), value) for name, value in watch.headers])
    believed = (watch.accept_status, watch.expect, watch.reject, watch.if_missing)
    return _short_hash((headers, credentials(watch.url), settings.user_agent, watch.verify_tls, believed))


@lru_cache(maxsize=256)
def _short_hash(content: object) -> str:
    """Most watches are asked for in the same way."""
    return _sha256(content)[:16]


def body_digest(representation: Representation) -> str:
    """A digest of the bytes and of what decides how they are read: the same digest need not be parsed again."""
    body = representation.digest or hashlib.sha256(representation.body).hexdigest()
    return _sha256([body, representation.media_type, representation.charset, representation.url])


def _sha256(content: object) -> str:
    return hashlib.sha256(_JSON.encode(content).encode("ascii")).hexdigest()
