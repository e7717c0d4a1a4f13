"""The beginning of a run: which watches it is about, what is wrong in the file, and that another is at work."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta

from pagewatch import commandline, lock, output, setup, telling
from pagewatch.configuration import Configuration, line
from pagewatch.errors import UsageError, unknown
from pagewatch.model import Result, Watch
from pagewatch.run import Run


def take_up(this: Run, configuration: Configuration) -> None:
    """Enters the configuration into the run: the watches that are asked for, and a row for each that is broken."""
    options = this.options
    this.settings, this.names = configuration.settings, frozenset(configuration.names)
    this.watches, this.definitions = chosen(configuration, options.names), configuration.watches
    this.style = setup.style_of(options, configuration.secrets)
    lines = [line(problem, options.config.name) for problem in configuration.problems]
    for said in lines:
        this.fail(2, said)
    telling.tell_problems(this, lines)
    rows = [Result(p.watch, p.url, "failed", "config", p.message) for p in configuration.broken()]
    this.unsaved += [row for row in rows if not options.names or row.watch in options.names]


def chosen(configuration: Configuration, names: Sequence[str]) -> list[Watch]:
    """The watches that are switched on, or those of them that are named."""
    watches = {watch.name: watch for watch in configuration.watches}
    for name in names:
        if name not in configuration.names:
            raise UsageError(unknown("watch", name, [*configuration.names, *commandline.COMMANDS]))
        if name in watches and not watches[name].enabled:
            raise UsageError(f'watch "{name}" is switched off in watches.yaml (enabled: false)')
    return [watch for watch in configuration.watches if watch.enabled and (not names or watch.name in names)]


def say_busy(held: lock.Busy, start: datetime, style: output.Style) -> int:
    """Another run is at work: no fault, unless it has been for over an hour."""
    if style.form == "json":
        print(json.dumps({"summary": {"watches": 0, "locked": True}}))
    if held.since is not None and start - held.since > timedelta(hours=1):
        print(f"another run has been at work since {held.since:%Y-%m-%d %H:%M} UTC: is it stuck?", file=sys.stderr)
        return 1
    if style.form == "terminal" or style.verbosity > 0:
        print("another run is at work; nothing was done")
    return 0
