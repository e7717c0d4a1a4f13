"""RFC 9309: which rule of a robots.txt decides for a URL.

Promises never to raise and to take time in proportion to the file, whatever a server sends: rules are octets, never
regular expressions, and groups that share rules share one list. The URL judged is the URL that is sent (dot segments
removed, no fragment, no empty query), and both sides are brought to one percent-encoding before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pagewatch.answers import Verdict
from pagewatch.frozen import dataclass, field
from pagewatch.urls import normalise_url, origin_of, without_dot_segments

LIMIT = 512 * 1024  # RFC 9309 §2.5: at least 500 KiB
SHOWN = 200  # octets of a rule or token that are quoted in a verdict

_PRODUCT_END = re.compile(rb"[ \t/]")
_SECONDS = re.compile(rb"[0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9}")
_ESCAPE_OR_NOT_ASCII = re.compile(rb"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_UNRESERVED = re.compile(rb"[A-Za-z0-9\-._~]")
_TO_ESCAPE = re.compile(rb"%(?![0-9A-F]{2})|[^A-Za-z0-9\-._~/?*%]")


@dataclass(frozen=True)
class Rule:
    """An allow or disallow line: the `pieces` between its stars, and those `in_query` if it has a query; `octets` is
    how specific it is (§2.2.2), `written` the line for people."""

    allow: bool
    pieces: tuple[bytes, ...]
    in_query: tuple[bytes, ...]
    anchored: bool
    octets: int
    line: int
    written: str


@dataclass(frozen=True)
class Group:
    """All that is said to one product token: the groups that name it, merged (§2.2.1)."""

    token: str
    rules: tuple[list[Rule], ...]
    crawl_delay: float | None


@dataclass(frozen=True)
class Robots:
    """A robots.txt: its sections by product token in lower case, and the sitemaps that it names. Few of its groups are
    ever asked for: `made` has those that were."""

    sections: Mapping[str, list[_Section]]
    sitemaps: tuple[str, ...] = ()
    made: dict[str, Group] = field(default_factory=dict, repr=False, compare=False)

    def verdict(self, product_token: str, url: str) -> Verdict:
        """May this product ask for `url`? The longest matching rule decides; of two as long, allow (§2.2.2)."""
        group = self._group(product_token.lower()) or self._group("*")
        if group is None:
            return Verdict(True)
        rule = _most_specific(group, _target(url))
        if rule is None:
            return Verdict(True, group=group.token, crawl_delay=group.crawl_delay)
        return Verdict(rule.allow, rule.written, rule.line, group.token, group.crawl_delay)

    def _group(self, token: str) -> Group | None:
        if token in self.sections and token not in self.made:
            self.made[token] = _merged(token, self.sections[token])
        return self.made.get(token)


def parse(body: bytes) -> Robots:
    """Read the octets of a robots.txt; what is not understood is skipped (§2.3.1.5)."""
    reader = _Reader()
    text = clip(body).removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for number, line in enumerate(text.split(b"\n"), 1):
        name, colon, value = line.partition(b"#")[0].partition(b":")
        if colon:
            reader.record(number, name.strip(b" \t").lower(), value.strip(b" \t"))
    return Robots(reader.named, tuple(reader.sitemaps))


def clip(body: bytes) -> bytes:
    """What is read of a robots.txt: whole lines within LIMIT octets. Half a rule would be another rule.

    A body of exactly LIMIT octets may have been cut off there already.
    """
    if len(body) < LIMIT:
        return body
    head = body[:LIMIT]
    return head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]


def robots_url(url: str) -> str:
    """Where the rules for `url` are (§2.3)."""
    return f"{origin(url)}/robots.txt"


def origin(url: str) -> str:
    """scheme://host[:port] of a URL in whatever form; ValueError where it is none."""
    return origin_of(normalise_url(url))


@dataclass
class _Section:
    """User-agent lines that stand together, as written by token, and what follows them: whether a rule allows, its
    value, its line."""

    rules: list[tuple[bool, bytes, int]]
    tokens: dict[str, str] = field(default_factory=dict)
    delay: float | None = None


