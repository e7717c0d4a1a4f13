"""Values that tests start from: short to write, complete, changed with `frozen.replace`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from pagewatch import conditional
from pagewatch.answers import Extract, Observation, Representation, Validators
from pagewatch.model import Every, Plan, Settings, Watch, WatchState

START = datetime(2026, 3, 2, 8, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
URL = "http://127.0.0.1/p"
SETTINGS = Settings("pagewatch/1.0.0", "pagewatch", timedelta(0))
TAGGED = Validators('"v1"', "Mon, 02 Mar 2026 07:00:00 GMT", URL)


def watch(**keys: object) -> Watch:
    """A daily watch of `#p` at URL; `every` and the rest as keywords."""
    given: dict[str, object] = {
        "name": "Price",
        "url": URL,
        "line": 1,
        "every": Every(DAY, DAY),
        "select": "#p",
        **keys,
    }
    return Watch(**given)  # type: ignore[arg-type]


def first_sight() -> WatchState:
    return WatchState("w1", "Price", URL)


def representation(**keys: object) -> Representation:
    given: dict[str, object] = {
        "url": URL,
        "status": 200,
        "media_type": "text/html",
        "charset": "utf-8",
        "body": b"",
        "validators": TAGGED,
        "digest": "d1",
        **keys,
    }
    return Representation(**given)  # type: ignore[arg-type]


def seen(text: str, **keys: object) -> Observation:
    """An observation of a text; its fingerprint is the text itself."""
    return Observation(Extract(text), text, representation(digest=text, **keys))


def plan(past: WatchState, now: datetime, **keys: object) -> Plan:
    return conditional.plan(watch(**keys), SETTINGS, past, now)
