"""`monitor.py list`: how every watch is, from what is remembered; nothing is asked or changed."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pagewatch import schedule
from pagewatch.config import Configuration
from pagewatch.memory import Memory
from pagewatch.model import Problem, Watch, WatchState
from pagewatch.notices import one_line
from pagewatch.output import Style, timestamp
from pagewatch.setup import style_of
from pagewatch.state import STATE, damaged_files, read_memory
from pagewatch.urls import without_login

LONGEST_CELL = 30  # characters: a table must fit a terminal
HEADER = ("watch", "state", "verified", "changed", "every", "next check", "unsent")


def run(options: Namespace) -> int:
    now = options.clock()
    memory = read_memory(options.state, now)
    configuration: Configuration = options.configured(options, memory)
    style = style_of(options, configuration.secrets)
    return show(configuration, memory, damaged_files(options.state), style, now)


def show(configuration: Configuration, memory: Memory, damaged: Sequence[str], style: Style, now: datetime) -> int:
    """Prints a row a watch, then what else there is to know. `damaged` are names of state files that were put aside."""
    unsent = Counter(notice.watch_id for notice in memory.outbox if notice.watch_id)
    known = {watch.name: memory.find(watch.name) for watch in configuration.watches}
    rows = [_row(watch, known[watch.name], unsent) for watch in configuration.watches]
    rows += [_broken(problem, memory, unsent) for problem in configuration.broken()]
    if style.form == "json":
        for row in rows:
            said = {name: style.clean_or_none(row[name]) for name in ("watch", "url", "last_error")}
            print(json.dumps(row | said))
        return 0
    _table([HEADER, *(_cells(row, now) for row in rows)], style)
    lines = [f"{STATE} is damaged: the next run uses its copy"] if memory.recovered == STATE else []
    lines += [*_remarks(configuration, known), *_leftovers(configuration, memory)]
    gone = [name for name in memory.names() if name not in configuration.names]
    lines += [f"remembered, but no longer in the file: {name} (`monitor.py forget NAME` drops it)" for name in gone]
    for line in [*lines, *(f"kept aside as damaged: {name}" for name in damaged)]:
        print(style.clean(line))
    return 0


def _row(watch: Watch, past: WatchState | None, unsent: Mapping[str, int]) -> dict[str, Any]:
    past = past or WatchState("", watch.name, watch.url)
    trouble = past.episode
    well = "ok" if past.baseline is not None else "new"
    return {
        "watch": watch.name,
        "url": without_login(watch.url),
        "state": "off" if not watch.enabled else trouble.outcome if trouble else well,
        "last_verified": timestamp(past.last_verified),
        "last_changed": timestamp(past.last_changed),
        "last_error": ": ".join(filter(None, (trouble.kind, trouble.detail))) if trouble else None,
        "interval_s": int(schedule.interval_of(watch, past).total_seconds()),
        "next_check": timestamp(past.next_check) if watch.enabled else None,
        "unsent": unsent.get(past.id, 0),
    }


def _broken(problem: Problem, memory: Memory, unsent: Mapping[str, int]) -> dict[str, Any]:
    past = memory.find(problem.watch) or WatchState("", problem.watch, problem.url)
    return {
        "watch": problem.watch,
        "url": problem.url,
        "state": "failed",
        "last_verified": timestamp(past.last_verified),
        "last_changed": timestamp(past.last_changed),
        "last_error": f"config: line {problem.line}: {problem.message}",
        "interval_s": None,
        "next_check": None,
        "unsent": unsent.get(past.id, 0),
    }


def _cells(row: Mapping[str, Any], now: datetime) -> tuple[str, ...]:
    times = (row["last_verified"], row["last_changed"])
    ago = tuple(_ago(datetime.fromisoformat(time.replace("Z", "+00:00")), now) if time else "–" for time in times)
    every = span(timedelta(seconds=row["interval_s"])) if row["interval_s"] else "–"
    due = (row["next_check"] or "–").replace("T", " ").replace("Z", "")
    return (row["watch"], row["state"], *ago, every, due, str(row["unsent"] or "–"))


def _ago(time: datetime, now: datetime) -> str:
    return f"{span(now - time)} ago" if now - time >= timedelta(minutes=1) else "just now"


def span(time: timedelta) -> str:
    """A duration in its largest fitting unit, as watches.yaml writes it."""
    seconds = int(time.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length and (seconds % length == 0 or seconds >= 2 * length):
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _table(rows: Sequence[Sequence[str]], style: Style) -> None:
    cleaned = [[one_line(style.clean(cell), LONGEST_CELL) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cleaned) for column in range(len(HEADER))]
    for row in cleaned:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _remarks(configuration: Configuration, known: Mapping[str, WatchState | None]) -> list[str]:
    lines = []
    for watch in configuration.watches:
        past = known[watch.name]
        if past is not None and past.episode is not None:
            lines.append(f"{watch.name}: {past.episode.detail} (since {past.episode.began:%Y-%m-%d %H:%M} UTC)")
        if past is not None and past.moved_to:
            lines.append(f"{watch.name}: moved permanently to {past.moved_to}")
        if past is not None and not past.trusted:
            lines.append(f"{watch.name}: its server's validators are not trusted; the page is always read in full")
        if watch.robots_reason:
            lines.append(f"{watch.name}: robots.txt is ignored: {watch.robots_reason}")
    return lines + [f"line {p.line}: {p.watch + ': ' if p.watch else ''}{p.message}" for p in configuration.problems]


def _leftovers(configuration: Configuration, memory: Memory) -> list[str]:
    """Notices that wait for a target, and how to give them up where the target is gone."""
    unclaimed = memory.unclaimed(configuration.declared)
    lines = [
        f"{n} unsent for {name}, no longer in the file: `monitor.py forget --target {name}` drops them"
        for name, n in unclaimed.items()
    ]
    for target, count in Counter(notice.target for notice in memory.outbox if notice.target not in unclaimed).items():
        error = next(notice.error for notice in memory.outbox if notice.target == target)
        lines.append(f"{count} unsent for {target or 'standard output'}" + (f": {error}" if error else ""))
    return lines
