"""Frozen values with other fields: `dataclasses.replace`, ten times as fast, for classes without slots whose fields are
independent of each other, as those of `model` and `answers` are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:
    V = TypeVar("V")

    def replace(value: V, **changes: Any) -> V:
        """The same value but for these fields. TypeError where there is no such field."""
        fields = value.__dict__
        if not changes.keys() <= fields.keys():
            raise TypeError(f"{type(value).__name__} has no {', '.join(changes.keys() - fields.keys())}")
        new = object.__new__(type(value))
        new.__dict__.update(fields, **changes)
        return new
