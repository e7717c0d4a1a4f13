"""The arithmetic of checking: what an interval costs, how often a page changes, and which `every` to write.

It promises that the estimate is not fooled by what no look could see: several changes between two looks are seen as
one, so that changes found divided by time is too low. The model is a Poisson process; rates are changes a day. What
it needs of chance it is given (`uniform`), so that the same seed gives the same text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from statistics import fmean, median

from pagewatch.frozen import dataclass

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
YEAR = timedelta(days=365)
WEEKLY = 1 / 7
ARTICLE = (5 * MINUTE, HOUR, 6 * HOUR, DAY)

SUCCESSFUL = frozenset({"baseline", "unchanged", "not-modified", "changed"})  # watched content was seen
FEWEST_LOOKS = 5
DEVIATIONS = 1.645  # of the normal distribution, either side: 90 %
BINS = 50  # for each e-fold of a gap: gaps within 2 % of each other are one
ACCURACY = 1e-9  # of a root, relative

# What an `every` is chosen from: 5 minutes to 4 weeks.
CHOICES = (
    *(count * MINUTE for count in (5, 10, 15, 20, 30)),
    *(count * HOUR for count in (1, 2, 3, 4, 6, 8, 12)),
    *(count * DAY for count in (1, 2, 3, 7, 14, 28)),
)
UNITS = (("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60))
PART_OF_THE_TIME_BETWEEN = 10  # the delay that is aimed at where none is wished


@dataclass(frozen=True)
class Costs:
    """What checking at an interval means: `mean_delay` from a change to the look that finds it, `share` of the looks
    that find one (0 to 1)."""

    mean_delay: timedelta
    checks_a_year: float
    share: float


@dataclass(frozen=True)
class Look:
    """A successful look: the time since the successful one before it, and whether it found a change."""

    gap: timedelta
    changed: bool


@dataclass(frozen=True)
class Estimate:
    """How often a page changes, in changes a day, with the bounds of a 90 % interval, from so many `looks` of which
    `found` found a change.

    Where none did, `rate` and `low` are 0 and only `high` is known. Where each did, `high` is infinite and only `low`
    is known: `rate` is then the least that explains it, no more. The same holds nearly where nearly all or nearly
    none did (fewer than five of either): `low` and `high` still hold, `rate` is a rough guess.
    """

    rate: float
    low: float
    high: float
    looks: int
    found: int


@dataclass(frozen=True)
class Habit:
    """A watch as far as its arithmetic goes: the interval in force and its own successful looks."""

    name: str
    interval: timedelta
    looks: tuple[Look, ...]


def looks_of(decided: Iterable[tuple[datetime, str]]) -> tuple[Look, ...]:
    """The successful looks among decisions (when, outcome), the oldest first. A new baseline (a first look, or an
    edited watch) cannot tell whether there was a change: the time before it counts for nothing."""
    looks = []
    last: datetime | None = None
    for at, outcome in decided:
        if outcome not in SUCCESSFUL:
            continue
        if last is not None and outcome != "baseline":
            looks.append(Look(at - last, outcome == "changed"))
        last = at
    return tuple(looks)


# ------------------------------------------------------------------------------------------------ what it costs


def costs(interval: timedelta, rate: float) -> Costs:
    """What a page that changes `rate` times a day costs at this interval: I/2, 8,760 h / I, 1 - exp(-λI)."""
    return Costs(interval / 2, YEAR / interval, -math.expm1(-rate * (interval / DAY)))


def article_table() -> str:
    """The table for a page that changes once a week."""
    return table(WEEKLY, ARTICLE)


def table(rate: float, intervals: Iterable[timedelta]) -> str:
    """A line for each interval, in aligned columns under a heading; ends with a newline."""
    rows = [("check every", "checks a year", "find a change", "mean delay")]
    for interval in intervals:
        cost = costs(interval, rate)
        rows.append((spoken(interval), _thousands(cost.checks_a_year), percent(cost.share), spoken(cost.mean_delay)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}\n" for row in rows)


def simulate(interval: timedelta, uniform: Callable[[], float], rate: float = WEEKLY, runs: int = 30) -> timedelta:
    """The median of the mean delays of `runs` years of checking at an interval. Years without a change have none;
    raises ValueError where all are.

    `uniform` gives numbers from 0 up to but not including 1, as `random.Random(seed).random` does.
    """
    means = [mean for mean in (_year(interval / DAY, uniform, rate) for _ in range(runs)) if mean is not None]
    return median(means) * DAY


def _year(interval: float, uniform: Callable[[], float], rate: float) -> float | None:
    """The mean delay of one year's changes, in days. Each change counts, also the second between two looks."""
    first_check = uniform() * interval
    delays = []
    time = _wait(uniform, rate)
    while time < YEAR / DAY:
        delays.append((first_check - time) % interval)
        time += _wait(uniform, rate)
    return fmean(delays) if delays else None


