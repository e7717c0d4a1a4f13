"""Whole stories: a page looked at again and again, as its user and its server see the program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.visits import play

CASES = Path(__file__).parent / "cases"
FILES = ("visits", "visits_more")


def cases() -> list[dict[str, Any]]:
    files = (json.loads((CASES / f"{name}.json").read_text(encoding="utf-8")) for name in FILES)
    return [case for file in files for case in file["cases"]]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['id']}: {case['title']}"


@pytest.mark.parametrize("case", cases(), ids=name_of)
def test_visits_come_out_as_the_contract_says(case: dict[str, Any], tmp_path: Path) -> None:
    if sys.platform == "win32" and "disk-full" in json.dumps(case):
        pytest.skip("Windows has no limit for the size of files")
    assert play(case, tmp_path) == []
