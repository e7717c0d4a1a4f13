"""A feed, RSS 0.9x to 2.0, RDF, Atom or JSON Feed: its entries as items.

Malformed XML is read as far as it goes, but not the entry in which a document breaks off: half a text would be a false
change. Entities that a document declares are not read, and nothing is ever fetched or opened. What is no feed is a
FetchFailed, which says of a page the feeds that it announces.
"""

from __future__ import annotations

import re
import sys
from io import BytesIO
from typing import Any

import feedparser  # type: ignore[import-untyped]

from pagewatch import markup
from pagewatch.announced import API, FEED, JSON_FEED, announced
from pagewatch.answers import Extract, FetchFailed
from pagewatch.fingerprint import normalise
from pagewatch.markup import MOST_ATTRIBUTES
from pagewatch.readers import jsonfeed
from pagewatch.readers.entries import Parts, address, items_of, read_either, read_html, read_text
from pagewatch.reading import Body, Content

MOST_ANNOUNCED = 3  # feeds of a page that are named
MOST_TAGS = 400_000  # of a document, start and end tags
MOST_TAGS_OF_ENTRY = 20_000  # feedparser compares each category of an entry with all others
MOST_BASES = 100  # xml:base in one entry; nested ones grow
LONGEST_AUTHOR = 5_000  # characters: feedparser looks for e-mail addresses there, in quadratic time

_ROOTS = frozenset(("rss", "rdf", "feed", "channel"))
_BEFORE_ROOT = re.compile(r"(?is)\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^\[>]|\[.*?\]\s*(?=>))*>")
_ROOT = re.compile(r"<((?:[\w.-]+:)?([\w.-]+))")
_ENTRY = re.compile(r"<((?:[\w.-]+:)?(?:item|entry))(?=[\s/>])", re.IGNORECASE)
_END_OF_ENTRY = re.compile(r"</(?:[\w.-]+:)?(?:item|entry)\s*>", re.IGNORECASE)
_LONG_AUTHOR = re.compile(
    rf"(?i)<(?:[\w.-]+:)?(?:author|creator|contributor|managingeditor|webmaster|publisher)\b[^<>]*>"
    rf"\s*(?:<!\[CDATA\[)?[^<]{{{LONGEST_AUTHOR}}}"
)
_SKIPPED = {"<![CDATA[": "]]>", "<!--": "-->"}
_BARE_ID = re.compile(  # which is no URL, and which nobody calls one
    r"(<(?:[\w.-]+:)?(?:guid|id)(?!\s[^<>]*ispermalink)(?:\s[^<>]*[^<>/])?)>"
    r"(?=\s*(?:<!\[CDATA\[\s*)?(?!\s|<|https?:))",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"&#([xX][\dA-Fa-f]+|\d+)")
_XHTML = "application/xhtml+xml"
_FEEDS = (FEED, JSON_FEED, API)  # some call a JSON Feed plain JSON
_NO_FEED = "/wp-json/"  # a page's own data, which is announced with the type of a JSON Feed


def read(body: Body) -> Content | FetchFailed:
    text = body.text.replace("\0", "").lstrip("\ufeff \t\r\n")
    is_json = text[:1] in ("{", "[") or ("json" in body.media_type and text[:1] != "<")
    entries = jsonfeed.entries(text, body.url) if is_json else _entries(text, body)
    if isinstance(entries, FetchFailed):
        return entries
    items, remarks = items_of(entries, body.watch, body.known.items if body.known else None)
    return Content(Extract("", items=items), body.text, remarks=remarks)


def _entries(text: str, body: Body) -> list[Parts] | FetchFailed:
    """The entries of an XML feed."""
    if markup.declares_entities(text):
        return FetchFailed("xml-forbidden", "the document declares entities, and those are not read")
    text = _from_root(text)
    found = _ROOT.search(text)
    root = found[2].lower() if found else ""
    if found is None or root == "html":
        return _no_feed(body, root)
    if _is_flood(text):
        return FetchFailed("too-large", "the feed, or one entry of it, has more elements than can be read in time")
    feed = _parsed(_without_half(text, found[1]), body.url)
    if isinstance(feed, FetchFailed):
        return feed
    version = feed.get("version") or ""
    if root not in _ROOTS and not (version and feed.entries):
        return _no_feed(body, root)
    return [_entry(entry, version.startswith("atom"), body.url) for entry in feed.entries]


# ------------------------------------------------------------------------------------------------------------ XML


def _from_root(text: str) -> str:
    """The document without its declarations: it is text already, and no DTD is wanted."""
    at = 0
    while found := _BEFORE_ROOT.match(text, at):
        at = found.end()
    return text[at:]


def _is_flood(text: str) -> bool:
    """Whether feedparser would take minutes for it."""
    first, *others = text.split("<![CDATA[")
    outside = "".join((first, *(other.partition("]]>")[2] for other in others)))
    if outside.count("<") > MOST_TAGS or _LONG_AUTHOR.search(text):
        return True
    if any(tag.partition(">")[0].count("=") > MOST_ATTRIBUTES for tag in outside.split("<")):
        return True
    runs = _END_OF_ENTRY.split(outside)
    return any(run.count("<") > MOST_TAGS_OF_ENTRY or run.count("base=") > MOST_BASES for run in runs)


