"""Conditional requests: which validators may be sent, and whether the server's 304 can be believed (RFC 9110 §13).

It promises that validators go out only for a baseline that is whole and was made by the present definition, that once
a week a look is made without them (the audit), and that a server whose 304 hid a change is not believed again.
"""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

from pagewatch import fingerprint
from pagewatch.answers import NotModified, Observation, Validators
from pagewatch.frozen import replace
from pagewatch.model import Plan, Settings, Watch, WatchState

AUDIT_AFTER = timedelta(days=6)
AUDIT_SPREAD = timedelta(days=2)

# The identity rule: a 200 that repeats the ETag that was sent comes from servers which compare the tag of the packed
# body with that of the plain one. They answer 304 when asked for `identity`: ASK (without validators), then two tries,
# then YES or NO for good.
ASK, NONE_YET, ONE_MISSED, YES, NO = "ask", "0", "1", "yes", "no"


def plan(watch: Watch, settings: Settings, past: WatchState, now: datetime) -> Plan:
    """How to look at a watch now."""
    recipe, request = fingerprint.recipe(watch), fingerprint.request_digest(watch, settings)
    audit = _audit_is_due(past, now)
    usable = _baseline_is_usable(past, recipe, request) and past.trusted and past.identity != ASK
    blind = past.episode is not None and past.episode.unconditional
    validators = past.validators if usable and not audit and not blind and not _has_parts(past) else Validators()
    packed = past.identity in ("", NO)
    plain = Plan(watch, past, recipe, request, validators, "gzip, deflate" if packed else "identity", audit)
    return _with_hint(plain, now) if watch.hint and usable and not audit and past.episode is None else plain


def _with_hint(plan: Plan, now: datetime) -> Plan:
    """Hints spare a request while all is well: `length` where there are no validators, and a sitemap's lastmod for a
    few days only, so that the page itself is asked for often enough."""
    past = plan.past
    if plan.watch.hint == "length":
        kept = past.baseline
        return replace(plan, length=kept.length if kept and not plan.validators else 0)
    recent = past.last_verified is not None and timedelta(0) <= now - past.last_verified < AUDIT_AFTER
    return replace(plan, verified=past.last_verified if recent else None)


def is_edited(plan: Plan) -> bool:
    """Whether something else is watched than at the last look: then it is looked at, due or not."""
    return plan.past.recipe not in ("", plan.recipe)


def _baseline_is_usable(past: WatchState, recipe: str, request: str) -> bool:
    """RFC 9110 §15.4.5: who asks for a 304 must hold what it stands for."""
    kept = past.baseline
    return kept is not None and kept.extract is not None and kept.recipe == recipe and past.request == request


def _has_parts(past: WatchState) -> bool:
    """An index that has not changed says nothing of the sitemaps that it names."""
    kept = past.baseline.extract if past.baseline else None
    return kept is not None and kept.parts > 0


def _audit_is_due(past: WatchState, now: datetime) -> bool:
    """Six to eight days after the last 200, at a moment of the watch's own; a 200 in the future means a wrong clock."""
    if past.last_full is None:
        return False
    spread = AUDIT_SPREAD * (zlib.crc32(past.id.encode()) / 2**32)
    return now >= past.last_full + AUDIT_AFTER + spread or past.last_full > now + timedelta(hours=1)


def after_full(plan: Plan, seen: Observation, differs: bool) -> WatchState:
    """The state after a 200: the validators of this answer, and what it says about trusting and asking this server."""
    past, answer = plan.past, seen.representation
    state = replace(past, validators=answer.validators, identity=_identity_after_full(plan, seen), same=0)
    if answer.conditional:
        return replace(state, strikes=0)
    if not (differs and plan.audit and past.same):
        return state
    strikes = past.strikes + 1
    return replace(
        state,
        strikes=strikes,
        trusted=past.trusted and strikes < 2 and not _repeats(answer.validators, past.validators),
    )


def _repeats(new: Validators, old: Validators) -> bool:
    """Other content under the validators that were held: the server's 304 says nothing."""
    return new.etag == old.etag if old.etag else new.last_modified == old.last_modified


def _identity_after_full(plan: Plan, seen: Observation) -> str:
    rule, answer = plan.past.identity, seen.representation
    if rule == ASK:
        return NONE_YET
    if not answer.conditional:
        return rule
    after = {"": ASK, YES: ONE_MISSED} if answer.repeated_etag else {}
    return {NONE_YET: ONE_MISSED, ONE_MISSED: NO, **after}.get(rule, rule)


def after_not_modified(past: WatchState, answer: NotModified) -> WatchState:
    identity = YES if past.identity in (NONE_YET, ONE_MISSED) else past.identity
    kept = past.validators.renewed(answer.validators)
    return replace(past, validators=kept, identity=identity, same=past.same + 1)
