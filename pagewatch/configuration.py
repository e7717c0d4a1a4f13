"""The configuration as the rest of the program knows it: watches.yaml as far as it can be used.

`config` makes it of the file; `kept` makes the same of what an earlier run has left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pagewatch.frozen import dataclass, field
from pagewatch.model import Problem, Settings, Watch

SHORTEST_SECRET = 4  # shorter values are no secrets, and would blot out ordinary words
UNNAMED = re.compile(r"watch [0-9]+")


@dataclass(frozen=True)
class Place:
    """A selector or a path and where it stands, for the checks that come later. `kind` is "selector" or "path"."""

    kind: str
    watch: str
    url: str
    key: str
    text: str
    line: int


@dataclass(frozen=True)
class Configuration:
    """The file as far as it can be used.

    `watches` are the good ones, `problems` those of the others and of single targets. `names` are all watches of the
    file and `declared` all its targets with their lines, the broken ones too: what is remembered of them is kept.
    `variables` are the ${NAME} used, set or not; `secrets` must never be shown. `written` are the texts of the file
    that have a ${NAME} in them, by what they became. Neither these nor `places` are kept for the next run.
    """

    settings: Settings
    watches: tuple[Watch, ...]
    problems: tuple[Problem, ...]
    names: tuple[str, ...]
    declared: Mapping[str, int]
    variables: frozenset[str]
    secrets: frozenset[str] = field(repr=False)
    places: tuple[Place, ...] = field(default=(), repr=False)
    written: Mapping[str, str] = field(default_factory=dict, repr=False)

    def broken(self) -> list[Problem]:
        """The first problem of each watch that is left out."""
        return list({problem.watch: problem for problem in reversed(self.problems) if problem.watch}.values())


def line(problem: Problem, file: str) -> str:
    """A problem as one line for people: file, line, watch, what is wrong and what to do."""
    place = f"{file}:{problem.line}" if problem.line else file
    if not problem.watch:
        return f"{place}: {problem.message}"
    watch = problem.watch if UNNAMED.fullmatch(problem.watch) else f'watch "{problem.watch}"'
    return f"{place}: {watch}: {problem.message}"