def _wait(uniform: Callable[[], float], rate: float) -> float:
    return -math.log1p(-uniform()) / rate


# ------------------------------------------------------------------------------------------- how often it changes


@dataclass(frozen=True)
class _Gaps:
    """Looks of about the same gap (days): how many, and how many found a change."""

    gap: float
    looks: int
    found: int

    def odds(self, rate: float) -> float:
        """Of seeing no change in a gap to seeing one."""
        return math.exp(-rate * self.gap) / -math.expm1(-rate * self.gap)


def estimate(looks: Iterable[Look]) -> Estimate | None:
    """The rate of change from looks at any intervals; None from fewer than five (a gap of no time is no look).

    Maximum likelihood for looks that tell only whether there was a change (Cho and Garcia-Molina, "Estimating frequency
    of change", for irregular access), with the bias of small samples taken off the score as Firth does: at
    regular intervals I this is their -log((n - X + 0.5) / (n + 0.5)) / I. The bounds are those of the score interval,
    which is Wilson's at regular intervals.
    """
    gaps = _grouped(_usable(looks))
    count, found = sum(group.looks for group in gaps), sum(group.found for group in gaps)
    if count < FEWEST_LOOKS:
        return None
    low = _root(gaps, lambda rate: _score(gaps, rate) - DEVIATIONS * math.sqrt(_information(gaps, rate)))
    high = _root(gaps, lambda rate: _score(gaps, rate) + DEVIATIONS * math.sqrt(_information(gaps, rate)))
    rate = _root(gaps, lambda rate: _score(gaps, rate) - _correction(gaps, rate))
    return Estimate(rate if found else 0.0, low if found else 0.0, high if found < count else math.inf, count, found)


def _usable(looks: Iterable[Look]) -> tuple[Look, ...]:
    return tuple(look for look in looks if look.gap > timedelta(0))


def _grouped(looks: Iterable[Look]) -> tuple[_Gaps, ...]:
    """Years of looks in a handful of groups: a scheduler's seconds do not matter, and the total time is kept."""
    bins: dict[int, list[Look]] = {}
    for look in looks:
        bins.setdefault(round(BINS * math.log(look.gap / DAY)), []).append(look)
    return tuple(
        _Gaps(fmean(look.gap / DAY for look in alike), len(alike), sum(look.changed for look in alike))
        for alike in bins.values()
    )


def _score(gaps: Sequence[_Gaps], rate: float) -> float:
    """The derivative of the log-likelihood."""
    return sum(group.gap * (group.found * group.odds(rate) - (group.looks - group.found)) for group in gaps)


def _information(gaps: Sequence[_Gaps], rate: float) -> float:
    """Fisher's, expected: the variance of the score."""
    return sum(group.gap**2 * group.looks * group.odds(rate) for group in gaps)


def _correction(gaps: Sequence[_Gaps], rate: float) -> float:
    """Information times first-order bias: half of a mean gap, weighted by what each gap tells."""
    third = sum(group.gap**3 * group.looks * group.odds(rate) for group in gaps)
    return third / _information(gaps, rate) / 2


def _root(gaps: Sequence[_Gaps], falling: Callable[[float], float]) -> float:
    """Where a function of the rate that falls through zero does so, by bisection; an end of what can matter where it
    does not."""
    total = sum(group.gap * group.looks for group in gaps)
    low, high = 1e-3 / total, 50 / min(group.gap for group in gaps)
    while high - low > ACCURACY * high:
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return high


# --------------------------------------------------------------------------------------------- what to do about it


