"""Which part of a change is told: `only` and `when`, and how far numbers have moved.

A condition is told when it becomes true: it is not for what was seen before and is for what is seen now. So a price
that stays below 20 is told once, and again after it has been at 20 or more in between. `changed_by` counts from the
number that was told last: many small steps are one large one. What is not told moves the baseline all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from pagewatch import amounts, diff
from pagewatch.answers import Amount, Extract, Item
from pagewatch.fingerprint import collapse, item_amounts, regex
from pagewatch.frozen import replace
from pagewatch.model import Change, Watch, WatchState

STEP = "changed_by"

Condition = tuple[str, str, str]  # field ("" is the whole text), condition, operand


def between(watch: Watch, old: Extract | None, new: Extract, feed: bool, past: WatchState | None = None) -> Change:
    """What differs, with words about its numbers. Entries that leave a `feed` are not removed. `past` knows what was
    told last and the extremes."""
    change = diff.change(old, new, watch)
    return _with_numbers(replace(change, removed=()) if feed else change, watch, old, new, past)


def _with_numbers(change: Change, watch: Watch, old: Extract | None, new: Extract, past: WatchState | None) -> Change:
    """The change with words about its numbers: how far, how many per cent, the lowest or highest seen; where a step
    counts from what was told last, also how far from that."""
    before = _by_field(old.amounts if old else ())
    seen, last = (_by_field(past.extremes), _by_field(past.told)) if past else ({}, {})
    stepping = {field for field, name, _ in watch.when if name == STEP}
    said = []
    for amount in new.amounts:
        if (known := before.get(amount.field)) is not None:
            move, told = amounts.said(known, amount, seen.get(amount.field)), last.get(amount.field)
            if amount.field in stepping and told is not None and not amounts.same(told, known):
                move += f"; {amounts.said(told, amount, None) or 'none'} since the last notice"
            said.append((amount.field, move))
    said += [step for was, item in change.updated for step in _item_steps(watch, was, item)]
    return replace(change, numbers=tuple((field, move) for field, move in said if move))


def _by_field(known: tuple[Amount, ...]) -> dict[str, Amount]:
    return {amount.field: amount for amount in known}


def _item_steps(watch: Watch, old: Item, new: Item) -> Iterator[tuple[str, str]]:
    """How far the numbers of a record moved, by its key and the name of the field."""
    before, after = (_by_field(item_amounts(item, watch)) for item in (old, new))
    for name in before.keys() & after.keys():
        yield f"{new.key}\n{name}", amounts.said(before[name], after[name], None)


def widened(extremes: tuple[Amount, ...], seen: tuple[Amount, ...]) -> tuple[Amount, ...]:
    """The lowest and the highest of each field, the new ones included."""
    known = _by_field(extremes)
    return tuple({**known, **{a.field: amounts.widened(known.get(a.field), a) for a in seen}}.values())


def told(watch: Watch, past: WatchState, new: Extract, change: Change) -> Change | str:
    """The part of the change that is told, or why none is: a clause for people."""
    part: Change | None = change
    if watch.only and change.old is not None:
        part = _only(watch.only, change, new)
    if part is None:
        return f"only: {watch.only}"
    if watch.when and new.items is not None:
        part = _items_when(watch, part)
    elif watch.when and not _becomes_true(watch.when, past, new):
        part = None
    return part or f"when: {words(watch.when)}"


def words(conditions: tuple[Condition, ...]) -> str:
    return ", ".join(" ".join(filter(None, condition)) for condition in conditions)


def holds_already(watch: Watch, extract: Extract) -> bool:
    """Whether what is seen for the first time is what the user waits for."""
    levels = _levels(watch.when)
    return bool(levels) and extract.items is None and all(_holds(condition, extract) for condition in levels)


# -------------------------------------------------------------------------------------------------------------- only


def _only(side: str, change: Change, new: Extract) -> Change | None:
    """What came, or what went; None where there is none of it. Of fields those that had no value before, or have none
    now."""
    if new.items is not None:
        rest = {"added": (), "removed": (), "updated": (), side: getattr(change, side)}
        return replace(change, **rest) if rest[side] else None
    if change.fields:
        empty = 1 if side == "added" else 2
        fields = tuple(row for row in change.fields if row[empty] is None)
        return replace(change, fields=fields) if fields else None
    before, after = _lines(change.old), _lines(change.new)
    return change if (after - before if side == "added" else before - after) else None


def _lines(text: str | None) -> Counter[str]:
    return Counter(line for line in (text or "").split("\n") if line)


# -------------------------------------------------------------------------------------------------------------- when


def _levels(conditions: tuple[Condition, ...]) -> list[Condition]:
    return [condition for condition in conditions if condition[1] != STEP]


def _becomes_true(conditions: tuple[Condition, ...], past: WatchState, new: Extract) -> bool:
    """All of the conditions together. Where the text before is lost, what is true now has become so."""
    levels, steps = _levels(conditions), [condition for condition in conditions if condition[1] == STEP]
    if not all(_holds(condition, new) for condition in levels):
        return False
    if steps:
        return all(_has_moved(condition, past.told, new) for condition in steps)
    before = past.baseline.extract if past.baseline else None
    return before is None or not all(_holds(condition, before) for condition in levels)


def _holds(condition: Condition, extract: Extract) -> bool:
    field, name, operand = condition
    if name == "contains":
        text = dict(extract.fields).get(field) if field else extract.text
        return text is not None and any(regex(operand).search(form) for form in (text, collapse(text)))
    amount = _by_field(extract.amounts).get(field)
    if amount is None:
        return False
    limit = Decimal(operand)
    return Decimal(amount.low) < limit if name == "below" else Decimal(amount.high) > limit


def _has_moved(condition: Condition, told: tuple[Amount, ...], new: Extract) -> bool:
    """Whether either end is so far from where it was when it was told last."""
    field, _, operand = condition
    before, now = (_by_field(known).get(field) for known in (told, new.amounts))
    if before is None or now is None:
        return before is not now
    ends = ((Decimal(before.low), Decimal(now.low)), (Decimal(before.high), Decimal(now.high)))
    if not operand.endswith("%"):
        return any(abs(new - old) >= Decimal(operand) for old, new in ends)
    share = Decimal(operand[:-1]) / 100
    return any(new != old and abs(new - old) >= abs(old) * share for old, new in ends)


def _items_when(watch: Watch, change: Change) -> Change | None:
    """The items that have come or changed and for which it has become true; None where there are none."""
    added = tuple(item for item in change.added if _item_holds(watch, item))
    updated = tuple(pair for pair in change.updated if _item_holds(watch, pair[1]) and not _item_holds(watch, pair[0]))
    return replace(change, added=added, removed=(), updated=updated) if added or updated else None


def _item_holds(watch: Watch, item: Item) -> bool:
    """An item's text is all that is known of it."""
    text = "\n".join([item.name, *(value for _, value in item.fields if value)])
    extract = Extract(text, item.fields, amounts=item_amounts(item, watch))
    return all(_holds(condition, extract) for condition in watch.when)
