"""Frozen values are what `dataclasses` makes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pagewatch.frozen import FrozenError, dataclass, field, fields, replace


@dataclass(frozen=True)
class Ours:
    name: str
    hidden: str = field(default="", repr=False)
    where: str = field(default="", compare=False)
    parts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Theirs:
    name: str
    hidden: str = dataclasses.field(default="", repr=False)
    where: str = dataclasses.field(default="", compare=False)
    parts: tuple[str, ...] = ()


GIVEN: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "b"},
    {"name": "a", "hidden": "x"},
    {"name": "a", "where": "there"},
    {"name": "a", "parts": ("1", "2")},
]


def test_equal_are_those_whose_fields_are() -> None:
    for one in GIVEN:
        for other in GIVEN:
            assert (Ours(**one) == Ours(**other)) == (Theirs(**one) == Theirs(**other))
            assert (hash(Ours(**one)) == hash(Ours(**other))) == (hash(Theirs(**one)) == hash(Theirs(**other)))
    assert Ours("a") != Theirs("a")  # type: ignore[comparison-overlap]


def test_they_are_shown_without_what_must_not_be() -> None:
    for given in GIVEN:
        assert repr(Ours(**given)) == repr(Theirs(**given)).replace("Theirs", "Ours")


@pytest.mark.parametrize("changes", [{"name": "c"}, {"hidden": "y", "parts": ("3",)}, {}])
def test_replace_leaves_the_old_one_alone(changes: dict[str, Any]) -> None:
    for given in GIVEN:
        old = Ours(**given)
        assert replace(old, **changes) == Ours(**{**given, **changes})
        assert old == Ours(**given)


def test_a_field_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TypeError, match="Ours has no colour"):
        replace(Ours("a"), colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ((), {}),
        (("a",), {"colour": "red"}),
        (("a",), {"name": "b"}),
        (("a", "b", "c", (), "e"), {}),
        ((), {"hidden": "b", "colour": "red"}),
    ],
)
def test_fields_that_are_missing_unknown_or_given_twice_are_an_error(args: tuple[Any, ...], given: Any) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*args, **given)


def test_each_has_a_list_of_its_own() -> None:
    @dataclass(frozen=True)
    class Listed:
        found: list[str] = field(default_factory=list)

    Listed().found.append("a")
    assert Listed() == Listed(found=[])


def test_values_may_be_wanted_by_name() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Named:
        first: int
        second: int = 2

    assert repr(Named(first=1)).endswith("Named(first=1, second=2)")
    with pytest.raises(TypeError):
        Named(1)  # type: ignore[call-arg]


def test_nothing_can_be_assigned_or_deleted() -> None:
    value = Ours("a")
    for name in ("name", "parts", "colour"):
        with pytest.raises(FrozenError, match=name):
            setattr(value, name, "b")
    with pytest.raises(FrozenError, match="name"):
        del value.name
    assert value == Ours("a")


def test_those_that_may_be_changed_have_no_hash() -> None:
    @dataclass
    class Entry:
        name: str
        found: list[str] = field(default_factory=list)

    entry = Entry("a")
    entry.name = "b"
    assert entry == Entry("b", [])
    with pytest.raises(TypeError):
        hash(entry)


def test_a_class_has_the_fields_of_its_bases_first() -> None:
    @dataclass
    class Base:
        name: str
        size: int = 1

    @dataclass
    class Derived(Base):
        size: int = 2
        colour: str = "red"

    assert repr(Derived("a")).endswith("Derived(name='a', size=2, colour='red')")
    assert [each.name for each in fields(Base)] == ["name", "size"]


def test_a_match_takes_them_apart_by_position() -> None:
    match Ours("a", "b"):
        case Ours(name, hidden):
            assert (name, hidden) == ("a", "b")
        case _:
            raise AssertionError
