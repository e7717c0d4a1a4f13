"""Hints that spare requests, and all that makes them hold back: `hint: sitemap` and `hint: length`."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.program import Program, configuration, ok, robots
from tests.site import Line, Reply, Site, answer
from tests.values import DAY, START

ENTRY = "<url><loc>{}/{}</loc><lastmod>{:%Y-%m-%dT%H:%M:%SZ}</lastmod></url>"


def watches(site: Site, hint: str, *paths: str) -> str:
    given = [{"name": path, "url": f"{site.url}{path}", "select": "#price", "hint": hint} for path in paths]
    return configuration(*given)


def sitemap(site: Site, a: datetime, b: datetime, path: str = "/sitemap.xml") -> None:
    text = f"<urlset>{ENTRY.format(site.url, 'p', a)}{ENTRY.format(site.url, 'q', b)}</urlset>"
    site.script(path, answer(text.encode(), "Content-Type: application/xml"))


def asked(site: Site) -> list[str]:
    """The requests of the last run, but those for robots.txt."""
    paths = [f"{request.method} {request.target}" for request in site.requests if request.target != "/robots.txt"]
    site.requests.clear()
    return paths


@pytest.fixture
def hinted(program: Program, site: Site) -> str:
    """Two pages of a site with a sitemap, both seen once."""
    site.script("/q", ok("30 dollars"))
    sitemap(site, START - DAY, START - DAY)
    text = watches(site, "sitemap", "/p", "/q")
    assert {row["outcome"] for row in program.check(config=text).watches.values()} == {"baseline"}
    assert sorted(asked(site)) == ["GET /p", "GET /q"]
    program.clock.forward(DAY)
    return text


def test_one_request_for_the_sitemap_spares_those_for_all_pages_of_the_site(
    program: Program, site: Site, hinted: str
) -> None:
    rows = program.check(config=hinted).watches
    assert [(row["outcome"], row["next_check"]) for row in rows.values()] == [("fresh", "2026-03-04T08:00:00Z")] * 2
    assert "has not changed since 2026-03-01T08:00:00Z" in rows["/p"]["detail"]
    assert asked(site) == ["GET /sitemap.xml"]


def test_a_page_whose_lastmod_is_later_than_the_last_look_is_asked_for(
    program: Program, site: Site, hinted: str
) -> None:
    sitemap(site, START - DAY, START + DAY / 2)
    site.script("/q", ok("31 dollars"))
    rows = program.check(config=hinted).watches
    assert (rows["/p"]["outcome"], rows["/q"]["outcome"]) == ("fresh", "changed")
    assert asked(site) == ["GET /sitemap.xml", "GET /q"]


def test_the_sitemap_that_robots_txt_names_is_asked(program: Program, site: Site, hinted: str) -> None:
    site.script("/robots.txt", robots(f"Sitemap: https://example.org/s.xml\nSitemap: {site.url}/s.xml\n"))
    sitemap(site, START - DAY, START - DAY, "/s.xml")
    assert program.check(config=hinted).watches["/p"]["outcome"] == "fresh"
    assert asked(site) == ["GET /s.xml"]


@pytest.mark.parametrize(
    "reply", [answer(b"no", status=404), answer(b"<urlset>"), answer(b"<urlset/>")], ids=["none", "broken", "empty"]
)
def test_without_a_word_of_the_sitemap_the_page_is_asked_for(
    program: Program, site: Site, hinted: str, reply: bytes
) -> None:
    site.script("/sitemap.xml", reply)
    assert program.check(config=hinted).watches["/p"]["outcome"] == "unchanged"
    assert asked(site) == ["GET /sitemap.xml", "GET /p", "GET /q"]


def test_now_overrides_the_hint(program: Program, site: Site, hinted: str) -> None:
    assert program.check("--now", config=hinted).watches["/p"]["outcome"] == "unchanged"
    assert "GET /sitemap.xml" not in asked(site)


def test_a_hint_that_lies_for_ever_hides_a_change_for_six_days(program: Program, site: Site, hinted: str) -> None:
    site.script("/p", ok("18 dollars"))
    outcomes = []
    for _ in range(6):
        outcomes.append(program.check(config=hinted).watches["/p"]["outcome"])
        program.clock.forward(DAY)
    assert outcomes == ["fresh"] * 5 + ["changed"]


def test_in_trouble_the_page_itself_is_asked_for(program: Program, site: Site, hinted: str) -> None:
    sitemap(site, START + DAY / 2, START - DAY)
    site.script("/p", answer(b"<p>redesigned</p>", "Content-Type: text/html"))
    assert program.check(config=hinted).watches["/p"]["outcome"] == "no-match"
    sitemap(site, START - DAY, START - DAY)
    site.script("/p", ok("20 dollars"))
    program.clock.forward(DAY)
    assert program.check(config=hinted).watches["/p"]["outcome"] == "unchanged"


# -------------------------------------------------------------------------------------------------------- length


def sized(text: str) -> Reply:
    """A page without validators, by GET and by HEAD."""

    def reply(line: Line) -> None:
        whole = ok(text)
        line.send(whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if line.request.method == "HEAD" else whole)

    return reply


def test_the_same_length_counts_as_not_modified(program: Program, site: Site) -> None:
    site.script("/p", sized("20 dollars"))
    text = watches(site, "length", "/p")
    program.check(config=text)
    assert asked(site) == ["GET /p"]
    program.clock.forward(DAY)
    assert program.check(config=text).watches["/p"]["outcome"] == "not-modified"
    assert asked(site) == ["HEAD /p"]
    site.script("/p", sized("200 dollars"))
    program.clock.forward(DAY)
    assert program.check(config=text).watches["/p"]["new"] == "200 dollars"
    assert asked(site) == ["HEAD /p", "GET /p"]


def test_a_change_of_the_same_length_is_found_by_the_weekly_look(program: Program, site: Site) -> None:
    site.script("/p", sized("20 dollars"))
    text = watches(site, "length", "/p")
    program.check(config=text)
    site.script("/p", sized("18 dollars"))
    outcomes = []
    for _ in range(8):
        program.clock.forward(DAY)
        outcomes.append(program.check(config=text).watches["/p"]["outcome"])
    first = outcomes.index("changed")
    assert 5 <= first <= 8 and set(outcomes[:first]) == {"not-modified"}


def test_who_has_validators_needs_no_length(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars", 'ETag: "1"'))
    text = watches(site, "length", "/p")
    program.check(config=text)
    program.clock.forward(DAY)
    program.check(config=text)
    assert asked(site) == ["GET /p", "GET /p"]


@pytest.mark.parametrize("status", [405, 500])
def test_a_server_without_head_is_asked_by_get(program: Program, site: Site, status: int) -> None:
    def reply(line: Line) -> None:
        line.send(answer(b"", status=status) if line.request.method == "HEAD" else ok("20 dollars"))

    site.script("/p", reply)
    text = watches(site, "length", "/p")
    program.check(config=text)
    program.clock.forward(DAY)
    assert program.check(config=text).watches["/p"]["outcome"] == "unchanged"
    assert asked(site) == ["GET /p", "HEAD /p", "GET /p"]
