"""JSON: tests/cases/json.yaml, and what must hold for any value."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import jsondata
from pagewatch.answers import FetchFailed
from pagewatch.fingerprint import collapse
from pagewatch.soup import check_selector
from tests.tables import Row, table

DOCUMENT = json.loads('{"a": {"b": [1, 2], "c-d": 7, "n": null, "e": ""}, "list": [{"k": "x", "v": 1}, {"k": "y"}]}')


def content(text: str) -> str:
    """What is compared."""
    value = jsondata.read(text)
    assert not isinstance(value, FetchFailed), value
    return collapse(jsondata.text_of(value))


@table("json", "same")
def test_one_content_is_one_text(row: Row) -> None:
    assert len({content(text) for text in row["texts"]}) == 1


@table("json", "different")
def test_other_content_is_another_text(row: Row) -> None:
    assert len({content(text) for text in row["texts"]}) == len(row["texts"])


@table("json", "unread")
def test_what_is_no_json_is_told_as_such(row: Row) -> None:
    failed = jsondata.read(row["text"])
    assert isinstance(failed, FetchFailed)
    assert failed.kind == "not-json" and row["says"] in failed.reason


@table("json", "found")
def test_what_a_path_finds(row: Row) -> None:
    assert jsondata.check_path(row["path"]) is None
    assert jsondata.find(DOCUMENT, row["path"]) == ([] if row.get("none") else [row["value"]])


@pytest.mark.parametrize("path", ["a[0:2].b", "a[::2]", "a[1:]", "a[-1]", "a[*].b[:3]"])
def test_a_slice_is_a_path(path: str) -> None:
    assert jsondata.check_path(path) is None


def test_a_path_or_selector_that_is_nested_too_deeply_is_the_users_mistake_and_no_bug() -> None:
    assert "nested too deeply" in str(jsondata.check_path("!" * 5_000 + "a"))
    assert "longer than 1,000" in str(check_selector(":not(" * 3_000 + "a" + ")" * 3_000))


@table("json", "written")
def test_a_value_is_written_in_lines(row: Row) -> None:
    assert jsondata.text_of(jsondata.read(row["text"])).split("\n") == row["lines"]


@table("json", "wrong")
def test_what_is_no_path_is_told_with_its_place(row: Row) -> None:
    message = jsondata.check_path(row["path"])
    assert message is not None and row["says"] in message and "\n" not in message


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_deep_nesting_is_no_json_and_no_recursion_error(text: str) -> None:
    failed = jsondata.read(text)
    assert isinstance(failed, FetchFailed) and failed.kind == "not-json"


def test_as_deep_as_people_nest_is_read_and_written() -> None:
    text = '{"a": [' * 95 + "1" + "]}" * 95
    assert len(jsondata.text_of(jsondata.read(text), ignore_order=True).split("\n")) == 95 * 4 + 1
    assert jsondata.without_members(jsondata.read(text), ["b"]) == jsondata.read(text)
    assert isinstance(jsondata.read("[" * 201 + "]" * 201), FetchFailed)


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "1" * 100_000, "0." + "3" * 5000, "1e999999999", "1e-999999999"])
def test_numbers_of_any_length_are_read_and_written(number: str) -> None:
    assert content(number) == content(f"{number} ")
    assert content(number) != content("7")


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1e-99999999999999999999"])
def test_a_number_without_end_is_none(number: str) -> None:
    value = jsondata.read(number)
    assert isinstance(value, FetchFailed) or value == 0


def test_members_are_left_out_by_name_at_any_depth() -> None:
    value = {"a": 1, "ts": 2, "list": [{"ts": 3, "b": [{"ts": 4}]}]}
    assert jsondata.without_members(value, ["ts"]) == {"a": 1, "list": [{"b": [{}]}]}


def test_with_ignore_order_arrays_are_sorted_and_elements_stay_together() -> None:
    one = [{"n": "A", "p": [1, 2]}, {"n": "B", "p": [3]}]
    other = [{"n": "B", "p": [3]}, {"n": "A", "p": [2, 1]}]
    assert sorted(jsondata.text_of(one, True).split("\n")) == sorted(jsondata.text_of(other, True).split("\n"))
    swapped = [{"n": "B", "p": [1, 2]}, {"n": "A", "p": [3]}]
    assert sorted(jsondata.text_of(one, True).split("\n")) != sorted(jsondata.text_of(swapped, True).split("\n"))


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('window.__STATE__ = {"a": 1}; init();', {"a": 1}),
        ("var data = [1, 2]", [1, 2]),
        ('self["x"]={"a":1}', {"a": 1}),
        ("init(); var a = 1", None),
        ("window.x = {a: 1}", None),
        ("", None),
    ],
)
def test_json_in_a_script_is_found(script: str, value: Any) -> None:
    assert jsondata.read_script(script) == value


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        names = chance.sample(list(value), len(value))
        return {name: shuffled(value[name], chance) for name in names}
    return [shuffled(part, chance) for part in value] if isinstance(value, list) else value


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_members_and_white_space_never_change_the_content(value: Any, chance: random.Random) -> None:
    other = json.dumps(
        shuffled(value, chance), indent=chance.choice([None, 1, 4]), ensure_ascii=chance.choice([True, False])
    )
    assert content(json.dumps(value)) == content(other)


@given(values, values)
def test_other_values_never_have_the_same_content(one: Any, other: Any) -> None:
    """But for a bare text, which is written as it is, and for what cannot be seen in texts."""
    plain = [json.loads(json.dumps([value]), parse_float=jsondata._fraction) for value in (one, other)]
    texts = [jsondata.text_of(value) for value in plain]
    assert (texts[0] == texts[1]) == (_seen(plain[0]) == _seen(plain[1]))


def _seen(value: Any) -> Any:
    """The value with its texts as they are seen, and booleans told from numbers."""
    if isinstance(value, dict):
        return {"members": sorted(((jsondata._string(name), _seen(part)) for name, part in value.items()), key=repr)}
    if isinstance(value, list):
        return [_seen(part) for part in value]
    return jsondata._string(value) if isinstance(value, str) else (type(value) is bool, value)


@given(st.text(alphabet='{}[]",:0123456789.eE-+truefalsn \\u', max_size=40))
def test_no_text_raises(text: str) -> None:
    value = jsondata.read(text)
    if not isinstance(value, FetchFailed):
        jsondata.text_of(value)
