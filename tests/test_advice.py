"""What `test` advises: tests/cases/advice.yaml, and what must hold for any page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import brittle, embedded, entry, jsondata, markup, noise, pace
from pagewatch.announced import announced
from pagewatch.answers import Extract
from pagewatch.arithmetic import written
from pagewatch.element_text import body
from pagewatch.markup import Node, Tree
from pagewatch.moved import moved
from pagewatch.sturdy import index, selector_for
from tests.tables import Row, table
from tests.values import START, URL


def tree_of(page: str) -> Tree:
    tree = markup.parse(page)
    assert isinstance(tree, Tree)
    return tree


@table("advice", "generated")
def test_whether_a_name_looks_generated(row: Row) -> None:
    assert brittle.is_generated(row["is"]) is row["made"]


@table("advice", "brittle")
def test_why_a_selector_may_not_last(row: Row) -> None:
    said = brittle.reasons(row["select"], row.get("matched", 1), row.get("match") != "all")
    assert len(said) == len(row["says"]), said
    assert all(words in clause for words, clause in zip(row["says"], said, strict=True)), said


@table("advice", "sturdy")
def test_a_sturdier_selector(row: Row) -> None:
    known = index(tree_of(row["page"]))
    target = known.tree.root.find(".//*[@here]")
    assert selector_for(known, [target]) in row["selector"].split("|")


def test_a_selector_for_several_elements_matches_all_of_them() -> None:
    known = index(tree_of("<ul id=a><li>1<li>2</ul><ul><li>3</ul>"))
    assert selector_for(known, known.tree.find("#a li")) == "#a li"
    assert selector_for(known, []) == ""


def test_another_selector_than_the_one_in_use_is_proposed() -> None:
    known = index(tree_of("<p id=a class=price>1</p>"))
    assert selector_for(known, known.tree.find("p"), but="#a") == ".price"


def test_no_selector_is_proposed_for_xml() -> None:
    tree = markup.parse("<a><b id='x'>1</b></a>", "application/xml")
    assert isinstance(tree, Tree)
    assert selector_for(index(tree), [tree.root[0]]) == ""


@table("advice", "announced")
def test_what_a_page_announces(row: Row) -> None:
    found = announced(tree_of(row["page"]), URL, row.get("header", ()))
    assert [[one.kind, one.url, one.title] for one in found] == row["is"]


@table("advice", "embedded")
def test_the_path_to_a_text_in_embedded_json(row: Row) -> None:
    places = embedded.places(tree_of(row["page"]), row["text"])
    assert next((place.path for place in places), "") == row["path"]
    assert all(jsondata.check_path(place.path) is None for place in places)


@table("advice", "built")
def test_whether_scripts_build_the_page(row: Row) -> None:
    tree = tree_of(row["page"])
    built = embedded.built_by_script(tree)
    assert bool(built) == (row["says"] is not None)
    if built:
        assert row["says"] in built
        assert embedded.data(tree) == row["data"]


@table("advice", "placeholders")
def test_whether_a_text_is_a_placeholder(row: Row) -> None:
    assert embedded.is_placeholder(row["text"]) is row["is"]


@table("advice", "patterns")
def test_patterns_of_noise_in_a_text(row: Row) -> None:
    assert list(noise.patterns(Extract(row["old"]), Extract(row["new"]))) == row["are"]


@table("advice", "ignored")
def test_elements_that_are_noise(row: Row) -> None:
    sights = []
    for page in (row["old"], row["new"]):
        tree = tree_of(f"<body>{page}</body>")
        sights.append(noise.Sight(index(tree), [body(tree)]))
    assert sorted(noise.elements(*sights)) == row["are"]


def test_members_of_json_that_are_noise() -> None:
    old, new = Extract('{\n  "at": 1,\n  "price": 20\n}'), Extract('{\n  "at": 2,\n  "price": 20\n}')
    assert noise.members(old, new) == ("at",)
    assert noise.members(Extract("20"), Extract("21")) == ()


@table("advice", "moved")
def test_where_a_text_stands_now(row: Row) -> None:
    found = moved(index(tree_of(row["page"])), row["known"], row["select"])
    assert (found.selector if found else "") == row["is"]
    assert found is None or found.same is row["same"]


@table("advice", "pace")
def test_how_often_to_look(row: Row) -> None:
    fresh = timedelta(seconds=row["fresh"]) if "fresh" in row else None
    found = pace.suggested(row["modified"], fresh, START)
    assert (written(found.every) if found else None) == row["every"]


@table("advice", "named")
def test_the_name_of_an_entry_is_one_harmless_line_and_quoted(row: Row) -> None:
    name = entry.name_of(row["title"], "https://example.org/a/b?c=1")
    assert name == row["is"]
    keys: dict[str, entry.Value] = {"name": name, "url": "https://example.org/"}
    assert entry.written(keys).splitlines()[0] == f"  - {row['line']}"
    assert entry.means(keys) is not None


def test_an_entry_that_does_not_load_is_none() -> None:
    url: dict[str, entry.Value] = {"url": "https://example.org/"}
    assert entry.means({**url, "select": "p["}) is None
    assert entry.means({**url, "ignore_text": ("(",)}) is None
    assert entry.means({**url, "name": "a\nb"}) is None
    assert entry.means({"url": "ftp://example.org/"}) is None


def test_what_looks_like_a_variable_is_taken_literally() -> None:
    keys: dict[str, entry.Value] = {
        "url": "https://example.org/${a}",
        "select": "[a='${']",
        "ignore_text": ("${a}$${b}",),
    }
    watch = entry.means(keys)
    assert watch is not None
    assert (watch.url, watch.select, watch.ignore_text) == tuple(keys.values())


TEXTS = st.text(max_size=80)


@given(title=TEXTS, select=TEXTS, ignored=st.lists(TEXTS.filter(bool), max_size=2), pattern=TEXTS)
def test_an_entry_says_what_was_meant_or_nothing(title: str, select: str, ignored: list[str], pattern: str) -> None:
    name = entry.name_of(title, "https://example.org/")
    assert not name.startswith("-")
    assert not any(map('`$"\\!'.__contains__, name))
    keys: dict[str, Any] = {"name": name, "url": "https://example.org/", "number": True, "every": "6h"}
    assert entry.means(keys) is not None
    keys.update(select=select, ignore=tuple(ignored), ignore_text=(pattern,))
    watch = entry.means(keys)
    if watch is not None:
        assert (watch.select, watch.ignore, watch.ignore_text) == (select, tuple(ignored), (pattern,))


NAMES = st.sampled_from(["price", "a", "b", "x1", "css-1x2y3z", "mt-4", "é", 'q"', "2x", "main", "a:b", "-", ""])
TAGS = st.sampled_from(["p", "div", "b", "h1", "ul", "li", "table", "td", "template", "a", "main", "x-y"])


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Elements with few names, so that many have the same."""

    def element(depth: int) -> str:
        tag, names = (
            draw(TAGS),
            draw(st.lists(st.tuples(st.sampled_from(["id", "class", "itemprop", "data-a"]), NAMES))),
        )
        inside = "".join(element(depth - 1) for _ in range(draw(st.integers(0, 3)))) if depth else "text"
        given = " ".join(f"{name}='{value}'" for name, value in dict(names).items())
        return f"<{tag} {given}>{inside}</{tag}>"

    return "".join(element(draw(st.integers(0, 3))) for _ in range(draw(st.integers(1, 3))))


@given(page=pages(), data=st.data())
def test_a_proposed_selector_matches_exactly_the_element_it_was_made_for(page: str, data: st.DataObject) -> None:
    known = index(tree_of(page))
    every: list[Node] = list(known.tree.root.iter())
    target = data.draw(st.sampled_from(every))
    proposal = selector_for(known, [target])
    if proposal:
        assert known.tree.find(proposal) == [target]
        assert brittle.reasons(proposal) == ()


@given(old=st.text("a1: \n", max_size=40), new=st.text("a1: \n", max_size=40))
def test_patterns_of_noise_can_be_written(old: str, new: str) -> None:
    found = noise.patterns(Extract(old), Extract(new))
    keys: dict[str, entry.Value] = {"url": "https://example.org/", "ignore_text": found}
    assert not found or entry.means(keys) is not None


@pytest.mark.parametrize("text", ["", "a" * 3_000, "\n" * 10])
def test_no_text_and_a_long_text_are_not_looked_for(text: str) -> None:
    assert embedded.places(tree_of("<script type=application/json>[1]</script>"), text) == ()
    assert moved(index(tree_of("<p>a</p>")), text * 2, "p") is None
