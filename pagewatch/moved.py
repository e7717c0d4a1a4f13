"""Where a text stands now that was watched and is not found any more: after a redesign, the same words elsewhere.

The very text counts most; then a text of the same shape (other digits in it: a price that has changed meanwhile), or
one that is much like it, above all where the names in the old selector stand on the element or around it. Work is
bounded: only elements whose text is about as long are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice

from pagewatch import amounts
from pagewatch.element_text import BLOCKS, INLINE, SILENT, text_of
from pagewatch.fingerprint import collapse
from pagewatch.frozen import dataclass
from pagewatch.markup import Node, Tree
from pagewatch.sturdy import Index, selector_for, walk

LONGEST = 5_000  # characters of a text that is looked for
MOST_READ = 3_000  # elements that have others inside
MOST_COMPARED = 10_000  # texts that are not the very one
MOST_BELOW = 200  # elements inside one
MOST_TRIED = 10  # of the best
LEAST_LIKE = 0.6

_NOT_READ = SILENT | {"html", "head", "title", "body"}
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[A-Za-z][A-Za-z]{2,}")


@dataclass(frozen=True)
class Moved:
    """Where it stands: a selector that matches exactly this element, its text, and whether it is the very text."""

    selector: str
    text: str
    same: bool


def moved(known: Index, text: str, selector: str) -> Moved | None:
    """Where `text`, which `selector` found before, stands now; None where nothing is much like it."""
    wanted = collapse(text)
    if not wanted or len(wanted) > LONGEST:
        return None
    hints = frozenset(map(str.lower, _WORD.findall(selector))) - BLOCKS - INLINE - {"nth", "child", "type"}
    found = _likely(known.tree, wanted, hints)
    around = frozenset(element.getparent() for element, now, _ in found if now == wanted)
    innermost = [one for one in found if one[1] != wanted or one[0] not in around]
    for element, now, _ in sorted(innermost, key=lambda one: -one[2])[:MOST_TRIED]:
        if proposal := selector_for(known, [element]):
            return Moved(proposal, now, now == wanted)
    return None


def _likely(tree: Tree, wanted: str, hints: frozenset[str]) -> list[tuple[Node, str, float]]:
    """Elements whose text is much like what is wanted, in document order, with it and how much."""
    left = iter(range(MOST_COMPARED))
    found = []
    for element, now in _read(tree, len(wanted)):
        if now == wanted or next(left, None) is not None:
            found.append((element, now, _likeness(wanted, now, element, hints)))
    return [one for one in found if one[2] >= LEAST_LIKE]


def _read(tree: Tree, length: int) -> Iterator[tuple[Node, str]]:
    """Elements with a text about as long, and it. Those with others inside are not read without end."""
    order = [] if tree.xml else list(walk(tree.root))
    characters: dict[Node, int] = {}
    below: dict[Node, int] = {}
    for element in reversed(order):
        inner = [child for child in element if child in below]
        below[element] = 1 + sum(below[child] for child in inner)
        characters[element] = len(element.text or "") + sum(
            characters[child] + len(child.tail or "") for child in inner
        )
    left = iter(range(MOST_READ))
    for element in order:
        if not 0 < characters[element] <= 3 * length + 200 or below[element] > MOST_BELOW or element.tag in _NOT_READ:
            continue
        is_leaf = len(element) == 0
        now = collapse(element.text or "" if is_leaf else text_of(element) if next(left, None) is not None else "")
        if now:
            yield element, now


def _likeness(wanted: str, now: str, element: Node, hints: frozenset[str]) -> float:
    """2 and more for the very text; else how alike the texts are, more where the names fit and both are prices."""
    named = 0.5 if hints & _names_around(element) else 0.0
    if now == wanted:
        return 2.0 + named
    if len(now) > 2 * len(wanted) + 20 or len(wanted) > 2 * len(now) + 20:
        return 0.0
    shape, old_shape = _DIGITS.sub("0", now), _DIGITS.sub("0", wanted)
    alike = 0.9 if shape == old_shape and shape != "0" else _ratio(old_shape, shape)
    if alike < LEAST_LIKE / 2:
        return 0.0
    return alike * 0.8 + named + (0.1 if amounts.is_price(now) and amounts.is_price(wanted) else 0.0)


def _ratio(old: str, new: str) -> float:
    matcher = SequenceMatcher(None, old[:300], new[:300], autojunk=False)
    likely = matcher.real_quick_ratio() >= LEAST_LIKE and matcher.quick_ratio() >= LEAST_LIKE
    return matcher.ratio() if likely else 0.0


def _names_around(element: Node) -> frozenset[str]:
    """The words in ids, classes and names of the element and of those around it."""
    around = [element, *islice(element.iterancestors(), 2)]
    values = " ".join(
        one.get(name) or "" for one in around for name in ("id", "class", "itemprop", "name", "data-testid")
    )
    return frozenset(word.lower() for word in _WORD.findall(values[:2_000]))
