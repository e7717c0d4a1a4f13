"""What one run works with, and what it has found so far: decisions that wait to be saved, rows to be printed, notices
to be told.

It promises the order on which everything rests: a decision is saved within two seconds, its row is printed when it is
safe, its notices are sent after that, and a notice leaves the outbox only when its target took it, which is saved at
once. What could not be saved is not sent. All of it happens in the main thread; other threads put what they have
found into `events`.
"""

from __future__ import annotations

import os
import queue
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from pagewatch import notices, output
from pagewatch.answers import FetchFailed, Outcome
from pagewatch.errors import StateError
from pagewatch.frozen import dataclass, field, replace
from pagewatch.memory import Memory
from pagewatch.model import (
    STDOUT,
    Decision,
    Delivery,
    Event,
    Links,
    Notice,
    Pause,
    Plan,
    Result,
    RobotsRecord,
    Settings,
    Target,
    Told,
    Verified,
    Watch,
    WatchState,
)
from pagewatch.politeness import host_of
from pagewatch.urls import without_login

SAVE_WITHIN = 1.0  # seconds from a decision to its save: half of what is promised
SEND_WITHIN = 30.0  # seconds from the save of a notice to the start of its delivery, while looks go on
LONG_RUN = 2.0  # seconds
LAST_DELIVERY = 32.0  # seconds that deliveries may take at the end: a slow target has been given up by then

NO_SETTINGS = Settings("", "", timedelta(0))

Keep = Callable[[Sequence[Event], Sequence[Told], datetime], str]
Publish = Callable[[Memory, Sequence[Watch], Callable[[str], str], datetime], None]
Send = Callable[[Sequence[Notice], Sequence[Target], datetime, Callable[[Delivery], None]], frozenset[str]]


@dataclass(frozen=True)
class Looked:
    """What one fetch showed each of the watches that share it."""

    plans: tuple[Plan, ...]
    outcomes: tuple[Outcome, ...]
    milliseconds: int = 0


