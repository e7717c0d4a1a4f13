"""What the web said, and what was found in it: the values between a request and a decision.

Expected answers are values here, taken apart by one `match` in `decide`. What must not happen cannot be written:
`NoMatch` has no validators that could be stored by mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pagewatch.frozen import dataclass, field

NETWORK_KINDS = frozenset({"connection", "dns", "tls", "timeout"})  # `FetchFailed.kind` where no HTTP answer came


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

    def renewed(self, repeated: Validators) -> Validators:
        """RFC 9111 §4.3.4: a 304 replaces the validators that it repeats and erases none."""
        return Validators(repeated.etag or self.etag, repeated.last_modified or self.last_modified, self.url)


NO_VALIDATORS = Validators()


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
    that was taken off the body, `length` the bytes of the body and `source` how it was read, once it has been. `links`
    are its Link fields as received (RFC 8288).
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
    length: int = 0
    source: str = ""
    verdict: Verdict | None = None
    links: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Unaltered:
    """Not asked: the site's sitemap gives the page a `lastmod` older than the last look that saw it."""

    lastmod: str


Answer = Representation | NotModified | Missing | FetchFailed | Disallowed | Deferred | Unaltered
Ask = Callable[[str], Answer]  # a further request for the same watch: robots.txt and politeness hold for it as well


# ------------------------------------------------------------------------------------ what was found in the page


@dataclass(frozen=True)
class Amount:
    """A number as it was read in a text, from `low` to `high`, which differ in a range: exact decimals such as
    "1299.5". `field` is "" for the whole text; `mark` is the decimal mark, "" where the text has left it open; `money`
    that a currency stands beside it."""

    field: str
    low: str
    high: str
    mark: str = ""
    money: bool = False


@dataclass(frozen=True)
class Item:
    """One record: an element, a feed entry, a sitemap URL, a member of an array. `text` is "" where the key says it
    all, `link` is absolute, "" if it has none."""

    key: str
    text: str = ""
    link: str = ""
    fields: tuple[tuple[str, str | None], ...] = ()

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.text or self.key


@dataclass(frozen=True)
class Extract:
    """The watched part, normalised: `text` in lines ("" beside `items`), `fields` by name (None: not there), `items`
    (None: not a set of records), `amounts` where numbers are wanted.

    `matched` is how many elements the selector matched; 0 with `if_missing: ok` is the legitimate value "nothing
    there". `parts` is how many further documents it was read from, such as the sitemaps of an index.
    """

    text: str
    fields: tuple[tuple[str, str | None], ...] = ()
    items: tuple[Item, ...] | None = None
    matched: int = 1
    amounts: tuple[Amount, ...] = ()
    parts: int = 0


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
    """The watched part as seen in `representation` (whose body has been dropped). `remarks` are clauses about how it
    was read. `fates` says of items that are not there any more, by key, what their own pages answer."""

    extract: Extract
    fingerprint: str
    representation: Representation
    remarks: tuple[str, ...] = ()
    fates: tuple[tuple[str, str], ...] = ()


Outcome = Observation | NotModified | NoMatch | Missing | FetchFailed | Disallowed | Deferred | Unaltered
