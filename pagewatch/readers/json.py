"""JSON: a value found by a path, named parts of it, or an array whose elements are told apart by a key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pagewatch import jsondata
from pagewatch.answers import Amount, Extract, FetchFailed, Item, NoMatch
from pagewatch.fingerprint import collapse, without_noise
from pagewatch.items import label
from pagewatch.model import Watch
from pagewatch.reading import Body, Content, field_lines, shared_keys
from pagewatch.urls import absolute

LINKS = ("url", "link", "html_url", "href", "permalink")  # members that say where a record has its page


def read(body: Body) -> Content | FetchFailed:
    value = jsondata.read(body.text)
    if isinstance(value, FetchFailed):
        return value
    found = extract(body.watch, value, body.url)
    return Content(found, body.text, shared_keys(found))


def extract(watch: Watch, value: Any, url: str) -> Extract | NoMatch:
    """What the keys of the watch leave of a JSON value from `url`; a NoMatch is of the kind `path`."""
    if not watch.source and not watch.path and any(jsondata.check_path(path) for _, path in watch.fields):
        names = ", ".join(name for name, _ in watch.fields)
        return NoMatch("selector", f"JSON came in the place of a page: none of the fields is there: {names}")
    value = jsondata.without_members(value, watch.ignore) if watch.ignore else value
    found = jsondata.find(value, watch.path) if watch.path else [value]
    if not found:
        return nothing(watch, f'path "{watch.path}" finds nothing')
    if watch.key:
        return _records(watch, found[0], url)
    if not watch.fields:
        text = without_noise(jsondata.text_of(found[0], watch.ignore_order), watch.ignore_text)
        return Extract(text, amounts=_amounts("", found[0]))
    values = [(name, jsondata.find(found[0], path)) for name, path in watch.fields]
    fields = _texts(watch, found[0])
    if all(text is None for _, text in fields):
        return nothing(watch, f"none of the fields is there: {', '.join(name for name, _ in fields)}")
    read = tuple(amount for name, value in values if value for amount in _amounts(name, value[0]))
    return Extract(field_lines(fields), fields, amounts=read)


def nothing(watch: Watch, what: str) -> Extract | NoMatch:
    """A NoMatch, unless it is a legitimate value."""
    if watch.if_missing != "ok":
        return NoMatch("path", what)
    return Extract("", tuple((name, None) for name, _ in watch.fields), () if watch.key else None, matched=0)


def _amounts(field: str, value: Any) -> tuple[Amount, ...]:
    """A JSON number needs no guessing: its mark is a point (RFC 8259 §6)."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return ()
    exact = jsondata.plain(value)
    return () if exact is None else (Amount(field, exact, exact, "."),)


def _texts(watch: Watch, value: Any) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, _text(watch, jsondata.find(value, path))) for name, path in watch.fields)


def _text(watch: Watch, found: list[Any]) -> str | None:
    if not found or found[0] is None:
        return None
    return without_noise(jsondata.text_of(found[0], watch.ignore_order), watch.ignore_text)


def _records(watch: Watch, value: Any, url: str) -> Extract | NoMatch:
    """The elements of an array."""
    if not isinstance(value, list):
        return nothing(watch, f"{f'path {watch.path!r}' if watch.path else 'the JSON'} finds no array, which key needs")
    items = tuple(_record(watch, element, url) for element in value)
    if not items:
        return nothing(watch, "the array is empty")
    if not any(_key(element, watch.key) for element in value):
        return nothing(watch, f'none of {len(items)} elements has the key "{watch.key}"')
    return Extract("", items=items)


def _key(element: Any, key: str) -> list[Any]:
    """A member of that very name, such as @id or item-id, else what the path finds."""
    if isinstance(element, dict) and key in element:
        return [element[key]]
    return [] if jsondata.check_path(key) else jsondata.find(element, key)


def _record(watch: Watch, element: Any, url: str) -> Item:
    """Its parts are the fields that are wanted, else all members that it has."""
    found = _key(element, watch.key)
    members = sorted(element.items()) if isinstance(element, dict) else []
    fields = _texts(watch, element) if watch.fields else tuple((n, _text(watch, [value])) for n, value in members)
    text = without_noise(jsondata.text_of(element, watch.ignore_order), watch.ignore_text)
    key = collapse(jsondata.text_of(found[0])) if found else collapse(text)
    return Item(key, label(fields, key) if fields else text, _link(element, url), fields)


def _link(element: Any, url: str) -> str:
    members = [element[name] for name in LINKS if isinstance(element, dict) and isinstance(element.get(name), str)]
    return next(filter(None, (absolute(url, member) for member in members)), "")
