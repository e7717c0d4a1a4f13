"""An answer -> what was seen in it: the one entry (`read`) to all kinds of content.

It promises that nothing is taken for content that is not: no picture, no empty body, no login, consent or challenge
page, no page that lacks what the user expects; each is its own kind of NoMatch or FetchFailed. A body that is byte
for byte the baseline's is not parsed again. Another kind of source is one more reader in `_READERS`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import SplitResult, urlsplit

from pagewatch import charset, jsondata, markup
from pagewatch.answers import Extract, FetchFailed, NoMatch, Observation, Representation
from pagewatch.content_coding import unpack_undeclared
from pagewatch.extract import field_lines, page_text, select
from pagewatch.fingerprint import body_digest, collapse, fingerprint, normalise, recipe, regex, without_noise
from pagewatch.jsondata import check_path
from pagewatch.markup import Tree
from pagewatch.model import Baseline, Watch

__all__ = ["Reading", "check_path", "describe", "read"]

LARGEST_BODY = 20_000_000  # bytes, unpacked
SHORT_PAGE = 2_000  # characters: challenge pages say little

_TEXT_TYPE = re.compile(
    r"(?!image/|audio/|video/|font/|model/|application/).*|application/.*(xml|json|html|script|yaml|toml|csv|rss|atom).*"
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/gzip", "application/x-gzip"})
_SIGNATURES = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"RIFF", b"\x7fELF", b"MZ\x90")
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")

# Pages that stand before the page: where they lead, and what the services that send them write into them.
_LOGIN_PATH = re.compile(
    r"(?i)(^|[/._-])((log|sign)[-_]?(in|on)|(user|member)?login(page)?|sso|cas|oauth2?|openid|saml2?|adfs|authori[sz]e"
    r"|authenticate|auth|consent|cookie-?wall|captcha|sessions?/new|anmelden|anmeldung|connexion|accedi|iniciar-sesion)"
    r"([/._-]|$)"
)
_LOGIN_HOST = re.compile(r"(?i)(login|signin|sso|auth|accounts|consent)\.")
_CHALLENGE_TITLE = re.compile(
    r"(?i)just a moment|attention required|checking your browser|please wait\.\.\. \||ddos-guard|robot check"
    r"|pardon our interruption|are you a (robot|human)|verify you are human|(human|bot) verification|security check"
)
_CHALLENGE_SOURCE = re.compile(
    r"/cdn-cgi/challenge-platform/|_Incapsula_Resource|captcha-delivery\.com|px-captcha|awsWafCookieDomainList"
)


@dataclass(frozen=True)
class Reading:
    """How a body is read: as which source, in which encoding (a WHATWG name), and its text."""

    source: str
    encoding: str
    text: str


def read(watch: Watch, answer: Representation, baseline: Baseline | None = None) -> Observation | NoMatch | FetchFailed:
    """What the answer shows of the watched part. The observation keeps the answer without its body."""
    answer = replace(answer, digest=answer.digest or hashlib.sha256(answer.body).hexdigest())
    bare = replace(answer, body=b"")
    if baseline and baseline.extract and _is_known(watch, answer, baseline):
        return Observation(baseline.extract, baseline.fingerprint, bare)
    outcome = _seen(watch, answer, baseline)
    if isinstance(outcome, NoMatch):
        return replace(outcome, conditional=answer.conditional)
    return outcome if isinstance(outcome, FetchFailed) else Observation(outcome, fingerprint(outcome, watch), bare)


def describe(watch: Watch, answer: Representation) -> Reading | FetchFailed:
    """How the body is read, or why it is no text. Kinds: media-type, content-decoding, too-large, empty-body."""
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
    return Reading(_source(watch, answer.media_type, text), encoding, text)


def _is_known(watch: Watch, answer: Representation, baseline: Baseline) -> bool:
    """Whether these are the baseline's very bytes. `expect` and `reject` may have been edited since: they are asked."""
    if watch.expect or watch.reject or answer.challenge:
        return False
    return baseline.body_digest == body_digest(answer) and baseline.recipe == recipe(watch)


