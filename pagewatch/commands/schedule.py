"""`monitor.py schedule`: what checking costs and finds, an `every` for each watch, and the lines for a scheduler.

It needs no network. The lines are for this very installation: its Python, its place, its configuration.
"""

from __future__ import annotations

import platform
import random
import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from pagewatch import arithmetic, checking, installing, recall
from pagewatch.arithmetic import Habit, Look
from pagewatch.configuration import Configuration, line
from pagewatch.errors import StateError, UsageError
from pagewatch.memory import Memory
from pagewatch.model import WatchState
from pagewatch.output import Style
from pagewatch.schedule import interval_of
from pagewatch.setup import style_of
from pagewatch.state import read_memory
from pagewatch.values import duration

SCHEDULERS = {
    "cron": installing.cron,
    "systemd": installing.systemd,
    "schtasks": installing.schtasks,
    "launchd": installing.launchd,
}
SEED = 1  # of the simulation: it says the same each time


def run(options: Namespace) -> int:
    delay = None if options.delay is None else _delay(options.delay)
    configuration = checking.read(options)
    chosen = [name for name in SCHEDULERS if getattr(options, name)]
    parts = [arithmetic.simulation(random.Random(SEED).random)] if options.simulate else []
    parts += [SCHEDULERS[name](*installation(options)) for name in chosen]
    if delay is not None or not parts:
        parts.insert(0, _advice(options, configuration, delay))
    print("\n".join(parts), end="")
    return 0


def _delay(text: str) -> timedelta:
    try:
        delay = duration(text)
    except ValueError:
        delay = timedelta(0)
    if delay <= timedelta(0):
        raise UsageError(f"--delay {text!r} is no time: write 30m, 6h, 1d or 2w")
    return delay


def installation(options: Namespace) -> tuple[str, str, str, str, int]:
    """Python, monitor.py, configuration and state as the schedulers are given them, and the minute. Python is named as
    it was called: the link in a virtual environment is what finds its packages."""
    script: Path = options.script
    is_default = options.config == script.with_name("watches.yaml")
    own_state = options.state != options.config.parent / "state"
    minute = installing.minute_of(f"{platform.node()} {script}")
    places = ("" if is_default else str(options.config), str(options.state) if own_state else "")
    return sys.executable, str(script), *places, minute


def _advice(options: Namespace, configuration: Configuration, delay: timedelta | None) -> str:
    memory = read_memory(options.state, options.clock())
    style = style_of(options, configuration.secrets)
    for problem in configuration.problems:
        print(style.clean(line(problem, options.config.name)), file=sys.stderr)
    known = [(watch, memory.find(watch.name)) for watch in configuration.watches if watch.enabled]
    looks = _looks(options.state, memory, [past.id for _, past in known if past is not None], style)
    habits = [
        Habit(
            watch.name,
            interval_of(watch, past or WatchState("", watch.name, watch.url)),
            looks.get(past.id, ()) if past is not None else (),
        )
        for watch, past in known
    ]
    return style.clean(arithmetic.report(habits, delay))


def _looks(folder: Path, memory: Memory, ids: Sequence[str], style: Style) -> dict[str, tuple[Look, ...]]:
    """The successful looks of each watch; none, and why on standard error, where the history cannot be read."""
    try:
        return {watch_id: arithmetic.looks_of(recall.looks(folder, memory, watch_id)) for watch_id in ids}
    except StateError as error:
        print(style.clean(str(error)), file=sys.stderr)
        return {}
