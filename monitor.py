#!/usr/bin/env python3
"""Watch pages for changes, and be told of every real one: a short run for cron or Task Scheduler.

It reads watches (a URL and a CSS selector) from watches.yaml, checks robots.txt, fetches conditionally, fingerprints
the selected element, warns when the selector matches nothing, keeps JSON state in state/, and tells its user through
Apprise. `run` and `look` below are that sentence; what the words mean stands in the modules of pagewatch/ (see its
docstring for a map).
"""

from __future__ import annotations

import os
import sys

if sys.version_info < (3, 10):
    sys.exit("monitor.py needs Python 3.10 or newer; this is %d.%d." % sys.version_info[:2])

from pagewatch import quiet

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    # Most scheduled runs have nothing to do: they end here, before anything that takes time is imported.
    _status = quiet.status(sys.argv[1:], HERE, os.environ)
    if _status is not None:
        sys.exit(_status)

import argparse
import difflib
import hashlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar


def lacking(missing: ModuleNotFoundError) -> str:
    file = os.path.join(HERE, "requirements.txt")
    return f"monitor.py needs the package {missing.name}: python -m pip install -r {file}"


try:
    from pagewatch import commandline, conditional, config, decide, lock, notices, output, quiet, schedule, setup, state
except ModuleNotFoundError as missing:
    sys.exit(lacking(missing))
from pagewatch.errors import ConfigError, MonitorError, UsageError
from pagewatch.memory import Memory
from pagewatch.model import (
    NETWORK_KINDS,
    VERSION,
    Decision,
    Deferred,
    Delivery,
    Disallowed,
    Every,
    FetchFailed,
    Notice,
    Outcome,
    Pause,
    Plan,
    Representation,
    Result,
    RobotsRecord,
    Settings,
    Target,
    Watch,
    WatchState,
)
from pagewatch.politeness import Politeness, host_of
from pagewatch.run import Looked, Run

if TYPE_CHECKING:
    from pagewatch.asking import Fetch, Web
    from pagewatch.connections import Session

LAST_REQUEST = 13 * 60.0  # seconds after the start: later requests are left to the next run
LAST_LOOK = 14 * 60.0  # seconds after the start: looks that have not ended are given up
OFFLINE_TOLD = timedelta(hours=24)
UNREACHABLE = NETWORK_KINDS | {"robots-unreachable"}
OVER = "the time of this run is over"

T = TypeVar("T")


# ------------------------------------------------------------------------------------------------------------ the run


def run(this: Run) -> int:
    """Who is due, look, decide, save, tell. Returns the exit status."""
    plans = sort_out(this)
    for looked in looks(this, plans):
        for plan, outcome in zip(looked.plans, looked.outcomes, strict=True):
            settle(this, plan, outcome)
    settle_the_unreachable(this)
    this.save()
    this.deliver()
    return this.finish()


def look(web: Web, plans: Fetch, session: Session) -> Looked:
    """robots.txt, one conditional request, the selection and its fingerprint: what a page shows each watch that
    shares the fetch."""
    from pagewatch import asking

    answer = guarded(partial(asking.ask, web, plans, session))
    if not isinstance(answer, Representation):
        return Looked(plans, tuple(answer for _ in plans))
    from pagewatch import sources

    return Looked(
        plans, tuple(guarded(partial(sources.read, plan.watch, answer, plan.past.baseline)) for plan in plans)
    )


def guarded(action: Callable[[], T]) -> T | FetchFailed:
    """One watch's trouble never stops another's turn: a bug becomes an outcome, with its traceback for the file."""
    try:
        return action()
    except Exception:
        return FetchFailed("internal", traceback.format_exc())


def sort_out(this: Run) -> list[Plan]:
    """The plans of the watches that are to be asked now; the others get their row."""
    plans = []
    for watch in this.watches:
        past = this.memory.state_of(watch.name, watch.url, watch.select, this.names)
        waits = schedule.reason_to_wait(watch, past, this.memory.hosts.get(host_of(watch.url)), this.start, this.force)
        if waits is None:
            plans.append(conditional.plan(watch, this.settings, past, this.start))
        else:
            this.unsaved.append(Result(watch.name, watch.url, waits[0], next_check=waits[1]))
            this.avoided += waits[0] == "fresh"
    return plans


