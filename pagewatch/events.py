"""What the history keeps of a decision: when, what came of it, why, what it cost, and what was seen if it was new."""

from __future__ import annotations

import re
from datetime import datetime

from pagewatch import diff
from pagewatch.answers import FetchFailed, Missing, NotModified, Observation, Outcome
from pagewatch.frozen import replace
from pagewatch.model import Decision, Event, Plan

VERSIONS = ("baseline", "changed")  # the outcomes with which something new was seen


def event_of(plan: Plan, outcome: Outcome, decision: Decision, now: datetime, milliseconds: int) -> Event | None:
    """The event of a look; None where nobody was asked and nothing has been decided."""
    state, result = decision.state, decision.result
    if state.checks == plan.past.checks:
        return None
    event = Event(
        id=f"{state.id}-{state.checks}",
        watch_id=state.id,
        at=now,
        outcome=result.outcome,
        kind=result.kind,
        detail=result.detail,
        status=_status(outcome),
        size=outcome.representation.length if isinstance(outcome, Observation) else 0,
        milliseconds=milliseconds,
    )
    return _with_version(event, decision) if result.outcome in VERSIONS else event


def _with_version(event: Event, decision: Decision) -> Event:
    kept, change = decision.state.baseline, decision.result.change
    if kept is None:
        return event
    title = diff.gist(change) if change is not None and event.outcome == "changed" else ""
    return replace(event, fingerprint=kept.fingerprint, extract=kept.extract, title=title)


def _status(outcome: Outcome) -> int:
    """Of HTTP; 0 where there was no answer."""
    match outcome:
        case Observation():
            return outcome.representation.status
        case NotModified():
            return 304
        case Missing():
            return outcome.status
        case FetchFailed():
            found = re.fullmatch(r"http-(\d{3})", outcome.kind)
            return int(found[1]) if found else 0
        case _:
            return 0
