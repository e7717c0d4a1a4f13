"""One look, from the octets that arrive at a server to the value that comes back; ht-… and rf-… number scenarios."""

from __future__ import annotations

import gzip
import queue
import random
import re
import socket
import ssl
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

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
from pagewatch.connections import Client, Session
from pagewatch.fetch import Gate, Request, ask, content_length
from pagewatch.sockets import Limits
from tests.site import CA, EXPIRED, SERVER, Line, Reply, Site, answer, chunked, cut, reset, silence

AGENT = "pagewatch/1.0 (+me@example.org)"
PAGE = b"<p>20 dollars</p>"
TAG = 'ETag: "a"'
DATE = "Last-Modified: Mon, 05 Jan 2026 10:00:00 GMT"
CHUNKED = "Transfer-Encoding: chunked"
NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
LIMIT = 100_000


def go_ahead(url: str) -> AbstractContextManager[None]:
    return nullcontext()


def resolve(host: str, port: int, *rest: Any) -> Any:
    """Every name is this machine's, but for those that nobody has."""
    if host.endswith(".invalid"):
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    return socket.getaddrinfo("127.0.0.1", port, *rest)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def other() -> Iterator[Site]:
    """A site of another origin."""
    with Site() as site:
        yield site


@pytest.fixture
def secure() -> Iterator[Site]:
    with Site(tls=SERVER) as site:
        yield site


@pytest.fixture
def session() -> Iterator[Session]:
    with Client(ca_bundle=str(CA), resolve=resolve, now=lambda: NOW).session() as session:
        yield session


Look = Callable[..., Answer]


@pytest.fixture
def look(session: Session) -> Look:
    """`look(url, validators=…, gate=…)`: a look with short patience. No reason ever shows what a URL holds."""

    def look(url: str, *, gate: Gate = go_ahead, **settings: Any) -> Answer:
        settings = {"user_agent": AGENT, "timeout": 2.0, "limit": LIMIT, **settings}
        result = ask(Request(url=url, **settings), session, gate)
        if isinstance(result, FetchFailed):
            assert "127.0.0.1" not in result.reason and "sesame" not in result.reason
        return result

    return look


def full(result: Answer) -> Representation:
    assert isinstance(result, Representation), result
    return result


def failed(result: Answer, kind: str) -> FetchFailed:
    assert isinstance(result, FetchFailed), result
    assert result.kind == kind
    return result


def twice(site: Site, look: Look, *replies: Reply, path: str = "/a") -> tuple[Representation, Answer]:
    """A first look, and one with the validators that it brought."""
    site.script(path, *replies)
    first = full(look(site.url + path))
    return first, look(site.url + path, validators=first.validators)


# ----------------------------------------------------------------------------------------------------- what is sent


def test_a_first_look_sends_what_is_needed_and_nothing_else_ht_267(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    assert full(look(site.url + "/a")).body == PAGE
    assert site.requests[0].head == (
        b"GET /a HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: pagewatch/1.0 (+me@example.org)\r\n"
        b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
        b"Accept-Encoding: gzip, deflate\r\n"
        b"\r\n" % site.port
    )


def test_one_look_is_one_request_ht_268(site: Site, look: Look) -> None:
    twice(site, look, answer(PAGE, TAG), answer(status=304))
    assert len(site.requests) == 2


TAGS = {
    "ht-001 strong": '"abc-123"',
    "ht-003 an empty tag": '""',
    "ht-006 weak in lower case": 'w/"abc"',
    "ht-007 single quotes": "'abc'",
    "ht-008 a comma": '"a,b"',
    "ht-011 a semicolon and an equals sign": '"a;b=c"',
    "ht-013 UTF-8": '"\xc3\xbc"',
    "ht-014 Apache's suffix": '"3580-647a-gzip"',
    "weak": 'W/"abc"',
    "no quotes": "abc",
    "a backslash and a tab": '"a\\\tb"',
    "Latin-1 and C1": '"\xe4\x85\xff"',
}


@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)
def test_an_etag_goes_back_octet_for_octet(site: Site, look: Look, tag: str) -> None:
    first, second = twice(site, look, answer(PAGE, f"ETag: {tag}"), answer(status=304))
    assert site.requests[1].field("If-None-Match") == tag.encode("latin-1")
    assert first.validators == Validators(tag, "", site.url + "/a")
    assert isinstance(second, NotModified)


@pytest.mark.parametrize(
    "lines",
    [["ETag:"], ['ETag: "a"', 'ETag: "b"'], ["ETag: *"], ["ETag: " + "x" * 9000]],
    ids=["ht-016 empty", "ht-018 two", "a star", "ht-021 9000 characters"],
)
def test_an_etag_that_cannot_go_back_does_not_and_the_date_does(site: Site, look: Look, lines: list[str]) -> None:
    twice(site, look, answer(PAGE, *lines, DATE))
    assert site.requests[1].fields("If-None-Match") == []
    assert site.requests[1].field("If-Modified-Since") == DATE.removeprefix("Last-Modified: ").encode()


def test_a_folded_etag_brings_no_line_end_into_a_request_ht_019(site: Site, look: Look) -> None:
    twice(site, look, answer(PAGE, 'ETag: "a\r\n b"'))
    assert site.requests[1].field("If-None-Match") == b'"a b"'
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", site.requests[1].head)


def test_white_space_around_an_etag_is_no_part_of_it_ht_022(site: Site, look: Look) -> None:
    twice(site, look, answer(PAGE, 'ETag:\t "a" \t'))
    assert site.requests[1].field("If-None-Match") == b'"a"'


@pytest.mark.parametrize("value", ['"a"\r\nX-Evil: 1', "*", '"\u2192"', '"a"\0'], ids=repr)
def test_a_validator_that_was_tampered_with_is_not_sent_ht_020(site: Site, look: Look, value: str) -> None:
    site.script("/a", answer(PAGE))
    result = full(look(site.url + "/a", validators=Validators(value, value, site.url + "/a")))
    assert site.requests[0].fields("If-None-Match") == site.requests[0].fields("If-Modified-Since") == []
    assert not result.conditional


VALIDATORS = {
    "ht-024 both": ([TAG, DATE], b'"a"', b"Mon, 05 Jan 2026 10:00:00 GMT"),
    "ht-025 the date only": ([DATE], None, b"Mon, 05 Jan 2026 10:00:00 GMT"),
    "ht-026 the tag only": ([TAG], b'"a"', None),
    "ht-027 neither": ([], None, None),
    "ht-028 no date is made from Date": (["Date: Mon, 02 Mar 2026 08:00:00 GMT"], None, None),
    "ht-029 an rfc850-date": (
        ["Last-Modified: Monday, 05-Jan-26 10:00:00 GMT"],
        None,
        b"Monday, 05-Jan-26 10:00:00 GMT",
    ),
    "ht-029 an asctime-date": (["Last-Modified: Mon Jan  5 10:00:00 2026"], None, b"Mon Jan  5 10:00:00 2026"),
}


@pytest.mark.parametrize(("lines", "tag", "date"), VALIDATORS.values(), ids=VALIDATORS)
def test_validators(site: Site, look: Look, lines: list[str], tag: bytes | None, date: bytes | None) -> None:
    _, second = twice(site, look, answer(PAGE, *lines))
    assert site.requests[1].field("If-None-Match") == tag
    assert site.requests[1].field("If-Modified-Since") == date
    assert full(second).conditional is bool(tag or date)


def test_a_full_answer_brings_its_own_validators_only_ht_032_ht_034_ht_061(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, TAG, DATE), answer(b"other", "Last-Modified: yesterday"))
    assert full(second).validators == Validators("", "yesterday", site.url + "/a")


def test_the_same_tag_with_the_whole_page_is_noticed_ht_059(site: Site, look: Look) -> None:
    first, second = twice(site, look, answer(PAGE, TAG))
    assert not first.repeated_etag and not first.conditional
    assert full(second).repeated_etag and full(second).conditional and full(second).digest == first.digest


def test_another_tag_is_not_a_repeated_one(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, TAG), answer(PAGE, 'ETag: "b"'))
    assert not full(second).repeated_etag and full(second).conditional


def test_user_agent_and_codings_are_the_same_each_time_ht_073_ht_074_ht_128_rf_009(site: Site, look: Look) -> None:
    twice(site, look, answer(PAGE, TAG, "Vary: User-Agent, Accept-Language, Accept-Encoding"))
    first, second = site.requests
    for name in ("User-Agent", "Accept", "Accept-Encoding", "Accept-Language"):
        assert first.fields(name) == second.fields(name)
    assert first.field("Accept-Encoding") == b"gzip, deflate"


