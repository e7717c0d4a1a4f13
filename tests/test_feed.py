"""Feeds: tests/cases/feed.yaml, what must hold for any entries, and what must not take long."""

from __future__ import annotations

import html
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch.answers import Answer, Extract, FetchFailed, Item
from pagewatch.fingerprint import fingerprint
from pagewatch.readers import feed
from pagewatch.readers.entries import MOST
from pagewatch.reading import Body, Content
from tests.tables import Row, keys_of, table
from tests.values import watch

URL = "http://127.0.0.1/feed"
SHAPES = {
    "rss": "<rss version='2.0'><channel><title>t</title>{}</channel></rss>",
    "atom": "<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title>{}</feed>",
    "text": "{}",
}


def documents(row: Row) -> list[str]:
    """The documents of a row, which says what stands in them and in which format."""
    shape = next(name for name in SHAPES if name in row)
    inner = row[shape] if isinstance(row[shape], list) else [row[shape]]
    return [SHAPES[shape].replace("{}", text) for text in inner]


def read(text: str, known: tuple[Item, ...] | None = None, **keys: Any) -> Content | FetchFailed:
    """What is read of a feed; `known` are the items of the baseline."""
    url, media_type = keys.pop("url", URL), keys.pop("media_type", "application/xml")
    extract = None if known is None else Extract("", items=known)
    return feed.read(Body(watch(select="", source="feed", **keys), text, media_type, url, extract, nothing_else))


def nothing_else(url: str) -> Answer:
    raise AssertionError(f"a feed asked for {url}")


def items(text: str, known: tuple[Item, ...] | None = None, **keys: Any) -> tuple[Item, ...]:
    content = read(text, known, **keys)
    assert isinstance(content, Content), content
    assert isinstance(content.extract, Extract) and content.extract.items is not None
    return content.extract.items


def content_of(text: str) -> str:
    """What is compared."""
    return fingerprint(Extract("", items=items(text)), watch(source="feed"))


def keys_given(row: Row) -> dict[str, Any]:
    return keys_of({key: row[key] for key in ("key", "counted", "ignore_text", "url", "media_type") if key in row})


def rss(*entries: str) -> str:
    return SHAPES["rss"].replace("{}", "".join(f"<item>{entry}</item>" for entry in entries))


@table("feed", "read")
def test_what_is_seen_in_a_feed(row: Row) -> None:
    content = read(documents(row)[0], **keys_given(row))
    assert isinstance(content, Content), content
    assert isinstance(content.extract, Extract) and content.extract.items is not None
    found = content.extract.items
    seen = {
        "titles": [item.text for item in found],
        "keys": [item.key for item in found],
        "links": [item.link for item in found],
        "fields": list(found[0].fields) if found else [],
        "remarks": list(content.remarks),
    }
    expected = {"remarks": [], **{name: row[name] for name in seen if name in row}}
    if "fields" in expected:
        expected["fields"] = list(expected["fields"].items())
    assert {name: seen[name] for name in expected} == expected


@table("feed", "same")
def test_one_content_is_one_fingerprint(row: Row) -> None:
    assert len({content_of(text) for text in documents(row)}) == 1


@table("feed", "different")
def test_other_content_is_another_fingerprint(row: Row) -> None:
    assert len({content_of(text) for text in documents(row)}) == len(documents(row))


@table("feed", "failed")
def test_what_is_no_feed_is_told_as_such(row: Row) -> None:
    failed = read(documents(row)[0], **keys_given(row))
    assert isinstance(failed, FetchFailed), failed
    assert failed.kind == row["kind"] and row["says"] in failed.reason


@table("feed", "looks")
def test_what_a_look_adds_to_what_is_known(row: Row) -> None:
    known: tuple[Item, ...] | None = None
    for look in row["looks"]:
        now = items(documents(look)[0], known, **keys_given(row))
        assert [item.text for item in now if item not in (known or ())] == look.get("added", [])
        assert [item.text for item in known or () if item not in now] == look.get("gone", [])
        assert now == known or look.get("added")
        known = now


def test_entries_that_have_left_stand_behind_those_of_the_document_in_their_old_order() -> None:
    known = items(rss("<title>A</title>", "<title>B</title>", "<title>C</title>"))
    assert [item.key for item in items(rss("<title>D</title>", "<title>B</title>"), known)] == ["D", "B", "A", "C"]


def test_of_too_many_those_that_left_are_dropped_first_and_only_when_something_is_new() -> None:
    known = items(rss(*(f"<title>{n}</title>" for n in range(MOST))))
    assert items(rss("<title>3</title>"), known) == known
    now = items(rss("<title>new</title>", "<title>3</title>"), known)
    assert len(now) == MOST and [item.key for item in now[:3]] == ["new", "3", "0"]
    assert items(rss("<title>3</title>", "<title>new</title>"), now) == now


