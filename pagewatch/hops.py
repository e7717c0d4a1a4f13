"""The hops of one look: what is sent at each, and what its answer leads to.

Redirects are followed by hand because libraries send too much along (RFC 9110 §15.4). It promises that the user's
headers, password and body go only to the origin that the watch names, and validators only to the very URL that gave
them (§13.1); that no date is ours; and that every status has a meaning: only an accepted one is content.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from pagewatch import cookies, http_headers, schedule
from pagewatch.answers import NO_VALIDATORS, Answer, FetchFailed, Missing, NotModified, Representation, Validators
from pagewatch.cookies import Cookie
from pagewatch.frozen import dataclass, field, replace
from pagewatch.http_headers import Fields
from pagewatch.urls import credentials, normalise_url, origin_of, redirect_target

MAX_REDIRECTS = 10
LIMIT = 20_000_000  # decoded bytes
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

# Fields that this module and the HTTP library set: a watch's own headers cannot.
OWN_FIELDS = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "expect", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"),
    }
)
_OWN_WITHOUT_BODY = OWN_FIELDS | {"content-type"}

_REDIRECTS = (301, 302, 303, 307, 308)
_PERMANENT = (301, 308)
_REFUSED_CONDITIONS = (400, 412, 413, 431)  # by broken servers, or because the field is too large
_FIELD_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NOT_IN_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for. `url` as the user wrote it; `validators.url` is the `Representation.url` that came with them.

    `headers` and `body` (a POST, of media type `body_type`) go to the origin of `url` only. `timeout`: seconds per
    read; all hops together may take three times that. `limit`: decoded bytes; more is a failure or, with `truncate`,
    cut off.
    """

    url: str = field(repr=False)
    user_agent: str
    validators: Validators = NO_VALIDATORS
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    body_type: str = ""
    timeout: float = 20.0
    verify_tls: bool = True
    accept: str = ACCEPT
    accept_encoding: str = "gzip, deflate"
    accept_status: tuple[int, ...] = (200,)
    limit: int = LIMIT
    truncate: bool = False


@dataclass(frozen=True)
class Hop:
    """The next thing to ask for. `origin` is the one that the watch names. `moved_to`: where permanent redirects led so
    far, and `permanent` that there were no others. `bare`: validators were answered with nonsense and are left out.
    `cookies` are those that earlier hops set."""

    url: str
    method: str
    origin: str
    redirects: int = 0
    moved_to: str = ""
    permanent: bool = True
    bare: bool = False
    cookies: tuple[Cookie, ...] = ()


def first_hop(request: Request, method: str = "") -> Hop | FetchFailed:
    """Where a look begins; a failure where the request cannot be made at all."""
    try:
        url = normalise_url(request.url)
    except ValueError:
        return FetchFailed("config", "the URL cannot be used", answered=False)
    if not all(_FIELD_NAME.fullmatch(name) and not _NOT_IN_VALUE.search(value) for name, value in request.headers):
        return FetchFailed("config", "a header has characters that cannot be sent", answered=False)
    return Hop(url, method or ("GET" if request.body is None else "POST"), origin_of(url))


def validators_to_send(request: Request, hop: Hop) -> Validators:
    """Those of this very URL, if it is a GET (RFC 9110 §13.1.2: with other methods they mean something else)."""
    fitting = hop.method == "GET" and not hop.bare and request.validators.url == hop.url
    return http_headers.sendable(request.validators) if fitting else NO_VALIDATORS


def fields_to_send(request: Request, hop: Hop) -> dict[str, bytes]:
    """The header fields of a hop; of a name given twice the later counts."""
    fields = [("User-Agent", request.user_agent), ("Accept", request.accept)]
    fields.append(("Accept-Encoding", request.accept_encoding))
    if origin_of(hop.url) == hop.origin:
        fields += _own_origin_fields(request, hop)
    sent = [(name, value.encode("utf-8")) for name, value in fields]
    validators = validators_to_send(request, hop)
    conditions = (("If-None-Match", validators.etag), ("If-Modified-Since", validators.last_modified))
    sent += [(name, value.encode("latin-1")) for name, value in conditions if value]
    if hop.cookies and (set_before := cookies.header(hop.cookies, hop.url).encode("latin-1")):
        own = [value for name, value in sent if name.lower() == "cookie"]
        sent.append(("Cookie", b"; ".join([*own, set_before])))
    return dict({name.lower(): (name, value) for name, value in sent}.values())


