"""The frozen values that travel between the modules.

Expected answers of the web are values here, taken apart by one `match` in `decide`; a wrong file or damaged state is an
exception (`errors`). Times are aware UTC datetimes, durations are timedeltas unless a name says seconds. What must not
happen cannot be written: `NoMatch` has no validators that could be stored by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

VERSION = "1.0.0"  # of the program, in its User-Agent; pyproject.toml says the same

STDOUT = ""  # the name of the target that is standard output: used where the file names no target

NETWORK_KINDS = frozenset({"connection", "dns", "tls", "timeout"})  # `FetchFailed.kind` where no HTTP answer came


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
    """The top level of watches.yaml. `alert` is None where warnings go to the watch's own targets."""

    user_agent: str
    product_token: str
    gap: timedelta
    targets: tuple[Target, ...] = ()
    alert: tuple[str, ...] | None = None


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


@dataclass(frozen=True)
class Problem:
    """Something wrong in watches.yaml. `watch` is the name of the watch that it takes out, "" where it concerns the
    whole file."""

    line: int
    message: str
    watch: str = ""
    url: str = ""


# ------------------------------------------------------------------------------------------- what the web said


@dataclass(frozen=True)
class Validators:
    """ETag and Last-Modified byte for byte as received (RFC 9110 §8.8), read as Latin-1; `url` is the URL that gave
    them."""

    etag: str = ""
    last_modified: str = ""
    url: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


@dataclass(frozen=True)
class Verdict:
    """What a robots.txt says of one URL (RFC 9309 §2.2). `line` and `rule` are those that decided; line 0 where none
    did."""

    allowed: bool
    rule: str = ""
    line: int = 0
    group: str = ""
    crawl_delay: float | None = None


@dataclass(frozen=True)
class Representation:
    """A complete answer whose body is content.

    `url` is the final URL, `body` the bytes after content decoding, `charset` the header's parameter as written (""
    if none), `fresh_for` how long it may be reused from now (RFC 9111 §4.2; None: it does not say), `moved_to` the
    new address where a permanent redirect (301, 308) was followed from the watch's own URL, `conditional` whether
    validators were sent, `repeated_etag` that a conditional request was answered in full with the very ETag that was
    sent, `challenge` a header by which a service says that it is checking the visitor, `content_encoding` the coding
    that was taken off the body.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    validators: Validators
    digest: str = ""
    fresh_for: timedelta | None = None
    moved_to: str = ""
    conditional: bool = False
    repeated_etag: bool = False
    challenge: str = ""
    content_encoding: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True)
class NotModified:
    """304: `validators` are those that the 304 itself repeated (RFC 9111 §4.3.4), "" each where it did not."""

    validators: Validators = Validators()
    fresh_for: timedelta | None = None
    moved_to: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Missing:
    """404 or 410."""

    status: int
    url: str = ""


@dataclass(frozen=True)
class FetchFailed:
    """No usable answer. `reason` is a clause for people, free of secrets; `answered` is False where no HTTP answer
    came at all.

    `pauses_host`: 429, 503 or a Retry-After, which speak for the whole host; `retry_after` is the wait that was asked
    for.
    """

    kind: str
    reason: str
    retry_after: timedelta | None = None
    answered: bool = True
    pauses_host: bool = False
    url: str = field(default="", compare=False)  # that was answered so, where it may not be the watch's own


@dataclass(frozen=True)
class Disallowed:
    """robots.txt forbids `url`, by `rule` in `line` of its file `robots_url`."""

    url: str
    robots_url: str
    rule: str
    line: int


@dataclass(frozen=True)
class Deferred:
    """Not asked: the host wants a pause, or the run's time is over."""

    host: str
    until: datetime | None
    reason: str


Answer = Representation | NotModified | Missing | FetchFailed | Disallowed | Deferred


# ------------------------------------------------------------------------------------ what was found in the page


@dataclass(frozen=True)
class Item:
    """One record: an element, a feed entry, a sitemap URL, a member of an array. `link` is absolute, "" if it has
    none."""

    key: str
    text: str
    link: str = ""
    fields: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Extract:
    """The watched part, normalised: `text` in lines, `fields` by name (None: not there), `items` (None: not a set of
    records).

    `matched` is how many elements the selector matched; 0 with `if_missing: ok` is the legitimate value "nothing
    there".
    """

    text: str
    fields: tuple[tuple[str, str | None], ...] = ()
    items: tuple[Item, ...] | None = None
    matched: int = 1


@dataclass(frozen=True)
class NoMatch:
    """The watched part was not found, or the page is not to be believed. It carries no validators: they cannot be
    stored."""

    kind: str
    what: str
    hint: str = ""
    conditional: bool = False


@dataclass(frozen=True)
class Observation:
    """The watched part as seen in `representation` (whose body has been dropped)."""

    extract: Extract
    fingerprint: str
    representation: Representation


Outcome = Observation | NotModified | NoMatch | Missing | FetchFailed | Disallowed | Deferred


# ------------------------------------------------------------------------------------------- what is remembered


@dataclass(frozen=True)
class Baseline:
    """The last good content. `extract` is None where its stored text is lost: comparing goes on by fingerprint.

    `url` is the final URL it came from, `body_digest` the SHA-256 of the bytes (with media type and URL) it was read
    from.
    """

    recipe: str
    fingerprint: str
    extract: Extract | None
    seen: datetime
    url: str = ""
    body_digest: str = ""


@dataclass(frozen=True)
class Candidate:
    """`confirm`: content that differs from the baseline but has not been seen often enough: `agree` looks in a row of
    this fingerprint, `differing` looks in a row that differed from the baseline."""

    fingerprint: str
    agree: int
    differing: int


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
    renamed watch to be known again. `trusted` is False once the audit has found the server's validators to lie,
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
    validators: Validators = Validators()
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
    validators: Validators = Validators()


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
    `audit`.
    """

    watch: Watch
    past: WatchState
    recipe: str
    request: str
    validators: Validators = Validators()
    accept_encoding: str = "gzip, deflate"
    audit: bool = False


@dataclass(frozen=True)
class Change:
    """What differs between two extracts. `updated` are (key, old, new); `fields` are (name, old, new), None: null."""

    old: str | None
    new: str | None
    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()
    updated: tuple[tuple[str, str, str], ...] = ()
    fields: tuple[tuple[str, str | None, str | None], ...] = ()


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
