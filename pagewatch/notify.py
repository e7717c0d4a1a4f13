"""Sends what is in the outbox through Apprise: targets side by side, one message a call; says what each target took.

Delivered is only what Apprise calls a success, with its ways of calling a loss one switched off: redirects (a POST
that became a GET) and `optional=yes`. A target that does not answer holds up neither the others nor the run: each has
threads of its own, which the end of the process leaves behind. Apprise's own time limit would not do: it sends from a
pool of a few threads, which silent targets fill, and it counts what arrives late as lost. What Apprise logs holds
tokens and addresses: nothing of it is passed on but what `REASONS` recognises, in our own words.
"""

from __future__ import annotations

import difflib
import logging
import queue
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import apprise

from pagewatch.model import Delivery, Notice, Target
from pagewatch.notices import digest, harmless, is_due, one_line

TIME_LIMIT = 30.0  # seconds for all messages to one target
ENOUGH_REFUSALS = 2  # in a row, of single notices: then the service is at fault and not the message

SCHEME = "[a-z][a-z0-9_.+-]{0,19}"
# Where "@everyone" rings everybody's phone; elsewhere Apprise escapes it, or it is plain text.
CHATS = frozenset({"Discord", "Guilded", "Mattermost", "Revolt", "Rocket.Chat", "Zulip"})
# Apprise accepts these without anybody to send to, and then never sends.
NEED_RECIPIENTS = frozenset({"mailto", "mailtos", "ntfy", "ntfys"})

REASONS = (  # what may be found in Apprise's log, and what to say of it; the first that is found counts
    (r"recipient .* was refused|Exception: \{'", "a recipient was refused"),
    (r"Exception: \((\d{3}), ", "the mail server answered {}"),
    (r"SMTP AUTH extension not supported", "the mail server takes no login on this connection"),
    (r"STARTTLS extension not supported", "the mail server offers no encryption"),
    (r"(?i)certificate.verify.failed", "its certificate cannot be verified"),
    (r"(?i)timed out", "no answer in time"),
    (r"(?i)refused", "nothing answers there (connection refused)"),
    (r"getaddrinfo|Name or service not known|nodename nor servname|NameResolution", "its host name is not known"),
    (r"error=(\d{3})\b", "the service answered {}"),
)
HINTS = {
    "401": "is the password or token right?",
    "403": "is the password or token right?",
    "404": "is the address right?",
    "429": "too many messages",
    "535": "is the password right?",
}


# ------------------------------------------------------------------------------------------------------------- delivery


def deliver(
    outbox: Iterable[Notice],
    targets: Iterable[Target],
    now: datetime,
    report: Callable[[Delivery], None],
    time_limit: float = TIME_LIMIT,
) -> frozenset[str]:
    """Begins to send each target what is due for it, and returns the names of these targets at once.

    `report` is called from other threads: with what became of each notice as soon as it is known, and for each of these
    targets a last time (`Delivery.last`) within `time_limit` seconds, when all its notices have been accounted for.
    What is delivered later still is reported too. Notices for a target that is not among `targets` stay as they are.
    """
    due = [notice for notice in outbox if is_due(notice, now)]
    sending = {target: notices for target in targets if (notices := [n for n in due if n.target == target.name])}
    if sending:
        _quiet()
        apprise.Apprise.instantiate("json://localhost")  # loads all services, which two threads must not do at once
    for target, notices in sending.items():
        _start(_supervise, target, notices, report, time_limit)
    return frozenset(target.name for target in sending)


def _start(function: Callable[..., None], *arguments: object) -> None:
    """In a thread that does not keep the process alive."""
    threading.Thread(target=function, args=arguments, daemon=True).start()


def _supervise(
    target: Target, notices: Sequence[Notice], report: Callable[[Delivery], None], time_limit: float
) -> None:
    """Passes on what the sending thread says, until all is said or the time is over."""
    end = time.monotonic() + time_limit
    said: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
    _start(_send_all, target, notices, said.put, end)
    waiting = [notice.id for notice in notices]
    late = False
    try:
        while (delivery := said.get(timeout=max(0.0, end - time.monotonic()))) is not None:
            accounted = {*delivery.delivered, *dict(delivery.failed)}
            waiting = [id_ for id_ in waiting if id_ not in accounted]
            report(delivery)
    except queue.Empty:
        late = True
    reason = f"no answer within {time_limit:g} s" if late else "an error in the program stopped the sending"
    report(Delivery(target.name, failed=tuple((id_, reason) for id_ in waiting), last=True))
    while late and (delivery := said.get()) is not None:
        if delivery.delivered:
            report(delivery)


