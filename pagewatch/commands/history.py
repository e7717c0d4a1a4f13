"""`monitor.py history`: every version seen of a watch, with its time; nothing is asked or changed."""

from __future__ import annotations

from argparse import Namespace

from pagewatch import diff, explain, one_watch
from pagewatch.answers import Extract
from pagewatch.history import Version
from pagewatch.notices import command, one_line
from pagewatch.one_watch import Recalled
from pagewatch.output import LONGEST_SAID, Style


def run(options: Namespace) -> int:
    recalled, versions, style = one_watch.versions(options)
    if not versions:
        print(style.clean(explain.no_version(recalled.past)))
        return 0
    width = len(str(versions[-1].number))
    rows = [(version.number, explain.time(version.event.at), _said(version, recalled, style)) for version in versions]
    for number, time, said in rows:
        print(f"{number:>{width}}  {time}  {said}")
    print(style.clean(_how_to_see_more(recalled.past.name, len(versions))))
    return 0


def _said(version: Version, recalled: Recalled, style: Style) -> str:
    """What changed; of a baseline what was there."""
    event = version.event
    said = _shown(recalled.content(version)) if event.outcome == "baseline" else event.title or event.outcome
    detail = f" ({one_line(style.redact(event.detail))})" if event.detail else ""
    return one_line(style.redact(said), LONGEST_SAID) + detail


def _shown(seen: Extract | None) -> str:
    if seen is None:
        return explain.LOST
    return diff.short(diff.words(seen).replace("\n", " " if seen.items is None else "; "))


def _how_to_see_more(name: str, count: int) -> str:
    if count == 1:
        return f"One version so far; {command('diff', name)} shows it in full"
    more = f", {command('diff', name)} 1 that from version 1 to 2" if count > 2 else ""
    return f"{command('diff', name)} shows the last change in full{more}"
