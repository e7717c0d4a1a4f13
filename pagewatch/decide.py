"""What the outcome of a look means for its watch: the new state, the line to print, and whom to tell.

A pure table from (plan, outcome, now) to a Decision. It promises that only an Observation moves the baseline or its
validators (a 304 may renew validators, RFC 9111 §4.3.4), that each kind of trouble is told once in an episode, and
that every change of watched content is told relative to the last good baseline, however many failed looks lie
between.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pagewatch import baselines, conditional, conditions, diff, fingerprint, notices, schedule
from pagewatch.answers import (
    Amount,
    Deferred,
    Disallowed,
    Extract,
    FetchFailed,
    Missing,
    NoMatch,
    NotModified,
    Observation,
    Outcome,
    Unaltered,
)
from pagewatch.baselines import moved
from pagewatch.frozen import replace
from pagewatch.model import (
    MUTED,
    Baseline,
    Candidate,
    Change,
    Decision,
    Episode,
    Notice,
    Pause,
    Plan,
    Result,
    Watch,
    WatchState,
)
from pagewatch.urls import normalise_url, without_login

TOMBSTONE = 3  # 404s in a row that make a page `gone`


def decide(plan: Plan, outcome: Outcome, now: datetime, recovered: bool = False) -> Decision:
    """The decision for one outcome. `recovered`: the state was damaged and its copy is in use, so a new baseline is
    told."""
    return _with_staleness(plan, _of(plan, outcome, now, recovered), now)


def _of(plan: Plan, outcome: Outcome, now: datetime, recovered: bool) -> Decision:
    match outcome:
        case Observation():
            return _observed(plan, outcome, now, recovered)
        case NotModified():
            return _not_modified(plan, outcome, now)
        case NoMatch():
            return _no_match(plan, outcome, now)
        case Missing():
            return _missing(plan, outcome, now)
        case FetchFailed(kind="offline"):
            return Decision(plan.past, _result(plan, "failed", plan.past, "offline", outcome.reason))
        case FetchFailed():
            return _failed(plan, outcome, now)
        case Disallowed():
            return _disallowed(plan, outcome, now)
        case Deferred():
            until = f" until {outcome.until:%Y-%m-%d %H:%M} UTC" if outcome.until else ""
            later = replace(_result(plan, "deferred", plan.past, "", outcome.reason + until), next_check=outcome.until)
            return Decision(plan.past, later)
        case Unaltered():
            state = _scheduled(plan, _looked(plan, now), schedule.interval_of(plan.watch, plan.past), now)
            said = f"the site's sitemap says that it has not changed since {outcome.lastmod} (hint)"
            return Decision(state, _result(plan, "fresh", state, "", said))


# ------------------------------------------------------------------------------------------------- content was seen


def _observed(plan: Plan, seen: Observation, now: datetime, recovered: bool) -> Decision:
    kept = plan.past.baseline
    if kept is None or kept.recipe != plan.recipe:
        return _baseline(plan, seen, now, recovered)
    if kept.fingerprint == seen.fingerprint:
        return _unchanged(plan, seen, kept, now)
    candidate = _candidate(plan.past.candidate, seen)
    enough = plan.watch.confirm
    if candidate.agree < enough and candidate.differing < 2 * enough:
        return _unconfirmed(plan, candidate, now)
    return _changed(plan, seen, kept, now)


def _baseline(plan: Plan, seen: Observation, now: datetime, recovered: bool) -> Decision:
    past, first = plan.past, plan.past.baseline is None
    state = replace(_verified(plan, seen, now, differs=False), trusted=True, strikes=0, identity="")
    numbers = seen.extract.amounts
    state = replace(state, told=numbers, extremes=conditions.widened((), numbers))
    state = _scheduled(plan, state, schedule.interval_of(plan.watch, past), now)
    before = past.baseline.extract if past.baseline else None
    change = diff.change(before, seen.extract, plan.watch)
    detail = baselines.detail(plan, seen, change, first)
    result = replace(_result(plan, "baseline", state, "", detail), change=change)
    gist = f"now {diff.short(change.new)}"
    if recovered and first:
        return _telling(plan, Decision(state, result), "damaged", gist, detail, now)
    return _recovery(plan, Decision(state, result), gist, now)


def _unchanged(plan: Plan, seen: Observation, kept: Baseline, now: datetime) -> Decision:
    state = _verified(plan, seen, now, differs=False)
    assert state.baseline is not None
    state = replace(state, baseline=replace(state.baseline, seen=kept.seen))
    state = _scheduled(plan, state, schedule.adapted(plan.watch, plan.past, changed=False), now)
    result = _result(plan, "unchanged", state, "", moved(seen.representation.moved_to))
    return _recovery(plan, Decision(state, result), "the watched content is the same as before", now)


def _candidate(before: Candidate | None, seen: Observation) -> Candidate:
    extract = seen.extract if seen.representation.source == "feed" else None
    if before is None:
        return Candidate(seen.fingerprint, 1, 1, extract)
    agree = before.agree + 1 if before.fingerprint == seen.fingerprint else 1
    return Candidate(seen.fingerprint, agree, before.differing + 1, extract)


def _unconfirmed(plan: Plan, candidate: Candidate, now: datetime) -> Decision:
    """The content differs, but not often enough yet: the baseline and its validators stay, and the next look is as
    soon as after a change."""
    state = _well(plan, now, candidate=candidate, last_verified=now, last_full=now, same=0)
    state = _scheduled(plan, state, schedule.adapted(plan.watch, plan.past, changed=True), now)
    result = _result(plan, "unchanged", state, "", f"{candidate.agree} of {plan.watch.confirm}")
    return _recovery(plan, Decision(state, result), "the watched content is there again", now)


def _changed(plan: Plan, seen: Observation, kept: Baseline, now: datetime) -> Decision:
    state = _verified(plan, seen, now, differs=True)
    state = replace(state, changes=state.changes + 1, events=state.events + 1, last_changed=now)
    state = _scheduled(plan, state, schedule.adapted(plan.watch, plan.past, changed=True), now)
    feed = seen.representation.source == "feed"
    change = conditions.between(plan.watch, kept.extract, seen.extract, feed, plan.past)
    change = replace(change, fates=seen.fates)
    part = conditions.told(plan.watch, plan.past, seen.extract, change)
    muted = f"{MUTED}{part}" if isinstance(part, str) else ""
    detail = "; ".join(filter(None, (muted, _trust_detail(plan, state), moved(seen.representation.moved_to))))
    result = replace(_result(plan, "changed", state, "", detail), change=change)
    if isinstance(part, str):
        return _recovery(plan, Decision(state, result), f"now {diff.short(change.new)}", now)
    return _told(plan, Decision(replace(state, told=_numbers(plan.past, seen.extract)), result), part, now)


def _told(plan: Plan, decision: Decision, change: Change, now: datetime) -> Decision:
    """A change is told, and with it that the watch is well again if its trouble was told."""
    state, trouble = decision.state, _told_trouble(plan.past)
    remarks = _remarks(decision.result.detail, trouble)
    title, body = notices.changed(plan.watch.name, plan.watch.url, diff.gist(change), diff.text(change), remarks)
    told = _notices(plan, state, "changed", (title, body), plan.watch.targets, now)
    others = tuple(name for name in plan.watch.alerts if name not in plan.watch.targets)
    if trouble and others:
        told += _notices(plan, state, "recovered", (title, body), others, now)
    return replace(decision, notices=told)


def _numbers(past: WatchState, seen: Extract) -> tuple[Amount, ...]:
    """The numbers that have been told by now; of a field that is not there those that were."""
    return tuple({amount.field: amount for amount in (*past.told, *seen.amounts)}.values())


def _trust_detail(plan: Plan, state: WatchState) -> str:
    if plan.past.trusted and not state.trusted:
        return "the server had gone on answering 304 (not modified): its validators are no longer trusted"
    return ""


def _remarks(detail: str, trouble: Episode | None) -> tuple[str, ...]:
    remarks = [detail] if detail else []
    if trouble is not None:
        remarks.append(f"It is well again; {_since(trouble)}")
    return tuple(remarks)


def _not_modified(plan: Plan, answer: NotModified, now: datetime) -> Decision:
    fresh = _fresh_until(plan, answer.fresh_for, now)
    state = _well(plan, now, candidate=None, last_verified=now, fresh_until=fresh, moved_to=answer.moved_to)
    state = conditional.after_not_modified(state, answer)
    state = _scheduled(plan, state, schedule.adapted(plan.watch, plan.past, changed=False), now)
    result = _result(plan, "not-modified", state, "", moved(answer.moved_to))
    return _recovery(plan, Decision(state, result), "the watched content is the same as before", now)


def _verified(plan: Plan, seen: Observation, now: datetime, differs: bool) -> WatchState:
    """The state after watched content was seen: its baseline, its validators, no trouble."""
    answer = seen.representation
    body = fingerprint.body_digest(answer)
    read = (answer.url, body, answer.length, answer.source)
    baseline = Baseline(plan.recipe, seen.fingerprint, seen.extract, now, *read)
    state = _well(
        plan,
        now,
        baseline=baseline,
        candidate=None,
        last_verified=now,
        last_full=now,
        fresh_until=_fresh_until(plan, answer.fresh_for, now),
        moved_to=answer.moved_to,
        extremes=conditions.widened(plan.past.extremes, seen.extract.amounts),
    )
    return conditional.after_full(replace(plan, past=state), seen, differs)


def _well(plan: Plan, now: datetime, **more: Any) -> WatchState:
    return _answered(plan, now, misses=0, episode=None, **more)


def _answered(plan: Plan, now: datetime, **more: Any) -> WatchState:
    """After a look that did not fail, whatever it found."""
    return _looked(plan, now, failures=0, errors=0, unreachable=0, **more)


def _looked(plan: Plan, now: datetime, **more: Any) -> WatchState:
    """After any look, with these fields as well."""
    watch, past = plan.watch, plan.past
    return replace(
        past,
        name=watch.name,
        url=without_login(watch.url),
        select=watch.select,
        recipe=plan.recipe,
        request=plan.request,
        last_checked=now,
        checks=past.checks + 1,
        **more,
    )


def _fresh_until(plan: Plan, fresh_for: timedelta | None, now: datetime) -> datetime | None:
    if not fresh_for:
        return None
    return now + min(fresh_for, schedule.longest_freshness(plan.watch, plan.past))


def _recovery(plan: Plan, decision: Decision, gist: str, now: datetime) -> Decision:
    """A watch whose trouble had been told and that is well again tells so, once."""
    trouble = _told_trouble(plan.past)
    if trouble is None:
        return decision
    return _telling(plan, decision, "recovered", gist, _since(trouble), now)


def _since(trouble: Episode) -> str:
    return f"since {trouble.began:%Y-%m-%d %H:%M} UTC: {trouble.detail}"


def _told_trouble(past: WatchState) -> Episode | None:
    return past.episode if past.episode is not None and past.episode.told else None


# ----------------------------------------------------------------------------------------------------- trouble


def _no_match(plan: Plan, outcome: NoMatch, now: datetime) -> Decision:
    state = _answered(plan, now, misses=0)
    state = _scheduled(plan, state, schedule.interval_of(plan.watch, plan.past), now)
    detail = outcome.what + (f"; {outcome.hint}" if outcome.hint else "")
    decision = Decision(state, _result(plan, "no-match", state, outcome.kind, detail))
    return _trouble(plan, decision, "no-match", True, now, unconditional=not outcome.conditional)


def _missing(plan: Plan, outcome: Missing, now: datetime) -> Decision:
    state = _answered(plan, now, misses=plan.past.misses + 1)
    gone = state.misses >= TOMBSTONE
    state = _scheduled(plan, state, plan.watch.every.high if gone else schedule.interval_of(plan.watch, plan.past), now)
    count = f"{state.misses} in a row" + ("" if gone else f", gone at {TOMBSTONE}")
    result = _result(plan, "gone" if gone else "missing", state, "", f"the server answers {outcome.status} ({count})")
    known = plan.past.episode is not None and "missing" in plan.past.episode.told
    tell = plan.past.baseline is None if not gone else not known
    return _trouble(plan, Decision(state, result), result.outcome, tell, now)


def _failed(plan: Plan, outcome: FetchFailed, now: datetime) -> Decision:
    """Any HTTP answer ends a row of looks that got none; each row counts towards `alert_after` on its own."""
    past = plan.past
    errors = past.errors + 1 if outcome.answered else past.errors
    unreachable = 0 if outcome.answered else past.unreachable + 1
    state = _looked(plan, now, failures=past.failures + 1, errors=errors, unreachable=unreachable)
    wait = schedule.back_off(schedule.interval_of(plan.watch, past), state.failures)
    state = replace(state, next_check=now + wait)
    pause = pause_after(plan, outcome, now)
    if pause is not None:
        state = replace(state, next_check=pause[1].until)
    decision = Decision(state, _result(plan, "failed", state, outcome.kind, outcome.reason), pause=pause)
    tell = max(errors, unreachable) >= plan.watch.alert_after or past.baseline is None
    return _trouble(plan, decision, "failing", tell, now)


def pause_after(plan: Plan, outcome: Outcome, now: datetime) -> tuple[str, Pause] | None:
    """A URL whose whole host is to be left alone after this outcome, and how long: as Retry-After asks, else by this
    watch's own back-off."""
    if not isinstance(outcome, FetchFailed) or not outcome.pauses_host:
        return None
    own = schedule.back_off(schedule.interval_of(plan.watch, plan.past), plan.past.failures + 1)
    pause = Pause(now + (outcome.retry_after or own), asked=outcome.retry_after is not None)
    return outcome.url or plan.watch.url, pause


