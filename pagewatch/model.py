"""The frozen values that travel between the modules: what the user wrote, what is remembered, what is decided.

What the web answers is in `answers`; a wrong file or damaged state is an exception (`errors`). Times are aware UTC
datetimes, durations are timedeltas unless a name says seconds.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pagewatch.answers import NO_VALIDATORS, Amount, Extract, Item, Validators
from pagewatch.frozen import dataclass, field

VERSION = "1.0.0"  # of the program, in its User-Agent; pyproject.toml says the same

_ATTRIBUTE = re.compile(r"(.*)@([A-Za-z_:][\w:.-]*)", re.DOTALL)

MUTED = "muted by "  # so begins the detail of a change that `only` or `when` kept from being told
STDOUT = ""  # the name of the target that is standard output: used where the file names no target


# ---------------------------------------------------------------------------------------- what the user wrote


@dataclass(frozen=True)
class Every:
    """How often: a fixed interval (low == high), or bounds between which it adapts (halved on change, doubled on
    none)."""

    low: timedelta
    high: timedelta

    @property
    def adaptive(self) -> bool:
        return self.low != self.high


@dataclass(frozen=True)
class Target:
    """A named notification target. The URL holds secrets: it is never shown."""

    name: str
    url: str = field(repr=False)


@dataclass(frozen=True)
class Settings:
    """The top level of watches.yaml. `alert` is None where warnings go to the watch's own targets. `heartbeat` is how
    often it is told that all is well, None: never; `ping` is requested after each finished run."""

    user_agent: str
    product_token: str
    gap: timedelta
    targets: tuple[Target, ...] = ()
    alert: tuple[str, ...] | None = None
    heartbeat: timedelta | None = None
    ping: str = field(default="", repr=False)


@dataclass(frozen=True)
class Watch:
    """One entry of `watches`, complete with defaults. Empty strings and tuples mean "not given" (README,
    "watches.yaml").

    `targets` and `alerts` are names of targets for changes and for warnings; `(STDOUT,)` where the file has no
    target, `()` where the watch wants none. `fields` maps names to `selector@attribute`; `counted` is a feed's list
    of what counts. `number` maps a field's name ("" is the whole text) to its decimal mark ("" is inferred).
    `timeout` is in seconds, per read. `body_type` is the media type of `body`. `robots_reason` is why robots.txt is
    ignored, "" where it is obeyed.
    """

    name: str
    url: str
    line: int
    every: Every
    enabled: bool = True
    targets: tuple[str, ...] = (STDOUT,)
    alerts: tuple[str, ...] = (STDOUT,)
    source: str = ""
    select: str = ""
    match: str = "first"
    path: str = ""
    items: str = ""
    key: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    counted: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    ignore_order: bool = False
    number: tuple[tuple[str, str], ...] = ()
    expect: str = ""
    reject: str = ""
    if_missing: str = "warn"
    confirm: int = 1
    only: str = ""
    when: tuple[tuple[str, str, str], ...] = ()
    alert_after: int = 3
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    body_type: str = ""
    timeout: float = 20.0
    encoding: str = ""
    verify_tls: bool = True
    accept_status: tuple[int, ...] = (200,)
    obey_freshness: bool = True
    robots_reason: str = ""
    hint: str = ""
    verify_removed: bool = False
    render: bool = False


def split_attribute(selector: str) -> tuple[str, str]:
    """A field's place: `a.buy@href` -> ("a.buy", "href"); without an attribute the second is ""."""
    found = _ATTRIBUTE.fullmatch(selector)
    return (found[1].strip(), found[2]) if found else (selector, "")


@dataclass(frozen=True)
class Problem:
    """Something wrong in watches.yaml. `watch` is the name of the watch that it takes out, "" where it concerns the
    whole file."""

    line: int
    message: str
    watch: str = ""
    url: str = ""


# ------------------------------------------------------------------------------------------- what is remembered


@dataclass(frozen=True)
class Baseline:
    """The last good content. `extract` is None where its stored text is lost: comparing goes on by fingerprint.

    `url` is the final URL it came from, `body_digest` the SHA-256 of the bytes (with media type and URL) it was read
    from, `length` their number, `source` how they were read.
    """

    recipe: str
    fingerprint: str
    extract: Extract | None
    seen: datetime
    url: str = ""
    body_digest: str = ""
    length: int = 0
    source: str = ""


@dataclass(frozen=True)
class Candidate:
    """`confirm`: content that differs from the baseline but has not been seen often enough: `agree` looks in a row of
    this fingerprint, `differing` looks in a row that differed from the baseline. `extract` is kept of feeds, whose
    entries come and go between the looks."""

    fingerprint: str
    agree: int
    differing: int
    extract: Extract | None = None


@dataclass(frozen=True)
class Episode:
    """A time of trouble: from the first look that went wrong until watched content is seen again. `told` are the
    kinds of notice sent in it; `unconditional`: its no-match came to a request without validators, so a 304 is no
    proof of recovery."""

    began: datetime
    outcome: str
    kind: str
    detail: str
    told: tuple[str, ...] = ()
    unconditional: bool = False


