"""Real notification targets on 127.0.0.1, well and badly behaved: HTTP endpoints and mail servers.

Each is a context manager with the Apprise URL of the target and a record of what arrived there.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

LOCALHOST = "127.0.0.1"
PASSWORD = "p@ss/word"  # what the mail servers with a login want; in a URL it is p%40ss%2Fword


# ------------------------------------------------------------------------------------------------------------ by HTTP


@dataclass(frozen=True)
class Answer:
    """How to answer one message. `silent`: not at all; `drip`: the body a byte at a time, with so many seconds between;
    `max_chars`: 400 for a longer title and text."""

    status: int = 200
    location: str = ""
    silent: bool = False
    drip: float = 0.0
    max_chars: int = 0


@dataclass
class HttpTarget:
    """Takes what `json://` sends, and any other request too. Answers in the order given, the last one again and again.

    `messages` are the bodies that it took with 2xx, `refused` the others, `requests` all request lines.
    """

    port: int
    answers: list[Answer]
    messages: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"json://{LOCALHOST}:{self.port}/hook"

    @property
    def titles(self) -> list[str]:
        return [message["title"] for message in self.messages]

    def next_answer(self, message: dict[str, Any]) -> Answer:
        with self.lock:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer.max_chars and len(message.get("title", "")) + len(message.get("message", "")) > answer.max_chars:
                answer = Answer(400)
            (self.messages if 200 <= answer.status < 300 else self.refused).append(message)
        self.arrived.set()
        return answer


@contextmanager
def http_target(*answers: Answer) -> Iterator[HttpTarget]:
    server = ThreadingHTTPServer((LOCALHOST, 0), _Hook)
    server.daemon_threads = True
    target = HttpTarget(server.server_address[1], list(answers) or [Answer()])
    server.target = target  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield target
    finally:
        target.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Hook(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(json.loads(body.decode("utf-8")))

    def _answer(self, message: dict[str, Any]) -> None:
        target: HttpTarget = self.server.target  # type: ignore[attr-defined]
        target.requests.append(self.requestline)
        answer = target.next_answer(message)
        if answer.silent:
            target.closing.wait(30)
            self.close_connection = True
            return
        body = b"taken, thank you" if answer.drip else b""
        self.send_response(answer.status)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for position in range(len(body)):
            if target.closing.wait(answer.drip):
                return
            self.wfile.write(body[position : position + 1])

    def log_message(self, format: str, *args: object) -> None:
        pass


# ------------------------------------------------------------------------------------------------------------ by mail


@dataclass
class MailTarget:
    """`mails` are those it took; `logins` the user names and passwords that were tried."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    refuse: Sequence[str] = ()
    refuse_message: str = ""

    def url(self, scheme: str = "mailto", to: str = "reader@example.org", login: str = "", more: str = "") -> str:
        return f"{scheme}://{login}{LOCALHOST}:{self.port}?from=monitor@example.org&to={to}&cto=1.0{more}"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refuse:
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refuse_message:
            return self.refuse_message
        content = envelope.content if isinstance(envelope.content, bytes) else (envelope.content or "").encode()
        mail = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients.append([*envelope.rcpt_tos])
        self.encrypted.append(session.ssl is not None)
        return "250 OK"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, login: object
    ) -> AuthResult:
        assert isinstance(login, LoginPassword)
        self.logins.append((login.login, login.password))
        return AuthResult(success=login.password == PASSWORD.encode(), handled=False)


class _AnyPort(Controller):
    """A controller on a free port."""

    def _trigger_server(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextmanager
def mail_target(
    *, starttls: Path | None = None, login: bool = False, refuse: Sequence[str] = (), refuse_message: str = ""
) -> Iterator[MailTarget]:
    """A mail server. `starttls` is the file with certificate and key; `refuse` are recipients it does not take."""
    target = MailTarget(refuse=refuse, refuse_message=refuse_message)
    options: dict[str, Any] = {}
    if starttls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(starttls)
        options = {"tls_context": context, "require_starttls": True}
    if login:
        options |= {"authenticator": target.authenticate, "auth_require_tls": bool(starttls)}
    controller = _AnyPort(target, hostname=LOCALHOST, port=0, **options)
    controller.start()
    target.port = controller.port
    try:
        yield target
    finally:
        controller.stop()


@contextmanager
def silent_port() -> Iterator[int]:
    """Takes connections and says nothing: a mail server that hangs."""
    with socket.create_server((LOCALHOST, 0)) as listening:
        yield listening.getsockname()[1]


def closed_port() -> int:
    """A port where nobody listens."""
    with socket.create_server((LOCALHOST, 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


# ------------------------------------------------------------------------------------------------------ a certificate

# For 127.0.0.1 and localhost, signed by itself, from 2020 to 2120, used nowhere else.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNJ1aHt1I4sQ7tO20
z2vR5OmAXXnwymC/cmjFeZ8ZF++hRANCAAS3KmS3EqS0rlKQA10yKdUx2RzyyMTA
6UN7UFENvF08wFeCfu2id+Ld3chnjpgTbnfb7GiyqwrQevl+2GY86+La
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBsDCCAVWgAwIBAgIBATAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0ZXN0cyBv
biAxMjcuMC4wLjEwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
GzAZBgNVBAMMEnRlc3RzIG9uIDEyNy4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABLcqZLcSpLSuUpADXTIp1THZHPLIxMDpQ3tQUQ28XTzAV4J+7aJ34t3d
yGeOmBNud9vsaLKrCtB6+X7YZjzr4tqjgYMwgYAwEgYDVR0TAQH/BAgwBgEB/wIB
ADAOBgNVHQ8BAf8EBAMCAoQwGgYDVR0RBBMwEYcEfwAAAYIJbG9jYWxob3N0MB0G
A1UdDgQWBBTjZ6599Bya3/Gdo8SlgiYFFOO0pDAfBgNVHSMEGDAWgBTjZ6599Bya
3/Gdo8SlgiYFFOO0pDAKBggqhkjOPQQDAgNJADBGAiEA2SRxmG1bfWBQtn3KbuwH
ozQO6A+Fu15yiRvsQl9ZPAECIQC1pRmpvEQWViMtEr7qRdvEOjf2Mpth1cEoEw36
7IhmVw==
-----END CERTIFICATE-----
"""