def _without_half(text: str, root: str) -> str:
    """The document without the entry in which it breaks off; one that ends its root element does not."""
    first = _ENTRY.search(text)
    if first is None:
        return text
    begun = -1
    token = re.compile(rf"<!\[CDATA\[|<!--|<(/?){re.escape(first[1])}(?=[\s/>])[^<>]*", re.IGNORECASE)
    at = first.start()
    while found := token.search(text, at):
        at = found.end()
        if found[0] in _SKIPPED:
            end = text.find(_SKIPPED[found[0]], at)
            at = len(text) if end < 0 else end
        elif not found[0].endswith("/"):
            begun = -1 if found[1] else found.start()
    return text if begun < 0 or text.find(f"</{root}", begun) >= 0 else text[:begun]


def _parsed(text: str, url: str) -> Any:
    """What feedparser makes of it. It gets a stream: a text it might take for the name of a file, or for a URL."""
    headers = {"content-type": "application/xml; charset=utf-8", "content-location": url}
    text = _BARE_ID.sub(r"\1 isPermaLink='false'>", text)  # or it would be taken for a relative link
    data = BytesIO(_NUMBER.sub(_character, text).encode("utf-8", "replace"))
    try:
        return feedparser.parse(data, response_headers=headers, resolve_relative_uris=False, sanitize_html=False)
    except (LookupError, OverflowError, TypeError, ValueError):  # its answers to tags that end what has not begun
        return FetchFailed("not-xml", "the document is no well-formed XML, and too broken to be read")


def _character(reference: re.Match[str]) -> str:
    """A reference that stands for no character, such as half of one in UTF-16, is a replacement character."""
    digits = reference[1].lstrip("xX0") or "0"
    code = int(digits, 16 if reference[1][0] in "xX" else 10) if len(digits) < 8 else -1
    return reference[0] if 0 <= code <= sys.maxunicode and not 0xD800 <= code < 0xE000 else "&#xfffd"


# -------------------------------------------------------------------------------------------------------- entries


def _entry(found: Any, atom: bool, base: str) -> Parts:
    """The parts of one of feedparser's entries: a dictionary that gives other members for missing ones unless it is
    asked as a plain one."""
    entry = dict(found.items())
    links = [dict(link.items()) for link in entry.get("links", ())]
    contents = [part for part in entry.get("content", ()) if part.get("value")]
    enclosures = (address(base, link.get("href", "")) for link in links if link.get("rel") == "enclosure")
    return {
        "title": _text(entry.get("title"), entry.get("title_detail"), atom, titled=True),
        "link": address(base, _link(entry, links, atom)),
        "summary": _text(entry.get("summary"), entry.get("summary_detail") or next(iter(contents), None), atom),
        "content": "\n".join(_text(part["value"], part, atom) for part in contents),
        "author": read_text(entry.get("author") or ""),
        "id": read_text(entry.get("id") or ""),
        "published": _time(entry, "published"),
        "updated": _time(entry, "updated"),
        "tags": ", ".join(sorted(filter(None, map(_tag, entry.get("tags", ()))))),
        "enclosures": "\n".join(sorted(filter(None, enclosures))),
    }


def _text(value: str | None, detail: Any, atom: bool, titled: bool = False) -> str:
    """A text construct. Atom says what it is (RFC 4287 §3.1); in RSS it may be anything."""
    kind = detail.get("type") if detail else ""
    if kind == _XHTML or (atom and kind == "text/html"):
        return read_html(value or "")
    return read_text(value or "") if atom else read_either(value or "", titled)


def _link(entry: dict[str, Any], links: list[dict[str, str]], atom: bool) -> str:
    """The page of an entry; an id of RSS may be one, that of Atom is none."""
    link: str = entry.get("link") or ""
    if link and not (atom and link == entry.get("id")):
        return link
    return next((link["href"] for link in links if link.get("rel") == "alternate" and link.get("href")), "")


def _time(entry: dict[str, Any], name: str) -> str:
    """A date in UTC, or as it is written where it is no date."""
    parsed = entry.get(f"{name}_parsed")
    if parsed is None:
        return normalise(entry.get(name) or "")
    return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*parsed[:6])


def _tag(tag: Any) -> str:
    return read_text(tag.get("label") or tag.get("term") or "")


# -------------------------------------------------------------------------------------------------------- no feed


def _no_feed(body: Body, root: str) -> FetchFailed:
    """Why it is none, and what to write instead."""
    if feeds := _announced(body):
        return FetchFailed("not-xml", f"this is a page, not a feed; it announces {', '.join(feeds)}")
    if root == "html" or "html" in body.media_type:
        return FetchFailed("not-xml", "this is a page, not a feed, and it announces none")
    if root in ("urlset", "sitemapindex"):
        return FetchFailed("not-xml", "this is a sitemap, not a feed; write source: sitemap")
    return FetchFailed("not-xml", f"the answer is no feed: it {f'begins with <{root[:40]}>' if root else 'is no XML'}")


def _announced(body: Body) -> tuple[str, ...]:
    tree = markup.parse(body.text)
    links = () if isinstance(tree, FetchFailed) else announced(tree, body.url)
    return tuple(link.url for link in links if link.kind in _FEEDS and _NO_FEED not in link.url)[:MOST_ANNOUNCED]