def _send_all(target: Target, notices: Sequence[Notice], say: Callable[[Delivery | None], None], end: float) -> None:
    """One message for all; where that is refused, one for each. None is said at the end, come what may."""
    try:
        title, body = digest(notices) if len(notices) > 1 else (notices[0].title, notices[0].body)
        reason = send(target, title, body, _tone(notices))
        if reason and len(notices) > 1:
            _send_singly(target, notices, say, end)
        else:
            say(_delivery(target, notices, reason))
    finally:
        say(None)


def _send_singly(target: Target, notices: Sequence[Notice], say: Callable[[Delivery], None], end: float) -> None:
    """Stops when one after another is refused. Those come first that were tried least, and each later attempt begins
    at other ones: notices which the service will never take must not stand in front of the rest for ever."""
    start = min(notice.attempts for notice in notices) * ENOUGH_REFUSALS % len(notices)
    left = sorted([*notices[start:], *notices[:start]], key=lambda notice: notice.attempts)
    refusals, reason = 0, ""
    while left and refusals < ENOUGH_REFUSALS and time.monotonic() < end:
        notice = left.pop(0)
        reason = send(target, notice.title, notice.body, _tone([notice]))
        refusals = refusals + 1 if reason else 0
        say(_delivery(target, [notice], reason))
    if left:
        say(_delivery(target, left, reason or "the messages before it took too long"))


def _delivery(target: Target, notices: Sequence[Notice], reason: str) -> Delivery:
    if reason:
        return Delivery(target.name, failed=tuple((notice.id, reason) for notice in notices))
    return Delivery(target.name, delivered=tuple(notice.id for notice in notices))


def _tone(notices: Sequence[Notice]) -> str:
    kinds = {notice.kind for notice in notices}
    return "info" if "changed" in kinds else "success" if kinds == {"recovered"} else "warning"


# ---------------------------------------------------------------------------------------------------------- one message


def send(target: Target, title: str, body: str, tone: str = "info") -> str:
    """Sends one message and waits for it: "" if the target took it, else why not, in a clause without secrets.

    `tone` is info, success or warning. It takes as long as the service drips its answer: see `deliver` for a limit.
    """
    _quiet()
    service = _service(target.url)  # a new one for each message: Apprise sleeps 5.5 s before the second of one instance
    if service is None:
        return "its URL cannot be used: monitor.py doctor says why"
    title, body = one_line(title), harmless(body)
    if str(service.service_name) in CHATS:
        title, body = _without_pings(title), _without_pings(body)
    apprise_of_one = apprise.Apprise(asset=service.asset)
    apprise_of_one.add(service)
    with apprise_of_one.notify(
        title=title,
        body=body if body.strip() else title or "(no text)",  # Apprise fails where there is no body
        body_format=apprise.NotifyFormat.TEXT,
        notify_type=tone,
        interpret_escapes=False,
        log_level=logging.DEBUG,
    ) as result:
        return "" if result else _reason(result, len(service))


def _service(url: str) -> apprise.NotifyBase | None:
    asset = apprise.AppriseAsset(
        app_id="pagewatch",
        app_desc="pagewatch",
        async_mode=False,
        service_timeout=0,
        http_redirects=False,
        interpret_emojis=False,
        interpret_escapes=False,
        storage_mode="memory",
    )
    service = apprise.Apprise.instantiate(url, asset=asset)
    if service is not None:
        service.redirects = False  # whatever the URL itself says
        service.optional = False
    return service


def _without_pings(text: str) -> str:
    """A page that says "@everyone" shall not wake everyone: an invisible space behind the sign takes its meaning."""
    pings = r"https?://\S+|@(?=(?:\*\*)?(?:everyone|here|channel|all|room|online)\b)"
    return re.sub(pings, lambda found: "@\u200b" if found[0] == "@" else found[0], text)


