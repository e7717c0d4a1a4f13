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
    outer = ""
    for combinator, compound in _PART.findall(selector):
        name = re.match("[A-Za-z0-9]*", compound)
        conditions = [_condition(mark, text) for mark, text in re.findall(f"([#.])({_NAME})", compound)]
        if outer:
            conditions.append(f"{'parent' if '>' in combinator else 'ancestor'}::{outer}")
        element = name[0].lower() if name and name[0] else "*"
        outer = element + "".join(f"[{condition}]" for condition in conditions)
    return f"descendant-or-self::{outer}"


def _condition(mark: str, name: str) -> str:
    if mark == "#":
        return f"@id = '{name}'"
    return f"contains(@class, '{name}') and contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def _translated(selector: str) -> str | None:
    from pagewatch.translation import translated

    return translated(selector)
