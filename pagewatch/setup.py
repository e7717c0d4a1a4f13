"""Reads watches.yaml and the file `.env` beside it from disk."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from pagewatch import config, quiet
from pagewatch.config import Configuration
from pagewatch.environment import read_environment_file
from pagewatch.errors import ConfigError, reason
from pagewatch.model import VERSION


def read_configuration(path: Path, environment: Mapping[str, str]) -> Configuration:
    """The configuration without the expensive checks. What the environment has counts before what `.env` says. Raises
    ConfigError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    return config.load(data, file=path.name, environment={**_dot_env(path.parent / ".env"), **environment})


def _dot_env(path: Path) -> dict[str, str]:
    try:
        data, mode = path.read_bytes(), path.stat().st_mode
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    if os.name == "posix" and mode & 0o077:
        print(f"{path} can be read by other users of this machine: chmod 600 {path}", file=sys.stderr)
    return read_environment_file(data)


def digest(path: Path, configuration: Configuration, environment: Mapping[str, str]) -> str:
    """Of all that the checks depend on: what was read, this program's version, and the folder of installed packages."""
    packages = Path(sysconfig.get_paths()["purelib"]).stat().st_mtime_ns
    return f"{quiet.digest(str(path), sorted(configuration.variables), environment)} {VERSION} {packages}"
