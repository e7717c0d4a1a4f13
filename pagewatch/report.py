"""The report: how all watches are, as one HTML page.

It needs no network and no script and is the same text for the same values. What pages wrote is escaped and harmless
wherever it stands, a link is http or https and shows no password, and the page has a bounded size however much has
changed. All times are UTC; "ago" counts from when the report was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from html import escape

from pagewatch import plots
from pagewatch.comparison import Compared, table
from pagewatch.frozen import dataclass
from pagewatch.notices import LONGEST_TITLE, one_line
from pagewatch.plots import Point
from pagewatch.schedule import span
from pagewatch.stylesheet import CSS, policy
from pagewatch.urls import without_login

LONGEST_NAME = 120
LONGEST_TEXT = 500  # of a detail or a note
LONGEST_ADDRESS = 2_000
MOST_CHANGES = 5  # compared for one watch
ROOM = 800_000  # octets for what is compared, of all watches together
MOST_ROOM = 100_000  # for one of them

HEALTH = {"trouble": "Trouble", "waiting": "Waiting", "good": "Well", "off": "Off"}  # in the order they are shown
TALLY = {"trouble": "in trouble", "waiting": "waiting", "good": "well", "off": "off"}
MARKS = {  # a shape each, so that colour is not all that tells them apart
    "trouble": '<path d="M5 1l4 8H1z"/>',
    "waiting": '<circle class="open" cx="5" cy="5" r="3.6"/>',
    "good": '<circle cx="5" cy="5" r="4"/>',
    "off": '<path d="M1 5h8"/>',
}


@dataclass(frozen=True)
class Shown:
    """One watch. `state` is the contract's word (ok, new, no-match, failed, …), `detail` a clause that explains it,
    `health` one of trouble, waiting, good and off; `interval` is a text. `moments` are those of changes, `values` what
    its number was from when on, `diffs` the last changes, the newest first."""

    name: str
    url: str
    state: str
    health: str
    detail: str = ""
    last_verified: datetime | None = None
    last_changed: datetime | None = None
    next_check: datetime | None = None
    interval: str = ""
    checks: int = 0
    changes: int = 0
    moments: tuple[datetime, ...] = ()
    values: tuple[Point, ...] = ()
    diffs: tuple[Compared, ...] = ()


@dataclass(frozen=True)
class Report:
    """All watches, in any order; `unsent` notices wait for a target; `notes` are clauses about the whole."""

    watches: tuple[Shown, ...]
    made: datetime
    unsent: int = 0
    notes: tuple[str, ...] = ()


def html(report: Report) -> str:
    """The page, to be written as UTF-8."""
    watches = sorted(report.watches, key=_order)
    room = min(ROOM // max(len(watches), 1), MOST_ROOM)
    sections = "\n".join(_section(watch, number, report.made, room) for number, watch in enumerate(watches, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{_headline(watches)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#overview">Skip to the overview</a>\n<div class="page">\n{_header(report)}\n'
        f"<main>\n{_overview(watches, report.made)}\n{sections}\n</main>\n"
        '<footer class="quiet"><p>Written by <code>monitor.py report</code>. '
        '<a href="#top">Back to the top</a></p></footer>\n</div>\n</body>\n</html>\n'
    )


def _order(watch: Shown) -> tuple[int, float, str]:
    """Trouble first, then what changed last."""
    changed = watch.last_changed.timestamp() if watch.last_changed else 0.0
    return list(HEALTH).index(watch.health), -changed, watch.name


def _headline(watches: Sequence[Shown]) -> str:
    troubled = sum(watch.health == "trouble" for watch in watches)
    return f"{len(watches)} watched, {f'{troubled} in trouble' if troubled else 'none in trouble'}"


# ------------------------------------------------------------------------------------------------------ the head of it


def _header(report: Report) -> str:
    counts = Counter(watch.health for watch in report.watches)
    tally = "".join(
        f"<li>{_mark(health, f'{counts[health]} {words}')}</li>" for health, words in TALLY.items() if counts[health]
    )
    notes = [*report.notes, *([_unsent(report.unsent)] if report.unsent else [])]
    noted = "".join(f"<li>{_text(note, LONGEST_TEXT)}</li>" for note in notes)
    return (
        f'<header id="top">\n<h1>{len(report.watches)} watched page{_s(len(report.watches))}</h1>\n'
        f'<p class="quiet">As of {_time(report.made)} UTC</p>\n'
        f'<ul class="tally">{tally}</ul>' + (f'\n<ul class="notes">{noted}</ul>' if noted else "") + "\n</header>"
    )


def _unsent(count: int) -> str:
    return f"{count} notice{_s(count)} not delivered yet: tried again at the next run"


def _mark(health: str, words: str) -> str:
    picture = f'<svg class="mark" viewBox="0 0 10 10" aria-hidden="true">{MARKS[health]}</svg>'
    return f'<span class="health {health}">{picture}<span>{words}</span></span>'


def _state(watch: Shown) -> str:
    """Health and state in words; where all is well that is one word."""
    plain = watch.state in ("ok", watch.health)
    return _mark(watch.health, HEALTH[watch.health] + ("" if plain else f": <i>{_text(watch.state, 40)}</i>"))


# -------------------------------------------------------------------------------------------------------- the overview


def _overview(watches: Sequence[Shown], made: datetime) -> str:
    """The roles are those that the elements have: browsers forget them where a narrow screen shows rows as blocks."""
    columns = ("Watch", "State", "Changed", "Verified", f"Last {plots.DAYS} days", "Next check")
    heads = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in columns)
    rows = "\n".join(_overview_row(watch, number, made) for number, watch in enumerate(watches, 1))
    return (
        '<section class="card" id="overview" tabindex="-1">\n<h2>Overview</h2>\n<table class="overview" role="table">'
        '<caption class="hidden">How each watch is, trouble first</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{rows}\n</tbody></table>\n</section>'
    )


def _overview_row(watch: Shown, number: int, made: datetime) -> str:
    why = f'<span class="why">{_text(watch.detail, 120)}</span>' if watch.detail and watch.health == "trouble" else ""
    days = plots.days_with_changes(watch.moments, made)
    cells = (
        ("", _state(watch)),
        (' class="changed"', _relative(watch.last_changed, made)),
        (' class="wide"', _relative(watch.last_verified, made)),
        (' class="wide"', plots.strip(days, _said_of(days))),
        (' class="wide"', _relative(watch.next_check, made, "due")),
    )
    head = f'<th scope="row" role="rowheader"><a href="#w{number}">{_name(watch)}</a>{why}</th>'
    return f'<tr role="row">{head}{"".join(f"<td{kind} role=cell>{cell}</td>" for kind, cell in cells)}</tr>'


# --------------------------------------------------------------------------------------------------------- one watch


def _section(watch: Shown, number: int, made: datetime, room: int) -> str:
    troubled = " troubled" if watch.health == "trouble" else ""
    detail = f'<p class="detail">{_text(watch.detail, LONGEST_TEXT)}</p>\n' if watch.detail else ""
    return (
        f'<section class="card{troubled}" id="w{number}" aria-labelledby="n{number}">\n'
        f'<div class="top"><h2 id="n{number}">{_name(watch)}</h2>{_state(watch)}</div>\n'
        f'<p class="address">{_link(watch.url)}</p>\n{detail}{_facts(watch, made)}\n'
        f"{_plots(watch, made)}{_changes(watch, room)}</section>"
    )


def _facts(watch: Shown, made: datetime) -> str:
    facts = (
        ("Verified", _moment(watch.last_verified, made)),
        ("Changed", _moment(watch.last_changed, made)),
        ("Next check", _moment(watch.next_check, made, "due")),
        ("Checked every", _text(watch.interval, 40) or "–"),
        ("Looks", f"{watch.checks:,}"),
        ("Changes", f"{watch.changes:,}"),
    )
    return f'<dl class="facts">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)}</dl>'


def _plots(watch: Shown, made: datetime) -> str:
    values = plots.finite(watch.values)
    drawn = (_values(values, made) if len(values) > 1 else "") + _strip(watch, made)
    return f'<div class="plots">{drawn}</div>\n' if drawn else ""


def _strip(watch: Shown, made: datetime) -> str:
    days = plots.days_with_changes(watch.moments, made)
    if not any(days):
        return ""
    first = _date(made - plots.DAYS * plots.DAY)
    return (
        f'<figure><figcaption><h3>Changes in the last {plots.DAYS} days</h3><span class="quiet">{_said_of(days)}</span>'
        f"</figcaption>{plots.strip(days, _said_of(days))}"
        f'<div class="axis" aria-hidden="true"><span>{first}</span><span>{_date(made)}</span></div></figure>'
    )


def _said_of(days: Sequence[int]) -> str:
    total, on = sum(days), sum(map(bool, days))
    return f"{total:,} change{_s(total)} on {on} day{_s(on)}" if total else "no change"


def _values(values: Sequence[Point], made: datetime) -> str:
    last, lowest, highest = values[-1], min(values, key=_value), max(values, key=_value)
    said = (("Now", last), ("Lowest", lowest), ("Highest", highest))
    words = "; ".join(f"{name.lower()} {_number(point)}, {_date(point[0])}" for name, point in said)
    rows = "".join(f"<div><dt>{name}</dt><dd>{_number(point)}{_day(point[0])}</dd></div>" for name, point in said)
    return (
        f'<figure><figcaption><h3>Value</h3><span class="quiet">{len(values):,} values</span></figcaption>'
        f"{plots.line(values, made, words)}"
        f'<div class="axis" aria-hidden="true"><span>{_date(values[0][0])}</span><span>{_date(made)}</span></div>'
        f'<dl class="extremes">{rows}</dl></figure>'
    )


def _value(point: Point) -> float:
    return point[1]


def _number(point: Point) -> str:
    return f"{point[1]:,.10g}"


def _changes(watch: Shown, room: int) -> str:
    if not watch.diffs:
        return ""
    shown = watch.diffs[:MOST_CHANGES]
    left = room
    parts = []
    for number, compared in enumerate(shown):
        part = _change(compared, left, opened=not number)
        left = max(left - len(part.encode()), 0)
        parts.append(part)
    rest = watch.changes - len(shown)
    if rest > 0:
        parts.append(f'<p class="quiet">{rest:,} earlier change{_s(rest)}: see <code>monitor.py history</code></p>\n')
    return f'<div class="changes"><h3>Last changes</h3>\n{"".join(parts)}</div>\n'


def _change(compared: Compared, room: int, opened: bool) -> str:
    title = f'{_time(compared.when)}<span class="gist">{escape(one_line(compared.title, LONGEST_TITLE))}</span>'
    if not compared.rows:
        return f'<p class="plain">{title}</p>\n'
    caption = f"What changed on {_minute(compared.when)}"
    return (
        f"<details{' open' if opened else ''}><summary>{title}</summary>"
        f"{table(compared.rows, caption, room)}</details>\n"
    )


# --------------------------------------------------------------------------------------------------- words and times


def _text(text: str, most: int) -> str:
    """What the user or the program said, in one line, escaped; it names no password."""
    return escape(one_line(without_login(text), most))


def _name(watch: Shown) -> str:
    return _text(watch.name, LONGEST_NAME) or "(no name)"


def _link(url: str) -> str:
    """The address, as a link where it is one that a browser may follow."""
    address = one_line(without_login(url))
    said = _text(address, LONGEST_NAME)
    if not address.lower().startswith(("http://", "https://")) or len(address) > LONGEST_ADDRESS:
        return said
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{said}</a>'


def _moment(time: datetime | None, made: datetime, past: str = "") -> str:
    return "–" if time is None else f"{_words(time, made, past)}{_time(time)}"


def _relative(time: datetime | None, made: datetime, past: str = "") -> str:
    """As words, with the time itself for machines and on pointing."""
    if time is None:
        return "–"
    return f'<time datetime="{_iso(time)}" title="{_minute(time)} UTC">{_words(time, made, past)}</time>'


def _words(time: datetime, made: datetime, past: str) -> str:
    """How far away, from where the report stands; `past` is said of what should not be past."""
    if past and time <= made:
        return past
    if abs(time - made) < timedelta(minutes=1):
        return "now"
    return f"in {span(time - made)}" if time > made else f"{span(made - time)} ago"


def _time(time: datetime) -> str:
    return f'<time datetime="{_iso(time)}">{_minute(time)}</time>'


def _day(time: datetime) -> str:
    return f'<time datetime="{_iso(time)}">{_date(time)}</time>'


def _iso(time: datetime) -> str:
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def _minute(time: datetime) -> str:
    return f"{_date(time)}, {time.astimezone(timezone.utc):%H:%M}"


def _date(time: datetime) -> str:
    utc = time.astimezone(timezone.utc)
    return f"{utc.day} {utc:%b %Y}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
