"""The rules of HTTP: the tables tests/cases/http_*.yaml, and what must hold for any input."""

from __future__ import annotations

import re
import time
import zlib
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pagewatch import cookies, http_headers, urls
from pagewatch.answers import FetchFailed, Missing, NotModified, Validators
from pagewatch.content_coding import PIECE, decode
from pagewatch.hops import Hop, Request, after, first_hop
from pagewatch.http_headers import Fields

NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
CASES = Path(__file__).parent / "cases"
REPEATED = re.compile(r"\{(\S+) \* (\d+)\}")  # {x * 5000} stands for 5000 of them

Row = dict[str, Any]


def written_out(value: Any) -> Any:
    if isinstance(value, str):
        return REPEATED.sub(lambda found: found[1] * int(found[2]), value)
    if isinstance(value, list):
        return [written_out(item) for item in value]
    return value


def table(file: str, name: str = "") -> pytest.MarkDecorator:
    """The rows of a table, with their names as the tests'."""
    content = yaml.safe_load((CASES / f"http_{file}.yaml").read_text(encoding="utf-8"))
    rows = [{key: written_out(value) for key, value in row.items()} for row in (content[name] if name else content)]
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


def fields(row: Row) -> Fields:
    lines = (line.partition(":") for line in row.get("fields", []))
    return Fields((name, value) for name, _, value in lines)


def seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


# ---------------------------------------------------------------------------------------------------- header fields


@table("headers", "heads")
def test_the_fields_of_a_head(row: Row) -> None:
    pairs = list(http_headers.names_and_values(row["head"].encode("latin-1")))
    read = Fields(pairs)
    assert not any("\r" in value for _, value in pairs)
    assert {name: list(read.lines(name)) for name in row["read"]} == row["read"]


@table("headers", "freshness")
def test_freshness(row: Row) -> None:
    assert seconds(http_headers.fresh_for(fields(row), NOW)) == row["fresh_for"]


@table("headers", "retry_after")
def test_retry_after(row: Row) -> None:
    assert seconds(http_headers.retry_after(fields(row), NOW)) == row["wait"]


@table("headers", "dates")
def test_date(row: Row) -> None:
    expected = row["date"] and datetime.fromisoformat(row["date"]).replace(tzinfo=timezone.utc)
    assert http_headers.http_date(row["value"], NOW) == expected


@table("headers", "content_type")
def test_content_type(row: Row) -> None:
    found = fields(row)
    assert (http_headers.media_type(found), http_headers.charset(found)) == (row["media_type"], row["charset"])


@table("headers", "validators")
def test_validators(row: Row) -> None:
    assert http_headers.validators(fields(row), "u") == Validators(row["etag"], row["last_modified"], "u")


@table("headers", "codings")
def test_content_codings(row: Row) -> None:
    assert http_headers.content_codings(fields(row)) == tuple(row["codings"])


@pytest.mark.parametrize(
    "value", ['"a\r\nX: y"', '"a\nb"', '"a\rb"', '"a\0"', '"a\u2192b"', "*", " ", '"a" '], ids=repr
)
def test_a_stored_validator_that_was_tampered_with_is_not_sent_ht_020(value: str) -> None:
    assert http_headers.sendable(Validators(value, value, "u")) == Validators("", "", "u")


NAMES = ["Cache-Control", "Expires", "Age", "Date", "Retry-After", "Content-Type", "Content-Encoding", "ETag"]
VALUES = st.one_of(
    st.text(st.characters(max_codepoint=255), max_size=60),
    st.text(st.sampled_from('max-age=,"\\; 0123456789charset'), max_size=60),
    st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", fullmatch=True),
)


