"""The feed of the changes: what RFC 4287 wants, and what a feed reader makes of it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import lxml.etree  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch.atom import LONGEST_TEXT, MOST_ENTRIES, Entry, feed
from pagewatch.frozen import replace

NOW = datetime(2026, 11, 30, 15, 4, 9, tzinfo=timezone.utc)
ATOM = "{http://www.w3.org/2005/Atom}"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=400)  # lone surrogates and controls too


def entry(number: int = 1, **more: Any) -> Entry:
    one = Entry(
        f"a1b2-{number}", "Concert price", "https://example.org/tickets?a=1&b=2", "20 → 18", "20 → 18 & <b>more</b>",
        NOW - timedelta(hours=number),
    )  # fmt: skip
    return replace(one, **more)


def written(*entries: Entry, identity: str = "this one") -> lxml.etree._Element:
    return lxml.etree.fromstring(feed(entries, identity, NOW).encode("utf-8"))


def texts(feed: lxml.etree._Element, name: str) -> list[str | None]:
    return [element.findtext(f"{ATOM}{name}") for element in feed.iterfind(f"{ATOM}entry")]


def test_an_entry_has_title_time_link_and_the_change_as_plain_text() -> None:
    one = written(entry()).find(f"{ATOM}entry")
    assert one is not None
    assert one.findtext(f"{ATOM}title") == "Concert price: 20 → 18"
    assert one.findtext(f"{ATOM}updated") == "2026-11-30T14:04:09Z"
    assert [link.attrib for link in one.iterfind(f"{ATOM}link")] == [
        {"rel": "alternate", "href": "https://example.org/tickets?a=1&b=2"}
    ]
    content = one.find(f"{ATOM}content")
    assert content is not None and content.get("type") == "text" and content.text == "20 → 18 & <b>more</b>"


def test_feed_and_entries_have_what_rfc_4287_requires() -> None:
    root = written(entry(1), entry(2))
    assert root.tag == f"{ATOM}feed"
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    for element in (root, *root.iterfind(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1, f"§4.1: one {name}"
    ids = [root.findtext(f"{ATOM}id"), *texts(root, "id")]
    assert len(set(ids)) == 3 and all(str(found).startswith("urn:uuid:") for found in ids)


def test_an_event_keeps_its_id_whatever_comes_later() -> None:
    before = texts(written(entry(1)), "id")
    after = texts(written(entry(1, gist="shortened", watch="renamed"), entry(0)), "id")
    assert before[0] in after and len(set(after)) == 2


def test_two_installations_share_no_id() -> None:
    here, there = written(entry()), written(entry(), identity="another one")
    assert not {here.findtext(f"{ATOM}id"), *texts(here, "id")} & {there.findtext(f"{ATOM}id"), *texts(there, "id")}


def test_the_same_changes_give_the_same_octets_in_whatever_order_and_at_whatever_time() -> None:
    entries = [entry(n) for n in range(5)]
    assert feed(entries, "x", NOW) == feed(entries[::-1], "x", NOW + timedelta(days=3))


def test_the_newest_come_first_and_the_oldest_are_dropped() -> None:
    root = written(*(entry(n, gist=str(n)) for n in range(MOST_ENTRIES + 20)))
    assert texts(root, "title") == [f"Concert price: {n}" for n in range(MOST_ENTRIES)]
    assert root.findtext(f"{ATOM}updated") == "2026-11-30T15:04:09Z"


def test_a_feed_without_a_change_is_a_feed() -> None:
    root = written()
    assert root.findtext(f"{ATOM}updated") == "2026-11-30T15:04:09Z" and root.find(f"{ATOM}entry") is None


def test_times_are_utc() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    assert texts(written(entry(when=tokyo)), "updated") == ["2026-11-30T15:04:09Z"]


def test_a_link_is_http_and_names_no_password() -> None:
    for url in ("javascript:alert(1)", "file:///etc/passwd", "//example.org", ""):
        assert written(entry(url=url)).find(f"{ATOM}entry/{ATOM}link") is None
    address = "https://me:secret@example.org/a b"
    found = feed([entry(url=address, watch=address)], "x", NOW)
    assert "secret" not in found and 'href="https://example.org/a%20b"' in found


def test_a_long_text_is_cut() -> None:
    (content,) = texts(written(entry(text="line\n" * LONGEST_TEXT)), "content")
    assert content is not None and len(content) <= LONGEST_TEXT and content.endswith("…")


def test_a_feed_reader_reads_what_was_written() -> None:
    feedparser = pytest.importorskip("feedparser", reason="feedparser is not among the test tools here")
    read = feedparser.parse(feed([entry(1), entry(2, text="+ <script>alert(1)</script>\n− old")], "x", NOW))
    assert not read.bozo and read.version == "atom10"
    assert [(e.title, e.link) for e in read.entries] == [("Concert price: 20 → 18", entry().url)] * 2
    assert read.entries[1].content[0].type == "text/plain"
    assert read.entries[1].content[0].value == "+ <script>alert(1)</script>\n− old"
    assert read.entries[0].updated_parsed[:6] == (2026, 11, 30, 14, 4, 9)


@given(ANY_TEXT)
def test_it_is_well_formed_whatever_a_page_wrote(text: str) -> None:
    root = written(
        entry(event=text, watch=text, url=f"https://example.org/{text}", gist=text, text=text), identity=text
    )
    parts = [element.tag.removeprefix(ATOM) for element in root.iterfind(f"{ATOM}entry/*")]
    assert parts == ["id", "title", "updated", "link", "content"]
