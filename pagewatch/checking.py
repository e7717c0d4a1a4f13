"""The checks of the configuration that need the packages which select and notify: done once per edit."""

from __future__ import annotations

from argparse import Namespace

from pagewatch import config, watches_yaml
from pagewatch.configuration import Configuration
from pagewatch.jsondata import check_path
from pagewatch.notify import check_target
from pagewatch.soup import check_selector


def checked(configuration: Configuration, file: str) -> Configuration:
    """Without the watches and targets that cannot work, which are problems now. Raises ConfigError if no target is
    left."""
    return config.check(configuration, selector=check_selector, path=check_path, target=check_target, file=file)


def read(options: Namespace) -> Configuration:
    """The configuration with every check, for commands that do not remember the last one."""
    return checked(watches_yaml.read(options), options.config.name)
