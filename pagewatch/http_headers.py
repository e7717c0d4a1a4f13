"""What the header fields of an answer say: validators, freshness, Retry-After, type and coding of the body.

Field values come as Latin-1 text, one entry a field line. Nothing here raises for what a server sends: what is
malformed counts as not said, or as stale where RFC 9111 §4.2.1 asks for that. `now` is for answers without a Date and
for years of two digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone

from pagewatch.answers import Validators

LONGEST_WAIT = timedelta(days=30)  # of a Retry-After
LONGEST_TAG = 4096  # characters of a validator that is sent back: with more, servers answer 400 or 431

STALE = timedelta(0)
FOREVER = 2**31  # seconds: what RFC 9111 §1.2.2 makes of numbers that are too large

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DATE_FORMS = (  # RFC 9110 §5.6.7: IMF-fixdate, rfc850-date, asctime-date; compiled when first needed
    rf"[a-z]{{3}}, (?P<day>\d\d?) (?P<month>[a-z]{{3}}) (?P<year>\d{{4}}) {_TIME} GMT",
    rf"[a-z]{{6,9}}, (?P<day>\d\d?)-(?P<month>[a-z]{{3}})-(?P<year>\d\d) {_TIME} GMT",
    rf"[a-z]{{3}} (?P<month>[a-z]{{3}}) +(?P<day>\d\d?) {_TIME} (?P<year>\d{{4}})",
)
_DIGITS = re.compile(r"[0-9]+")
_NEXT_FIELD = re.compile(r"\n(?![ \t])")
_FOLD = re.compile(r"[\r\n]+")  # RFC 9112 §5.2
_SENDABLE = re.compile(rf"(?!\*\Z|[ \t])[\t -~\x80-\xff]{{1,{LONGEST_TAG}}}(?<![ \t])")
_DIRECTIVE = re.compile(r'([^\s=,"]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^,]*))?[^,]*(?:,|$)', re.ASCII)
_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+", re.ASCII)
_PARAMETER = re.compile(r""";\s*charset\s*=\s*("[^"]*"|'[^']*'|[^;,]*)""", re.ASCII | re.IGNORECASE)


def names_and_values(head: bytes) -> Iterator[tuple[str, str]]:
    """Of the lines of a head, each of which is a field or the folded part of one. A bare CR is a space (RFC 9112 §2.2),
    folds are left in."""
    for field in _NEXT_FIELD.split(head.replace(b"\r\n", b"\n").replace(b"\r", b" ").decode("latin-1")):
        name, colon, value = field.partition(":")
        if colon and name[0] not in " \t":
            yield name, value.lstrip(" \t")


class Fields:
    """The header fields of one answer."""

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        self._lines: dict[str, list[str]] = {}
        for name, value in lines:
            unfolded = " ".join([part.strip(" \t") for part in _FOLD.split(value)])
            self._lines.setdefault(name.lower(), []).append(unfolded.strip(" \t"))

    def lines(self, name: str) -> Sequence[str]:
        """The values of all lines of that name; outer white space is no part of them (RFC 9110 §5.5)."""
        return self._lines.get(name, ())

    def single(self, name: str) -> str:
        """The value of a field that must not be repeated: "" where it is missing, or repeated with another value."""
        lines = self.lines(name)
        return lines[0] if lines and lines.count(lines[0]) == len(lines) else ""


# ------------------------------------------------------------------------------------------------- validators


def validators(fields: Fields, url: str) -> Validators:
    """What may be sent back to `url`, byte for byte (RFC 9110 §8.8)."""
    return sendable(Validators(fields.single("etag"), fields.single("last-modified"), url))


def sendable(held: Validators) -> Validators:
    """Without those that cannot go into a request: too long, or with characters that no field has; `*` is no tag."""
    etag = held.etag if _SENDABLE.fullmatch(held.etag) else ""
    last_modified = held.last_modified if _SENDABLE.fullmatch(held.last_modified) else ""
    if (etag, last_modified) == (held.etag, held.last_modified):
        return held
    return Validators(etag, last_modified, held.url)


# -------------------------------------------------------------------------------------------------- freshness


