"""From the options of a call to what the run stands on: the configuration on disk and the way to print."""

from __future__ import annotations

import os
import sys
import sysconfig
from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

from pagewatch import config, output, quiet
from pagewatch.config import Configuration
from pagewatch.environment import read_environment_file
from pagewatch.errors import ConfigError, reason
from pagewatch.model import VERSION


def read_configuration(options: Namespace) -> Configuration:
    """watches.yaml without the expensive checks. What the environment has counts before `.env`. Raises ConfigError."""
    path, environment = options.config, options.environment
    options.files = quiet.files_digest(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    configuration = config.load(data, file=path.name, environment={**_dot_env(options), **environment})
    options.secrets = configuration.secrets
    return configuration


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
