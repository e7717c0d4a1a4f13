"""A change in full, for a terminal or a file: `old → new` for short text, lines with what stands around them for long
text, a table of fields, a list of items.

What came is marked +, what went −, what is different ~; inside a line, words are marked [-so-] and {+so+}, or by
colour and underline where there are colours. Text is made harmless before the marks are set, and the time it takes is
bounded.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from pagewatch import diff
from pagewatch.answers import Extract, Item
from pagewatch.matching import Code, can_be_matched, line_differences, word_codes
from pagewatch.model import Change
from pagewatch.notices import one_line
from pagewatch.output import Style

CONTEXT = 3  # lines shown around those that changed
MOST_WORDS = 1_000  # of two lines, that are matched: that is quadratic
RED, GREEN, YELLOW, CYAN = "31", "32", "33", "36"
SAME = "There is no difference in what is watched."


def lines(change: Change, style: Style) -> list[str]:
    """The change as lines to print."""
    return list(_lines(change, style)) or [SAME]


def content(extract: Extract, style: Style) -> list[str]:
    """What a version shows, as lines to print."""
    if extract.items is not None:
        shown = [line for item in extract.items for line in _item(item, " ", style)]
    elif extract.fields:
        shown = [
            _clean(f"{name}: {diff.NOTHING if value is None else value}", "  ", style) for name, value in extract.fields
        ]
    else:
        shown = [_clean(line, "  ", style) for line in (extract.text or diff.NOTHING).split("\n")]
    return shown or [f"  {diff.NOTHING}"]


def _lines(change: Change, style: Style) -> Iterator[str]:
    if change.fields:
        yield from _fields(change, style)
    elif change.added or change.removed or change.updated:
        yield from _items(change, style)
    elif change.old != change.new:
        yield from _text(change.old or "", change.new or "", style, dict(change.numbers).get("", ""))


# ------------------------------------------------------------------------------------------------- fields and items


def _fields(change: Change, style: Style) -> Iterator[str]:
    said, width = dict(change.numbers), max(len(one_line(name)) for name, _, _ in change.fields)
    for name, old, new in change.fields:
        sign = ("+", GREEN) if old is None else ("−", RED) if new is None else ("~", YELLOW)
        label = f"{_paint(*sign, style)} {_clean(name, '', style):<{width}}"
        yield from _step(f"{label}  ", old, new, style, said.get(name, ""))


def _items(change: Change, style: Style) -> Iterator[str]:
    for item in change.added:
        yield from (_paint(line, GREEN, style) for line in _item(item, "+", style))
    for old, new in change.updated:
        yield f"{_paint('~', YELLOW, style)} {_clean(new.name, '', style)}"
        yield from _update(old, new, style)
    for item in change.removed:
        yield _paint(_clean(item.name, "− ", style), RED, style)


def _update(old: Item, new: Item, style: Style) -> Iterator[str]:
    if not new.fields:
        yield from (f"  {line}" for line in _text(old.text, new.text, style))
        return
    before = dict(old.fields)
    for name, value in new.fields:
        if before.get(name) != value:
            yield from _step(_clean(f"{name}: ", "  ", style) + " ", before.get(name), value, style)
    if new.link:
        yield _clean(new.link, "  ", style)


def _item(item: Item, sign: str, style: Style) -> list[str]:
    """Its name, and below it what it has beside that."""
    known = {item.name, item.link, item.key, None, ""}
    first, *rest = item.name.split("\n")
    rest += [f"{name}: {value}" for name, value in item.fields if value not in known]
    rest += [item.link] if item.link not in ("", item.name) else []
    return [_clean(first, f"{sign} ", style), *(_clean(line, "    ", style) for line in rest)]


def _clean(text: str, begin: str, style: Style) -> str:
    """One line: what the page says cannot look like a line of ours."""
    return begin + one_line(style.redact(text))


# --------------------------------------------------------------------------------------------------------------- text


def _text(old: str, new: str, style: Style, said: str = "") -> Iterator[str]:
    if "\n" not in old + new and max(len(old), len(new)) <= diff.SHORT:
        yield from _step("", old, new, style, said)
        return
    before, after = ([_clean(line, "", style) for line in text.split("\n")] for text in (old, new))
    if not can_be_matched(before, after):
        came, went = line_differences("\n".join(before), "\n".join(after))
        yield from (_paint(f"− {line}", RED, style) for line in went)
        yield from (_paint(f"+ {line}", GREEN, style) for line in came)
        return
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT):
        yield _paint(f"… line {group[0][3] + 1}", CYAN, style)
        for code in group:
            yield from _block(code, before, after, style)


def _block(code: Code, before: Sequence[str], after: Sequence[str], style: Style) -> Iterator[str]:
    """The lines of one part: those of the new text if they are the same, else what went and then what came."""
    what, start, end, other, until = code
    if what == "equal":
        yield from (f"  {line}" for line in after[other:until])
        return
    went, came = list(before[start:end]), list(after[other:until])
    for place, pair in enumerate(zip(went, came, strict=False)):
        went[place], came[place] = _marked(*pair, style)
    yield from (_paint(f"− {line}", RED, style) for line in went)
    yield from (_paint(f"+ {line}", GREEN, style) for line in came)


def _step(label: str, old: str | None, new: str | None, style: Style, said: str = "") -> Iterator[str]:
    """`old → new` where that fits into a line, else both below each other."""
    before, after = (_clean(value or "", "", style) or diff.NOTHING for value in (old, new))
    left, right = _marked(before, after, style) if old and new else (before, after)
    left, right = _paint(left, RED, style), _paint(right, GREEN, style)
    note = f" ({said})" if said else ""
    if max(len(before), len(after)) <= diff.SHORT:
        yield f"{label}{left} → {right}{note}"
    else:
        yield label.rstrip()
        yield from (f"    {_paint('−', RED, style)} {left}", f"    {_paint('+', GREEN, style)} {right}{note}")


def _marked(old: str, new: str, style: Style) -> tuple[str, str]:
    """Both lines with the words marked that the other one has not; as they are where they have too little in
    common."""
    before, after = old.split(" "), new.split(" ")
    if not (found := word_codes(before, after, MOST_WORDS)):
        return old, new
    left = [_word(before[a:b], what, "[-", "-]", RED, style) for what, a, b, _, _ in found if a < b]
    right = [_word(after[c:d], what, "{+", "+}", GREEN, style) for what, _, _, c, d in found if c < d]
    return " ".join(left), " ".join(right)


def _word(words: Sequence[str], what: str, begin: str, end: str, colour: str, style: Style) -> str:
    text = " ".join(words)
    if what == "equal":
        return text
    return f"\x1b[1;4m{text}\x1b[0;{colour}m" if style.colour else f"{begin}{text}{end}"


def _paint(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if style.colour else text
