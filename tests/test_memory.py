"""Which state belongs to which watch, what waits in the outbox, and what is kept from run to run."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from pagewatch.answers import Extract
from pagewatch.frozen import replace
from pagewatch.memory import MOST_EVENTS, Memory
from pagewatch.model import Baseline, Event, Notice, Pause, RobotsRecord, WatchState
from pagewatch.records import Document, dumps, parse

NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
DAY = timedelta(days=1)
URL = "http://127.0.0.1/p"


class Shelf:
    """A store without a disk; `saves` counts."""

    def __init__(self) -> None:
        self.document, self.contents, self.saves, self.collected = Document({}, {}), dict[str, bytes](), 0, 0

    def save(self, document: bytes) -> None:
        parsed = parse(document)
        assert isinstance(parsed, Document)
        self.document = parsed
        self.saves += 1

    def put(self, content: bytes) -> str:
        self.contents[str(len(content))] = content
        return str(len(content))

    def get(self, name: str) -> bytes | None:
        return self.contents.get(name)

    def collect(self) -> None:
        self.collected += 1


def opened(shelf: Shelf, now: datetime = NOW) -> Memory:
    return Memory(shelf.document, shelf, now)


def remembering(*names: str) -> tuple[Shelf, dict[str, str]]:
    """A store with a watch of each name, all of another URL, and their ids by name."""
    shelf = Shelf()
    memory = opened(shelf)
    ids = {name: memory.state_of(name, f"{URL}/{name}", "s", frozenset(names)).id for name in names}
    memory.commit()
    return shelf, ids


def baseline(text: str = "text") -> Baseline:
    return Baseline("r", "f", Extract(text), NOW)


def notice(notice_id: str, target: str, **keys: object) -> Notice:
    return replace(Notice(notice_id, "w1", "Price", "changed", "title", "body", target, NOW), **keys)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- which state is whose


def test_a_watch_has_the_same_id_at_every_run() -> None:
    shelf, ids = remembering("A", "B")
    memory = opened(shelf, NOW + DAY)
    assert memory.state_of("A", f"{URL}/A", "s", frozenset({"A", "B"})).id == ids["A"]
    assert memory.names() == ("A", "B") and len(set(ids.values())) == 2


def test_a_watch_with_another_url_keeps_its_state_and_its_id() -> None:
    """Whether the baseline is still good is for `decide`: the state says which URL it is of."""
    shelf, ids = remembering("A")
    state = opened(shelf).state_of("A", f"{URL}/elsewhere", "s", frozenset({"A"}))
    assert (state.id, state.url) == (ids["A"], f"{URL}/A")


def test_a_renamed_watch_takes_its_state_along() -> None:
    shelf, ids = remembering("A", "B")
    memory = opened(shelf)
    state = memory.state_of("A2", f"{URL}/A", "s", frozenset({"A2", "B"}))
    assert (state.id, state.name) == (ids["A"], "A2")
    assert memory.find("A") is None and memory.find("A2") == state
    memory.commit()
    assert opened(shelf).names() == ("A2", "B")


def test_a_watch_of_the_same_page_beside_the_old_one_is_another_watch() -> None:
    shelf, ids = remembering("A")
    assert opened(shelf).state_of("A2", f"{URL}/A", "s", frozenset({"A", "A2"})).id != ids["A"]


def test_another_select_or_another_url_is_another_watch() -> None:
    shelf, ids = remembering("A")
    memory = opened(shelf)
    names = frozenset({"A2", "A3"})
    assert memory.state_of("A2", f"{URL}/A", "other", names).id != ids["A"]
    assert memory.state_of("A3", f"{URL}/other", "s", names).id != ids["A"]


def test_two_new_names_for_one_old_watch_share_nothing() -> None:
    shelf, ids = remembering("A")
    memory = opened(shelf)
    names = frozenset({"A2", "A3"})
    first, second = (memory.state_of(name, f"{URL}/A", "s", names).id for name in ("A2", "A3"))
    assert first == ids["A"] and second != ids["A"]


def test_of_two_old_watches_of_a_page_the_last_checked_is_taken() -> None:
    shelf, ids = remembering("A", "B")
    memory = opened(shelf)
    for name, checked in (("A", NOW + DAY), ("B", NOW)):
        state = memory.find(name)
        assert state is not None
        memory.put(replace(state, url=URL, last_checked=checked))
    assert memory.state_of("C", URL, "s", frozenset({"C"})).id == ids["A"]


def test_names_that_change_places_keep_their_states() -> None:
    """By name first: what is under the other definition now is a new baseline, never a change between two pages."""
    shelf, ids = remembering("A", "B")
    memory = opened(shelf)
    names = frozenset({"A", "B"})
    assert memory.state_of("A", f"{URL}/B", "s", names).id == ids["A"]
    assert memory.state_of("B", f"{URL}/A", "s", names).id == ids["B"]


def test_a_watch_that_left_the_file_is_known_when_it_returns() -> None:
    shelf, ids = remembering("A", "B")
    memory = opened(shelf)
    memory.state_of("B", f"{URL}/B", "s", frozenset({"B"}))
    memory.finish(NOW + 1000 * DAY)
    assert opened(shelf).state_of("A", f"{URL}/A", "s", frozenset({"A", "B"})).id == ids["A"]


def test_a_forgotten_watch_is_a_first_visit_under_another_id_and_its_notices_stay() -> None:
    shelf, ids = remembering("A", "B")
    memory = opened(shelf)
    memory.post([notice("n-1", "mail", watch_id=ids["A"])])
    memory.forget(ids["A"])
    memory.forget("no such id")
    memory.commit()
    memory = opened(shelf, NOW + DAY)
    assert memory.names() == ("B",) and len(memory.outbox) == 1
    state = memory.state_of("A", f"{URL}/A", "s", frozenset({"A", "B"}))
    assert state == WatchState(state.id, "A", f"{URL}/A", "s")
    assert state.id != ids["A"]


def test_an_id_is_never_given_twice() -> None:
    """Neither in a run nor by a later one that does not know of it (its state was lost)."""
    given = set()
    for hour in range(20):
        memory = opened(Shelf(), NOW + timedelta(hours=hour))
        for _ in range(20):
            state = memory.state_of("A", URL, "s", frozenset({"A"}))
            given.add(state.id)
            memory.forget(state.id)
    assert len(given) == 400


def test_to_find_changes_nothing() -> None:
    shelf, _ = remembering("A")
    memory = opened(shelf)
    assert memory.find("no such name") is None
    memory.commit()
    assert shelf.saves == 1


def test_a_baseline_that_is_the_same_is_written_as_it_was_read_and_another_is_not() -> None:
    """Wherever another writer has put it; what looks like one in a text is none."""
    shelf, ids = remembering("A")
    kept = baseline(',"baseline":{} €')
    state = replace(opened(shelf).watches.values()[0], baseline=kept, moved_to=',"baseline":1', checks=1)
    memory = opened(shelf)
    memory.put(state)
    memory.commit()
    [last] = shelf.document.tables["watches"]
    record = json.loads(last)
    first = dumps({"id": record["id"], "name": "A", "baseline": record.pop("baseline"), **record})
    for line in (last, first):
        shelf.document = Document(shelf.document.members, {"watches": [line]})
        for checks in (2, 3):
            memory = opened(shelf)
            memory.put(replace(state, checks=checks))
            memory.commit()
            assert opened(shelf).watches.get(ids["A"]) == replace(state, checks=checks)
        other = replace(state, baseline=baseline("other"))
        memory.put(other)
        memory.commit()
        assert opened(shelf).watches.get(ids["A"]) == other


def test_the_next_check_is_known_without_decoding() -> None:
    shelf, _ = remembering("A", "B")
    memory = opened(shelf)
    state = memory.find("A")
    assert state is not None
    memory.put(replace(state, next_check=NOW + DAY, baseline=baseline('"next_check":"2000-01-01T00:00:00Z"')))
    assert memory.next_check("A") == NOW + DAY, "before it is saved"
    memory.commit()
    memory = opened(shelf)
    assert [memory.next_check(name) for name in ("A", "B", "C")] == [NOW + DAY, None, None]
    assert [memory.watches.loaded(watch_id) for watch_id in memory.watches] == [None, None]


# ------------------------------------------------------------------------------------------------- a baseline made anew


def test_after_a_recovery_the_baselines_that_may_be_lost_are_known_until_they_are_made() -> None:
    shelf, ids = remembering("seen", "failing")
    memory = opened(shelf)
    state = memory.find("seen")
    assert state is not None
    memory.put(replace(state, baseline=baseline()))
    memory.recover("state.json.damaged-1")
    names = frozenset({"seen", "failing", "new"})
    lost = memory.state_of("new", URL, "s", names)
    assert all(memory.was_reset(watch_id) for watch_id in (*ids.values(), lost.id)), "in the run of the recovery"
    memory.acknowledge()
    memory.commit()
    memory = opened(shelf)
    assert [memory.was_reset(watch_id) for watch_id in (ids["seen"], ids["failing"], lost.id)] == [False, True, True]
    memory.put(replace(lost, checks=1))
    assert memory.was_reset(lost.id), "a look that failed makes no baseline"
    memory.put(replace(lost, baseline=baseline()))
    memory.forget(ids["failing"])
    assert memory.anew == ()


def test_without_a_recovery_nothing_is_made_anew() -> None:
    memory = opened(Shelf())
    assert not memory.was_reset(memory.state_of("A", URL, "s", frozenset({"A"})).id)


# ------------------------------------------------------------------------------------------------------------- outbox


def test_notices_wait_in_the_order_in_which_they_came() -> None:
    shelf = Shelf()
    memory = opened(shelf)
    memory.post([notice("b-1", "mail"), notice("b-1", "phone"), notice("a-1", "mail")])
    memory.commit()
    assert [(each.id, each.target) for each in opened(shelf).outbox] == [
        ("b-1", "mail"),
        ("b-1", "phone"),
        ("a-1", "mail"),
    ]


def test_a_notice_leaves_for_one_target_only() -> None:
    shelf = Shelf()
    memory = opened(shelf)
    memory.post([notice("a-1", "mail"), notice("a-1", "phone"), notice("a-1", "")])
    memory.settle("a-1", "phone")
    memory.settle("a-1", "phone")
    memory.settle("a-1", "nobody")
    memory.commit()
    assert [each.target for each in opened(shelf).outbox] == ["mail", ""]


def test_the_same_notice_is_not_put_there_twice_and_a_try_is_written_to_its_place() -> None:
    memory = opened(Shelf())
    memory.post([notice("a-1", "mail"), notice("a-2", "mail")])
    memory.post([notice("a-1", "mail", attempts=1, next_try=NOW + DAY, error="refused")])
    assert [(each.id, each.attempts) for each in memory.outbox] == [("a-1", 1), ("a-2", 0)]


def test_what_is_unsent_for_a_target_is_dropped_when_the_user_says_so() -> None:
    memory = opened(Shelf())
    memory.post([notice("a-1", "mail"), notice("a-1", "phone"), notice("a-2", "mail")])
    assert (memory.drop_target("mail"), memory.drop_target("mail")) == (2, 0)
    assert [each.target for each in memory.outbox] == ["phone"]


# ------------------------------------------------------------------------------------------------------------- saving


def test_every_kind_of_change_is_a_reason_to_save_and_the_rest_is_not() -> None:
    shelf, ids = remembering("A")
    memory = opened(shelf)
    state = memory.find("A")
    assert state is not None

    def saved() -> int:
        before = shelf.saves
        memory.commit()
        memory.commit()
        return shelf.saves - before

    assert saved() == 0
    memory.put(replace(state, checks=5))
    assert saved() == 1
    memory.put(replace(state, checks=5))
    assert saved() == 0
    memory.post([notice("a-1", "mail")])
    assert saved() == 1
    memory.settle("a-1", "mail")
    assert saved() == 1
    memory.hosts["127.0.0.1"] = Pause(NOW + DAY, True)
    assert saved() == 1
    memory.offline_since = NOW
    assert saved() == 1
    memory.told_config += ("digest",)
    assert saved() == 1
    memory.robots["http://127.0.0.1"] = RobotsRecord(NOW, None)
    assert saved() == 1
    memory.forget(ids["A"])
    assert saved() == 1


def test_the_end_of_a_run_forgets_what_is_over_and_keeps_the_rest() -> None:
    shelf = Shelf()
    memory = opened(shelf)
    memory.hosts = {"over": Pause(NOW, True), "on": Pause(NOW + DAY, False)}
    memory.robots["http://old"] = RobotsRecord(NOW - 31 * DAY, b"x" * 5000)
    memory.robots["http://new"] = RobotsRecord(NOW - 29 * DAY, None)
    memory.commit()
    memory = opened(shelf)
    memory.robots["http://just now"] = RobotsRecord(NOW, None)
    memory.finish(NOW)
    memory = opened(shelf)
    assert list(memory.hosts) == ["on"] and list(memory.robots) == ["http://new", "http://just now"]
    assert shelf.collected == 1


def test_what_another_version_of_the_program_keeps_there_stays() -> None:
    shelf, _ = remembering("A")
    shelf.document = Document(
        {**shelf.document.members, "later": b'{"a":1}'}, {**shelf.document.tables, "rows": [b'{"row":1}', b'{"row":2}']}
    )
    memory = opened(shelf)
    memory.offline_since = NOW
    memory.commit()
    assert shelf.document.members["later"] == b'{"a":1}'
    assert shelf.document.tables["rows"] == [b'{"row":1}', b'{"row":2}']


def test_what_was_seen_waits_for_the_history_in_the_document_and_a_look_that_saw_nothing_new_does_not() -> None:
    shelf = Shelf()
    memory = opened(shelf)
    rows = [Event("w1-1", "w1", NOW, "not-modified"), Event("w2-1", "w2", NOW, "changed")]
    rows += [Event("w3-1", "w3", NOW, "unchanged"), Event("w4-1", "w4", NOW, "unchanged", detail="1 of 2")]
    for row in rows:
        memory.record(row)
    memory.commit()
    assert opened(shelf).unrecorded() == ((rows[1], rows[3]), ())
    assert set(memory.unrecorded()[0]) == set(rows)
    memory.recorded()
    assert memory.unrecorded() == ((), ())
    memory.commit()
    assert opened(shelf).unrecorded() == ((), ())


def test_only_a_history_that_cannot_be_written_makes_all_rows_wait_and_the_oldest_go() -> None:
    shelf = Shelf()
    memory = opened(shelf)
    for number in range(MOST_EVENTS + 2):
        memory.record(Event(f"w1-{number}", "w1", NOW, "failed" if number < 10 else "unchanged"))
    assert len(memory.unrecorded()[0]) == MOST_EVENTS + 2
    memory.not_recorded()
    memory.commit()
    waiting = opened(shelf).unrecorded()[0]
    assert (len(waiting), waiting[0].id, memory.unrecorded()[0]) == (MOST_EVENTS, "w1-2", waiting)
    memory.recorded()
    assert memory.unrecorded() == ((), ())