def _reason(result: apprise.AppriseResult, recipients: int) -> str:
    logged = "\n".join(e.message for e in result.logs() if e.level != "DEBUG" or "Exception: " in e.message[:40])
    found = ((re.search(pattern, logged), words) for pattern, words in REASONS)
    match, words = next(((match, words) for match, words in found if match), (None, "the service did not take it"))
    code = match[1] if match and match.re.groups else ""
    hint = "a redirect: write the new address into the target" if code.startswith("3") else HINTS.get(code)
    reason = words.format(code) + (f" ({hint})" if hint else "")
    if recipients < 2:
        return reason
    return f"{reason}; some of its {recipients} recipients may have got it: give each a target of its own"


def _quiet() -> None:
    """Apprise and urllib3 log URLs with their tokens: none of that may reach standard error, which cron mails."""
    for name in ("apprise", "urllib3"):
        logging.getLogger(name).propagate = False
    logging.getLogger("apprise").setLevel(logging.DEBUG)  # `_reason` reads it
    warnings.filterwarnings("ignore", "Unverified HTTPS request")  # `verify=no` in a URL is the user's decision
    warnings.filterwarnings("ignore", module=r"apprise\b")  # of old modules that it uses


# ---------------------------------------------------------------------------------------------------------- target URLs


def check_target(url: str) -> str | None:
    """What is wrong with an Apprise URL and what to do, without secrets; None if nothing is. Asks no network."""
    scheme, found, rest = url.partition("://")
    if not found:
        return "this is no Apprise URL: it begins with a service, such as mailto:// or ntfy://"
    if re.search(r"[\s,;][a-z0-9]+://", rest):
        return "these are several URLs: give each one a name of its own"
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if authority.count("@") > 1:
        return 'an "@" inside the user name or the password must be written %40'
    _quiet()
    service = _service(url)
    if service is None:
        return _why_unusable(scheme.lower(), authority, rest)
    if scheme.lower() in NEED_RECIPIENTS and not getattr(service, "topics", getattr(service, "targets", None)):
        return "it names nobody to send to: add a topic or an address"
    if service.port is not None and not 0 < service.port < 65_536:
        return "its port is not between 1 and 65535"
    return None


def _why_unusable(scheme: str, authority: str, rest: str) -> str:
    services = _services()
    if scheme in ("http", "https"):
        hook = scheme.replace("http", "json")
        return f"a web address is no Apprise URL: for a hook that takes JSON write {hook}:// instead of {scheme}://"
    if not re.fullmatch(SCHEME, scheme):
        return "Apprise knows no such service"
    if scheme not in services:
        near = difflib.get_close_matches(scheme, services, 1)
        return f"Apprise knows no service {scheme}://" + (f", did you mean {near[0]}://?" if near else "")
    if not services[scheme]["enabled"]:
        packages = services[scheme]["requirements"]["packages_required"]
        needed = ", it needs: pip install " + " ".join(f'"{name}"' for name in packages) if packages else ""
        return f"{scheme}:// cannot be used on this machine{needed}"
    if ":" in authority and "@" not in authority and "@" in rest:
        return 'a "/", "?" or "#" inside the user name or the password must be written %2F, %3F or %23'
    return f"something is missing or misspelt; how it is written: {services[scheme]['setup_url']}"


def _services() -> dict[str, dict[str, Any]]:
    """What Apprise says of its services, by scheme, those that need more packages too."""
    every = apprise.Apprise().details(show_requirements=True, show_disabled=True)["schemas"]
    return {
        scheme: about for about in every for kind in ("protocols", "secure_protocols") for scheme in about[kind] or ()
    }


def advice(url: str) -> str | None:
    """For `doctor`: what is no error but unwise."""
    _quiet()
    service = _service(url)
    if service is None or len(service) < 2:
        return None
    return (
        f"it has {len(service)} recipients: if one is refused, the others get the message again with each attempt; "
        "give each a target of its own"
    )


def host_shown(url: str) -> str:
    """Scheme and host for people, such as `mailtos://smtp.example.org`; the scheme alone where a token or a topic
    stands in the host's place. It shows what Apprise makes of a password with an unescaped sign."""
    scheme = re.match(SCHEME + "(?=://)", url.lower())
    _quiet()
    service = _service(url)
    host = ""
    if service is not None and "host" in service.template_tokens:
        host = str(getattr(service, "smtp_host", "") or service.host or "")
    is_server = re.fullmatch(r"localhost|[\w-]+(\.[\w-]+)+|\[?[0-9a-f:]*:[0-9a-f:.]*\]?", host)
    return f"{scheme[0] if scheme else ''}://{host if is_server else ''}"
