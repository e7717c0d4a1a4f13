"""Whole stories: a page looked at again and again, as its user and its server see the program."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.visits import play

CASES = Path(__file__).parent / "cases"
FILES = ("visits", "visits_more")
MEMORY = Path("/dev/shm")


def cases() -> list[dict[str, Any]]:
    files = (json.loads((CASES / f"{name}.json").read_text(encoding="utf-8")) for name in FILES)
    return [case for file in files for case in file["cases"]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where the machine has such a place: what is saved is forced to the disk, thousands of times here."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        yield Path(place)


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['id']}: {case['title']}")
def test_visits_come_out_as_the_contract_says(case: dict[str, Any], folder: Path) -> None:
    if sys.platform == "win32" and "disk-full" in json.dumps(case):
        pytest.skip("Windows has no limit for the size of files")
    assert play(case, folder) == []


def test_no_two_cases_have_the_same_id() -> None:
    ids = [case["id"] for case in cases()]
    assert sorted(ids) == sorted(set(ids))


# ------------------------------------------------------------------------------------------------ the player itself

PAGE = {"status": 200, "headers": {"Content-Type": "text/html", "ETag": '"1"'}, "body": "<p id='d'>A</p>"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another outcome": ({"expect": {"w": {"outcome": "unchanged"}}}, "baseline, expected unchanged"),
    "another text": ({"expect": {"w": {"outcome": "baseline", "text": "B"}}}, "expected 'B'"),
    "a kind of trouble": ({"expect": {"w": {"outcome": "error", "kind": "http-500"}}}, "expected failed http-500"),
    "what must never be": ({"expect": {"w": {"outcome": "baseline", "never": ["baseline"]}}}, "never right"),
    "none of the accepted": (
        {"expect": {"w": {"outcome": "changed", "accept": [{"outcome": "baseline", "text": "B"}]}}},
        "expected changed",
    ),
    "a watch that is not there": ({"expect": {"x": {"outcome": "baseline"}}}, "no object for the watch"),
    "a word that nobody says": (
        {"expect": {"w": {"outcome": "baseline", "message_has": ["hello"]}}},
        "'hello' is said nowhere",
    ),
    "a number of notices": ({"expect": {"w": {"outcome": "baseline", "notify": 1}}}, "0 notices, expected 1"),
    "a number of requests": ({"requests": [{"path": "/p", "count": 2}]}, "1 requests to /p"),
    "a header of a request": ({"requests": [{"path": "/p", "has": {"If-None-Match": '"1"'}}]}, "If-None-Match is None"),
    "a header too many": ({"requests": [{"path": "/p", "lacks": ["User-Agent"]}]}, "has User-Agent"),
    "a notice that comes": ({"sends": {"sink": {"ok": 1}}}, "0 notices taken"),
    "an exit status": ({"exit": 1}, "exit 0, expected 1"),
    "a word too many": ({"output_lacks": ["baseline"]}, "'baseline' is in the output"),
}


def first_look(**more: Any) -> dict[str, Any]:
    visit = {"n": 1, "at": 0, "serve": {"/p": PAGE}, "expect": {"w": {"outcome": "baseline"}}, **more}
    return {"id": "x-01", "watches": {"w": {"url": "/p", "select": "#d"}}, "visits": [visit]}


def test_the_player_is_content_with_what_is_right(tmp_path: Path) -> None:
    assert play(first_look(), tmp_path) == []


@pytest.mark.parametrize(("more", "complaint"), WRONG.values(), ids=WRONG.keys())
def test_the_player_complains_of_what_is_wrong(more: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    complaints = play(first_look(**more), tmp_path)
    assert len(complaints) == 1
    assert complaint in complaints[0]


@pytest.mark.parametrize(
    "more",
    [
        {"expcet": {}},
        {"expect": {"w": {"outcome": "baseline", "txet": "A"}}},
        {"requests": [{"path": "/p", "cuont": 1}]},
        {"sends": {"sink": {"okay": 1}}},
        {"serve": {"/p": {**PAGE, "boddy": ""}}},
        {"watches": {"w": {"slect": "#d"}}},
        {"inject": {"type": "earthquake"}},
    ],
    ids=["a visit", "an outcome", "a request", "a notice", "a response", "a watch", "a fault"],
)
def test_the_player_refuses_words_that_it_does_not_know(more: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"visits\.py (does not know|cannot bring about)"):
        play(first_look(**more), tmp_path)
