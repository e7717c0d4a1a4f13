"""The ranges in pyproject.toml, the pins in the two requirements files and the imports in the source agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pagewatch.model import VERSION
from tests.test_imports import MODULES

PROJECT = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomli.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
DIRECT = [Requirement(line) for line in PYPROJECT["project"]["dependencies"]]
TOOLS = [Requirement(line) for line in PYPROJECT["dependency-groups"]["tests"]]
FILES = ("requirements.txt", "tests/requirements.txt")

# Where a package is imported by another name than it is installed by.
DISTRIBUTIONS = {"bs4": "beautifulsoup4", "yaml": "pyyaml"}
# What is imported as a part of another package, which brings it and says which versions fit.
COMES_WITH = {"urllib3": "requests"}

PIN = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!+]*( ; [^;#]+)?")


def lines(file: str) -> list[str]:
    text = (PROJECT / file).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(file: str) -> dict[str, list[str]]:
    """The pinned versions by normalised name: more than one where they differ by Python version."""
    found: dict[str, list[str]] = {}
    for line in lines(file):
        if not line.startswith("-r "):
            pin = Requirement(line)
            found.setdefault(canonicalize_name(pin.name), []).append(next(iter(pin.specifier)).version)
    return found


def test_every_line_is_a_pin_without_addresses_or_hashes() -> None:
    assert [
        line for file in FILES for line in lines(file) if not PIN.fullmatch(line) and not line.startswith("-r ")
    ] == []
    assert [file for file in FILES if "//" in (PROJECT / file).read_text(encoding="utf-8")] == []


def test_the_requirements_pin_every_dependency_within_its_range() -> None:
    check_pinned(DIRECT, pins("requirements.txt"))


def test_the_test_requirements_pin_every_tool_within_its_range() -> None:
    check_pinned(TOOLS, pins("requirements.txt") | pins("tests/requirements.txt"))


def check_pinned(ranges: list[Requirement], pinned: dict[str, list[str]]) -> None:
    for wanted in ranges:
        versions = pinned.get(canonicalize_name(wanted.name), [])
        assert versions, f"{wanted.name} is not pinned"
        assert all(wanted.specifier.contains(version) for version in versions), f"{wanted} is pinned to {versions}"


def test_the_test_requirements_include_the_monitors_own_and_repeat_none() -> None:
    assert "-r ../requirements.txt" in lines("tests/requirements.txt")
    assert pins("requirements.txt").keys() & pins("tests/requirements.txt").keys() == set()


def test_what_is_declared_is_what_is_imported() -> None:
    imported = set().union(*(module.packages for module in MODULES))
    needed = {DISTRIBUTIONS.get(package, package) for package in imported if package not in COMES_WITH}
    needed |= {COMES_WITH[package] for package in imported if package in COMES_WITH}
    assert needed == {canonicalize_name(wanted.name) for wanted in DIRECT}


def test_the_project_has_the_version_that_the_monitor_sends() -> None:
    assert PYPROJECT["project"]["version"] == VERSION
