"""Asks the web for the watches of a run: one request for all that share it, hosts side by side.

It brings the edges `fetch` and `politeness` together: before each hop stands robots.txt of its origin, which is
fetched as the page is, and the host's turn. One task a host, with one session for it: polite by construction, and
connections are kept.
"""

from __future__ import annotations

import queue
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pagewatch import fetch, removals, robots
from pagewatch.answers import NO_VALIDATORS, Answer, Ask, FetchFailed, NotModified, Unaltered, Validators
from pagewatch.connections import Client, Session
from pagewatch.frozen import dataclass, field, replace
from pagewatch.hops import Request
from pagewatch.lastmod import latest
from pagewatch.model import Links, Pause, Plan, RobotsRecord, Settings, Verified
from pagewatch.politeness import GetRobots, Politeness, host_of
from pagewatch.readers.sitemap import lastmods
from pagewatch.urls import credentials, normalise_url, origin_of

MOST_THREADS = 32
LONGEST_VERIFYING = 60.0  # seconds
LONGEST_HINT = 5.0  # seconds per read: a hint that takes longer spares nothing
READERS = 2
ROBOTS_ACCEPT = "text/plain,*/*;q=0.8"

T = TypeVar("T")
Fetch = tuple[Plan, ...]  # the watches that share a request


class Readers:
    """Two threads in which bodies are read while those of the hosts wait: more are no faster, and the memory that
    parsing takes stays with each thread that has done it."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]] | None] = queue.SimpleQueue()
        self._missing, self._lock = READERS, threading.Lock()

    def __call__(self, read: Callable[[], T]) -> T:
        """What `read` gives, which raises nothing."""
        with self._lock:
            if self._missing:
                self._missing -= 1
                self._begin()
        found: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._waiting.put((read, found))
        return found.get()

    def meanwhile(self, ask: Ask) -> Ask:
        """`ask` for what is read here: while it waits for the web, another thread reads in its place."""

        def wait(url: str) -> Answer:
            self._begin()
            try:
                return ask(url)
            finally:
                self._waiting.put(None)

        return wait

    def _begin(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            read, found = item
            found.put(read())
            del item, read, found


@dataclass(frozen=True)
class Web:
    """What all requests of a run share. `hinted` are the pages by origin of which their sitemaps may say that they have
    not changed, `known` the lastmods that those of this run have given."""

    settings: Settings
    client: Client
    hosts: Politeness
    hinted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    known: dict[str, Mapping[str, str]] = field(default_factory=dict)
    readers: Readers = field(default_factory=Readers)

    def ask(self, plans: Fetch, session: Session) -> Answer:
        """One look's answer, over all its redirects."""
        if (spared := self._unaltered(plans, session)) is not None:
            return spared
        request = request_of(self.settings, plans)
        gate = self._gate(plans, request, session)
        length = plans[0].length if len({plan.length for plan in plans}) == 1 else 0
        if length:
            briefly = replace(request, timeout=min(request.timeout, LONGEST_HINT))
            if fetch.content_length(briefly, session, gate) == length:
                return NotModified()
        return fetch.ask(request, session, gate)

    def further(self, plans: Fetch, session: Session) -> Ask:
        """Gets documents beside the page itself, each once for all watches that share the look. What is the page's own
        (its body, headers for other origins, conditions) is not sent."""
        request = replace(request_of(self.settings, plans), validators=NO_VALIDATORS, body=None, body_type="")
        gate, own = self._gate(plans, request, session), origin_of(request.url)
        known: dict[str, Answer] = {}

        def ask(url: str) -> Answer:
            if url not in known:
                headers = request.headers if origin_of(url) == own else ()
                known[url] = fetch.ask(replace(request, url=url, headers=headers), session, gate)
            return known[url]

        return ask

    def _unaltered(self, plans: Fetch, session: Session) -> Unaltered | None:
        """`hint: sitemap`: what the site's sitemap says, which is asked for once a run."""
        since = [plan.verified for plan in plans if plan.verified is not None]
        if len(since) < len(plans):
            return None
        url = normalise_url(plans[0].watch.url)
        place = robots.origin(url)
        if place not in self.known:
            self.known[place] = self._lastmods(url, plans, session)
        said = self.known[place].get(url, "")
        changed = latest(said)
        return Unaltered(said) if changed is not None and changed < min(since) else None

    def _lastmods(self, url: str, plans: Fetch, session: Session) -> Mapping[str, str]:
        """Of all hinted pages of the site; none where its sitemap cannot be read."""
        wanted = self.hinted.get(robots.origin(url), frozenset())
        found = lastmods(self.sitemap_of(url, plans, session), self.further(plans, session), wanted)
        return {} if isinstance(found, FetchFailed) else found

    def sitemap_of(self, url: str, plans: Fetch, session: Session) -> str:
        """The sitemap of a page's site: the one that robots.txt names, else where it usually is."""
        request, place = request_of(self.settings, plans), robots.origin(url)
        named = self.hosts.sitemaps(url, _robots_getter(request, session, self.hosts), request.verify_tls)
        own = [sitemap for sitemap in named if sitemap.startswith(f"{place}/")]
        return (own or [f"{place}/sitemap.xml"])[0]

    def _gate(self, plans: Fetch, request: Request, session: Session) -> fetch.Gate:
        obey = not plans[0].watch.robots_reason
        get_robots = _robots_getter(request, session, self.hosts)
        return partial(self.hosts.gate, get_robots=get_robots, obey=obey, verified=request.verify_tls)


