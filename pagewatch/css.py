"""CSS selectors as XPath: with it lxml finds the same elements twenty times faster than Beautiful Soup's engine.

What a selector means is defined by that engine (`soup`). Names, #ids and .classes, one inside another, are what most
people write: they are translated here, and what takes time to import (`translation`) is there for the others.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

_NAME = "[A-Za-z_][A-Za-z0-9_-]*"
_COMPOUND = rf"(?:[A-Za-z][A-Za-z0-9]*|(?=[#.]))(?:[#.]{_NAME})*"
PLAIN = re.compile(rf"{_COMPOUND}(?:(?: > | ){_COMPOUND})*")
_ATTRIBUTE = {"#": "id", ".": "class"}
_PART = re.compile(rf"( > | |)({_COMPOUND})")


@lru_cache(maxsize=2048)
def xpath(selector: str) -> Any:
    """The compiled XPath expression that finds the same, None where none is known to."""
    try:
        path = _of_names(selector) if PLAIN.fullmatch(selector) else _translated(selector)
        return None if path is None else etree.XPath(path, smart_strings=False)
    except (etree.XPathError, ValueError):  # ValueError: control characters
        return None


def _of_names(selector: str) -> str:
    """Where any element will do, those that have the attribute at all are looked at, which are few."""
    path = outer = ""
    for combinator, compound in _PART.findall(selector):
        name, marks = re.split("[#.]", compound)[0].lower(), re.findall(f"([#.])({_NAME})", compound)
        conditions = [_condition(f"@{_ATTRIBUTE[mark]}", mark, text) for mark, text in marks]
        conditions += [f"{'parent' if '>' in combinator else 'ancestor'}::{outer}"] if outer else []
        outer = _element(name or "*", conditions)
        path = outer
        if not name:
            (mark, text), rest = marks[0], conditions[1:]
            path = f"*/@{_ATTRIBUTE[mark]}[{_condition('.', mark, text)}]/{_element('parent::*', rest)}"
    return f"descendant-or-self::{path}"


def _element(name: str, conditions: list[str]) -> str:
    return name + "".join(f"[{condition}]" for condition in conditions)


def _condition(value: str, mark: str, name: str) -> str:
    if mark == "#":
        return f"{value} = '{name}'"
    return f"contains({value}, '{name}') and contains(concat(' ', normalize-space({value}), ' '), ' {name} ')"


def _translated(selector: str) -> str | None:
    from pagewatch.translation import translated

    return translated(selector)
