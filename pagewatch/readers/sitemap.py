"""Sitemaps (sitemaps.org 0.9): the addresses of a site's pages, from one document or from all that an index names.

It promises that no page seems to be removed because something could not be read: a document that is cut off and a
sitemap of an index that fails are failures of the whole. What is read is bounded, in documents, in bytes and in depth.
expat reads the XML: strictly and without a tree, which would take ten times the memory of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin
from xml.parsers import expat

from pagewatch import charset
from pagewatch.answers import (
    Answer,
    Ask,
    Deferred,
    Disallowed,
    Extract,
    FetchFailed,
    Item,
    Missing,
    NoMatch,
    Representation,
)
from pagewatch.content_coding import unpack_undeclared
from pagewatch.failures import Broken
from pagewatch.frozen import dataclass, field, replace
from pagewatch.lastmod import latest
from pagewatch.model import Watch
from pagewatch.reading import Body, Content
from pagewatch.urls import is_same_site, normalise_url

LARGEST = 20_000_000  # bytes of one sitemap, unpacked
MOST_SITEMAPS = 100  # that an index may name
MOST_FOR_HINT = 10  # of an index that are read for the lastmod of a page
MOST_ADDRESSES = 250_000
DEEPEST = 2  # an index in an index
LONGEST_ADDRESS = 2_048  # characters; the protocol's limit

_PIECE = 1_000_000  # characters that are parsed at a time
_ADDRESS = re.compile(r"(?i)https?://\S+")
_HTML = re.compile(r"(?i)<(!doctype\s+html|html)\b")
_FEEDS = ("rss", "feed", "RDF")
_BREAKS = dict.fromkeys(map(ord, "\t\r\n"))  # which an address loses where it is wrapped (WHATWG URL §4.4)
_A_SITEMAP = "a sitemap is XML with <urlset> or <sitemapindex>, or a list of addresses, one a line"


def read(body: Body) -> Content | FetchFailed:
    """Each address of a page is an item, once, in document order. `parts` is the number of further sitemaps read.

    Kinds of failure: not-xml, xml-forbidden, empty-body, too-large, partial.
    """
    way = _Way(body.ask, body.url, MOST_SITEMAPS, whole=True, encoding=body.watch.encoding)
    pages: dict[str, None] = {}
    try:
        for sitemap in way.sitemaps(_parse(body.text), body.url):
            pages.update((page, None) for location in sitemap.locations if (page := _page(location)))
            if len(pages) > MOST_ADDRESSES or sum(map(len, pages)) > LARGEST:
                return FetchFailed("too-large", f"the sitemap has more than {MOST_ADDRESSES:,} addresses, or 20 MB")
    except Broken as error:
        return error.failure
    if (way.foreign or way.odd) and not way.read:
        return FetchFailed("partial", "none of the sitemaps that the index names is of this site: watch those you need")
    return Content(_extract(pages, way.read, body.watch), body.text, way.remarks)


def _extract(pages: Iterable[str], parts: int, watch: Watch) -> Extract | NoMatch:
    """A sitemap without addresses is a mishap, unless the user says otherwise: not all pages of a site are gone."""
    items = tuple(map(Item, pages))
    if items or watch.if_missing == "ok":
        return Extract("", items=items, matched=int(bool(items)), parts=parts)
    return NoMatch("selector", "the sitemap has no addresses")


def lastmods(url: str, ask: Ask, wanted: frozenset[str]) -> dict[str, str] | FetchFailed:
    """The lastmod, as written, of each wanted address of a page for which the sitemap at `url` gives one.

    Of an index no more is read than it takes to find all, and `MOST_FOR_HINT` sitemaps at most. Of several for one
    page in one sitemap the latest counts. Addresses are compared in normal form. Kinds of failure as in `read`.
    """
    names = {page: normalise_url(page) for page in wanted}
    missing = set(names.values())
    way = _Way(ask, url, MOST_FOR_HINT)
    found: dict[str, str] = {}
    try:
        answer = _representation(ask(url))
        for sitemap in way.sitemaps(_parse(_text(answer, "")), answer.url):
            for location, lastmod in zip(sitemap.locations, sitemap.lastmods, strict=True):
                page = _web_address(location)
                if page in missing and (page not in found or _is_later(lastmod, found[page])):
                    found[page] = lastmod
            missing -= found.keys()
            if not missing:
                break
    except Broken as error:
        return error.failure
    return {page: found[name] for page, name in names.items() if found.get(name)}


def _is_later(lastmod: str, known: str) -> bool:
    moment, before = latest(lastmod), latest(known)
    return before is not None and (moment is None or moment > before)


# --------------------------------------------------------------------------------------------------- one document


@dataclass
class _Sitemap:
    """The addresses of pages, or of sitemaps if it is an index, as written, and a lastmod ("" if none) for each."""

    is_index: bool = False
    locations: list[str] = field(default_factory=list)
    lastmods: list[str] = field(default_factory=list)


def _parse(text: str) -> _Sitemap:
    """Raises Broken for what is no sitemap, or none that is whole."""
    begin = len(text) - len(text.lstrip("\ufeff \t\r\n\f"))
    if begin == len(text):
        raise Broken(FetchFailed("empty-body", "the body is empty"))
    if text[begin] != "<":
        return _of_lines(text)
    if _HTML.match(text, begin):
        raise _no_sitemap("an HTML page")
    parser = _Parser()
    try:
        for at in range(begin, len(text), _PIECE):
            parser.expat.Parse(text[at : at + _PIECE].encode("utf-8", "replace"), False)
        parser.expat.Parse(b"", True)
    except expat.ExpatError as error:
        line = text.count("\n", 0, begin) + error.lineno
        raise Broken(FetchFailed("not-xml", f"the sitemap is cut off or no well-formed XML, line {line}")) from None
    addresses = parser.sitemap.locations if parser.sitemap.is_index else map(_page, parser.sitemap.locations)
    if parser.has_entries and not any(addresses):
        raise _no_sitemap("a sitemap whose entries have no web address")
    return parser.sitemap


def _of_lines(text: str) -> _Sitemap:
    lines = [line.strip("\ufeff \t") for line in text.splitlines()]
    for number, line in enumerate(lines, 1):
        if line and not _ADDRESS.fullmatch(line):
            raise _no_sitemap(f"neither XML nor a list of addresses (line {number})")
    locations = [line for line in lines if line]
    return _Sitemap(locations=locations, lastmods=[""] * len(locations))


def _no_sitemap(what: str) -> Broken:
    return Broken(FetchFailed("not-xml", f"the document is {what}; {_A_SITEMAP}"))


class _Parser:
    """Fills `sitemap` while expat reads. Names count without their prefix, but <loc> and <lastmod> must have that of
    their <url>: an <image:loc> is no page. The bytes that expat gets are UTF-8, whatever the declaration says."""

    def __init__(self) -> None:
        self.sitemap = _Sitemap()
        self.depth = 0
        self.has_entries = False  # or anything else in their place
        self.prefix: str | None = None  # of the <url> or <sitemap> that is open, with its colon
        self.text: list[str] | None = None  # of the <loc> or <lastmod> that is open
        self.lastmod = ""
        self.expat = expat.ParserCreate("utf-8")
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.EntityDeclHandler = _refuse_entity
        self.expat.SkippedEntityHandler = _refuse_entity

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 3 and self.prefix is not None and name in (f"{self.prefix}loc", f"{self.prefix}lastmod"):
            self.text = []
            self.expat.CharacterDataHandler = self.text.append
        elif self.depth == 2:
            self.has_entries = True
            local = name.rpartition(":")[2]
            is_entry = local == ("sitemap" if self.sitemap.is_index else "url")
            self.prefix = name.removesuffix(local) if is_entry else None
        elif self.depth == 1:
            self._root(name.rpartition(":")[2])

    def _root(self, name: str) -> None:
        if name not in ("urlset", "sitemapindex"):
            feed = "a feed, which `source: feed` reads" if name in _FEEDS else "XML of another kind"
            raise _no_sitemap("an HTML page" if name.lower() == "html" else feed)
        self.sitemap.is_index = name == "sitemapindex"

    def _end(self, name: str) -> None:
        if self.depth == 3 and self.text is not None:
            text = "".join(self.text).strip()
            if name.endswith("loc"):
                self.sitemap.locations.append(text)
            else:
                self.lastmod = text
            self.text = None
            self.expat.CharacterDataHandler = None
        elif self.depth == 2:
            missing = len(self.sitemap.locations) - len(self.sitemap.lastmods)
            self.sitemap.lastmods += [self.lastmod] * missing
            self.lastmod = ""
        self.depth -= 1


def _refuse_entity(*_: object) -> None:
    raise Broken(FetchFailed("xml-forbidden", "the document declares entities, and those are not read"))


# ------------------------------------------------------------------------------------------------------ addresses


def _page(location: str) -> str:
    """The address of a page as written, without its fragment, or "" if it is none."""
    page = location.partition("#")[0].translate(_BREAKS).rstrip()
    return page if len(page) <= LONGEST_ADDRESS and _ADDRESS.match(page) else ""


def _web_address(location: str, base: str = "") -> str:
    """An address in normal form, or "" if it is none."""
    try:
        url = normalise_url(urljoin(base, location) if base else location)
    except ValueError:
        return ""
    return url if len(url) <= LONGEST_ADDRESS else ""


# ---------------------------------------------------------------------------------------------------- of an index


@dataclass
class _Way:
    """The way through an index from `url`, each sitemap once. If it is not the `whole` that is wanted, it ends after
    `most` sitemaps; else, naming more is a failure."""

    ask: Ask
    url: str
    most: int
    whole: bool = False
    encoding: str = ""
    read: int = 0
    named: int = 0
    foreign: int = 0
    odd: int = 0
    seen: set[str] = field(default_factory=set)

    @property
    def remarks(self) -> tuple[str, ...]:
        counts = ((self.foreign, "of another site"), (self.odd, "without a web address"))
        return tuple(
            f"{count:,} sitemaps {what} are not read" if count > 1 else f"1 sitemap {what} is not read"
            for count, what in counts
            if count
        )

    def sitemaps(self, sitemap: _Sitemap, url: str, depth: int = 0) -> Iterator[_Sitemap]:
        """The sitemaps with pages, in document order. Raises Broken."""
        if not sitemap.is_index:
            yield sitemap
            return
        for child in self._children(sitemap, url):
            if self.read == self.most:
                return
            yield from self.sitemaps(*self._get(child, depth + 1), depth + 1)

    def _children(self, index: _Sitemap, url: str) -> list[str]:
        self.seen.add(_web_address(url))
        children = []
        for location in index.locations:
            child = _web_address(location, url)
            if not child:
                self.odd += 1
            elif child not in self.seen:
                self.seen.add(child)
                children.append(child)
        own = [child for child in children if is_same_site(child, self.url)]
        self.foreign += len(children) - len(own)
        self.named += len(own)
        if self.whole and self.named > self.most:
            names = f"the index names {self.named:,} sitemaps, at most {self.most} are read"
            raise Broken(FetchFailed("partial", f"{names}: watch those you need one by one"))
        return own

    def _get(self, url: str, depth: int) -> tuple[_Sitemap, str]:
        """The sitemap at `url`, and the URL that it really came from."""
        self.read += 1
        try:
            answer = _representation(self.ask(url))
            sitemap = _parse(_text(answer, self.encoding))
            if sitemap.is_index and depth == DEEPEST:
                raise Broken(FetchFailed("partial", "it is an index in an index of an index"))
        except Broken as error:
            failed = error.failure
            reason = f"sitemap {self.read} of {self.named} could not be read: {url}: {failed.reason}"
            partial = replace(failed, kind="partial", reason=reason, answered=True, url=failed.url or url)
            raise Broken(partial) from None
        return sitemap, answer.url


def _representation(answer: Answer) -> Representation:
    match answer:
        case Representation(challenge=""):
            return answer
        case FetchFailed():
            failed = answer
        case Missing():
            failed = FetchFailed(f"http-{answer.status}", f"there is no such page ({answer.status})")
        case Disallowed():
            failed = FetchFailed("disallowed", f"robots.txt forbids it (line {answer.line})")
        case Deferred():
            until = f" until {answer.until:%Y-%m-%d %H:%M} UTC" if answer.until else ""
            failed = FetchFailed("deferred", answer.reason + until)
        case Representation():
            failed = FetchFailed("challenge", "the site is checking its visitor and shows something else")
        case _:
            failed = FetchFailed("unexpected-304", "the server answers that nothing has changed, without being asked")
    raise Broken(failed)


def _text(answer: Representation, encoding: str) -> str:
    body = unpack_undeclared(answer.body, LARGEST)
    if isinstance(body, FetchFailed):
        raise Broken(body)
    return charset.decode(body, answer.charset, encoding, answer.media_type)[0]
