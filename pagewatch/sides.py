"""A change as lines before and after, beside each other: for the report.

It promises that its time is bounded, and that of a long text only what changed is there, with a little around it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import zip_longest

from pagewatch.answers import Item
from pagewatch.comparison import Row
from pagewatch.diff import texts_of
from pagewatch.model import Change

AROUND = 2  # lines kept before and after what changed
MOST_LINES = 600  # that are matched; in more, lines are paired by their order: matching is quadratic


def rows_of(change: Change) -> tuple[Row, ...]:
    """The lines of a change; none where the text before is not known."""
    if change.fields:
        return tuple((_field(name, old), _field(name, new)) for name, old, new in change.fields)
    if change.added or change.removed or change.updated:
        return (
            *((None, _said(item)) for item in change.added),
            *(_updated(old, new) for old, new in change.updated),
            *((_said(item), None) for item in change.removed),
        )
    if change.old is None:
        return ()
    return tuple(_lines(change.old, change.new or ""))


def _field(name: str, value: str | None) -> str | None:
    return None if value is None else f"{name}: {value}"


def _said(item: Item) -> str:
    """An item in one line: its text, with its fields where they are all it has."""
    fields = ", ".join(f"{name}: {value}" for name, value in item.fields if value is not None)
    return item.text or fields or item.key


def _updated(old: Item, new: Item) -> Row:
    """Both sides of an item: its text or, where it has fields, its name and those that differ."""
    before, after = (text.replace("\n", ", ") for text in texts_of(old, new))
    return before or _said(old), after or _said(new)


def _lines(old: str, new: str) -> Iterator[Row]:
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    middle_old, middle_new = before[head : len(before) - tail], after[head : len(after) - tail]
    if head > AROUND:
        yield None, None
    yield from ((line, line) for line in before[max(head - AROUND, 0) : head])
    if len(middle_old) + len(middle_new) > MOST_LINES:
        yield from zip_longest(middle_old, middle_new)
    else:
        yield from _matched(middle_old, middle_new)
    end = len(before) - tail
    yield from ((line, line) for line in before[end : end + AROUND])
    if tail > AROUND:
        yield None, None


def _common(before: list[str], after: list[str]) -> int:
    """How many lines at their beginning are the same."""
    most = min(len(before), len(after))
    return next((i for i in range(most) if before[i] != after[i]), most)


def _matched(before: list[str], after: list[str]) -> Iterator[Row]:
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND)
    for number, group in enumerate(groups):
        if number:
            yield None, None
        for _, start, end, other, until in group:
            yield from zip_longest(before[start:end], after[other:until])
