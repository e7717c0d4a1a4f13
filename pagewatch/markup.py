"""HTML and XML: text in, a tree out, in which CSS selectors find elements.

lxml parses: it reads broken markup, is fast, and its version is pinned with the project. Where it gives up (at 2,048
levels) or takes apart what browsers keep together (it ends a link at a table), the page is read a second time, in
another way. Where a selector cannot be translated, a soup is made from the very same tree and asked instead, so that
both ways see one document and answer in its elements. XML is read strictly, without DTDs, entities or network. No
input makes this raise, recurse or fetch anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lxml import etree  # type: ignore[import-untyped]

from pagewatch import css
from pagewatch.answers import FetchFailed
from pagewatch.frozen import dataclass
from pagewatch.http_headers import is_xml

if TYPE_CHECKING:
    from pagewatch.soup import Soup

Node = Any  # an lxml element: lxml has no types

MOST_ATTRIBUTES = 5_000
SHORTEST_FLOOD = 15_000  # characters of a tag that can have as many
_OPENING = re.compile(r"</?[A-Za-z][\w:-]*\Z")
DEEPEST = 4096  # levels that are kept of what lxml cannot hold; browsers keep 512
_LIMIT = 2046  # levels at which lxml gives up and drops the rest
_MOST_ERRORS = 100  # that lxml keeps

# What libxml2 ends when a table, a paragraph or a form begins inside, and browsers do not.
_ENDED_EARLY = frozenset("a b big dl font h1 h2 h3 h4 h5 h6 i s small strike tt u ul".split())
_UNKNOWN = "torn-"
_UNEXPECTED_END = "Unexpected end tag : "

_XHTML = "{http://www.w3.org/1999/xhtml}"
# Patterns that few runs need are text: they are compiled when they are first met.
_REFERENCE = r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{0,30};"
_BEFORE_DOCTYPE = re.compile(r"\s*(<!--|<\?)")
_END_OF_PAGE = re.compile(r"(?i)</(?:body|html)\s*>")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NOT_XML = "[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"


@dataclass(frozen=True)
class Tree:
    """A parsed document. In `xml` names are case-sensitive; `name` finds what is written without a prefix there,
    `prefix|name` what is written `prefix:name`. `torn`: elements with these names may have been ended too early."""

    root: Node
    text: str
    xml: bool = False
    torn: frozenset[str] = frozenset()

    def find(self, selector: str) -> list[Node]:
        """The elements that match, in document order. What stands in a <template> is not part of an HTML document."""
        path = None if self.xml else css.finder(selector)
        found = self._soup.find(selector) if path is None else path(self.root)
        return [element for element in found if self.xml or next(element.iterancestors("template"), None) is None]

    def reread(self) -> Tree:
        """The same HTML with the torn elements whole: parsed under names of which lxml knows nothing."""
        if not self.torn:
            return self
        names = "|".join(sorted(self.torn))
        text = re.sub(rf"(?i)<(/?)({names})(?=[\s/>])", rf"<\1{_UNKNOWN}\2", self.text)
        root = _html(text).root
        for element in root.iter(*(_UNKNOWN + name for name in self.torn)):
            element.tag = element.tag[len(_UNKNOWN) :]
        for element in root.iter("script", "style", "textarea", "title"):
            element.text = (element.text or "").replace(f"<{_UNKNOWN}", "<").replace(f"</{_UNKNOWN}", "</")
        return Tree(root, self.text)

    @cached_property
    def _soup(self) -> Soup:
        from pagewatch.soup import Soup

        return Soup(self.root, self.xml)


def parse(text: str, media_type: str = "text/html") -> Tree | FetchFailed:
    """A tree of HTML or XML, by the media type (RFC 7303 §9.6) or, where that says HTML, by an XML declaration."""
    text = (text.replace("\0", "") if "\0" in text else text).lstrip("\ufeff \t\r\n")
    if _has_flood(text):
        return FetchFailed("too-large", f"an element of the page has more than {MOST_ATTRIBUTES:,} attributes")
    if is_xml(media_type):
        parsed = _xml(text)
        failed = isinstance(parsed, FetchFailed) and parsed.kind == "not-xml"
        return _html(text) if failed and media_type == "application/xhtml+xml" else parsed
    if text.startswith("<?xml") and "<html" not in text[:2000].lower():
        parsed = _xml(text)
        return parsed if isinstance(parsed, Tree) or parsed.kind == "xml-forbidden" else _html(text)
    return _html(text)


def _has_flood(text: str) -> bool:
    """Whether a tag has so many attributes that reading them, which is quadratic in lxml, would take minutes."""
    if len(text) < SHORTEST_FLOOD:
        return False
    tags = (part[part.rfind("<") :].split() for part in _long_parts(text))
    return any(len(words) > MOST_ATTRIBUTES and _OPENING.match(words[0]) for words in tags if words)


def _long_parts(text: str) -> Iterator[str]:
    """What stands between two `>` that are far apart. It is looked for backwards from where the next could be at the
    latest, so that most of the text is jumped over."""
    at = 0
    while at + SHORTEST_FLOOD <= len(text):
        last = text.rfind(">", at, at + SHORTEST_FLOOD)
        if last >= 0:
            at = last + 1
            continue
        end = text.find(">", at + SHORTEST_FLOOD)
        end = len(text) if end < 0 else end
        yield text[at:end]
        at = end + 1


def declares_entities(text: str) -> bool:
    """Whether the document type declaration does (XML 1.0 §2.8: only comments and instructions stand before it)."""
    at = 0
    while found := _BEFORE_DOCTYPE.match(text, at):
        closing = "-->" if found[1] == "<!--" else "?>"
        end = text.find(closing, found.end())
        if end < 0:
            return False
        at = end + len(closing)
    return text[at:].lstrip().startswith("<!DOCTYPE") and "<!ENTITY" in text[at:]


# ------------------------------------------------------------------------------------------------------- parsing


def _html(text: str) -> Tree:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    data = _with_what_follows(text).encode("utf-8", "replace")
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:  # nothing in it
        root = None
    if root is None:
        root = etree.Element("html")
    if _was_cut(root):
        root = etree.fromstring(data, etree.HTMLParser(encoding="utf-8", huge_tree=True, target=_Flattened()))
    return Tree(root, text, torn=_torn(parser))


def _with_what_follows(text: str) -> str:
    """Browsers put what stands behind </body> and </html> into the body; lxml drops it or puts it elsewhere."""
    first = _END_OF_PAGE.search(text)
    if first is None or not _END_OF_PAGE.sub("", text[first.end() :]).strip():
        return text
    return text[: first.start()] + _END_OF_PAGE.sub("", text[first.start() :])


def _was_cut(root: Node) -> bool:
    """Whether the parser gave up for depth: then the last element is one of the deepest."""
    depth, last = 0, root
    while len(last):
        depth, last = depth + 1, last[-1]
    return depth >= _LIMIT


class _Flattened:
    """A target of lxml's parser, for which it has no limit of depth: builds a tree in which elements below `DEEPEST`
    stand side by side, each with the text before its first child."""

    def __init__(self) -> None:
        self.builder = etree.TreeBuilder()
        self.depth = 0
        self.deep = ""  # the name of the element below DEEPEST that has not been ended

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        name = name if _NAME.fullmatch(name) else "span"
        if self.depth > DEEPEST:
            self._end_deep()
            self.deep = name
        self.builder.start(name, {name: value for name, value in attributes.items() if _NAME.fullmatch(name)})

    def end(self, name: str) -> None:
        if self.depth > DEEPEST:
            self._end_deep()
        else:
            self.builder.end(name if _NAME.fullmatch(name) else "span")
        self.depth -= 1

    def _end_deep(self) -> None:
        if self.deep:
            self.builder.end(self.deep)
            self.deep = ""

    def data(self, text: str) -> None:
        self.builder.data(re.sub(_NOT_XML, "", text))

    def close(self) -> Node:
        return self.builder.close()


def _torn(parser: Any) -> frozenset[str]:
    errors = parser.error_log
    if len(errors) >= _MOST_ERRORS:
        return _ENDED_EARLY
    ended = (error.message for error in errors)
    return _ENDED_EARLY.intersection(line[len(_UNEXPECTED_END) :] for line in ended if _UNEXPECTED_END in line)


def _xml(text: str) -> Tree | FetchFailed:
    if declares_entities(text):
        return FetchFailed("xml-forbidden", "the document declares entities, and those are not read")
    if re.search(_REFERENCE, text):  # XHTML has those of HTML
        from html import escape, unescape

        text = re.sub(_REFERENCE, lambda found: escape(unescape(found[0])), text)
    safe = {"no_network": True, "load_dtd": False, "resolve_entities": False}
    parser = etree.XMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, **safe)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        return FetchFailed("not-xml", f"the document is no well-formed XML, line {error.lineno or 1}")
    if root.tag != f"{_XHTML}html":
        return Tree(root, text, xml=True)
    for element in root.iter(f"{_XHTML}*"):
        element.tag = element.tag[len(_XHTML) :]
    return Tree(root, text)
