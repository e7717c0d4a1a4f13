"""Politeness: what an answer for robots.txt means, how long it is kept, turns and gaps, pauses, the deadline.

Clocks that move by `sleep` alone where time is only counted, real threads and real time where they could meet.
The names of the rows end in the numbers of the scenarios that they show.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from pagewatch.answers import Answer, Deferred, Disallowed, FetchFailed, Missing, NotModified, Validators, Verdict
from pagewatch.frozen import replace
from pagewatch.model import Pause, RobotsRecord
from pagewatch.politeness import Politeness, host_of
from pagewatch.robots import LIMIT
from tests.values import DAY, HOUR, MINUTE, SETTINGS, START, representation

HOST = "http://h"
PAGE = f"{HOST}/x"
ROBOTS = f"{HOST}/robots.txt"
BARRED = b"User-agent: *\nDisallow: /x\n"
TAGS = Validators('"r1"', "Mon, 02 Mar 2026 07:00:00 GMT", ROBOTS)


class Clock:
    """Stands still except when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds - 1000)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class Site:
    """Answers requests for robots.txt by URL, 404 where it knows none, and remembers what was asked."""

    def __init__(self, robots: Answer | None = None, **others: Answer) -> None:
        self.answers = {f"http://{name}/robots.txt": answer for name, answer in others.items()}
        if robots is not None:
            self.answers[ROBOTS] = robots
        self.asked: list[tuple[str, Validators]] = []

    def get(self, url: str, validators: Validators) -> Answer:
        self.asked.append((url, validators))
        return self.answers.get(url, Missing(404))


def rules(body: bytes, **keys: object) -> Answer:
    return representation(**{"url": ROBOTS, "body": body, "validators": Validators(), **keys})


def polite(
    clock: Clock,
    robots: Mapping[str, RobotsRecord] | None = None,
    pauses: Mapping[str, Pause] | None = None,
    *,
    gap: float = 0,
    ends_in: float = 900,
    **keys: Any,
) -> Politeness:
    settings = replace(SETTINGS, gap=timedelta(seconds=gap))
    keys = {"now": clock.now, "sleep": clock.sleep, "monotonic": clock.monotonic, **keys}
    return Politeness(settings, robots or {}, pauses or {}, deadline=clock.seconds + ends_in, **keys)


def ask(politeness: Politeness, url: str, site: Site, obey: bool = True) -> Answer | Verdict:
    with politeness.gate(url, site.get, obey) as answer:
        return answer


def pass_turn(politeness: Politeness, url: str) -> Deferred | None:
    with politeness.turn(url) as deferred:
        return deferred


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://H/x", "h"),
        ("https://h/", "h"),
        ("http://h:443", "h"),
        ("https://h:80", "h"),
        ("http://h:8080/x", "h:8080"),
        ("http://h:8443", "h:8443"),
        ("http://[::80]/", "[::80]"),
        ("http://[::1]:81/", "[::1]:81"),
        ("https://me:secret@h/", "h"),
    ],
)
def test_http_and_https_of_one_host_are_one_and_other_ports_are_others(url: str, host: str) -> None:
    assert host_of(url) == host


# ----------------------------------------------------------------------------- RFC 9309 §2.3.1: what an answer means

ALLOWED, FORBIDDEN = "allowed", "forbidden"


def failed(kind: str, **keys: object) -> FetchFailed:
    return FetchFailed(kind, "the cause", **keys)  # type: ignore[arg-type]


