"""Frozen values, as `dataclasses` makes them, at a third of the time to define one and a tenth to replace a field.

A run defines some sixty classes and replaces ten fields a watch. What the standard decorator writes anew for every
class is one function for all of them here. For classes without slots and `__post_init__`.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:
    V = TypeVar("V")

    def dataclass(cls: type[V] | None = None, *, frozen: bool = False, kw_only: bool = False) -> Any:
        """`dataclasses.dataclass`."""
        return partial(_frozen, kw_only=kw_only) if frozen else dataclasses.dataclass(cls)

    def replace(value: V, **changes: Any) -> V:
        """The same value but for these fields. TypeError where there is no such field."""
        fields = value.__dict__
        if not changes.keys() <= fields.keys():
            raise TypeError(f"{type(value).__name__} has no {', '.join(changes.keys() - fields.keys())}")
        new = object.__new__(type(value))
        new.__dict__.update(fields, **changes)
        return new


def _frozen(cls: type[Any], kw_only: bool) -> type[Any]:
    cls = dataclasses.dataclass(repr=False, eq=False, kw_only=kw_only)(cls)
    compared = tuple(field.name for field in cls.__dataclass_fields__.values() if field.compare)
    methods = {"__eq__": _eq, "__hash__": _hash, "__repr__": _repr, "__setattr__": _set, "__delattr__": _delete}
    for name, attribute in {**methods, "__compared__": compared}.items():
        setattr(cls, name, attribute)
    return cls


def _values(value: Any) -> tuple[Any, ...]:
    return tuple([value.__dict__[name] for name in value.__compared__])


def _eq(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self is other or _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (name for name, field in self.__dataclass_fields__.items() if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in shown)})"


def _set(self: Any, name: str, value: object) -> None:
    """Each field once, which is what `__init__` does."""
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
