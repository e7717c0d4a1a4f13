"""`monitor.py doctor`: examines what the program depends on, and says what to do where something is wrong."""

from __future__ import annotations

import os
import platform
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue

from pagewatch import checking, notify
from pagewatch.configuration import Configuration, line
from pagewatch.errors import ConfigError, StateError
from pagewatch.model import VERSION, Delivery, Notice, Target
from pagewatch.output import Style
from pagewatch.setup import style_of
from pagewatch.state import STATE, damaged_files, read_memory

PACKAGES = ("requests", "beautifulsoup4", "lxml", "PyYAML", "apprise")
EARLIEST = 2026  # no clock that is right is before this program

Finding = tuple[bool, str]  # whether it is in order, and what there is to say


def run(options: Namespace) -> int:
    try:
        configuration = checking.read(options)
    except ConfigError as error:
        for problem in error.problems:
            print(f"BAD  configuration  {problem}")
        return 2
    now, style = options.clock(), style_of(options, configuration.secrets)
    problems = [line(problem, options.config.name) for problem in configuration.problems]
    status = examine(configuration, [*problems, *options.remarks], (options.config, options.state), style, now)
    return max(status, send_to_all(configuration.settings.targets, now, style)) if options.send else status


def examine(
    configuration: Configuration, problems: Sequence[str], places: tuple[Path, Path], style: Style, now: datetime
) -> int:
    """`places` are the configuration file and the state folder. Returns 0, or 2 where the user must mend something."""
    config, folder = places
    findings: list[tuple[str, Finding]] = [("version", _versions())]
    findings += [("configuration", finding) for finding in _configuration(configuration, problems, config)]
    findings += [("target", finding) for finding in _targets(configuration)]
    findings += [("state", finding) for finding in _state(configuration, folder, now)]
    findings += [("clock", _clock(now))]
    for subject, (good, text) in findings:
        print(style.clean(f"{'ok ' if good else 'BAD'}  {subject:<14} {text}"))
    return 0 if all(good for _, (good, _) in findings) else 2


def send_to_all(targets: Sequence[Target], now: datetime, style: Style) -> int:
    """A test notice to each target. Returns 1 where one was not taken."""
    title, text = "A test notice", f"From monitor.py doctor, {now:%Y-%m-%d %H:%M} UTC: this is how you will be told."
    outbox = [Notice(target.name, "", "", "test", title, text, target.name, now) for target in targets]
    deliveries: SimpleQueue[Delivery] = SimpleQueue()
    reasons: dict[str, str] = {}
    left = notify.deliver(outbox, targets, now, deliveries.put)
    while left:
        delivery = deliveries.get()
        reasons |= dict.fromkeys(delivery.delivered, "") | dict(delivery.failed)
        left -= {delivery.target} if delivery.last else set()
    for name, reason in reasons.items():
        print(style.clean(f"{name}: {f'NOT delivered: {reason}' if reason else 'delivered'}"))
    if not targets:
        print("there is no target to send to: changes are printed")
    return int(any(reasons.values()))


def _versions() -> Finding:
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return True, f"pagewatch {VERSION}, Python {platform.python_version()} on {platform.system()}, {packages}"


def _configuration(configuration: Configuration, problems: Sequence[str], path: Path) -> Iterator[Finding]:
    on = sum(watch.enabled for watch in configuration.watches)
    yield True, f"{path}: watches that are on: {on}, others: {len(configuration.names) - on}"
    yield from ((False, problem) for problem in problems)
    if "+" not in configuration.settings.user_agent:
        yield True, "no contact: set it so that site operators can reach you"


def _targets(configuration: Configuration) -> Iterator[Finding]:
    for target in configuration.settings.targets:
        advice = notify.advice(target.url)
        yield True, f"{target.name}: {notify.host_shown(target.url)}" + (f"; {advice}" if advice else "")
    if not configuration.settings.targets:
        yield True, "none: changes are printed, and cron mails what is printed"


def _state(configuration: Configuration, folder: Path, now: datetime) -> Iterator[Finding]:
    if not folder.is_dir():
        yield True, f"{folder} does not exist yet: the first run makes it"
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield False, f"{folder} cannot be written by this user"
    if os.name == "posix" and (folder / STATE).exists() and folder.stat().st_mode & 0o077:
        yield False, f"{folder} can be read by others: chmod 700 {folder}"
    for name in damaged_files(folder):
        yield True, f"{folder / name} was put aside as damaged: delete it when you need it no more"
    try:
        memory = read_memory(folder, now)
    except StateError as error:
        yield False, str(error)
        return
    if memory.recovered == STATE:
        yield False, f"{folder / STATE} is damaged: the next run keeps it aside and uses its copy"
    if memory.history_told:
        yield False, memory.history_told
    yield True, f"{folder}: watches remembered: {len(memory.names())}, notices unsent: {len(memory.outbox)}"
    for target, count in memory.unclaimed(configuration.declared).items():
        drop = f"monitor.py forget --target {target}"
        yield False, f"{count} notices wait for {target}, which is no longer in the file: put it back, or {drop}"
    ahead = [
        state
        for state in memory.watches.values()
        if state.last_checked and state.last_checked > now + timedelta(minutes=5)
    ]
    if ahead:
        yield False, f"{len(ahead)} watches were last looked at in the future: was the clock wrong, or is it now?"


def _clock(now: datetime) -> Finding:
    return now.year >= EARLIEST, f"{now:%Y-%m-%d %H:%M:%S} UTC"
