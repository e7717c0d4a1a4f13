"""CSS selectors as Beautiful Soup understands them: whether text is one, and its elements in a tree of lxml's.

What a selector means is defined by its engine, soupsieve. A soup is made from the tree that was parsed already, so that
both ways of finding (`css`) see one document and answer in its elements. It takes time to import and to ask: it is
there for selectors that do not translate to XPath, and to check them once per edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import soupsieve
from bs4 import BeautifulSoup
from bs4.builder import TreeBuilder
from bs4.element import NamespacedAttribute
from lxml import etree  # type: ignore[import-untyped]

Node = Any  # an lxml element: lxml has no types

LONGEST = 1_000  # characters of a selector; what reads them recurses
_ASKS_TEXT = re.compile(r":(?:-soup-)?contains|:empty|:dir\(|:placeholder-shown|:root", re.IGNORECASE)


# --------------------------------------------------------------------------------------------- is it a selector


def check_selector(selector: str) -> str | None:
    """None where `selector` can be used, else one line that names the place and, where it can be guessed, what was
    meant."""
    if len(selector) > LONGEST:
        return f"the selector is longer than {LONGEST:,} characters"
    try:
        compiled(selector)
    except soupsieve.SelectorSyntaxError as error:
        place = error.col or 1
    except NotImplementedError:
        place = selector.find("::") + 1
    except RecursionError:
        return "the selector is nested too deeply"
    else:
        return None
    if not selector.strip():
        return "the selector is empty"
    place, advice = next(_advice(selector, place), (place, ""))
    return f'"{selector}" is no CSS selector at character {place} ("{selector[place - 1 : place + 19]}"){advice}'


def _advice(selector: str, place: int) -> Iterator[tuple[int, str]]:
    """What to write instead: each common mistake that is made at about this place, with its own place, as releases of
    soupsieve differ in theirs."""
    for pattern, advise in _MISTAKES:
        for found in re.finditer(pattern, selector):
            if found.start() <= place <= found.end() + 1:
                yield found.start(found.lastindex or 0) + 1, f"; {advise(found)}"


_MISTAKES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"^\s*\.?/.*", lambda found: "this looks like XPath, and a CSS selector is wanted"),
    (r"::[\w-]+", lambda found: f'leave "{found[0]}" out: it is the text of the element that is watched'),
    (r"#(\d[\w-]*)", lambda found: f'a name cannot begin with a digit, write [id="{found[1]}"]'),
    (r"\.(\d[\w-]*)", lambda found: f'a name cannot begin with a digit, write [class~="{found[1]}"]'),
    (r"@[\w:-]+", lambda found: f'"{found[0]}" stands for an attribute in `fields` and `key`, and nowhere else'),
    (r"([#.][\w-]+)((?::[\w-]+)+)", lambda found: f"if the colon is part of the name, write {_escaped(found)}"),
    (r":[\w-]+(?=\()", lambda found: f'CSS has no "{found[0]}()", or not with this between the brackets'),
    (r"([\w-]+)((?::[\w-]+)+)", lambda found: f'CSS has no "{found[2]}"; a prefix in XML is {_with_prefix(found)}'),
    (r"\[[^\]]*\]?", lambda found: 'write [name="value"], the value in double quotes'),
    (r"[\"'].*", lambda found: "leave the quotes out"),
    (r"[>+~,]\s*$", lambda found: f'something is missing after "{found[0].strip()}"'),
    (r"^\s*[>+~,]", lambda found: f'something is missing before "{found[0].strip()}"'),
)


def _escaped(found: re.Match[str]) -> str:
    return found[1] + found[2].replace(":", "\\:")


def _with_prefix(found: re.Match[str]) -> str:
    return found[1] + found[2].replace(":", "|")


# ------------------------------------------------------------------------------------------------ what it finds


class Soup:
    """A tree to be asked. `xml`: see `markup.Tree`."""

    def __init__(self, root: Node, xml: bool) -> None:
        self.root, self.xml = root, xml

    def find(self, selector: str) -> list[Node]:
        """The elements that match, in document order."""
        soup, builder = self._with_text if _ASKS_TEXT.search(selector) else self._bare
        tags = compiled(selector, tuple(sorted(builder.prefixes))).select(soup)
        return [builder.elements[id(tag)] for tag in tags]

    @cached_property
    def _bare(self) -> tuple[BeautifulSoup, _SoupOfTree]:
        builder = _SoupOfTree(self.root, self.xml, texts=False)
        return BeautifulSoup("", builder=builder), builder

    @cached_property
    def _with_text(self) -> tuple[BeautifulSoup, _SoupOfTree]:
        """For selectors that look at text, and not only at elements and attributes."""
        builder = _SoupOfTree(self.root, self.xml, texts=True)
        return BeautifulSoup("", builder=builder), builder


def compiled(selector: str, prefixes: tuple[str, ...] = ()) -> soupsieve.SoupSieve:
    """For a soup in which each of `prefixes` is its own namespace; the engine keeps what it has compiled.

    Raises soupsieve.SelectorSyntaxError and NotImplementedError. `:contains` is the old name of `:-soup-contains`.
    """
    selector = selector.replace(":contains(", ":-soup-contains(")
    return soupsieve.compile(selector, {prefix: prefix for prefix in prefixes} or None)


class _SoupOfTree(TreeBuilder):
    """Feeds a soup from a tree instead of from text. `elements` has the element that each tag stands for.

    Without `texts`, which few selectors ask for, it takes half the time.
    """

    def __init__(self, root: Node, xml: bool, texts: bool) -> None:
        super().__init__(multi_valued_attributes={}, string_containers={})
        self.root = root
        self.texts = texts
        self.is_xml = xml
        self.elements: dict[int, Node] = {}
        self.prefixes = {""} if xml else set[str]()

    def feed(self, markup: object) -> None:
        assert self.soup is not None
        for event, element in etree.iterwalk(self.root, events=("start", "end")):
            name, prefix = self._name(element)
            if event == "start":
                tag = self.soup.handle_starttag(name, prefix, None, self._attributes(element))
                self.elements[id(tag)] = element
                self._add(element.text)
            else:
                self.soup.handle_endtag(name)
                self._add(element.tail)

    def _add(self, text: str | None) -> None:
        if self.texts and self.soup is not None:
            self.soup.handle_data(text or "")

    def _name(self, element: Node) -> tuple[str, str]:
        """A prefix serves as its own namespace: selectors name what is written, whatever the prefix is bound to."""
        if not self.is_xml:
            return element.tag, ""
        prefix = element.prefix or ""
        self.prefixes.add(prefix)
        return etree.QName(element).localname, prefix

    def _attributes(self, element: Node) -> Any:
        if not self.is_xml:
            return dict(element.attrib)
        return {self._attribute_name(element, name): value for name, value in element.attrib.items()}

    def _attribute_name(self, element: Node, name: str) -> str:
        if not name.startswith("{"):
            return name
        qualified = etree.QName(name)
        prefix = next((prefix for prefix, uri in element.nsmap.items() if prefix and uri == qualified.namespace), "xml")
        self.prefixes.add(prefix)
        return NamespacedAttribute(prefix, qualified.localname, prefix)
