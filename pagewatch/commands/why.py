"""`monitor.py why`: the last decisions about a watch, and why an alert came or did not; nothing is asked or changed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from pagewatch import checking, explain, one_watch
from pagewatch.explain import Case
from pagewatch.notices import one_line
from pagewatch.one_watch import Recalled
from pagewatch.output import WORDS, Style
from pagewatch.politeness import host_of
from pagewatch.setup import style_of
from pagewatch.urls import without_login

SHOWN = 10  # decisions


def run(options: Namespace) -> int:
    configuration = checking.read(options)
    recalled, style = one_watch.find(options, configuration), style_of(options, configuration.secrets)
    case, told, memory, now = _case(recalled), recalled.told(), recalled.memory, options.clock()
    waiting = [notice for notice in memory.outbox if notice.watch_id and notice.watch_id == case.past.id]
    url = without_login(recalled.watch.url) if recalled.watch else case.problem.url if case.problem else case.past.url
    print(style.clean(": ".join(dict.fromkeys(filter(None, (case.past.name, url))))))
    _print_decisions(case, style)
    if memory.history_told:
        print(style.clean(f"The history could not be written: {memory.history_told}"))
    _section("What was told", explain.deliveries(told, waiting, configuration.declared), style)
    _section("No alert, though the page has changed?", explain.no_alert(case, now), style)
    _section("An alert, though nothing has changed?", explain.alert(case), style)
    return 0


def _case(recalled: Recalled) -> Case:
    watch, memory = recalled.watch, recalled.memory
    host = host_of(watch.url) if watch else ""
    return Case(
        watch,
        recalled.problem,
        recalled.past,
        tuple((version.number, version.event) for version in recalled.versions()),
        tuple(recalled.decisions()),
        host,
        memory.hosts.get(host),
        memory.offline_since,
    )


def _print_decisions(case: Case, style: Style) -> None:
    kept, shown = len(case.decisions), case.decisions[-SHOWN:]
    if not shown:
        print("\nNo decision about it is known." if case.past.checks else "\nIt has not been looked at yet.")
        return
    print(f"\nThe last {len(shown)} of {kept:,} decisions" if kept > len(shown) else "\nIts decisions")
    for event in shown:
        outcome = WORDS.get(event.outcome, event.outcome)
        said = one_line(style.redact(explain.decision(event, case.versions)))
        print(f"  {explain.time(event.at)}  {outcome:<20}  {said}")


def _section(title: str, lines: Sequence[str], style: Style) -> None:
    if lines:
        print(f"\n{title}")
    for line in lines:
        print(f"  {one_line(style.redact(line))}")
