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

    def replace(value: V, /, **changes: Any) -> V:
        """The same value but for these fields. TypeError where there is no such field."""
        fields = value.__dict__
        if not changes.keys() <= fields.keys():
            raise TypeError(f"{type(value).__name__} has no {', '.join(changes.keys() - fields.keys())}")
        new = object.__new__(type(value))
        new.__dict__.update(fields, **changes)
        return new


def _frozen(cls: type[Any], kw_only: bool) -> type[Any]:
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(cls)
    attributes = {
        "__positional__": () if kw_only else tuple(field.name for field in fields),
        "__compared__": tuple(field.name for field in fields if field.compare),
        "__defaults__": {f.name: f.default for f in fields if f.default is not dataclasses.MISSING},
        "__factories__": {f.name: f.default_factory for f in fields if f.default_factory is not dataclasses.MISSING},
        **{"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _repr},
        **{"__setattr__": _refuse, "__delattr__": _refuse},
    }
    for name, attribute in attributes.items():
        setattr(cls, name, attribute)
    return cls


def _init(self: Any, *args: Any, **given: Any) -> None:
    values = self.__dict__
    values.update(self.__defaults__)
    for name, factory in self.__factories__.items():
        values[name] = factory()
    known, positional = self.__dataclass_fields__, self.__positional__
    values.update(zip(positional, args, strict=False))
    values.update(given)
    twice = args and not given.keys().isdisjoint(positional[: len(args)])
    if twice or len(args) > len(positional) or len(values) != len(known) or not given.keys() <= known.keys():
        wrong = sorted(values.keys() ^ known.keys())
        raise TypeError(f"{type(self).__name__} takes each of its fields once; not so: {wrong or 'too many values'}")


def _values(value: Any) -> tuple[Any, ...]:
    return tuple([value.__dict__[name] for name in value.__compared__])


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    if self is other:
        return True
    mine, theirs = self.__dict__, other.__dict__
    if len(mine) == len(theirs) == len(self.__compared__):  # nothing else is in them
        return mine == theirs
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (name for name, field in self.__dataclass_fields__.items() if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in shown)})"


def _refuse(self: Any, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}, or delete it")
