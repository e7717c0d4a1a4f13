"""Tables of rules in tests/cases: each row is a dict whose `name` states the rule and becomes the test's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = Path(__file__).parent / "cases"

Row = dict[str, Any]


def table(file: str, name: str = "") -> pytest.MarkDecorator:
    """The rows of a file, or of one table in it, as a parameter `row`."""
    content = yaml.safe_load((CASES / f"{file}.yaml").read_text(encoding="utf-8"))
    rows: list[Row] = content[name] if name else content
    return pytest.mark.parametrize("row", rows, ids=[row["name"] for row in rows])


def frozen(value: Any) -> Any:
    """Lists as tuples, mappings as tuples of pairs: as a Watch has them."""
    if isinstance(value, dict):
        return tuple((key, frozen(part)) for key, part in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def keys_of(row: Row, *others: str) -> dict[str, Any]:
    """The keys of a row that are keys of a watch: all but `name` and `others`."""
    return {key: frozen(value) for key, value in row.items() if key not in ("name", *others)}