@given(st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=8))
def test_no_header_field_raises_or_gives_what_is_out_of_bounds(lines: list[tuple[str, str]]) -> None:
    found = Fields(lines)
    fresh, wait = http_headers.fresh_for(found, NOW), http_headers.retry_after(found, NOW)
    assert fresh is None or timedelta(0) <= fresh <= timedelta(seconds=2**31)
    assert wait is None or timedelta(0) <= wait <= timedelta(days=30)
    assert http_headers.media_type(found).isascii()
    assert isinstance(http_headers.charset(found), str) and isinstance(http_headers.content_codings(found), tuple)
    held = http_headers.validators(found, "u")
    assert held == http_headers.sendable(held) and not re.search(r"[\r\n]", held.etag)


@pytest.mark.parametrize("value", ['"' * 60000, "=" * 60000, "a" * 60000, 'a="' + "\\" * 60000, ", " * 30000], ids=len)
def test_a_long_header_field_takes_no_time(value: str) -> None:
    began = datetime.now()
    found = Fields([(name, value) for name in NAMES])
    http_headers.fresh_for(found, NOW)
    http_headers.charset(found)
    http_headers.retry_after(found, NOW)
    assert datetime.now() - began < timedelta(seconds=1)


# --------------------------------------------------------------------------------------------------------- statuses


def hop(**settings: Any) -> Hop:
    return Hop("http://example.org/a", "GET", "http://example.org", **settings)


@table("status")
def test_status(row: Row) -> None:
    request = Request(url="http://example.org/a", user_agent="x", accept_status=tuple(row.get("accept", [200])))
    result = after(request, hop(), row["status"], fields(row), NOW)
    outcome = {type(None): "content", Missing: "missing", FetchFailed: "failed", Hop: "hop"}[type(result)]
    assert outcome == row["outcome"]
    if isinstance(result, FetchFailed):
        assert result.kind == row["kind"]
        assert seconds(result.retry_after) == row.get("wait")
        assert result.pauses_host is row.get("pauses", False)
        assert result.answered and f"{row['status']:03d}" in result.reason


def test_a_304_to_validators_is_believed_even_where_304_is_accepted() -> None:
    held = Validators('"a"', "", "http://example.org/a")
    request = Request(url="http://example.org/a", user_agent="x", validators=held, accept_status=(200, 304))
    assert isinstance(after(request, hop(), 304, Fields([]), NOW), NotModified)


@pytest.mark.parametrize("header", [("a b", "c"), ("", "c"), ("a", "b\r\nc: d"), ("a", "b\nc"), ("a", "\0")], ids=repr)
def test_a_header_that_cannot_be_sent_is_the_users_fault(header: tuple[str, str]) -> None:
    failed = first_hop(Request(url="http://example.org/a", user_agent="x", headers=(header,)))
    assert isinstance(failed, FetchFailed) and failed.kind == "config" and not failed.answered


# ---------------------------------------------------------------------------------------------------------- cookies

HERE = "https://www.example.org/a/b"


@table("cookies")
def test_cookies(row: Row) -> None:
    kept = cookies.keep((), row["set"], row.get("from", HERE))
    assert cookies.header(kept, row.get("to", HERE)) == row["sent"]


def test_cookies_of_several_answers_come_together() -> None:
    first = cookies.keep((), ["a=1; Path=/", "b=2; Path=/"], HERE)
    second = cookies.keep(first, ["a=3; Path=/"], "https://www.example.org/c")
    assert cookies.header(second, HERE) == "b=2; a=3"


def test_fifty_cookies_are_kept_and_no_more() -> None:
    kept = cookies.keep((), [f"a{number}=1" for number in range(60)], HERE)
    assert len(kept) == 50 and kept[-1].name == "a59"


PIECES = [
    "a",
    "=",
    ";",
    " ",
    '"',
    "\\",
    ",",
    "Path",
    "Domain",
    "Max-Age",
    "Expires",
    "Version",
    "Port",
    "/",
    ".",
    "0",
    "-1",
]


@given(st.lists(st.one_of(st.lists(st.sampled_from(PIECES)).map("".join), st.text(st.characters(max_codepoint=255)))))
def test_no_cookie_raises_or_breaks_a_header(lines: list[str]) -> None:
    kept = cookies.keep((), lines, "http://127.0.0.1:80/a")
    assert not re.search(r"[\x00-\x1f]", cookies.header(kept, "http://127.0.0.1:80/a"))