def test_identity_is_asked_for_and_gzip_read_all_the_same_ht_071(site: Site, look: Look) -> None:
    site.script("/a", answer(gzip.compress(PAGE), "Content-Encoding: gzip"))
    result = full(look(site.url + "/a", accept_encoding="identity"))
    assert site.requests[0].field("Accept-Encoding") == b"identity"
    assert result.body == PAGE and result.content_encoding == "gzip"
    assert len(site.requests) == 1


def test_the_users_headers_are_sent_and_come_before_ours(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    headers = (("accept", "text/plain"), ("Accept-Language", "de"), ("X-Key", "sesamé"), ("Cookie", "a=b"))
    look(site.url + "/a", headers=headers)
    sent = site.requests[0]
    assert sent.field("Accept") == b"text/plain" and sent.field("Accept-Language") == b"de"
    assert sent.field("X-Key") == "sesamé".encode() and sent.field("Cookie") == b"a=b"


@pytest.mark.parametrize("name", ["If-None-Match", "if-modified-since", "Accept-Encoding", "Content-Length"])
def test_the_users_headers_do_not_replace_what_the_look_depends_on(site: Site, look: Look, name: str) -> None:
    site.script("/a", answer(PAGE))
    look(site.url + "/a", headers=((name, "5"),))
    assert site.requests[0].field(name) == (b"gzip, deflate" if name == "Accept-Encoding" else None)


def test_a_password_in_the_url_is_sent_and_is_no_part_of_the_url(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    result = full(look(f"http://me:sesame@127.0.0.1:{site.port}/a"))
    assert site.requests[0].field("Authorization") == b"Basic bWU6c2VzYW1l"
    assert result.url == result.validators.url == site.url + "/a"


def test_an_authorization_header_wins_over_the_password_in_the_url(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    look(f"http://me:sesame@127.0.0.1:{site.port}/a", headers=(("Authorization", "Bearer x"),))
    assert site.requests[0].field("Authorization") == b"Bearer x"


def test_netrc_is_not_read_ht_269(site: Site, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password sesame\ndefault login me password sesame\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    site.script("/a", answer(PAGE))
    look(site.url + "/a")
    assert site.requests[0].fields("Authorization") == []


def test_proxies_of_the_environment_are_not_read(site: Site, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    site.script("/a", answer(PAGE))
    assert full(look(f"http://shop.example:{site.port}/a")).body == PAGE


def test_no_cookie_is_kept_between_looks_ht_130_ht_270(site: Site, look: Look) -> None:
    twice(site, look, answer(PAGE, TAG, "Set-Cookie: a=b; Path=/", "Vary: Cookie"))
    assert site.requests[1].fields("Cookie") == []


def test_a_fragment_is_not_sent_ht_272(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    assert full(look(site.url + "/a#b")).url == site.url + "/a"


SENT = {
    "/a b?c d": "/a%20b?c%20d",
    "/ä?ö=ü": "/%C3%A4?%C3%B6=%C3%BC",
    "/%70rivate/a": "/private/a",
    "/x/../private/a": "/private/a",
    "/x/%2e%2e/private/a": "/private/a",
    "/100%/50%20": "/100%25/50%20",
    "//a//?b[]=|": "//a//?b%5B%5D=%7C",
    "/a%2fb": "/a%2Fb",
    "/;a=b,c!$&'()*+@:": "/;a=b,c!$&'()*+@:",
    "": "/",
}


@pytest.mark.parametrize(("written", "target"), SENT.items(), ids=SENT)
def test_what_is_sent_is_what_the_gate_was_asked_for_ht_273_rf_107_rf_108(
    site: Site, look: Look, written: str, target: str
) -> None:
    asked = []

    def gate(url: str) -> AbstractContextManager[None]:
        asked.append(url)
        return nullcontext()

    look(site.url + written, gate=gate)
    assert [request.target for request in site.requests] == [target]
    assert asked == [site.url + target]


def test_a_host_with_umlauts_is_sent_in_ascii_ht_273(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    result = full(look(f"http://bücher.example:{site.port}/a"))
    assert site.requests[0].field("Host") == b"xn--bcher-kva.example:%d" % site.port
    assert result.url == f"http://xn--bcher-kva.example:{site.port}/a"


@pytest.mark.parametrize("url", ["http://", "nonsense", "ftp://example.org/sesame", "http://a b/sesame"])
def test_a_url_that_cannot_be_used_is_the_users_fault(look: Look, url: str) -> None:
    assert not failed(look(url), "config").answered


# ------------------------------------------------------------------------------------------------------- not modified


def test_a_304_says_what_it_repeats_ht_048_ht_049(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, TAG, DATE), answer(b"", "Last-Modified: later", TAG, status=304))
    assert second == NotModified(Validators('"a"', "later", site.url + "/a"))


def test_a_304_that_repeats_nothing_erases_nothing(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, TAG, DATE), answer(status=304))
    assert isinstance(second, NotModified) and not second.validators


def test_a_304_brings_new_freshness_ht_050(site: Site, look: Look) -> None:
    replies = answer(PAGE, TAG), answer(b"", "Cache-Control: max-age=60", status=304)
    _, second = twice(site, look, *replies)
    assert isinstance(second, NotModified) and second.fresh_for == timedelta(seconds=60)


def test_a_304_may_repeat_the_tag_in_another_form_ht_052_ht_053(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, 'ETag: W/"x"'), answer(b"", 'ETag: "x"', status=304))
    assert isinstance(second, NotModified) and second.validators.etag == '"x"'


def test_a_304_that_nobody_asked_for_is_asked_again_once_ht_056_rf_095(site: Site, look: Look) -> None:
    site.script("/a", answer(status=304), answer(PAGE, TAG))
    assert full(look(site.url + "/a")).body == PAGE
    assert [request.fields("If-None-Match") for request in site.requests] == [[], []]


def test_a_304_again_is_a_failure_ht_056_rf_095(site: Site, look: Look) -> None:
    site.script("/a", answer(status=304))
    assert failed(look(site.url + "/a"), "unexpected-304").answered
    assert len(site.requests) == 2


def test_one_look_asks_again_once_whichever_hop_it_is(site: Site, look: Look) -> None:
    site.script("/a", answer(status=304), redirect("/b"))
    site.script("/b", answer(status=304))
    failed(look(site.url + "/a"), "unexpected-304")
    assert [request.target for request in site.requests] == ["/a", "/a", "/b"]


def test_octets_behind_a_304_disturb_nothing_ht_057(site: Site, look: Look) -> None:
    behind = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"
    _, second = twice(site, look, answer(PAGE, TAG), behind, answer(b"next"))
    assert isinstance(second, NotModified)
    assert full(look(site.url + "/a")).body == b"next"


def test_octets_that_come_late_behind_a_304_disturb_nothing_ht_057(site: Site, look: Look) -> None:
    def late(line: Line) -> None:
        line.send(answer(b"", "Content-Length: 5", status=304))
        rest = b""
        while b"\r\n\r\n" not in rest:  # the next request is under way when they come
            rest += line.sock.recv(1000)
        line.send(b"hello")
        line.close()

    _, second = twice(site, look, answer(PAGE, TAG), late, answer(b"next"))
    assert isinstance(second, NotModified)
    assert full(look(site.url + "/a")).body == b"next"


def test_a_304_with_the_headers_of_a_body_has_none_ht_058(site: Site, look: Look) -> None:
    lines = "Content-Encoding: gzip", "Content-Type: application/pdf", "Content-Length: 5000"
    _, second = twice(site, look, answer(PAGE, TAG), answer(b"", *lines, status=304))
    assert isinstance(second, NotModified)
    site.script("/a", answer(PAGE))
    assert full(look(site.url + "/a")).body == PAGE
    assert site.connections == 1


@pytest.mark.parametrize("status", [400, 412, 413, 431])
def test_validators_that_are_refused_are_left_out_once_ht_021_ht_064_ht_065(
    site: Site, look: Look, status: int
) -> None:
    _, second = twice(site, look, answer(PAGE, TAG, DATE), answer(status=status), answer(b"other", 'ETag: "b"'))
    assert full(second).body == b"other" and not full(second).conditional
    assert site.requests[2].fields("If-None-Match") == site.requests[2].fields("If-Modified-Since") == []


def test_a_refusal_without_validators_is_an_error(site: Site, look: Look) -> None:
    _, second = twice(site, look, answer(PAGE, TAG), answer(status=412))
    failed(second, "http-412")
    assert len(site.requests) == 3


# ---------------------------------------------------------------------------------------------------------- redirects


def redirect(location: str, status: int = 302, *lines: str) -> bytes:
    return answer(b"", f"Location: {location}", *lines, status=status)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308], ids=lambda status: f"rf-027..031 {status}")
def test_redirects_are_followed(site: Site, look: Look, status: int) -> None:
    site.script("/a", redirect("/b", status))
    site.script("/b", answer(PAGE, TAG))
    result = full(look(site.url + "/a"))
    assert (result.url, result.body) == (site.url + "/b", PAGE)
    assert result.moved_to == (site.url + "/b" if status in (301, 308) else "")
    assert [request.target for request in site.requests] == ["/a", "/b"]


def test_a_redirects_own_validators_are_never_sent_ht_038(site: Site, look: Look) -> None:
    site.script("/a", redirect("/b", 302, 'ETag: "r"'))
    site.script("/b", answer(PAGE, 'ETag: "t"'), answer(status=304))
    first = full(look(site.url + "/a"))
    assert isinstance(look(site.url + "/a", validators=first.validators), NotModified)
    assert [request.fields("If-None-Match") for request in site.requests] == [[], [], [], [b'"t"']]


def test_validators_go_to_the_url_that_gave_them_and_to_no_other_ht_076_ht_077(site: Site, look: Look) -> None:
    site.script("/b", answer(b"other", "Last-Modified: earlier"))
    _, second = twice(site, look, answer(PAGE, TAG, DATE), redirect("/b"))
    assert full(second).body == b"other" and not full(second).conditional
    assert site.to("/a")[1].field("If-None-Match") == b'"a"'
    assert site.to("/b")[0].fields("If-None-Match") == site.to("/b")[0].fields("If-Modified-Since") == []


def test_another_redirect_target_gets_no_validators_ht_078_ht_079(site: Site, look: Look) -> None:
    site.script("/b", answer(PAGE, TAG))
    site.script("/c", answer(PAGE, TAG))
    _, second = twice(site, look, redirect("/b"), redirect("/c"))
    assert full(second).url == site.url + "/c"
    assert site.to("/c")[0].fields("If-None-Match") == []


def test_a_permanent_redirect_is_told_and_followed_each_time_ht_080(site: Site, look: Look) -> None:
    site.script("/b", answer(PAGE, TAG), answer(status=304))
    first, second = twice(site, look, redirect("/b", 301))
    assert isinstance(second, NotModified)
    assert first.moved_to == second.moved_to == site.url + "/b"
    assert [request.target for request in site.requests] == ["/a", "/b", "/a", "/b"]


def test_a_move_ends_where_a_temporary_redirect_begins(site: Site, look: Look) -> None:
    for path, reply in {"/a": redirect("/b", 301), "/b": redirect("/c", 308), "/c": redirect("/d", 302)}.items():
        site.script(path, reply)
    site.script("/d", answer(PAGE))
    assert full(look(site.url + "/a")).moved_to == site.url + "/c"


def test_a_permanent_redirect_behind_a_temporary_one_is_no_move(site: Site, look: Look) -> None:
    site.script("/a", redirect("/b", 302))
    site.script("/b", redirect("/c", 301))
    site.script("/c", answer(PAGE))
    assert full(look(site.url + "/a")).moved_to == ""


def test_each_look_begins_at_the_watchs_own_url_ht_084(site: Site, look: Look) -> None:
    site.script("/b", answer(PAGE, TAG))
    _, second = twice(site, look, redirect("/b", 307), answer(b"own"))
    assert full(second).body == b"own"
    assert [request.target for request in site.requests] == ["/a", "/b", "/a"]


def test_nothing_of_the_users_goes_to_another_origin_ht_086(site: Site, other: Site, look: Look) -> None:
    site.script("/a", redirect(f"{other.url}/b"))
    other.script("/b", redirect(f"{site.url}/c"))
    site.script("/c", answer(PAGE))
    headers = (("Cookie", "a=b"), ("X-Api-Key", "sesame"), ("User-Agent", "mine"))
    full(look(f"http://me:sesame@127.0.0.1:{site.port}/a", headers=headers))
    for name in ("Cookie", "X-Api-Key", "Authorization"):
        assert other.requests[0].fields(name) == []
        assert site.to("/a")[0].fields(name) == site.to("/c")[0].fields(name) != []
    assert other.requests[0].field("User-Agent") == AGENT.encode()


def test_a_circle_of_redirects_ends_at_once_ht_087(site: Site, look: Look) -> None:
    site.script("/a", redirect("/b"))
    site.script("/b", redirect("/a"))
    assert failed(look(site.url + "/a"), "too-many-redirects").answered
    site.script("/a", redirect("/a"))
    failed(look(site.url + "/a"), "too-many-redirects")
    assert len(site.requests) == 3


def test_ten_redirects_are_followed_and_no_more_ht_088_rf_033(site: Site, look: Look) -> None:
    for number in range(30):
        site.script(f"/{number}", redirect(f"/{number + 1}"))
    failed(look(site.url + "/0"), "too-many-redirects")
    assert len(site.requests) == 11
    site.script("/10", answer(PAGE))
    assert full(look(site.url + "/0")).body == PAGE


def test_redirects_that_set_ever_new_cookies_end_too(site: Site, look: Look) -> None:
    site.script("/a", *(redirect("/a", 302, f"Set-Cookie: a={number}") for number in range(50)))
    failed(look(site.url + "/a"), "too-many-redirects")
    assert len(site.requests) == 11


BAD = {
    "ht-091 rf-040 no Location": [],
    "ht-091 rf-040 an empty Location": ["Location: "],
    "ht-093 rf-042 ftp": ["Location: ftp://127.0.0.1/x"],
    "ht-095 data": ["Location: data:text/html,x"],
    "ht-097 rf-045 raw Latin-1": ["Location: /p\xe4th"],
    "rf-041 a file": ["Location: file:///etc/hostname"],
    "two different ones": ["Location: /b", "Location: /c"],
    "no host": ["Location: http://"],
    "a port that is none": ["Location: http://127.0.0.1:x/"],
}


@pytest.mark.parametrize("lines", BAD.values(), ids=BAD)
def test_a_redirect_to_nowhere(site: Site, look: Look, lines: list[str]) -> None:
    site.script("/a", answer(b"", *lines, status=302))
    assert failed(look(site.url + "/a"), "bad-redirect").answered


TARGETS = {
    "/p\xc3\xa4th": "/p%C3%A4th",
    "/a b": "/a%20b",
    "b.html": "/x/b.html",
    "?q=1": "/x/y?q=1",
    "/x#frag": "/x",
    "../z": "/z",
}


@pytest.mark.parametrize(("location", "target"), TARGETS.items(), ids=TARGETS)
def test_a_location_is_resolved_and_encoded_ht_098(site: Site, look: Look, location: str, target: str) -> None:
    site.script("/x/y", redirect(location))
    site.script(target, answer(PAGE))
    assert full(look(site.url + "/x/y")).url == site.url + target


def test_a_location_may_name_another_host_ht_098(site: Site, other: Site, look: Look) -> None:
    site.script("/a", redirect(f"//127.0.0.1:{other.port}/b"))
    other.script("/b", answer(PAGE))
    assert full(look(site.url + "/a")).url == other.url + "/b"


def test_a_redirect_from_https_to_http_is_refused_ht_099(site: Site, secure: Site, look: Look) -> None:
    secure.script("/a", redirect(site.url + "/a"))
    assert "https to http" in failed(look(secure.url + "/a"), "bad-redirect").reason
    assert site.requests == []


def test_a_redirect_from_http_to_https_is_followed(site: Site, secure: Site, look: Look) -> None:
    site.script("/a", redirect(secure.url + "/a", 301))
    secure.script("/a", answer(PAGE))
    assert full(look(site.url + "/a")).moved_to == secure.url + "/a"


def test_cookies_are_kept_within_a_chain_of_redirects_ht_101(site: Site, look: Look) -> None:
    site.script("/a", redirect("/a", 302, "Set-Cookie: seen=1; Path=/"), answer(PAGE))
    assert full(look(site.url + "/a", headers=(("Cookie", "mine=2"),))).body == PAGE
    assert [request.field("Cookie") for request in site.requests] == [b"mine=2", b"mine=2; seen=1"]


def test_cookies_of_all_hops_of_a_chain_come_together(site: Site, look: Look) -> None:
    site.script("/a", redirect("/b", 302, "Set-Cookie: one=1"))
    site.script("/b", redirect("/c", 302, "Set-Cookie: two=2"))
    site.script("/c", answer(PAGE))
    full(look(site.url + "/a"))
    assert site.to("/c")[0].field("Cookie") == b"one=1; two=2"


def test_a_cookie_of_one_host_does_not_go_to_another(site: Site, look: Look) -> None:
    site.script(
        "/a", redirect(f"http://two.example:{site.port}/b", 302, "Set-Cookie: a=1", "Set-Cookie: b=2; Domain=example")
    )
    site.script("/b", answer(PAGE))
    full(look(f"http://one.example:{site.port}/a"))
    assert site.to("/b")[0].fields("Cookie") == []


# ------------------------------------------------------------------------------------------------------------- POST


def test_a_body_makes_it_a_post_without_validators(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE, TAG, "Cache-Control: max-age=60"))
    held = Validators('"a"', "", site.url + "/a")
    result = full(look(site.url + "/a", body=b"q=1", body_type="application/x-www-form-urlencoded", validators=held))
    sent = site.requests[0]
    assert (sent.method, sent.body) == ("POST", b"q=1")
    assert sent.field("Content-Type") == b"application/x-www-form-urlencoded"
    assert sent.fields("If-None-Match") == []
    assert not result.validators and result.fresh_for is None


def test_an_empty_body_is_a_post_too(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    look(site.url + "/a", body=b"")
    assert site.requests[0].method == "POST" and site.requests[0].field("Content-Length") == b"0"


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_a_redirected_post(site: Site, look: Look, status: int, method: str) -> None:
    site.script("/a", redirect("/b", status))
    site.script("/b", answer(PAGE, TAG))
    headers = (("Content-Type", "text/plain"),)
    result = full(look(site.url + "/a", body=b"q=1", body_type="x/y", headers=headers))
    sent = site.to("/b")[0]
    assert (sent.method, sent.body) == (method, b"q=1" if method == "POST" else b"")
    assert sent.field("Content-Type") == (b"text/plain" if method == "POST" else None)
    assert bool(result.validators) is (method == "GET")


def test_a_body_is_not_sent_to_another_origin(site: Site, other: Site, look: Look) -> None:
    site.script("/a", redirect(other.url + "/b", 307))
    failed(look(site.url + "/a", body=b"sesame"), "bad-redirect")
    assert other.requests == []


# ---------------------------------------------------------------------------------------------------------- the gate


def test_the_gate_is_passed_for_each_hop_and_left_when_its_answer_is_read_ht_085(
    site: Site, other: Site, look: Look
) -> None:
    site.script("/a", redirect(other.url + "/b"))
    other.script("/b", answer(PAGE))
    events = []

    @contextmanager
    def gate(url: str) -> Iterator[Verdict]:
        events.append(("in", url, len(site.requests), len(other.requests)))
        yield Verdict(True, rule=url)
        events.append(("out", url, len(site.requests), len(other.requests)))

    result = full(look(site.url + "/a", gate=gate))
    assert events == [
        ("in", site.url + "/a", 0, 0),
        ("out", site.url + "/a", 1, 0),
        ("in", other.url + "/b", 1, 0),
        ("out", other.url + "/b", 1, 1),
    ]
    assert result.verdict == Verdict(True, rule=site.url + "/a")


def test_what_the_gate_yields_is_the_answer_ht_106_rf_104(site: Site, look: Look) -> None:
    site.script("/a", redirect("/b"))
    said: dict[str, Any] = {}
    for refusal in (
        Disallowed(site.url + "/b", site.url + "/robots.txt", "/b", 2),
        Deferred("127.0.0.1", None, "a pause"),
        FetchFailed("robots-unreachable", "no robots.txt"),
    ):
        said = {site.url + "/a": Verdict(True), site.url + "/b": refusal}
        assert look(site.url + "/a", gate=lambda url, said=said: nullcontext(said[url])) == refusal
    assert site.to("/b") == [] and len(site.to("/a")) == 3


def test_a_304_carries_the_verdict_too(site: Site, look: Look) -> None:
    site.script("/a", answer(status=304))
    held = Validators('"a"', "", site.url + "/a")
    result = look(site.url + "/a", validators=held, gate=lambda url: nullcontext(Verdict(True, rule="x")))
    assert isinstance(result, NotModified) and result.verdict == Verdict(True, rule="x")


# ------------------------------------------------------------------------------------------------- status and headers


@pytest.mark.parametrize("status", [404, 410], ids=["ht-155 404", "ht-159 410"])
def test_missing(site: Site, look: Look, status: int) -> None:
    site.script("/a", answer(PAGE, status=status))
    assert look(site.url + "/a") == Missing(status, site.url + "/a")


KINDS = {
    "ht-160 401": 401,
    "ht-161 403": 403,
    "ht-163 451": 451,
    "ht-166 500": 500,
    "ht-167 502": 502,
    "ht-171 204": 204,
    "ht-177 999": 999,
    "ht-177 600": 600,
    "ht-177 099": 99,
    "ht-178 405": 405,
    "ht-178 501": 501,
    "ht-103 300": 300,
    "ht-103 305": 305,
    "206": 206,
}


@pytest.mark.parametrize("status", KINDS.values(), ids=KINDS)
def test_an_error_is_no_content_whatever_its_body(site: Site, look: Look, status: int) -> None:
    site.script("/a", answer(PAGE, TAG, "Location: /b", status=status))
    assert failed(look(site.url + "/a"), f"http-{status:03d}").answered
    assert len(site.requests) == 1


def test_429_and_503_pause_their_host_ht_132_ht_133_ht_134_ht_150_ht_151(site: Site, look: Look) -> None:
    later = "Date: Mon, 02 Mar 2026 09:00:00 GMT", "Retry-After: Mon, 02 Mar 2026 09:10:00 GMT"
    site.script("/a", answer(b"", "Retry-After: 120", status=429))
    site.script("/b", answer(b"", *later, status=503))
    limited = failed(look(site.url + "/a"), "rate-limited")
    assert limited.pauses_host and limited.retry_after == timedelta(seconds=120) and "2 minutes" in limited.reason
    limited = failed(look(site.url + "/b"), "rate-limited")
    assert limited.pauses_host and limited.retry_after == timedelta(minutes=10)


def test_a_challenge_is_told_and_not_taken_for_the_page_ht_164_ht_165(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE, "cf-mitigated: challenge"), answer(PAGE, "cf-mitigated: challenge", status=403))
    assert full(look(site.url + "/a")).challenge == "challenge"
    assert "visitor" in failed(look(site.url + "/a"), "http-403").reason


INTERIM = {
    "ht-176 100": answer(status=100, sized=False),
    "103": answer(b"", "Link: </a.css>; rel=preload", 'ETag: "early"', status=103, sized=False),
    "102 and 100": answer(status=102, sized=False) + answer(status=100, sized=False),
}


@pytest.mark.parametrize("interim", INTERIM.values(), ids=INTERIM)
def test_interim_answers_are_passed_over(site: Site, look: Look, interim: bytes) -> None:
    site.script("/a", interim + answer(PAGE, TAG))
    result = full(look(site.url + "/a"))
    assert (result.body, result.validators.etag) == (PAGE, '"a"')


def test_nothing_but_interim_answers_is_a_failure(site: Site, look: Look) -> None:
    site.script("/a", cut(answer(status=100, sized=False) * 10_000))
    failed(look(site.url + "/a"), "connection")


def test_a_line_that_is_no_field_costs_nothing_ht_213(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE, "this is no field", "nor this : one", "From : x", "\xe4: x", ": x", TAG))
    result = full(look(site.url + "/a"))
    assert (result.body, result.validators.etag) == (PAGE, '"a"')
    full(look(site.url + "/a"))
    assert site.connections == 1


