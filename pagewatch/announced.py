"""What a page announces of itself in its links and in the Link header (RFC 8288): feeds, a hub that pushes, APIs.

It promises absolute addresses of the web, each once, a few of each kind, and nothing that is not announced: no
guessing of addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pagewatch.element_text import base_of
from pagewatch.frozen import dataclass
from pagewatch.markup import Tree
from pagewatch.urls import absolute

MOST = 3  # of each kind
MOST_LINKS = 2_000  # of a page that are looked at
LONGEST = 500  # characters of an address
LONGEST_FIELD = 4_000  # characters of a Link field that are read

FEED, JSON_FEED, HUB, OEMBED, API, SITEMAP = "feed", "JSON feed", "push hub", "oEmbed", "API", "sitemap"
_KINDS = (FEED, JSON_FEED, SITEMAP, API, OEMBED, HUB)
_FEED_TYPE = re.compile(r"application/(?:rss|atom|rdf)\+xml|application/xml\+rss")
_JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json")
_WORDPRESS = "https://api.w.org/"
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+\s*(?:=\s*(?:\"(?:[^\"\\]|\\.)*\"|[^\s\",;]*))?)*)")
_PARAMETER = re.compile(r";\s*([\w!#$&+.^`|~*-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\",;]*))")


@dataclass(frozen=True)
class Announced:
    """One of the kinds above, its address, and what the page calls it ("" if it has no name)."""

    kind: str
    url: str
    title: str = ""


@dataclass(frozen=True)
class _Link:
    rel: frozenset[str]
    href: str
    media_type: str
    title: str


def announced(tree: Tree | None, url: str, header: Iterable[str] = ()) -> tuple[Announced, ...]:
    """What the page at `url` announces, in the order of the kinds; `header` are the values of its Link fields."""
    base = url if tree is None else base_of(tree, url)
    found: dict[tuple[str, str], Announced] = {}
    for link, start in (*((link, url) for link in _of_header(header)), *((link, base) for link in _of_page(tree))):
        kind, address = _kind(link), absolute(start, link.href)
        if kind and address and len(address) <= LONGEST and address != url:
            found.setdefault((kind, address), Announced(kind, address, " ".join(link.title.split())[:60]))
    by_kind = ([one for one in found.values() if one.kind == kind][:MOST] for kind in _KINDS)
    return tuple(one for some in by_kind for one in some)


def _of_page(tree: Tree | None) -> Iterator[_Link]:
    links = [*tree.root.iter("link")][:MOST_LINKS] if tree is not None else []
    for element in links:
        yield _link(*(element.get(name) or "" for name in ("rel", "href", "type", "title")))


def _of_header(values: Iterable[str]) -> Iterator[_Link]:
    """RFC 8288 §3: `<address>; rel="…"; type="…"`, several to a line."""
    for value in values:
        for href, rest in _LINK.findall(value[:LONGEST_FIELD]):
            given = {name.lower(): quoted or plain for name, quoted, plain in reversed(_PARAMETER.findall(rest))}
            yield _link(given.get("rel", ""), href, given.get("type", ""), given.get("title", ""))


def _link(rel: str, href: str, media_type: str, title: str) -> _Link:
    return _Link(frozenset(rel.lower().split()), href, media_type.partition(";")[0].strip().lower(), title)


def _kind(link: _Link) -> str:
    """ "" for all other links."""
    if "hub" in link.rel:  # WebSub §4
        return HUB
    if _WORDPRESS in link.rel:
        return API
    if "sitemap" in link.rel:
        return SITEMAP
    if "alternate" not in link.rel:
        return ""
    if _FEED_TYPE.fullmatch(link.media_type):
        return FEED
    if link.media_type == "application/feed+json":
        return JSON_FEED
    if link.media_type in ("application/json+oembed", "text/xml+oembed", "application/xml+oembed"):
        return OEMBED
    return API if _JSON_TYPE.fullmatch(link.media_type) else ""
