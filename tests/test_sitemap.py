"""Sitemaps: tests/cases/sitemap.yaml, and the promises about order, bounds, time and memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch.answers import Answer, Deferred, Disallowed, FetchFailed, Missing, NoMatch, NotModified
from pagewatch.fingerprint import fingerprint
from pagewatch.lastmod import latest
from pagewatch.readers import sitemap
from pagewatch.reading import Body, Content
from tests.program import Program, configuration
from tests.site import Site as HttpSite
from tests.site import answer as answer_of
from tests.site import conditional
from tests.tables import Row, table
from tests.values import DAY, representation, watch

SITEMAP = "https://a.test/sitemap.xml"
WATCH = watch(select="", source="sitemap", url=SITEMAP, if_missing="ok")
PROJECT = Path(__file__).resolve().parent.parent

# Reads the sitemap in a file; prints the number of addresses, the seconds it took, and the peak of memory in kilobytes.
LARGE = """
import re, sys, time
from pathlib import Path
from pagewatch.reading import Body
from pagewatch.readers import sitemap
from tests.values import watch
body = Body(watch(), Path(sys.argv[1]).read_text(), "", "https://example.org/sitemap.xml", None, lambda url: None)
begin = time.process_time()
content = sitemap.read(body)
took = time.process_time() - begin
print(len(content.extract.items), took, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


class Site:
    """What each address answers, and what was asked for."""

    def __init__(self, answers: dict[str, Answer] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[str] = []

    def ask(self, url: str) -> Answer:
        self.asked.append(url)
        return self.answers[url]


def serving(text: str) -> Site:
    return Site({SITEMAP: sent(text, SITEMAP)})


def urlset(pages: list[str]) -> str:
    return f"<urlset>{''.join(f'<url><loc>{escape(page)}</loc></url>' for page in pages)}</urlset>"


def index(sitemaps: list[str]) -> str:
    inner = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>" for url in sitemaps)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</sitemapindex>'


def sent(text: str, url: str = "https://a.test/1.xml", **keys: Any) -> Answer:
    given = {"media_type": "application/xml", "charset": "", "body": text.encode(), "url": url, **keys}
    return representation(**given)


def answer(url: str, row: Any) -> Answer:
    match row:
        case {"missing": status}:
            return Missing(status)
        case {"fails": kind, "reason": reason}:
            return FetchFailed(kind, reason)
        case {"line": line}:
            return Disallowed(url, "https://a.test/robots.txt", "Disallow: /", line)
        case {"pause": until}:
            return Deferred("a.test", until, "a.test asked for a pause")
        case {"unmodified": _}:
            return NotModified()
    text = row["text"] if "text" in row else index(row["index"]) if "index" in row else urlset(row["urls"])
    body = gzip.compress(text.encode()) if row.get("gzip") else text.encode()
    return sent("", row.get("url", url), body=body, challenge="cf-mitigated" if row.get("challenge") else "")


def outcome(text: str, ask: Callable[[str], Answer] | None = None) -> Content | FetchFailed:
    return sitemap.read(Body(WATCH, text, "application/xml", SITEMAP, None, ask or Site().ask))


def read(text: str, ask: Callable[[str], Answer] | None = None) -> Content:
    content = outcome(text, ask)
    assert isinstance(content, Content), content
    return content


def failure(text: str, ask: Callable[[str], Answer] | None = None) -> FetchFailed:
    failed = outcome(text, ask)
    assert isinstance(failed, FetchFailed), failed
    return failed


def pages(content: Content) -> list[str]:
    extract: Any = content.extract
    assert extract.text == "" and extract.matched == bool(extract.items)
    assert all((item.text, item.link, item.fields) == ("", "", ()) for item in extract.items)
    return [item.key for item in extract.items]


def mark(content: Content) -> str:
    extract: Any = content.extract
    return fingerprint(extract, WATCH)


# ------------------------------------------------------------------------------------------------- one document


@table("sitemap", "pages")
def test_the_addresses_of_a_document(row: Row) -> None:
    content = read(row["text"])
    assert pages(content) == row["pages"]
    assert content.remarks == tuple(row.get("remarks", ()))
    assert content.text == row["text"]


@table("sitemap", "same")
def test_only_the_set_of_addresses_counts(row: Row) -> None:
    assert len({mark(read(text)) for text in row["texts"]}) == 1


@table("sitemap", "refused")
def test_what_is_no_whole_sitemap_is_told_as_such(row: Row) -> None:
    failed = failure(row["text"])
    assert failed.kind == row["kind"] and row["says"] in failed.reason


@pytest.mark.parametrize("text", ["<urlset/>", "<sitemapindex></sitemapindex>"])
def test_a_sitemap_without_addresses_is_no_match_unless_the_user_waits_for_some(text: str) -> None:
    body = Body(watch(select="", source="sitemap"), text, "application/xml", SITEMAP, None, Site().ask)
    content = sitemap.read(body)
    assert isinstance(content, Content)
    assert content.extract == NoMatch("selector", "the sitemap has no addresses")
    assert pages(read(text)) == []


def test_an_address_longer_than_the_protocol_allows_is_left_out() -> None:
    longest = "https://a.test/" + "a" * (2_048 - 15)
    assert pages(read(f"{longest}\n{longest}a\n")) == [longest]


def test_more_addresses_than_are_kept_are_a_failure() -> None:
    text = "\n".join(f"http://a.test/{number}" for number in range(250_001))
    failed = failure(text)
    assert failed.kind == "too-large" and "250,000" in failed.reason


@pytest.mark.parametrize("text", ["<urlset>" + "<a>" * 300_000, "<urlset><!--" + "a" * 10_000_000, "<" * 5_000_000])
def test_hostile_xml_takes_no_time(text: str) -> None:
    assert failure(text).kind == "not-xml"


def test_text_at_the_edge_of_two_pieces_is_whole() -> None:
    wanted = ["https://a.test/" + "é&" * 300 + str(number) for number in range(3_000)]
    assert pages(read(urlset(wanted))) == wanted


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_fifty_thousand_addresses_take_little_time_and_memory(tmp_path: Path) -> None:
    loc = "<url>\n  <loc>https://example.org/catalogue/of/many/things/{:06}</loc>\n"
    rest = (
        "  <lastmod>2026-02-01T10:00:00+00:00</lastmod>\n  <changefreq>daily</changefreq>\n  <priority>0.8</priority>\n"
    )
    file = tmp_path / "sitemap.xml"
    file.write_text(f"<urlset>{''.join(loc.format(number) + rest + '</url>' for number in range(50_000))}</urlset>")
    assert file.stat().st_size > 8_000_000
    command = [sys.executable, "-c", LARGE, str(file)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    count, seconds, peak = ran.stdout.split()
    assert int(count) == 50_000
    assert float(seconds) < 1.5
    assert int(peak) < 150_000


# ------------------------------------------------------------------------------------------------------ an index


@table("sitemap", "index")
def test_the_sitemaps_of_an_index(row: Row) -> None:
    site = Site({url: answer(url, said) for url, said in row["site"].items()})
    got = outcome(index(row["index"]), site.ask)
    assert site.asked == row.get("asked", site.asked)
    if isinstance(got, FetchFailed):
        assert got.kind == "partial" and "says" in row and row["says"] in got.reason
    else:
        assert pages(got) == row["pages"] and got.remarks == tuple(row.get("remarks", ()))
        assert not isinstance(got.extract, FetchFailed) and getattr(got.extract, "parts", None) == len(site.asked)


def test_an_index_on_www_has_sitemaps_on_all_hosts_of_its_site() -> None:
    site = Site({url: sent("<urlset/>") for url in ("https://maps.a.test/1.xml", "https://a.test/2.xml")})
    www = "https://www.a.test/sitemap.xml"
    content = sitemap.read(Body(WATCH, index([*site.answers, "https://b.test/3.xml"]), "", www, None, site.ask))
    assert isinstance(content, Content) and site.asked == list(site.answers)


def test_a_failing_sitemap_pauses_the_host_that_asked_for_it() -> None:
    wait = timedelta(minutes=5)
    failed = FetchFailed("rate-limited", "the server asked for a pause", wait, False, True, "https://b.test/1.xml")
    silent = FetchFailed("timeout", "no answer")
    for known, url in ((failed, "https://b.test/1.xml"), (silent, "https://a.test/1.xml")):
        partial = failure(index(["https://a.test/1.xml"]), Site({"https://a.test/1.xml": known}).ask)
        assert (partial.kind, partial.answered) == ("partial", True)
        assert (partial.retry_after, partial.pauses_host, partial.url) == (known.retry_after, known.pauses_host, url)


def test_a_packed_sitemap_that_is_broken_or_too_large_is_a_failure() -> None:
    packed = gzip.compress(b" " * 20_000_001)
    for body, says in ((packed, "the body is larger than 20 MB"), (packed[:1000], "the packed body was cut off")):
        site = Site({"https://a.test/1.xml": sent("", body=body)})
        partial = failure(index(["https://a.test/1.xml"]), site.ask)
        assert partial.kind == "partial" and f"https://a.test/1.xml: {says}" in partial.reason


def test_the_encoding_that_the_user_names_holds_for_the_sitemaps_of_an_index() -> None:
    site = Site({"https://a.test/1.xml": sent("", body=urlset(["https://a.test/ж"]).encode("koi8-r"))})
    body = Body(watch(encoding="koi8-r"), index(["/1.xml"]), "", SITEMAP, None, site.ask)
    content = sitemap.read(body)
    assert isinstance(content, Content) and pages(content) == ["https://a.test/ж"]


def test_an_index_of_more_sitemaps_than_are_read_is_not_read_in_part() -> None:
    site = Site()
    failed = failure(index([f"https://a.test/{number}.xml" for number in range(1_234)]), site.ask)
    assert failed.kind == "partial" and site.asked == []
    assert failed.reason.startswith("the index names 1,234 sitemaps, at most 100 are read: watch those")


def test_the_bound_holds_for_nested_indexes_together() -> None:
    inner = {
        f"https://a.test/{number}.xml": sent(index([f"https://a.test/{number}-{part}.xml" for part in range(60)]))
        for number in range(2)
    }
    site = Site({**inner, **{f"https://a.test/0-{part}.xml": sent("<urlset/>") for part in range(60)}})
    failed = failure(index(list(inner)), site.ask)
    assert failed.kind == "partial" and "names 122 sitemaps" in failed.reason
    assert len(site.asked) == 62


# --------------------------------------------------------------------------------------------- for any addresses

PATHS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20)
ADDRESSES = st.lists(PATHS.map(lambda path: f"https://a.test/{path}"), max_size=20)


@given(ADDRESSES, st.randoms())
def test_the_order_of_addresses_never_matters(addresses: list[str], random: Any) -> None:
    shuffled = random.sample(addresses, len(addresses))
    assert mark(read(urlset(addresses))) == mark(read(urlset(shuffled)))


@given(st.lists(ADDRESSES, min_size=1, max_size=4), st.randoms())
def test_the_order_of_sitemaps_never_matters(parts: list[list[str]], random: Any) -> None:
    site = Site({f"https://a.test/{number}.xml": sent(urlset(part)) for number, part in enumerate(parts)})
    names = list(site.answers)
    one, other = (read(index(order), site.ask) for order in (names, random.sample(names, len(names))))
    assert mark(one) == mark(other)
    assert mark(one) == mark(read(urlset([address for part in parts for address in part])))


@given(ADDRESSES.filter(bool))
def test_xml_and_a_list_of_the_same_addresses_are_equal(addresses: list[str]) -> None:
    assert pages(read(urlset(addresses))) == pages(read("\r\n".join(addresses)))


@given(ADDRESSES.filter(bool), st.integers(1, 400))
def test_no_beginning_of_a_sitemap_is_a_sitemap(addresses: list[str], cut: int) -> None:
    text = urlset(addresses)
    assert failure(text[: max(1, len(text) - cut)]).kind == "not-xml"


@given(st.text() | st.text("<>/!?[]-&;:= \"'\nurlsethpc.", max_size=60))
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(outcome(text), Content | FetchFailed)
    assert isinstance(sitemap.lastmods(SITEMAP, serving(text).ask, frozenset()), dict | FetchFailed)


# --------------------------------------------------------------------------------------------- lastmod as a hint


@table("sitemap", "hint")
def test_the_lastmod_of_wanted_pages(row: Row) -> None:
    assert sitemap.lastmods(SITEMAP, serving(row["text"]).ask, frozenset(row["wanted"])) == row["lastmods"]


def dated(page: str, lastmod: str) -> str:
    return f"<urlset><url><loc>{page}</loc><lastmod>{lastmod}</lastmod></url></urlset>"


def index_of(answers: dict[str, Answer]) -> Site:
    return Site({**answers, SITEMAP: sent(index(list(answers)), SITEMAP)})


def test_of_an_index_no_more_is_read_than_it_takes_to_find_all() -> None:
    names = [f"https://a.test/{number}.xml" for number in range(1_234)]
    site = index_of(
        {name: sent(dated(f"https://a.test/{number}", f"{2000 + number}")) for number, name in enumerate(names)}
    )
    wanted = frozenset({"https://a.test/1", "https://a.test/3"})
    assert sitemap.lastmods(SITEMAP, site.ask, wanted) == {"https://a.test/1": "2001", "https://a.test/3": "2003"}
    assert site.asked == [SITEMAP, *names[:4]]


def test_of_an_index_at_most_ten_sitemaps_are_read_for_a_hint() -> None:
    names = [f"https://a.test/{number}.xml" for number in range(12)]
    site = index_of({name: sent(dated(f"https://a.test/{number}", "2026")) for number, name in enumerate(names)})
    found = sitemap.lastmods(SITEMAP, site.ask, frozenset({"https://a.test/1", "https://a.test/11"}))
    assert found == {"https://a.test/1": "2026"}
    assert site.asked == [SITEMAP, *names[:10]]


def test_indexes_without_pages_are_bounded_too() -> None:
    site = index_of({f"https://a.test/{number}.xml": sent(index([])) for number in range(50)})
    assert sitemap.lastmods(SITEMAP, site.ask, frozenset({"https://a.test/"})) == {}
    assert len(site.asked) == 11


def test_a_sitemap_that_fails_gives_no_hint() -> None:
    site = index_of({"https://a.test/1.xml": FetchFailed("http-500", "the server answered with status 500")})
    failed = sitemap.lastmods(SITEMAP, site.ask, frozenset({"https://a.test/"}))
    assert isinstance(failed, FetchFailed) and failed.kind == "partial" and "status 500" in failed.reason
    refused = sitemap.lastmods(SITEMAP, serving("<html/>").ask, frozenset())
    assert isinstance(refused, FetchFailed) and refused.kind == "not-xml"
    nothing = sitemap.lastmods(SITEMAP, Site({SITEMAP: Missing(404)}).ask, frozenset())
    assert isinstance(nothing, FetchFailed) and nothing.kind == "http-404"


@table("sitemap", "lastmod")
def test_the_latest_moment_that_a_lastmod_can_mean(row: Row) -> None:
    assert latest(row["text"]) == datetime.fromisoformat(row["latest"])


@table("sitemap", "unread")
def test_a_lastmod_that_cannot_be_read_means_nothing(row: Row) -> None:
    assert latest(row["text"]) is None


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9998, 1, 1)))
def test_the_less_a_lastmod_says_the_later_it_may_be(moment: datetime) -> None:
    whole = moment.replace(microsecond=0).isoformat()
    forms = (f"{whole}Z", f"{whole[:16]}Z", whole[:16], whole[:10], whole[:7], whole[:4])
    moments = [latest(form) for form in forms]
    known = [moment for moment in moments if moment is not None]
    assert len(known) == len(forms) and known == sorted(known)


