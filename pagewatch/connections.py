"""Connections: TLS contexts, proxies, and one request and its answer over sockets that end with their look.

It promises that no operation outlasts the time that its look has left, however slowly bytes drip, head and handshake
included; that no more octets come in than a limit; and that a failure is a value. Of requests it uses the adapter, and
nothing that acts on its own: no netrc, no environment, no cookies, no redirects, no retries, no decoding.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.request import getproxies

import requests
import requests.adapters
import requests.utils
import urllib3
import urllib3.connection
from requests.structures import CaseInsensitiveDict

from pagewatch.answers import FetchFailed
from pagewatch.failures import Broken, is_caused_by, network_failure
from pagewatch.hops import Hop, Request, fields_to_send
from pagewatch.http_headers import Fields, names_and_values
from pagewatch.sockets import Limits, TlsSocket, dial
from pagewatch.urls import goes_direct, origin_of

CHUNK = 256 * 1024  # octets of a body at a time
LONGEST_LINE = 64 * 1024  # octets of a line of a head
LOOK = 3  # times the timeout of one read: what all hops of a look may take together
OVERHEAD = 16_000_000  # octets that head, chunk sizes and packing may add to a body before all counts as a flood
DRAINED = 64 * 1024  # octets of an unwanted body that are read, within DRAINING seconds, to keep its connection
DRAINING = 1.0
MOST_LINES = 100  # of a head, and of what is none: interim answers, and lines one after another that are no fields

_HEAD_ENDS = (b"\r\n", b"\n", b"")
_FIELD_LINE = re.compile(rb"[ \t]|[!-9;-~]+:")

# What the libraries raise; RequestException is an OSError, UnicodeError a ValueError.
_ERRORS = (OSError, ValueError, http.client.HTTPException, urllib3.exceptions.HTTPError)

Resolve = Callable[..., Any]  # as socket.getaddrinfo


class Client:
    """What all sessions of a run share: TLS contexts, made when first needed, and the way out.

    `ca_bundle` is a file or folder of trusted certificates ("": those that come with requests), `proxies` is what
    `urllib.request.getproxies()` gives, `resolve` does what `socket.getaddrinfo` does.
    """

    def __init__(
        self,
        *,
        ca_bundle: str = "",
        proxies: Mapping[str, str] | None = None,
        resolve: Resolve = socket.getaddrinfo,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        urllib3.disable_warnings()  # of `verify_tls: false`, which the user chose, and of a clock that is wrong
        self.resolve, self.now = resolve, now
        self._ca_bundle = ca_bundle or requests.utils.DEFAULT_CA_BUNDLE_PATH
        self._proxies = {scheme: url for scheme, url in (proxies or {}).items() if scheme != "no"}
        self._no_proxy = (proxies or {}).get("no", "")
        self._contexts: dict[bool, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, environment: Mapping[str, str], now: Callable[[], datetime]) -> Client:
        """With the certificates and proxies that the environment names."""
        bundle = environment.get("REQUESTS_CA_BUNDLE") or environment.get("SSL_CERT_FILE", "")
        return cls(ca_bundle=bundle, proxies=getproxies(), now=now)

    def session(self) -> Session:
        return Session(self)

    def proxies_for(self, url: str) -> dict[str, str]:
        return {} if not self._proxies or goes_direct(url, self._no_proxy) else self._proxies

    def tls_context(self, verify: bool) -> ssl.SSLContext:
        """One for all connections: to load the certificates costs 20 ms, ten times a whole request."""
        with self._lock:
            if verify not in self._contexts:
                context = self._trusting() if verify else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = verify
                context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
                context.sslsocket_class = TlsSocket
                self._contexts[verify] = context
            return self._contexts[verify]

    def _trusting(self) -> ssl.SSLContext:
        folder = Path(self._ca_bundle).is_dir()
        try:
            return ssl.create_default_context(**{"capath" if folder else "cafile": self._ca_bundle})  # type: ignore[arg-type]
        except OSError as error:
            raise NoCertificates from error


class Session(AbstractContextManager["Session"]):
    """The connections of one task, kept for its next requests; for one thread at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.limits = Limits()
        self._adapter = _Adapter(client, self.limits)

    def look(self, request: Request) -> Wire:
        return Wire(self, request)

    def now(self) -> datetime:
        return self._client.now()

    def send(self, prepared: requests.PreparedRequest, timeout: float, verify: bool) -> Any:
        """The answer, its body not yet read. A kept connection that its server has given up is replaced, once."""
        proxies = self._client.proxies_for(str(prepared.url))
        if proxies:  # whose own fields take the place of the user's
            prepared.headers = CaseInsensitiveDict(prepared.headers)
        send = partial(
            self._adapter.send, prepared, stream=True, timeout=(timeout, timeout), verify=verify, proxies=proxies
        )
        self.limits.dialled = False
        try:
            return send()
        except _ERRORS as error:
            if self.limits.dialled or prepared.method == "POST" or is_caused_by(error, "TimeoutError", "Flood"):
                raise
        return send()

    def close(self) -> None:
        self._adapter.close()

    def __exit__(self, *error: object) -> None:
        self.close()


