"""A small site on 127.0.0.1 for `monitor.py demo`: one page with a price, its robots.txt, and an endpoint that takes
notifications.

It answers as a good server does: an ETag of the page's bytes, and 304 without a body to a request that names it. It
notes each request with what was answered, so that the demonstration can hold what it promises against what really
went over the wire.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from pagewatch.frozen import dataclass, field

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Harbour Hall: tickets</title></head>
<body><h1>An evening of sea songs</h1>
<main>{price}<p>Doors open at 19:00.</p></main>
<footer>Page made at {made}</footer></body></html>
"""
PRICE = '<p>Ticket: <span id="price">{} dollars</span></p>'
ROBOTS = b"User-agent: *\nDisallow: /basket\n"


@dataclass(frozen=True)
class Exchange:
    """One request and its answer: `sent` is the number of body bytes, `validator` the If-None-Match that came, "" if
    none did."""

    method: str
    path: str
    validator: str
    status: int
    sent: int


@dataclass
class Site:
    """What the site shows now, and what it has seen."""

    price: str = PRICE.format(20)
    made: str = "08:00"
    port: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    messages: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/tickets"

    @property
    def target(self) -> str:
        return f"json://127.0.0.1:{self.port}/phone"

    def page(self) -> bytes:
        return PAGE.format(price=self.price, made=self.made).encode()


@contextmanager
def site() -> Iterator[Site]:
    """The site, served by a thread of this process until the block ends."""
    shown = Site()

    class Handler(_Handler):
        site = shown

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    shown.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        validator = self.headers.get("If-None-Match", "")
        if self.path == "/robots.txt":
            return self._answer(200, ROBOTS, "text/plain")
        if self.path != "/tickets":
            return self._answer(404, b"not found\n", "text/plain")
        body = self.site.page()
        tag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        if validator == tag:
            return self._answer(304, b"", "", tag, validator)
        return self._answer(200, body, "text/html; charset=utf-8", tag, validator)

    def do_POST(self) -> None:
        """The endpoint of the notifications: what Apprise's json:// target sends."""
        self.site.messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer(200, b"ok", "text/plain")

    def _answer(self, status: int, body: bytes, media_type: str, tag: str = "", validator: str = "") -> None:
        self.site.exchanges.append(Exchange(self.command, self.path, validator, status, len(body)))
        self.send_response(status)
        if status != 304:
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The exchanges are noted; nothing is printed."""
