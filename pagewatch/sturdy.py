"""A selector for elements that are known: short, made of names that people have chosen, and matching exactly them.

It promises that what it proposes was tried on the page: ids, stable attributes, classes that mean something, and last a
named ancestor with a tag. Where none of these tells the elements apart it proposes nothing. The page is walked once;
candidates are then tried on lists of the elements that have their parts, so that a page of 100,000 elements takes no
longer than its walk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice

from pagewatch import css
from pagewatch.brittle import is_generated
from pagewatch.frozen import dataclass
from pagewatch.markup import Node, Tree

MOST_TRIED = 300  # candidates for one proposal
MOST_FAILED = 5  # that match exactly by the lists, and do not when the whole page is asked
MOST_SEARCHED = 5_000  # elements that a candidate's rarest part may have
MOST_PARTS = 8  # of one element that are looked at
MOST_ANCESTORS = 12
LONGEST_VALUE = 50  # characters of an attribute's value

_STABLE = (
    *("itemprop", "data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-field", "data-name"),
    *("name", "aria-label", "property", "role"),
)
_NAME = re.compile(r"-?[A-Za-z_][A-Za-z0-9_-]*")
_VALUE = re.compile(r"[^\"\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_DATA = re.compile(r"data-[a-z]+(?:-[a-z]+)*")
_FRAMEWORK = re.compile(r"data-(?:v|reactid|reactroot|react|astro|ember|s|styled|emotion|turbo|ng|hydrat\w*)(?:-.*)?")
# How it looks and how it is at the moment, not what it is.
_LOOKS = re.compile(
    r"(?:sm|md|lg|xl|xxl|hover|focus|dark|print):.*"
    r"|-?[mp][trblxyse]?-(?:\d.*|auto|px)|-?(?:w|h|z|top|left|right|bottom|inset|gap|space|order|min|max|size)-.*"
    r"|(?:text|font|bg|border|rounded|shadow|flex|grid|col|cols|row|items|justify|align|leading|tracking|float|d|g|fs|fw"
    r"|opacity|overflow|transition|duration|cursor|position|object|wp-block|has|is|pull|offset|u|ml|mr|mt|mb)-.*"
    r"|active|selected|open|opened|closed|current|even|odd|first|last|hidden|show|shown|visible|loaded|loading|lazy"
    r"|disabled|enabled|collapsed|expanded|hover|focus|flex|grid|block|inline|relative|absolute|container|row|col|wrapper"
    r"|clearfix|bold|italic|left|right|center|small|large|red|green|blue|js|no-js"
)
_PLAIN_TAGS = frozenset(
    "html head body div span p a b i em strong small li td th tr tbody thead ul ol dd dt u font center".split()
)


@dataclass(frozen=True)
class Index:
    """The elements of a page by the parts of a selector that each has, as they are written there, in document order."""

    tree: Tree
    elements: Mapping[str, dict[Node, None]]


def index(tree: Tree) -> Index:
    """All elements of an HTML page but those in templates; of XML none."""
    elements: dict[str, dict[Node, None]] = {}
    for element in () if tree.xml else walk(tree.root):
        for part in (element.tag, *names(element)):
            elements.setdefault(part, {})[element] = None
    return Index(tree, elements)


def walk(root: Node) -> Iterator[Node]:
    """The element and all below it in document order, but for what is in templates."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag != "template":
            yield element
            waiting.extend(reversed(element))


def names(element: Node) -> tuple[str, ...]:
    """The parts of a selector that name the element, the sturdiest first: its id, attributes, classes."""
    found = []
    if (known := element.get("id")) and _is_chosen(known):
        found.append(f"#{known}" if _NAME.fullmatch(known) else f'[id="{known}"]')
    for name in _STABLE:
        if (value := element.get(name)) and _is_chosen(value) and not (name == "aria-label" and _has_digit(value)):
            found.append(f'[{name}="{value}"]')
    found += [f".{name}" for name in (element.get("class") or "")[:1_000].split() if _says_what(name)]
    if len(element.attrib) <= 50:
        data = (name for name in element.attrib if _DATA.fullmatch(name) and name not in _STABLE)
        found += [f"[{name}]" for name in data if not _FRAMEWORK.fullmatch(name)]
    return tuple(dict.fromkeys(found))[:MOST_PARTS]


@lru_cache(maxsize=4096)
def _says_what(name: str) -> bool:
    """Whether a class says what an element is, not how it looks."""
    return _NAME.fullmatch(name) is not None and _is_chosen(name) and not _LOOKS.fullmatch(name)


def _is_chosen(value: str) -> bool:
    return len(value) <= LONGEST_VALUE and _VALUE.fullmatch(value) is not None and not is_generated(value)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


# ------------------------------------------------------------------------------------------------------ a proposal


@dataclass(frozen=True)
class _Candidate:
    """`own` are parts of the element, `anchor` is one of an ancestor, "" for none; `child`: of its parent."""

    own: tuple[str, ...]
    anchor: str = ""
    child: bool = False

    def __str__(self) -> str:
        way = " > " if self.child else " " if self.anchor else ""
        return f"{self.anchor}{way}{''.join(self.own)}"


def selector_for(known: Index, targets: Sequence[Node], but: str = "") -> str:
    """A selector that matches exactly `targets` on the page, "" where none is found. It is another than `but`."""
    wanted = dict.fromkeys(targets)
    failed = 0
    for candidate in islice(_candidates(targets[0]), MOST_TRIED) if targets else ():
        if str(candidate) == but or not _matches_only(known, candidate, wanted):
            continue
        if css.finder(str(candidate)) is not None and known.tree.find(str(candidate)) == list(wanted):
            return str(candidate)
        failed += 1
        if failed == MOST_FAILED:
            break
    return ""


def _candidates(element: Node) -> Iterator[_Candidate]:
    own, tag = names(element), element.tag
    for name in own:
        yield _Candidate((name,))
        if name[0] != "#":
            yield _Candidate((tag, name))
    if tag not in _PLAIN_TAGS:
        yield _Candidate((tag,))
    yield from map(_Candidate, combinations([name for name in own if name[0] == "."][:4], 2))
    for ancestor in islice(element.iterancestors(), MOST_ANCESTORS):
        anchors = [*names(ancestor)[:4], *(() if ancestor.tag in _PLAIN_TAGS else (ancestor.tag,))]
        for anchor in anchors if ancestor.tag not in ("html", "body") else names(ancestor)[:2]:
            yield from (_Candidate((name,), anchor) for name in own[:4] if name[0] != "#")
            yield _Candidate((tag,), anchor)
            if ancestor is element.getparent():
                yield _Candidate((tag,), anchor, child=True)


def _matches_only(known: Index, candidate: _Candidate, wanted: dict[Node, None]) -> bool:
    """Whether the lists say that it matches these elements and no others."""
    lists = [known.elements.get(part, {}) for part in candidate.own]
    rarest = min(lists, key=len)
    if len(rarest) > max(MOST_SEARCHED, len(wanted)) or len(rarest) < len(wanted):
        return False
    count = 0
    for element in rarest:
        if all(element in each for each in lists) and _is_below(known, candidate, element):
            if element not in wanted:
                return False
            count += 1
    return count == len(wanted)


def _is_below(known: Index, candidate: _Candidate, element: Node) -> bool:
    if not candidate.anchor:
        return True
    anchors = known.elements.get(candidate.anchor, {})
    if candidate.child:
        return element.getparent() in anchors
    return any(ancestor in anchors for ancestor in element.iterancestors())
