"""Values made of fields, as `dataclasses` makes them, in a fraction of its time.

To import `dataclasses` takes 6 ms, a run defines some eighty classes and replaces ten fields a watch. What the standard
decorator writes anew for every class is one function for all of them here. What was not given stays with the class,
so that a value of forty fields is as small as what is said of it. For classes without slots and `__post_init__`, whose
annotations are strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import replace as replace
else:
    V = TypeVar("V")
    MISSING = object()

    def dataclass(cls: type[V] | None = None, *, frozen: bool = False, kw_only: bool = False) -> Any:
        """`dataclasses.dataclass`."""
        return _made(cls, frozen=False, kw_only=False) if cls else partial(_made, frozen=frozen, kw_only=kw_only)

    def field(
        *,
        default: Any = MISSING,
        default_factory: Callable[[], Any] = MISSING,
        repr: bool = True,
        compare: bool = True,
    ) -> Any:
        """`dataclasses.field`."""
        return _Field("", "", default, default_factory, repr, compare)

    def fields(value: Any) -> tuple[Any, ...]:
        """`dataclasses.fields`, of a value or of its class."""
        return value.__fields__

    def replace(value: V, /, **changes: Any) -> V:
        """The same value but for these fields. TypeError where there is no such field."""
        if not changes.keys() <= value.__names__:
            raise TypeError(f"{type(value).__name__} has no {', '.join(changes.keys() - value.__names__)}")
        new = object.__new__(type(value))
        new.__dict__.update(value.__dict__, **changes)
        return new


class FrozenError(AttributeError):
    """A field was to be assigned or deleted."""


class _Field(NamedTuple):
    name: str
    type: str
    default: Any
    default_factory: Any
    repr: bool
    compare: bool


def _made(cls: type[Any], *, frozen: bool, kw_only: bool) -> type[Any]:
    known = {each.name: each for base in cls.__mro__[:0:-1] for each in getattr(base, "__fields__", ())}
    known |= {each.name: each for each in _declared(cls)}
    made = tuple(known.values())
    names = tuple(known)
    attributes = {
        "__fields__": made,
        "__names__": frozenset(names),
        "__match_args__": () if kw_only else names,
        "__compared__": tuple([each.name for each in made if each.compare]),
        **{"__init__": _init(made, () if kw_only else names), "__eq__": _eq, "__repr__": _repr},
        **({"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse} if frozen else {"__hash__": None}),
    }
    for name, attribute in attributes.items():
        setattr(cls, name, attribute)
    return cls


def _declared(cls: type[Any]) -> Iterator[_Field]:
    """The class's own fields. A default stays an attribute of the class, a factory does not."""
    for name, kind in cls.__annotations__.items():
        given = cls.__dict__.get(name, MISSING)
        if not isinstance(given, _Field):
            yield _Field(name, kind, given, MISSING, True, True)
            continue
        if given.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, given.default)
        yield given._replace(name=name, type=kind)


def _init(made: tuple[_Field, ...], positional: tuple[str, ...]) -> Callable[..., None]:
    factories = [(each.name, each.default_factory) for each in made if each.default_factory is not MISSING]
    required = {each.name for each in made if each.default is MISSING and each.default_factory is MISSING}
    known = frozenset([each.name for each in made])

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if args:
            count = len(given) + len(args)
            given.update(zip(positional, args, strict=False))
            if len(given) != count:
                raise TypeError(f"{type(self).__name__} takes each of its fields once")
        for name, factory in factories:
            if name not in given:
                given[name] = factory()
        if not (known.issuperset(given) and required.issubset(given)):
            wrong = sorted(required - given.keys() | given.keys() - known)
            raise TypeError(f"{type(self).__name__} is not made of: {', '.join(wrong)}")
        self.__dict__.update(given)

    return __init__


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    if self.__dict__ == other.__dict__:
        return True
    for name in self.__compared__:
        mine, others = getattr(self, name), getattr(other, name)
        if mine is not others and mine != others:
            return False
    return True


def _hash(self: Any) -> int:
    return hash(tuple([getattr(self, name) for name in self.__compared__]))


def _repr(self: Any) -> str:
    shown = (each.name for each in self.__fields__ if each.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse(self: Any, name: str, *value: object) -> None:
    raise FrozenError(f"cannot assign to field {name!r}, or delete it")