@dataclass(frozen=True)
class WatchState:
    """All that is remembered of one watch, under an id given at first sight; the name may change.

    `recipe` and `request` are digests of what was looked at last and how it was asked for, `select` of what, for a
    renamed watch to be known again. `told` are the numbers that were told last, `extremes` the lowest and the highest
    seen. `trusted` is False once the audit has found the server's validators to lie,
    `strikes` counts audits that found a change behind a 304. `identity` is the state of the rule about a repeated
    ETag (see `conditional`). `last_full` is the last 200. `misses` are 404s in a row, `failures` failed looks in a
    row, `errors` those with an HTTP answer, `unreachable` those without, `events` numbers the notices, `same` counts
    304s since the last 200.
    """

    id: str
    name: str
    url: str
    select: str = ""
    recipe: str = ""
    request: str = ""
    baseline: Baseline | None = None
    candidate: Candidate | None = None
    validators: Validators = NO_VALIDATORS
    trusted: bool = True
    strikes: int = 0
    identity: str = ""
    last_checked: datetime | None = None
    last_verified: datetime | None = None
    last_changed: datetime | None = None
    last_full: datetime | None = None
    next_check: datetime | None = None
    fresh_until: datetime | None = None
    interval: timedelta | None = None
    misses: int = 0
    failures: int = 0
    errors: int = 0
    unreachable: int = 0
    same: int = 0
    events: int = 0
    episode: Episode | None = None
    moved_to: str = ""
    checks: int = 0
    changes: int = 0
    told: tuple[Amount, ...] = ()
    extremes: tuple[Amount, ...] = ()


@dataclass(frozen=True)
class Pause:
    """A host wants to be left alone until `until`; `asked`: by Retry-After, which `--now` does not override."""

    until: datetime
    asked: bool


@dataclass(frozen=True)
class RobotsRecord:
    """A robots.txt that was obtained: `body` is None where there is none (4xx: all is allowed)."""

    fetched: datetime
    body: bytes | None
    validators: Validators = NO_VALIDATORS


@dataclass(frozen=True)
class Notice:
    """One message for one target. `id` is derived from the event, so that the same event has the same id."""

    id: str
    watch_id: str
    watch: str
    kind: str
    title: str
    body: str
    target: str
    created: datetime
    attempts: int = 0
    next_try: datetime | None = None
    error: str = ""


Links = tuple[tuple[str, str], ...]  # the keys of records, and the addresses of their pages


@dataclass(frozen=True)
class Verified:
    """What became of the records of a watch that are no longer listed, by key."""

    watch: str
    fates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Delivery:
    """What became of notices at one target, by id: it took them, or why it did not. `last`: nothing more is waited
    for there."""

    target: str
    delivered: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    last: bool = False


# ---------------------------------------------------------------------------------------------- what is decided


@dataclass(frozen=True)
class Plan:
    """How a watch is looked at this time: its definition, what is remembered of it, and what is sent.

    `recipe` and `request` are digests of the definition (`fingerprint`), `validators` those that are sent, none at an
    `audit`. Hints: `length` is that of the body which need not be asked for again, 0 where it is to be; nor need it be
    if the site's sitemap knows of no change since `verified`.
    """

    watch: Watch
    past: WatchState
    recipe: str
    request: str
    validators: Validators = NO_VALIDATORS
    accept_encoding: str = "gzip, deflate"
    audit: bool = False
    length: int = 0
    verified: datetime | None = None


@dataclass(frozen=True)
class Change:
    """What differs between two extracts. `updated` are (old, new); `fields` are (name, old, new), None: null.
    `numbers` says of fields how far their numbers went, `fates` of removed items, by key, what became of their pages.
    """

    old: str | None
    new: str | None
    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()
    updated: tuple[tuple[Item, Item], ...] = ()
    fields: tuple[tuple[str, str | None, str | None], ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    fates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Result:
    """One line of the run's output: an outcome and what is known of it. `news`: trouble that began with this look."""

    watch: str
    url: str
    outcome: str
    kind: str = ""
    detail: str = ""
    change: Change | None = None
    next_check: datetime | None = None
    news: bool = False


@dataclass(frozen=True)
class Decision:
    """What an outcome means for a watch: its new state, what to print, what to tell, and a pause for the host of
    a URL."""

    state: WatchState
    result: Result
    notices: tuple[Notice, ...] = ()
    pause: tuple[str, Pause] | None = None


# --------------------------------------------------------------------------------------------- what is looked up


@dataclass(frozen=True)
class Event:
    """One decision about a watch, for the history. `id` is the watch's id and the number of the check ("w1-17"): the
    same look has the same id.

    `detail` is the line's, `size` the number of bytes of the body. `fingerprint` and `extract` are both set where a
    version was seen (baseline or changed), `title` is the gist of the change.
    """

    id: str
    watch_id: str
    at: datetime
    outcome: str
    kind: str = ""
    detail: str = ""
    status: int = 0
    size: int = 0
    milliseconds: int = 0
    fingerprint: str = ""
    extract: Extract | None = None
    title: str = ""


@dataclass(frozen=True)
class Told:
    """What became of a notice at a target: `error` is "" where it was taken. `id` is made of the notice's id, the
    target and the number of the attempt."""

    id: str
    watch_id: str
    at: datetime
    target: str
    title: str
    error: str = ""
