"""What differs between two looks in a row, and how to leave it out: elements for `ignore`, patterns for `ignore_text`.

Two looks a few seconds apart should show the same; what does not is a clock, a counter, a token or an advertisement.
Proposals here are guesses: whoever prints one has tried that both looks are then equal and still show something. They
leave out as little as they can: a pattern has the words that stand beside the noise, and an element is proposed only
where what stays the same in it is no more than a label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from pagewatch.answers import Extract
from pagewatch.element_text import SILENT, text_of
from pagewatch.frozen import dataclass
from pagewatch.markup import Node
from pagewatch.sturdy import Index, names, selector_for, walk

MOST_PLACES = 8  # that differ
MOST_LINES = 400  # of each text that are compared
MOST_PAIRS = 1_000  # of lines that are looked at for patterns
MOST_WORDS = 200  # of a line
LONGEST_LINE = 20_000  # characters
MOST_CHILDREN = 400  # of an element that are compared one by one
LONGEST_LABEL = 4  # words that stay the same in an element which is noise
CONTEXT = 2  # words beside the noise that a pattern names

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?"
_KINDS = (
    r"\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?",
    rf"(?:[A-Z][a-z]{{2,8}},? )?\d{{1,2}}\.? [A-Z][a-z]{{2,8}}\.? \d{{4}},? (?:at )?{_TIME}",
    r"(?:\d+ (?:sec|second|min|minute|hour|day)s?\.? ago|just now|a moment ago)",
    r"(?:vor \d+ (?:Sekunde|Minute|Stunde|Tag)(?:n|en)?|gerade eben)",
    _TIME,
    r"\b[0-9a-fA-F]{16,}\b",
    r"(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}",
)
_ALONE = frozenset(_KINDS[:4])  # which say what they are without a word beside them
_NUMBER = re.compile(r"\d[\d.,']*")
_AFFIXES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
_WORD = re.compile(r"[^\W\d]{2}")
_MEMBER = re.compile(r'\s*"((?:[^"\\]|\\.)+)": ')

MOST_SHOWN = 6  # lines that differ
LONGEST_SHOWN = 100  # characters of one

Pair = tuple[str, str]


@dataclass(frozen=True)
class Sight:
    """One look: its page and the elements that are watched in it."""

    known: Index
    roots: Sequence[Node]


# --------------------------------------------------------------------------------------------------- by the text


def shown(came: Sequence[str], went: Sequence[str]) -> tuple[Pair, ...]:
    """The first lines that differ, each with the look in which it stands."""
    lines = [("- first", line.strip()[:LONGEST_SHOWN]) for line in went[:MOST_SHOWN]]
    lines += [("+ second", line.strip()[:LONGEST_SHOWN]) for line in came[:MOST_SHOWN]]
    more = max(len(went), len(came)) - MOST_SHOWN
    return (*lines, ("…", f"{more:,} more lines")) if more > 0 else tuple(lines)


def patterns(old: Extract, new: Extract) -> tuple[str, ...]:
    """Regular expressions that match what differs; none where something differs for which there is no pattern."""
    found: dict[str, None] = {}
    for pair in _pairs_of_lines(old, new):
        pattern = _pattern(*pair) if pair else ()
        if not pattern or len(found) > MOST_PLACES:
            return ()
        found.update(dict.fromkeys(pattern))
    return tuple(found) if len(found) <= MOST_PLACES else ()


def members(old: Extract, new: Extract) -> tuple[str, ...]:
    """Of JSON: the names of the members that differ; none where something else does."""
    found: dict[str, None] = {}
    for pair in _pairs_of_lines(old, new):
        named = {match[1] if match else "" for match in map(_MEMBER.match, pair or ("",))}
        if len(named) > 1 or "" in named:
            return ()
        found.update(dict.fromkeys(named))
    return tuple(found) if len(found) <= MOST_PLACES else ()


def kept_fields(old: Extract, new: Extract) -> tuple[str, ...]:
    """Of items with fields: the names of those that are equal in both looks; none where all are."""
    after = {item.key: dict(item.fields) for item in new.items or ()}
    names = dict.fromkeys(name for item in old.items or () for name, _ in item.fields)
    pairs = [(dict(item.fields), after[item.key]) for item in old.items or () if item.key in after]
    kept = tuple(name for name in names if all(one.get(name) == other.get(name) for one, other in pairs))
    return kept if len(kept) < len(names) else ()


def _pairs_of_lines(old: Extract, new: Extract) -> Iterator[Pair | None]:
    return islice((pair for texts in _texts(old, new) for pair in _lines(*texts)), MOST_PAIRS)


def _texts(old: Extract, new: Extract) -> Iterator[Pair]:
    """The texts to compare: of items and fields those of the same name."""
    if old.items is not None and new.items is not None:
        after = {item.key: item.text for item in new.items}
        yield from ((item.text, after.get(item.key, item.text)) for item in old.items)
    elif old.fields:
        values = dict(new.fields)
        yield from ((value or "", values.get(name) or "") for name, value in old.fields)
    else:
        yield old.text, new.text


def _lines(old: str, new: str) -> Iterator[Pair | None]:
    """The lines that differ, in pairs; None where one has no counterpart."""
    if old == new:
        return
    before, after = old.split("\n"), new.split("\n")
    if max(len(before), len(after)) > MOST_LINES:
        if len(before) != len(after):
            yield None
            return
        yield from (pair for pair in zip(before, after, strict=True) if pair[0] != pair[1])
        return
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal" and b - a != d - c:
            yield None
        elif tag != "equal":
            yield from zip(before[a:b], after[c:d], strict=True)


def _pattern(old: str, new: str) -> tuple[str, ...]:
    """Patterns for two lines: a known kind of noise, else what differs with the words beside it."""
    if max(len(old), len(new)) > LONGEST_LINE:
        return ()
    for kind in _KINDS:
        sought = re.compile(kind)
        if sought.sub("", old) == sought.sub("", new):
            return (_with_context(old, new, kind),)
    before, after = old.split(" "), new.split(" ")
    if max(len(before), len(after)) > MOST_WORDS:
        return ()
    found, used = [], 0
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        front = before[max(used, a - CONTEXT) : a]
        behind = [] if any(map(_WORD.search, front)) else before[b : b + 1]
        part = _part(" ".join(before[a:b]), " ".join(after[c:d])) if tag == "replace" else ""
        if not part or not any(map(_WORD.search, (*front, *behind))):
            return ()
        found.append(" ".join([*map(_literal, front), part, *map(_literal, behind)]))
        used = b + len(behind)  # what one pattern removes, the next one would not find
    return tuple(found)


def _with_context(old: str, new: str, kind: str) -> str:
    """The kind, with the word in front of it if that is the same in both lines and has no digits."""
    if kind in _ALONE:
        return kind
    places = [list(re.finditer(kind, line)) for line in (old, new)]
    if any(len(found) != 1 for found in places):
        return kind
    before = [line[: found[0].start()] for line, found in zip((old, new), places, strict=True)]
    word = re.search(r"[^\W\d]+[^\w\d]{0,3}$", before[0])
    return _literal(word[0]) + kind if word and before[0] == before[1] else kind


def _part(old: str, new: str) -> str:
    """A pattern for two words, or as many, that differ; what they begin and end with alike is kept."""
    front, before, behind = _split(old)
    other_front, after, other_behind = _split(new)
    if front != other_front or behind != other_behind:
        front, behind, before, after = "", "", old, new
    if _NUMBER.fullmatch(before) and _NUMBER.fullmatch(after):
        return f"{_literal(front)}\\d[\\d.,']*{_literal(behind)}"
    words = len(before.split(" "))
    same_length = words == len(after.split(" ")) and words <= LONGEST_LABEL
    return " ".join([r"\S+"] * len(old.split(" "))) if same_length else ""


def _split(text: str) -> tuple[str, str, str]:
    found = _AFFIXES.fullmatch(text)
    return (found[1], found[2], found[3]) if found else ("", text, "")


def _literal(text: str) -> str:
    return re.sub(r"\\([ \-#&~])", r"\1", re.escape(text))


# ---------------------------------------------------------------------------------------------- by the elements


def elements(first: Sight, second: Sight) -> tuple[str, ...]:
    """Selectors of the elements that differ, inside of those that are watched: one that all have in common, or one for
    each. None where an element that differs has more in it than a label, or cannot be told apart."""
    pairs = list(_pairs(first, second))
    if not pairs or len(pairs) > MOST_PLACES * 5 or not all(_is_noise(*pair) for pair in pairs):
        return ()
    before = [one for one, _ in pairs if one is not None]
    after = [other for _, other in pairs if other is not None]
    if common := _common(first, before, second, after):
        return (common,)
    found = []
    for one, other in pairs[: MOST_PLACES + 1]:
        selector = selector_for(first.known, [one]) if one is not None else selector_for(second.known, [other])
        if not selector or (other is not None and second.known.tree.find(selector) != [other]):
            return ()
        found.append(selector)
    return tuple(dict.fromkeys(found)) if len(found) <= MOST_PLACES else ()


def _pairs(first: Sight, second: Sight) -> Iterator[tuple[Node | None, Node | None]]:
    """The innermost elements that differ; None where one look lacks it."""
    if len(first.roots) != len(second.roots):
        return
    digests = {**_digests(first.roots), **_digests(second.roots)}
    waiting = [pair for pair in zip(first.roots, second.roots, strict=True) if digests[pair[0]] != digests[pair[1]]]
    roots = frozenset(first.roots)
    while waiting:
        one, other = waiting.pop()
        inner = _inner(one, other, digests)
        if inner is None:
            yield (None, None) if one in roots else (one, other)
            continue
        yield from ((a, b) for a, b in inner if a is None or b is None)
        waiting += [(a, b) for a, b in inner if a is not None and b is not None]


def _inner(one: Node, other: Node, digests: dict[Node, int]) -> list[tuple[Node | None, Node | None]] | None:
    """The children that differ; None where the elements' own text does, or there is no telling which child is which."""
    children, others = _spoken(one), _spoken(other)
    if one.tag != other.tag or max(len(children), len(others)) > MOST_CHILDREN or _own(one) != _own(other):
        return None
    if [child.tag for child in children] == [child.tag for child in others]:
        pairs = zip(children, others, strict=True)
        return [(a, b) for a, b in pairs if digests[a] != digests[b]]
    found: list[tuple[Node | None, Node | None]] = []
    before, after = [digests[child] for child in children], [digests[child] for child in others]
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            found += [(child, None) for child in children[a:b]] + [(None, child) for child in others[c:d]]
    return found


