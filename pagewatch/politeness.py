"""May we ask this host now: robots.txt per origin, one request at a time per host with a gap, pauses, the deadline.

One object is shared by all fetching threads of a run. It promises that a page is asked for only when its origin's
robots.txt allows it, that a robots.txt is asked for once per run at most, and that nobody waits for what cannot come in
time: who would have to gets a `Deferred`. It sends nothing itself: what fetches a robots.txt is an argument.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from functools import lru_cache

from pagewatch import schedule
from pagewatch.answers import (
    Answer,
    Deferred,
    Disallowed,
    FetchFailed,
    Missing,
    NotModified,
    Representation,
    Validators,
    Verdict,
)
from pagewatch.frozen import dataclass, field, replace
from pagewatch.model import Pause, RobotsRecord, Settings
from pagewatch.robots import Robots, clip, origin, parse, robots_url

KEPT = timedelta(hours=22)  # RFC 9309 §2.4: not more than 24 h; with 22 a daily watch sees new rules each time
OVER = "the time of this run is over"
LONGEST_CRAWL_DELAY = 60.0  # seconds; a run is short

_USUAL_PORT = re.compile(r":(80|443)\Z")

GetRobots = Callable[[str, Validators], Answer]


@lru_cache(maxsize=16_384)
def host_of(url: str) -> str:
    """Whose turn a request to `url` needs: http and https of one host share it, other ports are other servers."""
    return _USUAL_PORT.sub("", origin(url).partition("://")[2])


@dataclass
class _Host:
    """Its turn, and when the last request and the last request for a page ended (monotonic seconds)."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    ended: float = float("-inf")
    page_ended: float = float("-inf")


