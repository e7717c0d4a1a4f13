"""Repeated elements of a page as records: each with a key, a text, a link and named parts.

Keys and fields are looked for once in the whole page and given to the record that they stand in: a thousand records
take two walks, not two thousand.
"""

from __future__ import annotations

from pagewatch.answers import Item
from pagewatch.element_text import base_of, is_in
from pagewatch.fingerprint import collapse
from pagewatch.frozen import replace
from pagewatch.markup import Node
from pagewatch.model import split_attribute
from pagewatch.urls import absolute
from pagewatch.view import View

NAMES = ("title", "name", "headline")  # fields that say what a record is called

Parts = dict[Node, list[Node]]


def records(view: View, scopes: list[Node]) -> tuple[Item, ...] | None:
    """The records in page order; with `select` those within what it selects. None where none of them has the key. One
    in another is not a part of that."""
    elements = view.find(view.watch.items)
    if view.watch.select:
        within = frozenset(scopes)
        elements = [element for element in elements if is_in(element, within)]
    alone = replace(view, left_out=view.left_out | frozenset(elements))
    key, attribute = split_attribute(view.watch.key)
    keys = _parts(view, elements, key)
    fields = [(name, *split_attribute(where)) for name, where in view.watch.fields]
    parts = [(name, _parts(view, elements, selector), attribute) for name, selector, attribute in fields]
    links = _parts(view, elements, "a[href]")
    base = base_of(view.tree, view.url)
    found, known = [], not view.watch.key or not elements
    for element in elements:
        values = tuple((name, view.value(part[element][:1], attribute, name)) for name, part, attribute in parts)
        text = alone.text(element)
        own = view.value(keys[element][:1], attribute) if view.watch.key else text
        known = known or bool(own)
        identity = collapse(own or "") or collapse(text)
        anchors = [*links[element], *element.iterancestors("a")]
        link = next(filter(None, (absolute(base, anchor.get("href")) for anchor in anchors)), "")
        found.append(Item(identity, label(values, identity) if values else text, link, values))
    return tuple(found) if known else None


def label(fields: tuple[tuple[str, str | None], ...], key: str) -> str:
    """What to call a record that is made of fields."""
    named = (value for wanted in NAMES for name, value in fields if name.lower() == wanted)
    return next((value for value in named if value), key)


def _parts(view: View, elements: list[Node], selector: str) -> Parts:
    """What the selector matches, by the record in which it stands (or which it is); without one the record itself."""
    parts: Parts = {element: [] if selector else [element] for element in elements}
    for found in view.find(selector) if selector else ():
        at: Node | None = found
        while at is not None and at not in parts:
            at = at.getparent()
        if at is not None:
            parts[at].append(found)
    return parts