def _disallowed(plan: Plan, outcome: Disallowed, now: datetime) -> Decision:
    state = _answered(plan, now)
    state = _scheduled(plan, state, schedule.adapted(plan.watch, plan.past, changed=False), now)
    rule = f"{outcome.robots_url} line {outcome.line}: {outcome.rule}"
    detail = (
        rule
        if outcome.url == normalise_url(plan.watch.url)
        else f"the redirect target {outcome.url} is forbidden by {rule}"
    )
    return _trouble(plan, Decision(state, _result(plan, "disallowed", state, "", detail)), "disallowed", True, now)


def _trouble(
    plan: Plan, decision: Decision, kind: str, tell: bool, now: datetime, unconditional: bool = False
) -> Decision:
    """Enters the look into the episode, and tells of this kind of trouble unless the episode has done so."""
    result, before = decision.result, plan.past.episode
    episode = before or Episode(now, result.outcome, result.kind, result.detail)
    blind = episode.unconditional or (unconditional and "no-match" not in episode.told)
    episode = replace(episode, outcome=result.outcome, kind=result.kind, detail=result.detail, unconditional=blind)
    decision = replace(decision, state=replace(decision.state, episode=episode))
    if not tell or kind in episode.told:
        return decision
    told = replace(decision.state, episode=replace(episode, told=(*episode.told, kind)))
    fresh = replace(decision, state=told, result=replace(result, news=True))
    return _telling(plan, fresh, kind, result.detail, result.detail, now)


