"""Is there anything to do at all? The short answer to a scheduled run in which nothing is due.

A scheduler asks every few minutes, and nearly always the answer is no. Each run leaves a note of when each watch will
be due again. It counts only while the configuration, its environment and state.json are byte for byte those it was
written for and the clock has not gone back; otherwise the whole program decides. While nothing is due, the run ends
here; when a few watches are, the others need not be read. It imports almost nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

FILE = "quiet.txt"  # JSON, but nothing of value: no one need keep a damaged one
FIELDS = {
    **{"config": str, "variables": list, "state": list, "from": float, "until": float, "status": int},
    **{"form": dict, "rows": list, "summary": dict},
}


class Row(NamedTuple):
    """One watch as it is while nothing happens. The first four are shown; `due` is a time since the epoch, `line` its
    place in the configuration; `sleeps`: it need not be read before it is due."""

    watch: str
    url: str
    outcome: str
    next_check: str | None
    due: float
    line: int
    sleeps: bool


ROWS = frozenset((str, str, str, next_check, float, int, bool) for next_check in (str, type(None)))  # types of values


def status(arguments: list[str], folder_of_script: str, environment: Mapping[str, str]) -> int | None:
    """The exit status of a run that has nothing to do, its output printed; None where the run must go its whole way."""
    options = _options(arguments, folder_of_script)
    if options is None or sys.stdout.isatty():
        return None
    config, folder, as_json = options
    now = time.time()
    note = read(folder, files_digest(config), environment, now)
    if note is None or now >= note["until"]:
        return None
    if as_json:
        rows = (note["form"] | dict(zip(Row._fields[:4], row, strict=False)) for row in note["rows"])
        try:
            sys.stdout.write("".join(f"{json.dumps(line)}\n" for line in (*rows, note["summary"])))
            sys.stdout.flush()
        except OSError:  # nobody reads it
            os._exit(int(note["status"]))
    return int(note["status"])


def _options(arguments: list[str], folder_of_script: str) -> tuple[str, str, bool] | None:
    """The configuration file, the state folder and --json of a plain `check`; None for any other command line."""
    rest = list(arguments)
    values: dict[str, str] = {}
    as_json = False
    while rest:
        word = rest.pop(0)
        if word in ("--config", "--state") and rest:
            values[word] = rest.pop(0)
        elif word == "--json":
            as_json = True
        elif word != "check":
            return None
    if "" in values.values():
        return None
    config = values.get("--config") or os.path.join(folder_of_script, "watches.yaml")
    return config, values.get("--state") or os.path.join(os.path.dirname(os.path.abspath(config)), "state"), as_json


def read(folder: str, files: str, environment: Mapping[str, str], now: float) -> dict[str, Any] | None:
    """The note, its values by `FIELDS`; None where there is none that counts. `files` is their digest."""
    note = _note(folder)
    if note is None or now < note["from"] or note["state"] != _stamp(folder):
        return None
    return note if note["config"] == digest(files, note["variables"], environment) else None


def write(
    folder: str,
    config: tuple[str, list[str]],
    times: tuple[float, float],
    status: int,
    printed: tuple[dict[str, Any], list[Row], dict[str, Any]],
) -> None:
    """Leaves the note after a run. `config` is its digest and the variables in it; `printed` are the form of all rows,
    the rows and the summary of a run with --json. A note that cannot be written is no loss."""
    values = (*config, _stamp(folder), *times, status, *printed)
    try:
        with open(
            os.open(os.path.join(folder, FILE), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(json.dumps(dict(zip(FIELDS, values, strict=True))))
    except OSError:
        pass


def _note(folder: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            note = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(note, dict) or any(not isinstance(note.get(name), kind) for name, kind in FIELDS.items()):
        return None
    sound = all(isinstance(name, str) for name in note["variables"]) and all(map(_is_row, note["rows"]))
    return note if sound else None


def _is_row(row: object) -> bool:
    return isinstance(row, list) and tuple(map(type, row)) in ROWS


def files_digest(config: str) -> str:
    """A digest of the files that the configuration is read from: the file itself and `.env` beside it. Taken before
    they are read, so that an edit meanwhile makes another one."""
    total = hashlib.sha256()
    for path in (config, os.path.join(os.path.dirname(os.path.abspath(config)), ".env")):
        try:
            with open(path, "rb") as file:
                total.update(hashlib.sha256(file.read()).digest())
        except OSError:
            total.update(b"none")
    return total.hexdigest()


def digest(files: str, variables: list[str], environment: Mapping[str, str]) -> str:
    """A digest of all that the configuration depends on: its files, and the variables that they name."""
    values = repr([(name, environment.get(name)) for name in variables])
    return hashlib.sha256(f"{files} {values}".encode("utf-8", "backslashreplace")).hexdigest()


def _stamp(folder: str) -> list[int]:
    try:
        found = os.stat(os.path.join(folder, "state.json"))
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size, found.st_ino]
