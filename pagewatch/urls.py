"""URLs in one form: the same for robots.txt, for the request and for the validators that belong to it.

`normalise_url` is applied once, to what the user or a redirect wrote; all that is done with a URL afterwards takes its
result, which HTTP libraries send as it is. It raises ValueError for what cannot be asked for, and nothing else. User
name, password and fragment are no part of the form: the first two are read apart (`credentials`), the last is never
sent (RFC 9110 §4.2.5).
"""

from __future__ import annotations

import base64
import ipaddress
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote, unquote_to_bytes, urljoin, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_AROUND = "".join(map(chr, range(33)))  # controls and the space, which copying leaves around a URL
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SCHEME_ALONE = re.compile(r"https?:(?!//[^/])", re.IGNORECASE)  # which `urljoin` would take for a relative reference
_NOT_IN_PATH = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]")  # RFC 3986 §3.3
_NOT_IN_QUERY = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")  # RFC 3986 §3.4
_HOST = re.compile(r"(?=.{1,253}\.?\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_IGNORED_IN_NAMES = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # UTS #46: mapped to nothing
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")  # UTS #46: full stops of other scripts


@lru_cache(maxsize=16_384)
def normalise_url(url: str) -> str:
    """`url` with its host in ASCII and lower case, no default port, no user, no fragment, no dot segments, and each
    octet percent-encoded that must be and none that need not be (RFC 3986 §6.2.2). What it gives it leaves as it is."""
    parts = urlsplit(url.strip(_AROUND))
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise ValueError("neither http nor https")
    port = "" if parts.port in (None, DEFAULT_PORTS[scheme]) else f":{parts.port}"
    path = without_dot_segments(_NOT_IN_PATH.sub(_encoded, parts.path))
    query = f"?{_NOT_IN_QUERY.sub(_encoded, parts.query)}" if parts.query else ""
    return f"{scheme}://{_host(parts.netloc)}{port}{path}{query}"


def redirect_target(base: str, location: str) -> str:
    """Where a Location leads (RFC 9110 §10.2.2), in normal form. Its octets are in `location` as Latin-1 characters.

    Raises ValueError where it is empty, not UTF-8, no http or https, or leads from https to http.
    """
    written = location.strip(_AROUND).encode("latin-1").decode("utf-8")
    if not written or _SCHEME_ALONE.match(written):
        raise ValueError("no address")
    target = normalise_url(urljoin(base, written))
    if base.startswith("https:") and not target.startswith("https:"):
        raise ValueError("from https to http")
    return target


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL in normal form, as `https://example.org:8443` (RFC 6454 §6.2)."""
    return url[: url.index("/", len("https://"))]


def without_login(text: str) -> str:
    """The text with user names and passwords taken out of the addresses in it."""
    return _USERINFO.sub("", text)


def credentials(url: str) -> str:
    """The Authorization value for user and password in a URL as the user wrote it (RFC 7617 §2), "" if it has none."""
    if "@" not in url:
        return ""
    user, separator, _ = urlsplit(url.strip(_AROUND)).netloc.rpartition("@")
    if not separator:
        return ""
    name, _, password = user.partition(":")
    return "Basic " + base64.b64encode(unquote_to_bytes(name) + b":" + unquote_to_bytes(password)).decode("ascii")


def goes_direct(url: str, no_proxy: str) -> bool:
    """Whether a URL in normal form is asked for without a proxy: on this machine itself, and where NO_PROXY names it
    (`*`, domains with all below them, each with a port or without, addresses, networks)."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    address = _address(host)
    if host == "localhost" or host.endswith(".localhost") or (address and address.is_loopback):
        return True
    return any(_names(entry, host, address, parts.port) for entry in no_proxy.lower().replace(",", " ").split())


def _names(entry: str, host: str, address: _Address | None, port: int | None) -> bool:
    if entry == "*" or (address and _in_network(address, entry.strip("[]"))):
        return True
    name, _, only_port = entry.partition(":")
    name = name.lstrip("*").strip(".")
    return only_port in ("", str(port)) and (host == name or host.endswith(f".{name}")) and bool(name)


def _in_network(address: _Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _encoded(found: re.Match[str]) -> str:
    text = found.group()
    if len(text) > 1:
        character = chr(int(text[1:], 16))
        return character if character in _UNRESERVED else text.upper()
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8"))


def without_dot_segments(path: str) -> str:
    """RFC 3986 §5.2.4, for an absolute path; "/" for none."""
    segments = path.split("/")[1:] or [""]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            kept[-1:] = []
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _host(authority: str) -> str:
    written = authority.rpartition("@")[2]
    if "\\" in authority:  # browsers take a backslash for a slash: then another host would be meant
        raise ValueError("a backslash")
    if written.startswith("["):
        address, _, rest = written[1:].partition("]")
        if rest and not rest.startswith(":"):
            raise ValueError("text behind the address")
        return f"[{ipaddress.IPv6Address(address).compressed}]"
    host = unquote(written.partition(":")[0])
    if not host.isascii():
        host = ".".join(_ascii_label(label) for label in _mapped(host).split("."))
    host = host.lower()
    if not _HOST.fullmatch(host):
        raise ValueError("not a host name")
    return host


def _mapped(host: str) -> str:
    """UTS #46 §4 (non-transitional) as far as names that exist need it: ß and ς stay, widths and cases are made one."""
    text = unicodedata.normalize("NFKC", host.translate(_IGNORED_IN_NAMES).translate(_DOTS))
    return unicodedata.normalize("NFC", "".join(character.lower() for character in text))


def _ascii_label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def absolute(base: str, reference: str | None) -> str:
    """Where a link leads (RFC 3986 §5); "" if not to a page of the web."""
    try:
        link = urljoin(base, (reference or "").strip())
    except ValueError:
        return ""
    return link if link.lower().startswith(("http://", "https://")) else ""


def is_same_site(one: str, other: str) -> bool:
    """Whether their hosts are one, but for `www.`, or one is below the other."""
    try:
        hosts = sorted(((urlsplit(url).hostname or "").removeprefix("www.") for url in (one, other)), key=len)
    except ValueError:
        return False
    return bool(hosts[0]) and (hosts[0] == hosts[1] or hosts[1].endswith(f".{hosts[0]}"))
