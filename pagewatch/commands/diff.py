"""`monitor.py diff`: what changed between two versions of a watch, in full; nothing is asked or changed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from pagewatch import changes, differences, explain, one_watch
from pagewatch.errors import UsageError
from pagewatch.frozen import replace
from pagewatch.history import Version
from pagewatch.notices import command
from pagewatch.one_watch import Recalled
from pagewatch.output import Style


def run(options: Namespace) -> int:
    recalled, versions, style = one_watch.versions(options)
    if not versions:
        print(style.clean(explain.no_version(recalled.past)))
        return 0
    if len(versions) == 1 and options.first is None:
        _show_only(recalled, versions[0], style)
        return 0
    old, new = chosen(versions, options.first, options.second, recalled.past.name)
    _show_change(recalled, old, new, style)
    return 0


def chosen(versions: Sequence[Version], first: int | None, second: int | None, name: str) -> tuple[Version, Version]:
    """The two versions that were meant: the last two, FROM and the next, or FROM and TO. Negative numbers count from
    the end. UsageError where there is none of a number."""
    if first is None:
        return versions[-2], versions[-1]
    place = _place(versions, first, name)
    if second is not None:
        return versions[place], versions[_place(versions, second, name)]
    if place == len(versions) - 1:
        other = f", such as {command('diff', name)} 1 {versions[-1].number}" if place else ""
        raise UsageError(
            f'{versions[-1].number} is the last version of "{name}": name another to compare it with{other}'
        )
    return versions[place], versions[place + 1]


def _place(versions: Sequence[Version], number: int, name: str) -> int:
    place = number + len(versions) if number < 0 else number - versions[0].number
    if number == 0 or not 0 <= place < len(versions):
        there = f"versions {versions[0].number} to {versions[-1].number}" if len(versions) > 1 else "one version, 1"
        raise UsageError(f'there is no version {number} of "{name}": it has {there}')
    return place


def _show_only(recalled: Recalled, version: Version, style: Style) -> None:
    seen = recalled.content(version)
    lines = [explain.LOST] if seen is None else differences.content(seen, style)
    only = f"{_heading(version)} is the only one so far, so there is nothing to compare it with. It shows:"
    print(style.clean(f"{recalled.past.name}: {only}"))
    for line in lines:
        print(line)


def _show_change(recalled: Recalled, old: Version, new: Version, style: Style) -> None:
    before, after = recalled.content(old), recalled.content(new)
    print(style.clean(f"{recalled.past.name}: {_heading(old)} → {_heading(new)}"))
    if after is None:
        print(f"What version {new.number} showed is lost: its content is not in the history any more.")
        return
    if before is None:
        print(f"What version {old.number} showed is lost: its content is not in the history any more. Now:")
        lines = differences.content(after, style)
    else:
        subject = changes.subject(recalled.past, recalled.watch)
        subject = replace(subject, feed=subject.feed and new.number > old.number)  # backwards, what came is what went
        lines = differences.lines(changes.between(before, after, subject), style)
    for line in lines:
        print(line)
    if new.event.detail and new.number == old.number + 1:
        print(style.clean(f"({new.event.detail})"))


def _heading(version: Version) -> str:
    return f"version {version.number} ({explain.time(version.event.at)})"