def looks(this: Run, plans: list[Plan]) -> Iterator[Looked]:
    """Looks at hosts side by side, and yields each fetch when it has been read; saving and telling go on meanwhile."""
    if not plans:
        return
    from pagewatch import asking

    fetches = asking.share(this.settings, plans)
    this.avoided += len(plans) - len(fetches)
    robots = asking.known_robots(fetches, this.memory.robots.get)
    web = open_web(this.settings, robots, this.memory.hosts, this.began + LAST_REQUEST, this.force)
    this.learned = lambda: web.hosts.learned

    def look_and_report(fetch: Fetch, session: Session) -> None:
        looked = look(web, fetch, session)
        if pause := decide.pause_after(fetch[0], looked.outcomes[0], now_utc()):
            web.hosts.pause(host_of(fetch[0].watch.url), pause)
        this.events.put(looked)

    asking.side_by_side(web, fetches, look_and_report)
    left = {fetch[0].watch.name: fetch for fetch in fetches}
    while left and (event := this.next_event(this.began + LAST_LOOK)) is not None:
        if isinstance(event, Delivery):
            this.enter_delivery(event)
        elif left.pop(event.plans[0].watch.name, None):
            yield event
    for fetch in left.values():
        yield Looked(fetch, tuple(Deferred(host_of(plan.watch.url), None, OVER) for plan in fetch))


def settle(this: Run, plan: Plan, outcome: Outcome) -> None:
    """Decides what an outcome means. Looks that reached nobody wait until it is known whether the machine itself is
    offline."""
    if isinstance(outcome, FetchFailed) and not outcome.answered and outcome.kind in UNREACHABLE:
        if not this.online:
            this.unreachable.append((plan, outcome))
            return
    elif not isinstance(outcome, (Deferred, Disallowed)):
        this.online = True
    enter(this, plan, outcome)
    if this.online and this.unreachable:
        settle_the_unreachable(this)


def enter(this: Run, plan: Plan, outcome: Outcome) -> None:
    """Takes what is decided into the memory. Also here a bug in one watch is its own trouble only."""
    decision = guarded(partial(decide.decide, plan, outcome, this.start, this.memory.was_reset(plan.past.id)))
    bug = decision if isinstance(decision, FetchFailed) else outcome
    if isinstance(bug, FetchFailed) and bug.kind == "internal":
        reason = f"a bug in monitor.py; its traceback is in {keep_traceback(this.folder, bug.reason)}"
        this.fail(3, f"{plan.watch.name}: {reason}")
        decision = decide.decide(plan, replace(bug, reason=reason), this.start)
    assert isinstance(decision, Decision)
    this.enter(plan, decision)


def settle_the_unreachable(this: Run) -> None:
    """If not one of at least two hosts was reached, the machine's own connection is at fault: nothing counts, and all
    stay due."""
    held, this.unreachable = this.unreachable, []
    hosts = {host_of(plan.watch.url) for plan, _ in held}
    if not this.online and len(hosts) > 1:
        reason = f"none of {len(hosts)} hosts could be reached: this machine seems to be offline"
        tell_offline(this, reason)
        held = [
            (plan, FetchFailed("offline", f"{reason} ({outcome.reason})", answered=False)) for plan, outcome in held
        ]
    for plan, outcome in held:
        enter(this, plan, outcome)
    if this.online and this.memory.offline_since is not None:
        tell_online(this, this.memory.offline_since)


def tell_offline(this: Run, reason: str) -> None:
    """One line at the start of it, and a notice when it has lasted a day."""
    memory = this.memory
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


# --------------------------------------------------------------------------------------------------- monitor.py check


def check(options: argparse.Namespace) -> int:
    """One run, alone with its state."""
    start, style = now_utc(), style_of(options)
    with lock.lock(options.state, now=start, wait=options.wait) as held:
        if isinstance(held, lock.Busy):
            return say_busy(held, start, style)
        memory = state.open_memory(options.state, start)
        if memory.recovered:
            said = f"was damaged: kept as {memory.recovered}; the copy from the start of the last good run is used"
            print(f"{options.state / state.STATE} {said}", file=sys.stderr)
        this = Run(
            Settings("", "", timedelta(0)),
            (),
            frozenset(),
            memory,
            style,
            options.state,
            start,
            send,
            options.now,
            options.dry_run,
        )
        try:
            configuration = configured(options, memory)
        except ConfigError as error:
            this.settings = error.settings or this.settings
            tell_problems(this, error.problems)
            this.save()
            this.deliver()
            raise
        take_up(this, configuration, options)
        try:
            status = run(this)
        except KeyboardInterrupt:
            this.save()
            raise
        if not (options.dry_run or options.names or configuration.problems):
            leave_note(this, options.config, sorted(configuration.variables), status)
        return status


