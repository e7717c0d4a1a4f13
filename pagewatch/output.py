"""What the run prints: lines for a terminal, for cron's mail, and JSON for programs.

It promises that text from pages is harmless to a terminal, that secrets are never printed, and that a run in which
all is well prints nothing where nobody looks (not a terminal, no `-v`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pagewatch import diff
from pagewatch.answers import Item
from pagewatch.configuration import SHORTEST_SECRET
from pagewatch.frozen import dataclass
from pagewatch.model import Change, Notice, Result
from pagewatch.notices import harmless, one_line

TROUBLE = frozenset({"no-match", "missing", "gone", "disallowed", "failed"})
NOT_ASKED = frozenset({"fresh", "deferred", "not-due"})
WORDS = {"not-modified": "not modified (304)", "no-match": "no match", "not-due": "not due"}
ORDER = (
    "not-modified",
    "unchanged",
    "changed",
    "baseline",
    "no-match",
    "missing",
    "gone",
    "disallowed",
    "failed",
    "fresh",
    "deferred",
    "not-due",
)
COLOURS = {"changed": "32", "baseline": "36", **dict.fromkeys(TROUBLE, "33"), "failed": "31"}
LONGEST_SAID = 200  # characters of a change in a line


@dataclass(frozen=True)
class Style:
    """How to print: `form` is terminal, pipe or json; `verbosity` -1 (-q), 0 or 1 (-v)."""

    form: str
    verbosity: int = 0
    colour: bool = False
    secrets: tuple[str, ...] = ()

    def redact(self, text: str) -> str:
        """Without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "•••")
        return text

    def clean(self, text: str) -> str:
        """Without secrets, and without characters that a terminal would obey."""
        return harmless(self.redact(text))

    def clean_or_none(self, text: str | None) -> str | None:
        return None if text is None else self.clean(text)


def style(form: str, verbosity: int, colour: bool, secrets: Iterable[str]) -> Style:
    """A Style whose secrets are replaced longest first, so that no part of one is left."""
    long_enough = (secret for secret in secrets if len(secret) >= SHORTEST_SECRET)
    return Style(form, verbosity, colour, tuple(sorted(long_enough, key=len, reverse=True)))


def row(result: Result, style: Style) -> str:
    """The line of one watch, "" where this style does not print it."""
    if style.form == "json":
        return json.dumps(_object(result, style))
    if not _is_shown(result, style):
        return ""
    said = _said(result)
    remarks = [remark for remark in (result.detail if said else "", result.kind) if remark]
    text = ": ".join(part for part in (result.watch, said or result.detail) if part)
    text += f" ({'; '.join(remarks)})" if remarks else ""
    return f"{_coloured(result.outcome, style)}{style.clean(text)}".replace("\n", " ")


def _said(result: Result) -> str:
    """What was seen, in one short line: a change, or the text of a baseline."""
    if result.change is None or result.outcome not in ("changed", "baseline"):
        return ""
    said = diff.gist(result.change) if result.outcome == "changed" else diff.short(result.change.new)
    return one_line(said, LONGEST_SAID)


def _is_shown(result: Result, style: Style) -> bool:
    if style.verbosity:
        return style.verbosity > 0
    return result.outcome not in ("not-due", "fresh") if style.form == "terminal" else result.news


def _coloured(outcome: str, style: Style) -> str:
    padded = f"{WORDS.get(outcome, outcome):<20}"
    return f"\x1b[{COLOURS[outcome]}m{padded}\x1b[0m" if style.colour and outcome in COLOURS else padded


def _object(result: Result, style: Style) -> dict[str, Any]:
    change = result.change or Change(None, None)
    return {
        "watch": style.clean(result.watch),
        "url": style.clean(result.url),
        "outcome": result.outcome,
        "kind": result.kind or None,
        "detail": style.clean(result.detail) or None,
        "old": style.clean_or_none(change.old),
        "new": style.clean_or_none(change.new),
        "added": [_item(item, style) for item in change.added],
        "removed": [_item(item, style) for item in change.removed],
        "updated": [_update(old, new, style) for old, new in change.updated],
        "fields": {
            name: {"old": style.clean_or_none(old), "new": style.clean_or_none(new)} for name, old, new in change.fields
        },
        "next_check": timestamp(result.next_check),
    }


def _item(item: Item, style: Style) -> dict[str, str]:
    link = item.link or (item.key if item.key.startswith(("http://", "https://")) else "")
    return {"key": style.clean(item.key), "text": style.clean(item.name), "link": style.clean(link)}


def _update(old: Item, new: Item, style: Style) -> dict[str, str]:
    before, after = diff.texts_of(old, new)
    return {"key": style.clean(new.key), "old": style.clean(before), "new": style.clean(after)}


def timestamp(time: datetime | None) -> str | None:
    """ISO 8601 UTC to the second, as RFC 3339 writes it."""
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%S}Z"


def message(notice: Notice, style: Style) -> str:
    """A notice whose target is standard output, or that no target took."""
    if style.form == "json":
        told = {
            "watch": notice.watch,
            "kind": notice.kind,
            "title": notice.title,
            "body": notice.body,
            "error": notice.error,
        }
        return json.dumps({"notice": {name: style.clean(text) or None for name, text in told.items()}})
    failed = f"\n(not delivered to {notice.target}: {notice.error}; it will be tried again)" if notice.error else ""
    return style.clean(f"{notice.title}\n{notice.body}{failed}\n")


def summary(counts: Mapping[str, int], avoided: int, unsent: int, style: Style) -> str:
    """The last line: what each layer saved. "" where this style does not print it. `counts` are watches by outcome."""
    counts = Counter(counts)
    if style.form == "json":
        known = {outcome: counts[outcome] for outcome in ORDER if counts[outcome]}
        return json.dumps(
            {"summary": {"watches": sum(counts.values()), **known, "requests_avoided": avoided, "unsent": unsent}}
        )
    if style.verbosity < 0 or (style.form == "pipe" and not style.verbosity):
        return ""
    parts = ", ".join(f"{counts[outcome]} {WORDS.get(outcome, outcome)}" for outcome in ORDER if counts[outcome])
    total = sum(counts.values())
    tail = f"; {avoided} request{'s' if avoided != 1 else ''} avoided" if avoided else ""
    waiting = f"; {unsent} notice{'s' if unsent != 1 else ''} not delivered yet" if unsent else ""
    return f"{total} watch{'es' if total != 1 else ''}: {parts or 'nothing to do'}{tail}{waiting}"
