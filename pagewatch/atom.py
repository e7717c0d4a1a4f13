"""The changes as an Atom feed (RFC 4287), so that a feed reader can be the channel.

It promises well-formed XML whatever a page may hold, ids that stay the same for the same event, and the same octets for
the same changes. What pages wrote is plain text in it, never markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree

from pagewatch.frozen import dataclass
from pagewatch.model import VERSION
from pagewatch.notices import LONGEST_NAME, LONGEST_TITLE, harmless, one_line, shortened
from pagewatch.urls import without_login

NAMESPACE = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 100
LONGEST_TEXT = 10_000  # characters of one change
TITLE = "Watched pages"


@dataclass(frozen=True)
class Entry:
    """One change: `event` is its id, which no other change has, `text` what changed in full."""

    event: str
    watch: str
    url: str
    gist: str
    text: str
    when: datetime


def feed(entries: Iterable[Entry], identity: str, made: datetime) -> str:
    """The newest 100 entries as a document, to be written as UTF-8.

    `identity` is what no other installation has; it must stay as it is, as ids come from it. `made` is the time of a
    feed that has no entry: others are as new as their newest one.
    """
    newest = sorted(entries, key=lambda entry: (entry.when, entry.event), reverse=True)[:MOST_ENTRIES]
    root = ElementTree.Element("feed", {"xmlns": NAMESPACE})
    _add(root, "id", _urn(identity))
    _add(root, "title", TITLE)
    _add(root, "updated", _time(newest[0].when if newest else made))
    _add(ElementTree.SubElement(root, "author"), "name", "pagewatch")
    _add(root, "generator", "pagewatch", version=VERSION)
    for entry in newest:
        _add_entry(root, entry, _urn(f"{identity} {entry.event}"))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_entry(root: ElementTree.Element, entry: Entry, urn: str) -> None:
    element = ElementTree.SubElement(root, "entry")
    name = one_line(without_login(entry.watch), LONGEST_NAME)
    _add(element, "id", urn)
    _add(element, "title", one_line(f"{name}: {entry.gist}", LONGEST_TITLE), type="text")
    _add(element, "updated", _time(entry.when))
    address = one_line(without_login(entry.url)).replace(" ", "%20")
    if address.lower().startswith(("http://", "https://")):
        ElementTree.SubElement(element, "link", {"rel": "alternate", "href": address})
    _add(element, "content", shortened(harmless(entry.text), LONGEST_TEXT), type="text")


def _add(parent: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, name, attributes).text = text


def _urn(name: str) -> str:
    """An id that is the same for the same name, everywhere (RFC 4287 §4.2.6, RFC 9562 §5.5)."""
    return uuid5(NAMESPACE_URL, harmless(f"pagewatch {name}")).urn


def _time(time: datetime) -> str:
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