def take_up(this: Run, configuration: config.Configuration, options: argparse.Namespace) -> None:
    """Enters the configuration into the run: the watches that are asked for, and a row for each that is broken."""
    this.settings, this.names = configuration.settings, frozenset(configuration.names)
    this.watches = chosen(configuration, options.names)
    this.style = style_of(options, configuration.secrets)
    lines = [config.line(problem, options.config.name) for problem in configuration.problems]
    for line in lines:
        this.fail(2, line)
    new = tell_problems(this, lines)
    broken = {problem.watch: problem for problem in reversed(configuration.problems) if problem.watch}
    rows = [Result(name, p.url, "failed", "config", p.message, news=new) for name, p in broken.items()]
    this.unsaved += [row for row in rows if not options.names or row.watch in options.names]


def tell_problems(this: Run, lines: Sequence[str]) -> bool:
    """Tells the problems of the configuration that have not been told; returns whether there were any. Standard error
    has them all."""
    digests = {hashlib.sha256(line.partition(": ")[2].encode()).hexdigest()[:16]: line for line in lines}
    new = [line for digest, line in digests.items() if digest not in this.memory.told_config]
    this.memory.told_config = tuple(digests)
    if new and this.settings.targets:
        rest = f" and {len(new) - 1} more" if len(new) > 1 else ""
        this.post_general("config", new[0] + rest, "\n".join(new))
    return bool(new)


def chosen(configuration: config.Configuration, names: Sequence[str]) -> list[Watch]:
    """The watches that are switched on, or those of them that are named."""
    watches = {watch.name: watch for watch in configuration.watches}
    for name in names:
        if name not in configuration.names:
            raise UsageError(unknown(name, configuration.names))
        if name in watches and not watches[name].enabled:
            raise UsageError(f'watch "{name}" is switched off in watches.yaml (enabled: false)')
    return [watch for watch in configuration.watches if watch.enabled and (not names or watch.name in names)]


def unknown(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f'there is no watch "{name}"' + (f': did you mean "{near[0]}"?' if near else "; `monitor.py list` shows all")


def leave_note(this: Run, path: Path, variables: list[str], status: int) -> None:
    """For the runs in which nothing will be due (`quiet`): until when that is, what they print, and their exit
    status."""
    now, until, rows = now_utc(), [], []
    outbox = this.memory.outbox
    if status > 1 or any(notices.is_due(notice, now) for notice in outbox):
        return
    for watch in this.watches:
        past = this.memory.state_of(watch.name, watch.url, watch.select, this.names)
        waits = schedule.reason_to_wait(watch, past, this.memory.hosts.get(host_of(watch.url)), now, force=False)
        if waits is None:
            return
        until.append(schedule.due_at(past, now) or now if waits[0] == "not-due" else waits[1])
        rows.append(Result(watch.name, watch.url, waits[0], next_check=waits[1]))
    until += [notices.due_at(notice) for notice in outbox]
    style = replace(this.style, form="json")
    lines = [*(output.row(row, style) for row in rows), output.summary(rows, 0, len(outbox), style)]
    digest = quiet.digest(str(path), variables, os.environ)
    quiet.write(
        str(this.folder), (digest, variables), (now.timestamp(), min(until, default=now).timestamp()), status, lines
    )


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


# ---------------------------------------------------------------------------------------------------- what it stands on


def configured(options: argparse.Namespace, memory: Memory | None = None) -> config.Configuration:
    """watches.yaml, checked; the packages that select and notify check it once per edit, if `memory` knows the last
    one."""
    configuration = setup.read_configuration(options.config, os.environ)
    digest = setup.digest(options.config, configuration, os.environ)
    if memory is not None and memory.checked == digest:
        return configuration
    from pagewatch import css, notify, sources

    checks = {"selector": css.check_selector, "path": sources.check_path, "target": notify.check_target}
    configuration = config.check(configuration, file=options.config.name, **checks)
    if memory is not None:
        memory.checked = "" if configuration.problems else digest
    return configuration


def open_web(
    this_settings: Settings,
    robots: Mapping[str, RobotsRecord],
    pauses: Mapping[str, Pause],
    deadline: float,
    force: bool,
) -> Web:
    """The way out, as the environment describes it."""
    from urllib.request import getproxies

    from pagewatch import asking, connections

    hosts = Politeness(this_settings, robots, pauses, now=now_utc, deadline=deadline, override_backoff=force)
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE", "")
    return asking.Web(this_settings, connections.Client(ca_bundle=bundle, proxies=getproxies()), hosts)


def send(
    outbox: Sequence[Notice], targets: Sequence[Target], now: datetime, report: Callable[[Delivery], None]
) -> frozenset[str]:
    from pagewatch import notify

    return notify.deliver(outbox, targets, now, report)


def style_of(options: argparse.Namespace, secrets: Iterable[str] = ()) -> output.Style:
    terminal = sys.stdout.isatty()
    form = "json" if getattr(options, "json", False) else "terminal" if terminal else "pipe"
    return output.style(form, options.verbosity, terminal and not os.environ.get("NO_COLOR"), secrets)


def now_utc() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)


