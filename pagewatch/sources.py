"""An answer -> what was seen in it: the one entry (`read`) to all kinds of content.

It promises that nothing is taken for content that is not: no picture, no empty body, no login, consent or challenge
page, no page that lacks what the user expects, no text without a number where one is wanted; each is its own kind of
NoMatch or FetchFailed. A body that is byte for byte the baseline's is not parsed again. Another kind of source is one
more module in `readers`, which is imported when the first of its kind is met.
"""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from typing import cast

from pagewatch import amounts, charset
from pagewatch.answers import (
    Amount,
    Ask,
    Extract,
    FetchFailed,
    NoMatch,
    Observation,
    Representation,
)
from pagewatch.content_coding import unpack_undeclared
from pagewatch.doubts import CHALLENGED, doubt
from pagewatch.fingerprint import body_digest, collapse, fingerprint, recipe
from pagewatch.frozen import dataclass, replace
from pagewatch.http_headers import is_xml
from pagewatch.model import Baseline, Candidate, Watch
from pagewatch.reading import Body, Reader

__all__ = ["Reading", "describe", "read"]

LARGEST_BODY = 20_000_000  # bytes, unpacked
LONGEST_SHOWN = 60  # characters of a text that has no number

_TEXT_TYPE = re.compile(
    r"(?!image/|audio/|video/|font/|model/|application/).*|application/.*(xml|json|html|script|yaml|toml|csv|rss|atom).*"
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/gzip", "application/x-gzip"})
_SIGNATURES = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"RIFF", b"\x7fELF", b"MZ\x90")
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_FEED_TYPE = re.compile(r"application/(rss|atom|rdf)\+xml|application/feed\+json")
_ROOT = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*>\s*)*<(?:[\w-]+:)?([\w-]+)", re.DOTALL)
_ROOTS = {"rss": "feed", "feed": "feed", "RDF": "feed", "urlset": "sitemap", "sitemapindex": "sitemap"}


@dataclass(frozen=True)
class Reading:
    """How a body is read: as which source, in which encoding (a WHATWG name), and its text."""

    source: str
    encoding: str
    text: str


def read(
    watch: Watch,
    answer: Representation,
    ask: Ask,
    baseline: Baseline | None = None,
    candidate: Candidate | None = None,
) -> Observation | NoMatch | FetchFailed:
    """What the answer shows of the watched part. The observation keeps the answer without its body. `ask` gets what
    else belongs to the source, such as the sitemaps of an index; `candidate` is what waits to be confirmed."""
    answer = replace(answer, digest=answer.digest or hashlib.sha256(answer.body).hexdigest())
    answer = replace(answer, length=len(answer.body))
    baseline = baseline if baseline and baseline.recipe == recipe(watch) else None
    if baseline and baseline.extract and _is_known(watch, answer, baseline):
        return Observation(baseline.extract, baseline.fingerprint, replace(answer, body=b"", source=baseline.source))
    if baseline and candidate and candidate.extract:
        baseline = replace(baseline, extract=candidate.extract)
    outcome = _seen(watch, answer, ask, baseline)
    return replace(outcome, conditional=answer.conditional) if isinstance(outcome, NoMatch) else outcome


def describe(watch: Watch, answer: Representation, pinned: str = "") -> Reading | FetchFailed:
    """How the body is read, or why it is no text. `pinned` is how the baseline was. Kinds: media-type,
    content-decoding, too-large, empty-body."""
    if (wrong := _in_place(watch, answer, pinned)) is not None:
        return wrong
    body: bytes | FetchFailed = answer.body
    if answer.media_type in _UNSAID:
        body = unpack_undeclared(answer.body, LARGEST_BODY)
    if isinstance(body, FetchFailed):
        return body
    if not _is_text(watch, answer, body):
        return FetchFailed("media-type", f"the server sends {answer.media_type or 'binary data'} where text is wanted")
    text, encoding = charset.decode(body, answer.charset, watch.encoding, answer.media_type)
    if not text.strip("\ufeff \t\r\n\f"):
        return FetchFailed("empty-body", "the body is empty")
    return Reading(_source(watch, answer.media_type, text, pinned), encoding, text)


def _is_known(watch: Watch, answer: Representation, baseline: Baseline) -> bool:
    """Whether these are the baseline's very bytes. `expect` and `reject` may have been edited since: they are asked.
    An index says nothing of what its parts have become."""
    if watch.expect or watch.reject or answer.challenge or (baseline.extract and baseline.extract.parts):
        return False
    return baseline.body_digest == body_digest(answer)


