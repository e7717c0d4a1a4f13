"""How often a page is worth looking at, by what its server says of it: Last-Modified and freshness.

A page that has not changed for ten days will hardly change within the hour: a tenth of its age is the usual guess
(RFC 9111 §4.2.2 makes the same). It stays between an hour and a week, and is never shorter than the time for which the
server calls the answer fresh, as no request would be made before.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pagewatch.arithmetic import spoken
from pagewatch.frozen import dataclass
from pagewatch.http_headers import http_date

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CHOICES = (HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY)
PART_OF_AGE = 10
OF_THE_REQUEST = timedelta(minutes=1)  # a younger Last-Modified is the moment at which the answer was made


@dataclass(frozen=True)
class Pace:
    """A proposed interval and why."""

    every: timedelta
    why: str


def suggested(last_modified: str, fresh_for: timedelta | None, now: datetime) -> Pace | None:
    """By a Last-Modified as received ("" if none) and the freshness that is left; None where neither says anything."""
    changed = http_date(last_modified, now) if last_modified else None
    age = now - changed if changed is not None else None
    if age is not None and age < OF_THE_REQUEST:
        age = None
    if age is None and not fresh_for:
        return None
    by_age = max((choice for choice in CHOICES if age is not None and choice <= age / PART_OF_AGE), default=HOUR)
    every = min((choice for choice in CHOICES if choice >= max(by_age, fresh_for or by_age)), default=CHOICES[-1])
    said = [f"it was last modified {spoken(age)} ago"] if age is not None else []
    said += [f"the server calls it fresh for {spoken(fresh_for)}"] if fresh_for else []
    return Pace(every, " and ".join(said))
