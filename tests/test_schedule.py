"""When a watch is due: slack, edits of the interval, clocks that jump."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pagewatch import schedule
from pagewatch.frozen import replace
from pagewatch.model import Every, Pause, WatchState
from tests.values import DAY, HOUR, MINUTE, START, first_sight, watch


def looked_at(wait: timedelta, at: datetime = START) -> WatchState:
    return replace(first_sight(), last_checked=at, next_check=at + wait, interval=wait)


@pytest.mark.parametrize(
    ("every", "after", "due"),
    [
        pytest.param(HOUR, HOUR - timedelta(seconds=2), True, id="two seconds early is due"),
        pytest.param(HOUR, HOUR - 4 * MINUTE, False, id="the slack of an hour is three minutes"),
        pytest.param(MINUTE, timedelta(seconds=31), True, id="the slack is 30 s at least"),
        pytest.param(DAY, 23 * HOUR, True, id="a daily watch is due on the day of 23 hours"),
        pytest.param(DAY, 22 * HOUR, False, id="two hours early is not"),
    ],
)
def test_the_slack(every: timedelta, after: timedelta, due: bool) -> None:
    waits = schedule.reason_to_wait(watch(every=Every(every, every)), looked_at(every), None, START + after, False)
    assert (waits is None) == due


def test_the_next_check_counts_from_the_planned_moment_so_that_the_hour_does_not_creep() -> None:
    past = looked_at(HOUR)
    assert schedule.next_check(past, HOUR, START + HOUR + 2 * MINUTE) == START + 2 * HOUR
    assert schedule.next_check(past, HOUR, START + 5 * HOUR) == START + 6 * HOUR


def test_a_shorter_interval_holds_at_once_but_does_not_shorten_a_back_off() -> None:
    hourly, past = watch(every=Every(HOUR, HOUR)), looked_at(DAY)
    assert schedule.reason_to_wait(hourly, past, None, START + HOUR, False) is None
    failing = replace(past, failures=5)
    assert schedule.reason_to_wait(hourly, failing, None, START + HOUR, False) is not None


def test_a_look_in_the_future_was_a_wrong_clock_and_is_not_waited_for() -> None:
    past = looked_at(DAY, START + 365 * DAY)
    assert schedule.reason_to_wait(watch(), past, None, START, False) is None


def test_freshness_and_pauses_that_are_too_long_come_from_a_wrong_clock() -> None:
    past = replace(looked_at(DAY), fresh_until=START + 90 * DAY)
    assert schedule.reason_to_wait(watch(), past, None, START + DAY, False) is None
    pause = Pause(START + 400 * DAY, asked=True)
    assert schedule.reason_to_wait(watch(), past, pause, START + DAY, False) is None


def test_now_overrides_interval_freshness_and_back_off_but_not_retry_after() -> None:
    past = replace(looked_at(DAY), fresh_until=START + HOUR)
    assert schedule.reason_to_wait(watch(), past, Pause(START + HOUR, asked=False), START, True) is None
    waits = schedule.reason_to_wait(watch(), past, Pause(START + HOUR, asked=True), START, True)
    assert waits == ("deferred", START + HOUR)