def test_of_a_document_with_too_many_the_first_are_watched_and_that_is_said() -> None:
    content = read(rss(*(f"<title>{n}</title>" for n in range(MOST + 1))))
    assert isinstance(content, Content) and isinstance(content.extract, Extract)
    assert content.remarks == ("of its 5,001 entries the first 5,000 are watched",)
    assert len(content.extract.items or ()) == MOST


def test_an_empty_feed_removes_nothing_and_is_no_trouble() -> None:
    known = items(rss("<title>A</title>"))
    content = read(rss(), known)
    assert isinstance(content, Content) and content.extract == Extract("", items=known) and content.remarks == ()


# ----------------------------------------------------------------------------------------------- for any entries

texts = st.text("abc äß<>&\"';#日😀", min_size=1, max_size=12).filter(lambda text: text.split())
entries = st.lists(st.tuples(st.integers(0, 99), texts, texts, texts), max_size=6, unique_by=lambda entry: entry[0])


def written(entry: tuple[int, str, str, str]) -> str:
    number, title, link, summary = entry
    parts = (("title", title), ("link", f"/{link.encode().hex()}"), ("summary", summary))
    return f"<guid>urn:{number}</guid>" + "".join(f"<{name}>{html.escape(text)}</{name}>" for name, text in parts)


@given(entries, st.randoms(use_true_random=False))
def test_the_order_of_entries_never_changes_the_set_of_items(
    all_of_them: list[tuple[int, str, str, str]], chance: random.Random
) -> None:
    other = chance.sample(all_of_them, len(all_of_them))
    before, after = (items(rss(*map(written, some))) for some in (all_of_them, other))
    assert set(before) == set(after)
    assert items(rss(*map(written, other)), before) == before


words = st.text("abcxyzäß日😀", min_size=1, max_size=8)


@given(st.tuples(st.just(1), words, words, words), st.integers(1, 3), words)
def test_another_title_link_or_summary_always_changes_the_items(
    entry: tuple[int, str, str, str], place: int, word: str
) -> None:
    changed = (*entry[:place], word, *entry[place + 1 :])
    one, other = content_of(rss(written(entry))), content_of(rss(written(changed)))  # type: ignore[arg-type]
    assert (one == other) == (entry == changed)


@given(st.text("<>/!?[]&;#=\"' abitemrsguCDAT-", max_size=80))
def test_no_document_raises(text: str) -> None:
    for document in (text, SHAPES["rss"].replace("{}", text), f"<rss><item><title>a & b</title>{text}"):
        read(document)


# ------------------------------------------------------------------------------------------------------ how long


@pytest.mark.parametrize(
    "text",
    [
        "<rss>" + "<a>" * 500_000,
        rss("<title>x</title>" + "<category>a</category>" * 20_000),
        rss("<title>x</title>" + "<a xml:base='a/'>" * 2_000),
        f"<rss {' '.join(f'a{n}=1' for n in range(10_000))}></rss>",
        rss("<title>x</title><author>" + "a" * 200_000 + "</author>"),
    ],
    ids=["too many elements", "too many in one entry", "bases that grow", "attributes", "an author without end"],
)
def test_what_would_take_minutes_is_refused(text: str) -> None:
    failed = read(text)
    assert isinstance(failed, FetchFailed) and failed.kind == "too-large"


@pytest.mark.parametrize(
    "text",
    [
        "<rss>" + "<a>" * 10_000,
        rss("<title><![CDATA[" + "<b>" * 50_000 + "x]]></title>"),
        "<!DOCTYPE rss [" + "] " * 300_000,
        "<!--" * 300_000,
        rss("<title>a & b" + "<![CDATA[" * 100_000),
        " \n" * 500_000,
        "[" * 300_000,
    ],
    ids=["depth", "depth in HTML", "doctype", "comments", "CDATA", "white space", "JSON"],
)
def test_hostile_documents_take_no_time(text: str) -> None:
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 3


def test_a_large_feed_takes_seconds() -> None:
    """A tenth of 5,000 entries in 5 MB."""
    entry = "<title>Entry {}</title><link>/e/{}</link><guid>g{}</guid><description>&lt;p&gt;{}&lt;/p&gt;</description>"
    text = rss(*(entry.format(n, n, n, "Some words here. " * 50) for n in range(MOST // 10)))
    began = time.process_time()
    assert len(items(text)) == MOST // 10
    assert time.process_time() - began < 1.5
