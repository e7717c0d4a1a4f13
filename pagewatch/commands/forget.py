"""`monitor.py forget`: drops what is remembered of a watch, or the unsent notices of a target."""

from __future__ import annotations

import difflib

from pagewatch.errors import UsageError
from pagewatch.memory import Memory


def forget(memory: Memory, name: str) -> int:
    """The watch's next look is a first visit. What was seen and not told yet is still told."""
    past = memory.find(name)
    if past is None:
        raise UsageError(_unknown("watch", name, memory.names()))
    memory.forget(past.id)
    memory.commit()
    unsent = sum(notice.watch_id == past.id for notice in memory.outbox)
    print(
        f'forgot "{name}": its next look is a first visit' + (f"; {unsent} unsent notices are kept" if unsent else "")
    )
    return 0


def forget_target(memory: Memory, target: str) -> int:
    targets = tuple(dict.fromkeys(notice.target for notice in memory.outbox))
    if target not in targets:
        raise UsageError(_unknown("unsent notice for a target", target, targets))
    dropped = memory.drop_target(target)
    memory.commit()
    print(f"dropped {dropped} unsent notice{'s' if dropped > 1 else ''} of {target}")
    return 0


def _unknown(what: str, name: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f'nothing is remembered of a {what} "{name}"' + (f': did you mean "{near[0]}"?' if near else "")
