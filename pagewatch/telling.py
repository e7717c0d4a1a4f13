"""What a run tells beside its watches: that the machine is offline, what is wrong in watches.yaml, and, to the next
runs, what will be due when."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from pagewatch import notices, output, quiet, schedule
from pagewatch.configuration import Configuration
from pagewatch.frozen import replace
from pagewatch.model import STDOUT, Result, Watch
from pagewatch.run import Run
from pagewatch.urls import without_login

OFFLINE_TOLD = timedelta(hours=24)


def tell_offline(this: Run, reason: str) -> None:
    """One line at the start of it, and a notice when it has lasted a day."""
    memory = this.memory
    if memory.offline_since is not None and memory.offline_since > this.start:  # the clock was wrong
        memory.offline_since = this.start
    if memory.offline_since is None or this.style.form == "terminal":
        this.complain(reason)
    memory.offline_since = memory.offline_since or this.start
    if not memory.offline_told and this.start - memory.offline_since >= OFFLINE_TOLD:
        memory.offline_told = True
        this.post_general("offline", reason, f"{reason}, since {memory.offline_since:%Y-%m-%d %H:%M} UTC")


def tell_online(this: Run, since: datetime) -> None:
    told, this.memory.offline_since, this.memory.offline_told = this.memory.offline_told, None, False
    if told:
        this.post_general(
            "recovered", "this machine is online again", f"it was offline since {since:%Y-%m-%d %H:%M} UTC"
        )


def tell_problems(this: Run, lines: Sequence[str]) -> None:
    """Tells the problems of the configuration that have not been told; standard error has them all. What is unwise but
    no mistake is said there once."""
    remarks = this.options.remarks
    digests = {hashlib.sha256(line.partition(": ")[2].encode()).hexdigest()[:16]: line for line in (*lines, *remarks)}
    new = [line for digest, line in digests.items() if digest not in this.memory.told_config]
    this.memory.told_config = tuple(digests)
    for remark in new:
        if remark in remarks:
            this.complain(remark)
    new = [line for line in new if line not in remarks]
    if new and this.settings.targets:
        rest = f" and {len(new) - 1} more" if len(new) > 1 else ""
        this.post_general("config", new[0] + rest, "\n".join(new))


def heartbeat_due(this: Run) -> datetime | None:
    """When the next one is, None where none is wanted; the first is a period after the first run."""
    period, last = this.settings.heartbeat, this.memory.heartbeat
    if period is None or last is None:
        return None
    return last + period - schedule.slack(period)


def tell_heartbeat(this: Run) -> None:
    """From time to time a word that all is well, or what is not: silence alone says nothing."""
    memory, due = this.memory, heartbeat_due(this)
    if this.options.names or this.options.dry_run:
        return
    if this.settings.heartbeat is None or due is None or (memory.heartbeat and memory.heartbeat > this.start):
        memory.heartbeat = this.start if this.settings.heartbeat else None
        return
    if this.start >= due:
        memory.heartbeat = this.start
        gist, text = _well_being(this)
        this.post_general("heartbeat", gist, text)


def _well_being(this: Run) -> tuple[str, str]:
    broken = [f"{row.watch}: {row.detail}" for row in (*this.results, *this.unsaved) if row.kind == "config"]
    states = [(watch, this.state_of(watch)) for watch in this.watches]
    troubled = [
        f"{watch.name}: {past.episode.outcome} since {past.episode.began:%Y-%m-%d}, {past.episode.detail}"
        for watch, past in states
        if past.episode is not None
    ]
    lines, count = [*broken, *troubled], len(states) + len(broken) + len(this.options.asleep)
    if not lines:
        return f"{count} watched, all well", ""
    return f"{count} watched, {len(lines)} in trouble", "\n".join(lines)


def tell_ping(this: Run, reason: str) -> None:
    """That the user's own URL cannot be reached is said once."""
    before = this.memory.ping_told
    this.memory.ping_told = this.said_once(f"ping: {reason}" if reason else "", before)
    if this.memory.ping_told != before:
        this.save()


def leave_note(this: Run, configuration: Configuration, status: int) -> None:
    """For the next runs (`quiet`): when each watch will be due, and what they print and return while none is."""
    if status > 1 or this.settings.ping:
        return
    now, variables = this.options.clock(), sorted(configuration.variables)
    rows = [_row(this, watch, now) for watch in this.watches]
    rows = sorted([*rows, *this.options.asleep], key=lambda row: row.line)
    style, outbox = replace(this.style, form="json"), this.deliverable()
    summary = output.summary(Counter(row.outcome for row in rows), 0, len(outbox), style)
    until = [row.due for row in rows] + [notices.due_at(notice).timestamp() for notice in outbox]
    until += [heartbeat.timestamp()] if (heartbeat := heartbeat_due(this)) is not None else []
    if any(notice.target == STDOUT for notice in this.memory.outbox):  # which nobody has read
        until.append(now.timestamp())
    quiet.write(
        str(this.options.state),
        (quiet.digest(this.options.files, variables, this.options.environment), variables),
        (now.timestamp(), min(until, default=now.timestamp())),
        status,
        (json.loads(output.row(Result("", "", "not-due"), style)), rows, json.loads(summary)),
    )


def _row(this: Run, watch: Watch, now: datetime) -> quiet.Row:
    """A watch may be left unread if it will not be due and nothing else is to be known of it: no trouble, no edit that
    has not been looked at, nothing that must not be shown."""
    past = this.state_of(watch)
    waits = schedule.reason_to_wait(watch, past, this.pause_of(watch), now, force=False)
    outcome, until = waits or ("not-due", now)
    due = schedule.due_at(watch, past, now) or now if outcome == "not-due" else until
    stale = schedule.stale_at(watch, past)
    if stale is not None and not (past.episode and past.episode.told):
        due = min(due, stale)
    name, url = this.style.clean(watch.name), this.style.clean(without_login(watch.url))
    plain = (name, url) == (watch.name, watch.url) and not watch.headers and name not in this.edited
    sleeps = plain and outcome == "not-due" and past.episode is None
    return quiet.Row(name, url, outcome, output.timestamp(until), due.timestamp(), watch.line, sleeps)
