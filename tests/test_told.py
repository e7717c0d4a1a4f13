"""What is told of a page that is looked at again and again: tests/cases/told.yaml, from its bytes to the notice."""

from __future__ import annotations

from datetime import datetime

import pytest

from pagewatch import conditional, config, sources
from pagewatch.answers import Answer, Missing, Observation
from pagewatch.decide import decide
from pagewatch.frozen import replace
from pagewatch.model import Decision, Watch, WatchState
from tests.tables import Row, table
from tests.values import DAY, SETTINGS, START, URL, first_sight, representation

LINE = "watches:\n- name: Price\n  url: http://127.0.0.1/p\n"


def watch_of(row: Row) -> Watch:
    """The watch as the file says it."""
    text = LINE + "".join(f"  {line}\n" for line in row.get("watch", "").splitlines())
    found = config.load(text.encode(), file="watches.yaml", environment={})
    assert [problem.message for problem in found.problems] == []
    return found.watches[0]


def nobody(url: str) -> Answer:
    return Missing(404, url)


def looked(watch: Watch, state: WatchState, body: str, row: Row, now: datetime) -> Decision:
    """One look, in full, at a page with this body."""
    plan = conditional.plan(watch, SETTINGS, state, now)
    media_type = row.get("type", "text/html")
    answer = representation(url=URL, body=body.encode(), media_type=media_type, digest="")
    seen = sources.read(watch, answer, nobody, state.baseline, state.candidate)
    return decide(plan, seen, now)


@table("told", "stories")
def test_what_is_told_of_a_page(row: Row) -> None:
    """`looks` are pairs: the body, and what comes of it: `- ` and a detail where nothing is told, else the title of the
    notice. `text` is the last notice's body, `detail` the last detail."""
    watch, state, now = watch_of(row), first_sight(), START
    decision = None
    for number, look in enumerate(row["looks"], 1):
        ((body, said),) = look.items()
        decision = looked(watch, state, row.get("frame", "{}").replace("{}", body), row, now)
        state, now = replace(decision.state), now + DAY
        titles = [notice.title for notice in decision.notices]
        result = decision.result
        came = titles[0].removeprefix("Price: ") if titles else f"- {result.outcome}: {result.detail}".rstrip(": ")
        assert came == said, f"look {number}"
    assert decision is not None
    if "text" in row:
        assert decision.notices[0].body.split("\n\n")[0] == row["text"].rstrip("\n")


def test_the_numbers_of_a_story_are_kept_in_its_state() -> None:
    watch, state = watch_of({"watch": 'select: "#p"\nnumber: true\n'}), first_sight()
    for at, amount in enumerate(("20", "18", "25")):
        state = looked(watch, state, f"<p id=p>{amount} €</p>", {}, START + at * DAY).state
    assert [(each.low, each.high) for each in state.extremes] == [("18", "25")]
    assert [each.low for each in state.told] == ["25"]


def test_an_observation_says_how_it_was_read() -> None:
    answer = representation(body=b'[{"id": 1}]', media_type="application/json", digest="")
    seen = sources.read(watch_of({"watch": "source: json\nkey: id\n"}), answer, nobody)
    assert isinstance(seen, Observation)
    assert (seen.representation.source, seen.representation.length, seen.representation.body) == ("json", 11, b"")


def test_entries_that_come_and_go_while_a_feed_is_to_be_confirmed_are_all_told() -> None:
    watch, state = watch_of({"watch": "source: feed\nconfirm: 2\n"}), first_sight()
    row = {"type": "application/rss+xml"}
    titles = []
    for at, entries in enumerate(("ba", "cb", "dc", "ed", "ed")):
        items = "".join(f"<item><title>{entry}</title><guid>{entry}</guid></item>" for entry in entries)
        decision = looked(watch, state, f"<rss><channel>{items}</channel></rss>", row, START + at * DAY)
        state = decision.state
        titles += [notice.body.split("\n\n")[0] for notice in decision.notices]
    assert titles == ["+ e\n+ d\n+ c"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (("text/html", "<p>A</p>"), ("application/json", '{"error": 1}')),
        (("text/csv", "a,1"), ("text/html", "<h1>502</h1>")),
        (("application/json", '{"a": 1}'), ("text/html", "<h1>502</h1>")),
    ],
)
def test_an_answer_of_another_kind_in_the_place_of_the_whole_is_no_change(
    first: tuple[str, str], then: tuple[str, str]
) -> None:
    watch, state = watch_of({}), first_sight()
    outcomes = []
    for at, (media_type, body) in enumerate((first, then, first)):
        decision = looked(watch, state, body, {"type": media_type}, START + at * DAY)
        state = decision.state
        outcomes.append(decision.result.outcome)
    assert outcomes == ["baseline", "failed", "unchanged"]
