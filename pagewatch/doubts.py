"""Whether a page is to be believed: a login, consent or challenge page came instead of it, or it lacks what the user
expects, or has what the user rejects.

It promises that such a page is its own kind of NoMatch and never a change; and that a page which shows the watched
part, and is where it was, is not held for one because of a word.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from pagewatch.answers import Extract, NoMatch, Representation
from pagewatch.fingerprint import collapse, fingerprint, regex
from pagewatch.model import Baseline, Watch
from pagewatch.reading import Content

SHORT_PAGE = 2_000  # characters: challenge pages say little

# Pages that stand before the page: where they lead, and what the services that send them write into them. As text:
# they are compiled when they are first needed, which most runs never do.
_LOGIN_PATH = (
    r"(?i)(^|[/._-])((log|sign)[-_]?(in|on)|(user|member)?login(page)?|sso|cas|oauth2?|openid|saml2?|adfs|authori[sz]e"
    r"|authenticate|auth|consent|cookie-?wall|captcha|sessions?/new|anmelden|anmeldung|connexion|accedi|iniciar-sesion)"
    r"([/._-]|$)"
)
_LOGIN_HOST = r"(?i)(login|signin|sso|auth|accounts|consent)\."
_CHALLENGE_TITLE = (
    r"(?i)just a moment|attention required|checking your browser|please wait\.\.\. \||ddos-guard|robot check"
    r"|pardon our interruption|are you a (robot|human)|verify you are human|(human|bot) verification|security check"
)
_CHALLENGE_SOURCE = (
    r"/cdn-cgi/challenge-platform/|_Incapsula_Resource|captcha-delivery\.com|px-captcha|awsWafCookieDomainList"
)

CHALLENGED = NoMatch("challenge", "the site is checking its visitor and shows something else")


def doubt(watch: Watch, content: Content, answer: Representation, baseline: Baseline | None) -> NoMatch | None:
    """The first reason not to take the content for what is watched; None where there is none."""
    doubts = (_challenge(watch, content), _redirect(watch, content, answer, baseline), _rejected(watch, content))
    return next((found for found in (*doubts, _unexpected(watch, content)) if found), None)


def _challenge(watch: Watch, content: Content) -> NoMatch | None:
    """A page by which a service checks its visitor: known by its words, and believed only where the watched part is
    not there."""
    chosen = watch.select or watch.fields or watch.items or watch.path
    if not content.is_page or (chosen and not content.nothing_found):
        return None
    known = re.search(_CHALLENGE_TITLE, content.title)
    if not known and not (content.nothing_found and re.search(_CHALLENGE_SOURCE, content.text)):
        return None
    if len(content.visible) > SHORT_PAGE:
        return None
    return CHALLENGED


def _redirect(watch: Watch, content: Content, answer: Representation, baseline: Baseline | None) -> NoMatch | None:
    """A login or consent page: at another address than the baseline's, with a path that says so or a password field.
    It is believed if it shows the very content of the baseline, or what `expect` asks for."""
    known = baseline.url if baseline and baseline.url else watch.url
    if known == answer.url:
        return None
    before, now = urlsplit(known), urlsplit(answer.url)
    if _place(before) == _place(now) or (watch.expect and not _unexpected(watch, content)):
        return None
    if baseline and not content.nothing_found and _fingerprint(watch, content) == baseline.fingerprint:
        return None
    by_name = _leads_to_login(now) and not _leads_to_login(before)
    by_field = baseline is not None and content.asks_password
    if not by_name and not by_field:
        return None
    there = f"{now.scheme}://{now.hostname}{now.path}"
    return NoMatch("redirected", f"the server led to {there}, which looks like a login or consent page")


def _place(url: SplitResult) -> tuple[str, str]:
    return (url.hostname or "").removeprefix("www."), url.path.rstrip("/")


def _fingerprint(watch: Watch, content: Content) -> str:
    return fingerprint(content.extract, watch) if isinstance(content.extract, Extract) else ""


def _leads_to_login(url: SplitResult) -> bool:
    return bool(re.search(_LOGIN_PATH, url.path) or re.match(_LOGIN_HOST, url.hostname or ""))


def _rejected(watch: Watch, content: Content) -> NoMatch | None:
    found = watch.reject and _contains(watch.reject, content.visible)
    return NoMatch("reject", f'the page says "{watch.reject}" (reject)') if found else None


def _unexpected(watch: Watch, content: Content) -> NoMatch | None:
    wanted = watch.expect
    if not wanted or _contains(wanted, content.text) or _contains(wanted, content.visible):
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
