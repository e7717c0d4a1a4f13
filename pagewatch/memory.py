"""What is remembered from run to run: states of watches, the outbox, pauses of hosts, robots.txt files, a few facts.

The one thing here that is changed in place. It promises that what is saved is saved together, as one document, and
that a record costs only when it is used: the rest stays the line that it was (`records`). Where the document and the
longer contents are kept is the business of the store (`state`) that it is given.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from pagewatch.errors import StateError
from pagewatch.frozen import dataclass, field, fields, replace
from pagewatch.model import MUTED, STDOUT, Baseline, Event, Notice, Pause, RobotsRecord, Told, WatchState
from pagewatch.records import Document, Table, compose, decode, dumps, encode, peek, time_text, time_value

INLINE = 2048  # bytes: longer contents do not stand in the document
ALWAYS = ("outbox", "watches", "robots")  # tables that are there even if they are empty
MOST_EVENTS = 5_000  # that wait for a history which cannot be written
NOTHING_NEW = ("not-modified", "unchanged")  # outcomes of looks
PEEKED = ("id", "name", "next_check")  # what is looked for in lines stands in front
BASELINE = b',"baseline":'  # stands last: quotes in a JSON string are escaped, so that no text can be taken for it
ROBOTS_KEPT = timedelta(days=30)  # after the last time it was fetched

V = TypeVar("V")


class Store(Protocol):
    """Where memory is kept. Writing raises StateError and leaves whole what was there before."""

    def save(self, document: bytes) -> None: ...

    def put(self, content: bytes) -> str:
        """Keep a content; the name under which `get` finds it."""

    def get(self, name: str) -> bytes | None:
        """None where it is lost."""

    def collect(self) -> None:
        """Remove contents that are not referred to."""


@dataclass
class Facts:
    """What is remembered once. Every field is a member of the document.

    `checked` is the digest of the configuration that passed all checks, `told_config` are the digests of problems in
    it that were told. `recovered` is the name of the damaged file in whose place the copy serves, until
    `acknowledge`; `anew` are the ids of watches whose baseline may be lost with it. `history_told` and `feed_told` are
    why the history and the feed of changes could not be written, `ping_told` why a ping did not arrive, `heartbeat`
    when the last one was sent. `feed_id` is what no other installation has, for the ids of that feed; it stays.
    `feed_due`: a change was told that is not in it. `hosts` are the pauses, by host.
    """

    checked: str = ""
    told_config: tuple[str, ...] = ()
    offline_since: datetime | None = None
    offline_told: bool = False
    recovered: str = ""
    anew: tuple[str, ...] = ()
    history_told: str = ""
    heartbeat: datetime | None = None
    ping_told: str = ""
    feed_told: str = ""
    feed_id: str = ""
    feed_due: bool = False
    hosts: dict[str, Pause] = field(default_factory=dict)


class Memory(Facts):
    """All that is remembered, as it was at `opened`. Changes are saved by `commit`, all of them or none.

    `watches` are the states by id, `robots` the robots.txt records by origin, `events` and `told` what the history has
    not got yet: tables (`get`, `in`, item assignment, `del`). What other versions of the program keep in the same
    document stays there.
    """

    def __init__(self, document: Document, store: Store, opened: datetime) -> None:
        known = {each.name for each in fields(Facts)}
        self._members = {name: line for name, line in document.members.items() if name in known}
        super().__init__(**vars(_decoded(Facts, {name: _loaded(line) for name, line in self._members.items()})))
        self._store, self._opened, self._given = store, opened, 0
        rows = {name: document.tables.get(name, []) for name in ("outbox", "watches", "robots", "events", "told")}
        self._unknown = Document(
            {name: line for name, line in document.members.items() if name not in known},
            {name: lines for name, lines in document.tables.items() if name not in rows},
        )
        outbox = {f"{peek(row, 'target')} {peek(row, 'id')}": row for row in rows["outbox"]}
        self._outbox = Table(outbox, _notice_of, lambda key, notice: dumps(encode(notice)))
        ids = [peek(row, "id") for row in rows["watches"]]
        self._ids = {peek(row, "name"): watch_id for watch_id, row in zip(ids, rows["watches"], strict=True)}
        self.watches = Table(dict(zip(ids, rows["watches"], strict=True)), self._state_of_line, self._line_of_state)
        self.robots = Table({peek(row, "origin"): row for row in rows["robots"]}, self._robots_of, self._line_of_robots)
        events = {peek(row, "id"): row for row in rows["events"]}
        self.events = Table(events, self._event_of, lambda key, event: dumps(self._shelved(encode(event))))
        told = {peek(row, "id"): row for row in rows["told"]}
        self.told = Table(told, lambda line: _decoded(Told, _loaded(line)), lambda key, row: dumps(encode(row)))
        self._looks: list[Event] = []
        self._baselines: dict[str, Baseline] = {}  # those that stand in the lines of `watches`
        self._orphans: tuple[Collection[str], dict[tuple[str, str], list[WatchState]]] = ((), {})

    # -- watches

    def state_of(self, name: str, url: str, select: str, names: Collection[str]) -> WatchState:
        """The state of a watch, at first sight a new one.

        A name not seen before whose url and select are those of a state that is no longer named in the file takes that
        state over. `names` are all in the file: the same object for every watch of a run, it is looked through once.
        """
        if (known := self.find(name)) is not None:
            return known
        orphan = self._take_orphan(url, select, names)
        if orphan is not None:
            state = replace(orphan, name=name)
        else:
            state = WatchState(self._new_id(name), name, url, select)
            self.anew += (state.id,) if self.recovered else ()
        self.put(state)
        return state

    def find(self, name: str) -> WatchState | None:
        """The state of the watch of this name if there is one; nothing is changed."""
        return self.watches.get(self._ids[name]) if name in self._ids else None

    def names(self) -> tuple[str, ...]:
        """The names of all watches that are remembered, those that are no longer in the file too."""
        return tuple(self._ids)

    def next_check(self, name: str) -> datetime | None:
        """`find(name).next_check` without decoding the state, for a run that asks ten thousand."""
        watch_id = self._ids.get(name)
        if watch_id is None:
            return None
        if (state := self.watches.loaded(watch_id)) is not None:
            return state.next_check
        text = self.watches.peek(watch_id, "next_check")
        return time_value(text) if text else None

    def put(self, state: WatchState) -> None:
        """Remember a state in the place of the one with its id."""
        before = self.watches.get(state.id)
        if before is not None and before.name != state.name:
            del self._ids[before.name]
        self._ids[state.name] = state.id
        self.watches[state.id] = state
        if state.baseline is not None and state.id in self.anew:
            self.anew = tuple(each for each in self.anew if each != state.id)

    def forget(self, watch_id: str) -> None:
        """The next look is a first visit, under another id. Unsent notices stay: what was seen is told; rows that wait
        for the history go."""
        state = self.watches.get(watch_id)
        if state is not None:
            del self._ids[state.name]
            del self.watches[watch_id]
            self.anew = tuple(each for each in self.anew if each != watch_id)
            self._orphans = ((), {})
        tables: tuple[Table[Event] | Table[Told], ...] = (self.events, self.told)
        for table in tables:
            for key in table:
                if (row := table.get(key)) is not None and row.watch_id == watch_id:
                    del table[key]

    def was_reset(self, watch_id: str) -> bool:
        """Whether a baseline made now may stand for one that was lost with a damaged state.json: then it is told."""
        return bool(self.recovered) or watch_id in self.anew

    def recover(self, damaged: str) -> None:
        """This is the copy, used because `damaged` (the name under which it is kept) cannot be."""
        self.recovered = damaged
        self.anew = tuple(state.id for state in self.watches.values() if state.baseline is None)

    def acknowledge(self) -> None:
        """The recovery has been told, and every watch of the file has been met since."""
        self.recovered = ""

    def _take_orphan(self, url: str, select: str, names: Collection[str]) -> WatchState | None:
        if self._orphans[0] is not names:
            by_place = defaultdict(list)
            states = (self.find(name) for name in self._ids if name not in names)
            for state in sorted((state for state in states if state is not None), key=_last_checked):
                by_place[state.url, state.select].append(state)
            self._orphans = names, by_place
        found = self._orphans[1].get((url, select))
        return found.pop() if found else None

    def _new_id(self, name: str) -> str:
        """Never one that was given before, not even by a run whose state is lost: the time of this run is in it."""
        while True:
            self._given += 1
            seed = f"{time_text(self._opened)} {self._given} {name}"
            watch_id = _digest(seed)
            if watch_id not in self.watches:
                return watch_id

    # -- outbox

    @property
    def outbox(self) -> tuple[Notice, ...]:
        """The notices that are not known to have been taken by their target, oldest first."""
        return self._outbox.values()

    def post(self, notices: Iterable[Notice]) -> None:
        """Put notices into the outbox; one with the same id and target is replaced (after a try that failed)."""
        for notice in notices:
            self._outbox[f"{notice.target} {notice.id}"] = notice

    def settle(self, notice_id: str, target: str) -> None:
        """The target took it."""
        if f"{target} {notice_id}" in self._outbox:
            del self._outbox[f"{target} {notice_id}"]

    def unclaimed(self, targets: Collection[str]) -> dict[str, int]:
        """How many notices wait for each target that is not among `targets`; standard output is always there."""
        return dict(Counter(notice.target for notice in self.outbox if notice.target not in (STDOUT, *targets)))

    def drop_target(self, target: str) -> int:
        """Give up what is unsent for a target; how many notices that was."""
        dropped = [notice for notice in self.outbox if notice.target == target]
        for notice in dropped:
            self.settle(notice.id, target)
        return len(dropped)

    # -- what the history has not got yet

    def record(self, event: Event) -> None:
        """To be written into the history. A look that found nothing new is saved only if that fails."""
        if event.outcome in NOTHING_NEW and not event.detail:
            self._looks.append(event)
        else:
            self.events[event.id] = event
        self.feed_id = self.feed_id or _digest(f"{time_text(self._opened)} feed {event.watch_id}")
        self.feed_due |= event.outcome == "changed" and not event.detail.startswith(MUTED)

    def note(self, notice: Notice, now: datetime, error: str = "") -> None:
        """What became of a notice at its target: "" where it was taken. One about no watch that is remembered has no
        history."""
        if notice.watch_id in self.watches:
            told = f"{notice.id}-{notice.attempts + 1}"
            self.told[told] = Told(told, notice.watch_id, now, notice.target, notice.title, error)

    def unrecorded(self) -> tuple[tuple[Event, ...], tuple[Told, ...]]:
        """What is to be written into the history."""
        return (*self.events.values(), *self._looks), self.told.values()

    def not_recorded(self) -> None:
        """The history could not be written: all is to be saved, but of what waits for it the oldest go."""
        for event in self._looks:
            self.events[event.id] = event
        self._looks = []
        for old in list(self.events)[:-MOST_EVENTS]:
            del self.events[old]

    def recorded(self) -> None:
        """The history has got them."""
        self._looks = []
        for table in (self.events, self.told):
            for key in table:
                del table[key]

    # -- saving

    def commit(self, always: bool = False) -> None:
        """Save what has changed; StateError where that fails, and then a later commit saves it all."""
        members = {name: dumps(record) for name, record in encode(self, Facts).items()}
        tables: dict[str, Table[Any]] = {
            **{"outbox": self._outbox, "watches": self.watches, "robots": self.robots},
            **{"events": self.events, "told": self.told},
        }
        if not always and members == self._members and not any(table.changed for table in tables.values()):
            return
        rows = {name: table.rows() for name, table in tables.items() if len(table) or name in ALWAYS}
        self._store.save(compose(Document({**members, **self._unknown.members}, {**rows, **self._unknown.tables})))
        self._members = members
        for table in tables.values():
            table.changed = False

    def finish(self, now: datetime) -> None:
        """The end of a run: forgets what is over, saves, and clears away contents that nothing refers to."""
        self.hosts = {host: pause for host, pause in self.hosts.items() if pause.until > now}
        for origin in self.robots:
            if self._fetched(origin) < time_text(now - ROBOTS_KEPT):
                del self.robots[origin]
        self.commit()
        self._store.collect()

    def _fetched(self, origin: str) -> str:
        record = self.robots.loaded(origin)
        return time_text(record.fetched) if record is not None else self.robots.peek(origin, "fetched")

    # -- lines

    def _state_of_line(self, line: bytes) -> WatchState:
        record = _loaded(line)
        kept = record.get("baseline")
        state = _decoded(WatchState, record if kept is None else {**record, "baseline": self._unshelved(kept)})
        if state.baseline is not None and next(reversed(record)) == "baseline":
            self._baselines[state.id] = state.baseline
        return state

    def _line_of_state(self, watch_id: str, state: WatchState) -> bytes:
        record = encode(replace(state, baseline=None))
        line = dumps({**{name: record[name] for name in PEEKED if name in record}, **record})
        if state.baseline is None:
            return line
        return line[:-1] + BASELINE + self._baseline_line(watch_id, state.baseline) + b"}"

    def _baseline_line(self, watch_id: str, baseline: Baseline) -> bytes:
        """The record of a baseline, which most looks leave as it was: then so is the record."""
        if self._baselines.get(watch_id) == baseline:
            return self.watches.line(watch_id).partition(BASELINE)[2][:-1]
        line = dumps(self._shelved(encode(baseline)))
        self._baselines[watch_id] = baseline
        return line

    def _shelved(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with a long extract replaced by the name of its content."""
        content = dumps(record["extract"]) if "extract" in record else b""
        if len(content) > INLINE:
            del record["extract"]
            record["content"] = self._store.put(content)
        return record

    def _unshelved(self, record: dict[str, Any]) -> dict[str, Any]:
        """The inverse; without an extract where the content is lost."""
        if "content" not in record:
            return record
        content = self._store.get(record["content"])
        return {**record, "extract": None if content is None else _loaded(content)}

    def _event_of(self, line: bytes) -> Event:
        return _decoded(Event, self._unshelved(_loaded(line)))

    def _robots_of(self, line: bytes) -> RobotsRecord | None:
        record = _loaded(line)
        if "content" in record:
            body = self._store.get(record["content"])
            if body is None:
                return None  # it is fetched again
            record["body"] = body.decode("latin-1")
        return _decoded(RobotsRecord, record)

    def _line_of_robots(self, origin: str, robots: RobotsRecord) -> bytes:
        record = {"origin": origin, **encode(robots)}
        if robots.body is not None and len(robots.body) > INLINE:
            del record["body"]
            record["content"] = self._store.put(robots.body)
        return dumps(record)


def _notice_of(line: bytes) -> Notice:
    return _decoded(Notice, _loaded(line))


def _digest(seed: str) -> str:
    return hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _last_checked(state: WatchState) -> str:
    return time_text(state.last_checked) if state.last_checked else ""


def _loaded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise StateError(f"state.json has a line that is not JSON: {error}") from error


def _decoded(kind: type[V], record: object) -> V:
    try:
        return decode(kind, record)
    except ValueError as error:
        raise StateError(f"state.json has a record that cannot be understood: {error}") from error
