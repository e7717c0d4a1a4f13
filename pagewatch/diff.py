"""What is different between two extracts: as values for machines, and as text for people.

It promises that additions come first, that a long text is shown by what changed in it, and that the time it takes is
bounded.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from pagewatch.answers import Extract, Item
from pagewatch.fingerprint import comparable_fields, comparable_item
from pagewatch.matching import line_differences
from pagewatch.model import Change, Watch

SHORT = 120  # characters of a value that is shown whole, as old → new
WORDS_AROUND = 6  # kept on both sides of what changed inside one line
CONTEXT = 40  # characters kept there where there are no words
MOST_WORDS = 2_000  # of two lines, that are matched: that is quadratic
NOTHING = "(none)"
MOST_DETAILS = 6  # parts of an item that are shown beside its name
MOST_ITEMS = 1_000  # that the text of a set of items names


def change(old: Extract | None, new: Extract, watch: Watch) -> Change:
    """What differs; `old` is None where there is none or its text is lost."""
    if old is None:
        return Change(None, words(new))
    return Change(words(old), words(new), *_items(old, new, watch), fields=_fields(old, new))


def words(extract: Extract) -> str:
    """The watched part as one text: of items their names, a line each."""
    if extract.items is None:
        return extract.text
    names = [_one_line(item) for item in extract.items[:MOST_ITEMS]]
    left = len(extract.items) - len(names)
    return "\n".join([*names, f"… and {left:,} more"] if left else names)


def _items(
    old: Extract, new: Extract, watch: Watch
) -> tuple[tuple[Item, ...], tuple[Item, ...], tuple[tuple[Item, Item], ...]]:
    """Items added, removed and updated. Items of one key are told apart by what is in them; what is left of them on
    both sides has been updated."""
    if old.items is None or new.items is None:
        return (), (), ()
    before, after = _by_key(old.items), _by_key(new.items)
    added, removed, updated = [], [], []
    for key in dict.fromkeys([*after, *before]):
        came, went = after.get(key, []), before.get(key, [])
        came, went = _without_equals(came, went, watch) if came != went else ([], [])
        updated += list(zip(went, came, strict=False))
        added += came[len(went) :]
        removed += went[len(came) :]
    return tuple(added), tuple(removed), tuple(updated)


def _by_key(items: Iterable[Item]) -> dict[str, list[Item]]:
    groups = defaultdict(list)
    for item in items:
        groups[item.key].append(item)
    return groups


def _without_equals(came: list[Item], went: list[Item], watch: Watch) -> tuple[list[Item], list[Item]]:
    before, after = ([comparable_item(item, watch) for item in items] for items in (went, came))
    same = Counter(before) & Counter(after)
    return _rest(came, after, Counter(same)), _rest(went, before, same)


def _rest(items: list[Item], forms: list[tuple[Any, ...]], same: Counter[tuple[Any, ...]]) -> list[Item]:
    """The items but for as many of each form as are the same on both sides."""
    left = []
    for item, form in zip(items, forms, strict=True):
        if same[form]:
            same[form] -= 1
        else:
            left.append(item)
    return left


def _fields(old: Extract, new: Extract) -> tuple[tuple[str, str | None, str | None], ...]:
    before, after = comparable_fields(old), comparable_fields(new)
    texts, others = dict(new.fields), dict(old.fields)
    names = [*after, *(name for name in before if name not in after)]
    return tuple((n, others.get(n), texts.get(n)) for n in names if before.get(n) != after.get(n))


def gist(change: Change) -> str:
    """The change in one short line, for a title."""
    if change.fields:
        return ", ".join(_step(change, name, _part(old), _part(new)) for name, old, new in change.fields)
    if change.added or change.removed or change.updated:
        return _counts(change)
    if change.old is None:
        return f"now {short(change.new)}"
    if _is_short(change.old) and _is_short(change.new):
        return _step(change, "", short(change.old), short(change.new))
    added, removed = line_differences(change.old, change.new or "")
    if sorted(added) == sorted(removed):
        return f"{_lines(len(added))} moved: {short(added[0])}"
    if len(added) == len(removed) == 1:
        return " → ".join(map(short, _within(removed[0], added[0])[0]))
    sets = ((len(added), "added"), (len(removed), "removed"))
    counts = ", ".join(f"{_lines(n)} {word}" for n, word in sets if n)
    return f"{counts}: {'' if added else '− '}{short(next(iter(added or removed), ''))}"


def text(change: Change) -> str:
    """The change in full, additions first; one line each begins with +, − or is `old → new`."""
    if change.fields:
        return "\n".join(_step(change, name, old or _part(old), new or _part(new)) for name, old, new in change.fields)
    if change.added or change.removed or change.updated:
        return "\n".join(_item_lines(change))
    if change.old is None:
        return f"Now: {_whole(change.new)}\nThe text before is not known any more."
    if _is_short(change.old) and _is_short(change.new):
        return _step(change, "", _whole(change.old), _whole(change.new))
    added, removed = line_differences(change.old, change.new or "")
    if sorted(added) == sorted(removed):
        return "\n".join(f"moved: {line}" for line in added)
    if len(added) == len(removed) == 1:
        return "\n".join(" → ".join(pair) for pair in _within(removed[0], added[0]))
    return "\n".join([*(f"+ {line}" for line in added), *(f"− {line}" for line in removed)])


def _lines(count: int) -> str:
    return f"{count} line{'s' if count > 1 else ''}"


def _step(change: Change, name: str, old: str, new: str) -> str:
    """`price: 20 → 18`, and how far that is where it is a number."""
    said = dict(change.numbers).get(name, "")
    return f"{f'{name}: ' if name else ''}{old} → {new}{f' ({said})' if said else ''}"


def _counts(change: Change) -> str:
    """How many items; where it is one, which."""
    sets = ((len(change.added), "added"), (len(change.removed), "removed"), (len(change.updated), "updated"))
    counts = ", ".join(f"{n} {word}" for n, word in sets if n)
    if len(change.updated) == sum(n for n, _ in sets) == 1:
        return short("; ".join(_updates(change, *change.updated[0])))
    first = next(iter((*change.added, *(new for _, new in change.updated), *change.removed)))
    return f"{counts}: {short(first.name)}"


def _item_lines(change: Change) -> list[str]:
    fates = dict(change.fates)
    lines = [line for item in change.added for line in [f"+ {_indented(item)}", *_details(item)]]
    for old, new in change.updated:
        lines += [f"~ {line}" for line in _updates(change, old, new)]
        lines += [f"  {new.link}"] if new.link else []
    gone = ((item, fates.get(item.key, "")) for item in change.removed)
    return lines + [f"− {_indented(item)}{f' ({fate})' if fate else ''}" for item, fate in gone]


def _indented(item: Item) -> str:
    """Its name; further lines of it stand below the first, so that none is taken for another item."""
    return item.name.replace("\n", "\n  ")


def _details(item: Item) -> list[str]:
    """What an item has beside its name: short fields, and its link."""
    known = {item.name, item.link, item.key, None, ""}
    fields = [f"  {name}: {short(value)}" for name, value in item.fields if value not in known]
    return [*fields[:MOST_DETAILS], *([f"  {item.link}"] if item.link and item.link != item.name else [])]


def _one_line(item: Item) -> str:
    return item.name.replace("\n", " ") + "".join(f", {detail.strip()}" for detail in _details(item))


def _updates(change: Change, old: Item, new: Item) -> list[str]:
    """What is different in an item, part by part, each with the item's name."""
    if not new.fields:
        pairs = [(old.text, new.text)] if "\n" not in old.text + new.text else _line_pairs(old.text, new.text)
        lines = [f"{short(before)} → {short(after)}" for before, after in pairs]
        return [line if new.key in line else f"{short(new.key)}: {line}" for line in lines]
    before, said = dict(old.fields), dict(change.numbers)
    parts = [(n, before.get(n), value) for n, value in new.fields if before.get(n) != value]
    steps = [(name, f"{_part(was)} → {_part(now)}", said.get(f"{new.key}\n{name}", "")) for name, was, now in parts]
    return [f"{short(new.name)}: {name}: {step}{f' ({move})' if move else ''}" for name, step, move in steps]


