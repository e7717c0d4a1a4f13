"""From the options of a call to what the run stands on: the configuration on disk and the way to print."""

from __future__ import annotations

import os
import sys
import sysconfig
from argparse import Namespace
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pagewatch import config, document, output, quiet
from pagewatch.config import Configuration
from pagewatch.environment import read_environment_file
from pagewatch.errors import ConfigError, reason
from pagewatch.frozen import replace
from pagewatch.model import VERSION


def read_configuration(options: Namespace, awake_at: datetime | None = None) -> Configuration:
    """watches.yaml without the expensive checks. What the environment has counts before `.env`. Raises ConfigError.

    With `awake_at` watches are not read that will not be due then, as far as the last run's note knows: their rows are
    `options.asleep`, and `options.blocks` the lines of all.
    """
    path, environment = options.config, options.environment
    note = None if awake_at is None else _note(options, awake_at)
    options.files = quiet.files_digest(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    known = {**_dot_env(options), **environment}
    edited = note is not None and quiet.digest(options.files, note["variables"], environment) != note["config"]
    configuration = None
    if awake_at is not None and note is not None and not edited and quiet.files_digest(str(path)) == options.files:
        configuration = _without_sleepers(data, note, options, awake_at, known)
    if configuration is None:
        options.asleep, options.blocks = (), {}
        configuration = config.load(data, file=path.name, environment=known)
    options.secrets = configuration.secrets
    return configuration


def is_scheduled(options: Namespace) -> bool:
    """Whether only what is due is asked for, and nothing is printed of the others."""
    asked = options.command != "check" or options.now or options.names or options.json
    return not asked and options.verbosity <= 0


def _note(options: Namespace, now: datetime) -> dict[str, Any] | None:
    return quiet.read(str(options.state), str(options.config), options.environment, now.timestamp())


def _without_sleepers(
    data: bytes, note: dict[str, Any], options: Namespace, now: datetime, known: Mapping[str, str]
) -> Configuration | None:
    """The first watch of the file is never asleep: a file without watches is another. None where the rest is not a
    file without faults: then all of it is read, and says what is wrong."""
    rows = [quiet.Row(*row) for row in note["rows"]]
    options.asleep = tuple(row for row in rows[1:] if row.last and now.timestamp() < row.due)
    options.blocks = {row.first: row.last for row in rows}
    rest = document.without(data, [(row.first, row.last) for row in options.asleep])
    try:
        found = config.load(rest, file=options.config.name, environment=known)
    except ConfigError:
        return None
    names = (*found.names, *(row.watch for row in options.asleep))
    return None if found.problems else replace(found, names=names, variables=frozenset(note["variables"]))


def _dot_env(options: Namespace) -> Mapping[str, str]:
    path = options.config.parent / ".env"
    try:
        data, mode = path.read_bytes(), path.stat().st_mode
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    if os.name == "posix" and mode & 0o077:
        options.remarks = (f"{path} can be read by other users of this machine: chmod 600 {path}",)
    return read_environment_file(data)


def read_digest(options: Namespace, configuration: Configuration) -> str:
    """Of what was read."""
    return quiet.digest(options.files, sorted(configuration.variables), options.environment)


def digest(options: Namespace, configuration: Configuration) -> str:
    """Of all that the expensive checks depend on: what was read, this version, and the folder of installed packages."""
    packages = Path(sysconfig.get_paths()["purelib"]).stat().st_mtime_ns
    return f"{read_digest(options, configuration)} {VERSION} {packages}"


def style_of(options: Namespace, secrets: Iterable[str] = ()) -> output.Style:
    """How this call prints."""
    terminal = sys.stdout.isatty()
    form = "json" if getattr(options, "json", False) else "terminal" if terminal else "pipe"
    return output.style(form, options.verbosity, terminal and not options.environment.get("NO_COLOR"), secrets)
