"""The keys that say how a page is asked for: its URL, headers, body, encoding, robots.txt.

What these return can be sent as it is: a URL that can be asked for, header fields that are legal (RFC 9110 §5), a
body in bytes. Values of headers and bodies are secrets: no message shows them.
"""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

from pagewatch.charset import encoding_name
from pagewatch.nodes import Mapping, Node, Scalar, Wrong
from pagewatch.urls import normalise_url
from pagewatch.values import (
    COMMENT,
    CONTROL,
    each,
    entries,
    is_null,
    items,
    line_of_text,
    scalar_of,
    shown,
    text,
    written,
)

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
NOT_IN_A_FIELD = re.compile(r"[^\t\x20-\x7e\x80-\xff]")  # RFC 9110 §5.5
FORM = re.compile(r"[^\s=&]+=[^\s&]*(?:&[^\s=&]+=[^\s&]*)*")
FORM_TYPE, JSON_TYPE, TEXT_TYPE = "application/x-www-form-urlencoded", "application/json", "text/plain; charset=utf-8"

# Set by the HTTP client, or by the conditional request itself: one from the file would break a promise.
OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "range", "te", "trailer"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"),
        *("proxy-connection", "transfer-encoding", "upgrade"),
    }
)


def url(key: str, node: Node) -> str:
    """An http or https URL that can be asked for."""
    value = line_of_text(key, node)
    wrong = _wrong_with_url(value)
    if wrong:
        raise Wrong(node.line, f"{key} {written(node)} {wrong}")
    return value


def _wrong_with_url(value: str) -> str:
    """A clause without any part of the URL: it may hold a password."""
    if re.search(r"\s", value):
        return "has a space in it: write %20 for it, or put one address only"
    if not re.match(r"(?i)https?://", value):
        return "must begin with http:// or https://"
    try:
        normalise_url(value)
    except ValueError:
        return "is no address of a page: look at its host and port"
    return ""


def headers(key: str, node: Node) -> tuple[tuple[str, str], ...]:
    """Names and values as they will be sent."""
    pairs = each(entries(key, node, "a mapping of names and values"), lambda entry: _header(key, *entry))
    seen: dict[str, str] = {}
    for name, _ in pairs:
        if seen.setdefault(name.lower(), name) != name:
            raise Wrong(node.line, f"{key}: {seen[name.lower()]} and {name} are the same header, keep one")
    return pairs


def _header(key: str, name: Scalar, node: Node) -> tuple[str, str]:
    label = f"{key}: {name.text if TOKEN.fullmatch(name.text) else shown(name.text)}"
    value = scalar_of(label, node, "text")
    if not TOKEN.fullmatch(name.text):
        raise Wrong(name.line, f"{label} is not the name of a header")
    if name.text.lower() in OURS:
        raise Wrong(name.line, f"{label} is set by pagewatch itself, leave it out")
    if value.comment or is_null(value):
        advice = f'{COMMENT}, put the value in quotes ("" where it is empty)'
        raise Wrong(node.line, f"{label} is empty or cut off; {advice}")
    if NOT_IN_A_FIELD.search(value.text) or value.text != value.text.strip():
        rule = "one line of Latin-1 characters without a space at its ends"
        raise Wrong(node.line, f"{label} has a value that cannot be sent, it must be {rule}")
    return name.text, value.text


def body(key: str, node: Node) -> tuple[bytes, str]:
    """What is posted, and its media type: a mapping is a form, text goes as it is."""
    if isinstance(node, Mapping):
        form = each(node.entries, lambda entry: _parts_of_form(key, *entry))
        return urlencode([pair for pairs in form for pair in pairs]).encode(), FORM_TYPE
    scalar = scalar_of(key, node, "text, or a mapping for a form")
    if scalar.text or is_null(scalar):
        text(key, scalar, hidden=True)
    return scalar.text.encode(), _media_type(scalar.text)


def _parts_of_form(key: str, name: Scalar, node: Node) -> tuple[tuple[str, str], ...]:
    """A field of a form; a list gives it several times."""
    label = f"{key}: {shown(name.text)}"
    if CONTROL.search(name.text):
        raise Wrong(name.line, f"{label} cannot be the name of a field")

    def part(item: Node) -> tuple[str, str]:
        scalar = scalar_of(label, item, "text")
        return name.text, "" if scalar.text == "" and not scalar.comment else text(label, scalar, hidden=True)

    return each(items(label, node), part)


def _media_type(value: str) -> str:
    if FORM.fullmatch(value):
        return FORM_TYPE
    try:
        return JSON_TYPE if isinstance(json.loads(value), dict | list) else TEXT_TYPE
    except (ValueError, RecursionError):
        return TEXT_TYPE


def encoding(key: str, node: Node) -> str:
    """The WHATWG Encoding Standard's name of an encoding."""
    name = encoding_name(line_of_text(key, node))
    if not name:
        known = "utf-8, windows-1252, shift_jis, …"
        raise Wrong(node.line, f"{key} {written(node)} is no encoding of web pages: write {known}")
    return name


def robots(key: str, node: Node) -> str:
    """Why robots.txt is ignored; "" where it is obeyed."""
    if isinstance(node, Mapping) and [name.text for name, _ in node.entries] == ["ignore"]:
        return line_of_text(f"{key}: ignore", node.entries[0][1])
    value = line_of_text(key, node)
    word, _, reason = value.partition(":")
    if value == "obey":
        return ""
    if word.strip() != "ignore" or not reason.strip():
        forms = f'obey, or ignore with a reason, in quotes: {key}: "ignore: the site is mine"'
        raise Wrong(node.line, f"{key} must be {forms}")
    return reason.strip()
