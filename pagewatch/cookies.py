"""Cookies within one chain of redirects (RFC 6265 §5): some sites redirect until they get back what they set.

Nothing is kept beyond the chain, so dates need no reading, but that a year before 2000 is how cookies are taken back.
It promises never to raise, whatever a server sets, which the standard library's cookies do not.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from pagewatch.frozen import dataclass

MOST = 50  # cookies
LONGEST = 4096  # characters of name and value

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONG_AGO = re.compile(r"\b1[0-9]{3}\b")


@dataclass(frozen=True)
class Cookie:
    """`below`: it is for hosts below `host` as well; `path` is a directory without the slash behind it."""

    name: str
    value: str
    host: str
    below: bool
    path: str
    secure: bool


def keep(cookies: tuple[Cookie, ...], set_cookie: Sequence[str], url: str) -> tuple[Cookie, ...]:
    """The cookies after an answer of `url`; a later one takes the place of one with its name, host and path (§5.3)."""
    kept = {(cookie.name, cookie.host, cookie.path): cookie for cookie in cookies}
    for line in set_cookie:
        attributes = _attributes(line)
        cookie = _cookie(line, attributes, url)
        if cookie is None:
            continue
        kept.pop((cookie.name, cookie.host, cookie.path), None)
        if not _is_taken_back(attributes):
            kept[cookie.name, cookie.host, cookie.path] = cookie
    return tuple(kept.values())[-MOST:]


def header(cookies: tuple[Cookie, ...], url: str) -> str:
    """The Cookie value for a request to `url` (§5.4), "" if there is none; longer paths stand first."""
    fitting = [cookie for cookie in cookies if _fits(cookie, url)]
    fitting.sort(key=lambda cookie: -len(cookie.path))
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in fitting)


def _attributes(line: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in line.split(";")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _cookie(line: str, attributes: dict[str, str], url: str) -> Cookie | None:
    name, equals, value = (part.strip() for part in line.split(";")[0].partition("="))
    host = urlsplit(url).hostname or ""
    domain = attributes.get("domain", "").lstrip(".").lower() or host
    usable = name and equals and len(name) + len(value) <= LONGEST and not _CONTROL.search(name + value)
    if not usable or not (domain == host or ("." in domain and _is_below(host, domain))):
        return None
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = urlsplit(url).path.rpartition("/")[0]  # §5.1.4
    return Cookie(name, value, domain, "domain" in attributes, path.rstrip("/"), "secure" in attributes)


def _is_taken_back(attributes: dict[str, str]) -> bool:
    if "max-age" in attributes:
        return attributes["max-age"].startswith(("-", "0"))
    return bool(_LONG_AGO.search(attributes.get("expires", "")))


def _fits(cookie: Cookie, url: str) -> bool:
    parts = urlsplit(url)
    host, path = parts.hostname or "", parts.path
    here = host == cookie.host or (cookie.below and _is_below(host, cookie.host))
    return here and f"{path}/".startswith(f"{cookie.path}/") and (parts.scheme == "https" or not cookie.secure)


def _is_below(host: str, domain: str) -> bool:
    """§5.1.3: an address is below nothing."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.endswith(f".{domain}")
    return False
