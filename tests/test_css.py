"""Selectors: tests/cases/selectors.yaml, and the promise that both ways of finding elements agree."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from bs4 import BeautifulSoup
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pagewatch import config, css, markup, soup, translation
from pagewatch.markup import Node, Tree
from tests.tables import Row, table

PAGE = """<!doctype html><main id=main>
  <p id=price class=a data-k=v>20 <b>euros</b></p> <p id=old class=" a\n b">18</p>
  <ul id=list><li id=one>1<li id=two class=x>2<li id=three class=x>3</ul>
  <a id=link href=/x>x</a> <a name=y>y</a> <input id=token type=hidden>
  <table id=3GPP></table><div id="fn:7" class="md:flex"></div>
  <template id=tpl><i class=t id=t></i></template>
</main>"""


def tree_of(page: str) -> Tree:
    tree = markup.parse(page)
    assert isinstance(tree, Tree)
    return tree


@table("selectors", "wrong")
def test_what_is_no_selector_is_told_with_its_place(row: Row) -> None:
    message = soup.check_selector(row["selector"])
    assert message is not None
    assert message.startswith(f'"{row["selector"]}" is no CSS selector at character {row["at"]} (')
    assert row["says"] in message
    assert "\n" not in message and "Malformed" not in message and "position" not in message


def test_an_empty_selector_is_told_as_such() -> None:
    assert soup.check_selector("  ") == "the selector is empty"


@table("selectors", "found")
def test_what_a_selector_finds(row: Row) -> None:
    assert soup.check_selector(row["selector"]) is None
    assert [element.get("id") for element in tree_of(PAGE).find(row["selector"])] == row["ids"]


@pytest.mark.parametrize("selector", ["#price", "main > p.a", "ul li:nth-child(2)", "a[href]", "p:not(.x) + ul"])
def test_the_usual_selectors_are_found_by_lxml(selector: str) -> None:
    assert css.finder(selector) is not None


@pytest.mark.parametrize(
    "selector", [":is(p)", "p ~ p", "li:nth-child(odd)", "[type=x]", "a:any-link", "dc|x", "*:first-of-type"]
)
def test_what_may_mean_something_else_in_xpath_is_left_to_beautiful_soup(selector: str) -> None:
    assert css.finder(selector) is None


@pytest.mark.parametrize("selector", ["li:nth-child(2)", "li + li", "li:last-child", "ul li", "li ~ li", "p ~ li"])
def test_a_list_of_20000_takes_no_minutes(selector: str) -> None:
    tree = tree_of("<ul>" + "<li>x</li>" * 20_000)
    began = time.process_time()
    tree.find(selector)
    assert time.process_time() - began < 5


# ------------------------------------------------------------------------------------------ both ways find the same

TAGS = [*"div p p a ul li li table tr td b i h2 template br form noscript o:p".split()]
ATTRIBUTES = [
    *(
        'id="a"',
        "id=b",
        'class="a b"',
        'class="b\n c"',
        "class='a'",
        'class="a\u00a0b"',
        'class=""',
        'href="/x/y"',
        "href=x",
    ),
    *('data-k="v w"', "data-k", "lang=en", "title='q\"'", "type=TEXT", "hidden", 'rel="a b"', "DATA-K=V", 'id="3G"'),
]
ODD = [
    "<!-- c -->",
    "</p>",
    "</div>",
    "<",
    "&amp;",
    "</b></i>",
    "<body class=z>",
    "</body>",
    "<p",
    "\0",
    "<![CDATA[x]]>",
]
CONDITIONS = [
    *(
        ".a",
        ".b",
        "#a",
        "[data-k]",
        "[data-k=v]",
        '[data-k="v w"]',
        "[data-k~=w]",
        '[href^="/x"]',
        "[href$=y]",
        '[href*="x"]',
    ),
    *("[lang|=en]", '[class~="a"]', '[class="a b"]', '[class=""]', ":first-child", ":last-child", ":only-child"),
    *(":nth-child(2)", ":nth-last-child(2)", ":nth-child(odd)", ":nth-child(0)", ":not(.a)", ":not(p)", ":not([href])"),
    *(":first-of-type", ":last-of-type", ":only-of-type", ":nth-of-type(2)", ":nth-last-of-type(1)", "[type=text]"),
    *('[id="3G"]', "#\\33 G", "[rel=a]", "[DATA-K]", ":not(:first-child)", ":not(.a.b)", ":not(*)", "[title='q\"']"),
]

start_tags = st.builds(
    lambda tag, attributes: f"<{tag} {' '.join(attributes)}>",
    st.sampled_from(TAGS),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3),
)
end_tags = st.sampled_from([f"</{tag}>" for tag in TAGS])
pages = st.lists(start_tags | end_tags | st.sampled_from([*ODD, "x", "  ", "é"]), min_size=1, max_size=40).map("".join)
compounds = st.builds(
    lambda name, conditions: (name + "".join(conditions)) or "*",
    st.sampled_from([*(tag.replace(":", "\\:") for tag in TAGS), "*", "", "", "P"]),
    st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True),
)
selectors = st.builds(
    lambda first, rest: first + "".join(combinator + compound for combinator, compound in rest),
    compounds,
    st.lists(st.tuples(st.sampled_from([" ", " > ", " + ", " ~ ", ", "]), compounds), max_size=3),
)


def below_root(tree: Tree, elements: list[Node], selector: str) -> list[Node]:
    """Whether the root has a parent that `*` matches is a matter of soupsieve's version, and so what `* * *` finds."""
    doubtful = [tree.root, *tree.root] if "*" in selector else [tree.root]
    return [element for element in elements if element not in doubtful]