def open_web(
    settings: Settings,
    known: Mapping[str, RobotsRecord],
    pauses: Mapping[str, Pause],
    options: Namespace,
    deadline: float,
) -> Web:
    """The way out, as the environment describes it. `known` robots.txt files and `pauses` are from earlier runs."""
    force = getattr(options, "now", True)
    hosts = Politeness(settings, known, pauses, now=options.clock, deadline=deadline, override_backoff=force)
    return Web(settings, Client.of(options.environment, options.clock), hosts)


def hinted(fetches: Iterable[Fetch]) -> Mapping[str, frozenset[str]]:
    """The pages by origin of which a sitemap may say that they have not changed."""
    pages: dict[str, set[str]] = {}
    for plans in fetches:
        if plans[0].verified is not None:
            url = normalise_url(plans[0].watch.url)
            pages.setdefault(robots.origin(url), set()).add(url)
    return {place: frozenset(urls) for place, urls in pages.items()}


def share(plans: Iterable[Plan]) -> list[Fetch]:
    """The plans by fetch: watches that ask the same of one URL share it, without validators where theirs differ."""
    fetches: dict[object, list[Plan]] = {}
    for plan in plans:
        watch = plan.watch
        sent = (watch.headers, watch.body, watch.body_type, credentials(watch.url))
        key = (normalise_url(watch.url), sent, watch.verify_tls, watch.accept_status, bool(watch.robots_reason))
        fetches.setdefault(key, []).append(plan)
    return [tuple(shared) for shared in fetches.values()]


def request_of(settings: Settings, plans: Fetch) -> Request:
    """What is sent for watches that ask the same but for the condition."""
    watch, first = plans[0].watch, plans[0]
    same = all((plan.validators, plan.accept_encoding) == (first.validators, first.accept_encoding) for plan in plans)
    return Request(
        url=watch.url,
        user_agent=settings.user_agent,
        validators=first.validators if same else Validators(),
        headers=watch.headers,
        body=watch.body,
        body_type=watch.body_type,
        timeout=max(plan.watch.timeout for plan in plans),
        verify_tls=watch.verify_tls,
        accept_encoding=first.accept_encoding if same else "gzip, deflate",
        accept_status=watch.accept_status,
    )


def _robots_getter(request: Request, session: Session, hosts: Politeness) -> GetRobots:
    """Fetches a robots.txt as the page is fetched, but for what is the page's own."""

    def get_robots(url: str, validators: Validators) -> Answer:
        asked = replace(request, url=url, validators=validators, headers=(), body=None, body_type="")
        asked = replace(asked, accept=ROBOTS_ACCEPT, accept_encoding="gzip, deflate", accept_status=(200, 203))
        return fetch.ask(replace(asked, limit=robots.LIMIT, truncate=True), session, hosts.turn)

    return get_robots


def verify(web: Web, plan: Plan, links: Links, report: Callable[[Verified], object]) -> None:
    """Asks for the pages of records in a thread of its own, one after the other, for a while."""

    def work() -> None:
        fates: dict[str, str] = dict.fromkeys((key for key, _ in links), removals.UNKNOWN)
        end = time.monotonic() + LONGEST_VERIFYING
        try:
            with web.client.session() as session:
                ask = web.further((plan,), session)
                for key, link in links:
                    if time.monotonic() < end:
                        fates[key] = removals.fate(ask(link))
        finally:
            report(Verified(plan.watch.name, tuple(fates.items())))

    threading.Thread(target=work, daemon=True).start()


def side_by_side(web: Web, fetches: Iterable[Fetch], look: Callable[[Fetch, Session], None]) -> None:
    """Calls `look` for each fetch in threads that nobody needs to wait for: one host after another in each, one fetch
    after another."""
    tasks: dict[str, list[Fetch]] = {}
    for plans in fetches:
        tasks.setdefault(host_of(plans[0].watch.url), []).append(plans)
    waiting: queue.SimpleQueue[list[Fetch]] = queue.SimpleQueue()
    for task in tasks.values():
        waiting.put(task)

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                task = waiting.get_nowait()
                with web.client.session() as session:
                    for plans in task:
                        look(plans, session)

    for _ in range(min(MOST_THREADS, len(tasks))):
        threading.Thread(target=work, daemon=True).start()


def known_robots(fetches: Iterable[Fetch], get: Callable[[str], RobotsRecord | None]) -> Mapping[str, RobotsRecord]:
    """What earlier runs know of the origins that will be asked: the watches' own, and those where they were led."""
    plans = [plan for shared in fetches for plan in shared]
    urls = {plan.watch.url for plan in plans} | {
        plan.past.baseline.url for plan in plans if plan.past.baseline is not None
    }
    known = {place: get(place) for place in {robots.origin(url) for url in urls if url}}
    return {place: record for place, record in known.items() if record is not None}