@pytest.mark.parametrize("line", ["junk", "X: y"])
def test_a_head_without_end_is_a_failure(site: Site, look: Look, line: str) -> None:
    site.script("/a", cut(answer(PAGE, *[line] * 100_000)))
    failed(look(site.url + "/a"), "connection")


FRAMES = {
    "the end of a connection": (b"HTTP/1.1 200 OK\r\n\r\nall", b"all", 2),
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall", b"all", 1),
    "a length in lines that end with LF (RFC 9112 §2.2)": (b"HTTP/1.1 200 OK\nContent-Length: 3\n\nall", b"all", 1),
    "a length that is none": (b"HTTP/1.1 200 OK\r\nContent-Length: three\r\n\r\nall", b"all", 2),
    "a length below zero": (b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nall", b"all", 2),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n", b"all", 1),
    "the wish to close": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Close\r\n\r\nall", b"all", 2),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nall", b"all", 2),
    "HTTP/1.0 that is kept": (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nall", b"all", 1),
    "a later HTTP/1": (b"HTTP/1.2 200 OK\r\nContent-Length: 3\r\n\r\nall", b"all", 1),
}


@pytest.mark.parametrize(("reply", "body", "connections"), FRAMES.values(), ids=FRAMES)
def test_where_an_answer_ends(site: Site, look: Look, reply: bytes, body: bytes, connections: int) -> None:
    """And whether its connection is used again."""

    def send(line: Line) -> None:
        line.send(reply)
        if b"Length: 3" not in reply and connections == 2:
            line.close()

    site.script("/a", send)
    for _ in range(2):
        assert full(look(site.url + "/a")).body == body
    assert site.connections == connections


