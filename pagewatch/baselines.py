"""What is said of a new baseline: why it is one, what is odd about it, and what the user may want to know from the
start."""

from __future__ import annotations

from pagewatch import amounts, conditions, diff, schedule
from pagewatch.answers import Amount, Extract, Observation
from pagewatch.model import Change, Plan


def detail(plan: Plan, seen: Observation, change: Change, first: bool) -> str:
    parts = ["first look" if first else "the watch's definition was edited"]
    if not first and change.old is not None and change.old != change.new:
        parts[0] += f": {diff.gist(change)}"
    extract, watch = seen.extract, plan.watch
    if extract.matched == 0:
        parts.append("nothing there, which counts as a value (if_missing: ok)")
    elif extract.items is not None:
        parts.append(f"{len(extract.items):,} item{'s' if len(extract.items) != 1 else ''}")
    elif not extract.text and not extract.fields:
        parts.append("the watched part is there but empty")
    parts += [_read_as(amount) for amount in extract.amounts if amounts.others(_text_of(extract, amount.field))]
    parts += seen.remarks
    if conditions.holds_already(watch, extract):
        parts.append(f"{conditions.words(watch.when)} is true already: it is told when it becomes so again")
    if extract.matched > 1:
        parts.append(f"{extract.matched} elements match" + (", the first is watched" if watch.match == "first" else ""))
    fresh = seen.representation.fresh_for
    if watch.obey_freshness and fresh is not None and fresh > schedule.interval_of(watch, plan.past):
        parts.append(
            f"the server calls this page fresh for {schedule.span(fresh)}, longer than the interval: "
            "`expires: ignore` looks anyway"
        )
    parts.append(moved(seen.representation.moved_to))
    return "; ".join(filter(None, parts))


def _read_as(amount: Amount) -> str:
    """Which of several numbers is watched."""
    ends = " to ".join(dict.fromkeys((amount.low, amount.high)))
    return f"{amount.field} is read as {ends}" if amount.field else f"read as {ends}"


def _text_of(extract: Extract, field: str) -> str:
    return (dict(extract.fields).get(field) if field else extract.text) or ""


def moved(moved_to: str) -> str:
    return f"moved permanently to {moved_to}" if moved_to else ""
