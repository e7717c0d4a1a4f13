"""Two versions of a text beside each other, as an HTML table.

What came and what went is marked as `<ins>` and `<del>`, inside a line word by word. Text is escaped and harmless, and
both the lines and the octets of a table are bounded, whatever a page may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from itertools import takewhile

from pagewatch.frozen import dataclass
from pagewatch.matching import Code, word_codes
from pagewatch.notices import one_line, shortened

MOST_ROWS = 200
FIRST_ROWS = 24  # what is seen of them at once
FEW_ROWS = 8  # not worth folding away
LONGEST_LINE = 300  # characters
LEAD = 60  # of them that are kept before the first difference, where that is far along the line
MOST_WORDS = 80  # above this, all between the common beginning and end of two lines is marked: matching is quadratic

Row = tuple[str | None, str | None]  # a line before and after; None: not there; both None: lines left out


@dataclass(frozen=True)
class Compared:
    """One change: when it was seen, its gist, and its lines before and after, beside each other."""

    when: datetime
    title: str
    rows: tuple[Row, ...] = ()


def table(rows: Sequence[Row], caption: str, room: int) -> str:
    """The rows as a table of at most `room` octets (and the little that is around them), the later ones folded away;
    what is left out is counted."""
    shown = []
    for before, after in rows[:MOST_ROWS]:
        row = _row(before, after)
        room -= len(row.encode())
        if room < 0:
            break
        shown.append(row)
    first = FIRST_ROWS if len(shown) > FIRST_ROWS + FEW_ROWS else len(shown)
    left = len(rows) - len(shown)
    end = (
        [f'<tr class="gap"><td colspan="2">… and {left:,} more line{"s" if left > 1 else ""}</td></tr>'] if left else []
    )
    if first == len(shown):
        return _table([*shown, *end], caption)
    folded = _table([*shown[first:], *end], f"{caption}, continued")
    count = f"{len(rows) - first:,} more lines"
    return f'{_table(shown[:first], caption)}<details class="rest"><summary>{count}</summary>{folded}</details>'


def _table(rows: Sequence[str], caption: str) -> str:
    head = '<thead><tr><th scope="col">Before</th><th scope="col">After</th></tr></thead>'
    title = f'<caption class="hidden">{escape(one_line(caption))}</caption>'
    return f'<table class="diff">{title}{head}<tbody>{"".join(rows)}</tbody></table>'


def _row(before: str | None, after: str | None) -> str:
    if before is None and after is None:
        return '<tr class="gap"><td colspan="2">…</td></tr>'
    if before is None:
        return f'<tr><td class="none"></td><td class="plus"><ins>{_line(after or "")}</ins></td></tr>'
    if after is None:
        return f'<tr><td class="minus"><del>{_line(before)}</del></td><td class="none"></td></tr>'
    if before == after:
        return f'<tr class="same"><td>{_line(before)}</td><td>{_line(after)}</td></tr>'
    old, new, kind = _marked(*_windows(one_line(before), one_line(after)))
    return f'<tr{kind}><td class="minus">{old}</td><td class="plus">{new}</td></tr>'


def _line(text: str) -> str:
    return escape(one_line(text, LONGEST_LINE)) or "&nbsp;"


def _windows(old: str, new: str) -> tuple[str, str]:
    """Both lines cut so that where they begin to differ is seen."""
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    if max(len(old), len(new)) > LONGEST_LINE and start > LEAD:
        space = old.rfind(" ", 0, start - LEAD) + 1 or start - LEAD
        old, new = f"…{old[space:]}", f"…{new[space:]}"
    return shortened(old, LONGEST_LINE), shortened(new, LONGEST_LINE)


def _marked(old: str, new: str) -> tuple[str, str, str]:
    """Both lines as HTML with the words marked that the other one has not, and the class of a row where that is not
    the whole line."""
    before, after = old.split(" "), new.split(" ")
    alike = word_codes(before, after, MOST_WORDS)
    found: Sequence[Code] = alike or [("replace", 0, len(before), 0, len(after))]
    left = [_piece("del", tag, before[start:end]) for tag, start, end, _, _ in found if start < end]
    right = [_piece("ins", tag, after[start:end]) for tag, _, _, start, end in found if start < end]
    return " ".join(left), " ".join(right), ' class="part"' if alike else ""


def _piece(mark: str, tag: str, words: list[str]) -> str:
    text = escape(" ".join(words))
    return text if tag == "equal" else f"<{mark}>{text}</{mark}>"