# ------------------------------------------------------------------------------------------------- the whole program


def test_an_index_that_has_not_changed_hides_no_change_of_its_sitemaps(program: Program, site: HttpSite) -> None:
    head = "Content-Type: application/xml"
    site.script("/s.xml", conditional(index([f"{site.url}/1.xml"]).encode(), head, etag='"1"'))
    site.script("/1.xml", conditional(urlset(["https://a.test/1"]).encode(), head, etag='"1"'))
    text = configuration({"name": "Pages", "url": f"{site.url}/s.xml", "source": "sitemap"})
    assert program.check(config=text).watches["Pages"]["detail"] == "first look; 1 item"
    program.clock.forward(DAY)
    assert program.check(config=text).watches["Pages"]["outcome"] == "unchanged"
    site.script("/1.xml", answer_of(urlset(["https://a.test/1", "https://a.test/2"]).encode(), head))
    program.clock.forward(DAY)
    row = program.check(config=text).watches["Pages"]
    assert [item["link"] for item in row["added"]] == ["https://a.test/2"]
    site.script("/1.xml", answer_of(b"oops", status=500))
    program.clock.forward(DAY)
    row = program.check(config=text).watches["Pages"]
    assert (row["outcome"], row["kind"]) == ("failed", "partial") and "1.xml" in row["detail"]
