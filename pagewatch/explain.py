"""The words of `monitor.py why`: why an alert came, or why none did.

Everything is said from what is remembered, in the order in which a look goes on: is the watch looked at, when, what
did its server say, what of the page counts, is a change told, and to whom. Text is not harmless yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pagewatch import conditional, conditions, fingerprint, schedule
from pagewatch.frozen import dataclass
from pagewatch.model import MUTED, STDOUT, Event, Notice, Pause, Problem, Told, Watch, WatchState
from pagewatch.notices import command

LOST = "(its content is lost)"
SHOWN_TOLD = 5  # deliveries
SAME = {
    "not-modified": "the server says that nothing has changed",
    "unchanged": "the page came, and what is watched is the same",
    "disallowed": "robots.txt forbids it",
}


@dataclass(frozen=True)
class Case:
    """What is known of a watch: its definition (None: not in the file, or `problem`), its state, its versions with
    their numbers and its decisions, the oldest first, its host and the pause of that, and since when the machine has
    been offline."""

    watch: Watch | None
    problem: Problem | None
    past: WatchState
    versions: tuple[tuple[int, Event], ...]
    decisions: tuple[Event, ...]
    host: str
    pause: Pause | None
    offline_since: datetime | None


def time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def no_version(past: WatchState) -> str:
    """Why a watch has no history."""
    more = f"{command('why', past.name)} says more"
    if past.baseline is not None:
        return (
            f'The history has no version of "{past.name}", though it was seen at {time(past.baseline.seen)}: '
            f"history.db has been taken away or was damaged. The next change begins it anew; {more}"
        )
    if past.checks:
        return f'No version of "{past.name}" has been seen yet: no look has found what is watched. {more}'
    return f'"{past.name}" has no history yet: it has not been looked at.'


# ----------------------------------------------------------------------------------------------------- past decisions


def decision(event: Event, versions: Iterable[tuple[int, Event]] = ()) -> str:
    """Why it came out as it did, in people's words, and what it cost."""
    number = next((n for n, version in versions if (version.id, version.at) == (event.id, event.at)), 0)
    seen = f"version {number}" if number else ""
    said = ": ".join(filter(None, (SAME.get(event.outcome, ""), event.kind, event.title, event.detail)))
    if _is_candidate(event):
        said = f"the page came, and what is watched differs: {event.detail} looks that have to agree (confirm)"
    return f"{'; '.join(filter(None, (said, seen)))} ({cost(event)})"


def _is_candidate(event: Event) -> bool:
    return event.outcome == "unchanged" and event.detail[:1].isdigit()


def cost(event: Event) -> str:
    """The status where it is known, the bytes of the body, the time."""
    status = f"HTTP {event.status}" if event.status else ""
    size = f"{event.size:,} bytes" if event.size else ""
    return ", ".join(filter(None, (status, size, f"{event.milliseconds:,} ms")))


# ---------------------------------------------------------------------------------------------------------- deliveries


def deliveries(told: Sequence[Told], waiting: Iterable[Notice], declared: Iterable[str]) -> list[str]:
    """What became of the last notices, and what is still unsent."""
    lines = [f'{time(row.at)}  "{row.title}" {_became(row)}' for row in told[-SHOWN_TOLD:]]
    return lines + [f'unsent  "{notice.title}" to {_waits(notice, set(declared))}' for notice in waiting]


def _became(row: Told) -> str:
    name = _target(row.target)
    return f"not taken by {name}: {row.error}" if row.error else f"delivered to {name}"


def _waits(notice: Notice, declared: set[str]) -> str:
    name = _target(notice.target)
    if notice.target not in (STDOUT, *declared):
        return f"{name}, which is no longer in watches.yaml: {command('forget')} --target {name} drops it"
    tries = f"tried {notice.attempts} time{'s' if notice.attempts > 1 else ''}" if notice.attempts else "not tried yet"
    error = f" ({notice.error})" if notice.error else ""
    again = f"next try {time(notice.next_try)}" if notice.next_try else "the next run tries"
    return f"{name}: {tries}{error}; {again}"


def _target(name: str) -> str:
    return name if name != STDOUT else "standard output"


