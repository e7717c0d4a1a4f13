"""What watches.yaml is made of when it has been read: values that know their line, and what is wrong with one."""

from __future__ import annotations

from typing import NamedTuple


class Wrong(Exception):
    """What cannot be used and why: `problems` are (line, message). It stays inside the reading of the file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(line, message)
        self.problems = [(line, message)]

    @classmethod
    def together(cls, problems: list[tuple[int, str]]) -> Wrong:
        """One for all of them; there is at least one."""
        wrong = cls(*problems[0])
        wrong.problems = problems
        return wrong


class Scalar(NamedTuple):
    """`written` is the text in the file, `text` the same with ${NAME} replaced; `plain`: without quotes; `comment`:
    what an unquoted # directly before a word has cut off."""

    text: str
    line: int
    plain: bool
    comment: str
    written: str


class Sequence(NamedTuple):
    items: tuple[Node, ...]
    line: int
    flow: bool


class Mapping(NamedTuple):
    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    flow: bool


class Broken(NamedTuple):
    """In place of a value that YAML allows and nobody means. `written` is the text in the file, where it is one."""

    line: int
    message: str
    written: str = ""


Node = Scalar | Sequence | Mapping | Broken
