"""What the reader of one kind of source is given (`Body`), and what it makes of it (`Content`).

A reader is a module of `readers` with `read(body) -> Content | FetchFailed`. It says what is there and decides
nothing: whether a page is to be believed is asked of its Content afterwards (`doubts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from pagewatch.answers import Ask, Extract, FetchFailed, NoMatch
from pagewatch.fingerprint import collapse, normalise
from pagewatch.frozen import dataclass
from pagewatch.model import Watch


@dataclass(frozen=True)
class Body:
    """The text of an answer from `url`. `known` is what the baseline (of the same definition) showed, or has been seen
    since and not been confirmed; `ask` gets further documents that belong to this one."""

    watch: Watch
    text: str
    media_type: str
    url: str
    known: Extract | None
    ask: Ask


@dataclass(frozen=True)
class Content:
    """The watched part, and all the rest for those who doubt it: `text` is the source. `remarks` are clauses about how
    it was read."""

    extract: Extract | NoMatch
    text: str
    remarks: tuple[str, ...] = ()

    @cached_property
    def visible(self) -> str:
        """All that a visitor can read."""
        return normalise(self.text)

    @property
    def title(self) -> str:
        return ""

    @property
    def asks_password(self) -> bool:
        return False

    @property
    def is_page(self) -> bool:
        """Whether a login or challenge page would be read as this."""
        return False

    @property
    def nothing_found(self) -> bool:
        return isinstance(self.extract, NoMatch) or self.extract.matched == 0


Reader = Callable[[Body], "Content | FetchFailed"]


def field_lines(fields: tuple[tuple[str, str | None], ...]) -> str:
    """The fields as text for people, one a line."""
    return "\n".join(f"{name}: {'(none)' if value is None else collapse(value)}".rstrip() for name, value in fields)


def shared_keys(extract: Extract | NoMatch) -> tuple[str, ...]:
    """A remark where several items have one key: they are told apart by what is in them."""
    items = extract.items or () if isinstance(extract, Extract) else ()
    counts = Counter(item.key for item in items if item.key != item.text)
    key, most = max(counts.items(), key=lambda pair: pair[1], default=("", 1))
    return (f'{most} items have the same key "{key:.60}" and are told apart by their text',) if most > 1 else ()