# --------------------------------------------------------------------------- no alert, though the page has changed?


def no_alert(case: Case, now: datetime) -> list[str]:
    """Why a change of the page may not have been told, a sentence each."""
    watch = case.watch
    if case.problem is not None:
        said = f"line {case.problem.line} of watches.yaml: {case.problem.message}"
        return [f"It is not looked at, because it cannot be used ({said}). What is remembered is kept."]
    if watch is None:
        return ["It is not looked at, because it is no longer in watches.yaml. What is remembered is kept."]
    return [*_when(watch, case, now), *_last_look(watch, case), *_untold(watch, case), *_what_counts(watch)]


def _when(watch: Watch, case: Case, now: datetime) -> Iterator[str]:
    """Whether the next run looks, and if not, what it waits for."""
    past = case.past
    if not watch.enabled:
        yield "It is switched off in watches.yaml (enabled: false): it is not looked at."
        return
    if case.offline_since is not None:
        yield f"This machine has been offline since {time(case.offline_since)}: until it is not, nothing can be seen."
    if not past.checks:
        yield "It has not been looked at yet: the next run does that."
    elif past.recipe not in ("", fingerprint.recipe(watch)):
        yield "It has been edited since the last look: what the next run sees is its new baseline, which is not told."
    else:
        yield from _waits_for(watch, case, now) or ["It is due: the next run looks at it."]


def _waits_for(watch: Watch, case: Case, now: datetime) -> list[str]:
    past, found = case.past, []
    pause = case.pause if case.pause is not None and schedule.is_paused(case.pause, now, False) else None
    due = schedule.due_at(watch, past, now)
    if due is not None and now < due:
        every = f"it is looked at every {schedule.span(schedule.interval_of(watch, past))}"
        why = _retry(past) if past.failures else every
        at_once = "" if pause else f"; {command('check', watch.name)} --now looks at once"
        found.append(f"It is not due until {time(past.next_check or due)} ({why}){at_once}.")
    if pause is not None:
        why = "asked for a pause (Retry-After)" if pause.asked else "is being backed off from, after errors"
        found.append(f"{case.host} {why} until {time(pause.until)}: nothing is asked of it before.")
    fresh = schedule.fresh_until(watch, past, now)
    if fresh is not None and now < fresh:
        said = f"Its server said that the page stays fresh until {time(fresh)}"
        found.append(f"{said}: it is not asked before, unless the watch says expires: ignore.")
    return found


def _last_look(watch: Watch, case: Case) -> Iterator[str]:
    """What the last look says about a change that it did not find."""
    past, last = case.past, case.decisions[-1].outcome if case.decisions else ""
    if past.episode is not None:
        yield from _trouble(watch, past)
    elif past.candidate is not None:
        agree = f"{past.candidate.agree} of {watch.confirm}"
        yield f"What is there differs from what was told last, but only {agree} looks in a row agree so far (confirm)."
    elif last == "not-modified" and past.last_full is not None:
        first = past.last_full + conditional.AUDIT_AFTER
        between = f"between {time(first)} and {time(first + conditional.AUDIT_SPREAD)}"
        yield (
            "At the last look the server said that nothing has changed (304), and that is believed. If it is wrong: "
            f"without condition the page was asked for last at {time(past.last_full)}, and is again {between}."
        )
    elif last == "unchanged":
        yield "At the last look the page came in full, and the fingerprint of what is watched was the same."
    elif last == "fresh":
        yield f"It was not asked at the last look (hint: {watch.hint}): {case.decisions[-1].detail}."
    if not past.trusted:
        yield "Its server has said 304 though the page had changed: it is always asked in full now."


def _trouble(watch: Watch, past: WatchState) -> Iterator[str]:
    trouble = past.episode
    assert trouble is not None
    said = SAME["disallowed"] if trouble.outcome == "disallowed" else trouble.kind or trouble.outcome
    yield (
        f"It has been in trouble since {time(trouble.began)}: {said}: {trouble.detail}. "
        f"A change is told when what is watched is seen again."
    )
    if trouble.told:
        names = ", ".join(_target(name) for name in watch.alerts) or "nobody: it has no target"
        yield f"That trouble was told once ({', '.join(trouble.told)}), to {names}; whether it arrived stands above."
    elif trouble.outcome == "failed":
        row = max(past.errors, past.unreachable)
        enough = _times(watch.alert_after, "failed look")
        yield f"That trouble is told after {enough} (alert_after); so far it is {row}."
    else:
        yield "That trouble has not been told yet: it may pass."