def _seen(watch: Watch, answer: Representation, baseline: Baseline | None) -> Extract | NoMatch | FetchFailed:
    if answer.challenge:
        return NoMatch("challenge", "the site is checking its visitor and shows something else")
    reading = describe(watch, answer)
    if isinstance(reading, FetchFailed):
        return reading
    content = _READERS[reading.source](watch, reading.text, answer.media_type)
    if isinstance(content, FetchFailed):
        return content
    doubts = (_challenge(watch, content), _redirect(watch, content, answer, baseline), _rejected(watch, content))
    return next((doubt for doubt in (*doubts, _unexpected(watch, content)) if doubt), content.extract)


# --------------------------------------------------------------------------------------------------- kinds of source


@dataclass(frozen=True)
class _Content:
    """What a reader makes of a body: the watched part, and all the rest for those who doubt it."""

    extract: Extract | NoMatch
    source: str
    tree: Tree | None = None

    @cached_property
    def visible(self) -> str:
        return page_text(self.tree) if self.tree else normalise(self.source)

    @property
    def nothing_found(self) -> bool:
        return isinstance(self.extract, NoMatch) or self.extract.matched == 0


def _source(watch: Watch, media_type: str, text: str) -> str:
    """The source by what the user says, else by what can be asked of it, else by the media type, and where that says
    nothing by how the text begins."""
    if watch.source:
        return watch.source
    begins = text.lstrip("\ufeff \t\r\n")[:1]
    if "json" in media_type or (media_type in _UNSAID and begins in ("{", "[")):
        return "page" if watch.select or not _are_paths(watch.fields) else "json"
    if "html" in media_type or markup.is_xml(media_type) or (media_type in _UNSAID and begins == "<"):
        return "page"
    if watch.path:
        return "json"
    return "page" if watch.select or watch.fields or watch.items else "text"


def _are_paths(fields: tuple[tuple[str, str], ...]) -> bool:
    return all(check_path(where) is None for _, where in fields)


def _page(watch: Watch, text: str, media_type: str) -> _Content | FetchFailed:
    tree = markup.parse(text, media_type)
    if isinstance(tree, FetchFailed):
        return tree
    return _Content(_embedded(watch, tree) if watch.path else select(tree, watch), text, tree)


def _embedded(watch: Watch, tree: Tree) -> Extract | NoMatch:
    """`path` on a page: into its first JSON script block that has it, among what `select` selects if that is given."""
    within = tree.find(watch.select) if watch.select else [tree.root]
    scripts = [script for element in within for script in element.iter("script")]
    for value in (jsondata.read_script(script.text or "") for script in scripts):
        if value is not None and not isinstance(found := _json_extract(watch, value), NoMatch) and found.matched:
            return found
    return _no_path(watch, f'path "{watch.path}" finds nothing in the JSON of {len(scripts)} scripts of the page')


def _json(watch: Watch, text: str, media_type: str) -> _Content | FetchFailed:
    value = jsondata.read(text)
    return value if isinstance(value, FetchFailed) else _Content(_json_extract(watch, value), text)


def _json_extract(watch: Watch, value: object) -> Extract | NoMatch:
    value = jsondata.without_members(value, watch.ignore) if watch.ignore else value
    found = jsondata.find(value, watch.path) if watch.path else [value]
    if not found:
        return _no_path(watch, f'path "{watch.path}" finds nothing')
    if not watch.fields:
        return Extract(without_noise(jsondata.text_of(found[0], watch.ignore_order), watch.ignore_text))
    fields = tuple((name, _json_field(watch, found[0], path)) for name, path in watch.fields)
    if all(value is None for _, value in fields):
        return _no_path(watch, f"none of the fields is there: {', '.join(name for name, _ in fields)}")
    return Extract(field_lines(fields), fields)


def _json_field(watch: Watch, value: object, path: str) -> str | None:
    found = jsondata.find(value, path)
    return without_noise(jsondata.text_of(found[0]), watch.ignore_text) if found and found[0] is not None else None


def _no_path(watch: Watch, what: str) -> Extract | NoMatch:
    if watch.if_missing == "ok":
        return Extract("", tuple((name, None) for name, _ in watch.fields), matched=0)
    return NoMatch("path", what)