def _seen(
    watch: Watch, answer: Representation, ask: Ask, baseline: Baseline | None
) -> Observation | NoMatch | FetchFailed:
    if answer.challenge:
        return CHALLENGED
    reading = describe(watch, answer, baseline.source if baseline else "")
    if isinstance(reading, FetchFailed):
        return reading
    body = Body(watch, reading.text, answer.media_type, answer.url, baseline.extract if baseline else None, ask)
    embedded = reading.source == "page" and watch.path
    content = reader("embedded" if embedded else reading.source)(body)
    if isinstance(content, FetchFailed):
        doubtful = baseline is not None and not watch.source
        return replace(content, reason=content.reason + _other(baseline)) if doubtful else content
    if doubted := doubt(watch, content, answer, baseline):
        return doubted
    extract = content.extract
    if isinstance(extract, Extract):
        extract = _with_amounts(watch, extract, body.known)
    if isinstance(extract, NoMatch):
        return extract
    bare = replace(answer, body=b"", source=reading.source)
    return Observation(extract, fingerprint(extract, watch), bare, content.remarks)


def _in_place(watch: Watch, answer: Representation, pinned: str) -> FetchFailed | None:
    """Another kind of answer in the place of a whole page or text is an error page, not a change."""
    if watch.source or watch.select or watch.items or watch.fields or watch.path:
        return None
    wrong = {"page": "json", "text": "html"}.get(pinned, " ")
    if wrong not in answer.media_type:
        return None
    return FetchFailed("media-type", f"the server sends {answer.media_type} in the place of a {pinned}")


def _other(baseline: Baseline | None) -> str:
    """A way out where the first look met an error of another kind."""
    kind = baseline.source if baseline else ""
    return f"; the last good answer was read as {kind}: if that was the wrong one, write source: page" if kind else ""


def reader(kind: str) -> Reader:
    """The reader of a kind of source; with it what it needs is imported, which takes time."""
    return cast("Reader", import_module(f"pagewatch.readers.{kind}").read)


def _source(watch: Watch, media_type: str, text: str, pinned: str) -> str:
    """The source by what the user says, else by what can be asked of it, else by the media type, and where that says
    nothing by how the text begins. It stays what it was."""
    if watch.source:
        return watch.source
    if pinned:
        return pinned
    chosen = watch.select or watch.items
    begins = text.lstrip("\ufeff \t\r\n")[:1]
    if not (chosen or watch.fields or watch.path or watch.key) and (known := _by_root(media_type, text)):
        return known
    if "json" in media_type or (media_type in _UNSAID and begins in ("{", "[")):
        return "page" if chosen else "json"
    if "html" in media_type or is_xml(media_type) or (media_type in _UNSAID and begins == "<"):
        return "page"
    if watch.path:
        return "json"
    return "page" if chosen or watch.fields else "text"


def _by_root(media_type: str, text: str) -> str:
    """feed or sitemap, by the media type or the first element, whatever the server calls it; "" for all else."""
    if _FEED_TYPE.fullmatch(media_type):
        return "feed"
    root = _ROOT.match(text.lstrip("\ufeff")[:5000])
    return _ROOTS.get(root[1], "") if root else ""


def _is_text(watch: Watch, answer: Representation, body: bytes) -> bool:
    said = answer.media_type in _UNSAID or _TEXT_TYPE.fullmatch(answer.media_type) is not None
    if not said or body.startswith(_SIGNATURES):
        return False
    labels = (watch.encoding, answer.charset)
    wide = body.startswith(_UTF16) or any(charset.encoding_name(label).startswith("utf-16") for label in labels)
    return wide or b"\0" not in body[:1024] or "html" in answer.media_type  # browsers read over a NUL


def _with_amounts(watch: Watch, extract: Extract, known: Extract | None) -> Extract | NoMatch:
    """With the numbers that are wanted; the decimal mark is the user's, else the one that was read before."""
    if extract.items is not None or extract.matched == 0:
        return extract
    before = {amount.field: amount for amount in known.amounts} if known else {}
    texts, read = {"": extract.text, **dict(extract.fields)}, {amount.field: amount for amount in extract.amounts}
    wanted: list[Amount] = []
    for field, mark in watch.number:
        text = texts[field]
        if text is None:
            continue
        past, where = before.get(field), f"{field}: " if field else ""
        amount = read.get(field) or amounts.read(text, mark or (past.mark if past else ""), field)
        if amount is None:
            return NoMatch("number", f'{where}there is no number in "{collapse(text)[:LONGEST_SHOWN]}"')
        if past is not None and not amounts.takes_its_place(amount, past, text):
            return NoMatch("number", f'{where}there is no price in "{collapse(text)[:LONGEST_SHOWN]}"')
        wanted.append(amount)
    return replace(extract, amounts=tuple(wanted))
