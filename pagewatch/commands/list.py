"""`monitor.py list`: how every watch is, from what is remembered; nothing is asked or changed."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pagewatch import health
from pagewatch.configuration import Configuration
from pagewatch.health import Health
from pagewatch.memory import Memory
from pagewatch.notices import one_line
from pagewatch.output import Style, timestamp
from pagewatch.setup import style_of
from pagewatch.state import STATE, damaged_files, read_memory

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
    watches = health.of_all(configuration, memory)
    rows = [_row(watch, unsent) for watch in watches]
    if style.form == "json":
        for row in rows:
            said = {name: style.clean_or_none(row[name]) for name in ("watch", "url", "last_error")}
            print(json.dumps(row | said))
        return 0
    _table([HEADER, *(_cells(row, now) for row in rows)], style)
    lines = [f"{STATE} is damaged: the next run uses its copy"] if memory.recovered == STATE else []
    lines += [f"{each.name}: {remark}" for each in watches if each.watch is not None for remark in each.remarks]
    lines += [f"line {p.line}: {p.watch + ': ' if p.watch else ''}{p.message}" for p in configuration.problems]
    for more in (health.unclaimed, health.unsent, health.forgotten_by_the_file):
        lines += more(configuration, memory)
    lines += [said for said in (memory.history_told, memory.feed_told) if said]
    for line in [*lines, *(f"kept aside as damaged: {name}" for name in damaged)]:
        print(style.clean(line))
    return 0


def _row(watch: Health, unsent: Mapping[str, int]) -> dict[str, Any]:
    return {
        "watch": watch.name,
        "url": watch.url,
        "state": watch.state,
        "last_verified": timestamp(watch.past.last_verified),
        "last_changed": timestamp(watch.past.last_changed),
        "last_error": watch.error or None,
        "interval_s": int(watch.interval.total_seconds()) if watch.interval is not None else None,
        "next_check": timestamp(watch.next_check),
        "unsent": unsent.get(watch.past.id, 0),
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
