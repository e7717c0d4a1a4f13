"""What is different between two extracts: as values for machines, and as text for people.

It promises that additions come first, that a long text is shown by what changed in it, and that the time it takes is
bounded.
"""

from __future__ import annotations

import difflib
from collections import Counter

from pagewatch.answers import Extract, Item
from pagewatch.model import Change

SHORT = 120  # characters of a value that is shown whole, as old → new
WORDS_AROUND = 6  # kept on both sides of what changed inside one line
CONTEXT = 40  # characters kept there where there are no words
MOST_LINES = 2_000  # above this, lines are compared as a multiset: SequenceMatcher is quadratic
NOTHING = "(none)"


def change(old: Extract | None, new: Extract) -> Change:
    """What differs; `old` is None where there is none or its text is lost."""
    if old is None:
        return Change(None, new.text)
    return Change(old.text, new.text, *_items(old, new), fields=_fields(old, new))


def _items(old: Extract, new: Extract) -> tuple[tuple[Item, ...], tuple[Item, ...], tuple[tuple[str, str, str], ...]]:
    before = {item.key: item for item in old.items or ()}
    after = {item.key: item for item in new.items or ()}
    added = tuple(item for key, item in after.items() if key not in before)
    removed = tuple(item for key, item in before.items() if key not in after)
    both = ((key, before[key].text, item.text) for key, item in after.items() if key in before)
    return added, removed, tuple(row for row in both if row[1] != row[2])


def _fields(old: Extract, new: Extract) -> tuple[tuple[str, str | None, str | None], ...]:
    before, after = dict(old.fields), dict(new.fields)
    names = [*after, *(name for name in before if name not in after)]
    return tuple((n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n))


def gist(change: Change) -> str:
    """The change in one short line, for a title."""
    if change.fields:
        return ", ".join(f"{name}: {short(old)} → {short(new)}" for name, old, new in change.fields)
    if change.added or change.removed or change.updated:
        return _counts(change)
    if change.old is None:
        return f"now {short(change.new)}"
    if _is_short(change.old) and _is_short(change.new):
        return f"{short(change.old)} → {short(change.new)}"
    added, removed = _line_differences(change.old, change.new or "")
    if len(added) == len(removed) == 1:
        return " → ".join(_within(removed[0], added[0])[0])
    sets = ((len(added), "added"), (len(removed), "removed"))
    counts = ", ".join(f"{n} line{'s' if n > 1 else ''} {word}" for n, word in sets if n)
    return f"{counts}: {'' if added else '− '}{short(next(iter(added or removed), ''))}"


def text(change: Change) -> str:
    """The change in full, additions first; one line each begins with +, − or is `old → new`."""
    if change.fields:
        return "\n".join(f"{name}: {_whole(old)} → {_whole(new)}" for name, old, new in change.fields)
    if change.added or change.removed or change.updated:
        return "\n".join(_item_lines(change))
    if change.old is None:
        return f"Now: {_whole(change.new)}\nThe text before is not known any more."
    if _is_short(change.old) and _is_short(change.new):
        return f"{_whole(change.old)} → {_whole(change.new)}"
    added, removed = _line_differences(change.old, change.new or "")
    if len(added) == len(removed) == 1:
        return "\n".join(" → ".join(pair) for pair in _within(removed[0], added[0]))
    return "\n".join([*(f"+ {line}" for line in added), *(f"− {line}" for line in removed)])


def _counts(change: Change) -> str:
    sets = ((len(change.added), "added"), (len(change.removed), "removed"), (len(change.updated), "updated"))
    counts = ", ".join(f"{n} {word}" for n, word in sets if n)
    names = [item.text or item.key for item in (*change.added, *change.removed)] or [
        new for _, _, new in change.updated
    ]
    return f"{counts}: {short(names[0])}"


def _item_lines(change: Change) -> list[str]:
    lines = [
        f"+ {item.text or item.key}" + (f"\n  {item.link}" if item.link and item.link != item.text else "")
        for item in change.added
    ]
    lines += [f"{_whole(old)} → {_whole(new)}" for _, old, new in change.updated]
    return lines + [f"− {item.text or item.key}" for item in change.removed]


def _is_short(value: str | None) -> bool:
    return value is None or (len(value) <= SHORT and "\n" not in value)


def short(value: str | None) -> str:
    """A value in one line of bounded length."""
    line = _whole(value).replace("\n", " ")
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"


def _whole(value: str | None) -> str:
    return NOTHING if value is None or value == "" else value


def _line_differences(old: str, new: str) -> tuple[list[str], list[str]]:
    """Lines that came and lines that went, each in page order; lines that only moved are both."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > MOST_LINES:
        return _without(after, before), _without(before, after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    added = [line for _, _, _, start, end in codes for line in after[start:end]]
    return added, [line for _, start, end, _, _ in codes for line in before[start:end]]


def _without(lines: list[str], others: list[str]) -> list[str]:
    left = Counter(others)
    kept = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            kept.append(line)
    return kept


def _within(old: str, new: str) -> list[tuple[str, str]]:
    """Where two lines differ: pairs cut down to that, with a few of the words that stand around it."""
    if _is_short(old) and _is_short(new):
        return [(_whole(old), _whole(new))]
    before, after = old.split(" "), new.split(" ")
    if len(before) + len(after) > MOST_LINES:
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