def _spoken(element: Node) -> list[Node]:
    return [child for child in element if child.tag not in SILENT]


def _own(element: Node) -> list[str]:
    """The words of an element that are in none of its children."""
    return " ".join([element.text or "", *(child.tail or "" for child in element)]).split()


def _digests(roots: Iterable[Node]) -> dict[Node, int]:
    """Numbers that are equal where all text in two elements is."""
    found: dict[Node, int] = {}
    for root in roots:
        for element in reversed(list(walk(root))):
            inner = tuple(found.get(child, 0) for child in element if child.tag not in SILENT)
            found[element] = hash((element.tag, tuple(_own(element)), inner))
    return found


def _is_noise(one: Node | None, other: Node | None) -> bool:
    """Whether what both have in common is no more than a label."""
    if one is None or other is None:
        return one is not other
    shared = frozenset(text_of(one).split()) & frozenset(text_of(other).split())
    return len(shared) <= LONGEST_LABEL and not any(map(str.isdigit, "".join(shared)))


def _common(first: Sight, before: list[Node], second: Sight, after: list[Node]) -> str:
    """One name that all of them have, and nothing else that is watched has."""
    if len(before) + len(after) < 3:
        return ""
    every = [*before, *after]
    shared = [name for name in names(every[0]) if all(name in names(element) for element in every)]
    tags = {element.tag for element in every}
    for name in (
        *shared,
        *(tags & {"time", "ins", "iframe", "aside", "output", "meter", "progress"} if len(tags) == 1 else ()),
    ):
        if _only(first, name, before) and _only(second, name, after):
            return str(name)
    return ""


def _only(sight: Sight, name: str, wanted: list[Node]) -> bool:
    roots, those = frozenset(sight.roots), frozenset(wanted)
    having = [*sight.known.elements.get(name, ())]
    if len(having) > MOST_CHILDREN:
        return False
    return all(one in those or roots.isdisjoint([one, *one.iterancestors()]) for one in having)
