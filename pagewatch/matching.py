"""How two texts are matched, line by line or word by word, in bounded time.

difflib's matching is quadratic: what is too much for it is compared as a multiset, or replaced as a whole between what
both texts begin and end with.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

MOST_LINES = 2_000  # above this, lines are compared as a multiset
MOST_PAIRS = 50_000  # of equal lines, likewise: a page of a thousand lines of two kinds would take it seconds
ALIKE = 0.3  # below this share of common words, two lines are others

Code = tuple[str, int, int, int, int]  # as of difflib: what to do, a part of the old, a part of the new


def line_differences(old: str, new: str) -> tuple[list[str], list[str]]:
    """Lines that came and lines that went, each in page order; lines that only moved are both."""
    before, after = old.split("\n"), new.split("\n")
    if not can_be_matched(before, after):
        return _without(after, before), _without(before, after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    added = [line for _, _, _, start, end in codes for line in after[start:end]]
    return added, [line for _, start, end, _, _ in codes for line in before[start:end]]


def can_be_matched(before: list[str], after: list[str]) -> bool:
    """Whether matching these lines in their order takes no long time."""
    if len(before) + len(after) > MOST_LINES:
        return False
    came = Counter(after)
    return sum(count * came[line] for line, count in Counter(before).items()) <= MOST_PAIRS


def _without(lines: list[str], others: list[str]) -> list[str]:
    left = Counter(others)
    kept = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            kept.append(line)
    return kept


def word_codes(before: Sequence[str], after: Sequence[str], most: int) -> list[Code]:
    """The opcodes from the words of one line to those of the other; none where they have too little in common. Of more
    than `most` words all between the common beginning and end is replaced."""
    found = list(_codes(before, after, most))
    same = sum(end - start for what, start, end, *_ in found if what == "equal")
    return found if same >= ALIKE * max(len(before), len(after)) else []


def _codes(before: Sequence[str], after: Sequence[str], most: int) -> Iterator[Code]:
    """The common beginning and end are not searched."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    yield "equal", 0, head, 0, head
    if len(old) + len(new) > most:
        yield "replace", head, head + len(old), head, head + len(new)
    else:
        for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            yield tag, a + head, b + head, c + head, d + head
    yield "equal", len(before) - tail, len(before), len(after) - tail, len(after)