# --------------------------------------------------------------------------------------------------- content codings


@pytest.mark.parametrize("wbits", [-zlib.MAX_WBITS, zlib.MAX_WBITS, 16 + zlib.MAX_WBITS], ids=["raw", "zlib", "gzip"])
def test_bodies_of_about_one_piece_are_unpacked_whole(wbits: int) -> None:
    coding = "gzip" if wbits > zlib.MAX_WBITS else "deflate"
    for length in (*range(PIECE - 3, PIECE + 300), 2 * PIECE, 2 * PIECE + 1):
        coder = zlib.compressobj(wbits=wbits)
        packed = coder.compress(bytes(length)) + coder.flush()
        assert decode((packed,), (coding,), 10 * PIECE) == bytes(length)


# ------------------------------------------------------------------------------------------------------------- URLs


@table("urls", "normal")
def test_normal_form(row: Row) -> None:
    assert urls.normalise_url(row["url"]) == row["normal"]


@table("urls", "unusable")
def test_unusable_url(row: Row) -> None:
    with pytest.raises(ValueError):
        urls.normalise_url(row["url"])


@table("urls", "targets")
def test_redirect_target(row: Row) -> None:
    try:
        target = urls.redirect_target("http://example.org/a/b?c", row["location"])
    except ValueError:
        target = None
    assert target == row["target"]


def test_no_redirect_leads_from_https_to_http_ht_099() -> None:
    with pytest.raises(ValueError, match="https to http"):
        urls.redirect_target("https://example.org/", "http://example.org/")
    assert urls.redirect_target("https://example.org/", "/b") == "https://example.org/b"


@table("urls", "direct")
def test_the_way_without_a_proxy(row: Row) -> None:
    assert urls.goes_direct(row["url"], row["no_proxy"]) is row["direct"]


@given(st.text(max_size=30), st.text(max_size=30))
@example("%2E%2e/%", "%%41")
def test_the_normal_form_is_ascii_and_stays_as_it_is(path: str, query: str) -> None:
    try:
        normal = urls.normalise_url(f"http://example.org/{path}?{query}")
    except ValueError:
        return  # half a character
    assert normal == urls.normalise_url(normal)
    assert re.fullmatch(r"http://example\.org(/[!$&-;=@-Z_a-z~]|%[0-9A-F]{2}|[/?!$&-;=@-Z_a-z~])*", normal)
    assert "/../" not in normal.partition("?")[0]


@given(st.text(max_size=40))
@example("[\u2100]")
def test_any_text_is_a_url_or_a_value_error(text: str) -> None:
    for url in (text, f"http://{text}", f"http://example.org:{text}", f"http://[{text}]/"):
        try:
            normal = urls.normalise_url(url)
        except ValueError:
            continue
        assert normal.isascii() and normal == urls.normalise_url(normal)
        assert normal.startswith(urls.origin_of(normal) + "/")


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("http://me:secret@example.org/", "Basic bWU6c2VjcmV0"),
        ("http://me@example.org/", "Basic bWU6"),
        ("http://m%C3%A9:p%40%3A@example.org/", "Basic bcOpOnBAOg=="),
        ("http://me:a@b@example.org/", "Basic bWU6YUBi"),
        ("http://example.org/@x", ""),
    ],
)
def test_user_and_password_of_a_url_are_basic_credentials(url: str, value: str) -> None:
    assert urls.credentials(url) == value


@pytest.mark.parametrize("name", ["X", "Cache-Control", "Set-Cookie", "Content-Type"])
@pytest.mark.parametrize("value", ["a{}b", "max-age=60,{},x", "a\r\n{}b"])
def test_a_field_of_a_megabyte_of_spaces_takes_no_minutes(name: str, value: str) -> None:
    began = time.process_time()
    given_fields = Fields([(name, value.format(" " * 1_000_000))])
    http_headers.fresh_for(given_fields, NOW)
    assert time.process_time() - began < 1