def keep_traceback(folder: Path, text: str) -> Path:
    """Writes the traceback of a bug beside the state, for its owner only."""
    path = folder / f"error-{now_utc():%Y%m%dT%H%M%SZ}.txt"
    with (
        suppress(OSError),
        open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file,
    ):
        file.write(f"pagewatch {VERSION}, Python {sys.version}\n{text}\n")
    return path


# -------------------------------------------------------------------------------------------------------- the commands


def test_command(options: argparse.Namespace) -> int:
    from pagewatch import asking
    from pagewatch.commands import test

    configuration, memory = configured(options), state.read_memory(options.state, now_utc())
    watch = watch_to_test(options, configuration)
    web = open_web(configuration.settings, {}, memory.hosts, time.monotonic() + LAST_REQUEST, force=True)
    plan = conditional.plan(watch, configuration.settings, WatchState("", watch.name, watch.url), now_utc())
    with web.client.session() as session:
        return test.explain(
            plan, lambda plan: asking.ask(web, (plan,), session), style_of(options, configuration.secrets)
        )


def watch_to_test(options: argparse.Namespace, configuration: config.Configuration) -> Watch:
    watches = {watch.name: watch for watch in configuration.watches}
    if options.name in watches:
        watch = watches[options.name]
        return replace(watch, select=options.select or watch.select)
    if not options.name.lower().startswith(("http://", "https://")):
        raise UsageError(unknown(options.name, configuration.names))
    from pagewatch import css

    if options.select and (wrong := css.check_selector(options.select)):
        raise UsageError(f"--select: {wrong}")
    day = timedelta(days=1)
    return Watch(options.name, options.name, 0, Every(day, day), select=options.select)


def list_command(options: argparse.Namespace) -> int:
    from pagewatch.commands import list as command

    configuration, memory = configured(options), state.read_memory(options.state, now_utc())
    style = style_of(options, configuration.secrets)
    return command.show(configuration, memory, state.damaged_files(options.state), style, now_utc())


def forget_command(options: argparse.Namespace) -> int:
    from pagewatch.commands import forget

    if bool(options.name) == bool(options.target):
        raise UsageError("name either a watch, or a target with --target")
    start = now_utc()
    with lock.lock(options.state, now=start, wait=10) as held:
        if isinstance(held, lock.Busy):
            raise UsageError("another run is at work: try again when it has ended")
        memory = state.open_memory(options.state, start)
        return forget.forget_target(memory, options.target) if options.target else forget.forget(memory, options.name)


def doctor_command(options: argparse.Namespace) -> int:
    from pagewatch.commands import doctor

    try:
        configuration = configured(options)
    except ConfigError as error:
        return doctor.report_broken(error.problems)
    lines = [config.line(problem, options.config.name) for problem in configuration.problems]
    style = style_of(options, configuration.secrets)
    status = doctor.examine(configuration, lines, (options.config, options.state), style, now_utc())
    return max(status, doctor.send_to_all(configuration.settings.targets, now_utc(), style)) if options.send else status


def demo_command(options: argparse.Namespace) -> int:
    from pagewatch.commands import demo

    return demo.demonstrate(main)


COMMANDS = {
    "check": check,
    "test": test_command,
    "list": list_command,
    "forget": forget_command,
    "doctor": doctor_command,
    "demo": demo_command,
}


def main(arguments: Sequence[str]) -> int:
    """The only exit: a fault of the user is one sentence and 2, a bug is a file with its traceback and 3."""
    options = commandline.parse(arguments, Path(HERE))
    try:
        return COMMANDS[options.command](options)
    except MonitorError as error:
        print(error, file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(lacking(missing), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:
        place = keep_traceback(options.state, traceback.format_exc())
        print(f"a bug in monitor.py; its traceback is in {place}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a narrow encoding is no reason to fail
    exit_status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(exit_status)  # threads that hang in a dead host or target are left behind