def _own_origin_fields(request: Request, hop: Hop) -> list[tuple[str, str]]:
    fields = [("Authorization", password)] if (password := credentials(request.url)) else []
    if hop.method == "POST" and request.body_type:
        fields.append(("Content-Type", request.body_type))
    without = OWN_FIELDS if hop.method == "POST" else _OWN_WITHOUT_BODY
    return fields + [(name, value) for name, value in request.headers if name.lower() not in without]


def after(request: Request, hop: Hop, status: int, fields: Fields, now: datetime) -> Hop | Answer | None:
    """What an answer leads to: another hop, an end, or None where its body is content and is to be read."""
    conditional = bool(validators_to_send(request, hop))
    if status == 304 and conditional:
        repeated = http_headers.validators(fields, hop.url)
        return NotModified(repeated, http_headers.fresh_for(fields, now), hop.moved_to)
    if status == 304:  # RFC 9110 §15.4.5: nothing was asked that could be answered so
        reason = "the server answered 304 (not modified) although nothing was known of the page"
        return FetchFailed("unexpected-304", reason) if hop.bare else replace(hop, bare=True)
    if status in request.accept_status:
        return None
    if status in _REDIRECTS:
        return _redirected(hop, status, fields)
    if conditional and status in _REFUSED_CONDITIONS:
        return replace(hop, bare=True)
    if status in (404, 410):
        return Missing(status, hop.url)
    return replace(_refused(status, fields, now), url=hop.url)


def _redirected(hop: Hop, status: int, fields: Fields) -> Hop | FetchFailed:
    if hop.redirects == MAX_REDIRECTS:
        return FetchFailed("too-many-redirects", f"more than {MAX_REDIRECTS} redirects, one after another")
    try:
        target = redirect_target(hop.url, fields.single("location"))
    except ValueError as error:
        down = error.args == ("from https to http",)
        where = "from https to http" if down else "to no usable address"
        return FetchFailed("bad-redirect", f"a redirect {where}")
    to_get = status == 303 or (hop.method == "POST" and status in (301, 302))  # RFC 9110 §15.4.2-4
    method = "GET" if to_get and hop.method != "HEAD" else hop.method
    if method == "POST" and origin_of(target) != hop.origin:
        return FetchFailed("bad-redirect", "a redirect that would take the request's body to another site")
    permanent = hop.permanent and status in _PERMANENT
    return Hop(
        target,
        method,
        hop.origin,
        redirects=hop.redirects + 1,
        moved_to=target if permanent else hop.moved_to,
        permanent=permanent,
        bare=hop.bare,
        cookies=cookies.keep(hop.cookies, fields.lines("set-cookie"), hop.url),
    )


def _refused(status: int, fields: Fields, now: datetime) -> FetchFailed:
    asked = bool(fields.lines("retry-after"))
    wait = http_headers.retry_after(fields, now)
    kind = "rate-limited" if status == 429 or (status == 503 and asked) else f"http-{status:03d}"
    reason = f"the server answered with status {status:03d}"
    if fields.lines("cf-mitigated"):
        reason += ", it wants to check its visitor"
    if wait:
        reason += f" and asks to wait {schedule.span(wait)}"
    return FetchFailed(kind, reason, wait, pauses_host=asked or status in (429, 503))


def representation(
    request: Request, hop: Hop, status: int, fields: Fields, body: bytes, now: datetime
) -> Representation:
    """An accepted answer whose body is complete. A POST's validators and freshness say nothing about the next POST."""
    sent = validators_to_send(request, hop)
    got = http_headers.validators(fields, hop.url) if hop.method == "GET" else Validators(url=hop.url)
    return Representation(
        url=hop.url,
        status=status,
        media_type=http_headers.media_type(fields),
        charset=http_headers.charset(fields),
        body=body,
        validators=got,
        digest=hashlib.sha256(body).hexdigest(),
        fresh_for=http_headers.fresh_for(fields, now) if hop.method == "GET" else None,
        moved_to=hop.moved_to,
        conditional=bool(sent),
        repeated_etag=bool(sent.etag) and got.etag == sent.etag,
        challenge=fields.single("cf-mitigated"),
        content_encoding=", ".join(http_headers.content_codings(fields)),
        links=tuple(fields.lines("link")),
    )
