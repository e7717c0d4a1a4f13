"""The table of decisions (tests/cases/decide.yaml), and what each decision does to state, schedule and notices."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from pagewatch.answers import (
    Deferred,
    Disallowed,
    Extract,
    FetchFailed,
    Missing,
    NoMatch,
    NotModified,
    Outcome,
    Validators,
)
from pagewatch.decide import decide
from pagewatch.frozen import replace
from pagewatch.model import Every, Pause, Plan, WatchState
from pagewatch.values import duration
from tests.values import DAY, HOUR, MINUTE, START, URL, first_sight, plan, seen

ROWS = yaml.safe_load((Path(__file__).parent / "cases" / "decide.yaml").read_text(encoding="utf-8"))

DAILY = Every(DAY, DAY)


def came(look: str, step: dict[str, Any]) -> Outcome:
    word, _, rest = look.partition(" ")
    tag = Validators(f'"{step.get("etag", "v1")}"', "", URL)
    if word in ("200", "200!"):
        return seen(rest, conditional=word == "200", validators=tag, repeated_etag=step.get("repeated", False))
    if word in ("404", "410"):
        return Missing(int(word))
    if word in ("no", "no!"):
        return NoMatch("selector", 'nothing matches "#p"', conditional=word == "no")
    if word in ("fail", "dead"):
        return FetchFailed(rest, "because", answered=word == "fail")
    return NotModified() if word == "304" else Disallowed(URL, "http://127.0.0.1/robots.txt", "Disallow: /", 2)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_table_of_decisions(row: dict[str, Any]) -> None:
    state, now = first_sight(), START - DAY
    for number, step in enumerate(row["steps"], 1):
        look, _, outcome = str(step["look"]).partition(" -> ")
        now += duration(step.get("after", "1d"))
        planned = plan(state, now, **keys(row.get("watch", {}) | step.get("watch", {})))
        decision = decide(planned, came(look, step), now)
        where = f"step {number}: {step}"
        assert decision.result.outcome == (outcome or step["outcome"]), where
        assert [notice.kind for notice in decision.notices] == step.get("told", []), where
        if "sends" in step:
            assert bool(planned.validators) == step["sends"], where
        assert planned.accept_encoding == step.get("coding", planned.accept_encoding), where
        assert step.get("detail has", "") in decision.result.detail, where
        assert step.get("title has", "") in "".join(notice.title for notice in decision.notices), where
        assert step.get("body has", "") in "".join(notice.body for notice in decision.notices), where
        unmoved = decision.result.outcome not in ("baseline", "unchanged", "changed")
        assert not unmoved or decision.state.baseline == state.baseline, where
        state = decision.state


def keys(given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(map(tuple, value)) if isinstance(value, list) else value for name, value in given.items()}


def after(*looks: Outcome, state: WatchState | None = None, every: Every = DAILY) -> tuple[Plan, WatchState, datetime]:
    """The plan, state and time after these looks, each a day after the one before."""
    now, state = START - DAY, state or first_sight()
    planned = plan(state, now)
    for outcome in looks:
        now += DAY
        planned = plan(state, now, every=every)
        state = decide(planned, outcome, now).state
    return planned, state, now


def test_a_304_renews_the_validators_it_repeats_and_erases_none() -> None:
    _, state, now = after(seen("A"))
    renewed = decide(plan(state, now), NotModified(Validators("", "Tue, 03 Mar 2026 07:00:00 GMT")), now).state
    assert renewed.validators == replace(state.validators, last_modified="Tue, 03 Mar 2026 07:00:00 GMT")


def test_validators_are_replaced_by_every_observation_and_dropped_if_it_has_none() -> None:
    _, state, now = after(seen("A"), seen("A", validators=Validators()))
    assert not state.validators
    assert state.last_verified == now


def test_every_change_has_ids_of_its_own_for_each_target() -> None:
    _, state, now = after(seen("A"))
    ids = set()
    for text in "BAB":
        decision = decide(plan(state, now, targets=("mail", "phone")), seen(text), now)
        ids |= {notice.id for notice in decision.notices}
        state = decision.state
    assert len(ids) == 6


def test_the_same_event_has_the_same_id() -> None:
    _, state, now = after(seen("A"))
    first, again = (decide(plan(state, now), seen("B"), now) for _ in range(2))
    assert [notice.id for notice in first.notices] == [notice.id for notice in again.notices]


def test_warnings_go_to_the_alert_targets_and_changes_to_the_watchs_own() -> None:
    planned, state, now = after(seen("A"))
    planned = replace(planned, watch=replace(planned.watch, targets=("phone",), alerts=("mail",)), past=state)
    warned = decide(planned, NoMatch("selector", "nothing"), now)
    assert [notice.target for notice in warned.notices] == ["mail"]
    both = decide(replace(planned, past=warned.state), seen("B"), now)
    assert [(notice.target, notice.kind) for notice in both.notices] == [("phone", "changed"), ("mail", "recovered")]


def test_a_watch_with_nobody_to_tell_still_enters_its_trouble_as_told() -> None:
    planned, state, now = after(seen("A"))
    planned = replace(planned, watch=replace(planned.watch, alerts=()), past=state)
    warned = decide(planned, NoMatch("selector", "nothing"), now)
    assert not warned.notices
    assert warned.result.news
    assert warned.state.episode is not None and warned.state.episode.told == ("no-match",)


def test_failures_back_off_from_an_hour_to_a_day_and_recover() -> None:
    _, state, now = after(seen("A"))
    waits = []
    for _ in range(7):
        state = decide(plan(state, now), FetchFailed("http-500", "broken"), now).state
        assert state.next_check is not None
        waits.append((state.next_check - now) / HOUR)
    assert waits == [1, 2, 4, 8, 16, 24, 24]
    assert decide(plan(state, now), seen("A"), now).state.failures == 0


def test_retry_after_pauses_the_whole_host_until_then() -> None:
    _, state, now = after(seen("A"))
    asked = decide(plan(state, now), FetchFailed("rate-limited", "429", 10 * MINUTE, pauses_host=True), now)
    assert asked.pause == (URL, Pause(now + 10 * MINUTE, asked=True))
    assert asked.state.next_check == now + 10 * MINUTE


def test_a_503_without_retry_after_pauses_the_host_by_the_back_off() -> None:
    _, state, now = after(seen("A"))
    decision = decide(plan(state, now), FetchFailed("http-503", "busy", pauses_host=True), now)
    assert decision.pause == (URL, Pause(now + HOUR, asked=False))


def test_a_watch_that_was_put_off_keeps_its_state() -> None:
    planned, state, now = after(seen("A"))
    decision = decide(replace(planned, past=state), Deferred("127.0.0.1", now + HOUR, "asked for a pause"), now)
    assert decision.state == state
    assert (decision.result.outcome, decision.result.next_check) == ("deferred", now + HOUR)


def test_an_adaptive_interval_starts_low_doubles_on_none_and_halves_on_change() -> None:
    every = Every(HOUR, 30 * DAY)
    _, state, now = after(seen("A"), every=every)
    assert state.interval == HOUR
    for expected, outcome in (
        (2, seen("A")),
        (4, NotModified()),
        (2, seen("B")),
        (2, NoMatch("selector", "-")),
        (4, seen("B")),
    ):
        state = decide(plan(state, now, every=every), outcome, now).state
        assert state.interval == expected * HOUR


def test_a_tombstone_is_looked_at_at_the_upper_bound() -> None:
    every = Every(HOUR, 4 * DAY)
    _, state, now = after(seen("A"), Missing(404), Missing(404), Missing(404), every=every)
    assert state.next_check == now + 4 * DAY


def test_freshness_never_holds_longer_than_a_day_or_the_interval_and_the_baseline_says_so() -> None:
    now = START
    decision = decide(plan(first_sight(), now), seen("A", fresh_for=timedelta(days=365)), now)
    assert decision.state.fresh_until == now + DAY
    assert "expires: ignore" in decision.result.detail


def test_the_baseline_says_how_many_elements_matched_and_that_the_text_is_empty() -> None:
    found = seen("A")
    many = decide(plan(first_sight(), START), replace(found, extract=Extract("A", matched=3)), START)
    assert "3 elements match" in many.result.detail
    empty = decide(plan(first_sight(), START), replace(found, extract=Extract("")), START)
    assert "empty" in empty.result.detail


def test_a_baseline_made_anew_because_of_damaged_state_is_told() -> None:
    decision = decide(plan(first_sight(), START), seen("A"), START, recovered=True)
    assert [notice.kind for notice in decision.notices] == ["damaged"]


def test_a_permanent_redirect_is_shown_and_named_in_the_next_notice() -> None:
    _, state, now = after(seen("A"))
    moved = decide(plan(state, now), seen("A", moved_to="http://127.0.0.1/new"), now)
    assert "http://127.0.0.1/new" in moved.result.detail and moved.state.moved_to == "http://127.0.0.1/new"
    told = decide(plan(moved.state, now), seen("B", moved_to="http://127.0.0.1/new"), now)
    assert "http://127.0.0.1/new" in told.notices[0].body


def test_a_look_that_waits_for_confirmation_has_seen_the_content_and_is_not_stale() -> None:
    _, state, now = after(seen("A"))
    decision = decide(plan(state, now + 20 * DAY, confirm=2), seen("B"), now + 20 * DAY)
    assert (decision.result.outcome, decision.notices) == ("unchanged", ())
    assert decision.state.last_verified == now + 20 * DAY


def test_a_watch_that_was_not_verified_for_long_says_so_though_no_failure_was_told() -> None:
    _, state, now = after(seen("A"))
    kinds = []
    for day in (6, 8, 9):
        planned = plan(state, now + day * DAY, alert_after=1000)
        decision = decide(planned, FetchFailed("http-500", "broken"), now + day * DAY)
        kinds.append([notice.kind for notice in decision.notices])
        state = decision.state
    assert kinds == [[], ["stale"], []]


def test_lost_text_is_asked_for_again_and_a_change_is_told_without_it() -> None:
    _, state, now = after(seen("A"))
    assert state.baseline is not None
    lost = replace(state, baseline=replace(state.baseline, extract=None))
    assert not plan(lost, now).validators
    assert decide(plan(lost, now), seen("A"), now).state.baseline == replace(state.baseline, url=URL)
    assert "B" in decide(plan(lost, now), seen("B"), now).notices[0].title
