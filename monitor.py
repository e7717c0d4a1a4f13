#!/usr/bin/env python3
"""Watch pages for changes, and be told of every real one: a short run for cron or Task Scheduler.

It reads watches (a URL and a CSS selector) from watches.yaml, checks robots.txt, fetches conditionally, fingerprints
the selected element, warns when the selector matches nothing, keeps JSON state in state/, and tells its user through
Apprise. `run` and `look` below are that sentence; what the words mean stands in the modules of pagewatch/ (see its
docstring for a map).
"""

from __future__ import annotations

import gc
import os
import signal
import sys

if sys.version_info < (3, 10):
    sys.exit("monitor.py needs Python 3.10 or newer; this is %d.%d." % sys.version_info[:2])

from pagewatch import quiet
from pagewatch.frozen import replace

LISTENED_TO = sys.stdout is not None  # pythonw.exe has none, and so has a shell's >&-
sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    gc.disable()  # until all is imported: it would search through what stays, again and again
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # while nothing has begun, there is nothing to end well
    # Most scheduled runs have nothing to do: they end here, before anything that takes time is imported.
    _status = quiet.status(sys.argv[1:], HERE, os.environ)
    if _status is not None:
        sys.exit(_status)

import argparse
import faulthandler
import io
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar


def lacking(missing: ModuleNotFoundError) -> str:
    file = os.path.join(HERE, "requirements.txt")
    return f"monitor.py needs the package {missing.name}: python -m pip install -r {file}"


try:
    from pagewatch import (
        beginning,
        commandline,
        conditional,
        decide,
        events,
        lock,
        removals,
        schedule,
        setup,
        state,
        telling,
    )
except ModuleNotFoundError as missing:
    print(lacking(missing), file=sys.stderr)
    sys.exit(2)
from pagewatch.answers import NETWORK_KINDS, Deferred, Disallowed, FetchFailed, Observation, Outcome, Representation
from pagewatch.configuration import Configuration
from pagewatch.errors import ConfigError, MonitorError, reason
from pagewatch.memory import Memory
from pagewatch.model import Decision, Delivery, Event, Notice, Plan, Result, Target, Told, Verified, Watch
from pagewatch.politeness import OVER, deferred, host_of
from pagewatch.run import Looked, Run
from pagewatch.urls import without_login

if TYPE_CHECKING:
    from pagewatch.asking import Fetch, Web
    from pagewatch.connections import Session

LAST_REQUEST = 13 * 60.0  # seconds after the start: later requests are left to the next run
LAST_LOOK = 14 * 60.0  # seconds after the start: looks that have not ended are given up
LAST_RESORT = 15 * 60.0 - 5
NO_ANSWER = frozenset({"internal", "config"})
UNREACHABLE = NETWORK_KINDS | {"robots-unreachable"}

T = TypeVar("T")


# ------------------------------------------------------------------------------------------------------------ the run


def run(this: Run) -> int:
    """Who is due, look, decide, save, tell. Returns the exit status."""
    for looked in looks(this, sort_out(this)):
        for plan, outcome in zip(looked.plans, looked.outcomes, strict=True):
            settle(this, plan, outcome, looked.milliseconds)
    settle_the_unreachable(this)
    telling.tell_heartbeat(this)
    this.save()
    this.deliver()
    return this.finish()


def look(web: Web, plans: Fetch, session: Session) -> Looked:
    """robots.txt, one conditional request, the selection and its fingerprint: what a page shows each watch that
    shares the fetch."""
    answer = guarded(partial(web.ask, plans, session))
    if not isinstance(answer, Representation):
        return Looked(plans, tuple(answer for _ in plans))
    from pagewatch import sources

    ask = web.readers.meanwhile(web.further(plans, session))
    known = [(plan.past.baseline, plan.past.candidate) for plan in plans]
    seen = [partial(sources.read, plan.watch, answer, ask, *past) for plan, past in zip(plans, known, strict=True)]
    return Looked(plans, tuple(web.readers(partial(guarded, each)) for each in seen))


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
        past = this.state_of(watch)
        plan = conditional.plan(watch, this.settings, past, this.start)
        plan = replace(plan, verified=None) if this.options.now else plan
        if conditional.is_edited(plan):
            this.edited.add(watch.name)
        force = this.options.now or watch.name in this.edited
        waits = schedule.reason_to_wait(watch, past, this.pause_of(watch), this.start, force)
        if waits is None:
            plans.append(plan)
        elif waits[0] == "deferred":
            enter(this, plan, deferred(host_of(watch.url), this.memory.hosts[host_of(watch.url)]))
        elif decide.is_stale(watch, past, this.start):  # which is told, however good the reason to wait
            enter(this, plan, Deferred(host_of(watch.url), waits[1], "it is not asked for"))
        else:
            this.unsaved.append(Result(watch.name, without_login(watch.url), waits[0], next_check=waits[1]))
            this.avoided += waits[0] == "fresh"
    return plans


