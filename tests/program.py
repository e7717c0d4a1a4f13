"""monitor.py in this process: whole runs through `monitor.main`, with a clock that the test moves.

    program = Program(tmp_path)
    program(config=configuration(price(site)))     # a run, as the scheduler starts it
    program.clock.forward(DAY)
    assert program("--json").watches["Price"]["outcome"] == "not-modified"

Nothing is replaced: state, configuration and network are real, and each run knows only what the one before has left
on disk. What a run printed and returned comes as the `Run` that `run_monitor` gives for a process of its own.
"""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import monitor
from pagewatch import beginning, commandline, lock, setup, state
from pagewatch.answers import FetchFailed
from pagewatch.frozen import replace
from pagewatch.run import Run as RunAtWork
from tests.process import Monitor, Run
from tests.site import Site, answer
from tests.values import START


@dataclass
class Clock:
    """The time of day, which stands still until it is moved."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, time: timedelta) -> None:
        self.now += time


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Program:
    """`monitor.py` with a configuration, a state folder and a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.config, self.state, self.clock = folder / "watches.yaml", folder / "state", Clock()

    def __call__(self, *arguments: str, config: str | None = None, terminal: bool = False) -> Run:
        """One run. `config` is written as watches.yaml first."""
        if config is not None:
            self.config.write_text(config, encoding="utf-8")
        command = [*arguments, "--config", str(self.config), "--state", str(self.state)]
        return self._printed(command, partial(monitor.main, command, self.clock), terminal)

    def check(self, *arguments: str, config: str | None = None) -> Run:
        """`check --json`: the run taken apart."""
        return self("check", "--json", *arguments, config=config)

    def check_as(self, **different: Any) -> Run:
        """The same by a `Run` that differs: `send` has less patience, or it `began` long ago."""
        return self._by_hand(monitor.run, different)

    def check_with_a_bug(self, traceback: str) -> Run:
        """The same with a bug in the look at the first watch."""

        def run(this: RunAtWork) -> int:
            first, *_ = monitor.sort_out(this)
            this.watches = this.watches[1:]
            monitor.enter(this, first, FetchFailed("internal", traceback))
            return monitor.run(this)

        return self._by_hand(run, {})

    def _by_hand(self, run: Callable[[RunAtWork], int], different: dict[str, Any]) -> Run:
        command = ["check", "--json", "--config", str(self.config), "--state", str(self.state)]
        return self._printed(command, partial(self._check, command, run, different), False)

    def _check(self, command: list[str], run: Callable[[RunAtWork], int], different: dict[str, Any]) -> int:
        """What `monitor.check` does."""
        options, start = commandline.parse(command, self.config.parent), self.clock()
        options.clock, options.environment, options.main = self.clock, {}, monitor.main
        with lock.lock(self.state, now=start):
            memory = state.open_memory(self.state, start)
            keep, publish = partial(monitor.keep, self.state), partial(monitor.publish, options)
            this = RunAtWork(memory, options, start, monitor.send, keep, publish, setup.style_of(options))
            this = replace(this, **different)
            beginning.take_up(this, monitor.configured(options, memory))
            return run(this)

    def _printed(self, command: list[str], action: Callable[[], int], terminal: bool) -> Run:
        out, err = Screen() if terminal else io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = action()
            except SystemExit as end:  # argparse
                status = int(end.code or 0)
        return Run(command, status, out.getvalue(), err.getvalue())

    # -- what is on disk

    @property
    def document(self) -> dict[str, Any]:
        """state.json."""
        return remembered(self.state)

    def record(self, name: str) -> dict[str, Any]:
        """What is remembered of a watch."""
        (found,) = (record for record in self.document["watches"] if record["name"] == name)
        assert isinstance(found, dict)
        return found

    @property
    def outbox(self) -> list[tuple[str, str, str]]:
        """Watch, kind and target of the notices that are not sent."""
        return [(notice["watch"], notice["kind"], notice["target"]) for notice in self.document.get("outbox", [])]


def remembered(folder: Path) -> dict[str, Any]:
    """state.json as it is at this moment."""
    document = json.loads((folder / "state.json").read_bytes())
    assert isinstance(document, dict)
    return document


def files(folder: Path, *but: str) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(found.items()) if name not in but}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ------------------------------------------------------------------------------------------- a process of its own

INTERRUPTIBLE = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)


def interruptible(run_monitor: Monitor, *arguments: str) -> subprocess.Popen[str]:
    """Starts it so that an interrupt reaches it, also where the tests themselves run in the background, which ignores
    interrupts."""
    return subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *run_monitor.command(*arguments)],
        env=run_monitor.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def until(condition: Callable[[], object], seconds: float = 20.0) -> float:
    """Waits until it holds; how long that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "it did not happen"
        time.sleep(0.01)
    return time.monotonic() - began


# ---------------------------------------------------------------------------------------------- what is watched


def configuration(*watches: Mapping[str, object], **top: object) -> str:
    """watches.yaml with these watches; a gap of 0 s unless `top` says otherwise. A list is written a line an entry."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in {"gap": "0s", **top}.items()]
    lines.append("watches:")
    for watch in watches:
        keys = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in watch.items()]
        lines += [f"  - {keys[0]}", *(f"    {key}" for key in keys[1:])]
    return "\n".join(lines) + "\n"


def price(site: Site, **keys: object) -> dict[str, object]:
    """A daily watch of the price on the site's page /p."""
    return {"name": "Price", "url": f"{site.url}/p", "select": "#price", **keys}


def page(text: str, around: str = "") -> bytes:
    """A page with a price, and what stands around it."""
    return f"<!doctype html><title>Shop</title><p>{around}</p><p id=price>{text}</p>\n".encode()


def ok(text: str, *lines: str, around: str = "") -> bytes:
    """The answer with that page."""
    return answer(page(text, around), "Content-Type: text/html; charset=utf-8", *lines)


def robots(text: str, *lines: str) -> bytes:
    return answer(text.encode(), "Content-Type: text/plain", *lines)
