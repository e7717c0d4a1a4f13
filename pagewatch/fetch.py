"""One look at a URL: a conditional request and its redirects, turned into a value that says what came of it (`ask`).

It promises that nothing a server sends, or fails to send, raises; that the gate is passed for each request, and held
until its answer has been read; and that a body is whole, unpacked and within its limit, or a failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from pagewatch import hops
from pagewatch.answers import Answer, Deferred, Disallowed, FetchFailed, NotModified, Verdict
from pagewatch.content_coding import decode, unpack_undeclared
from pagewatch.frozen import replace
from pagewatch.hops import Hop, Request
from pagewatch.http_headers import Fields, content_codings, media_type

__all__ = ["Gate", "Request", "Session", "ask", "content_length"]

_TEXT_TYPE = re.compile(r"|text/.*|.*[/+](xml|json|javascript)")

Gate = Callable[[str], AbstractContextManager[Verdict | Disallowed | FetchFailed | Deferred | None]]


class Received(Protocol):
    """The head of an answer, and its body as it comes; `framed`: the body's end is marked."""

    status: int
    fields: Fields
    framed: bool

    def chunks(self) -> Iterator[bytes]: ...
    def drain(self) -> None: ...


class Wire(Protocol):
    """The network, for the hops of one look."""

    def exchange(self, hop: Hop) -> AbstractContextManager[Received | FetchFailed]: ...


class Session(Protocol):
    """The connections of one task (`connections.Session`)."""

    def look(self, request: Request) -> Wire: ...
    def now(self) -> datetime: ...


def ask(request: Request, session: Session, gate: Gate) -> Answer:
    """One look. `gate(url)` is entered for each hop and left when its answer has been read; if it yields anything but a
    Verdict or None, nothing is sent and that is the answer."""
    return _Look(request, session, gate).run()


def content_length(request: Request, session: Session, gate: Gate) -> int | None:
    """The length of the unpacked body by a HEAD (RFC 9110 §9.3.2); None where only a GET can tell."""
    look = _Look(replace(request, accept_encoding="identity", body=None), session, gate)
    look.run("HEAD")
    return look.announced


class _Look:
    """A look under way."""

    def __init__(self, request: Request, session: Session, gate: Gate) -> None:
        self._request, self._gate, self._now = request, gate, session.now
        self._wire = session.look(request)
        self._seen: set[object] = set()
        self._verdict: Verdict | None = None
        self.announced: int | None = None

    def run(self, method: str = "") -> Answer:
        step: Hop | Answer = hops.first_hop(self._request, method)
        while isinstance(step, Hop):
            step = self._visit(step)
        return step

    def _visit(self, hop: Hop) -> Hop | Answer:
        if self._goes_round(hop):
            return FetchFailed("too-many-redirects", "the redirects go round in a circle")
        with self._gate(hop.url) as verdict:
            if isinstance(verdict, (Disallowed, FetchFailed, Deferred)):
                return verdict
            if not hop.redirects:
                self._verdict = verdict
            with self._wire.exchange(hop) as received:
                outcome = received if isinstance(received, FetchFailed) else self._outcome(hop, received)
        return outcome

    def _goes_round(self, hop: Hop) -> bool:
        """The same request again, with the same cookies, has the same answer."""
        here = (hop.url, hop.method, hop.bare, hop.cookies)
        known = here in self._seen
        self._seen.add(here)
        return known

    def _outcome(self, hop: Hop, received: Received) -> Hop | Answer:
        now = self._now()
        step = hops.after(self._request, hop, received.status, received.fields, now)
        if step is None:
            return self._content(hop, received, now)
        received.drain()
        return replace(step, verdict=self._verdict) if isinstance(step, NotModified) else step

    def _content(self, hop: Hop, received: Received, now: datetime) -> Answer:
        body: bytes | FetchFailed = b""
        if hop.method == "HEAD":
            self._read_length(received)
        else:
            body = self._body(received)
        if isinstance(body, FetchFailed):
            return body
        answer = hops.representation(self._request, hop, received.status, received.fields, body, now)
        return replace(answer, verdict=self._verdict)

    def _read_length(self, received: Received) -> None:
        received.drain()
        length = received.fields.single("content-length")
        if re.fullmatch("[0-9]{1,18}", length) and not content_codings(received.fields):
            self.announced = int(length)

    def _body(self, received: Received) -> bytes | FetchFailed:
        limit, truncate = self._request.limit, self._request.truncate
        codings = content_codings(received.fields)
        body = decode(received.chunks(), codings, limit, truncate=truncate, framed=received.framed)
        if isinstance(body, FetchFailed) or not _TEXT_TYPE.fullmatch(media_type(received.fields)):
            return body
        return unpack_undeclared(body, limit, truncate=truncate)