def _untold(watch: Watch, case: Case) -> Iterator[str]:
    """Versions that made no notice."""
    number, last = case.versions[-1] if case.versions else (0, None)
    if last is not None and last.outcome == "changed" and last.detail.startswith(MUTED):
        said = f"The last change (version {number}, {time(last.at)}) was not told: {last.detail}"
        yield f"{said}. {_difference(watch.name, number)} shows it."
    elif last is not None and last.outcome == "baseline" and number == 1:
        yield f"It was seen first at {time(last.at)}: what changed before that is not known."
    elif last is not None and last.outcome == "baseline":
        said = f"At {time(last.at)} the edited watch made a new baseline (version {number}), which is not told"
        yield f"{said}. {_difference(watch.name, number)} shows what was different."
    if not watch.targets:
        yield "Its changes are told to nobody: notify is empty."


def _what_counts(watch: Watch) -> Iterator[str]:
    """The rules by which a part of the page counts for nothing."""
    yield f"{_part(watch)}; outside of it nothing counts, and white space never does."
    if watch.ignore:
        kind = "members" if watch.source == "json" or watch.path else "elements"
        yield f"Left out of that: the {kind} {', '.join(watch.ignore)} (ignore)."
    if watch.ignore_text:
        yield f"Removed from the text before it is compared: {', '.join(watch.ignore_text)} (ignore_text)."
    if watch.ignore_order:
        yield "The order of lines does not count (ignore_order)."
    if watch.number:
        names = ", ".join(name for name, _ in watch.number if name)
        yield f"Only the number counts{' in ' if names else ''}{names}, not how it is written (number)."
    if watch.only:
        yield f"Only what is {watch.only} is told (only: {watch.only})."
    if watch.when:
        yield f"A change is told only when this becomes true: {conditions.words(watch.when)} (when)."


def _part(watch: Watch) -> str:
    """What is watched, as its keys say it."""
    fields = ", ".join(name for name, _ in watch.fields) or ", ".join(watch.counted)
    named = (
        ("select", watch.select and f"{watch.select} ({'every match' if watch.match == 'all' else 'the first match'})"),
        ("path", watch.path),
        ("items", watch.items),
        ("key", watch.key),
        ("fields", fields),
    )
    parts = [f"{name} {text}" for name, text in named if text]
    whole = f"the whole {watch.source}" if watch.source else "the whole page"
    return f"What counts is {', '.join(parts) or whole}"


# ------------------------------------------------------------------------------ an alert, though nothing has changed?


def alert(case: Case) -> list[str]:
    """What the last alert was about, and what may be done if it was about nothing."""
    name = case.past.name
    told = [(n, e) for n, e in case.versions if e.outcome == "changed" and not e.detail.startswith(MUTED)]
    if not told:
        return ["No change has been told so far."]
    if case.watch is not None and not case.watch.targets:
        return ["Its changes are told to nobody: notify is empty."]
    number, last = told[-1]
    shown = _difference(name, number)
    return [
        f"The last change told was version {number}, seen at {time(last.at)}: {last.title}. {shown} shows all of it.",
        "If that is noise: narrow select, or name what varies in ignore or ignore_text; confirm: 2 wants two looks "
        f"that agree. {command('test', name)} --twice shows what differs between two looks.",
    ]


def _difference(name: str, number: int) -> str:
    return f"{command('diff', name)} {number - 1} {number}" if number > 1 else command("diff", name)


def _retry(past: WatchState) -> str:
    """When a failure is tried again."""
    wait = past.next_check - past.last_checked if past.next_check and past.last_checked else None
    after = f" after {schedule.span(wait)}" if wait else " later"
    return f"{_times(past.failures, 'failed look')}: it is tried again{after}"


def _times(count: int, what: str) -> str:
    return f"{count} {what}s in a row" if count != 1 else f"1 {what}"
