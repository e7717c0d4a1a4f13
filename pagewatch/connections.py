"""Connections: TLS contexts, proxies, sockets that end with their look, and one request and its answer over them.

It promises that no operation outlasts the time that its look has left, however slowly bytes drip, head and handshake
included; that no more octets come in than a limit; and that a failure is a value. Of requests it uses the adapter, and
nothing that acts on its own: no netrc, no environment, no cookies, no redirects, no retries, no decoding.
"""

from __future__ import annotations

import http.client
import math
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from pagewatch.http_headers import Fields
from pagewatch.urls import goes_direct

CHUNK = 64 * 1024
LOOK = 3  # times the timeout of one read: what all hops of a look may take together
OVERHEAD = 16_000_000  # octets that head, chunk sizes and packing may add to a body before all counts as a flood
DRAINED = 64 * 1024  # octets of an unwanted body that are read, within DRAINING seconds, to keep its connection
DRAINING = 1.0
MOST_JUNK = 100  # interim answers, and lines of a head that are no fields

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
                context.sslsocket_class = _TlsSocket
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
        headers: CaseInsensitiveDict[Any] = CaseInsensitiveDict(fields_to_send(self._request, hop))
        prepared = requests.PreparedRequest()
        prepared.method, prepared.url, prepared.headers = hop.method, hop.url, headers
        if hop.method == "POST":
            prepared.body = self._request.body
            headers["Content-Length"] = str(len(self._request.body or b""))
        return prepared


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
        self._limits.set(min(self._limits.ends, time.monotonic() + DRAINING), DRAINED)
        try:
            for _ in self.chunks():
                pass
        except Broken:
            pass  # what matters of this answer is known


# --------------------------------------------------------------------------------------------------------- sockets


class Flood(OSError):
    """More came in than any body may bring."""


class NoCertificates(OSError):
    """The trusted certificates cannot be read."""


class Limits:
    """What a session's sockets hold to, set for each hop: a timeout of requests is one read's, and drips keep to it."""

    def __init__(self) -> None:
        self.ends = math.inf  # monotonic seconds
        self.room = 0  # octets
        self.dialled = False  # whether the hop needed a new connection

    def set(self, ends: float, room: int) -> None:
        self.ends, self.room = ends, room

    def patience(self) -> float:
        """The seconds left; raises TimeoutError when there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def before_read(self, sock: socket.socket) -> None:
        left = self.patience()
        if left < (sock.gettimeout() or math.inf):
            sock.settimeout(left)

    def after_read(self, octets: int) -> int:
        self.room -= octets
        if self.room < 0:
            raise Flood
        return octets


class _Socket(socket.socket):
    limits: Limits

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self.limits.before_read(self)
        return self.limits.after_read(super().recv_into(buffer, nbytes, flags))


class _TlsSocket(ssl.SSLSocket):
    limits: Limits  # set after the handshake, which is one operation for `ssl` and for its timeout

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        self.limits.before_read(self)
        return self.limits.after_read(super().recv_into(buffer, nbytes, flags))


class _Adapter(requests.adapters.HTTPAdapter):
    """requests' adapter with the run's TLS contexts and with the connections below."""

    def __init__(self, client: Client, limits: Limits) -> None:
        super().__init__(pool_connections=8, pool_maxsize=1)
        self._client, self._limits = client, limits

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

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        own = {urllib3.connection.HTTPConnection: _Http, urllib3.connection.HTTPSConnection: _Https}
        if pool.ConnectionCls in own:
            pool.ConnectionCls = partial(own[pool.ConnectionCls], limits=self._limits, resolve=self._client.resolve)
        return pool


class _Http(urllib3.connection.HTTPConnection):
    def __init__(self, *args: Any, limits: Limits, resolve: Resolve, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.response_class = _Response
        self._limits, self._resolve = limits, resolve

    def _new_conn(self) -> socket.socket:
        self._limits.dialled = True
        host = self._dns_host.strip("[]")
        addresses = _resolved(partial(self._resolve, host, self.port, 0, socket.SOCK_STREAM), self._limits)
        return _connected(addresses, cast("float", self.timeout), self._limits)

    def connect(self) -> None:
        super().connect()
        cast("Any", self.sock).limits = self._limits


class _Https(_Http, urllib3.connection.HTTPSConnection):
    pass


def _resolved(look_up: Callable[[], Any], limits: Limits) -> Any:
    """Looked up by a thread, since nothing can interrupt it: it is left behind when the time is over."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_look_up, args=(look_up, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=limits.patience())
    except queue.Empty:
        raise socket.gaierror(socket.EAI_AGAIN, "no answer in time") from None
    if isinstance(answer, BaseException):
        raise answer from None
    return answer


def _look_up(look_up: Callable[[], Any], answers: queue.SimpleQueue[Any]) -> None:
    try:
        answers.put(look_up())
    except (OSError, UnicodeError) as error:
        answers.put(error)


def _connected(addresses: Iterable[Any], timeout: float, limits: Limits) -> _Socket:
    """A connection to the first address that takes it; the last one's error if none does."""
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, address in addresses:
        sock = _Socket(family, kind, protocol)
        try:
            sock.limits = limits
            sock.settimeout(min(timeout, limits.patience()))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            sock.settimeout(min(timeout, limits.patience()))  # for the handshake
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


class _Response(http.client.HTTPResponse):
    """Passes over interim answers (RFC 9110 §15.2: http.client does so with 100 only), and in a head over lines that
    are no fields, at which http.client would stop and lose the rest."""

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(MOST_JUNK):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == 101:
                self.fp = cast("Any", _Lines(self.fp))
                return version, status, reason
            while self.fp.readline(CHUNK) not in (b"\r\n", b"\n", b""):
                pass
        raise http.client.HTTPException("nothing but interim answers")

    def begin(self) -> None:
        super().begin()
        if isinstance(self.fp, _Lines):
            self.fp = cast("Any", self.fp).file


class _Lines:
    """The lines of a head that are fields."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def readline(self, limit: int = -1) -> bytes:
        for _ in range(MOST_JUNK):
            line = self.file.readline(limit)
            if line in (b"\r\n", b"\n", b"") or _FIELD_LINE.match(line):
                return line[:-2].replace(b"\r", b" ") + line[-2:]  # RFC 9112 §2.2: a bare CR is a space
        raise http.client.HTTPException("lines that are no fields")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)