def _text(watch: Watch, text: str, media_type: str) -> _Content:
    return _Content(Extract(without_noise(normalise(text), watch.ignore_text)), text)


_READERS: dict[str, Callable[[Watch, str, str], _Content | FetchFailed]] = {"page": _page, "json": _json, "text": _text}


def _is_text(watch: Watch, answer: Representation, body: bytes) -> bool:
    said = answer.media_type in _UNSAID or _TEXT_TYPE.fullmatch(answer.media_type) is not None
    if not said or body.startswith(_SIGNATURES):
        return False
    labels = (watch.encoding, answer.charset)
    wide = body.startswith(_UTF16) or any(charset.encoding_name(label).startswith("utf-16") for label in labels)
    return wide or b"\0" not in body[:1024] or "html" in answer.media_type  # browsers read over a NUL


# ------------------------------------------------------------------------------------------------------------ doubts


def _challenge(watch: Watch, content: _Content) -> NoMatch | None:
    """A page by which a service checks its visitor: known by its words, and believed only where the watched part is
    not there."""
    chosen = watch.select or watch.fields or watch.path
    if content.tree is None or (chosen and not content.nothing_found):
        return None
    title = content.tree.root.find(".//title")
    known = title is not None and _CHALLENGE_TITLE.search(title.text or "")
    if not known and not (content.nothing_found and _CHALLENGE_SOURCE.search(content.source)):
        return None
    if len(content.visible) > SHORT_PAGE:
        return None
    return NoMatch("challenge", "the site is checking its visitor and shows something else")


def _redirect(watch: Watch, content: _Content, answer: Representation, baseline: Baseline | None) -> NoMatch | None:
    """A login or consent page: at another address than the baseline's, with a path that says so or a password field.
    It is believed if it shows the very content of the baseline, or what `expect` asks for."""
    before, now = urlsplit(baseline.url if baseline and baseline.url else watch.url), urlsplit(answer.url)
    if _place(before) == _place(now) or (watch.expect and not _unexpected(watch, content)):
        return None
    if baseline and not content.nothing_found and _fingerprint(watch, content) == baseline.fingerprint:
        return None
    by_name = _leads_to_login(now) and not _leads_to_login(before)
    by_field = baseline is not None and _asks_password(content)
    if not by_name and not by_field:
        return None
    there = f"{now.scheme}://{now.hostname}{now.path}"
    return NoMatch("redirected", f"the server led to {there}, which looks like a login or consent page")


def _place(url: SplitResult) -> tuple[str, str]:
    return (url.hostname or "").removeprefix("www."), url.path.rstrip("/")


def _fingerprint(watch: Watch, content: _Content) -> str:
    return fingerprint(content.extract, watch) if isinstance(content.extract, Extract) else ""


def _leads_to_login(url: SplitResult) -> bool:
    return bool(_LOGIN_PATH.search(url.path) or _LOGIN_HOST.match(url.hostname or ""))


def _asks_password(content: _Content) -> bool:
    inputs = content.tree.root.iter("input") if content.tree else ()
    return any((field.get("type") or "").lower() == "password" for field in inputs)


def _rejected(watch: Watch, content: _Content) -> NoMatch | None:
    found = watch.reject and _contains(watch.reject, content.visible)
    return NoMatch("reject", f'the page says "{watch.reject}" (reject)') if found else None


def _unexpected(watch: Watch, content: _Content) -> NoMatch | None:
    wanted = watch.expect
    if not wanted or _contains(wanted, content.source) or _contains(wanted, content.visible):
        return None
    return NoMatch("expect", f'the page does not have "{wanted}" (expect)')


def _contains(wanted: str, text: str) -> bool:
    """As a literal or, if it is one, as a regular expression; in lines or in one."""
    line = collapse(text)
    if collapse(wanted) in line:
        return True
    try:
        pattern = regex(wanted)
    except (re.error, OverflowError, RecursionError):  # such as *new*
        return False
    return any(pattern.search(form) for form in (text, line))
