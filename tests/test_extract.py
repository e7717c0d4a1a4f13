"""The watched part of a page: tests/cases/extract.yaml, and what must hold for any page."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import markup
from pagewatch.answers import Extract, NoMatch
from pagewatch.element_text import page_text
from pagewatch.extract import select
from pagewatch.fingerprint import collapse
from pagewatch.markup import Tree
from pagewatch.model import split_attribute
from tests.tables import Row, keys_of, table
from tests.values import watch


def seen(page: str, media_type: str = "text/html", **keys: Any) -> Extract | NoMatch:
    tree = markup.parse(page, media_type)
    assert isinstance(tree, Tree)
    return select(tree, watch(**{"select": "", **keys}))


def seen_in(row: Row, media_type: str = "text/html") -> Extract | NoMatch:
    keys = keys_of(row, "page", "media_type", "text", "fields_are", "matched", "nothing", "hint")
    return seen(row["page"], row.get("media_type", media_type), **keys)


def check(row: Row, found: Extract | NoMatch) -> None:
    assert isinstance(found, Extract), found
    assert found.matched == row.get("matched", 1)
    assert dict(found.fields) == row.get("fields_are", {})
    assert found.text == row.get("text", found.text)


@pytest.mark.parametrize("name", ["text", "match", "ignore", "fields", "number"])
def test_every_table_of_html_has_rows(name: str) -> None:
    assert len(table("extract", name).args[1]) > 3


@table("extract", "text")
def test_the_text_of_a_page(row: Row) -> None:
    check(row, seen_in(row))


@table("extract", "match")
def test_which_elements_are_watched(row: Row) -> None:
    check(row, seen_in(row))


@table("extract", "ignore")
def test_what_is_left_out(row: Row) -> None:
    check(row, seen_in(row))


@table("extract", "fields")
def test_named_parts(row: Row) -> None:
    check(row, seen_in(row))


@table("extract", "number")
def test_amounts_keep_their_cents(row: Row) -> None:
    check(row, seen_in(row))


@table("extract", "xml")
def test_xml_is_read_as_xml(row: Row) -> None:
    check(row, seen_in(row, "application/xml"))


@table("extract", "nothing")
def test_nothing_found_is_told_with_its_likely_cause(row: Row) -> None:
    found = seen_in(row)
    assert isinstance(found, NoMatch)
    assert (found.kind, found.what) == ("selector", row["nothing"])
    assert row["hint"] in found.hint and bool(row["hint"]) == bool(found.hint)


@pytest.mark.parametrize("keys", [{"select": "#no"}, {"select": "p", "ignore": ("p",)}, {"select": "price"}])
def test_with_if_missing_ok_nothing_is_a_value(keys: dict[str, Any]) -> None:
    assert seen("<p>x</p>", if_missing="ok", **keys) == Extract("", matched=0)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("a.buy@href", ("a.buy", "href")),
        ("@id", ("", "id")),
        ('a[href="x@y"]', ('a[href="x@y"]', "")),
        ("b", ("b", "")),
    ],
)
def test_a_field_is_a_selector_and_perhaps_an_attribute(written: str, parts: tuple[str, str]) -> None:
    assert split_attribute(written) == parts


def test_a_page_of_100000_nested_elements_is_read_to_its_end() -> None:
    page = "<div>" * 100_000 + "<p id=deep>deep <i>down</i> there</p>" + "</div>" * 100_000 + "<p id=end>end</p>"
    tree = markup.parse(page)
    assert isinstance(tree, Tree)
    assert collapse(page_text(tree)) == "deep down there end"
    assert select(tree, watch(select="#deep")) == Extract("deep")  # below DEEPEST elements stand side by side
    assert select(tree, watch(select="#end")) == Extract("end")


def test_a_page_of_4000_nested_elements_is_read_as_it_is() -> None:
    page = "<div>" * 4000 + "<p id=deep>deep <i>down</i> there</p>" + "</div>" * 4000 + "<p id=end>end</p>"
    assert seen(page, select="div #deep") == Extract("deep down there")
    assert seen(page, select=":is(#end)") == Extract("end")


def test_a_page_that_never_ends_its_inline_elements_is_read_to_its_end() -> None:
    """Each <font> that is not ended is one level more; lxml gives up at 2,048 and drops the rest."""
    page = "".join(f"<p>post {n}<font color=red>" for n in range(3000)) + "<p id=last>last"
    assert seen(page, select="#last") == Extract("last")


def test_12_megabytes_of_data_before_the_price_are_read() -> None:
    page = '<script>var s="' + "abcdefghij" * 1_200_000 + '";</script><b id=price>12 €</b>'
    began = time.process_time()
    assert seen(page, select="#price") == Extract("12 €")
    assert time.process_time() - began < 5


words = st.text(alphabet="abc123€é", min_size=1, max_size=4)
inline = st.recursive(
    words,
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        st.sampled_from(["em", "span", "strong", "label"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=6,
)


@given(st.lists(st.lists(inline, min_size=1, max_size=3), min_size=1, max_size=5))
def test_inline_markup_never_changes_the_text_and_blocks_never_glue_it(blocks: list[list[str]]) -> None:
    marked = "".join(f"<div>{''.join(parts)}</div>" for parts in blocks)
    bare = "\n".join(_without_tags("".join(parts)) for parts in blocks)
    found = seen(marked)
    assert isinstance(found, Extract)
    assert collapse(found.text) == collapse(bare)


def _without_tags(markup: str) -> str:
    for tag in ("em", "span", "strong", "label"):
        markup = markup.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return markup


@given(st.text(alphabet="<>/ab ='\"!-&;p\0\x0c\n[]?", max_size=60), st.sampled_from(["text/html", "application/xml"]))
def test_no_page_raises(page: str, media_type: str) -> None:
    tree = markup.parse(page, media_type)
    if isinstance(tree, Tree):
        page_text(tree)
        select(tree, watch(select="a", match="all", ignore=("b:is(b)",)))
        page_text(tree.reread())