class Wire:
    """The network for the hops of one look, which share its time."""

    def __init__(self, session: Session, request: Request) -> None:
        self._session, self._request = session, request
        self._left = LOOK * request.timeout
        self._answered = False

    @contextmanager
    def exchange(self, hop: Hop) -> Iterator[Received | FetchFailed]:
        """Sends one request; its answer can be read until the block ends, which is time on the network as well."""
        started = time.monotonic()
        self._session.limits.set(started + self._left, self._request.limit + OVERHEAD)
        try:
            self._session.limits.patience()
            raw = self._session.send(self._prepared(hop), self._request.timeout, self._request.verify_tls)
        except _ERRORS as error:
            self._left -= time.monotonic() - started
            yield network_failure(error, answered=self._answered)
            return
        self._answered = True
        try:
            yield Received(raw, self._session.limits)
        finally:
            raw.close()  # and its connection, unless all has been read: then it was given back
            self._left -= time.monotonic() - started

    def _prepared(self, hop: Hop) -> requests.PreparedRequest:
        """Not by requests' own `prepare`: the URL is sent in the form in which it is, and header values are octets."""
        prepared: Any = requests.PreparedRequest()
        prepared.method, prepared.url, prepared.headers = hop.method, hop.url, fields_to_send(self._request, hop)
        if hop.method == "POST":
            prepared.body = self._request.body
            prepared.headers["Content-Length"] = str(len(self._request.body or b""))
        return cast("requests.PreparedRequest", prepared)


class Received:
    """The head of an answer, and its body as it comes. `framed`: the body's end is marked, by a length or by chunks."""

    def __init__(self, raw: Any, limits: Limits) -> None:
        self._raw, self._limits = raw, limits
        self.status: int = raw.status
        self.fields = Fields(raw.headers.items())
        self.framed: bool = raw.chunked or raw.length_remaining is not None

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes, packed; raises Broken where it breaks off."""
        try:
            for chunk in self._raw.stream(CHUNK, decode_content=False):
                self._limits.patience()  # the sockets of a SOCKS proxy are not ours
                yield chunk
        except _ERRORS as error:
            raise Broken(network_failure(error, answered=True, reading=True)) from None

    def drain(self) -> None:
        """Reads a body that nobody wants, if it is short, so that its connection can be used again."""
        if not self.framed or (self._raw.length_remaining or 0) > DRAINED:
            return
        if self._raw.length_remaining == 0 and not self._raw.chunked:
            self._raw.drain_conn()  # nothing is to come
            return
        self._limits.set(min(self._limits.ends, time.monotonic() + DRAINING), DRAINED)
        try:
            for _ in self.chunks():
                pass
        except Broken:
            pass  # what matters of this answer is known


# ----------------------------------------------------------------------------------------------- requests and urllib3


class NoCertificates(OSError):
    """The trusted certificates cannot be read."""


class _Adapter(requests.adapters.HTTPAdapter):
    """requests' adapter with the run's TLS contexts and with the connections below."""

    def __init__(self, client: Client, limits: Limits) -> None:
        super().__init__(pool_connections=8, pool_maxsize=1)
        self._client, self._limits = client, limits
        self._server: object = None
        self._pool: Any = None

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        host, pool = super().build_connection_pool_key_attributes(request, bool(verify), cert)
        if host["scheme"] == "https":
            cast("dict[str, Any]", pool)["ssl_context"] = self._client.tls_context(bool(verify))
        return host, pool

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Nothing: the context knows whom to trust. requests would have its bundle loaded for each connection."""

    def build_response(self, req: Any, resp: Any) -> Any:
        """The answer as urllib3 has it: requests would read its cookies and its charset, and stumble over some."""
        return resp

    def request_url(self, request: Any, proxies: Any) -> Any:
        return super().request_url(request, proxies) if proxies else request.url[len(origin_of(request.url)) :]

    def get_connection_with_tls_context(self, request: Any, verify: Any, *args: Any, **kwargs: Any) -> Any:
        """The last one, if it is for the same server: requests takes long to find it again."""
        server = origin_of(request.url), verify
        if server != self._server:
            pool: Any = super().get_connection_with_tls_context(request, verify, *args, **kwargs)
            own = {urllib3.connection.HTTPConnection: _Http, urllib3.connection.HTTPSConnection: _Https}
            if pool.ConnectionCls in own:
                pool.ConnectionCls = partial(own[pool.ConnectionCls], limits=self._limits, resolve=self._client.resolve)
            self._server, self._pool = server, pool
        return self._pool

    def close(self) -> None:
        self._server = self._pool = None
        super().close()


