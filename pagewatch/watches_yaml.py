"""watches.yaml from disk, read as a whole."""

from __future__ import annotations

from argparse import Namespace

from pagewatch import config, quiet, setup
from pagewatch.configuration import Configuration
from pagewatch.errors import ConfigError, reason


def read(options: Namespace) -> Configuration:
    """Without the expensive checks (`checking`). Raises ConfigError."""
    path = options.config
    options.asleep, options.files = (), quiet.files_digest(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from error
    configuration = config.load(data, file=path.name, environment=setup.environment_of(options))
    options.secrets = configuration.secrets
    return configuration