def proposed(delay: timedelta) -> timedelta:
    """The longest usual interval whose mean delay is no longer than `delay`: 5 minutes to 4 weeks."""
    return max((choice for choice in CHOICES if choice / 2 <= delay), default=CHOICES[0])


def aim(known: Estimate) -> timedelta:
    """The delay to aim at where none is wished: a tenth of the time between two changes, or of the bound on it."""
    return timedelta(days=1 / (known.rate or known.high) / PART_OF_THE_TIME_BETWEEN)


def report(habits: Iterable[Habit], delay: timedelta | None) -> str:
    """The text of `schedule`: the table, then a line for each watch. `delay` is the one that is wished, if any."""
    lines = "".join(f"{advice(habit, delay)}\n" for habit in habits)
    return f"A page that changes once a week:\n\n{article_table()}" + (f"\n{lines}" if lines else "")


def advice(habit: Habit, delay: timedelta | None) -> str:
    """One watch in one line: how often it changes, what its interval costs, and the `every` for a delay."""
    known = estimate(habit.looks)
    cost = costs(habit.interval, known.rate if known else 0.0)
    said = f"every {written(habit.interval)} finds a change {spoken(cost.mean_delay)} late on average"
    said += f", {_thousands(cost.checks_a_year)} requests a year"
    if known and known.found:
        said += f", {percent(cost.share)} of them find one"
    wished = delay or (aim(known) if known else None)
    return f"{habit.name}: {how_often(known, len(_usable(habit.looks)))}; {said}{_proposal(wished)}"


def how_often(known: Estimate | None, looks: int) -> str:
    """How often a page changes, in words."""
    if known is None:
        return f"{_counted(looks, 'look')} so far, too few to tell how often it changes ({FEWEST_LOOKS} are needed)"
    if not known.found:
        return f"no change in {known.looks} looks, so rarer than about every {_between(known.high)}"
    if known.found == known.looks:
        return f"changed at each of {known.looks} looks, so at least about every {_between(known.low)}"
    found = _counted(known.found, "change")
    return f"changes about every {_between(known.rate)} ({_from_to(known)}; {found} in {known.looks} looks)"


def _from_to(known: Estimate) -> str:
    """The bounds of the time between changes: "2 to 6 days", "18 hours to 2 days"."""
    low, high = _between(known.high), _between(known.low)
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def _between(rate: float) -> str:
    return spoken(timedelta(days=1 / rate))


def _proposal(delay: timedelta | None) -> str:
    if delay is None:
        return ""
    every = proposed(delay)
    often = " (and a scheduler that runs as often)" if every < HOUR else ""
    return f"; for a delay of {spoken(delay)}: every: {written(every)}{often}"


def simulation(uniform: Callable[[], float]) -> str:
    """The text of `schedule --simulate`."""
    delays = ((interval, simulate(interval, uniform)) for interval in (HOUR, 6 * HOUR))
    lines = "".join(f"checked every {spoken(interval)}: {delay / MINUTE:.3g} minutes\n" for interval, delay in delays)
    return f"30 runs of one year of weekly changes, median of the runs' mean delays:\n\n{lines}"


# ------------------------------------------------------------------------------------------------------ in words


def written(interval: timedelta) -> str:
    """An interval as `every` takes it, exactly: 30m, 6h, 1d, 2w."""
    seconds = interval.total_seconds()
    for letter, length in UNITS:
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f}{letter}"
    return f"{_plain(seconds, 3)}s"


def spoken(time: timedelta) -> str:
    """A duration for people, to a tenth of its largest unit: "2.5 minutes", "1 hour"."""
    seconds = time.total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        number = _plain(seconds / length, 1 if seconds < 100 * length else 0)
        if float(number) >= 1 or unit == "second":
            return _counted(number, unit)
    raise AssertionError("a second is the last unit")


def percent(share: float) -> str:
    """A share to a tenth of a percent, below one percent to its first digit."""
    number = 100 * share
    if 0 < number < 0.005:
        return "<0.01 %"
    return f"{number:.1g} %" if 0 < number < 1 else f"{_plain(number, 1)} %"


def _plain(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _counted(number: int | str, what: str) -> str:
    return f"{number} {what}{'' if str(number) == '1' else 's'}"


def _thousands(number: float) -> str:
    return f"{number:,.0f}"
