"""Lines before and after, beside each other: which ones stand there, and how they are marked."""

from __future__ import annotations

import time

import lxml.html  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch.answers import Item
from pagewatch.comparison import FIRST_ROWS, LONGEST_LINE, MOST_ROWS, Row, table
from pagewatch.model import Change
from pagewatch.sides import MOST_LINES, rows_of

GAP: Row = (None, None)
UPDATED = Item("c", "5 left"), Item("c", "full")
FIELDS = (("a", "5"), ("b", None))
NUMBERS = [str(n) for n in range(20)]
LINES = st.lists(st.sampled_from("abcd"), max_size=30)


def lines(*changed: tuple[int, str], numbers: list[str] = NUMBERS) -> str:
    new = dict(changed)
    return "\n".join(new.get(place, line) for place, line in enumerate(numbers))


# ------------------------------------------------------------------------------------------------ which lines


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        pytest.param(Change("20 €", "18 €"), [("20 €", "18 €")], id="a short text is one line"),
        pytest.param(Change("", "18 €"), [(None, "18 €")], id="nothing before"),
        pytest.param(Change("18 €", ""), [("18 €", None)], id="nothing any more"),
        pytest.param(Change("18 €", None), [("18 €", None)], id="not there any more"),
        pytest.param(Change(None, "18 €"), [], id="the text before is lost"),
        pytest.param(
            Change(lines(), lines((10, "new"))),
            [GAP, ("8", "8"), ("9", "9"), ("10", "new"), ("11", "11"), ("12", "12"), GAP],
            id="a changed line stands between two on each side",
        ),
        pytest.param(
            Change(lines(), lines((1, "1\nnew"))),
            [("0", "0"), ("1", "1"), (None, "new"), ("2", "2"), ("3", "3"), GAP],
            id="no gap where nothing is left out",
        ),
        pytest.param(
            Change(lines(), lines((3, "three"), (15, "fifteen"))),
            [
                *(GAP, ("1", "1"), ("2", "2"), ("3", "three"), ("4", "4"), ("5", "5"), GAP),
                *(("13", "13"), ("14", "14"), ("15", "fifteen"), ("16", "16"), ("17", "17"), GAP),
            ],
            id="two places have a gap between them",
        ),
        pytest.param(
            Change(None, None, (Item("a", "Pottery"), Item("k")), (Item("b", "Weaving"),), (UPDATED,)),
            [(None, "Pottery"), (None, "k"), ("5 left", "full"), ("Weaving", None)],
            id="items: added, updated, removed",
        ),
        pytest.param(
            Change(None, None, updated=((Item("d", "", "", FIELDS), Item("d", "", "", (("a", "6"),))),)),
            [("d, a: 5", "d, a: 6")],
            id="items of fields",
        ),
        pytest.param(
            Change(None, None, fields=(("price", "20", "18"), ("note", None, "new"), ("size", "L", None))),
            [("price: 20", "price: 18"), (None, "note: new"), ("size: L", None)],
            id="fields by name; null is not there",
        ),
    ],
)  # fmt: skip
def test_a_change_is_lines_before_and_after(change: Change, rows: list[Row]) -> None:
    assert list(rows_of(change)) == rows


@given(LINES, LINES)
def test_each_line_that_came_or_went_is_there_in_its_order(old: list[str], new: list[str]) -> None:
    rows = rows_of(Change("\n".join(old), "\n".join(new)))
    assert is_within([before for before, _ in rows if before is not None], old)
    assert is_within([after for _, after in rows if after is not None], new)
    balance = sum((after is not None) - (before is not None) for before, after in rows)
    assert balance == len(new) - len(old)


def is_within(some: list[str], all_lines: list[str]) -> bool:
    rest = iter(all_lines)
    return all(line in rest for line in some)


def test_long_texts_without_a_common_line_take_no_long_time() -> None:
    old = "\n".join("ab"[n % 2] for n in range(40 * MOST_LINES))
    start = time.perf_counter()
    rows = rows_of(Change(old, old.replace("b", "c")))
    took = time.perf_counter() - start
    assert took < 1 and len(rows) > MOST_LINES


