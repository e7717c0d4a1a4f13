"""When to look: due or not, the next check, the adaptive interval, back-off and freshness.

It promises that an hourly watch under an hourly cron is never skipped for being seconds early, that a clock which
jumps makes a look come early rather than never, and that nothing is asked before a server said it would be worth
asking.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pagewatch.model import Pause, Watch, WatchState

SHORTEST_SLACK = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(days=30)
FIRST_BACK_OFF = timedelta(hours=1)
LONGEST_BACK_OFF = timedelta(hours=24)
SHORTEST_STALE = timedelta(weeks=1)
FRESHNESS_CAP = timedelta(hours=24)


def reason_to_wait(
    watch: Watch, past: WatchState, pause: Pause | None, now: datetime, force: bool
) -> tuple[str, datetime] | None:
    """Why this watch is not asked now: (outcome, until when), or None where it is to be asked.

    `force` (`--now`) overrides the interval, freshness and back-off, but not a pause that the host asked for.
    """
    due = due_at(watch, past, now)
    if not force and due is not None and now < due:
        return "not-due", past.next_check or due
    if pause is not None and is_paused(pause, now, force):
        return "deferred", pause.until
    fresh = fresh_until(watch, past, now)
    if not force and fresh is not None and now < fresh:
        return "fresh", fresh
    return None


def due_at(watch: Watch, past: WatchState, now: datetime) -> datetime | None:
    """The moment from which a watch is due, its slack taken off; None where it is due whatever the time.

    The slack is 5 % of the wait that was set, at least 30 s. A last look in the future means that the clock was wrong
    then.
    """
    if past.next_check is None or past.last_checked is None or past.last_checked > now + SHORTEST_SLACK:
        return None
    wait = past.next_check - past.last_checked
    if not past.failures and interval_of(watch, past) < wait - slack(wait):  # `every` has been shortened since
        wait = interval_of(watch, past)
    return past.last_checked + wait - slack(wait)


def slack(wait: timedelta) -> timedelta:
    return max(wait / 20, SHORTEST_SLACK)


def is_paused(pause: Pause, now: datetime, force: bool) -> bool:
    """A pause of more than 30 days can only come from a clock that was wrong."""
    return now < pause.until <= now + LONGEST_PAUSE and (pause.asked or not force)


def fresh_until(watch: Watch, past: WatchState, now: datetime) -> datetime | None:
    """RFC 9111 §4.2, never longer than the greater of the interval and 24 h: also a guard against a clock that was
    wrong."""
    if past.fresh_until is None or not watch.obey_freshness:
        return None
    return past.fresh_until if past.fresh_until <= now + longest_freshness(watch, past) else None


def longest_freshness(watch: Watch, past: WatchState) -> timedelta:
    return max(interval_of(watch, past), FRESHNESS_CAP)


def interval_of(watch: Watch, past: WatchState) -> timedelta:
    """The interval in force: an adaptive watch starts at its lower bound and stays within its present bounds."""
    if past.interval is None:
        return watch.every.low
    return min(max(past.interval, watch.every.low), watch.every.high)


def stale_at(watch: Watch, past: WatchState) -> datetime | None:
    """Until when a watch may go without its content being seen: four intervals or a week, whichever is longer. None
    where it has never been seen."""
    if past.last_verified is None:
        return None
    return past.last_verified + max(4 * interval_of(watch, past), SHORTEST_STALE)


def adapted(watch: Watch, past: WatchState, changed: bool) -> timedelta:
    """Halved on change, doubled on none, within the bounds; a fixed interval has one bound."""
    now = interval_of(watch, past)
    wished = now / 2 if changed else now * 2
    return min(max(wished, watch.every.low), watch.every.high)


def next_check(past: WatchState, wait: timedelta, now: datetime) -> datetime:
    """Counted from the scheduled moment where the run was close to it, so that the hour of a daily look does not
    creep."""
    planned = past.next_check
    close = planned is not None and abs(now - planned) <= slack(wait)
    return (planned if planned is not None and close else now) + wait


def back_off(interval: timedelta, failures: int) -> timedelta:
    """The wait after so many failures in a row: the interval but at most 1 h, doubled, up to 24 h or the interval."""
    first = min(interval, FIRST_BACK_OFF)
    doubled: timedelta = first * 2 ** min(failures - 1, 30)
    return min(doubled, max(LONGEST_BACK_OFF, interval))


def span(time: timedelta) -> str:
    """A duration for people, in the largest unit of which it has two."""
    seconds = time.total_seconds()
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
