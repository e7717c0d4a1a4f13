"""From the options of a call to what the run stands on: what earlier runs have kept of the configuration, the digest by
which it is known, and the way to print."""

from __future__ import annotations

import os
import sys
import sysconfig
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from pagewatch import kept, output, quiet
from pagewatch.configuration import Configuration
from pagewatch.environment import read_environment_file
from pagewatch.errors import ConfigError, reason
from pagewatch.frozen import replace
from pagewatch.model import VERSION

HERE = Path(__file__).parent


def kept_configuration(options: Namespace, awake_at: datetime | None = None) -> Configuration | None:
    """What an earlier run has read and found good, if it would be the same now; watches.yaml itself need not be read.

    With `awake_at` it is without the watches that will not be due then, as far as the last run's note knows: their rows
    are `options.asleep`.
    """
    path = str(options.config)
    options.files = quiet.files_digest(path)
    asleep = () if awake_at is None else _asleep(options, awake_at.timestamp())
    try:
        text, data = (options.state / kept.FILE).read_bytes(), options.config.read_bytes()
        environment = environment_of(options)
    except (OSError, ConfigError):  # which is said when watches.yaml is read
        return None
    if quiet.files_digest(path) != options.files:  # edited meanwhile: texts are in other places
        return None
    found = kept.read(text, partial(digest, options), data, environment, {row.line for row in asleep})
    if found is None:
        return None
    options.asleep, options.secrets = asleep, found.secrets
    return replace(found, names=(*found.names, *(row.watch for row in asleep)))


def _asleep(options: Namespace, now: float) -> tuple[quiet.Row, ...]:
    note = quiet.read(str(options.state), options.files, options.environment, now)
    rows = [quiet.Row(*row) for row in note["rows"]] if note is not None else []
    return tuple([row for row in rows if row.sleeps and now < row.due])


def keep(options: Namespace, configuration: Configuration) -> None:
    """For the next runs, what has just been read. What cannot be written is no loss: it will be read again."""
    with suppress(OSError, ConfigError):
        data, environment = options.config.read_bytes(), environment_of(options)
        if quiet.files_digest(str(options.config)) != options.files:  # edited meanwhile
            return
        text = kept.text(configuration, digest(options, configuration.variables), data, environment)
        if text is not None:
            path = options.state / kept.FILE
            path.touch(mode=0o600)
            path.write_bytes(text)


def is_scheduled(options: Namespace) -> bool:
    """Whether only what is due is asked for, and nothing is printed of the others."""
    asked = options.command != "check" or options.now or options.names or options.json
    return not asked and options.verbosity <= 0


def environment_of(options: Namespace) -> Mapping[str, str]:
    """The variables that watches.yaml may name: what the environment has counts before `.env`."""
    return {**_dot_env(options), **options.environment}


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


def digest(options: Namespace, variables: Iterable[str]) -> str:
    """Of all that decides what the configuration is, and whether it is good: the files that it is read from, the
    variables that they name, this program, and the folder of installed packages."""
    packages = Path(sysconfig.get_paths()["purelib"]).stat().st_mtime_ns
    program = sum(module.stat().st_mtime_ns for module in os.scandir(HERE) if module.name.endswith(".py"))
    read = quiet.digest(options.files, sorted(variables), options.environment)
    return f"{read} {VERSION} {program} {packages}"


def style_of(options: Namespace, secrets: Iterable[str] = ()) -> output.Style:
    """How this call prints."""
    terminal = sys.stdout.isatty()
    form = "json" if getattr(options, "json", False) else "terminal" if terminal else "pipe"
    return output.style(form, options.verbosity, terminal and not options.environment.get("NO_COLOR"), secrets)
