"""A parsed page -> the watched part: what a person reads there, in lines, or why it was not found.

The text is read straight from the tree. Block elements and <br> end a line, cells are set apart, inline elements add
nothing: so other markup of the same words is no change, and no word is glued to the next. Scripts, styles, templates,
comments, attributes and hidden fields are not text. "Found nothing" is a NoMatch with the likely cause, never an
empty text; an element that is there but empty is content.
"""

from __future__ import annotations

import re

from lxml import etree  # type: ignore[import-untyped]

from pagewatch.answers import Extract, NoMatch
from pagewatch.fingerprint import collapse, normalise, without_noise
from pagewatch.markup import Node, Tree
from pagewatch.model import Watch, split_attribute

__all__ = ["body", "field_lines", "page_text", "select", "text_of"]

LITTLE_TEXT = 200  # characters: a page with scripts and less text than this is probably built by them

_SILENT = frozenset("script style noscript template iframe noframes".split())
_BLOCKS = frozenset(
    """address article aside blockquote body br caption center colgroup dd details dialog dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol
    optgroup option p pre search section summary table tbody textarea tfoot thead title tr ul xmp""".split()
)
_APART = frozenset("button input select td th".split())  # set apart from their neighbours, but on the same line
_VERBATIM = frozenset("pre script style textarea xmp".split())
_INLINE = frozenset(
    """a abbr acronym audio b base bdi bdo big canvas cite code col data datalist del dfn em embed font i img ins kbd
    label link map mark math meta meter object output picture progress q rp rt ruby s samp slot small source span
    strike strong sub sup svg time tt u var video wbr""".split()
)
_LINE, _CENTS = "\x1e", "\x1d"  # marks in text that is being put together; no page shows these controls

_TWO_DIGITS = re.compile(r"\s*\d\d\s*")
_AMOUNT = re.compile(r"[\d.,']*\d$")
_BARE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")

Elements = frozenset[Node]


def select(tree: Tree, watch: Watch) -> Extract | NoMatch:
    """What `select`, `match`, `fields`, `ignore` and `ignore_text` leave of the page; a NoMatch is of the kind
    `selector`."""
    selectors = [watch.select, *watch.ignore, *(split_attribute(where)[0] for _, where in watch.fields)]
    if any("tbody" in selector for selector in selectors):
        _add_tbodies(tree)
    if tree.torn and any(_is_torn(tree, selector) for selector in selectors if selector):
        again = select(tree.reread(), watch)
        if isinstance(again, Extract) and again.matched:
            return again
    left_out = frozenset(element for selector in watch.ignore for element in tree.find(selector))
    found = tree.find(watch.select) if watch.select else [body(tree)]
    kept = [element for element in found if not _is_in(element, left_out)]
    if not kept:
        return _nothing(tree, watch, left_out=bool(found))
    chosen = _outermost(kept) if watch.match == "all" else kept[:1]
    if watch.fields:
        return _fields(tree, watch, chosen, left_out)
    return Extract(_joined(tree, watch, chosen, left_out), matched=len(kept))


def page_text(tree: Tree) -> str:
    """All that a visitor can read on the page."""
    return text_of(body(tree), xml=tree.xml)


def body(tree: Tree) -> Node:
    found = None if tree.xml else tree.root.find(".//body")
    return tree.root if found is None else found


# ------------------------------------------------------------------------------------------------ what is watched


def _is_torn(tree: Tree, selector: str) -> bool:
    return any(element.tag in tree.torn for element in tree.find(selector))


def _joined(tree: Tree, watch: Watch, chosen: list[Node], left_out: Elements) -> str:
    """The texts of the elements, each on its own lines; with `ignore_order`, which lets elements move, each on one
    line."""
    cents = dict(watch.number).get("")
    texts = [without_noise(text_of(element, left_out, tree.xml, cents), watch.ignore_text) for element in chosen]
    if watch.ignore_order and len(texts) > 1:
        texts = [text.replace("\n", " ") for text in texts]
    return "\n".join(text for text in texts if text)


def _fields(tree: Tree, watch: Watch, scopes: list[Node], left_out: Elements) -> Extract | NoMatch:
    fields = tuple((name, _value(tree, watch, (name, where), scopes, left_out)) for name, where in watch.fields)
    if any(value is not None for _, value in fields):
        return Extract(field_lines(fields), fields)
    if watch.if_missing == "ok":
        return Extract("", fields, matched=0)
    return NoMatch("selector", f"none of the fields is there: {', '.join(name for name, _ in fields)}", _scripts(tree))


def field_lines(fields: tuple[tuple[str, str | None], ...]) -> str:
    """The fields as text for people, one a line."""
    return "\n".join(f"{name}: {'(none)' if value is None else collapse(value)}".rstrip() for name, value in fields)