def looks(this: Run, plans: list[Plan]) -> Iterator[Looked]:
    """Looks at hosts side by side, and yields each fetch when it has been read; saving and telling go on meanwhile."""
    if not plans:
        return
    from pagewatch import asking

    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    fetches = asking.share(plans)
    this.avoided += len(plans) - len(fetches)
    robots = asking.known_robots(fetches, this.memory.robots.get)
    web = asking.open_web(this.settings, robots, this.memory.hosts, this.options, this.began + LAST_REQUEST)
    web = replace(web, hinted=asking.hinted(fetches))
    this.learned = lambda: web.hosts.learned

    def look_and_report(fetch: Fetch, session: Session) -> None:
        began = time.monotonic()
        looked = guarded(partial(look, web, fetch, session))
        if isinstance(looked, FetchFailed):
            looked = Looked(fetch, tuple(looked for _ in fetch))
        looked = replace(looked, milliseconds=round(1000 * (time.monotonic() - began)))
        try:
            if known := decide.pause_after(fetch[0], looked.outcomes[0], this.options.clock()):
                web.hosts.pause(host_of(known[0]), known[1])
        finally:
            this.events.put(looked)

    asking.side_by_side(web, fetches, look_and_report)
    this.verify = partial(asking.verify, web, report=this.events.put)
    left = {fetch[0].watch.name: fetch for fetch in fetches}
    del plans, fetches  # what is known of a watch can go when it is settled
    while (left or this.verifying) and (event := this.next_event(this.began + LAST_LOOK)) is not None:
        if isinstance(event, Delivery):
            this.enter_delivery(event)
        elif isinstance(event, Verified):
            complete(this, event)
        elif left.pop(event.plans[0].watch.name, None):
            yield event
    for fetch in left.values():
        yield Looked(fetch, tuple(Deferred(host_of(plan.watch.url), None, OVER) for plan in fetch))


def settle(this: Run, plan: Plan, outcome: Outcome, milliseconds: int) -> None:
    """Decides what an outcome means. Looks that reached nobody wait until it is known whether the machine itself is
    offline."""
    if isinstance(outcome, FetchFailed) and not outcome.answered and outcome.kind in UNREACHABLE:
        if not this.online:
            this.unreachable.append((plan, outcome, milliseconds))
            return
    elif not isinstance(outcome, (Deferred, Disallowed)) and getattr(outcome, "kind", "") not in NO_ANSWER:
        this.online = True
    enter(this, plan, outcome, milliseconds)
    if this.online and this.unreachable:
        settle_the_unreachable(this)


def enter(this: Run, plan: Plan, outcome: Outcome, milliseconds: int = 0) -> None:
    """Takes what is decided into the memory. Also here a bug in one watch is its own trouble only."""
    decision = guarded(partial(decide.decide, plan, outcome, this.start, this.memory.was_reset(plan.past.id)))
    bug = decision if isinstance(decision, FetchFailed) else outcome
    if isinstance(bug, FetchFailed) and bug.kind == "internal":
        place = state.keep_traceback(this.options.state, this.style.redact(bug.reason))
        said = f"a bug in monitor.py; its traceback is in {place}"
        this.fail(3, f"{plan.watch.name}: {said}")
        decision = decide.decide(plan, replace(bug, reason=said), this.start)
    assert isinstance(decision, Decision)
    this.enter(decision, events.event_of(plan, outcome, decision, this.start, milliseconds))
    if this.verify is not None and not this.options.dry_run and (links := removals.links(plan, decision)):
        this.verifying[plan.watch.name] = plan, outcome
        this.verify(plan, links)


def complete(this: Run, verified: Verified) -> None:
    """What is learned of removed records, once their removal is safe, goes into the notices of it."""
    plan, outcome = this.verifying.pop(verified.watch)
    if isinstance(outcome, Observation):
        known = decide.decide(plan, replace(outcome, fates=verified.fates), this.start)
        this.amend(known.notices)


def settle_the_unreachable(this: Run) -> None:
    """If not one of at least two hosts was reached, the machine's own connection is at fault: nothing counts, and all
    stay due. Hosts that were dead at the last look already are no proof of it."""
    held, this.unreachable = this.unreachable, []
    hosts = {host_of(plan.watch.url) for plan, _, _ in held}
    if not this.online and len(hosts) > 1 and any(not plan.past.unreachable for plan, _, _ in held):
        said = f"none of {len(hosts)} hosts could be reached: this machine seems to be offline"
        telling.tell_offline(this, said)
        held = [
            (plan, replace(failed, kind="offline", reason=f"{said} ({failed.reason})"), took)
            for plan, failed, took in held
        ]
    for plan, outcome, took in held:
        enter(this, plan, outcome, took)
    if this.online and this.memory.offline_since is not None:
        telling.tell_online(this, this.memory.offline_since)


# --------------------------------------------------------------------------------------------------- monitor.py check


