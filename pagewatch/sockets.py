"""Sockets that end with their look, and how they are connected.

It promises that neither a name that is slow to resolve, nor an address that does not answer, nor drips outlast the time
that the look has left, and that no more octets come in than a limit: both are a session's `Limits`.
"""

from __future__ import annotations

import math
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any


class Flood(OSError):
    """More came in than any body may bring."""


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


class Socket(socket.socket):
    limits: Limits

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self.limits.before_read(self)
        return self.limits.after_read(super().recv_into(buffer, nbytes, flags))


class TlsSocket(ssl.SSLSocket):
    limits: Limits  # set after the handshake, which is one operation for `ssl` and for its timeout

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        self.limits.before_read(self)
        return self.limits.after_read(super().recv_into(buffer, nbytes, flags))


def dial(look_up: Callable[[], Any], timeout: float, limits: Limits) -> Socket:
    """A connection to one of the addresses that `look_up` gives, as `socket.getaddrinfo` does; OSError for none."""
    return _connected(_resolved(look_up, limits), timeout, limits)


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


def _connected(addresses: Iterable[Any], timeout: float, limits: Limits) -> Socket:
    """A connection to the first address that takes it; the last one's error if none does."""
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, address in addresses:
        sock = Socket(family, kind, protocol)
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
