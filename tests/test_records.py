"""What is remembered comes back as it was, and a document that is not what was written is never believed."""

from __future__ import annotations

import json
import types
import typing
import zlib
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import model
from pagewatch.answers import Extract, Item, Validators
from pagewatch.frozen import fields, replace
from pagewatch.memory import Facts
from pagewatch.model import Baseline, Episode, Notice, Pause, RobotsRecord, WatchState
from pagewatch.records import Damage, Document, Newer, Table, compose, decode, dumps, encode, parse, peek, time_text

NOW = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
REMEMBERED = (WatchState, Notice, RobotsRecord, Facts, Extract)

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    int: st.integers(),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=-7))])),
    timedelta: st.timedeltas(timedelta(0), timedelta(days=4000)),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type as it stands in the model."""
    arguments = typing.get_args(hint)
    if hasattr(hint, "__fields__"):
        assert isinstance(hint, type)
        hints = typing.get_type_hints(hint, vars(model))
        return st.builds(hint, **{field.name: values(hints[field.name]) for field in fields(hint)})
    if isinstance(hint, types.UnionType):
        return st.one_of([values(argument) for argument in arguments])
    if typing.get_origin(hint) is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if arguments[-1:] == (...,):
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    return st.tuples(*[values(argument) for argument in arguments]) if arguments else LEAVES[hint]


def written_and_read(value: Any) -> Any:
    return decode(type(value), json.loads(dumps(encode(value))))


# -------------------------------------------------------------------------------------------------- values and records


@given(st.one_of([values(kind) for kind in REMEMBERED]))
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    assert written_and_read(value) == value


@pytest.mark.parametrize("kind", REMEMBERED, ids=lambda kind: kind.__name__)
def test_every_field_of_what_is_remembered_can_be_written_and_read(kind: type[Any]) -> None:
    """Also of fields that will be added: an annotation that has no form in JSON is noticed here."""

    @given(values(kind))
    def all_fields(value: Any) -> None:
        record = json.loads(dumps(encode(value)))
        assert record.keys() <= {field.name for field in fields(kind)}
        for field in fields(kind):
            came_back = getattr(decode(kind, record), field.name)
            assert came_back == getattr(value, field.name)
            assert type(came_back) is type(getattr(value, field.name))

    all_fields()


def test_a_record_leaves_out_what_has_its_default() -> None:
    assert encode(WatchState("w1", "Price", "http://127.0.0.1/")) == {
        "id": "w1",
        "name": "Price",
        "url": "http://127.0.0.1/",
    }
    assert encode(Facts()) == {}
    assert encode(RobotsRecord(NOW, None)) == {"fetched": "2026-03-02T08:00:00Z", "body": None}


def test_what_is_false_or_nothing_is_written_where_the_default_is_another() -> None:
    state = WatchState("w1", "Price", "http://127.0.0.1/", trusted=False)
    assert encode(state)["trusted"] is False
    assert encode(Extract("", items=()))["items"] == []
    assert written_and_read(Extract("", items=())) != Extract("", items=None)


def test_what_a_record_has_beyond_the_fields_is_ignored() -> None:
    assert decode(Pause, {"until": "2026-03-02T08:00:00Z", "asked": True, "colour": "red"}) == Pause(NOW, True)


WRONG: dict[str, object] = {
    "no object": [],
    "nothing": None,
    "a required field is missing": {"id": "w1", "name": "n"},
    "a number for a text": {"id": 1, "name": "n", "url": "u"},
    "null for a text": {"id": None, "name": "n", "url": "u"},
    "a text for a number": {"id": "w1", "name": "n", "url": "u", "checks": "3"},
    "true for a number": {"id": "w1", "name": "n", "url": "u", "checks": True},
    "a number for a truth": {"id": "w1", "name": "n", "url": "u", "trusted": 1},
    "a time without a zone": {"id": "w1", "name": "n", "url": "u", "next_check": "2026-03-02T08:00:00"},
    "a number for a time": {"id": "w1", "name": "n", "url": "u", "next_check": 5},
    "a day that does not exist": {"id": "w1", "name": "n", "url": "u", "next_check": "2026-02-30T08:00:00Z"},
    "a text for a duration": {"id": "w1", "name": "n", "url": "u", "interval": "1d"},
    "an endless duration": {"id": "w1", "name": "n", "url": "u", "interval": 1e300},
    "a list for validators": {"id": "w1", "name": "n", "url": "u", "validators": []},
    "a text for told": {
        **{"id": "w1", "name": "n", "url": "u"},
        "episode": {"began": "2026-03-02T08:00:00Z", "outcome": "o", "kind": "k", "detail": "d", "told": "gone"},
    },
    "a field of three": {
        **{"id": "w1", "name": "n", "url": "u"},
        "baseline": {
            "recipe": "r",
            "fingerprint": "f",
            "seen": "2026-03-02T08:00:00Z",
            "extract": {"text": "", "fields": [["a", "b", "c"]]},
        },
    },
}


@pytest.mark.parametrize("record", WRONG.values(), ids=WRONG)
def test_a_record_of_a_wrong_shape_is_a_value_error(record: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(WatchState, record)


def test_times_are_written_in_utc_and_to_the_microsecond() -> None:
    assert time_text(NOW) == "2026-03-02T08:00:00Z"
    exact = datetime(2026, 3, 2, 10, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert time_text(exact) == "2026-03-02T08:00:00.000005Z"
    assert written_and_read(Pause(exact, True)) == Pause(exact, True)


def test_a_time_without_a_zone_is_never_written() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        encode(Pause(datetime(2026, 3, 2), True))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\u2028", "😀", '"\\\n', "é"])
def test_every_string_is_ascii_without_a_line_break_and_comes_back(text: str) -> None:
    line = dumps(encode(Extract(text)))
    assert line.isascii() and b"\n" not in line
    assert decode(Extract, json.loads(line)) == Extract(text)


def test_bytes_come_back_whatever_they_are() -> None:
    body = bytes(range(256))
    assert written_and_read(RobotsRecord(NOW, body, Validators('"1"'))).body == body


# --------------------------------------------------------------------------------------------------- lines and document


def state(name: str, text: str = "text") -> WatchState:
    baseline = Baseline("r", "f", Extract(text, items=(Item("name", "v", fields=(("id", "x"),)),)), NOW)
    return WatchState("w1", name, "http://127.0.0.1/", baseline=baseline, episode=Episode(NOW, "failed", "dns", "d"))


def document() -> Document:
    rows = [dumps(encode(replace(state(f"Watch {number}"), id=f"w{number}"))) for number in range(3)]
    return Document({"checked": b'"digest"', "later": b"[1,2]"}, {"outbox": [], "watches": rows, "rows": [b"{}"]})


def test_a_document_is_read_as_it_was_composed() -> None:
    assert parse(compose(document())) == document()
    assert parse(compose(Document({"a": b"1"}, {}))) == Document({"a": b"1"}, {})
    assert parse(compose(Document({}, {"a": []}))) == Document({}, {"a": []})


def test_a_document_is_one_json_object_with_the_version_first() -> None:
    raw = compose(document())
    whole = json.loads(raw)
    assert list(whole) == ["version", "crc32", "checked", "later", "outbox", "watches", "rows"]
    assert (whole["version"], whole["later"], whole["outbox"]) == (1, [1, 2], [])
    assert [watch["name"] for watch in whole["watches"]] == ["Watch 0", "Watch 1", "Watch 2"]
    assert json.loads(compose(Document({}, {"a": []})))["a"] == []


def test_every_flipped_bit_is_found() -> None:
    raw = compose(document())
    for place in range(len(raw)):
        for bit in range(8):
            damaged = raw[:place] + bytes([raw[place] ^ 1 << bit]) + raw[place + 1 :]
            assert not isinstance(parse(damaged), Document), (place, bit)


def test_every_cut_and_every_addition_is_found() -> None:
    raw = compose(document())
    for place in range(len(raw)):
        assert isinstance(parse(raw[:place]), Damage), place
        assert isinstance(parse(raw[:place] + raw[place + 1 :]), Damage | Newer), place
        assert not isinstance(parse(raw[:place] + b" " + raw[place:]), Document), place
    assert isinstance(parse(raw + b"\n"), Damage)
    assert isinstance(parse(raw + raw), Damage)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"\xff" * 200,
        b"\x00" * 4096,
        b"[" * 100_000,
        b'{"version":0}',
        b'{"version":"2"}',
        b"{",
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_what_is_no_document_is_damage(raw: bytes) -> None:
    assert isinstance(parse(raw), Damage)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_much_for_parse(raw: bytes) -> None:
    assert isinstance(parse(raw), Damage)


def test_right_bytes_in_a_wrong_order_are_damage() -> None:
    """Only a hand that knows the checksum can do this."""
    for body in (b"watches\n", b'"a":[\n{}', b'"a', b'"\xff":1}\n'):
        raw = b'{"version":1,"crc32":"%08x",\n' % zlib.crc32(body) + body
        assert parse(raw) == Damage("its checksum is right, but its lines are not those of this program"), body


@pytest.mark.parametrize("raw", [b'{"version":2}', b'{"a":[],"version":2}', b'{"version":2,"crc32":"00000000",\n}\n'])
def test_a_newer_document_is_known_in_any_form(raw: bytes) -> None:
    assert parse(raw) == Newer(2)


# ---------------------------------------------------------------------------------------------------- lines of a table


def test_a_member_is_found_without_decoding_the_line() -> None:
    line = dumps(encode(state('Price "now" \\ é 😀')))
    assert peek(line, "id") == "w1"
    assert peek(line, "name") == 'Price "now" \\ é 😀'
    assert peek(line, "next_check") == ""


def test_no_text_of_a_page_is_taken_for_a_member() -> None:
    line = dumps(encode(state("Price", '{"next_check":"2030-01-01T00:00:00Z"},"next_check":"x"')))
    assert peek(line, "next_check") == ""


def table(lines: dict[str, bytes]) -> tuple[Table[str], list[str]]:
    """A table of texts, and what it has done."""
    done: list[str] = []

    def read(line: bytes) -> str | None:
        done.append(f"read {line.decode()}")
        return None if line == b"lost" else line.decode()

    def written(key: str, value: str) -> bytes:
        done.append(f"write {key}")
        return value.encode()

    return Table(lines, read, written), done


def test_a_table_reads_a_line_once_and_only_when_it_is_asked_for() -> None:
    lines, done = table({"a": b"1", "b": b"2"})
    assert (lines.loaded("a"), lines.get("a"), lines.get("a"), lines.loaded("a"), lines.get("c")) == (
        None,
        "1",
        "1",
        "1",
        None,
    )
    assert done == ["read 1"] and not lines.changed


def test_a_table_writes_what_was_set_once_and_leaves_the_rest() -> None:
    lines, done = table({"a": b"1", "b": b"2"})
    lines["b"] = "new"
    lines["c"] = "3"
    assert lines.changed
    assert lines.rows() == lines.rows() == [b"1", b"new", b"3"]
    assert sorted(done) == ["write b", "write c"]


def test_setting_the_same_value_is_no_change() -> None:
    lines, done = table({"a": b"1"})
    lines["a"] = str(lines.get("a"))
    assert not lines.changed and lines.rows() == [b"1"] and done == ["read 1"]


def test_a_record_that_cannot_be_used_any_more_is_dropped() -> None:
    lines, _ = table({"a": b"lost", "b": b"2"})
    assert lines.values() == ("2",)
    assert "a" not in lines and len(lines) == 1 and lines.changed and lines.rows() == [b"2"]


def test_what_is_deleted_is_not_written() -> None:
    lines, _ = table({"a": b"1"})
    lines["b"] = "2"
    lines.changed = False
    del lines["b"]
    assert lines.changed and list(lines) == ["a"] and lines.rows() == [b"1"]