class Politeness:
    """`gate` is asked before each request for a page, `turn` before each for a robots.txt, which none governs.

    `robots` are the records of earlier runs by origin, `pauses` those by host, `deadline` the monotonic second at which
    the run is over. `override_backoff` (`--now`) drops the pauses of earlier runs that no server asked for.
    """

    def __init__(
        self,
        settings: Settings,
        robots: Mapping[str, RobotsRecord],
        pauses: Mapping[str, Pause],
        *,
        now: Callable[[], datetime],
        deadline: float,
        override_backoff: bool = False,
        sleep: Callable[[float], object] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._product_token, self._gap = settings.product_token, settings.gap.total_seconds()
        self._remembered = dict(robots)
        self._now, self._sleep, self._monotonic, self._deadline = now, sleep, monotonic, deadline
        self._lock = threading.Lock()  # guards the dicts, held for a moment only; rules have their askers
        self._hosts: dict[str, _Host] = {}
        self._pauses: dict[tuple[str, bool], Pause] = {}
        self._askers: dict[tuple[str, bool], threading.Lock] = {}
        self._rules: dict[tuple[str, bool], Robots | FetchFailed] = {}
        self._learned: dict[str, RobotsRecord] = {}
        for host, pause in pauses.items():
            if pause.asked or not override_backoff:
                self.pause(host, pause)

    @contextmanager
    def gate(
        self, url: str, get_robots: GetRobots, obey: bool = True, verified: bool = True
    ) -> Iterator[Verdict | Disallowed | FetchFailed | Deferred]:
        """A Verdict: ask for this page now, within the `with` block, which is the host's turn. All else: do not ask.

        A redirect's target has a gate of its own, entered when this one has been left. `obey=False`: robots.txt is
        ignored, for a reason that the caller knows. `get_robots(url, validators)` takes a `turn` for each of its hops.
        What was read without verifying the server (`verified`) counts only for those who do not ask for that.
        """
        verdict = self._verdict(url, get_robots, verified) if obey else Verdict(True)
        if not isinstance(verdict, Verdict):
            yield verdict
            return
        with self._turn(url, verdict.crawl_delay or 0.0, page=True) as deferred:
            yield deferred or verdict

    def sitemaps(self, url: str, get_robots: GetRobots, verified: bool = True) -> tuple[str, ...]:
        """The sitemaps that robots.txt of this URL's origin names."""
        rules = self._rules_of(url, get_robots, verified)
        return tuple(rules.sitemaps) if isinstance(rules, Robots) else ()

    def turn(self, url: str) -> AbstractContextManager[Deferred | None]:
        """None: ask now, within the `with` block; no other request to this host is under way, the gap has passed."""
        return self._turn(url, 0.0, page=False)

    def pause(self, host: str, pause: Pause) -> None:
        """Leave this host alone from now on, also in this run. Of two pauses of a kind the longer holds."""
        with self._lock:
            known = self._pauses.get((host, pause.asked))
            if known is None or pause.until > known.until or not schedule.is_paused(known, self._now(), False):
                self._pauses[host, pause.asked] = pause

    @property
    def learned(self) -> dict[str, RobotsRecord]:
        """The records that this run obtained or revalidated, by origin: to be kept for the next runs."""
        with self._lock:
            return dict(self._learned)

    def _verdict(
        self, url: str, get_robots: GetRobots, verified: bool
    ) -> Verdict | Disallowed | FetchFailed | Deferred:
        rules = self._rules_of(url, get_robots, verified)
        if not isinstance(rules, Robots):
            return rules
        verdict = rules.verdict(self._product_token, url)
        return verdict if verdict.allowed else Disallowed(url, robots_url(url), verdict.rule, verdict.line)

    def _rules_of(self, url: str, get_robots: GetRobots, verified: bool) -> Robots | FetchFailed | Deferred:
        """Known in this run, or asked for by the first thread that needs them, while the others wait for its answer.

        A failure counts for this run only: §2.4 keeps rules, not failures. A Deferred is no answer, so none is kept.
        """
        place = origin(url)
        key = (place, verified or place.startswith("http:"))
        with self._lock:
            asker = self._askers.setdefault(key, threading.Lock())
        if not self._acquire(asker):
            return _over(host_of(url))
        try:
            rules = self._rules.get(key) or self._obtain(place, get_robots, verified)
            if not isinstance(rules, Deferred):
                self._rules[key] = rules
            return rules
        finally:
            asker.release()

    def _obtain(self, place: str, get_robots: GetRobots, verified: bool) -> Robots | FetchFailed | Deferred:
        record = self._remembered.get(place)
        if record is None or not timedelta(0) <= self._now() - record.fetched < KEPT:
            answer = get_robots(robots_url(place), record.validators if record else Validators())
            obtained = _record(answer, record, self._now())
            if isinstance(obtained, FetchFailed):
                return replace(obtained, reason=f"{robots_url(place)} could not be read: {obtained.reason}")
            if isinstance(obtained, Deferred):
                return obtained
            record = obtained
            if verified:
                with self._lock:
                    self._learned[place] = record
        return parse(record.body or b"")

    @contextmanager
    def _turn(self, url: str, crawl_delay: float, *, page: bool) -> Iterator[Deferred | None]:
        name = host_of(url)
        with self._lock:
            host = self._hosts.setdefault(name, _Host())
        if (deferred := self._paused(name)) is None and not self._acquire(host.turn):
            deferred = _over(name)
        if deferred is not None:
            yield deferred
            return
        try:
            deferred = self._wait(name, host, crawl_delay)
            yield deferred
        finally:
            if deferred is None:
                host.ended = self._monotonic()
                host.page_ended = host.ended if page else host.page_ended
            host.turn.release()

    def _wait(self, name: str, host: _Host, crawl_delay: float) -> Deferred | None:
        """The gap counts from the end of the last request, a Crawl-delay from that of the last page. A pause may begin
        while we wait for the turn or for the gap."""
        begins = max(host.ended + self._gap, host.page_ended + min(crawl_delay, LONGEST_CRAWL_DELAY), self._monotonic())
        if (paused := self._paused(name)) is not None:
            return paused
        if begins >= self._deadline:
            return _over(name)
        if (seconds := begins - self._monotonic()) > 0:
            self._sleep(seconds)
        return self._paused(name)

    def _acquire(self, lock: threading.Lock) -> bool:
        seconds = min(self._deadline - self._monotonic(), threading.TIMEOUT_MAX)
        return seconds > 0 and lock.acquire(timeout=seconds)

    def _paused(self, name: str) -> Deferred | None:
        with self._lock:
            pauses = [self._pauses[key] for key in ((name, True), (name, False)) if key in self._pauses]
        pauses = [pause for pause in pauses if schedule.is_paused(pause, self._now(), False)]
        if not pauses:
            return None
        return deferred(name, max(pauses, key=lambda pause: pause.until))


def deferred(host: str, pause: Pause) -> Deferred:
    why = "asked for a pause (Retry-After)" if pause.asked else "is being backed off from"
    return Deferred(host, pause.until, f"{host} {why}")


def _over(host: str) -> Deferred:
    return Deferred(host, None, OVER)


def _record(answer: Answer, known: RobotsRecord | None, now: datetime) -> RobotsRecord | FetchFailed | Deferred:
    """RFC 9309 §2.3.1: what the answer to a request for a robots.txt means."""
    match answer:
        case Representation():
            return RobotsRecord(now, clip(answer.body), answer.validators)
        case NotModified() if known is not None and known.validators:
            return replace(known, fetched=now, validators=known.validators.renewed(answer.validators))
        case Missing():
            return RobotsRecord(now, None)
        case FetchFailed():
            return _without_rules(answer, now)
        case Deferred():
            return answer
        case _:
            return FetchFailed("robots-unreachable", "the answer holds no rules")


def _without_rules(failed: FetchFailed, now: datetime) -> RobotsRecord | FetchFailed:
    """§2.3.1.3: after a client error all is allowed, unless it asks for a pause (429). §2.3.1.4: else nothing is."""
    client_error = failed.kind.startswith("http-4")
    if failed.kind == "rate-limited" or (client_error and failed.pauses_host):
        return replace(failed, kind="rate-limited")
    if client_error or failed.kind.startswith("http-2") or failed.kind == "empty-body":
        return RobotsRecord(now, None)
    return replace(failed, kind="robots-unreachable")
