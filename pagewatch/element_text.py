"""The text of an element, in lines, as a person reads it; the values of its attributes; where it stands, and where its
links begin.

Block elements and <br> end a line, cells are set apart, inline elements add nothing: so other markup of the same words
is no change, and no word is glued to the next. Scripts, styles, templates, comments and hidden fields are not text.
"""

from __future__ import annotations

import re

from lxml import etree  # type: ignore[import-untyped]

from pagewatch.fingerprint import normalise
from pagewatch.markup import Node, Tree
from pagewatch.urls import absolute

SILENT = frozenset("script style noscript template iframe noframes".split())
BLOCKS = frozenset(
    """address article aside blockquote body br caption center colgroup dd details dialog dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol
    optgroup option p pre search section summary table tbody textarea tfoot thead title tr ul xmp""".split()
)
APART = frozenset("button input select td th".split())  # set apart from their neighbours, but on the same line
_STRUCK = frozenset("del s strike".split())  # what was a price
_VERBATIM = frozenset("pre script style textarea xmp".split())
INLINE = frozenset(
    """a abbr acronym audio b base bdi bdo big canvas cite code col data datalist del dfn em embed font i img ins kbd
    label link map mark math meta meter object output picture progress q rp rt ruby s samp slot small source span
    strike strong sub sup svg time tt u var video wbr""".split()
)
_LINE, _CENTS = "\x1e", "\x1d"  # marks in text that is being put together; no page shows these controls

_TWO_DIGITS = re.compile(r"\s*\d\d\s*")
_AMOUNT = re.compile(r"[\d.,']*\d$")

Elements = frozenset[Node]


def text_of(root: Node, left_out: Elements = frozenset(), xml: bool = False, cents: str | None = None) -> str:
    """The text of an element in lines, without the elements `left_out`. In XML each element has its own line.

    `cents` is the decimal mark of an amount ("": inferred) whose cents are raised: 20<sup>99</sup> is 20.99, not
    2099; what is struck out was an amount and is none. None: no amount.
    """
    if cents is not None and (struck := frozenset(root.iter(*_STRUCK)) - {root}):
        without = text_of(root, left_out | struck, xml)
        if any(map(str.isdigit, without)):
            left_out |= struck
    parts: list[str] = []
    verbatim = None
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        border = _LINE if xml or tag in BLOCKS else " " if tag in APART else ""
        if event == "end":
            verbatim = None if element is verbatim else verbatim
            text = None if element is root else element.tail
        elif element is not root and (element in left_out or (tag in SILENT and not xml)):
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


def page_text(tree: Tree) -> str:
    """All that a visitor can read on the page."""
    return text_of(body(tree), xml=tree.xml)


def body(tree: Tree) -> Node:
    found = None if tree.xml else tree.root.find(".//body")
    return tree.root if found is None else found


def base_of(tree: Tree, url: str) -> str:
    """Where relative links begin (HTML standard §2.4.3): at <base>, if that is of the web, else at the page."""
    base = tree.root.find(".//base[@href]")
    return url if base is None else absolute(url, base.get("href")) or url


def attribute_of(element: Node, name: str, xml: bool) -> str | None:
    prefix, _, local = name.rpartition(":")
    namespace = element.nsmap.get(prefix) if xml and prefix else None
    value = element.get(f"{{{namespace}}}{local}" if namespace else name if xml else name.lower())
    return None if value is None else str(value)


def is_in(element: Node, elements: Elements) -> bool:
    return bool(elements) and (element in elements or any(ancestor in elements for ancestor in element.iterancestors()))


def outermost(elements: list[Node]) -> list[Node]:
    """Without those that are inside another, whose text has theirs."""
    every = frozenset(elements)
    return [element for element in elements if not any(ancestor in every for ancestor in element.iterancestors())]
