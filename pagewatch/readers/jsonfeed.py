"""JSON Feed, versions 1 and 1.1 (jsonfeed.org): a document in, entries out."""

from __future__ import annotations

from typing import Any

from pagewatch import jsondata
from pagewatch.answers import FetchFailed
from pagewatch.fingerprint import normalise
from pagewatch.readers.entries import Parts, address, read_html, read_text

_VERSION = "jsonfeed.org/version/"


def entries(text: str, base: str) -> list[Parts] | FetchFailed:
    """The entries in document order; a FetchFailed `not-json` where the text is no JSON Feed."""
    feed = jsondata.read(text)
    if isinstance(feed, FetchFailed):
        return feed
    if not isinstance(feed, dict) or _VERSION not in _text(feed, "version"):
        return FetchFailed("not-json", f'the answer is JSON, but no JSON Feed: it has no version with "{_VERSION}"')
    items = feed.get("items")
    if not isinstance(items, list):
        return FetchFailed("not-json", "the JSON Feed has no list of items")
    return [_entry(item, base) for item in items if isinstance(item, dict)]


def _entry(item: dict[str, Any], base: str) -> Parts:
    content = read_text(_text(item, "content_text")) or read_html(_text(item, "content_html"))
    return {
        "title": read_text(_text(item, "title")),
        "link": address(base, _text(item, "url") or _text(item, "external_url")),
        "summary": read_text(_text(item, "summary")) or content,
        "content": content,
        "author": ", ".join(filter(None, (normalise(_text(author, "name")) for author in _authors(item)))),
        "id": normalise(_text(item, "id")),
        "published": normalise(_text(item, "date_published")),
        "updated": normalise(_text(item, "date_modified")),
        "tags": ", ".join(sorted(normalise(tag) for tag in _list(item, "tags") if isinstance(tag, str))),
        "enclosures": "\n".join(sorted(address(base, _text(part, "url")) for part in _list(item, "attachments"))),
    }


def _text(value: Any, name: str) -> str:
    """A member as text, "" where it is none; version 1.1 lets numbers be ids."""
    found = value.get(name) if isinstance(value, dict) else None
    return "" if found is None or isinstance(found, bool | dict | list) else str(found)


def _list(value: dict[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []


def _authors(item: dict[str, Any]) -> list[Any]:
    """Version 1 has one `author`, 1.1 a list of `authors`."""
    return _list(item, "authors") or [item.get("author")]