class _Http(urllib3.connection.HTTPConnection):
    putheader = http.client.HTTPConnection.putheader  # urllib3's own looks in each value for a mark that is never sent

    def __init__(self, *args: Any, limits: Limits, resolve: Resolve, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.response_class = _Response
        self._limits, self._resolve = limits, resolve

    def _new_conn(self) -> socket.socket:
        self._limits.dialled = True
        host = self._dns_host.strip("[]")
        look_up = partial(self._resolve, host, self.port, 0, socket.SOCK_STREAM)
        return dial(look_up, cast("float", self.timeout), self._limits)

    def connect(self) -> None:
        super().connect()
        cast("Any", self.sock).limits = self._limits


class _Https(_Http, urllib3.connection.HTTPSConnection):
    pass


class _Response(http.client.HTTPResponse):
    """Passes over interim answers (RFC 9110 §15.2: http.client does so with 100 only), and in a head over lines that
    are no fields. http.client has heads read by a parser of mail, which would stop there and lose the rest, and which
    takes a sixth of the time of a request."""

    def begin(self: Any) -> None:
        version, self.status, reason = self._read_status()
        if not version.startswith("HTTP/1.") and version != "HTTP/0.9":
            raise http.client.UnknownProtocol(version)
        self.version = 10 if version in ("HTTP/1.0", "HTTP/0.9") else 11
        self.code, self.reason = self.status, reason.strip()
        self.headers = self.msg = _head(self.fp)
        self.chunked, self.chunk_left = self.headers.get("transfer-encoding", "").lower() == "chunked", None
        self.length = self._length()
        self.will_close = self._check_close() or (self.length is None and not self.chunked)

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(MOST_LINES):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == 101:
                return version, status, reason
            while self.fp.readline(LONGEST_LINE) not in _HEAD_ENDS:
                pass
        raise http.client.HTTPException("nothing but interim answers")

    def _length(self: Any) -> int | None:
        if self.status in (101, 204, 304) or self._method == "HEAD":
            return 0
        try:
            length = -1 if self.chunked else int(self.headers.get("content-length", "-1"))
        except ValueError:
            return None
        return length if length >= 0 else None


def _head(file: BinaryIO) -> http.client.HTTPMessage:
    fields: list[bytes] = []
    junk = 0
    while (line := file.readline(LONGEST_LINE + 1)) not in _HEAD_ENDS:
        is_field = _FIELD_LINE.match(line) is not None
        fields += [line] if is_field else []
        junk = 0 if is_field else junk + 1
        if MOST_LINES in (junk, len(fields)) or (is_field and len(line) > LONGEST_LINE):
            raise http.client.HTTPException("a head without end")
    message = http.client.HTTPMessage()
    for name, value in names_and_values(b"".join(fields)):
        message.set_raw(name, value)
    return message
