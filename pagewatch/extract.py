"""A parsed page -> the watched part: what a person reads there, in lines, or why it was not found.

"Found nothing" is a NoMatch with the likely cause, never an empty text; an element that is there but empty is
content.
"""

from __future__ import annotations

import re

from lxml import etree  # type: ignore[import-untyped]

from pagewatch.answers import Extract, NoMatch
from pagewatch.element_text import APART, BLOCKS, INLINE, SILENT, body, is_in, outermost, page_text
from pagewatch.items import records
from pagewatch.markup import Node, Tree
from pagewatch.model import Watch, split_attribute
from pagewatch.reading import field_lines
from pagewatch.view import View

LITTLE_TEXT = 200  # characters: a page with scripts and less text than this is probably built by them
OVERLOOKED = "all that it matches is left out by ignore"

_BARE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def select(tree: Tree, watch: Watch, url: str = "") -> Extract | NoMatch:
    """What the keys of the watch leave of the page at `url`; a NoMatch is of the kind `selector`."""
    selectors = _selectors(watch)
    if any("tbody" in selector for selector in selectors):
        _add_tbodies(tree)
    if tree.torn and any(_is_torn(tree, selector) for selector in selectors):
        again = select(tree.reread(), watch, url)
        if isinstance(again, Extract) and again.matched:
            return again
    left_out = frozenset(element for selector in watch.ignore for element in tree.find(selector))
    view = View(tree, watch, left_out, url)
    found = tree.find(watch.select) if watch.select else [body(tree)]
    kept = [element for element in found if not is_in(element, left_out)]
    if not kept:
        what = f'select "{watch.select}" matches nothing' if watch.select else "nothing is left of the page"
        return _nothing(view, what, OVERLOOKED if found else _hint(tree, watch.select))
    return _chosen(view, kept)


def _selectors(watch: Watch) -> list[str]:
    parts = (split_attribute(where)[0] for _, where in (*watch.fields, ("", watch.key if watch.items else "")))
    return [selector for selector in (watch.select, watch.items, *watch.ignore, *parts) if selector]


def _is_torn(tree: Tree, selector: str) -> bool:
    return any(element.tag in tree.torn for element in tree.find(selector))


def _chosen(view: View, found: list[Node]) -> Extract | NoMatch:
    """The records, the fields or the text of what was found."""
    watch = view.watch
    chosen = outermost(found) if watch.match == "all" else found[:1]
    fields = ", ".join(name for name, _ in watch.fields)
    if watch.items:
        items = records(view, chosen)
        if items is None:
            return _nothing(view, f'none of the items has the key "{watch.key}"', "")
        if not items:
            return _nothing(view, f'items "{watch.items}" matches nothing', _hint(view.tree, watch.items))
        if fields and all(value is None for item in items for _, value in item.fields):
            return _nothing(view, f"none of the fields is there in any of {len(items)} items: {fields}", "")
        return Extract("", items=items)
    if not fields:
        return Extract(_joined(view, chosen), matched=len(found))
    values = view.fields(chosen)
    if all(value is None for _, value in values):
        return _nothing(view, f"none of the fields is there: {fields}", _scripts(view.tree))
    return Extract(field_lines(values), values)


def _joined(view: View, chosen: list[Node]) -> str:
    """The texts of the elements, each on its own lines; with `ignore_order`, which lets elements move, each on one
    line."""
    texts = [view.text(element) for element in chosen]
    if view.watch.ignore_order and len(texts) > 1:
        texts = [text.replace("\n", " ") for text in texts]
    return "\n".join(text for text in texts if text)


def _add_tbodies(tree: Tree) -> None:
    """As browsers do, whose developer tools selectors are copied from (HTML standard §13.2.6.4.9)."""
    for table in list(tree.root.iter("table")):
        tbody = None
        for child in list(table):
            if child.tag != "tr":
                tbody = None
                continue
            if tbody is None:
                tbody = etree.Element("tbody")
                child.addprevious(tbody)
            tbody.append(child)


# --------------------------------------------------------------------------------------------------------- nothing


def _nothing(view: View, what: str, hint: str) -> Extract | NoMatch:
    """A NoMatch of the kind `selector`, unless it is a legitimate value."""
    watch = view.watch
    if watch.if_missing != "ok":
        return NoMatch("selector", what, hint)
    if watch.items:
        return Extract("", items=(), matched=0)
    return Extract("", tuple((name, None) for name, _ in watch.fields), matched=0)


def _hint(tree: Tree, selector: str) -> str:
    """The likely cause, "" where none is known."""
    name = selector.strip()
    if not _BARE_NAME.fullmatch(name):
        return _scripts(tree)
    if tree.xml:
        prefix = next((element.prefix for element in tree.root.iter(f"{{*}}{name}")), "")
        return f"in this document it has a prefix, write {prefix}|{name}" if prefix else ""
    known = name.lower() in BLOCKS | INLINE | APART | SILENT
    return _scripts(tree) if known else f"HTML has no element {name}; did you mean #{name} or .{name}?"


def _scripts(tree: Tree) -> str:
    built = not tree.xml and next(tree.root.iter("script"), None) is not None and len(page_text(tree)) < LITTLE_TEXT
    return "the page has hardly any text before its scripts have run" if built else ""