def check(options: argparse.Namespace) -> int:
    """One run, alone with its state."""
    start, style = options.clock(), setup.style_of(options)
    if not options.config.is_file():  # before a folder is made beside it
        raise ConfigError([f"{options.config} cannot be read: there is no such file"])
    nothing_there = options.dry_run and not options.state.exists()
    alone = nullcontext(lock.Locked()) if nothing_there else lock.lock(options.state, now=start, wait=options.wait)
    with alone as held:
        if isinstance(held, lock.Busy):
            return beginning.say_busy(held, start, style)
        if sys.stderr is sys.__stderr__:  # a process of its own, which not even an endless regular expression keeps
            faulthandler.dump_traceback_later(LAST_RESORT, exit=True)
        keep_in, publish_in = partial(keep, options.state), partial(publish, options)
        open_memory = state.read_memory if options.dry_run else state.open_memory
        memory = open_memory(options.state, start)
        this = Run(memory, options, start, send, keep_in, publish_in, style)
        if memory.recovered:
            kept = f"; it is kept as {memory.recovered}" if memory.recovered != state.STATE else ""
            this.complain(f"{options.state / state.STATE} is damaged{kept}; its copy from the last good run is used")
        try:
            configuration = configured(options, memory)
        except ConfigError as error:
            this.settings = error.settings or this.settings
            telling.tell_problems(this, error.problems)
            this.save()
            this.deliver()
            this.finish()
            raise
        beginning.take_up(this, configuration)
        try:
            status = run(this)
        except KeyboardInterrupt:
            this.save()
            raise
        if not (options.dry_run or options.names):
            ping(this, status)
            if not configuration.problems:
                telling.leave_note(this, configuration, status)
        return status


def configured(options: argparse.Namespace, memory: Memory) -> Configuration:
    """watches.yaml, read and checked once per edit, until nothing is wrong; by the packages that select and notify only
    then. A scheduled run takes the watches that may be due."""
    found = setup.kept_configuration(options, awake_at=options.clock() if setup.is_scheduled(options) else None)
    if found is not None:
        return found
    from pagewatch import config, watches_yaml

    found = watches_yaml.read(options)
    digest = setup.digest(options, found.variables)
    if memory.checked != digest:
        if config.needs_checkers(found):
            from pagewatch import checking

            found = checking.checked(found, options.config.name)
        memory.checked = "" if found.problems else digest
    if not getattr(options, "dry_run", True):  # the other commands leave all as it is
        setup.keep(options, found)
    return found


def ping(this: Run, status: int) -> None:
    """Tells a dead man's switch that a run has finished, unless it failed."""
    if this.settings.ping and status < 2:
        from pagewatch import ping

        telling.tell_ping(this, ping.ping(this.settings, this.options))


def send(
    outbox: Sequence[Notice], targets: Sequence[Target], now: datetime, report: Callable[[Delivery], None]
) -> frozenset[str]:
    from pagewatch import notify

    return notify.deliver(outbox, targets, now, report)


def keep(folder: Path, events: Sequence[Event], told: Sequence[Told], now: datetime) -> str:
    from pagewatch import history

    return history.write(folder, events, told, now)


def publish(
    options: argparse.Namespace, memory: Memory, watches: Sequence[Watch], redact: Callable[[str], str], now: datetime
) -> None:
    """The feed has the changes of all watches, those that have not been read this time too."""
    from pagewatch import publishing

    if options.asleep:
        with suppress(ConfigError):  # of an edit meanwhile
            whole = setup.kept_configuration(argparse.Namespace(**vars(options)))
            watches = watches if whole is None else whole.watches
    publishing.write_feed(options.state, memory, watches, redact, now)


# ------------------------------------------------------------------------------------------------------- the only exit


def main(arguments: Sequence[str], clock: Callable[[], datetime] | None = None) -> int:
    """One sentence and 2 for a fault of the user; 3 and a file with its traceback for a bug."""
    options = commandline.parse(arguments, Path(HERE))
    options.clock, options.environment = clock or now_utc, os.environ
    options.main, options.configured = main, configured
    options.listened_to = LISTENED_TO
    try:
        if options.command == "check":
            return check(options)
        command = import_module(f"pagewatch.commands.{options.command}")
        gc.enable()
        return int(command.run(options))
    except MonitorError as error:
        print(error, file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(lacking(missing), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `monitor.py list | head`: who reads has enough
        return 0
    except OSError as error:
        print(f"monitor.py could not go on: {reason(error)}", file=sys.stderr)
        return 2
    except Exception:
        text = setup.style_of(options, getattr(options, "secrets", ())).redact(traceback.format_exc())
        place = state.keep_traceback(options.state, text)
        print(f"a bug in monitor.py; its traceback is in {place}", file=sys.stderr)
        return 3


def now_utc() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a narrow encoding is no reason to fail
    signal.signal(signal.SIGINT, signal.default_int_handler)
    exit_status = main(sys.argv[1:])
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(exit_status)  # threads that hang in a dead host or target are left behind
