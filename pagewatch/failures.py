"""What an exception from the network means: a kind of failure, and a clause of our own for people.

The libraries wrap one another's exceptions, and their texts hold the URL with its secrets: so the whole chain is looked
at, by the names of its classes, and no text is taken over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pagewatch.answers import FetchFailed

MOST_CAUSES = 30

# The first that is found in the chain decides.
_WITHOUT_ANSWER = (
    ("NoCertificates", "tls", "the file of trusted certificates cannot be read"),
    ("ProxyError", "connection", "the proxy cannot be reached"),
    ("InvalidProxyURL", "connection", "the address of the proxy cannot be used"),
    ("InvalidSchema", "connection", "the kind of proxy needs a package that is not installed"),
    ("gaierror", "dns", "the host name does not resolve"),
    ("UnicodeError", "dns", "the host name is not one"),
    ("SSLError", "tls", "no TLS connection can be made"),
    ("ConnectionRefusedError", "connection", "the connection is refused"),
    ("RemoteDisconnected", "connection", "the connection was closed without an answer"),
    ("ConnectionResetError", "connection", "the connection was reset"),
    ("HTTPException", "connection", "what came back is not HTTP"),
    ("InvalidHeader", "connection", "what came back is not HTTP"),
)
_CERTIFICATE_FAULTS = {  # OpenSSL's numbers (X509_V_ERR_…)
    9: "is not valid yet",
    10: "has expired",
    18: "is signed by itself only",
    19: "is signed by an unknown authority",
    20: "is signed by an unknown authority",
    62: "is for another host name",
    64: "is for another address",
}
_STATUS = re.compile(r"HTTP/\d\.\d (0\d\d)(\s|\Z)", re.ASCII)


class Broken(ValueError):
    """A body that cannot be read to its end; carries the failure that it is."""

    def __init__(self, failure: FetchFailed) -> None:
        super().__init__(failure.kind)
        self.failure = failure


def network_failure(error: BaseException, *, answered: bool, reading: bool = False) -> FetchFailed:
    """`answered`: an answer's head had come, in this hop or an earlier one; `reading`: it broke in the body of one."""
    if is_caused_by(error, "Flood"):
        return FetchFailed("too-large", "the server sends without end")
    if is_caused_by(error, "TimeoutError"):
        return FetchFailed("timeout", "no complete answer in time", answered=answered)
    if reading:
        return FetchFailed("incomplete-body", "the connection broke off before the body was complete")
    if status := _impossible_status(error):
        return FetchFailed(f"http-{status}", f"the server answered with status {status}")
    for name, kind, reason in _WITHOUT_ANSWER:
        if is_caused_by(error, name):
            return FetchFailed(kind, _certificate_fault(error) or reason, answered=answered)
    return FetchFailed("connection", "no connection can be made", answered=answered)


def is_caused_by(error: BaseException, *names: str) -> bool:
    """Whether an exception of such a class, or of one derived from it, is in the chain."""
    return any(kind.__name__ in names for cause in _causes(error) for kind in type(cause).__mro__)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(MOST_CAUSES):
        if error is None:
            break
        yield error
        error = error.__cause__ or error.__context__


def _impossible_status(error: BaseException) -> str:
    """Below 100: a status line all the same, but none that http.client lets pass."""
    for cause in _causes(error):
        if found := _STATUS.match(getattr(cause, "line", "")):
            return found.group(1)
    return ""


def _certificate_fault(error: BaseException) -> str:
    for cause in _causes(error):
        if code := getattr(cause, "verify_code", 0):
            return f"the server's certificate {_CERTIFICATE_FAULTS.get(code, 'is not trusted')}"
    return ""