def _with_staleness(plan: Plan, decision: Decision, now: datetime) -> Decision:
    """Each failure may be excusable and no trouble have been told: not having seen the content for long is told."""
    seen, result = decision.state.last_verified, decision.result
    if result.kind == "offline" or seen is None or not is_stale(plan.watch, decision.state, now):
        return decision
    text = f"not verified since {seen:%Y-%m-%d %H:%M} UTC; the last look: {result.outcome}"
    detail = ": ".join(filter(None, (text, result.kind, result.detail)))
    return _trouble(plan, replace(decision, result=replace(result, detail=detail)), "stale", True, now)


def is_stale(watch: Watch, past: WatchState, now: datetime) -> bool:
    """Whether its content has not been seen for long, and nobody has been told of any trouble."""
    moment = schedule.stale_at(watch, past)
    return moment is not None and now >= moment and _told_trouble(past) is None


# ---------------------------------------------------------------------------------------------------- building blocks


def _telling(plan: Plan, decision: Decision, kind: str, gist: str, text: str, now: datetime) -> Decision:
    state = replace(decision.state, events=decision.state.events + 1)
    message = notices.warning(kind, plan.watch.name, plan.watch.url, gist, text)
    told = _notices(plan, state, kind, message, plan.watch.alerts, now)
    return replace(decision, state=state, notices=(*decision.notices, *told))


def _notices(
    plan: Plan, state: WatchState, kind: str, message: tuple[str, str], targets: tuple[str, ...], now: datetime
) -> tuple[Notice, ...]:
    """One notice a target. The id names the event, so that A→B, B→A, A→B are three and a repeated one is harmless."""
    title, body = message
    return tuple(
        Notice(f"{state.id}-{state.events}-{target}", state.id, plan.watch.name, kind, title, body, target, now)
        for target in targets
    )


def _scheduled(plan: Plan, state: WatchState, interval: timedelta, now: datetime) -> WatchState:
    return replace(state, interval=interval, next_check=schedule.next_check(plan.past, interval, now))


def _result(plan: Plan, outcome: str, state: WatchState, kind: str = "", detail: str = "") -> Result:
    return Result(plan.watch.name, without_login(plan.watch.url), outcome, kind, detail, next_check=state.next_check)