@settings(max_examples=150)
@given(pages, st.lists(selectors, min_size=20, max_size=20))
def test_lxml_and_beautiful_soup_find_the_same_elements(page: str, wanted: list[str]) -> None:
    """Over 3,000 pairs of broken pages and selectors."""
    tree = tree_of(page)
    for selector in wanted:
        by_soup = [element for element in tree._soup.find(selector) if not in_template(element)]
        assert below_root(tree, tree.find(selector), selector) == below_root(tree, by_soup, selector), selector


@settings(max_examples=150)
@given(pages, st.lists(selectors, min_size=5, max_size=5))
def test_beautiful_soup_reading_the_page_itself_finds_the_same(page: str, wanted: list[str]) -> None:
    """But for </body> in the middle, after which Beautiful Soup hangs the rest somewhere else than lxml does."""
    assume("body" not in page)
    assume(not re.search("</(body|html)", page, re.IGNORECASE))  # what stands behind them is where browsers have it
    tree = tree_of(page)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(page.replace("\0", ""), "lxml", multi_valued_attributes=None)
    for selector in wanted:
        doubtful = ("html", "body", "head") if "*" in selector else ("html",)
        tags = [tag for tag in soup.select(selector) if tag.name not in doubtful and not tag.find_parent("template")]
        found = [element for element in tree.find(selector) if element.tag not in doubtful]
        assert [(e.tag, dict(e.attrib)) for e in found] == [(tag.name, dict(tag.attrs)) for tag in tags], selector


def in_template(element: Node) -> bool:
    return next(element.iterancestors("template"), None) is not None


pieces = st.sampled_from(
    ["p", "li", ":not(", ":is(", ":has(", ":nth-child(", "2n+1", ":root", "[a=b]", "::x", ":scope"]
)
css_like = st.lists(st.sampled_from("ab.#:[]()>+~,*'\"\\ 0-2@|=^$!&/é\0{}") | pieces, max_size=9).map("".join)


@settings(max_examples=500)
@given(css_like)
@example("\\b")
def test_any_text_is_a_selector_or_one_line_says_why_not(text: str) -> None:
    message = soup.check_selector(text)
    assert message is None or message == "the selector is empty" or " is no CSS selector at character " in message
    if message is None:
        tree_of(PAGE).find(text)


compounds = st.tuples(
    st.sampled_from(["", "a", "p", "DIV", "h1"]), st.lists(st.sampled_from(["#a", "#b", ".b", ".c", ".c-d", ".B"]))
)
chains = st.lists(st.tuples(st.sampled_from([" ", " > "]), compounds), min_size=1, max_size=4)
NESTED = (
    "<div id=a class='b c'><p class=B id=b><a class='c  a' id=b>x</a></p><div><p class='c c-d'><a id=a>y</a></p>"
    "<h1 class=c-d>z</h1></div></div>"
)


@settings(max_examples=500)
@given(chains)
def test_names_mean_what_they_mean_in_the_translation(chain: list[tuple[str, tuple[str, list[str]]]]) -> None:
    parts = [(combinator, name + "".join(marks)) for combinator, (name, marks) in chain]
    selector = "".join(combinator + (part or ".b") for combinator, part in parts).strip(" >")
    assert css.PLAIN.fullmatch(selector)
    tree, path = tree_of(NESTED), translation.translated(selector)
    assert path is not None
    assert tree.find(selector) == tree.root.xpath(path)
    assert below_root(tree, tree.find(selector), selector) == below_root(tree, tree._soup.find(selector), selector)


@given(st.from_regex(config.PLAIN, fullmatch=True))
def test_what_is_believed_without_the_engine_is_a_selector(selector: str) -> None:
    assert soup.check_selector(selector) is None
    assert css.finder(selector) is not None
