"""The site: a process of its own that answers at fifty ports of 127.0.0.1, and at fifty more over TLS.

    python -m tests.bench.server

It prints its ports as a line of JSON, and ends when its standard input does. Other ports are other servers to all who
are measured, so fifty ports are fifty hosts, on any system and without names. `Site` starts it, tells it what to
serve, and asks it what was asked of it.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import subprocess
import sys
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from email.utils import formatdate, parsedate_to_datetime
from functools import partial
from typing import cast

from tests.bench import pages
from tests.process import PROJECT
from tests.site import SERVER

HOSTS = 50
BACKLOG = 1024
MODIFIED = {"base": 1_700_000_000, "noise": 1_701_000_000, "changed": 1_701_000_000}


@dataclass(frozen=True)
class Serving:
    """What the site serves. `content`: base, noise (every page has other bytes), changed (a tenth has another price).
    `latency` is the pause before an answer in seconds."""

    content: str = "base"
    validators: bool = True
    latency: float = 0.0

    def version_of(self, number: int) -> str:
        return "base" if self.content == "changed" and not pages.is_changed(number) else self.content


class Site(AbstractContextManager["Site"]):
    """The site at work, in its own process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.server"], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._ports: dict[str, list[int]] = json.loads(self._process.stdout.readline())

    def base(self, number: int, scheme: str = "http") -> str:
        """Where page `number` lives, without a path."""
        return f"{scheme}://127.0.0.1:{self._ports[scheme][number % HOSTS]}"

    def url(self, number: int, scheme: str = "http") -> str:
        return f"{self.base(number, scheme)}/p/{number}"

    def serve(self, serving: Serving) -> None:
        """From now on; what has been answered so far is forgotten."""
        self._control("POST", json.dumps(asdict(serving)))

    def answered(self) -> dict[int, int]:
        """How many pages were answered with which status."""
        return {int(status): count for status, count in json.loads(self._control("GET")).items()}

    def _control(self, method: str, body: str = "") -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._ports["http"][0], timeout=10)
        try:
            connection.request(method, "/control", headers={"X-Serving": body})
            return connection.getresponse().read()
        finally:
            connection.close()

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


# ------------------------------------------------------------------------------------------------- in its process


class Desk:
    """What all connections share: what is served, and the count of what was."""

    def __init__(self) -> None:
        self.serving = Serving()
        self.answered: Counter[int] = Counter()
        self.base = ""

    def answer(self, method: str, path: str, fields: dict[str, str]) -> bytes:
        if path.startswith("/p/"):
            return self._page(int(path[3:]), fields)
        if path == "/control":
            return self._control(method, fields)
        if path.startswith("/small/"):
            return self._small(int(path[7:]), fields)
        if path == "/robots.txt":
            return _answer(200, pages.robots(), "Content-Type: text/plain")
        if path == "/big":
            return _answer(200, pages.big_page(), "Content-Type: text/html; charset=utf-8")
        if path == "/sitemap.xml":
            return _answer(200, pages.sitemap(self.base), "Content-Type: application/xml")
        return _answer(404, b"", "Content-Type: text/plain")

    def _page(self, number: int, fields: dict[str, str]) -> bytes:
        version = self.serving.version_of(number)
        validators = (f'ETag: "{number}-{version}"', f"Last-Modified: {formatdate(MODIFIED[version], usegmt=True)}")
        known = self.serving.validators and _is_known(fields, f'"{number}-{version}"', MODIFIED[version])
        self.answered[304 if known else 200] += 1
        if known:
            return _answer(304, b"", *validators)
        sent = validators if self.serving.validators else ()
        return _answer(200, pages.page(number, version), "Content-Type: text/html; charset=utf-8", *sent)

    def _small(self, number: int, fields: dict[str, str]) -> bytes:
        tag = f'"{number}"'
        self.answered[304 if fields.get("if-none-match") == tag else 200] += 1
        if fields.get("if-none-match") == tag:
            return _answer(304, b"", f"ETag: {tag}")
        return _answer(200, pages.small_page(number), "Content-Type: text/html; charset=utf-8", f"ETag: {tag}")

    def _control(self, method: str, fields: dict[str, str]) -> bytes:
        if method == "POST":
            self.serving = Serving(**json.loads(fields["x-serving"]))
            self.answered.clear()
        return _answer(200, json.dumps(self.answered).encode(), "Content-Type: application/json")


def _is_known(fields: dict[str, str], tag: str, modified: int) -> bool:
    """RFC 9110 §13.2.2: a tag that is sent counts before a date."""
    if "if-none-match" in fields:
        return tag in fields["if-none-match"]
    since = fields.get("if-modified-since")
    return since is not None and parsedate_to_datetime(since).timestamp() >= modified


def _answer(status: int, body: bytes, *lines: str) -> bytes:
    length = [] if status == 304 else [f"Content-Length: {len(body)}"]
    return "\r\n".join([f"HTTP/1.1 {status} -", *lines, *length, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    def __init__(self, desk: Desk) -> None:
        self._desk, self._arrived = desk, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        while (end := self._arrived.find(b"\r\n\r\n")) >= 0:
            head, self._arrived = self._arrived[:end].decode("latin-1"), self._arrived[end + 4 :]
            first, *lines = head.split("\r\n")
            method, path, _ = first.split(" ")
            fields = dict(_field(line) for line in lines)
            latency = 0.0 if path == "/control" else self._desk.serving.latency
            answer = self._desk.answer(method, path, fields)
            ends = fields.get("connection", "").lower() == "close"
            if latency:
                asyncio.get_running_loop().call_later(latency, self._send, answer, ends)
            else:
                self._send(answer, ends)

    def _send(self, answer: bytes, ends: bool) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)
            if ends:
                self._transport.close()


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.lower(), value.strip()


async def _serve() -> None:
    loop, desk = asyncio.get_running_loop(), Desk()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SERVER)
    ports: dict[str, list[int]] = {"http": [], "https": []}
    for scheme, tls in (("http", None), ("https", context)):
        for _ in range(HOSTS):
            server = await loop.create_server(partial(Connection, desk), "127.0.0.1", 0, ssl=tls, backlog=BACKLOG)
            ports[scheme].append(server.sockets[0].getsockname()[1])
    desk.base = f"http://127.0.0.1:{ports['http'][0]}"
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
