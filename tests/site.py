"""A scripted HTTP site on 127.0.0.1, down to the octet: it answers with any bytes, and keeps those that arrived.

    with Site() as site:
        site.script("/a", answer(b"<p>20</p>", 'ETag: "1"'), answer(status=304))   # the last one is repeated
        ...
        assert site.to("/a")[1].field("If-None-Match") == b'"1"'

A reply is bytes, sent as they are, or a function that is given the `Line` and does with it what it likes: drip, stop,
reset. A path without a script is 404, robots.txt too. A connection is kept where the reply says where it ends.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TLS = Path(__file__).parent / "tls"
CA = TLS / "ca.pem"  # trusted by no machine; signed the two below
SERVER = TLS / "server.pem"  # key and certificate of 127.0.0.1 and localhost
EXPIRED = TLS / "expired.pem"

_BODILESS = (b"204", b"304")


@dataclass(frozen=True)
class Arrived:
    """One request as it came: `head` is every byte up to and with the empty line, `connection` counts from 0."""

    method: str
    target: str
    head: bytes
    body: bytes
    connection: int
    at: float = field(default_factory=time.monotonic)

    def fields(self, name: str) -> list[bytes]:
        """The values of all lines of that name, without the one space behind the colon."""
        found = []
        for line in self.head.split(b"\r\n")[1:]:
            key, colon, value = line.partition(b":")
            if colon and key.decode("latin-1").lower() == name.lower():
                found.append(value.removeprefix(b" "))
        return found

    def field(self, name: str) -> bytes | None:
        """The one value of that name, None if it did not come; a field that came twice fails the test."""
        values = self.fields(name)
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None


class Line:
    """The server's end of a connection, for a reply that is a function."""

    def __init__(self, site: Site, sock: socket.socket) -> None:
        self.site, self.sock = site, sock
        self.request = Arrived("", "", b"", b"", -1)
        self.open = True

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def drip(self, data: bytes, pause: float, piece: int = 1) -> None:
        """Sends `data` a few bytes at a time, until the client has had enough."""
        for start in range(0, len(data), piece):
            self.send(data[start : start + piece])
            if self.wait(pause):
                return

    def wait(self, seconds: float) -> bool:
        """Does nothing for a time; True if the site was closed meanwhile."""
        return self.site.closing.wait(seconds)

    def close(self) -> None:
        self.open = False

    def reset(self) -> None:
        """Ends the connection as a crash does: the client's next read fails."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.open = False


Reply = bytes | Callable[[Line], object]


def answer(body: bytes = b"", *lines: str, status: int = 200, sized: bool = True) -> bytes:
    """A whole answer. `lines` are header lines, a character an octet (Latin-1); `sized` adds the Content-Length."""
    head = [f"HTTP/1.1 {status:03d} Whatever", *lines]
    if sized and status not in (204, 304):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def chunked(*pieces: bytes) -> bytes:
    """A body in chunks, for an answer with `Transfer-Encoding: chunked`."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))


def conditional(body: bytes, *lines: str, etag: str = "", last_modified: str = "") -> Reply:
    """A page as a good server serves it: 304 if the tag, or without one the date, is byte for byte the page's own."""
    own = [f"ETag: {etag}"] * bool(etag) + [f"Last-Modified: {last_modified}"] * bool(last_modified)

    def reply(line: Line) -> None:
        asked = line.request
        tag, date = asked.field("If-None-Match"), asked.field("If-Modified-Since")
        held = tag == etag.encode("latin-1") if tag is not None else date == last_modified.encode("latin-1")
        fresh = bool(own) and held and (tag or date) is not None
        line.send(answer(b"", *own, status=304) if fresh else answer(body, *own, *lines))

    return reply


def silence(line: Line) -> None:
    """Takes the request and never answers."""
    line.wait(3600)


def cut(data: bytes) -> Reply:
    """Sends `data` and closes the connection, whatever was announced."""

    def reply(line: Line) -> None:
        line.send(data)
        line.close()

    return reply


def reset(data: bytes) -> Reply:
    """Sends `data` and resets the connection."""

    def reply(line: Line) -> None:
        line.send(data)
        line.wait(0.05)  # or the reset would overtake the data
        line.reset()

    return reply


class Site:
    """The site. `requests` are those that arrived, in order; `connections` how many there were.

    `tls` is a file with key and certificate. `greeting` takes the place of all that follows on a connection.
    """

    def __init__(self, *, tls: Path | None = None, greeting: Callable[[Line], object] | None = None) -> None:
        self.requests: list[Arrived] = []
        self.connections = 0
        self.closing = threading.Event()
        self._greeting = greeting
        self._scripts: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(tls)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """Scheme, address and port, without a slash behind."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def script(self, path: str, *replies: Reply) -> None:
        """What requests to `path` (with its query) are answered with, one after the other; the last one is repeated."""
        with self._lock:
            self._scripts[path] = list(replies)

    def to(self, path: str) -> list[Arrived]:
        """The requests that arrived for `path`."""
        return [request for request in self.requests if request.target == path]

    def close(self) -> None:
        self.closing.set()
        with socket.socket() as wake:  # closing a listener does not end its accept() everywhere
            wake.connect(("127.0.0.1", self.port))
        self._threads[0].join()
        self._listener.close()
        with self._lock:
            for sock in self._open:
                _shut(sock)
        for thread in self._threads[1:]:
            thread.join()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            if self.closing.is_set():
                sock.close()
                return
            thread = threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True)
            self.connections += 1
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            if self._context:
                sock = self._context.wrap_socket(sock, server_side=True)
        except OSError:  # the client does not like the certificate
            sock.close()
            return
        with self._lock:
            self._open.add(sock)
        try:
            self._talk(Line(self, sock), number)
        except OSError:
            pass  # the client has gone, as clients do
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _talk(self, line: Line, number: int) -> None:
        if self._greeting:
            self._greeting(line)
            return
        rest = b""
        while line.open and not self.closing.is_set():
            request, rest = _read_request(line.sock, rest, number)
            if request is None:
                return
            line.request = request
            self._reply(line, request)

    def _reply(self, line: Line, request: Arrived) -> None:
        with self._lock:
            self.requests.append(request)
            script = self._scripts.get(request.target, [answer(b"no such page\n", status=404)])
            reply = script.pop(0) if len(script) > 1 else script[0]
        if not isinstance(reply, bytes):
            reply(line)
            return
        head, _, body = reply.partition(b"\r\n\r\n")
        line.send(head + b"\r\n\r\n" + (b"" if request.method == "HEAD" else body))
        if not _says_where_it_ends(head):
            line.close()


def _says_where_it_ends(head: bytes) -> bool:
    status = head[9:12]
    text = head.lower()
    framed = b"\r\ncontent-length:" in text or b"\r\ntransfer-encoding: chunked" in text or status in _BODILESS
    return framed and b"\r\nconnection: close" not in text and text.startswith(b"http/1.1")


def _read_request(sock: socket.socket, data: bytes, number: int) -> tuple[Arrived | None, bytes]:
    """The next request on a connection, and what came behind it; None when the client has closed it."""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return None, b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    method, target, _ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
    arrived = Arrived(method, target, head + b"\r\n\r\n", b"", number)
    length = int(arrived.field("Content-Length") or 0)
    while len(rest) < length:
        rest += sock.recv(65536)
    return Arrived(method, target, arrived.head, rest[:length], number), rest[length:]


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be closed already
        sock.shutdown(socket.SHUT_RDWR)
