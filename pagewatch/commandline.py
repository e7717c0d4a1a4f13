"""The words of the command line: commands, options and their help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pagewatch.model import VERSION

ABOUT = "Watch pages for changes, and be told of every real one. Without a command it checks: run that by a scheduler."
WATCH = "name of a watch"

Argument = tuple[tuple[str, ...], dict[str, Any]]  # the flags, and what argparse is told of them


def parse(arguments: Sequence[str], folder_of_script: Path) -> argparse.Namespace:
    """The options of a call, complete with defaults. Exits with status 2 and a usage line where it makes no sense."""
    words = list(arguments)
    if not words or (words[0] not in COMMANDS and not {"-h", "--help", "--version"} & set(words[:1])):
        words = _with_check(words)
    options = _parser(words[:1] if words[0] in COMMANDS else COMMANDS).parse_args(words)
    options.config = Path(getattr(options, "config", None) or folder_of_script / "watches.yaml").absolute()
    options.state = Path(getattr(options, "state", None) or options.config.parent / "state").absolute()
    if options.command == "check" and options.dry_run:  # it is for looking
        options.verbose = True
    options.script = folder_of_script / "monitor.py"
    options.asleep = ()  # watches that need not be read
    options.remarks = ()  # what is unwise but no mistake, found on the way
    options.listened_to = True  # there is a standard output, so far as is known
    options.verbosity = -1 if getattr(options, "quiet", False) else int(getattr(options, "verbose", False))
    return options


def _with_check(words: list[str]) -> list[str]:
    """Options may stand before the command; without one it is `check`."""
    rest = list(words)
    skipped = 0
    while skipped < len(rest) and rest[skipped].startswith("-"):
        skipped += 2 if rest[skipped] in ("--config", "--state") else 1
    if skipped < len(rest) and rest[skipped] in COMMANDS:
        return [rest[skipped], *rest[:skipped], *rest[skipped + 1 :]]
    return ["check", *rest]


def _path(text: str) -> str:
    """An empty one is a variable that is not set, and no wish for the default."""
    if not text:
        raise argparse.ArgumentTypeError("is empty")
    return text


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return float(text)


def _parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """For these commands: the others take time, and only the help of all names them."""
    everywhere = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    everywhere.add_argument(
        "--config", metavar="FILE", type=_path, help="the watches (default: watches.yaml beside monitor.py)"
    )
    everywhere.add_argument(
        "--state", metavar="DIR", type=_path, help="what is remembered (default: state/ beside the configuration)"
    )
    everywhere.add_argument("-v", dest="verbose", action="store_true", help="print a line for every watch")
    everywhere.add_argument(
        "-q",
        dest="quiet",
        action="store_true",
        help="print nothing but errors (and, without a target, what is to be told)",
    )
    everywhere.add_argument("--version", action="version", version=f"pagewatch {VERSION}")
    parser = argparse.ArgumentParser(prog="monitor.py", description=ABOUT, parents=[everywhere])
    commands = parser.add_subparsers(dest="command", metavar="command", prog=parser.prog)
    for name in names:
        text, arguments = COMMANDS[name]
        command = commands.add_parser(name, help=text, description=text, parents=[everywhere])
        for flags, keywords in arguments:
            command.add_argument(*flags, **keywords)
    return parser


_JSON: Argument = (("--json",), {"action": "store_true", "help": "one JSON object a line"})

COMMANDS: dict[str, tuple[str, list[Argument]]] = {
    "check": (
        "look at every watch that is due, and tell what changed",
        [
            (("names",), {"metavar": "NAME", "nargs": "*", "help": "only these watches"}),
            (("--now",), {"action": "store_true", "help": "due or not, fresh or not"}),
            (("--dry-run",), {"action": "store_true", "help": "look and print; save and send nothing"}),
            (
                ("--wait",),
                {
                    "metavar": "SECONDS",
                    "type": _seconds,
                    "default": 0.0,
                    "help": "wait for another run to end instead of leaving",
                },
            ),
            _JSON,
        ],
    ),
    "test": (
        "one look at a watch or a URL, explained; saves nothing",
        [
            (("name",), {"metavar": "NAME|URL", "help": "name of a watch, or any URL"}),
            (("--select",), {"metavar": "CSS", "default": "", "help": "the selector to try, with a URL"}),
            (("--twice",), {"action": "store_true", "help": "look again after a pause, and show what differs: noise"}),
            (
                ("--pause",),
                {
                    "metavar": "SECONDS",
                    "type": _seconds,
                    "default": 5.0,
                    "help": "how long the pause of --twice is (default: 5)",
                },
            ),
        ],
    ),
    "list": ("every watch: how it is, when it was verified, when it is looked at next", [_JSON]),
    "history": ("every version seen of a watch, with its time", [(("name",), {"metavar": "NAME", "help": WATCH})]),
    "diff": (
        "what changed between two versions of a watch; without numbers the last two",
        [
            (("name",), {"metavar": "NAME", "help": WATCH}),
            (("first",), {"metavar": "FROM", "nargs": "?", "type": int, "help": "number of a version (see history)"}),
            (
                ("second",),
                {"metavar": "TO", "nargs": "?", "type": int, "help": "another; without it the one after FROM"},
            ),
        ],
    ),
    "why": (
        "the last decisions about a watch, and why an alert came or did not",
        [(("name",), {"metavar": "NAME", "help": WATCH})],
    ),
    "report": ("write report.html (all watches on one page) and changes.atom into the state folder", []),
    "schedule": (
        "what checking costs and how late it finds changes, a proposed `every`, and lines for a scheduler",
        [
            (("--delay",), {"metavar": "TIME", "help": "how late a change may be found, such as 12h"}),
            (("--simulate",), {"action": "store_true", "help": "play 30 runs of a year of weekly changes"}),
            (("--cron",), {"action": "store_true", "help": "print the line for crontab"}),
            (("--systemd",), {"action": "store_true", "help": "print a systemd timer"}),
            (("--schtasks",), {"action": "store_true", "help": "print the command for Windows Task Scheduler"}),
            (("--launchd",), {"action": "store_true", "help": "print an agent for macOS"}),
        ],
    ),
    "forget": (
        "drop what is remembered of a watch: the next look is a first visit",
        [
            (("name",), {"metavar": "NAME", "nargs": "?", "help": WATCH}),
            (("--target",), {"metavar": "NAME", "help": "drop the unsent notices of this target instead"}),
        ],
    ),
    "doctor": (
        "examine configuration, targets, state folder, clock and versions",
        [(("--send",), {"action": "store_true", "help": "send a test notice to each target"})],
    ),
    "demo": ("five runs against a site on this machine, with a real notification; needs no network", []),
}
