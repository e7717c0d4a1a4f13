"""A value with other fields is what `dataclasses.replace` gives."""

from __future__ import annotations

import dataclasses

import pytest

from pagewatch.frozen import replace
from pagewatch.model import WatchState
from tests.values import START


def test_it_is_what_dataclasses_replace_gives() -> None:
    state = WatchState("w1", "Price", "http://a/", next_check=START)
    other = replace(state, name="Title", failures=2, next_check=None)
    assert other == dataclasses.replace(state, name="Title", failures=2, next_check=None)
    assert hash(other) == hash(dataclasses.replace(other))
    assert state == WatchState("w1", "Price", "http://a/", next_check=START)


def test_a_field_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TypeError, match="WatchState has no colour"):
        replace(WatchState("w1", "Price", "http://a/"), colour="red")  # type: ignore[call-arg]