ANSWERS: dict[str, tuple[Answer, str]] = {
    "200 with a rule for us (rf-019, rf-025, rf-027 to rf-031, rf-035)": (rules(BARRED), FORBIDDEN),
    "200 with rules for others": (rules(b"User-agent: other\nDisallow: /\n"), ALLOWED),
    "200, the prefix of our token is not ours (rf-011)": (rules(b"User-agent: page\nDisallow: /\n"), ALLOWED),
    "200, our token in other case": (rules(b"User-agent: PageWatch\nDisallow: /\n"), FORBIDDEN),
    "200 and empty (rf-013)": (rules(b""), ALLOWED),
    "200 and empty, seen as a failure by the one who fetched (rf-013)": (failed("empty-body"), ALLOWED),
    "200 with comments only (rf-014)": (rules(b"# nothing\n\n# here\n"), ALLOWED),
    "200 with an HTML page (rf-015)": (rules(b"<!DOCTYPE html><p>User-agent: *<br>Disallow: /"), ALLOWED),
    "200 with a picture (rf-016)": (rules(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", media_type="image/png"), ALLOWED),
    "204 (rf-017)": (rules(b"", status=204), ALLOWED),
    "204 as a failure (rf-017)": (failed("http-204"), ALLOWED),
    "203 with rules: a proxy changed something": (rules(BARRED, status=203), FORBIDDEN),
    "200 in UTF-8 under another label (rf-020)": (
        rules("User-agent: *\nDisallow: /x\nDisallow: /ä".encode(), charset="iso-8859-1"),
        FORBIDDEN,
    ),
    "200 in UTF-16 (rf-024)": (rules("User-agent: *\nDisallow: /".encode("utf-16")), ALLOWED),
    "200 with rules that break URL parsers (rf-089)": (
        rules(b"User-agent: *\nDisallow: ftp://[x\nAllow: http://[\n\0\nDisallow: /x\n"),
        FORBIDDEN,
    ),
    "404 (rf-003, rf-056)": (Missing(404), ALLOWED),
    "410 (rf-050)": (Missing(410), ALLOWED),
    "400 (rf-047)": (failed("http-400"), ALLOWED),
    "401 (rf-053)": (failed("http-401"), ALLOWED),
    "403": (failed("http-403"), ALLOWED),
    "451 (rf-052)": (failed("http-451"), ALLOWED),
    "429 (rf-055)": (failed("rate-limited", pauses_host=True), "rate-limited"),
    "503 with Retry-After (rf-059)": (failed("rate-limited", retry_after=MINUTE, pauses_host=True), "rate-limited"),
    "403 with Retry-After": (failed("http-403", retry_after=MINUTE, pauses_host=True), "rate-limited"),
    "500 (rf-057, rf-063)": (failed("http-500"), "robots-unreachable"),
    "502 (rf-058)": (failed("http-502"), "robots-unreachable"),
    "503 (rf-059)": (failed("http-503", pauses_host=True), "robots-unreachable"),
    "504 (rf-060)": (failed("http-504"), "robots-unreachable"),
    "599 (rf-062)": (failed("http-599"), "robots-unreachable"),
    "302 that leads nowhere (rf-040)": (failed("http-302"), "robots-unreachable"),
    "302 to another scheme or in bad octets (rf-041, rf-042, rf-045)": (failed("bad-redirect"), "robots-unreachable"),
    "too many redirects (rf-033)": (failed("too-many-redirects"), "robots-unreachable"),
    "no certificate to trust (rf-046, rf-071)": (failed("tls", answered=False), "robots-unreachable"),
    "no such name (rf-066)": (failed("dns", answered=False), "robots-unreachable"),
    "no connection": (failed("connection", answered=False), "robots-unreachable"),
    "no answer in time (rf-068, rf-072)": (failed("timeout", answered=False), "robots-unreachable"),
    "a body cut off (rf-073)": (failed("incomplete-body"), "robots-unreachable"),
    "a body that cannot be decoded (rf-076)": (failed("content-decoding"), "robots-unreachable"),
    "a body without end, or a bomb (rf-085, rf-086)": (failed("too-large"), "robots-unreachable"),
    "304 without a copy, asked for twice (rf-095)": (failed("unexpected-304"), "robots-unreachable"),
    "304 without a copy, as such (rf-095)": (NotModified(TAGS), "robots-unreachable"),
    "something that is no answer": (Disallowed(ROBOTS, ROBOTS, "", 0), "robots-unreachable"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_for_robots_txt_means(name: str) -> None:
    answer, meaning = ANSWERS[name]
    clock = Clock()
    politeness = polite(clock)
    got = ask(politeness, PAGE, Site(answer))
    match got:
        case Verdict():
            assert (meaning, got.allowed) == (ALLOWED, True)
        case Disallowed():
            assert meaning == FORBIDDEN
        case FetchFailed():
            assert meaning == got.kind
        case _:
            pytest.fail(f"{got}")
    assert (HOST in politeness.learned) == (meaning in (ALLOWED, FORBIDDEN))


@pytest.mark.parametrize("kind", ["http-503", "timeout", "rate-limited"])
def test_a_failure_names_robots_txt_and_keeps_what_its_cause_said(kind: str) -> None:
    cause = FetchFailed(kind, "the cause", timedelta(seconds=7), answered=False, pauses_host=True)
    got = ask(polite(Clock()), PAGE, Site(cause))
    assert isinstance(got, FetchFailed)
    assert got.reason == "http://h/robots.txt could not be read: the cause"
    assert (got.retry_after, got.answered, got.pauses_host) == (timedelta(seconds=7), False, True)


def test_a_refusal_names_file_line_and_rule_without_secrets_and_takes_no_turn() -> None:
    clock, site = Clock(), Site(rules(BARRED))
    politeness = polite(clock, gap=5)
    url = "http://me:secret@h/x"
    assert ask(politeness, url, site) == Disallowed(url, ROBOTS, "Disallow: /x", 2)
    assert site.asked == [(ROBOTS, Validators())]
    assert ask(politeness, f"{HOST}/y", site) == Verdict(True, group="*")
    assert clock.slept == []


def test_robots_txt_may_be_ignored_and_is_not_even_asked_for() -> None:
    clock, site = Clock(), Site(rules(b"User-agent: *\nDisallow: /\nCrawl-delay: 30"))
    politeness = polite(clock, gap=2)
    assert [ask(politeness, PAGE, site, obey=False) for _ in range(2)] == [Verdict(True)] * 2
    assert (site.asked, clock.slept) == ([], [2])


def test_each_origin_has_rules_of_its_own() -> None:
    """rf-004, rf-036, rf-104: scheme, host and port make the authority, also of a redirect's target."""
    site = Site(**{"h:81": rules(BARRED)})
    politeness = polite(Clock())
    answers = [ask(politeness, url, site) for url in (PAGE, "http://h:81/x", "https://h/x", "http://h:80/x")]
    assert [type(answer) for answer in answers] == [Verdict, Disallowed, Verdict, Verdict]
    assert [url for url, _ in site.asked] == [ROBOTS, "http://h:81/robots.txt", "https://h/robots.txt"]


def test_rules_reached_by_redirect_are_those_of_the_origin_that_was_asked() -> None:
    """rf-035 and rf-036: the file may lie elsewhere, it speaks for h and not for its own host."""
    moved = rules(BARRED, url="http://other/r.txt")
    site = Site(moved)
    politeness = polite(Clock())
    assert isinstance(ask(politeness, PAGE, site), Disallowed)
    assert isinstance(ask(politeness, "http://other/x", site), Verdict)
    assert [url for url, _ in site.asked] == [ROBOTS, "http://other/robots.txt"]


# ----------------------------------------------------------------------------------- RFC 9309 §2.4: how long it is kept

KEPT_UNTIL_NOW = [timedelta(0), HOUR, 22 * HOUR - timedelta(seconds=1)]
OLD = [22 * HOUR, 25 * HOUR, 400 * DAY, -timedelta(seconds=1), -9 * DAY]


@pytest.mark.parametrize("age", KEPT_UNTIL_NOW, ids=str)
@pytest.mark.parametrize(("body", "expected"), [(BARRED, Disallowed), (b"", Verdict), (None, Verdict)])
def test_rules_of_an_earlier_run_hold_for_less_than_a_day(age: timedelta, body: bytes | None, expected: type) -> None:
    """rf-096, rf-098; nothing is asked for, and nothing is learned."""
    clock, site = Clock(), Site()
    politeness = polite(clock, {HOST: RobotsRecord(START - age, body, TAGS)})
    assert isinstance(ask(politeness, PAGE, site), expected)
    assert (site.asked, politeness.learned) == ([], {})


@pytest.mark.parametrize("age", OLD, ids=str)
@pytest.mark.parametrize("body", [b"User-agent: *\nAllow: /\n", None])
def test_an_old_record_or_one_from_the_future_is_asked_for_anew(age: timedelta, body: bytes | None) -> None:
    """rf-008, rf-090, rf-098: also where there was none, and where everything was forbidden."""
    clock, site = Clock(), Site(rules(BARRED, validators=TAGS))
    politeness = polite(clock, {HOST: RobotsRecord(START - age, body)})
    assert isinstance(ask(politeness, PAGE, site), Disallowed)
    assert politeness.learned == {HOST: RobotsRecord(START, BARRED, TAGS)}


def test_an_old_record_is_revalidated_and_a_304_keeps_its_rules() -> None:
    """rf-094; RFC 9111 §4.3.4: what the 304 repeats is replaced, the rest stays."""
    site = Site(NotModified(Validators('"r2"')))
    politeness = polite(Clock(), {HOST: RobotsRecord(START - 25 * HOUR, BARRED, TAGS)})
    assert isinstance(ask(politeness, PAGE, site), Disallowed)
    assert site.asked == [(ROBOTS, TAGS)]
    assert politeness.learned == {HOST: RobotsRecord(START, BARRED, replace(TAGS, etag='"r2"'))}


def test_a_304_to_a_request_without_validators_never_means_allow() -> None:
    """rf-095: a record of "there is none" is no copy either."""
    politeness = polite(Clock(), {HOST: RobotsRecord(START - 25 * HOUR, None)})
    got = ask(politeness, PAGE, Site(NotModified()))
    assert isinstance(got, FetchFailed)
    assert got.kind == "robots-unreachable"


def test_a_failure_counts_for_the_run_and_no_longer() -> None:
    """rf-080, and rf-059: asked once however many pages there are; an old copy does not stand in for it."""
    old = {HOST: RobotsRecord(START - 25 * HOUR, None)}
    site = Site(failed("http-503"))
    politeness = polite(Clock(), old)
    assert [type(ask(politeness, f"{HOST}/{page}", site)) for page in "abc"] == [FetchFailed] * 3
    assert (len(site.asked), politeness.learned) == (1, {})
    site.answers[ROBOTS] = rules(b"")
    assert isinstance(ask(polite(Clock(), old), PAGE, site), Verdict)


def test_what_a_run_learns_is_what_the_next_one_goes_by() -> None:
    site = Site(rules(BARRED))
    first = polite(Clock())
    ask(first, PAGE, site)
    assert isinstance(ask(polite(Clock(), first.learned), PAGE, site), Disallowed)
    assert len(site.asked) == 1


def test_a_long_robots_txt_is_kept_in_part() -> None:
    politeness = polite(Clock())
    body = BARRED + b"#\n" * LIMIT
    assert isinstance(ask(politeness, PAGE, Site(rules(body))), Disallowed)
    kept = politeness.learned[HOST].body
    assert kept is not None
    assert LIMIT - 2 <= len(kept) <= LIMIT


def test_deferred_for_robots_txt_is_deferred_for_the_page_and_forgotten() -> None:
    site = Site(Deferred("h", None, "later"))
    politeness = polite(Clock())
    assert ask(politeness, PAGE, site) == Deferred("h", None, "later")
    site.answers[ROBOTS] = Missing(404)
    assert isinstance(ask(politeness, PAGE, site), Verdict)


def test_a_bug_while_asking_leaves_no_lock_behind() -> None:
    politeness = polite(Clock())

    def broken(url: str, validators: Validators) -> Answer:
        raise LookupError(url)

    for _ in range(2):
        with pytest.raises(LookupError), politeness.gate(PAGE, broken):
            pass
    assert isinstance(ask(politeness, PAGE, Site()), Verdict)


# --------------------------------------------------------------------------------------------- turns, gaps, Crawl-delay


def takes(clock: Clock, seconds: float, turn: Callable[[], Any]) -> None:
    """A request that lasts."""
    with turn() as deferred:
        assert not isinstance(deferred, Deferred)
        clock.seconds += seconds


def test_the_gap_counts_from_the_end_of_the_last_request_to_the_host() -> None:
    clock = Clock()
    politeness = polite(clock, gap=5)
    takes(clock, 30, lambda: politeness.turn(PAGE))
    takes(clock, 30, lambda: politeness.turn(ROBOTS))
    clock.seconds += 3
    takes(clock, 0, lambda: politeness.turn("https://h/x"))
    takes(clock, 0, lambda: politeness.turn("http://h:81/x"))
    clock.seconds += 9
    takes(clock, 0, lambda: politeness.turn(PAGE))
    assert clock.slept == [5, 2]


def test_the_gap_counts_after_a_request_that_broke_off() -> None:
    clock = Clock()
    politeness = polite(clock, gap=5)
    with pytest.raises(LookupError), politeness.turn(PAGE):
        raise LookupError
    assert pass_turn(politeness, PAGE) is None
    assert clock.slept == [5]


def test_robots_txt_takes_its_turn_before_the_page_takes_its_own() -> None:
    """The host must not be held while its robots.txt is fetched: this would wait for itself."""
    clock = Clock()
    politeness = polite(clock, gap=1)
    order: list[str] = []

    def get(url: str, validators: Validators) -> Answer:
        for hop in (url, "https://h/robots.txt", "http://other/robots.txt"):
            with politeness.turn(hop) as deferred:
                assert deferred is None
                order.append(hop)
        return rules(b"")

    with politeness.gate(PAGE, get) as verdict:
        order.append(PAGE)
        assert verdict == Verdict(True)
    assert order == [ROBOTS, "https://h/robots.txt", "http://other/robots.txt", PAGE]
    assert clock.slept == [1, 1]


def slow(crawl_delay: str) -> Site:
    return Site(rules(f"User-agent: *\nCrawl-delay: {crawl_delay}\n".encode()))


@pytest.mark.parametrize(
    ("crawl_delay", "gap", "pause"),
    [
        ("5", 1, [5, 5]),
        ("5", 8, [8, 8]),
        ("0", 1, [1, 1]),
        ("0.5", 0, [0.5, 0.5]),
        ("86400", 1, [60, 60]),
        ("60", 90, [90, 90]),
        ("nan", 1, [1, 1]),
        ("inf", 1, [1, 1]),
        ("-1", 1, [1, 1]),
        ("1e999", 1, [1, 1]),
        ("abc", 1, [1, 1]),
        ("", 1, [1, 1]),
    ],
)
def test_pages_keep_the_larger_of_gap_and_crawl_delay_but_at_most_a_minute_of_that(
    crawl_delay: str, gap: float, pause: list[float]
) -> None:
    """rf-099, rf-101."""
    clock, site = Clock(), slow(crawl_delay)
    politeness = polite(clock, gap=gap)
    for page in "abc":
        assert isinstance(ask(politeness, f"{HOST}/{page}", site), Verdict)
    assert clock.slept == pause


def test_a_crawl_delay_in_the_group_of_others_is_not_for_us() -> None:
    """rf-103."""
    clock, site = Clock(), Site(rules(b"User-agent: other\nCrawl-delay: 5\n\nUser-agent: *\nDisallow:\n"))
    politeness = polite(clock, gap=1)
    for page in "ab":
        ask(politeness, f"{HOST}/{page}", site)
    assert clock.slept == [1]


def test_a_crawl_delay_stands_between_pages_not_between_robots_txt_and_a_page() -> None:
    clock, site = Clock(), slow("30")
    politeness = polite(clock, gap=1)
    assert pass_turn(politeness, ROBOTS) is None
    ask(politeness, PAGE, site)
    assert pass_turn(politeness, "https://h/robots.txt") is None
    ask(politeness, PAGE, site)
    assert clock.slept == [1, 1, 29]


# ------------------------------------------------------------------------------------------------- pauses, the deadline

LATER = START + 10 * MINUTE
ASKED, BACK_OFF = Pause(LATER, asked=True), Pause(LATER, asked=False)


@pytest.mark.parametrize(
    ("pause", "now", "reason"),
    [
        (ASKED, False, "h asked for a pause (Retry-After)"),
        (ASKED, True, "h asked for a pause (Retry-After)"),
        (BACK_OFF, False, "h is being backed off from"),
        (BACK_OFF, True, None),
        (replace(ASKED, until=START), False, None),
        (replace(ASKED, until=START + 31 * DAY), False, None),
    ],
    ids=["asked", "asked, --now", "back-off", "back-off, --now", "over", "by a clock that was wrong"],
)
def test_a_paused_host_is_not_asked_for_anything(pause: Pause, now: bool, reason: str | None) -> None:
    clock, site = Clock(), slow("9")
    politeness = polite(clock, pauses={"h": pause}, override_backoff=now)
    expected = Deferred("h", LATER, reason) if reason else None
    assert pass_turn(politeness, PAGE) == expected
    assert ask(politeness, "https://h/x", site, obey=False) == (expected or Verdict(True))
    assert pass_turn(politeness, "http://h:81/") is None
    assert pass_turn(politeness, "http://other/") is None
    assert clock.slept == []


def test_a_pause_that_comes_during_the_run_holds_even_where_now_overrides_older_ones() -> None:
    politeness = polite(Clock(), pauses={"h": BACK_OFF}, override_backoff=True)
    assert pass_turn(politeness, PAGE) is None
    politeness.pause("h", replace(BACK_OFF, until=START + MINUTE))
    assert pass_turn(politeness, PAGE) == Deferred("h", START + MINUTE, "h is being backed off from")


def test_of_several_pauses_the_longest_holds() -> None:
    politeness = polite(Clock())
    for minutes, asked, longest in (
        (2, True, 2),
        (5, True, 5),
        (3, True, 5),
        (7, False, 7),
        (1, False, 7),
        (8, True, 8),
    ):
        politeness.pause("h", Pause(START + minutes * MINUTE, asked))
        deferred = pass_turn(politeness, PAGE)
        assert deferred is not None
        assert deferred.until == START + longest * MINUTE


def test_a_pause_by_a_clock_that_was_wrong_does_not_hide_a_later_one() -> None:
    politeness = polite(Clock(), pauses={"h": replace(ASKED, until=START + 31 * DAY)})
    politeness.pause("h", ASKED)
    assert pass_turn(politeness, PAGE) == Deferred("h", LATER, "h asked for a pause (Retry-After)")


def test_a_pause_ends() -> None:
    clock = Clock()
    politeness = polite(clock, pauses={"h": ASKED})
    clock.seconds += 600
    assert pass_turn(politeness, PAGE) is None


def test_a_pause_that_begins_while_waiting_for_the_gap_is_kept() -> None:
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        politeness.pause("h", ASKED)

    politeness = polite(clock, gap=5, sleep=sleep)
    assert pass_turn(politeness, PAGE) is None
    assert isinstance(pass_turn(politeness, PAGE), Deferred)
    assert isinstance(pass_turn(politeness, PAGE), Deferred)
    assert clock.slept == [5]


OVER = Deferred("h", None, "the time of this run is over")


def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    clock, site = Clock(), slow("20")
    politeness = polite(clock, gap=5, ends_in=20)
    assert isinstance(ask(politeness, PAGE, site), Verdict)
    clock.seconds += 3
    assert ask(politeness, PAGE, site) == OVER
    assert pass_turn(politeness, PAGE) is None
    assert clock.slept == [2]


def test_after_the_deadline_nothing_is_asked_for() -> None:
    clock, site = Clock(), Site()
    politeness = polite(clock, ends_in=0)
    assert ask(politeness, PAGE, site) == OVER
    assert ask(politeness, PAGE, site, obey=False) == OVER
    assert pass_turn(politeness, PAGE) == OVER
    assert site.asked == []


def test_a_run_without_a_deadline_waits_for_its_turn() -> None:
    assert pass_turn(polite(Clock(), ends_in=float("inf")), PAGE) is None


def test_an_interrupted_wait_leaves_no_lock_behind() -> None:
    clock = Clock()
    interrupts = [True]

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if interrupts.pop():
            raise KeyboardInterrupt

    politeness = polite(clock, gap=5, sleep=sleep)
    pass_turn(politeness, PAGE)
    with pytest.raises(KeyboardInterrupt), politeness.turn(PAGE):
        pass
    interrupts[:] = [False]
    assert pass_turn(politeness, PAGE) is None


# ------------------------------------------------------------------------------------------------------- real threads

GAP = 0.03


def threaded(gap: float = GAP, seconds: float = 20, **keys: Any) -> Politeness:
    settings = replace(SETTINGS, gap=timedelta(seconds=gap))
    return Politeness(settings, {}, {}, now=lambda: START, deadline=time.monotonic() + seconds, **keys)


def together(*tasks: Callable[[], object]) -> None:
    """Run all at once, to the end; what one of them raises is raised here."""
    ready, raised = threading.Barrier(len(tasks)), list[BaseException]()

    def run(task: Callable[[], object]) -> None:
        try:
            ready.wait(10)
            task()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    for error in raised:
        raise error


class Server:
    """Requests that last 10 ms each, with their beginning and end."""

    def __init__(self, politeness: Politeness, body: bytes = b"") -> None:
        self.politeness = politeness
        self.body = body
        self.requests: list[tuple[float, float, str]] = []

    def receive(self, url: str) -> None:
        begun = time.monotonic()
        time.sleep(0.01)
        self.requests.append((begun, time.monotonic(), url))

    def get_robots(self, url: str, validators: Validators) -> Answer:
        with self.politeness.turn(url) as deferred:
            if deferred is not None:
                return deferred
            self.receive(url)
        return rules(self.body)

    def get(self, url: str) -> None:
        with self.politeness.gate(url, self.get_robots) as verdict:
            assert isinstance(verdict, Verdict)
            self.receive(url)


def test_many_threads_ask_one_host_one_at_a_time_with_gaps_and_for_robots_txt_once_and_first() -> None:
    """rf-007, ht-276."""
    server = Server(threaded())
    together(*(lambda n=n: server.get(f"{'https' if n % 2 else 'http'}://h/{n}") for n in range(8)))
    assert sorted(url for _, _, url in server.requests if url.endswith("robots.txt")) == [
        ROBOTS,
        "https://h/robots.txt",
    ]
    assert len(server.requests) == 10
    served = sorted(server.requests)
    for (_, ended, _), (begun, _, _) in pairwise(served):
        assert begun - ended >= GAP - 0.005
    for scheme in ("http:", "https:"):
        first = next(url for _, _, url in served if url.startswith(scheme))
        assert first.endswith("/robots.txt")


def test_threads_keep_a_crawl_delay_too() -> None:
    server = Server(threaded(gap=0), b"User-agent: *\nCrawl-delay: 0.05\n")
    together(*(lambda n=n: server.get(f"{HOST}/{n}") for n in range(4)))
    pages = sorted(request for request in server.requests if request[2] != ROBOTS)
    assert len(pages) == 4
    for (_, ended, _), (begun, _, _) in pairwise(pages):
        assert begun - ended >= 0.045


def test_two_hosts_are_asked_side_by_side() -> None:
    politeness = threaded()
    meeting = threading.Barrier(3)

    def get(url: str) -> None:
        with politeness.gate(url, Site().get) as verdict:
            assert isinstance(verdict, Verdict)
            meeting.wait(5)

    together(*(lambda url=url: get(url) for url in (PAGE, "http://h:81/x", "http://other/x")))


def test_robots_txt_of_two_origins_are_asked_for_side_by_side() -> None:
    politeness = threaded()
    meeting = threading.Barrier(2)

    def get_robots(url: str, validators: Validators) -> Answer:
        meeting.wait(5)
        return Missing(404)

    def get(url: str) -> None:
        with politeness.gate(url, get_robots) as verdict:
            assert isinstance(verdict, Verdict)

    together(lambda: get(PAGE), lambda: get("http://other/x"))


def test_a_failed_robots_txt_is_the_answer_for_all_who_waited_for_it() -> None:
    politeness = threaded()
    asked, answers = list[str](), list[object]()

    def get_robots(url: str, validators: Validators) -> Answer:
        asked.append(url)
        time.sleep(0.05)
        return failed("timeout", answered=False)

    def get() -> None:
        with politeness.gate(PAGE, get_robots) as answer:
            answers.append(answer)

    together(*[get] * 5)
    assert asked == [ROBOTS]
    assert len(answers) == 5
    assert {answer.kind for answer in answers if isinstance(answer, FetchFailed)} == {"robots-unreachable"}


def test_who_waits_for_a_turn_gives_up_at_the_deadline() -> None:
    politeness = threaded(seconds=0.3)
    taken, answers = threading.Event(), list[object]()

    def holds() -> None:
        with politeness.turn(PAGE):
            taken.set()
            time.sleep(1)

    def waits() -> None:
        taken.wait(5)
        begun = time.monotonic()
        answers.append(pass_turn(politeness, PAGE))
        answers.append(time.monotonic() - begun < 0.9)

    together(holds, waits)
    assert answers == [OVER, True]


def test_who_waits_for_robots_txt_gives_up_at_the_deadline() -> None:
    politeness = threaded(seconds=0.3)
    asked, answers = threading.Event(), list[object]()

    def get_robots(url: str, validators: Validators) -> Answer:
        asked.set()
        time.sleep(1)
        return Missing(404)

    def asks() -> None:
        with politeness.gate(PAGE, get_robots):
            pass

    def waits() -> None:
        asked.wait(5)
        begun = time.monotonic()
        with politeness.gate(f"{HOST}/y", get_robots) as answer:
            answers.append(answer)
        answers.append(time.monotonic() - begun < 0.9)

    together(asks, waits)
    assert answers == [OVER, True]


def test_a_pause_reaches_those_who_already_wait_for_their_turn() -> None:
    politeness = threaded(gap=60)
    taken, answers = threading.Event(), list[object]()

    def is_told_to_wait() -> None:
        with politeness.turn(PAGE):
            taken.set()
            time.sleep(0.1)
            politeness.pause("h", ASKED)

    def waits() -> None:
        taken.wait(5)
        answers.append(pass_turn(politeness, PAGE))

    together(is_told_to_wait, waits, waits)
    assert answers == [Deferred("h", LATER, "h asked for a pause (Retry-After)")] * 2


def test_nobody_waits_for_the_turn_of_a_host_that_is_paused() -> None:
    politeness = threaded()
    with politeness.turn(PAGE):
        politeness.pause("h", ASKED)
        begun = time.monotonic()
        assert isinstance(pass_turn(politeness, PAGE), Deferred)
        assert time.monotonic() - begun < 5


def test_redirects_that_cross_do_not_wait_for_each_other() -> None:
    """Each hop has a gate of its own, entered when the last one has been left."""
    server = Server(threaded(gap=0))
    a, b = "http://a/x", "http://b/x"

    def follow(*hops: str) -> None:
        for hop in hops * 5:
            server.get(hop)

    together(lambda: follow(a, b), lambda: follow(b, a))
    assert len(server.requests) == 22
