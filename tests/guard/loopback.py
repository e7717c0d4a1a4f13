"""Refuses every connection and every look-up of a name that would leave this machine, and writes it down.

An audit hook (PEP 578) sees each socket of the process whoever opened it, threads and libraries included, and nothing
has to be patched. The refusal is an OSError like that of a machine without a network, which the program under test may
well take for an ordinary failure: that is why each one is also a line in `log`, which fails the test.
Names that cannot exist (RFC 6761 §6.4: `.invalid`) and those whose answer depends on the machine (its own name, names
under `localhost`, reverse look-ups of loopback) are refused without a query and without a line.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
NAME_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
REVERSE_LOOKUPS = frozenset({"socket.gethostbyaddr", "socket.getnameinfo"})


def install(log: Path) -> None:
    """From now on and until the process ends; a hook cannot be taken away."""

    def refuse(what: str, error: OSError) -> None:
        with log.open("a", encoding="utf-8") as lines:
            lines.write(f"{what}\n")
        raise error

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CONNECTS:
            _check_connect(arguments[0], arguments[1], refuse)
        elif event in NAME_LOOKUPS:
            _check_name(_text(arguments[0]), refuse)
        elif event in REVERSE_LOOKUPS:
            _check_reverse(_text(arguments[0]), refuse)

    sys.addaudithook(hook)


def _check_connect(opened: socket.socket, address: Any, refuse: Callable[[str, OSError], None]) -> None:
    if opened.family not in (socket.AF_INET, socket.AF_INET6) or address is None:
        return
    host = _text(address)
    if not _is_loopback(host):
        refuse(f"connection to {host}", OSError(errno.ENETUNREACH, "the tests stay on this machine"))


def _check_name(host: str, refuse: Callable[[str, OSError], None]) -> None:
    if _is_loopback(host) or _is_address(host):  # reading an address asks nobody; connecting to it is another event
        return
    error = socket.gaierror(socket.EAI_NONAME, "the tests stay on this machine")
    if _never_answered(host):
        raise error
    refuse(f"look-up of {host}", error)


def _check_reverse(host: str, refuse: Callable[[str, OSError], None]) -> None:
    if host in ("127.0.0.1", "::1", "localhost"):
        return
    error = socket.gaierror(socket.EAI_NONAME, "the tests stay on this machine")
    if _is_loopback(host) or _never_answered(host):
        raise error
    refuse(f"reverse look-up of {host}", error)


def _text(host: Any) -> str:
    """A host as the socket functions take it: text, bytes, None, or an address with the host in front."""
    if isinstance(host, tuple):
        host = host[0]
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    return str(host or "").rstrip(".").lower()


def _is_loopback(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _never_answered(host: str) -> bool:
    return host.endswith((".invalid", ".localhost")) or host in ("invalid", socket.gethostname().lower())
