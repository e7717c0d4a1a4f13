"""One process measured from outside, and several in turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What a process has cost: seconds, processor seconds and the peak of its memory in MB, children included.

    `fault` is why it does not count: another status, or another result than the scenario's."""

    seconds: float
    processor: float
    memory: float
    status: int
    output: str
    fault: str = ""


def cost(command: Sequence[str], environment: Mapping[str, str], output: Path) -> Cost:
    """Runs a command to its end, its output in a file, which is no terminal."""
    with output.open("wb") as file:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd="/"
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    text = output.read_text(encoding="utf-8", errors="replace")
    unit = 1_000_000 if os.uname().sysname == "Darwin" else 1_000
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, process.returncode, text)


def in_turns(rounds: int, actions: Mapping[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
    """ABAB…: what else the machine does meanwhile meets all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            costs[name].append(action())
    return costs


def fault(costs: Sequence[Cost]) -> str:
    return next((each.fault for each in costs if each.fault), "")


def median(costs: Sequence[Cost], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in costs))


def ratio(costs: Sequence[Cost], ours: Sequence[Cost], name: str = "seconds") -> float:
    """How many times ours the others' is, the median of the rounds."""
    pairs = zip(costs, ours, strict=True)
    return float(statistics.median(getattr(other, name) / getattr(own, name) for other, own in pairs))


def spread(costs: Sequence[Cost]) -> float:
    """The longest round in shortest ones: how noisy it was."""
    return max(each.seconds for each in costs) / min(each.seconds for each in costs)
