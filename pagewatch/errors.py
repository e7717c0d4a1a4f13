"""What a person must hear: the errors whose text is for the user.

Each says what is wrong, where, and what to do. Everything that the web may well answer is a value (`answers`), not an
error.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagewatch.model import Settings


class MonitorError(Exception):
    """The user must mend something: exit status 2."""


class ConfigError(MonitorError):
    """watches.yaml (or what it refers to) cannot be used; one complete line a problem. `settings` are what could be
    read of the top level, so that its targets can be told; None where nothing could."""

    def __init__(self, problems: Iterable[str], settings: Settings | None = None) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
        self.settings = settings


class StateError(MonitorError):
    """What the program remembers is damaged, gone, or cannot be written."""


class UsageError(MonitorError):
    """The command line asks for something that does not exist."""


def reason(error: OSError) -> str:
    """What the system says of a file, and what to do about it, as a clause."""
    said = error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{said} (make room on the disk, or raise the limit)"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{said} (run as the user whom the folder belongs to, or give it to this one)"
    return said


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """That there is no such thing, and what may have been meant."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f'there is no {what} "{name}"' + (f': did you mean "{near[0]}"?' if near else "")