def test_another_http_is_a_failure(site: Site, look: Look) -> None:
    site.script("/a", cut(b"HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nall"))
    assert "HTTP" in failed(look(site.url + "/a"), "connection").reason


def test_connections_to_two_servers_are_kept_and_closed_with_their_session(site: Site, other: Site) -> None:
    closed: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def wait(line: Line) -> None:
        line.send(answer(PAGE))
        closed.put(line.sock.recv(1))
        line.close()

    with Client().session() as session:
        for each, page in ((site, answer(PAGE)), (other, answer(PAGE)), (site, wait)):
            each.script("/a", page)
            full(ask(Request(url=each.url + "/a", user_agent=AGENT), session, go_ahead))
    assert closed.get(timeout=5) == b"" and (site.connections, other.connections) == (1, 1)


def test_a_header_line_without_end_is_a_failure(site: Site, look: Look) -> None:
    site.script("/a", cut(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000))
    failed(look(site.url + "/a"), "connection")


def test_freshness_type_and_charset_are_read(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE, "Cache-Control: max-age=600", "Age: 100", "Content-Type: Text/HTML; charset='x'"))
    result = full(look(site.url + "/a"))
    assert (result.fresh_for, result.media_type, result.charset) == (timedelta(seconds=500), "text/html", "x")


