"""Two small pictures as SVG: on which days something changed, and how a number went.

They hold no text but their description, no style and no script, and may be stretched: what is read stands beside them
as HTML. Their size does not grow with the number of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from itertools import groupby
from math import isfinite

from pagewatch.notices import harmless

DAYS = 90  # shown of the past
DAY = timedelta(days=1)
BAR, STEP, TALL = 2, 4, 24  # units: the width of a day's bar, of a day, and the height of the highest bar
HEIGHTS = (0, 12, 18, TALL)  # of a day with no, one, two, three or more changes
WIDE, HIGH, AIR = 600, 120, 8  # units of a line plot; `AIR` stays free above and below
COLUMN = 6  # units: of the points in one column only the lowest, the highest and the last are drawn

Point = tuple[datetime, float]


def days_with_changes(moments: Iterable[datetime], until: datetime) -> tuple[int, ...]:
    """How many changes there were on each of the last 90 times 24 hours, the oldest first; other moments are left
    out."""
    counts = Counter((until - moment) // DAY for moment in moments)
    return tuple(counts[age] for age in reversed(range(DAYS)))


def strip(days: Sequence[int], title: str) -> str:
    """A bar for each day that has changes, higher for more, over a line from the oldest day to today."""
    bars = "".join(
        f"M{place * STEP} {TALL - height}h{BAR}v{height}h-{BAR}z"
        for place, count in enumerate(days)
        if (height := HEIGHTS[min(count, len(HEIGHTS) - 1)])
    )
    wide = len(days) * STEP
    ground = f'<path class="ground" d="M0 {TALL + 1}H{wide}"/>'
    return _svg("strip", (wide, TALL + 2), title, ground + (f'<path class="bars" d="{bars}"/>' if bars else ""))


def finite(values: Iterable[Point]) -> tuple[Point, ...]:
    """The values that can be drawn, in order of time."""
    return tuple(sorted(value for value in values if isfinite(value[1])))


def line(values: Sequence[Point], until: datetime, title: str) -> str:
    """A step line: each value holds until the next, the last one until `until`; a dot where it stands now. `values` are
    at least one, finite, in order of time."""
    start, low = values[0][0], min(value for _, value in values)
    length = max((until - start) / timedelta(seconds=1), 1.0)
    span = max(value for _, value in values) / 2 - low / 2  # halved: the difference of two floats may be infinite

    def place(point: Point) -> tuple[int, float]:
        along = min(max((point[0] - start) / timedelta(seconds=1) / length, 0.0), 1.0)
        above = (point[1] / 2 - low / 2) / span if span else 0.5
        return round(along * WIDE), round(HIGH - AIR - above * (HIGH - 2 * AIR), 1)

    points = list(_thinned(map(place, values)))
    path = f"M{points[0][0]} {points[0][1]:g}" + "".join(f"H{x}V{y:g}" for x, y in points[1:]) + f"H{WIDE}"
    drawn = (
        f'<path class="grid" d="M0 {AIR}H{WIDE}M0 {HIGH - AIR}H{WIDE}"/>'
        f'<path class="area" d="{path}V{HIGH}H0z"/><path class="line" d="{path}"/>'
        f'<path class="dot" d="M{WIDE} {points[-1][1]:g}h0"/>'
    )
    return _svg("line", (WIDE, HIGH), title, drawn)


def _thinned(points: Iterable[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """What can be told apart of many points: in each column the extremes, and where it is left."""
    for _, group in groupby(points, key=lambda point: point[0] // COLUMN):
        column = list(group)
        kept = {0, len(column) - 1}
        kept |= {find(range(len(column)), key=lambda i: column[i][1]) for find in (min, max)}
        yield from (column[i] for i in sorted(kept))


def _svg(name: str, size: tuple[int, int], title: str, drawn: str) -> str:
    described = f"<title>{escape(harmless(title))}</title>"
    box = f'viewBox="0 0 {size[0]} {size[1]}" preserveAspectRatio="none"'
    return f'<svg class="{name}" role="img" {box}>{described}{drawn}</svg>'
