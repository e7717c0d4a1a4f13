"""The arithmetic of checking: the article's numbers, an estimate not fooled by unseen changes, and what is advised."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import timedelta
from statistics import fmean

import pytest

from pagewatch import arithmetic, values
from pagewatch.arithmetic import Estimate, Habit, Look
from tests.values import DAY, HOUR, MINUTE

WEEK = 7 * DAY
MONTH = 30 * DAY

# ------------------------------------------------------------------------------------------------ what it costs


@pytest.mark.parametrize(
    ("interval", "checks", "share", "delay"),
    [
        pytest.param(5 * MINUTE, "105,120", "0.05 %", "2.5 minutes", id="5 minutes"),
        pytest.param(HOUR, "8,760", "0.6 %", "30 minutes", id="1 hour"),
        pytest.param(6 * HOUR, "1,460", "3.5 %", "3 hours", id="6 hours"),
        pytest.param(DAY, "365", "13.3 %", "12 hours", id="1 day"),
    ],
)
def test_the_article_table_for_a_weekly_change(interval: timedelta, checks: str, share: str, delay: str) -> None:
    name = arithmetic.spoken(interval)
    (line,) = [line for line in arithmetic.article_table().splitlines() if line.startswith(name)]
    assert [column.strip() for column in line.split("  ") if column] == [name, checks, share, delay]
    assert arithmetic.costs(interval, 1 / 7).mean_delay == interval / 2


def test_the_table_is_aligned() -> None:
    assert arithmetic.table(24, [5 * MINUTE, WEEK]) == (
        "check every  checks a year  find a change  mean delay\n"
        "5 minutes          105,120            8 %  2.5 minutes\n"
        "7 days                  52          100 %  3.5 days\n"
    )


@pytest.mark.parametrize(("interval", "article"), [(HOUR, 29.4), (6 * HOUR, 181.0)], ids=["hourly", "six-hourly"])
def test_the_simulation_is_within_5_percent_of_the_article(interval: timedelta, article: float) -> None:
    uniform = random.Random(1).random
    assert arithmetic.simulate(interval, uniform) / MINUTE == pytest.approx(article, rel=0.05)


def test_the_same_seed_gives_the_same_text_and_another_gives_another() -> None:
    first, again, other = (arithmetic.simulation(random.Random(seed).random) for seed in (1, 1, 2))
    assert first == again != other
    assert first.splitlines()[2:] == ["checked every 1 hour: 29.5 minutes", "checked every 6 hours: 178 minutes"]


def test_years_without_a_change_have_no_delay() -> None:
    with pytest.raises(ValueError):
        arithmetic.simulate(HOUR, random.Random(1).random, rate=1e-9)
    assert arithmetic.simulate(HOUR, random.Random(1).random, rate=1 / 365) < HOUR  # in a third of the years


# ------------------------------------------------------------------------------------------- how often it changes


def estimated(looks: list[Look]) -> Estimate:
    known = arithmetic.estimate(looks)
    assert known is not None
    return known


def regular(gap: timedelta, count: int, found: int) -> list[Look]:
    return [Look(gap, number < found) for number in range(count)]


@pytest.mark.parametrize("found", [1, 7, 29, 30])
def test_at_regular_intervals_it_is_the_formula_of_cho_and_garcia_molina(found: int) -> None:
    known = estimated(regular(6 * HOUR, 30, found))
    assert known.rate == pytest.approx(-math.log((30 - found + 0.5) / 30.5) / 0.25)


def test_at_regular_intervals_the_bounds_are_those_of_wilson() -> None:
    known = estimated(regular(DAY, 60, 12))
    shares = [1 - math.exp(-known.low), 1 - math.exp(-known.high)]
    assert [(12 / 60 - share) ** 2 / (share * (1 - share) / 60) for share in shares] == pytest.approx([1.645**2] * 2)


def test_at_irregular_intervals_each_gap_counts_as_what_it_is() -> None:
    """The score with its bias taken off is zero there: the sums that are derived from the likelihood of each look."""
    looks = [*regular(10 * HOUR, 40, 30), *regular(14 * HOUR, 40, 15), *regular(3 * DAY, 10, 9)]
    rate = estimated(looks).rate
    odds = {look.gap: 1 / math.expm1(rate * (look.gap / DAY)) for look in looks}
    score = sum((odds[look.gap] if look.changed else -1) * (look.gap / DAY) for look in looks)
    second, third = (sum((look.gap / DAY) ** power * odds[look.gap] for look in looks) for power in (2, 3))
    assert score == pytest.approx(third / second / 2)


# The rates and intervals of which half a year, but no more than 1,000 looks, tells something: it is expected that five
# looks find a change and that five find none. Of the others only one bound is known.
TELLING = [
    pytest.param(between, gap, count, id=f"every {arithmetic.spoken(between)}, checked every {arithmetic.spoken(gap)}")
    for between in (HOUR, 6 * HOUR, DAY, WEEK, MONTH)
    for gap in (HOUR, 6 * HOUR, DAY, WEEK)
    for count in [min(365 * DAY // gap, 1000)]
    if 5 <= count * math.exp(-gap / between) <= count - 5
]


@pytest.mark.parametrize(("between", "gap", "count"), TELLING)
def test_regular_looks_give_the_rate_within_a_tenth_and_an_interval_that_holds_in_90_percent(
    between: timedelta, gap: timedelta, count: int
) -> None:
    """Over all histories there can be, each weighed by its probability: that of X changes found in n looks."""
    truth, share = DAY / between, 1 - math.exp(-gap / between)
    mean = covered = 0.0
    for found in range(count + 1):
        weight = binomial(count, found, share)
        if weight > 1e-5:
            known = estimated(regular(gap, count, found))
            mean += weight * known.rate
            covered += weight * (known.low <= truth <= known.high)
    assert mean == pytest.approx(truth, rel=0.1)
    assert 0.85 <= covered <= 0.95


def binomial(count: int, found: int, share: float) -> float:
    ways = math.lgamma(count + 1) - math.lgamma(found + 1) - math.lgamma(count - found + 1)
    return math.exp(ways + found * math.log(share) + (count - found) * math.log(1 - share))


Gaps = Callable[[random.Random, list[Look]], timedelta]


def scheduled(gap: timedelta) -> Gaps:
    return lambda chance, past: gap


def with_gaps_lost(chance: random.Random, past: list[Look]) -> timedelta:
    """Daily, some minutes early or late, and a machine that is off for days now and then."""
    return DAY * chance.choice([1, 1, 1, 1, 2, 9]) + MINUTE * chance.uniform(-20, 20)


def adaptive(chance: random.Random, past: list[Look]) -> timedelta:
    """`every: auto`: halved on change, doubled on none, from an hour to 30 days."""
    if not past:
        return HOUR
    last = past[-1]
    return max(last.gap / 2, HOUR) if last.changed else min(last.gap * 2, MONTH)


def history(between: timedelta, gaps: Gaps, count: int, chance: random.Random) -> list[Look]:
    """Looks at a page whose changes are a Poisson process: each change has its moment, and a look sees that there was
    one or more."""
    looks: list[Look] = []
    now = timedelta(0)
    change = chance.expovariate(1) * between
    while len(looks) < count:
        gap = gaps(chance, looks)
        now += gap
        looks.append(Look(gap, change <= now))
        while change <= now:
            change += chance.expovariate(1) * between
    return looks


@pytest.mark.parametrize(
    ("between", "gaps", "count"),
    [
        pytest.param(HOUR, scheduled(HOUR), 100, id="as often as it is looked at"),
        pytest.param(HOUR, scheduled(2 * HOUR), 150, id="twice as often as it is looked at"),
        pytest.param(MONTH, scheduled(DAY), 365, id="monthly, looked at daily"),
        pytest.param(3 * DAY, with_gaps_lost, 60, id="a machine that is off for days"),
        pytest.param(MONTH, with_gaps_lost, 180, id="the same, seldom changed"),
        pytest.param(6 * HOUR, adaptive, 120, id="adaptive, changed often"),
        pytest.param(DAY, adaptive, 90, id="adaptive, changed daily"),
        pytest.param(MONTH, adaptive, 60, id="adaptive, changed monthly"),
    ],
)
def test_simulated_histories_give_the_rate_within_a_tenth_and_an_interval_that_holds_in_90_percent(
    between: timedelta, gaps: Gaps, count: int
) -> None:
    chance = random.Random(7)
    known = [estimated(history(between, gaps, count, chance)) for _ in range(250)]
    truth = DAY / between
    assert fmean(one.rate for one in known) == pytest.approx(truth, rel=0.1)
    assert 0.85 <= fmean(one.low <= truth <= one.high for one in known) <= 0.95


def test_changes_found_by_time_is_what_it_is_better_than() -> None:
    chance = random.Random(7)
    looks = [look for _ in range(50) for look in history(HOUR, scheduled(2 * HOUR), 100, chance)]
    naive = sum(look.changed for look in looks) / (sum((look.gap for look in looks), timedelta(0)) / HOUR)
    assert naive < 0.5
    assert estimated(looks).rate / 24 == pytest.approx(1, rel=0.05)


def test_no_change_leaves_an_upper_bound_and_nothing_but_changes_a_lower_one() -> None:
    never, always = estimated(regular(DAY, 40, 0)), estimated(regular(DAY, 40, 40))
    assert (never.rate, never.low, never.found) == (0, 0, 0)
    assert math.exp(-never.high) == pytest.approx(40 / (40 + 1.645**2))
    assert always.high == math.inf
    assert 1 - math.exp(-always.low) == pytest.approx(40 / (40 + 1.645**2))
    assert always.low < always.rate == pytest.approx(math.log(81))


def test_the_seconds_of_a_scheduler_do_not_matter() -> None:
    shaken = [Look(look.gap + timedelta(seconds=number % 40), look.changed) for number, look in enumerate(TWELVE)]
    assert estimated(shaken).rate == pytest.approx(estimated(list(TWELVE)).rate, rel=0.002)


@pytest.mark.parametrize(("shortest", "longest"), [(timedelta(seconds=1), 3650 * DAY), (MINUTE, MINUTE * 2)])
def test_very_different_gaps_are_no_trouble(shortest: timedelta, longest: timedelta) -> None:
    for found in (True, False):
        known = estimated([*regular(shortest, 50, 25), *[Look(longest, found)] * 50])
        assert 0 < known.low < known.rate < known.high < math.inf


def test_too_few_looks_are_no_estimate_and_a_clock_that_stood_still_is_no_look() -> None:
    assert arithmetic.estimate([]) is None
    assert arithmetic.estimate(regular(DAY, 4, 2)) is None
    assert arithmetic.estimate([*regular(DAY, 4, 2), Look(timedelta(0), True), Look(-DAY, True)]) is None
    assert arithmetic.estimate(regular(DAY, 5, 2)) is not None


# --------------------------------------------------------------------------------------------- what to do about it

TWELVE = tuple(regular(6 * HOUR, 120, 12))


@pytest.mark.parametrize(
    ("delay", "every"),
    [
        pytest.param(12 * HOUR, "1d", id="twice the delay"),
        pytest.param(11 * HOUR, "12h", id="never later than wished"),
        pytest.param(15 * MINUTE, "30m", id="minutes"),
        pytest.param(8 * DAY, "2w", id="weeks"),
        pytest.param(timedelta(seconds=1), "5m", id="five minutes at least"),
        pytest.param(4000 * DAY, "4w", id="four weeks at most"),
    ],
)
def test_the_proposed_interval(delay: timedelta, every: str) -> None:
    assert arithmetic.written(arithmetic.proposed(delay)) == every


def test_what_is_proposed_can_be_written_in_watches_yaml() -> None:
    for choice in arithmetic.CHOICES:
        assert values.duration(arithmetic.written(choice)) == choice


@pytest.mark.parametrize(
    ("interval", "text"),
    [(90 * MINUTE, "90m"), (14 * DAY, "2w"), (10 * DAY, "10d"), (timedelta(seconds=90.5), "90.5s")],
)
def test_an_interval_is_written_exactly(interval: timedelta, text: str) -> None:
    assert arithmetic.written(interval) == text
    assert values.duration(text) == interval


@pytest.mark.parametrize(
    ("looks", "delay", "line"),
    [
        pytest.param(
            TWELVE,
            12 * HOUR,
            "Concert price: changes about every 2.4 days (1.5 to 3.8 days; 12 changes in 120 looks); every 6h finds a "
            "change 3 hours late on average, 1,460 requests a year, 10 % of them find one; for a delay of 12 hours: "
            "every: 1d",
            id="a wished delay",
        ),
        pytest.param(
            TWELVE,
            None,
            "Concert price: changes about every 2.4 days (1.5 to 3.8 days; 12 changes in 120 looks); every 6h finds a "
            "change 3 hours late on average, 1,460 requests a year, 10 % of them find one; for a delay of 5.7 hours: "
            "every: 8h",
            id="without one: a tenth of the time between changes",
        ),
        pytest.param(
            tuple(regular(6 * HOUR, 40, 0)),
            None,
            "Concert price: no change in 40 looks, so rarer than about every 3.8 days; every 6h finds a change 3 hours "
            "late on average, 1,460 requests a year; for a delay of 9.2 hours: every: 12h",
            id="no change",
        ),
        pytest.param(
            tuple(regular(6 * HOUR, 40, 40)),
            10 * MINUTE,
            "Concert price: changed at each of 40 looks, so at least about every 2.2 hours; every 6h finds a change 3 "
            "hours late on average, 1,460 requests a year, 98.8 % of them find one; for a delay of 10 minutes: every: "
            "20m (and a scheduler that runs as often)",
            id="nothing but changes, and a delay shorter than the scheduler's hour",
        ),
        pytest.param(
            tuple(regular(6 * HOUR, 4, 1)),
            None,
            "Concert price: 4 looks so far, too few to tell how often it changes (5 are needed); every 6h finds a "
            "change 3 hours late on average, 1,460 requests a year",
            id="too few looks: nothing is proposed",
        ),
        pytest.param(
            (Look(HOUR, True), *[Look(timedelta(0), True)] * 9),
            DAY,
            "Concert price: 1 look so far, too few to tell how often it changes (5 are needed); every 6h finds a "
            "change 3 hours late on average, 1,460 requests a year; for a delay of 1 day: every: 2d",
            id="too few looks: a wished delay needs no estimate",
        ),
    ],
)
def test_a_watch_in_one_line(looks: tuple[Look, ...], delay: timedelta | None, line: str) -> None:
    assert arithmetic.advice(Habit("Concert price", 6 * HOUR, looks), delay) == line


def test_the_report_is_the_table_and_a_line_for_each_watch() -> None:
    alone = arithmetic.report([], None)
    assert alone == f"A page that changes once a week:\n\n{arithmetic.article_table()}"
    both = arithmetic.report([Habit(name, 6 * HOUR, TWELVE) for name in ("Concert", "Train")], None)
    assert both.startswith(f"{alone}\nConcert: ")
    assert both.splitlines()[-1].startswith("Train: changes about every 2.4 days")


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (timedelta(seconds=0.4), "0.4 seconds"),
        (timedelta(seconds=150), "2.5 minutes"),
        (timedelta(minutes=59, seconds=59), "1 hour"),
        (HOUR, "1 hour"),
        (timedelta(hours=76.8), "3.2 days"),
        (timedelta(days=812.4), "812 days"),
    ],
)
def test_a_duration_in_words(time: timedelta, words: str) -> None:
    assert arithmetic.spoken(time) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (1e-6, "<0.01 %"), (0.0096, "1 %"), (0.1331, "13.3 %"), (0.99999, "100 %")],
)
def test_a_share_in_words(share: float, words: str) -> None:
    assert arithmetic.percent(share) == words