def test_no_content_type_is_none_ht_254(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE))
    assert full(look(site.url + "/a")).media_type == ""


GARBAGE = {
    "ht-180 garbage": cut(b"\x00\x01garbage\r\n\r\n"),
    "ht-180 closed without an answer": cut(b""),
    "reset without an answer": reset(b""),
    "half a status line": cut(b"HTTP/1.1 2"),
    "a status with more behind it": cut(b"HTTP/1.1 200,OK\r\n\r\n"),
    "a status that is no number": cut(b"HTTP/1.1 abc OK\r\n\r\n"),
    "another protocol": cut(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
    "HTTP/9": cut(b"HTTP/9.9 200 OK\r\n\r\n"),
    "lengths that differ": cut(answer(PAGE, "Content-Length: 5, 6", sized=False)),
}


@pytest.mark.parametrize("reply", GARBAGE.values(), ids=GARBAGE)
def test_what_is_not_http_is_no_answer(site: Site, look: Look, reply: Reply) -> None:
    site.script("/a", reply)
    assert not failed(look(site.url + "/a"), "connection").answered


# ----------------------------------------------------------------------------------------------------------- bodies


def packed(data: bytes, wbits: int) -> bytes:
    coder = zlib.compressobj(wbits=wbits)
    return coder.compress(data) + coder.flush()


BIG = random.Random(5).randbytes(50_000)
ZIPPED = gzip.compress(PAGE)
DEFLATED = packed(PAGE, zlib.MAX_WBITS)
RAW_DEFLATED = packed(PAGE, -zlib.MAX_WBITS)
GZIP = "Content-Encoding: gzip"
DEFLATE = "Content-Encoding: deflate"
HTML = "Content-Type: text/html"

READ: dict[str, tuple[Reply, bytes]] = {
    "plain": (answer(PAGE), PAGE),
    "empty": (answer(b""), b""),
    "chunked": (answer(chunked(b"<p>20", b" dollars</p>"), CHUNKED, sized=False), PAGE),
    "chunked with an extension and a trailer": (
        answer(b"5;a=b\r\n<p>20\r\n0\r\nX: y\r\n\r\n", CHUNKED, sized=False),
        b"<p>20",
    ),
    "ht-188 more than announced": (answer(PAGE + b"more", f"Content-Length: {len(PAGE)}", sized=False), PAGE),
    "ht-189 Content-Length: abc": (cut(answer(PAGE, "Content-Length: abc", sized=False)), PAGE),
    "ht-189 Content-Length: -1": (cut(answer(PAGE, "Content-Length: -1", sized=False)), PAGE),
    "ht-215 HTTP/1.0 to its close": (b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, PAGE),
    "gzip": (answer(ZIPPED, GZIP), PAGE),
    "gzip in chunks of a byte": (
        answer(chunked(*(ZIPPED[i : i + 1] for i in range(len(ZIPPED)))), GZIP, CHUNKED, sized=False),
        PAGE,
    ),
    "gzip of nothing": (answer(gzip.compress(b""), GZIP), b""),
    "no octets, though gzip": (answer(b"", GZIP), b""),
    "no chunks, though deflate": (answer(chunked(), DEFLATE, CHUNKED, sized=False), b""),
    "a page that does not shrink": (answer(gzip.compress(BIG), GZIP), BIG),
    "a page that shrinks much": (answer(gzip.compress(b"a" * 99_999), GZIP), b"a" * 99_999),
    "ht-194 gzip and garbage": (answer(ZIPPED + b"garbage", GZIP), PAGE),
    "ht-194 gzip and zeros": (answer(ZIPPED + bytes(512), GZIP), PAGE),
    "gzip and half a magic number": (answer(ZIPPED + b"\x1f", GZIP), PAGE),
    "ht-195 two members": (answer(ZIPPED + gzip.compress(b"!"), GZIP), PAGE + b"!"),
    "ht-195 two members in chunks of a byte": (
        answer(chunked(*(bytes([b]) for b in ZIPPED + ZIPPED)), GZIP, CHUNKED, sized=False),
        PAGE + PAGE,
    ),
    "ht-202 deflate": (answer(DEFLATED, DEFLATE), PAGE),
    "ht-202 deflate, raw": (answer(RAW_DEFLATED, DEFLATE), PAGE),
    "ht-202 deflate in chunks of a byte": (
        answer(chunked(*(bytes([b]) for b in DEFLATED)), DEFLATE, CHUNKED, sized=False),
        PAGE,
    ),
    "deflate and garbage": (answer(DEFLATED + b"garbage", DEFLATE), PAGE),
    "ht-203 x-gzip": (answer(ZIPPED, "Content-Encoding: x-gzip"), PAGE),
    "ht-203 GZIP": (answer(ZIPPED, "Content-Encoding: GZIP"), PAGE),
    "identity": (answer(PAGE, "Content-Encoding: identity"), PAGE),
    "gzip twice, as it says": (answer(gzip.compress(ZIPPED), "Content-Encoding: gzip, gzip"), PAGE),
    "deflate in gzip": (answer(gzip.compress(DEFLATED), "Content-Encoding: deflate, gzip"), PAGE),
    "ht-197 gzip, not declared, as HTML": (answer(ZIPPED, HTML), PAGE),
    "ht-197 gzip, not declared, of no type": (answer(ZIPPED), PAGE),
    "gzip, not declared, as XML": (answer(ZIPPED, "Content-Type: application/rss+xml"), PAGE),
    "a gzip file is itself": (answer(ZIPPED, "Content-Type: application/gzip"), ZIPPED),
    "ht-199 gzip twice, declared once": (answer(gzip.compress(ZIPPED), GZIP, HTML), PAGE),
}


@pytest.mark.parametrize(("reply", "body"), READ.values(), ids=READ)
def test_a_body_is_read(site: Site, look: Look, reply: Reply, body: bytes) -> None:
    site.script("/a", reply)
    assert full(look(site.url + "/a")).body == body


UNREAD: dict[str, tuple[str, Reply]] = {
    "ht-039 shorter than announced": ("incomplete-body", cut(answer(PAGE, "Content-Length: 99", TAG, sized=False))),
    "nothing of what was announced": ("incomplete-body", cut(answer(b"", "Content-Length: 99", TAG, sized=False))),
    "ht-185 no last chunk": ("incomplete-body", cut(answer(chunked(PAGE)[:-5], CHUNKED, sized=False))),
    "half a chunk": ("incomplete-body", cut(answer(chunked(PAGE)[:9], CHUNKED, sized=False))),
    "ht-186 a chunk size that is none": ("incomplete-body", cut(answer(b"zz\r\nabc", CHUNKED, sized=False))),
    "a negative chunk size": ("incomplete-body", cut(answer(b"-5\r\nabcde\r\n0\r\n\r\n", CHUNKED, sized=False))),
    "a chunk size without end": ("incomplete-body", cut(answer(b"1" * 99_999, CHUNKED, sized=False))),
    "ht-191 gzip cut in the middle, announced so": ("incomplete-body", answer(ZIPPED[: len(ZIPPED) // 2], GZIP, TAG)),
    "ht-191 gzip cut in its head": ("incomplete-body", answer(ZIPPED[:5], GZIP)),
    "ht-192 gzip without its trailer, closed": ("incomplete-body", cut(answer(ZIPPED[:-8], GZIP, sized=False))),
    "ht-192 gzip without its last octet": ("incomplete-body", answer(ZIPPED[:-1], GZIP)),
    "gzip closed before it began": ("incomplete-body", cut(answer(b"", GZIP, sized=False))),
    "the second member cut": ("incomplete-body", answer(ZIPPED + ZIPPED[:-1], GZIP)),
    "deflate cut": ("incomplete-body", answer(DEFLATED[:-1], DEFLATE)),
    "deflate, raw, cut": ("incomplete-body", answer(RAW_DEFLATED[:-1], DEFLATE)),
    "one octet of deflate": ("incomplete-body", answer(DEFLATED[:1], DEFLATE)),
    "ht-040 ht-196 rf-076 gzip that is plain": ("content-decoding", answer(PAGE, GZIP, TAG)),
    "gzip with a wrong checksum": ("content-decoding", answer(ZIPPED[:-8] + bytes(8), GZIP)),
    "deflate that is none": ("content-decoding", answer(b"\x78\x9c" + b"\xff" * 50, DEFLATE)),
    "ht-200 rf-076 br": ("content-decoding", answer(PAGE, "Content-Encoding: br")),
    "ht-200 rf-076 zstd": ("content-decoding", answer(PAGE, "Content-Encoding: zstd")),
    "unknown in a list": ("content-decoding", answer(ZIPPED, "Content-Encoding: x, gzip")),
    "coded a hundred times": ("content-decoding", answer(ZIPPED, "Content-Encoding: " + "gzip," * 100)),
    "a gzip not declared that is cut": ("incomplete-body", answer(ZIPPED[:-4], HTML)),
    "ht-209 reset in the middle": ("incomplete-body", reset(answer(PAGE, "Content-Length: 99", sized=False))),
    "ht-040 too large": ("too-large", answer(b"a" * (LIMIT + 1), TAG)),
    "too large when unpacked": ("too-large", answer(gzip.compress(b"a" * (LIMIT + 1)), GZIP, TAG)),
    "too large when unpacked, not declared": ("too-large", answer(gzip.compress(b"a" * (LIMIT + 1)), HTML)),
}


@pytest.mark.parametrize(("kind", "reply"), UNREAD.values(), ids=UNREAD)
def test_a_body_that_is_not_whole_is_a_failure_and_has_no_validators(
    site: Site, look: Look, kind: str, reply: Reply
) -> None:
    site.script("/a", reply)
    assert failed(look(site.url + "/a"), kind).answered


def test_a_body_of_exactly_the_limit_is_read(site: Site, look: Look) -> None:
    site.script("/a", answer(gzip.compress(b"a" * LIMIT), GZIP))
    assert len(full(look(site.url + "/a")).body) == LIMIT


def endless(line: Line) -> None:
    line.send(answer(b"", CHUNKED, sized=False))
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    while not line.site.closing.is_set():
        line.send(chunk)


def endless_chunk_size(line: Line) -> None:
    line.send(answer(b"", CHUNKED, sized=False) + b"5\r\nabcde\r\n0\r\n")
    while not line.site.closing.is_set():
        line.send(b"X: " + b"y" * 60_000 + b"\r\n")


BOMB = gzip.compress(bytes(60_000_000), compresslevel=1)


@pytest.mark.parametrize(
    "reply",
    [endless, answer(BOMB, GZIP), answer(gzip.compress(BOMB), "Content-Encoding: gzip, gzip"), answer(BOMB, HTML)],
    ids=["ht-205 endless", "ht-204 a gzip bomb", "a bomb in a bomb", "a bomb that is not declared"],
)
def test_memory_is_bounded(site: Site, look: Look, reply: Reply) -> None:
    site.script("/a", reply)
    tracemalloc.start()
    try:
        failed(look(site.url + "/a", limit=500_000, timeout=20.0), "too-large")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_a_flood_that_is_no_body_ends(site: Site, look: Look) -> None:
    site.script("/a", endless_chunk_size)
    failed(look(site.url + "/a", timeout=20.0), "too-large")


@pytest.mark.parametrize("reply", [endless, answer(BOMB, GZIP)], ids=["rf-085 endless", "rf-086 a gzip bomb"])
def test_a_robots_txt_is_cut_at_its_limit(site: Site, look: Look, reply: Reply) -> None:
    site.script("/robots.txt", reply)
    assert len(full(look(site.url + "/robots.txt", limit=500_000, truncate=True)).body) == 500_000


# ------------------------------------------------------------------------------------------------------------- time

PATIENCE = 0.2  # seconds per read; a look takes three times that


def drip(head: bytes, piece: int = 1) -> Reply:
    return lambda line: line.drip(head, 0.1, piece)


def drip_fields(line: Line) -> None:
    line.send(b"HTTP/1.1 200 OK\r\n")
    line.drip(b"X: y\r\n" * 100, 0.05, 6)


def drip_body(line: Line) -> None:
    line.send(answer(b"", "Content-Length: 1000", sized=False))
    line.drip(PAGE * 50, 0.05)


def drip_chunks(line: Line) -> None:
    line.send(answer(b"", CHUNKED, sized=False))
    line.drip(b"1\r\na\r\n" * 100, 0.05, 6)


def drip_chunk_size(line: Line) -> None:
    line.send(answer(b"", CHUNKED, sized=False))
    line.drip(b"0" * 100, 0.05)


def pause_in_body(line: Line) -> None:
    line.send(answer(PAGE, "Content-Length: 1000", sized=False))
    line.wait(60)


SLOW = {
    "ht-208 rf-072 silence": (silence, False),
    "ht-207 a head of fields": (drip_fields, False),
    "a status line": (drip(answer(PAGE)), False),
    "interim answers": (drip(answer(status=100, sized=False) * 50, 30), False),
    "a body": (drip_body, True),
    "chunks": (drip_chunks, True),
    "a chunk size": (drip_chunk_size, True),
    "a body that stops": (pause_in_body, True),
}


@pytest.mark.parametrize(("reply", "answered"), SLOW.values(), ids=SLOW)
def test_a_look_ends_when_its_time_is_over(site: Site, look: Look, reply: Reply, answered: bool) -> None:
    site.script("/a", reply)
    began = time.monotonic()
    assert failed(look(site.url + "/a", timeout=PATIENCE), "timeout").answered is answered
    assert time.monotonic() - began < 3 * PATIENCE + 1.5


@pytest.mark.parametrize(("reply", "answered"), [(silence, False), (drip_fields, False), (drip_body, True)])
def test_a_look_over_tls_ends_when_its_time_is_over(secure: Site, look: Look, reply: Reply, answered: bool) -> None:
    secure.script("/a", reply)
    began = time.monotonic()
    assert failed(look(secure.url + "/a", timeout=PATIENCE), "timeout").answered is answered
    assert time.monotonic() - began < 3 * PATIENCE + 1.5


def test_no_read_outlasts_its_look() -> None:
    limits = Limits()
    with socket.socket() as sock:
        sock.settimeout(20)
        limits.set(time.monotonic() + 60, 1000)
        limits.before_read(sock)
        assert sock.gettimeout() == 20
        limits.set(time.monotonic() + 5, 1000)
        limits.before_read(sock)
        assert 4 < (sock.gettimeout() or 0) <= 5
        limits.set(time.monotonic(), 1000)
        with pytest.raises(TimeoutError):
            limits.before_read(sock)


def test_a_kept_connection_that_is_silent_is_not_asked_twice(site: Site, look: Look) -> None:
    site.script("/a", answer(PAGE), silence)
    full(look(site.url + "/a"))
    assert not failed(look(site.url + "/a", timeout=PATIENCE), "timeout").answered
    assert len(site.requests) == 2


def test_a_handshake_that_drips_ends(look: Look) -> None:
    with Site(greeting=lambda line: line.drip(b"\x16\x03\x03\x40\x00" + bytes(1000), 0.05)) as site:
        began = time.monotonic()
        assert not failed(look(site.url.replace("http:", "https:"), timeout=PATIENCE), "timeout").answered
        assert time.monotonic() - began < 2 * PATIENCE + 1.5


@pytest.mark.skipif(sys.platform != "linux", reason="a full queue of connections waits here and is refused elsewhere")
def test_a_connection_that_is_not_taken_ends_rf_068(look: Look) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        try:
            for sock in waiting:
                sock.setblocking(False)
                sock.connect_ex(address)
            assert not failed(look(f"http://127.0.0.1:{address[1]}/", timeout=PATIENCE), "timeout").answered
        finally:
            for sock in waiting:
                sock.close()


def test_a_name_that_is_not_answered_ends() -> None:
    done = threading.Event()

    def never(*arguments: Any) -> Any:
        done.wait(30)
        raise socket.gaierror

    with Client(resolve=never).session() as session:
        began = time.monotonic()
        request = Request(url="http://shop.example/", user_agent=AGENT, timeout=0.1)
        failed(ask(request, session, go_ahead), "dns")
        assert time.monotonic() - began < 1
    done.set()


def test_all_hops_share_the_time_of_a_look(site: Site, look: Look) -> None:
    def slow(line: Line) -> None:
        line.wait(0.15)
        line.send(redirect(line.request.target + "x"))

    for number in range(20):
        site.script("/" + "x" * number, slow)
    began = time.monotonic()
    assert failed(look(site.url + "/", timeout=0.2), "timeout").answered
    assert time.monotonic() - began < 2


def test_nothing_is_sent_when_the_time_is_over(site: Site, look: Look) -> None:
    def dripping(line: Line) -> None:
        line.send(answer(b"", "Location: /b", "Content-Length: 1000", status=302, sized=False))
        line.drip(bytes(1000), 0.02)

    site.script("/a", dripping)
    assert failed(look(site.url + "/a", timeout=0.1), "timeout").answered
    assert site.to("/b") == []


def test_waiting_in_the_gate_takes_nothing_from_the_time(site: Site, look: Look) -> None:
    @contextmanager
    def gate(url: str) -> Iterator[None]:
        time.sleep(0.4)
        yield

    site.script("/a", redirect("/b"))
    site.script("/b", answer(PAGE))
    assert full(look(site.url + "/a", timeout=0.2, gate=gate)).body == PAGE


@pytest.mark.parametrize("lines", [[], ["Content-Length: 999999"]], ids=["of no length", "large"])
def test_the_body_of_a_redirect_is_not_waited_for(site: Site, look: Look, lines: list[str]) -> None:
    def open_end(line: Line) -> None:
        line.send(answer(PAGE, "Location: /b", *lines, status=302, sized=False))
        line.wait(60)

    site.script("/a", open_end)
    site.script("/b", answer(PAGE))
    began = time.monotonic()
    assert full(look(site.url + "/a")).body == PAGE
    assert time.monotonic() - began < 0.9  # a drain would take a second


def test_a_redirect_whose_body_drips_is_followed_all_the_same(site: Site, look: Look) -> None:
    def dripping(line: Line) -> None:
        line.send(answer(b"", "Location: /b", "Content-Length: 1000", status=302, sized=False))
        line.drip(bytes(1000), 0.05)

    site.script("/a", dripping)
    site.script("/b", answer(PAGE))
    began = time.monotonic()
    assert full(look(site.url + "/a")).body == PAGE
    assert time.monotonic() - began < 1.8


# ------------------------------------------------------------------------------------------------------ connections


def test_one_connection_serves_all_looks_of_a_session(site: Site, look: Look) -> None:
    replies: list[Reply] = [
        answer(PAGE),
        answer(chunked(PAGE), CHUNKED, sized=False),
        answer(ZIPPED, GZIP),
        answer(ZIPPED + b"garbage", GZIP),
        answer(PAGE, status=404),
        answer(PAGE, status=500),
        answer(chunked(PAGE), CHUNKED, status=503, sized=False),
        redirect("/b"),
        answer(status=304),
        answer(status=204),
    ]
    site.script("/b", answer(PAGE))
    held = Validators('"a"', "", site.url + "/a")
    for reply in replies:
        site.script("/a", reply)
        look(site.url + "/a", validators=held)
    assert len(site.requests) == 11
    assert site.connections == 1


def test_a_connection_that_was_given_up_meanwhile_is_replaced_without_a_word(site: Site, look: Look) -> None:
    def close_when_asked_again(line: Line) -> None:
        line.send(answer(PAGE))
        line.sock.recv(1000)
        line.close()

    site.script("/a", close_when_asked_again, answer(b"again"))
    assert full(look(site.url + "/a")).body == PAGE
    assert full(look(site.url + "/a")).body == b"again"
    assert site.connections == 2


def test_a_post_is_not_sent_twice(site: Site, look: Look) -> None:
    def close_when_asked_again(line: Line) -> None:
        line.send(answer(PAGE))
        line.sock.recv(1000)
        line.close()

    site.script("/a", close_when_asked_again, answer(b"again"))
    assert full(look(site.url + "/a")).body == PAGE
    failed(look(site.url + "/a", body=b"q=1"), "connection")


def test_a_new_connection_that_fails_is_not_tried_twice(site: Site, look: Look) -> None:
    site.script("/a", cut(b""))
    failed(look(site.url + "/a"), "connection")
    assert len(site.requests) == 1


def test_a_body_that_is_given_up_closes_its_connection_and_no_more(site: Site, look: Look) -> None:
    site.script("/a", answer(bytes(LIMIT * 3)))
    site.script("/b", answer(PAGE))
    failed(look(site.url + "/a"), "too-large")
    assert full(look(site.url + "/b")).body == PAGE


def test_nobody_there(look: Look) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert not failed(look(f"http://127.0.0.1:{port}/?sesame"), "connection").answered


def test_no_such_host_rf_066(look: Look) -> None:
    assert not failed(look("http://sesame.invalid/"), "dns").answered


def test_a_host_that_cannot_be_looked_up() -> None:
    def unable(*arguments: Any) -> Any:
        return "a..b".encode("idna")  # a UnicodeError, as socket.getaddrinfo raises for names that are none

    with Client(resolve=unable).session() as session:
        failed(ask(Request(url="http://shop.example/", user_agent=AGENT), session, go_ahead), "dns")


def test_the_next_address_is_tried_where_one_does_not_answer(site: Site) -> None:
    def two(host: str, port: int, *rest: Any) -> Any:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            closed = listener.getsockname()[1]
        return [*socket.getaddrinfo("127.0.0.1", closed, *rest), *socket.getaddrinfo("127.0.0.1", port, *rest)]

    site.script("/a", answer(PAGE))
    with Client(resolve=two).session() as session:
        request = Request(url=f"http://shop.example:{site.port}/a", user_agent=AGENT)
        assert full(ask(request, session, go_ahead)).body == PAGE


def test_an_answer_of_an_earlier_hop_counts_as_one(site: Site, look: Look) -> None:
    site.script("/a", redirect("http://sesame.invalid/"))
    assert failed(look(site.url + "/a"), "dns").answered


# -------------------------------------------------------------------------------------------------------------- TLS


def test_https_with_a_trusted_certificate(secure: Site, look: Look) -> None:
    secure.script("/a", answer(PAGE, TAG), answer(status=304))
    first = full(look(secure.url + "/a"))
    assert isinstance(look(secure.url + "/a", validators=first.validators), NotModified)
    assert secure.connections == 1


def test_a_wrong_authority_is_refused_rf_046_rf_071(secure: Site) -> None:
    with Client().session() as session:
        result = failed(ask(Request(url=secure.url + "/a", user_agent=AGENT), session, go_ahead), "tls")
    assert "unknown authority" in result.reason and not result.answered
    assert secure.requests == []


def test_a_wrong_name_is_refused(secure: Site, look: Look) -> None:
    result = failed(look(f"https://shop.example:{secure.port}/a"), "tls")
    assert "another host name" in result.reason
    assert secure.requests == []


def test_an_expired_certificate_is_refused(look: Look) -> None:
    with Site(tls=EXPIRED) as site:
        assert "expired" in failed(look(site.url + "/a"), "tls").reason


def test_a_redirect_to_a_host_that_is_not_trusted_is_refused_rf_046(site: Site, secure: Site, look: Look) -> None:
    site.script("/a", redirect(f"https://shop.example:{secure.port}/a"))
    failed(look(site.url + "/a"), "tls")


def test_certificates_are_not_looked_at_where_the_user_says_so(secure: Site, look: Look) -> None:
    secure.script("/a", answer(PAGE))
    assert full(look(f"https://shop.example:{secure.port}/a", verify_tls=False)).body == PAGE


def test_a_connection_that_was_not_verified_serves_no_look_that_wants_it(secure: Site, look: Look) -> None:
    secure.script("/a", answer(PAGE))
    full(look(f"https://shop.example:{secure.port}/a", verify_tls=False))
    failed(look(f"https://shop.example:{secure.port}/a"), "tls")
    assert len(secure.requests) == 1


def test_looks_that_verify_and_looks_that_do_not_share_nothing(secure: Site, look: Look) -> None:
    secure.script("/a", answer(PAGE))
    wrong = f"https://shop.example:{secure.port}/a"
    for _ in range(2):
        assert full(look(secure.url + "/a")).body == PAGE
        assert full(look(wrong, verify_tls=False)).body == PAGE
        failed(look(wrong), "tls")


def test_sessions_side_by_side_share_the_certificates(secure: Site) -> None:
    secure.script("/a", answer(PAGE))
    client = Client(ca_bundle=str(CA))
    seen: list[Answer] = []

    def task() -> None:
        with client.session() as session:
            for _ in range(5):
                seen.append(ask(Request(url=secure.url + "/a", user_agent=AGENT), session, go_ahead))

    threads = [threading.Thread(target=task) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [full(result).body for result in seen] == [PAGE] * 40
    assert secure.connections == 8


def test_a_server_that_speaks_no_tls(look: Look) -> None:
    with Site(greeting=lambda line: line.send(answer(PAGE))) as site:
        assert not failed(look(site.url.replace("http:", "https:") + "/a"), "tls").answered


@pytest.mark.parametrize("bundle", ["nowhere.pem", "empty.pem"])
def test_a_bundle_that_cannot_be_read_is_told(secure: Site, tmp_path: Path, bundle: str) -> None:
    (tmp_path / "empty.pem").touch()
    with Client(ca_bundle=str(tmp_path / bundle)).session() as session:
        result = failed(ask(Request(url=secure.url + "/a", user_agent=AGENT), session, go_ahead), "tls")
    assert "trusted certificates" in result.reason


def test_a_bundle_may_be_a_folder(secure: Site, tmp_path: Path) -> None:
    secure.script("/a", answer(PAGE))
    with Client(ca_bundle=str(tmp_path)).session() as session:
        failed(ask(Request(url=secure.url + "/a", user_agent=AGENT), session, go_ahead), "tls")


# ---------------------------------------------------------------------------------------------------------- proxies


def test_a_proxy_is_asked_for_what_is_elsewhere_and_for_nothing_else(site: Site, other: Site) -> None:
    site.script("http://shop.example/a", answer(PAGE))
    other.script("/a", answer(b"own"))
    proxies = {"http": f"http://me:pass@127.0.0.1:{site.port}", "no": "direct.example"}
    with Client(proxies=proxies, resolve=resolve).session() as session:
        for url, body in {
            "http://shop.example/a": PAGE,
            f"http://direct.example:{other.port}/a": b"own",
            f"{other.url}/a": b"own",
        }.items():
            assert full(ask(Request(url=url, user_agent=AGENT), session, go_ahead)).body == body
    assert len(site.requests) == 1 and site.requests[0].field("Proxy-Authorization") == b"Basic bWU6cGFzcw=="
    assert other.requests[0].fields("Proxy-Authorization") == []


def test_https_goes_through_a_proxys_tunnel(site: Site) -> None:
    inner = []

    def tunnel(line: Line) -> None:
        line.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SERVER)
        with context.wrap_socket(line.sock.dup(), server_side=True) as sock:
            inner.append(sock.recv(65536))
            sock.sendall(answer(PAGE))
            sock.recv(1)
        line.close()

    site.script("shop.example:443", tunnel)
    with Client(proxies={"https": site.url}).session() as session:
        request = Request(
            url="https://shop.example/a", user_agent=AGENT, headers=(("X-Key", "sesame"),), verify_tls=False
        )
        assert full(ask(request, session, go_ahead)).body == PAGE
    assert inner[0].startswith(b"GET /a HTTP/1.1\r\nHost: shop.example\r\n")
    assert site.requests[0].method == "CONNECT" and b"sesame" not in site.requests[0].head


def test_a_proxys_own_fields_take_the_place_of_the_users(site: Site) -> None:
    site.script("http://shop.example/a", answer(PAGE))
    with Client(proxies={"http": f"http://me:pass@127.0.0.1:{site.port}"}).session() as session:
        headers = (("proxy-authorization", "mine"),)
        full(ask(Request(url="http://shop.example/a", user_agent=AGENT, headers=headers), session, go_ahead))
    assert site.requests[0].fields("Proxy-Authorization") == [b"Basic bWU6cGFzcw=="]


@pytest.mark.parametrize(
    ("proxy", "kind"),
    [("http://127.0.0.1:1", "connection"), ("socks5://127.0.0.1:1", "connection"), ("http://", "connection")],
)
def test_a_proxy_that_cannot_be_used(proxy: str, kind: str) -> None:
    with Client(proxies={"http": proxy, "https": proxy}).session() as session:
        for url in ("http://shop.example/", "https://shop.example/"):
            result = failed(ask(Request(url=url, user_agent=AGENT, timeout=1.0), session, go_ahead), kind)
            assert "proxy" in result.reason and not result.answered


def test_a_proxy_that_refuses_a_tunnel(site: Site) -> None:
    site.script("shop.example:443", answer(b"", status=407))
    with Client(proxies={"https": site.url}).session() as session:
        failed(ask(Request(url="https://shop.example/a", user_agent=AGENT), session, go_ahead), "connection")


# ------------------------------------------------------------------------------------------------------------- HEAD


def length(session: Session, url: str, **settings: Any) -> int | None:
    return content_length(Request(url=url, user_agent=AGENT, **{"timeout": 2.0, **settings}), session, go_ahead)


def test_the_length_comes_from_a_head_request_for_the_plain_body(site: Site, session: Session) -> None:
    site.script("/a", answer(PAGE))
    assert length(session, site.url + "/a") == len(PAGE)
    assert site.requests[0].method == "HEAD" and site.requests[0].field("Accept-Encoding") == b"identity"


def test_a_head_request_follows_redirects_ht_266(site: Site, session: Session) -> None:
    site.script("/a", redirect("/b", 303))
    site.script("/b", answer(PAGE))
    assert length(session, site.url + "/a") == len(PAGE)
    assert [request.method for request in site.requests] == ["HEAD", "HEAD"]


LENGTHLESS = {
    "ht-263 no Content-Length": answer(b"", CHUNKED, sized=False),
    "a packed length": answer(PAGE, GZIP),
    "no number": cut(answer(b"", "Content-Length: abc", sized=False)),
    "405": answer(PAGE, status=405),
    "404": answer(PAGE, status=404),
    "304": answer(status=304),
    "ht-265 silence": silence,
}


@pytest.mark.parametrize("reply", LENGTHLESS.values(), ids=LENGTHLESS)
def test_only_a_get_can_tell_the_length(site: Site, session: Session, reply: Reply) -> None:
    site.script("/a", reply)
    assert length(session, site.url + "/a", timeout=PATIENCE) is None
    site.script("/a", answer(PAGE))
    assert full(ask(Request(url=site.url + "/a", user_agent=AGENT), session, go_ahead)).body == PAGE


# ------------------------------------------------------------------------------------------------- whatever comes back


def test_nothing_that_comes_back_raises(site: Site, look: Look) -> None:
    seeds = [
        answer(PAGE, TAG, DATE, "Cache-Control: max-age=5", "Content-Type: text/html; charset=utf-8"),
        answer(ZIPPED, GZIP),
        answer(DEFLATED, DEFLATE),
        answer(chunked(PAGE, ZIPPED), CHUNKED, "Set-Cookie: a=b; Path=/; Expires", sized=False),
        redirect("/b?x#y", 301, "Set-Cookie: a=b"),
        answer(b"", TAG, status=304),
        answer(PAGE, "Retry-After: 120", status=503),
    ]
    chance = random.Random(20260302)
    held = Validators('"a"', "", site.url + "/a")
    kinds = set()
    for _ in range(600):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            what = chance.choice(
                [b"", b"\0", b"\r\n", b"\n", b" ", b":", b";", b",", b"\xff", bytes([chance.randrange(256)])]
            )
            data[place : place + chance.choice([0, 1, 1, 5])] = what
        site.script("/a", cut(bytes(data)))
        result = look(site.url + "/a", validators=held, timeout=1.0)
        kinds.add(result.kind if isinstance(result, FetchFailed) else type(result).__name__)
    assert {"Representation", "NotModified", "connection", "incomplete-body", "content-decoding"} <= kinds
