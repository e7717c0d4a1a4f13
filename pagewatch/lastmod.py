"""When a page was changed at the latest, as its sitemap says it: the W3C's profile of ISO 8601.

What a `lastmod` leaves open is taken to the late side, so that a look is never left out for a change that may have come
after the last one: a date is a whole day anywhere on earth.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_WEST = timedelta(hours=12)  # behind UTC: where a day ends last
_MOMENT = (  # as text: it is compiled when it is first needed
    r"(?P<year>[0-9]{4})(-(?P<month>[0-9]{2})(-(?P<day>[0-9]{2})"
    r"([Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(:(?P<second>[0-9]{2})(?P<fraction>[.,][0-9]+)?)?"
    r" ?(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?)?)?)?"
)


def latest(lastmod: str) -> datetime | None:
    """The latest moment (aware UTC, whole seconds) that `lastmod` can mean, None if it cannot be read.

    A year, month, date or minute counts to its end, fractions of a second to the next second, and what has no zone
    is local time twelve hours behind UTC.
    """
    found = re.fullmatch(_MOMENT, lastmod.strip())
    if found is None:
        return None
    given = {name: int(value) for name, value in found.groupdict().items() if value and value.isdecimal()}
    try:
        return _end(given, found["fraction"] is not None) + _behind_utc(found["zone"], found["sign"], given)
    except (ValueError, OverflowError):  # the 30th of February, the end of the year 9999
        return None


def _end(given: dict[str, int], has_fraction: bool) -> datetime:
    """The end of the second, minute, day, month or year that is named, on the clock it is written in."""
    month, day, hour, minute = given.get("month", 1), given.get("day", 1), given.get("hour", 0), given.get("minute", 0)
    begin = datetime(given["year"], month, day, hour, minute, given.get("second", 0), tzinfo=timezone.utc)
    if "second" in given:
        return begin + timedelta(seconds=int(has_fraction))
    if "minute" in given:
        return begin + timedelta(minutes=1)
    if "day" in given:
        return begin + timedelta(days=1)
    if "month" in given and month < 12:
        return begin.replace(month=month + 1)
    return begin.replace(year=given["year"] + 1, month=1)


def _behind_utc(zone: str | None, sign: str | None, given: dict[str, int]) -> timedelta:
    if zone is None:
        return _WEST
    if sign is None:
        return timedelta(0)
    offset = timedelta(hours=given["hours"], minutes=given["minutes"])
    if offset >= timedelta(days=1) or given["minutes"] > 59:
        raise ValueError("no offset")
    return -offset if sign == "+" else offset
