"""What has changed, told again from the history: an entry of the feed, a change in the report, the values of a number.

It promises that no secret is in it, wherever a page repeated one: texts are without them before they are compared or
cut. What a watch does not want to be told of (`only`, `when`) is in no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from pagewatch import conditions, diff
from pagewatch.answers import Extract, Item
from pagewatch.atom import Entry
from pagewatch.comparison import Compared
from pagewatch.frozen import dataclass, replace
from pagewatch.model import Change, Event, Every, Watch, WatchState
from pagewatch.plots import Point
from pagewatch.sides import rows_of

ANY = timedelta(days=1)  # an interval that does not matter

Redact = Callable[[str], str]


@dataclass(frozen=True)
class Subject:
    """What the versions of a watch are compared by: its definition as it is now, and whether it is a feed, whose
    entries are never removed."""

    watch: Watch
    feed: bool


def subject(past: WatchState, watch: Watch | None) -> Subject:
    """`watch` is None where the file has no (sound) definition of it."""
    known = watch or Watch(past.name, past.url, 0, Every(ANY, ANY))
    return Subject(known, past.baseline is not None and past.baseline.source == "feed")


def between(old: Extract | None, new: Extract, subject: Subject) -> Change:
    """What differs between two versions, with words about its numbers."""
    return conditions.between(subject.watch, old, new, subject.feed)


def entry(event: Event, before: Extract | None, subject: Subject, redact: Redact) -> Entry:
    """A change for the feed. Its id has the time, because a state brought back from its copy counts from there
    again."""
    gist, text = event.title, event.title
    if event.extract is not None:
        old, new = _hidden(before, redact), _without_secrets(event.extract, redact)
        change = between(old, new, subject)
        part = _told(change, new, subject.watch)
        gist = event.title if event.title and part == change else diff.gist(part)
        text = diff.text(part)
    watch = subject.watch
    return Entry(f"{event.id} {event.at.isoformat()}", redact(watch.name), redact(watch.url), gist, text, event.at)


def compared(event: Event, before: Extract | None, subject: Subject, redact: Redact) -> Compared:
    """A change for the report; without rows where its content is not there."""
    if event.extract is None:
        return Compared(event.at, event.title)
    change = between(_hidden(before, redact), _without_secrets(event.extract, redact), subject)
    return Compared(event.at, event.title or diff.gist(change), rows_of(change))


def values(versions: Iterable[Event], field: str) -> tuple[Point, ...]:
    """What the number in a field ("": the whole text) was, and since when; of a range the low end."""
    return tuple(
        (event.at, float(amount.low))
        for event in versions
        if event.extract is not None
        for amount in event.extract.amounts
        if amount.field == field
    )


def _told(change: Change, new: Extract, watch: Watch) -> Change:
    """The part of it that the watch wants to be told. That it is told at all has been decided then."""
    if not watch.only and (not watch.when or new.items is None):
        return change
    part = conditions.told(watch, WatchState("", watch.name, watch.url), new, change)
    return part if isinstance(part, Change) else change


# ----------------------------------------------------------------------------------------------------------- secrets


def _without_secrets(extract: Extract, redact: Redact) -> Extract:
    items = None if extract.items is None else tuple(_item(item, redact) for item in extract.items)
    return replace(extract, text=redact(extract.text), fields=_fields(extract.fields, redact), items=items)


def _hidden(extract: Extract | None, redact: Redact) -> Extract | None:
    return None if extract is None else _without_secrets(extract, redact)


def _item(item: Item, redact: Redact) -> Item:
    return Item(redact(item.key), redact(item.text), redact(item.link), _fields(item.fields, redact))


def _fields(fields: tuple[tuple[str, str | None], ...], redact: Redact) -> tuple[tuple[str, str | None], ...]:
    return tuple((name, None if value is None else redact(value)) for name, value in fields)