class _Reader:
    """Takes one record after the other; `named` has the sections in which a product token is named.

    A user-agent line begins a new group only after a rule; other records do not interfere (§2.2.4). Crawl-delay is no
    rule either: agents before and after it share the rules that follow, but it speaks only to those before it.
    """

    def __init__(self) -> None:
        self.named: dict[str, list[_Section]] = {}
        self.sitemaps: list[str] = []
        self._section = _Section([])
        self._last = "rule"

    def record(self, line: int, name: bytes, value: bytes) -> None:
        if name == b"user-agent":
            self._user_agent(_text(_PRODUCT_END.split(value, 1)[0]))
        elif name in (b"allow", b"disallow"):
            self._last = "rule"
            if value:
                self._section.rules.append((name == b"allow", value, line))
        elif name == b"crawl-delay":
            self._crawl_delay(value)
        elif name == b"sitemap" and value:
            self.sitemaps.append(value.decode(errors="replace"))

    def _user_agent(self, written: str) -> None:
        if self._last != "agent":
            self._section = _Section([] if self._last == "rule" else self._section.rules)
            self._last = "agent"
        token = written.lower()
        if token:
            self._section.tokens.setdefault(token, written)
            self.named.setdefault(token, []).append(self._section)

    def _crawl_delay(self, value: bytes) -> None:
        if self._last == "agent":
            self._last = "delay"
        if _SECONDS.fullmatch(value):
            self._section.delay = max(float(value), self._section.delay or 0.0)


def _rule(allow: bool, value: bytes, line: int) -> Rule:
    path = _normalised(value)
    pattern = _escaped(path.removesuffix(b"$"))
    written = f"{'Allow' if allow else 'Disallow'}: {_text(value)}"
    in_query = tuple(_open_query(pattern).split(b"*")) if b"?" in pattern else ()
    return Rule(allow, tuple(pattern.split(b"*")), in_query, path.endswith(b"$"), len(path), line, written)


def _text(octets: bytes) -> str:
    return octets[:SHOWN].decode(errors="replace")


def _merged(token: str, sections: list[_Section]) -> Group:
    written = {id(section.rules): section.rules for section in sections}  # each once: one may come often, or be shared
    rules = tuple([_rule(*rule) for rule in section] for section in written.values())
    delays = [section.delay for section in sections if section.delay is not None]
    return Group(sections[0].tokens[token], rules, max(delays, default=None))


def _most_specific(group: Group, target: bytes) -> Rule | None:
    best: Rule | None = None
    if target == b"/robots.txt":  # §2.2.2: implicitly allowed
        return best
    for rules in group.rules:
        for rule in rules:
            better = best is None or (rule.octets, rule.allow) > (best.octets, best.allow)
            if better and _matches(rule, target):
                best = rule
    return best


def _matches(rule: Rule, target: bytes) -> bool:
    """§2.2.2 has `?u=https://h` and `?u=https%3A%2F%2Fh` as the same; in a path an escaped slash is none."""
    if _fits(rule.pieces, rule.anchored, target):
        return True
    return bool(rule.in_query) and _fits(rule.in_query, rule.anchored, _open_query(target))


def _open_query(target: bytes) -> bytes:
    path, mark, query = target.partition(b"?")
    return path + mark + query.replace(b"%2F", b"/").replace(b"%3F", b"?")


def _fits(pieces: tuple[bytes, ...], anchored: bool, target: bytes) -> bool:
    """§2.2.3. Each piece between stars is taken where it first occurs; no later place can do better, none is tried."""
    if not target.startswith(pieces[0]):
        return False
    if len(pieces) == 1:
        return not anchored or target == pieces[0]
    at = len(pieces[0])
    for piece in pieces[1:-1]:
        found = target.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return target.endswith(pieces[-1], at) if anchored else target.find(pieces[-1], at) >= 0


def _target(url: str) -> bytes:
    """The request target of `url`, in the encoding that rules are compared in. Any text has one: nothing is raised."""
    path, query = _path_and_query(url)
    sent = without_dot_segments("/" + path.removeprefix("/")) + (f"?{query}" if query else "")
    return _escaped(_normalised(sent.encode(errors="surrogatepass"))).replace(b"*", b"%2A")


def _path_and_query(url: str) -> tuple[str, str]:
    """A backslash ends the authority too, as it does for those who send the request."""
    hierarchical, _, query = url.strip().partition("#")[0].partition("?")
    _, slashes, rest = hierarchical.partition("://")
    authority = re.split(r"[/\\]", rest, maxsplit=1)[0]
    return rest[len(authority) :] if slashes else hierarchical, query


def _normalised(octets: bytes) -> bytes:
    """§2.2.2: escaped unreserved characters are decoded, octets outside ASCII are escaped; reserved ones as written."""
    return _ESCAPE_OR_NOT_ASCII.sub(_one_way, octets)


def _one_way(found: re.Match[bytes]) -> bytes:
    octet = found[0] if len(found[0]) == 1 else bytes.fromhex(found[0][1:].decode())
    return octet if _UNRESERVED.match(octet) else b"%%%02X" % octet[0]


def _escaped(octets: bytes) -> bytes:
    """Escape all but unreserved characters and those with a meaning to us (`/ ? *`): `%24` and a literal `$` agree."""
    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], octets)
