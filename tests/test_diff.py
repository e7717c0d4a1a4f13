"""What differs between two extracts, as values and as text for people."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import diff
from pagewatch.answers import Extract, Item
from pagewatch.model import Change
from tests.values import watch

PARAGRAPH = " ".join(f"word{number}" for number in range(400))
CHARACTERS = "".join(chr(0x4E00 + number) for number in range(1200))  # a text without spaces


def changed(old: str, new: str) -> Change:
    return diff.change(Extract(old), Extract(new), watch())


@pytest.mark.parametrize(
    ("old", "new", "gist"),
    [
        ("20 dollars", "18 dollars", "20 dollars → 18 dollars"),
        ("", "18 dollars", "(none) → 18 dollars"),
        ("one\ntwo", "one\ntwo\nthree", "1 line added: three"),
        ("one\ntwo\nthree", "one\nthree", "1 line removed: − two"),
        ("head\nprice 20", "head\nprice 18", "price 20 → price 18"),
    ],
)
def test_the_gist_of_a_change_of_text(old: str, new: str, gist: str) -> None:
    assert diff.gist(changed(old, new)) == gist


def test_additions_come_first_in_a_longer_text() -> None:
    assert diff.text(changed("a\nb\nc", "x\nb\ny\nz")) == "+ x\n+ y\n+ z\n− a\n− c"


def test_each_place_of_a_long_paragraph_that_changed_is_shown_with_what_stands_around_it() -> None:
    new = PARAGRAPH.replace("word20 ", "FIRST ").replace("word380 ", "SECOND ")
    lines = diff.text(changed(PARAGRAPH, new)).split("\n")
    assert len(lines) == 2
    assert "word19 word20 word21" in lines[0] and "word19 FIRST word21" in lines[0]
    assert "SECOND" in lines[1] and "word20 " not in lines[1]


def test_a_change_in_a_text_without_spaces_is_shown_and_not_its_beginning() -> None:
    new = CHARACTERS[:800] + "X" + CHARACTERS[801:]
    text = diff.text(changed(CHARACTERS, new))
    assert "X" in text and len(text) < 400


def test_an_addition_at_the_end_of_a_long_line_is_shown() -> None:
    assert "New start." in diff.text(changed(PARAGRAPH, PARAGRAPH + " New start."))


def test_fields_are_told_by_name_and_null_is_no_value() -> None:
    old = Extract("", fields=(("price", "20"), ("stock", None), ("size", "M")))
    new = Extract("", fields=(("price", "18"), ("stock", "3"), ("size", "M")))
    assert diff.gist(diff.change(old, new, watch())) == "price: 20 → 18, stock: (none) → 3"


def test_items_are_compared_by_key() -> None:
    old = Extract("", items=(Item("a", "A"), Item("b", "B")))
    new = Extract("", items=(Item("c", "C"), Item("b", "B2")))
    change = diff.change(old, new, watch())
    assert ([item.key for item in change.added], [item.key for item in change.removed]) == (["c"], ["a"])
    assert change.updated == ((Item("b", "B"), Item("b", "B2")),)
    assert diff.gist(change) == "1 added, 1 removed, 1 updated: C"


def test_a_lost_text_is_told_as_what_is_there_now() -> None:
    change = diff.change(None, Extract("18 dollars"), watch())
    assert diff.gist(change) == "now 18 dollars"
    assert "not known any more" in diff.text(change)


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_texts_that_differ_are_told_as_something(old: str, new: str) -> None:
    if old != new:
        assert diff.gist(changed(old, new)) and diff.text(changed(old, new))


def test_lines_of_few_kinds_take_no_long_time() -> None:
    began = time.monotonic()
    assert diff.gist(changed("a\nb\n" * 450, "b\nb\na\n" * 300)) == "150 lines added, 150 lines removed: b"
    assert time.monotonic() - began < 2


def test_the_gist_of_two_long_lines_is_short() -> None:
    old, new = (" ".join(f"{word}{number}" for number in range(5_000)) for word in ("a", "b"))
    assert len(diff.gist(changed(old, new))) <= 2 * diff.SHORT + 3