def _value(tree: Tree, watch: Watch, field: tuple[str, str], scopes: list[Node], left_out: Elements) -> str | None:
    """One field's value, None where it is not there. With `select`, fields are parts of what it selects."""
    name, (selector, attribute) = field[0], split_attribute(field[1])
    found = tree.find(selector) if selector else scopes
    if selector and watch.select:
        within = frozenset(scopes)
        found = [element for element in found if _is_in(element, within)]
    found = [element for element in found if not _is_in(element, left_out)]
    found = found if watch.match == "all" else found[:1]
    if attribute:
        values = [_attribute(element, attribute, tree.xml) for element in found]
    else:
        values = [text_of(element, left_out, tree.xml, dict(watch.number).get(name)) for element in _outermost(found)]
    there = [normalise(value) for value in values if value is not None]
    return without_noise("\n".join(there), watch.ignore_text) if there else None


def _attribute(element: Node, name: str, xml: bool) -> str | None:
    prefix, _, local = name.rpartition(":")
    namespace = element.nsmap.get(prefix) if xml and prefix else None
    value = element.get(f"{{{namespace}}}{local}" if namespace else name if xml else name.lower())
    return None if value is None else str(value)


def _is_in(element: Node, elements: Elements) -> bool:
    return bool(elements) and (element in elements or any(ancestor in elements for ancestor in element.iterancestors()))


def _outermost(elements: list[Node]) -> list[Node]:
    """Without those that are inside another, whose text has theirs."""
    every = frozenset(elements)
    return [element for element in elements if not any(ancestor in every for ancestor in element.iterancestors())]


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


def _nothing(tree: Tree, watch: Watch, left_out: bool) -> Extract | NoMatch:
    if watch.if_missing == "ok":
        return Extract("", tuple((name, None) for name, _ in watch.fields), matched=0)
    hint = "all that it matches is left out by ignore" if left_out else _hint(tree, watch.select)
    what = f'select "{watch.select}" matches nothing' if watch.select else "nothing is left of the page"
    return NoMatch("selector", what, hint)


def _hint(tree: Tree, selector: str) -> str:
    """The likely cause, "" where none is known."""
    name = selector.strip()
    if not _BARE_NAME.fullmatch(name):
        return _scripts(tree)
    if tree.xml:
        prefix = next((element.prefix for element in tree.root.iter(f"{{*}}{name}")), "")
        return f"in this document it has a prefix, write {prefix}|{name}" if prefix else ""
    known = name.lower() in _BLOCKS | _INLINE | _APART | _SILENT
    return _scripts(tree) if known else f"HTML has no element {name}; did you mean #{name} or .{name}?"


def _scripts(tree: Tree) -> str:
    built = not tree.xml and next(tree.root.iter("script"), None) is not None and len(page_text(tree)) < LITTLE_TEXT
    return "the page has hardly any text before its scripts have run" if built else ""


# ------------------------------------------------------------------------------------------------------------ text


def text_of(root: Node, left_out: Elements = frozenset(), xml: bool = False, cents: str | None = None) -> str:
    """The text of an element in lines, without the elements `left_out`. In XML each element has its own line.

    `cents` is the decimal mark of an amount ("": inferred) whose cents are raised: 20<sup>99</sup> is 20.99, not
    2099. None: no amount.
    """
    parts: list[str] = []
    verbatim = None
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        border = _LINE if xml or tag in _BLOCKS else " " if tag in _APART else ""
        if event == "end":
            verbatim = None if element is verbatim else verbatim
            text = None if element is root else element.tail
        elif element is not root and (element in left_out or (tag in _SILENT and not xml)):
            walk.skip_subtree()
            text = None
        else:
            verbatim = element if verbatim is None and tag in _VERBATIM else verbatim
            text = element.text
            border = _CENTS if cents is not None and tag == "sup" and _TWO_DIGITS.fullmatch(text or "") else border
        parts.append(border)
        if text:
            parts.append(text if verbatim is None else text.replace("\n", _LINE))
    joined = "".join(parts).replace("\n", " ").replace("\r", " ").replace(_LINE, "\n")
    return normalise(joined if cents is None else _with_cents(joined.split(_CENTS), cents))


def _with_cents(pieces: list[str], mark: str) -> str:
    """Pieces of text, each of which begins with raised digits; they are cents where a digit stands before them."""
    text = pieces[0]
    for piece in pieces[1:]:
        amount = _AMOUNT.search(text[-20:].rstrip())
        if amount:
            text = text.rstrip() + (mark or ("," if "." in amount[0] else "."))
        text += piece.lstrip()
    return text