def texts_of(old: Item, new: Item) -> tuple[str, str]:
    """An item before and after: its text or, where it has fields, its name and those that differ."""
    if not new.fields:
        return old.text, new.text
    before, after = dict(old.fields), dict(new.fields)
    differing = [name for name in after if before.get(name) != after[name]]
    was = [f"{name}: {_whole(before.get(name))}" for name in differing]
    return "\n".join([old.name, *was]), "\n".join([new.name, *(f"{n}: {_whole(after[n])}" for n in differing)])


def _line_pairs(old: str, new: str) -> list[tuple[str, str]]:
    added, removed = line_differences(old, new)
    width = max(len(added), len(removed))
    return list(zip([*removed, *[""] * (width - len(removed))], [*added, *[""] * (width - len(added))], strict=True))


def _part(value: str | None) -> str:
    """The value of a named part in one line: an empty one is not one that is not there."""
    return "(empty)" if value == "" else short(value)


def _is_short(value: str | None) -> bool:
    return value is None or (len(value) <= SHORT and "\n" not in value)


def short(value: str | None) -> str:
    """A value in one line of bounded length."""
    line = _whole(value).replace("\n", " ")
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"


def _whole(value: str | None) -> str:
    return NOTHING if value is None or value == "" else value


def _within(old: str, new: str) -> list[tuple[str, str]]:
    """Where two lines differ: pairs cut down to that, with a few of the words that stand around it."""
    if _is_short(old) and _is_short(new):
        return [(_whole(old), _whole(new))]
    before, after = old.split(" "), new.split(" ")
    if len(before) + len(after) > MOST_WORDS:
        return [_around_the_difference(old, new)]
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(WORDS_AROUND)
    places = [(group[0][1], group[-1][2], group[0][3], group[-1][4]) for group in groups]
    pieces = [(_piece(before, a, b), _piece(after, c, d)) for a, b, c, d in places]
    return [pair if max(map(len, pair)) < 4 * SHORT else _around_the_difference(*pair) for pair in pieces]


def _piece(words: list[str], start: int, end: int) -> str:
    return ("…" if start else "") + " ".join(words[start:end]) + ("…" if end < len(words) else "")


def _around_the_difference(old: str, new: str) -> tuple[str, str]:
    """Two texts cut down to all that lies between their common beginning and their common end."""
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - start
    end = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return _window(old, start, len(old) - end), _window(new, start, len(new) - end)


def _window(line: str, start: int, end: int) -> str:
    left, right = max(start - CONTEXT, 0), min(end + CONTEXT, len(line))
    before, behind = line.rfind(" ", max(left - CONTEXT, 0), left), line.find(" ", right, right + CONTEXT)
    left = before + 1 if before >= 0 else left
    right = behind if behind >= 0 else right
    return ("…" if left else "") + line[left:right] + ("…" if right < len(line) else "")
