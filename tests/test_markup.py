"""HTML and XML become trees: what is refused, and what is never fetched."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import markup
from pagewatch.answers import FetchFailed
from pagewatch.frozen import replace
from pagewatch.markup import Tree

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><r a="&l9;">&l9;</r>'


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><r>&x;</r>',
        "<!-- <r> --> <?p i?>" + " " * 5000 + '<!DOCTYPE r [ <!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p; ]><r/>',
    ],
)
@pytest.mark.parametrize("media_type", ["application/xml", "application/rss+xml", "application/xhtml+xml"])
def test_entity_declarations_are_refused(text: str, media_type: str) -> None:
    failed = markup.parse(text, media_type)
    assert isinstance(failed, FetchFailed) and failed.kind == "xml-forbidden"


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd"><r>x</r>',
        "<!DOCTYPE r><r>x</r>",
        "<r><![CDATA[<!DOCTYPE r [<!ENTITY x]]>x</r>",
        "<!-- <!DOCTYPE r [<!ENTITY --><r>x</r>",
    ],
)
def test_a_doctype_alone_is_harmless_and_fetches_nothing(text: str) -> None:
    tree = markup.parse(text, "text/xml")
    assert isinstance(tree, Tree) and tree.xml
    assert "".join(tree.root.itertext()).endswith("x")


@pytest.mark.parametrize("text", ["", "x", "<r>", "<r></s>", "<a/><b/>", "<r>\x01</r>", "<!-- c", "<r>" * 3000])
def test_xml_that_is_not_well_formed_is_none(text: str) -> None:
    failed = markup.parse(text, "application/xml")
    assert isinstance(failed, FetchFailed) and failed.kind == "not-xml"


def test_white_space_and_marks_before_the_declaration_are_passed_over() -> None:
    tree = markup.parse('\ufeff \n<?xml version="1.0" encoding="iso-8859-1"?><r>é</r>', "text/xml")
    assert isinstance(tree, Tree) and tree.root.text == "é"


@pytest.mark.parametrize(
    "text", ["<!--" * 200_000, "<?x " * 200_000, "<!DOCTYPE " * 100_000, "&a" * 300_000, "&a;" * 200_000]
)
@pytest.mark.parametrize("media_type", ["text/html", "text/xml"])
def test_hostile_text_takes_no_time(text: str, media_type: str) -> None:
    began = time.process_time()
    markup.parse(text, media_type)
    assert time.process_time() - began < 3


def test_an_attribute_is_found_by_its_prefix() -> None:
    tree = markup.parse('<r xmlns:x="urn:x"><a x:k="1"/><a k="2"/><a xml:lang="en"/></r>', "text/xml")
    assert isinstance(tree, Tree)
    assert [len(tree.find(selector)) for selector in ("[x|k]", "[k]", "[xml|lang]", "zz|a")] == [1, 1, 1, 0]


def test_only_a_page_with_such_faults_is_read_twice() -> None:
    many = "<x-y></x-y></u>" * 120
    pages = ["<p>x</p><a href=/>y</a>", "<a><table></table></a>", many + "<a><table></table></a>"]
    trees = [tree for tree in map(markup.parse, pages) if isinstance(tree, Tree)]
    assert ["a" in tree.torn for tree in trees] == [False, True, True]


@pytest.mark.parametrize(
    "text", ["<a>x<table><tr><td>y</table></a><script>'<a>'</script>", "<b>x<p>y</p></b>", "<p>x</p>"]
)
def test_the_second_reading_has_the_words_of_the_first_and_whole_elements(text: str) -> None:
    tree = markup.parse(text)
    assert isinstance(tree, Tree)
    again = tree.reread()
    assert "".join(again.root.itertext()) == "".join(tree.root.itertext())
    assert {element.tag for element in again.root.iter()} == {element.tag for element in tree.root.iter()}
    assert all("y" in "".join(element.itertext()) for name in tree.torn for element in again.root.iter(name))


@given(st.text(alphabet="<>/ap ='\"&;tdrbl", max_size=80))
def test_the_second_reading_raises_for_no_page(page: str) -> None:
    tree = markup.parse(page)
    assert isinstance(tree, Tree)
    replace(tree, torn=frozenset({"a", "b"})).reread()


@pytest.mark.parametrize("piece", ["<!--", "<a", "<a b", "<a b='", "</", "<script", "<a>", "</a>", "<a></a></a>"])
def test_the_second_reading_of_hostile_text_takes_no_time(piece: str) -> None:
    began = time.process_time()
    tree = markup.parse("<a><table></table></a>" + piece * 100_000)
    assert isinstance(tree, Tree)
    replace(tree, torn=frozenset({"a", "b"})).reread()
    assert time.process_time() - began < 5


def test_a_flood_of_attributes_is_refused_before_it_takes_minutes() -> None:
    flood = "<p " + " ".join(f"a{number}=1" for number in range(20_000)) + ">hi</p>"
    answer = markup.parse(flood)
    assert isinstance(answer, FetchFailed) and answer.kind == "too-large"


def test_long_scripts_and_long_attributes_are_no_flood() -> None:
    script = "<script>" + "if (x < y ) z = 1 ; " * 5_000 + "</script><p id=x>hi</p>"
    picture = f'<img src="data:{"A" * 100_000}"><p id=x>hi</p>'
    assert all(isinstance(markup.parse(page), Tree) for page in (script, picture))


@given(st.lists(st.integers(0, 2 * markup.SHORTEST_FLOOD), max_size=6), st.booleans())
def test_long_parts_are_those_between_angle_brackets_far_apart(lengths: list[int], closed: bool) -> None:
    text = ">".join("a" * length for length in lengths) + ">" * closed
    assert list(markup._long_parts(text)) == [part for part in text.split(">") if len(part) >= markup.SHORTEST_FLOOD]