# --------------------------------------------------------------------------------------------- how they are marked


def shown(*rows: Row, room: int = 100_000) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(f"<div>{table(rows, 'caption', room)}</div>")


def marks(*rows: Row) -> tuple[list[str], list[str]]:
    page = shown(*rows)
    return page.xpath("//del/text()"), page.xpath("//ins/text()")


@pytest.mark.parametrize(
    ("before", "after", "gone", "come"),
    [
        pytest.param("20 €", "18 €", ["20"], ["18"], id="a word"),
        pytest.param("a b c d e f", "a x c d y f", ["b", "e"], ["x", "y"], id="two words"),
        pytest.param("a b c", "a b c d e", [], ["d e"], id="words behind"),
        pytest.param("x a b c", "a b c", ["x"], [], id="a word before"),
        pytest.param("all is well", "nothing helps now", ["all is well"], ["nothing helps now"], id="all of it"),
        pytest.param("a b c d e", "v w x y e", ["a b c d e"], ["v w x y e"], id="nearly all of it is all of it"),
        pytest.param("w", None, ["w"], [], id="a line that went"),
        pytest.param(None, "w", [], ["w"], id="a line that came"),
        pytest.param("w", "w", [], [], id="a line that stayed"),
        pytest.param("<b> & x", "<i> & x", ["<b>"], ["<i>"], id="text is no markup"),
    ],
)
def test_what_came_and_went_is_marked(before: str | None, after: str | None, gone: list[str], come: list[str]) -> None:
    assert marks((before, after)) == (gone, come)


def test_a_line_is_whole_but_for_its_marks() -> None:
    page = shown(("the fee is 20 euros a year", "the fee is 24 euros"))
    assert [cell.text_content() for cell in page.xpath("//td")] == ["the fee is 20 euros a year", "the fee is 24 euros"]


def test_a_gap_and_an_empty_line_are_seen() -> None:
    page = shown(GAP, ("", None))
    assert [cell.text_content() for cell in page.xpath("//td")] == ["…", "\u00a0", ""]


def test_the_difference_of_long_lines_is_seen_wherever_it_is() -> None:
    much = "word " * 500
    page = shown((f"{much}20 {much}", f"{much}18 {much}"))
    assert (page.xpath("//del/text()"), page.xpath("//ins/text()")) == (["20"], ["18"])
    cells = [cell.text_content() for cell in page.xpath("//td")]
    assert all(cell.startswith("…word ") and cell.endswith("…") and len(cell) <= LONGEST_LINE for cell in cells)


def test_the_difference_of_one_long_word_is_seen() -> None:
    page = shown(("w" * 5_000 + "a", "w" * 5_000 + "b"))
    assert [cell.text_content()[-2:] for cell in page.xpath("//td")] == ["wa", "wb"]


@pytest.mark.parametrize(("count", "seen", "left"), [(30, 30, ""), (MOST_ROWS, MOST_ROWS, ""), (999, MOST_ROWS, "799")])
def test_lines_are_bounded_and_what_is_left_out_is_counted(count: int, seen: int, left: str) -> None:
    page = shown(*((None, f"line {n}") for n in range(count)))
    assert len(page.xpath("//ins")) == seen
    said = [cell.text_content() for cell in page.xpath("//tr[@class='gap']")]
    assert said == ([f"… and {left} more lines"] if left else [])


def test_many_lines_are_folded_away_behind_the_first() -> None:
    page = shown(*((None, f"line {n}") for n in range(100)))
    assert len(page.xpath("div/table[1]//ins | table[1]//ins")) == FIRST_ROWS
    assert page.xpath("//details/summary/text()") == [f"{100 - FIRST_ROWS} more lines"]
    assert len(page.xpath("//details[not(@open)]/table//ins")) == 100 - FIRST_ROWS


def test_a_table_takes_no_more_room_than_it_is_given() -> None:
    rows: list[Row] = [("'" * 300, None)] * 50
    for room in (0, 5_000, 20_000):
        assert len(table(rows, "caption", room).encode()) <= room + 700
    assert "… and 50 more lines" in table(rows, "caption", 0)
    assert "… and 1 more line<" in table(rows[:1], "caption", 0)
