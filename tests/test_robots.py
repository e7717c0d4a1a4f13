"""robots.txt: the table of RFC 9309 (cases/robots_vectors.json), what a verdict carries, what hostile files cost."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pagewatch.answers import Verdict
from pagewatch.robots import LIMIT, clip, origin, parse, robots_url
from pagewatch.urls import normalise_url

CASES = json.loads((Path(__file__).parent / "cases" / "robots_vectors.json").read_text(encoding="utf-8"))
ASKS = [(entry["file"], ask) for entry in CASES["files"] for ask in entry["asks"]]
HOME = "https://example.org"


def octets(file: dict[str, Any]) -> bytes:
    if "robots_txt_b64" in file:
        return base64.b64decode(file["robots_txt_b64"])
    if "robots_txt_parts" in file:
        return b"".join(_repeated(text, times) for text, times in file["robots_txt_parts"])
    return bytes(file["robots_txt"], "utf-8")


def _repeated(text: str, times: int) -> bytes:
    return ("".join(text.format(i=i) for i in range(times)) if "{i" in text else text * times).encode()


def name_of(row: dict[str, Any]) -> str:
    return f"{row['id']} {row['rule']}"


# -------------------------------------------------------------------------------------------------------- the tables


@pytest.mark.parametrize(("file", "ask"), ASKS, ids=[name_of(ask) for _, ask in ASKS])
def test_the_verdict_is_that_of_rfc_9309(file: dict[str, Any], ask: dict[str, Any]) -> None:
    assert parse(octets(file)).verdict(ask["token"], ask["url"]).allowed is ask["allowed"]


@pytest.mark.parametrize("row", CASES["crawl_delay"], ids=name_of)
def test_crawl_delay_is_read_from_our_group_as_a_plain_decimal(row: dict[str, Any]) -> None:
    assert parse(octets(row)).verdict(row["token"], HOME).crawl_delay == row["crawl_delay"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://Example.ORG/a/b", "http://example.org"),
        ("HTTP://h", "http://h"),
        ("http://h:80/", "http://h"),
        ("https://h:443?x", "https://h"),
        ("https://h:80/", "https://h:80"),
        ("http://h:443/", "http://h:443"),
        ("http://h:8080#top", "http://h:8080"),
        ("http://h:/x", "http://h"),
        ("http://me:pass@word@h:81/x@y", "http://h:81"),
        ("http://[::1]/x", "http://[::1]"),
        ("http://[FE80::1]:80/x", "http://[fe80::1]"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
        (" http://h/x", "http://h"),
    ],
)
def test_the_origin_is_scheme_host_and_port_without_secrets(url: str, expected: str) -> None:
    assert origin(url) == expected
    assert robots_url(url) == expected + "/robots.txt"


# ------------------------------------------------------------------------------------------------ what a verdict says


def test_the_verdict_names_line_rule_and_group_as_written() -> None:
    robots = parse(b"# ours\r\n\r\nuser-AGENT : PageWatch/2\r\n disallow:/a*b  # why\r\nAllow:\t/axb/c\r\n")
    assert robots.verdict("pagewatch", f"{HOME}/a1b") == Verdict(False, "Disallow: /a*b", 4, "PageWatch")
    assert robots.verdict("pagewatch", f"{HOME}/axb/c") == Verdict(True, "Allow: /axb/c", 5, "PageWatch")
    assert robots.verdict("pagewatch", f"{HOME}/") == Verdict(True, "", 0, "PageWatch")


def test_without_a_group_for_us_or_for_all_nothing_decides() -> None:
    assert parse(b"User-agent: other\nDisallow: /\nCrawl-delay: 9").verdict("pagewatch", HOME) == Verdict(True)


def test_the_deciding_line_is_found_in_whichever_of_the_merged_groups_has_it() -> None:
    robots = parse(b"User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /\n\nUser-agent: A\nDisallow: /x/y\n")
    assert [robots.verdict("a", f"{HOME}{path}").line for path in ("/x", "/x/y", "/z")] == [2, 8, 0]


def test_of_equal_rules_the_first_line_is_named_and_allow_wins() -> None:
    robots = parse(b"User-agent: *\nDisallow: /x\nDisallow: /x\nAllow: /y\nDisallow: /y\nAllow: /y\n")
    assert robots.verdict("a", f"{HOME}/x").line == 2
    assert robots.verdict("a", f"{HOME}/y") == Verdict(True, "Allow: /y", 4, "*")


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_are_counted_alike_whatever_ends_them(end: bytes) -> None:
    body = end.join([b"\xef\xbb\xbfUser-agent: *", b"", b"# \x0b\x0c\x1c\x85", b"Disallow: /x"])
    assert parse(body).verdict("a", f"{HOME}/x").line == 4


def test_a_long_rule_is_quoted_in_part() -> None:
    written = parse(b"User-agent: *\nDisallow: /" + b"x" * 100_000).verdict("a", f"{HOME}/" + "x" * 100_000).rule
    assert written == "Disallow: /" + "x" * 199


def test_sitemaps_are_found_everywhere_and_end_no_group() -> None:
    robots = parse(
        b"Sitemap: https://h/1.xml\nUser-agent: a\nSITEMAP:https://h/\xc3\xa4.xml # x\nSitemap:\n"
        b"User-agent: b\nDisallow: /"
    )
    assert robots.sitemaps == ("https://h/1.xml", "https://h/ä.xml")
    assert not robots.verdict("a", HOME).allowed


# -------------------------------------------------------------------------------------------- the URL that is sent

URLS = [
    *("", "?x", "/p?", "/p?#f", "/x?/../y", "/;a=1?b#c?d", "//a//../b", "/..//", "/.", "/..", "/../../x"),
    *("/a/../b", "/a/./b/../", "/a/b/..", "/a/b/.", "/a/..;/b", "/a/%2e%2e/b", "/%70riv", "/a%2fb", "/a%2541"),
    *("/a b", "/ä?q=ä", "/é%E4", "/a%zz", "/100%", "/a%zz%41", "/$x?$y", "/x*y?z*", "/a\\b"),
    *("/a<b>\"{}|^`'()!,;:@=+&[]~", "/?a<b>\"{}|^`'()!,;:@=+&[]~?/"),
]


class _Recorder(BaseHTTPRequestHandler):
    """Answers with the request target as it arrived."""

    protocol_version = "HTTP/1.1"

    raw_requestline: bytes

    def do_GET(self) -> None:
        target = self.raw_requestline.split(b" ")[1]  # self.path has one slash where several begin it
        self.send_response(200)
        self.send_header("Content-Length", str(len(target)))
        self.end_headers()
        self.wfile.write(target)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def recorder() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Recorder)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def _judged_as_sent(target: bytes, url: str) -> bool:
    """Does a rule for exactly this request target, and none for another, hit the URL?"""
    rule = target.replace(b"*", b"%2A")
    hit = parse(b"User-agent: *\nDisallow: " + rule + b"$").verdict("a", url)
    missed = parse(b"User-agent: *\nDisallow: " + rule + b"x").verdict("a", url)
    return missed.allowed and not hit.allowed


@pytest.mark.parametrize("rest", URLS)
def test_the_url_judged_is_the_url_that_is_sent(recorder: str, rest: str) -> None:
    """rf-107, rf-108, ht-273."""
    url = normalise_url(recorder + rest)
    sent = requests.get(url, timeout=10).content
    assert recorder + sent.decode("ascii") == url
    assert _judged_as_sent(sent, url)


@settings(max_examples=150)
@given(st.lists(st.sampled_from([*"/.?a*$;=& ä%<\\", "..", "%2f", "%41", "%C3%A4"]), max_size=10).map("".join))
@example("..//")
@example("a%zz%41")
def test_a_url_is_judged_alike_as_written_and_as_sent(rest: str) -> None:
    assume("%%" not in rest)  # judged in its normal form, in which it is not ambiguous
    url = normalise_url(f"{HOME}/{rest}")
    assert _judged_as_sent(url.removeprefix(HOME).encode("ascii"), f"{HOME}/{rest}")


# ------------------------------------------------------------------------------------------------------- hostile files


def test_half_a_rule_at_the_limit_is_not_read() -> None:
    body = b"User-agent: *\nDisallow: /1\n" + b"#" * (LIMIT - 40) + b"\nDisallow: /private/x\n"
    assert len(body) > LIMIT > len(body) - 12
    assert parse(body).verdict("a", f"{HOME}/priv").allowed
    assert not parse(body).verdict("a", f"{HOME}/1").allowed
    assert clip(clip(body)) == clip(body) == clip(body[:LIMIT]) == body[: body.rindex(b"Disallow")]


def test_500_kib_are_read() -> None:
    last = b"\nDisallow: /last\n"
    body = b"User-agent: *\n".ljust(500 * 1024 - len(last), b"#") + last
    assert not parse(body).verdict("a", f"{HOME}/last").allowed


def test_one_line_longer_than_the_limit_leaves_nothing() -> None:
    assert clip(b"x" * (LIMIT + 1)) == b""


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_file_that_just_fits_is_read_to_its_end(end: bytes) -> None:
    body = b"\n".rjust(LIMIT - len(end) - 1, b"#") + b"x" + end
    assert len(body) == LIMIT
    assert clip(body) == body


@settings(max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from([b"User-agent:", b"Disallow:/", *(b"*$%2?a\xff\n\r"[i : i + 1] for i in range(9))])
        ).map(b"".join),
    ),
    st.text(max_size=30),
    st.one_of(st.text(max_size=30), st.text(max_size=30).map("http://h/".__add__)),
)
@example(b"User-agent: *\nDisallow: ftp://[x\nAllow: http://[\nDisallow: /\x00\n", "*", "http://h/\ud800")
def test_nothing_raises_whatever_the_server_sends(body: bytes, token: str, url: str) -> None:
    parse(body).verdict(token, url)


HOSTILE = {
    "2000 stars, as many letters": (b"User-agent: *\nDisallow: /" + b"*a" * 2000 + b"*b", "/" + "a" * 2000),
    "one rule of stars only": (b"User-agent: *\nDisallow: /" + b"*" * (LIMIT - 99) + b"b$", "/" + "a" * 2000),
    "many rules with stars": (b"User-agent: *\n" + b"Disallow: *a*aab\n" * 29_000, "/" + "a" * 2000),
    "line ends only": (b"\n" * LIMIT, "/"),
    "octets to escape only": (b"User-agent: *\nDisallow: /" + b"\xff" * (LIMIT - 99), "/"),
    "escapes only": (b"User-agent: *\nDisallow: /" + b"%41" * (LIMIT // 3 - 99), "/"),
    "many agents that share many rules": (
        b"".join(b"User-agent: x%d\n" % i for i in range(13_000)) + b"User-agent: *\n" + b"Disallow: /y\n" * 19_000,
        "/",
    ),
    "one agent named again and again": (b"User-agent: *\n" * 18_000 + b"Disallow: /y\n" * 19_000, "/"),
    "sections that share their rules": (b"User-agent: *\nCrawl-delay: 1\n" * 9_000 + b"Disallow: /y\n" * 19_000, "/"),
    "a delay for many agents": (
        b"".join(b"User-agent: x%d\n" % i for i in range(13_000)) + b"Crawl-delay: 1\n" * 18_000,
        "/",
    ),
    "many groups": (b"User-agent: *\nDisallow: /y\n" * 19_000, "/"),
    "a long URL": (b"User-agent: *\nDisallow: /" + b"*a?" * 2000, "/" + "a?" * 200_000),
    "a URL of dots": (b"User-agent: *\nDisallow: /y", "/" + "a/../" * 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_no_more_than_its_length(name: str) -> None:
    body, path = HOSTILE[name]
    assert len(body) <= LIMIT
    begun = time.process_time()
    parse(body).verdict("pagewatch", HOME + path)
    assert time.process_time() - begun < 3  # seconds: ten times the slowest of these; quadratic ones take minutes