@dataclass
class Run:
    """One run. `decided` and `posted` are seconds of the monotonic clock: when the oldest decision was made that is
    not saved, and when the oldest notice was saved that nobody has begun to send; 0 for none. `send` is
    `notify.deliver`, `keep` is `history.write` for its folder, `publish` is `publishing.write_feed`. `definitions`
    are the watches that are asked for (`watches`) and the others of the file. `edited` are names of watches whose
    definition was."""

    memory: Memory
    options: Namespace
    start: datetime
    send: Send
    keep: Keep
    publish: Publish
    style: output.Style
    settings: Settings = NO_SETTINGS
    watches: Sequence[Watch] = ()
    definitions: Sequence[Watch] = ()
    names: frozenset[str] = frozenset()
    began: float = field(default_factory=time.monotonic)
    events: queue.SimpleQueue[Looked | Delivery | Verified] = field(default_factory=queue.SimpleQueue)
    learned: Callable[[], Mapping[str, RobotsRecord]] = dict
    verify: Callable[[Plan, Links], None] | None = None
    verifying: dict[str, tuple[Plan, Outcome]] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    unsaved: list[Result] = field(default_factory=list)
    decided: float = 0.0
    posted: float = 0.0
    sending: set[str] = field(default_factory=set)
    refused: list[Notice] = field(default_factory=list)
    unreachable: list[tuple[Plan, FetchFailed, int]] = field(default_factory=list)
    safe: bool = True
    online: bool = False
    in_progress: bool = False
    avoided: int = 0
    edited: set[str] = field(default_factory=set)
    status: int = 0

    def enter(self, decision: Decision, event: Event | None = None) -> None:
        """Takes a decision into the memory, to be saved within a second; the event is for the history."""
        self.memory.put(decision.state)
        if event is not None:
            if event.detail or event.title:
                hidden = self.style.redact
                event = replace(event, detail=hidden(event.detail), title=hidden(event.title))
            self.memory.record(event)
        if decision.pause is not None:
            url, pause = decision.pause
            self.memory.hosts[host_of(url)] = pause
        printed = any(notice.target == STDOUT for notice in decision.notices)  # and need not be said twice
        self.unsaved.append(replace(decision.result, news=False) if printed else decision.result)
        self.post(decision.notices)

    def amend(self, amended: Iterable[Notice]) -> None:
        """More is known of a change: into its notices that nobody has begun to send."""
        waiting = {(n.id, n.target) for n in self.memory.outbox if n.target not in self.sending and not n.attempts}
        self.post(notice for notice in amended if (notice.id, notice.target) in waiting)

    def post(self, posted: Iterable[Notice]) -> None:
        hidden = self.style.redact
        self.memory.post(replace(n, title=hidden(n.title), body=hidden(n.body)) for n in posted)
        self.decided = self.decided or time.monotonic()

    def post_general(self, kind: str, gist: str, text: str) -> None:
        """A notice about no single watch, for all targets that take warnings."""
        every = [target.name for target in self.settings.targets] or [STDOUT]
        names = every if self.settings.alert is None else self.settings.alert
        title, body = notices.warning(kind, "", "", gist, text)
        event = f"{kind}-{self.start:%Y%m%dT%H%M%S}"
        self.post(Notice(f"{event}-{name}", "", "", kind, title, body, name, self.start) for name in names)

    def next_event(self, end: float) -> Looked | Delivery | Verified | None:
        """What happens next; None if nothing did until `end`. Saving and sending are done while waiting for it."""
        while True:
            clock = time.monotonic()
            if self.decided and clock >= self.decided + SAVE_WITHIN:
                self.save()
            if self.posted and clock >= self.posted + SEND_WITHIN:
                self.begin_delivery()
            self._show_progress(clock)
            with suppress(queue.Empty):
                return self.events.get(timeout=max(0.0, min(SAVE_WITHIN / 2, end - clock)))
            if clock >= end:
                return None

    def _show_progress(self, clock: float) -> None:
        """On a terminal, once a run has become a long one: how far it is, on a line that the next row takes."""
        if self.style.form == "terminal" and self.style.verbosity >= 0 and clock >= self.began + LONG_RUN:
            done, asleep = len(self.results) + len(self.unsaved), len(self.options.asleep)
            said = f"{done + asleep} of {len(self.watches) + asleep} watches"
            print(f"\r{said} \x1b[K", end="", file=sys.stderr, flush=True)
            self.in_progress = True

    def _end_progress(self) -> None:
        if self.in_progress:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.in_progress = False

    def state_of(self, watch: Watch) -> WatchState:
        return self.memory.state_of(watch.name, without_login(watch.url), watch.select, self.names)

    def pause_of(self, watch: Watch) -> Pause | None:
        return self.memory.hosts.get(host_of(watch.url))

    # -- saved, then shown

    def save(self) -> None:
        """Commits what was decided, then prints its rows: what stands on the screen is safe."""
        rows, self.unsaved, self.decided = self.unsaved, [], 0.0
        if not self.options.dry_run:
            for place, record in self.learned().items():
                self.memory.robots[place] = record
            self.safe = self._commit()
            if self.safe and not self.posted and self._to_send():
                self.posted = time.monotonic()
        self._show(rows if self.safe else [_not_saved(row) for row in rows])

    def _commit(self) -> bool:
        try:
            self.memory.commit()
        except StateError as error:
            self.fail(2, str(error))
            return False
        return True

    def fail(self, status: int, text: str) -> None:
        self.status = max(self.status, status)
        self.complain(text)

    def said_once(self, trouble: str, before: str) -> str:
        """Says trouble that differs from what the last run said; it is what has been said now."""
        if trouble and trouble != before:
            self.complain(trouble)
        return trouble

    def complain(self, text: str) -> None:
        self._end_progress()
        print(self.style.clean(text), file=sys.stderr, flush=True)

    def _show(self, rows: Iterable[Result]) -> None:
        for row in rows:
            self.results.append(row)
            self._print(output.row(row, self.style))

    def _print(self, line: str) -> bool:
        """Whether there is somebody who can have read it."""
        if not line or not self.options.listened_to:
            return not line
        self._end_progress()
        try:
            print(line, flush=True)
        except (OSError, ValueError):  # a closed pipe: nothing is lost by it, and nothing more is said there
            self.options.listened_to = False
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        return bool(self.options.listened_to)

    # -- told

    def deliver(self) -> None:
        """Sends what is in the outbox, targets side by side; a slow one is left behind after half a minute."""
        self.begin_delivery()
        end = time.monotonic() + LAST_DELIVERY
        while self.sending and (event := self.next_event(end)) is not None:
            if isinstance(event, Delivery):
                self.enter_delivery(event)
        self._print_refused()
        self._print_notices()

    def begin_delivery(self) -> None:
        """Starts to send what is due and not being sent yet; nothing is sent that is not safe."""
        self.posted = 0.0
        if not self.options.dry_run and self.safe and (waiting := self._to_send()):
            targets = [target for target in self.settings.targets if target.name not in self.sending]
            ready = [replace(notice, next_try=None) for notice in waiting]
            self.sending |= self.send(ready, targets, self.start, self.events.put)

    def deliverable(self) -> list[Notice]:
        """What is in the outbox for targets that are in the file."""
        names = {target.name for target in self.settings.targets}
        return [notice for notice in self.memory.outbox if notice.target in names]

    def _to_send(self) -> list[Notice]:
        waiting = (notice for notice in self.deliverable() if notice.target not in self.sending)
        return [notice for notice in waiting if self.options.now or notices.is_due(notice, self.start)]

    def enter_delivery(self, delivery: Delivery) -> None:
        """What was taken leaves the outbox, and that is saved at once; what was not is tried again later."""
        reasons = dict(delivery.failed)
        waiting = [notice for notice in self.memory.outbox if notice.target == delivery.target]
        for notice in waiting:
            if notice.id in delivery.delivered:
                self._settle(notice)
            elif notice.id in reasons:
                self.memory.note(notice, self.start, reasons[notice.id])
        refused = [notice for notice in waiting if notice.id in reasons]
        left = [notices.after_failure(notice, reasons[notice.id], self.start) for notice in refused]
        self.memory.post(left)
        if delivery.last:
            self.sending.discard(delivery.target)
        self._commit()
        self.refused += [notice for notice in left if notice.attempts == 1]

    def _settle(self, notice: Notice) -> None:
        self.memory.settle(notice.id, notice.target)
        self.memory.note(notice, self.start)

    def _print_refused(self) -> None:
        """What was not delivered is printed the first time, once for all the targets that did not take it."""
        events: dict[tuple[str, str], list[Notice]] = {}
        for notice in self.refused:
            events.setdefault((notice.title, notice.body), []).append(notice)
        for same in events.values():
            names, errors = dict.fromkeys(n.target for n in same), dict.fromkeys(n.error for n in same)
            self._print(output.message(replace(same[0], target=", ".join(names), error="; ".join(errors)), self.style))
        self.refused = []

    def _print_notices(self) -> None:
        """Standard output is a target like the others: what is printed is delivered. A JSON row has told its own
        notices already."""
        if self.options.dry_run or not self.safe:
            return
        rows = {row.watch for row in self.results if row.kind != "state-write"}
        for notice in self.memory.outbox:
            if notice.target == STDOUT:
                said = notice.watch in rows and notice.created == self.start and self._row_says_it(notice)
                if (said and self.options.listened_to) or self._print(output.message(notice, self.style)):
                    self._settle(notice)
        self._commit()

    def _row_says_it(self, notice: Notice) -> bool:
        """A JSON row says all that its notice does, a line on a terminal all but the text of a change."""
        shown = self.style.form == "terminal" and self.style.verbosity >= 0
        return self.style.form == "json" or (shown and notice.kind != "changed")

    # -- ended

    def finish(self) -> int:
        """Writes the history, forgets what is over, prints the summary, returns the exit status."""
        if not self.options.dry_run:
            self._write_history()
            self._publish()
            if self.watches and not self.options.names:
                self.memory.acknowledge()
            try:
                self.memory.finish(self.start)
            except StateError as error:
                self.fail(2, str(error))
        unsent = self.deliverable()
        unprinted = [notice for notice in self.memory.outbox if notice.target == STDOUT]
        self._end_progress()
        counts = Counter(result.outcome for result in self.results)
        counts["not-due"] += len(self.options.asleep)
        self._print(output.summary(counts, self.avoided, len(unsent), self.style))
        states = (self.memory.find(watch.name) for watch in self.watches)
        told = any(past is not None and past.episode is not None and past.episode.told for past in states)
        told = told or self.memory.offline_told
        return self.status or int(told or bool(unprinted) or any(notice.attempts for notice in unsent))

    def _write_history(self) -> None:
        """From what is saved already, but for looks that found nothing new: rows that the history has not got wait
        there. It never stops the checking, and what keeps it from being written is said once."""
        memory, trouble = self.memory, ""
        events, told = memory.unrecorded()
        if not self.safe:
            memory.not_recorded()
        elif events or told:
            try:
                aside = self.keep(events, told, self.start)
                trouble = f"history.db was damaged and begins anew; the old one is kept as {aside}" if aside else ""
                memory.recorded()
            except StateError as error:
                trouble = str(error)
                memory.not_recorded()
            memory.history_told = self.said_once(trouble, memory.history_told)

    def _publish(self) -> None:
        """The feed of changes, where one was told since it was written; never by a run that cannot read its
        configuration, as then nobody knows the secrets. It stops nothing, and what keeps it from being written is
        said once."""
        memory, trouble = self.memory, ""
        if not (self.safe and memory.feed_due and self.definitions):
            return
        try:
            self.publish(memory, self.definitions, self.style.redact, self.start)
            memory.feed_due = False
        except StateError as error:
            trouble = str(error)
        memory.feed_told = self.said_once(trouble, memory.feed_told)


def _not_saved(row: Result) -> Result:
    """What was decided about a look that could not be saved counts for nothing; a watch that was not asked has lost
    nothing."""
    if row.outcome in output.NOT_ASKED or row.kind == "config":
        return row
    return replace(
        row, outcome="failed", kind="state-write", detail="what was seen could not be saved", change=None, news=True
    )
