"""What is the same and what is not, from the bytes of a page to its fingerprint, over generated content.

Order of records, order of members and white space never change a fingerprint; any change of the watched text does.
"""

from __future__ import annotations

import json
import random
import string
from html import escape
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from pagewatch import sources
from pagewatch.answers import Missing, Observation
from pagewatch.model import Watch
from tests.values import representation, watch

LETTERS = string.ascii_letters + string.digits + "äß€&<>'\"-., "
WORDS = st.text(LETTERS, min_size=1, max_size=12).map(lambda text: " ".join(text.split())).filter(bool)
RECORDS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
SPACE = st.text(" \t\r\n", min_size=1, max_size=4)

PAGE = watch(select="", items="li", key="b", fields=(("name", "b"), ("price", "i")))
LINES = watch(select="#p")
JSON = watch(select="", source="json")
ARRAY = watch(select="", source="json", key="id")


def fingerprint(definition: Watch, body: str, media_type: str = "text/html") -> str:
    answer = representation(body=body.encode(), media_type=media_type, digest="")
    seen = sources.read(definition, answer, lambda url: Missing(404))
    assert isinstance(seen, Observation), seen
    return seen.fingerprint


def listed(records: list[tuple[str, str]], space: str = "") -> str:
    rows = [f"<li><b>{escape(name)}</b>{space}<i>{escape(price)}</i>{space}</li>" for name, price in records]
    return f"<ul>{space.join(rows)}</ul>"


@given(RECORDS, st.randoms(use_true_random=False), SPACE)
def test_neither_the_order_of_records_nor_white_space_counts(
    records: list[tuple[str, str]], chance: random.Random, space: str
) -> None:
    other = list(records)
    chance.shuffle(other)
    assert fingerprint(PAGE, listed(records)) == fingerprint(PAGE, listed(other, space))


@given(RECORDS, RECORDS)
def test_other_records_always_count(records: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    assume(sorted(records) != sorted(other))
    assert fingerprint(PAGE, listed(records)) != fingerprint(PAGE, listed(other))


@given(st.lists(WORDS, min_size=1, max_size=8), SPACE)
def test_white_space_in_a_text_does_not_count(words: list[str], space: str) -> None:
    plain, spaced = (f"<p id=p>{between.join(map(escape, words))}</p>" for between in (" ", space))
    assert fingerprint(LINES, plain) == fingerprint(LINES, spaced)


@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=8))
def test_another_text_always_counts(words: list[str], other: list[str]) -> None:
    one, two = (" ".join(" ".join(each).split()) for each in (words, other))
    assume(one != two)
    assert fingerprint(LINES, f"<p id=p>{escape(one)}</p>") != fingerprint(LINES, f"<p id=p>{escape(two)}</p>")


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same value with the members of its objects in another order."""
    if isinstance(value, dict):
        members = [(name, shuffled(part, chance)) for name, part in value.items()]
        chance.shuffle(members)
        return dict(members)
    return [shuffled(part, chance) for part in value] if isinstance(value, list) else value


@given(VALUES, st.randoms(use_true_random=False), st.sampled_from([None, 1, "\t"]))
def test_neither_the_order_of_members_nor_white_space_counts(value: Any, chance: random.Random, indent: Any) -> None:
    other = json.dumps(shuffled(value, chance), indent=indent, ensure_ascii=False)
    assert fingerprint(JSON, json.dumps(value), "application/json") == fingerprint(JSON, other, "application/json")


@given(st.dictionaries(st.integers(0, 9), LEAVES, min_size=1), st.randoms(use_true_random=False))
def test_the_order_of_an_array_with_a_key_does_not_count(values: dict[int, Any], chance: random.Random) -> None:
    records = [{"id": key, "value": value} for key, value in values.items()]
    other = shuffled(records, chance)
    chance.shuffle(other)
    one, two = (fingerprint(ARRAY, json.dumps(each), "application/json") for each in (records, other))
    assert one == two