def fresh_for(fields: Fields, now: datetime) -> timedelta | None:
    """How long the answer may still be reused (RFC 9111 §4.2); None where it does not say, and no guesses are made.

    Age alone is subtracted: comparing Date with our clock would make a wrong clock on either side a wrong freshness.
    """
    lifetime = _lifetime(fields, now)
    if not lifetime:
        return lifetime
    return max(STALE, lifetime - _age(fields))


def _lifetime(fields: Fields, now: datetime) -> timedelta | None:
    directives = _directives(fields.lines("cache-control"))
    if "no-cache" in directives or "no-store" in directives:
        return STALE
    if "max-age" in directives:  # s-maxage is for shared caches (§5.2.2.10)
        return _seconds(directives["max-age"]) or STALE
    if not fields.lines("expires"):
        return None
    expires = http_date(fields.single("expires"), now)
    if expires is None:
        return STALE  # §5.3: above all "0"
    return min(max(STALE, expires - _date(fields, now)), timedelta(seconds=FOREVER))


def _directives(lines: Sequence[str]) -> dict[str, str]:
    """RFC 9111 §5.2; of a directive given twice the first counts (§4.2.1)."""
    found: dict[str, str] = {}
    for name, value in _DIRECTIVE.findall(", ".join(lines)):
        found.setdefault(name.lower(), value.strip().strip('"'))
    return found


def _age(fields: Fields) -> timedelta:
    """RFC 9111 §5.1: the first of several; an invalid one is ignored."""
    first = next(iter(fields.lines("age")), "").split(",")[0].strip(" \t")
    return _seconds(first) or timedelta(0)


def _seconds(digits: str) -> timedelta | None:
    if not _DIGITS.fullmatch(digits):
        return None
    return timedelta(seconds=FOREVER if len(digits.lstrip("0")) > 10 else min(int(digits), FOREVER))


# ------------------------------------------------------------------------------------------------------ dates


def retry_after(fields: Fields, now: datetime) -> timedelta | None:
    """The wait that Retry-After asks for (RFC 9110 §10.2.3), a date being relative to the answer's own Date."""
    value = fields.single("retry-after")
    wait = _seconds(value)
    if wait is None:
        until = http_date(value, now)
        if until is None:
            return None
        wait = until - _date(fields, now)
    return min(max(timedelta(0), wait), LONGEST_WAIT)


def http_date(value: str, now: datetime) -> datetime | None:
    """A date in any of the three forms of RFC 9110 §5.6.7."""
    for form in _DATE_FORMS:
        if found := re.fullmatch(form, value, re.ASCII | re.IGNORECASE):
            return _datetime(found.groupdict(), now)
    return None


def _datetime(part: dict[str, str], now: datetime) -> datetime | None:
    if part["month"].lower() not in MONTHS:
        return None
    year, month = int(part["year"]), MONTHS.index(part["month"].lower()) + 1
    if len(part["year"]) == 2:  # more than 50 years ahead means the past
        year += now.year // 100 * 100
        year -= 100 if year > now.year + 50 else 0
    second = min(int(part["second"]), 59)  # a leap second is not known to datetime
    try:
        return datetime(year, month, int(part["day"]), int(part["hour"]), int(part["minute"]), second, 0, timezone.utc)
    except ValueError:
        return None


def _date(fields: Fields, now: datetime) -> datetime:
    return http_date(fields.single("date"), now) or now


# --------------------------------------------------------------------------------------------------- the body


def media_type(fields: Fields) -> str:
    """`type/subtype` in lower case, "" where there is none. The last of several lines counts."""
    last = next(reversed(fields.lines("content-type")), "")
    found = _TYPE.match(last)
    return found.group().lower() if found else ""


def is_xml(media_type: str) -> bool:
    """RFC 7303 §4.2 and §9.6."""
    return media_type in ("application/xml", "text/xml") or media_type.endswith("+xml")


def charset(fields: Fields) -> str:
    """The charset parameter as written, without quotes: the first of several, "" if there is none."""
    found = _PARAMETER.search(next(reversed(fields.lines("content-type")), ""))
    return found.group(1).strip().strip("\"'").strip() if found else ""


def content_codings(fields: Fields) -> tuple[str, ...]:
    """The codings in the order in which they were applied (RFC 9110 §8.4), `identity` left out."""
    names = (name.strip().lower() for name in ",".join(fields.lines("content-encoding")).split(","))
    return tuple(name for name in names if name not in ("", "identity"))
