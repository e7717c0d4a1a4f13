"""The lines that install the run: for crontab, a systemd user timer, Windows Task Scheduler and launchd.

Each promises to work as pasted, whatever stands in the paths: quoted for every program that reads them in turn. The
paths are absolute; `config` and `state` are "" where they are the defaults. The run is hourly: what is not due ends at
once. Raises UsageError for a path that cannot be written there.
"""

from __future__ import annotations

import hashlib
import plistlib
import re
import shlex
from collections.abc import Sequence

from pagewatch.errors import UsageError

NAME = "pagewatch"
CROWDED = 15  # minutes: at each quarter of the hour everybody asks
LONGEST_TR = 261  # characters of /TR: schtasks refuses more
UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
PYTHON_EXE = re.compile(r"(?<![^\\/])python[\d.]*\.exe$", re.IGNORECASE)


def minute_of(seed: str) -> int:
    """A minute of the hour that belongs to this machine and path: never 0, 15, 30 or 45, so that a site is not asked
    by all its watchers at once."""
    minutes = [minute for minute in range(60) if minute % CROWDED]
    digest = hashlib.sha256(seed.encode("utf-8", "surrogateescape")).digest()
    return minutes[int.from_bytes(digest[:8], "big") % len(minutes)]


def cron(python: str, monitor: str, config: str, state: str, minute: int) -> str:
    """Lines for crontab(5). What the run prints is mailed by cron."""
    command = " ".join(_for_crontab(word) for word in _words(python, monitor, config, state))
    return f"# Paste into the file that `crontab -e` opens: hourly, at minute {minute}.\n{minute} * * * * {command}\n"


def _for_crontab(word: str) -> str:
    r"""Quoted for sh, then for cron, where a bare % ends the command. Crons differ in what a backslash does before
    another or before \%: each is followed by the quotes '' and so alone."""
    return shlex.quote(word).replace("\\", "\\''").replace("%", "\\%")


def systemd(python: str, monitor: str, config: str, state: str, minute: int) -> str:
    """Lines for a shell that write a user's service and timer and start the timer.

    Exit status 1 (trouble that has been told) is no failure of the unit. systemd refuses an executable whose path has
    a quote or a backslash, and a $ there means another thing than in an argument: sh is asked to run such a one.
    """
    words = _words(python, monitor, config, state)
    if re.search(r"[\"'\\$]", python):
        words = ["/bin/sh", "-c", 'exec "$0" "$@"', *words]
    command = " ".join(_for_unit(word) for word in words)
    name = _name(config, state)
    service = ["[Unit]", "Description=Watch web pages for changes", "", "[Service]", "Type=oneshot"]
    service += [f"ExecStart={command}", "SuccessExitStatus=1"]
    timer = ["[Unit]", f"Description=Hourly run of {name}", "", "[Timer]", f"OnCalendar=*-*-* *:{minute:02}:00"]
    timer += ["Persistent=true", "", "[Install]", "WantedBy=timers.target"]
    folder = '"${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user"'
    return _lines(
        f': "Paste into a shell. What the run prints is shown by: journalctl --user -u {name}"',
        f"mkdir -p {folder}",
        *_file(f"{folder}/{name}.service", service),
        *_file(f"{folder}/{name}.timer", timer),
        f"systemctl --user daemon-reload && systemctl --user enable --now {name}.timer",
        ': "So that it runs while you are not logged in, too:"',
        "loginctl enable-linger",
    )


def _for_unit(word: str) -> str:
    """systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers"."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def launchd(python: str, monitor: str, config: str, state: str, minute: int) -> str:
    """Lines for a macOS terminal that write a user's agent and load it. What the run prints goes nowhere."""
    words = _words(python, monitor, config, state)
    name = _name(config, state)
    agent = {"Label": name, "ProgramArguments": words, "StartCalendarInterval": {"Minute": minute}}
    path = f'"$HOME/Library/LaunchAgents/{name}.plist"'
    return _lines(
        ': "Paste into a terminal. Nobody sees what the run prints: watches.yaml needs a target under notify."',
        'mkdir -p "$HOME/Library/LaunchAgents"',
        *_file(path, plistlib.dumps(agent).decode("utf-8").rstrip().split("\n")),
        f"launchctl unload {path} 2>/dev/null",
        f"launchctl load -w {path}",
    )


def _file(path: str, lines: Sequence[str]) -> tuple[str, ...]:
    """A here-document whose text the shell leaves alone."""
    return f"cat > {path} <<'EOF'", *lines, "EOF"


def schtasks(python: str, monitor: str, config: str, state: str, minute: int) -> str:
    r"""Lines for the Command Prompt, run by pythonw.exe, which opens no window.

    /TR is read three times: by cmd, to which \" is a quote like any other, by the C runtime, and by Task Scheduler.
    """
    words = _words(PYTHON_EXE.sub("pythonw.exe", python), monitor, config, state)
    task = " ".join(_for_windows(word) for word in words)
    remarks = ["Paste into the Command Prompt, not into PowerShell. It runs while you are logged in, on mains power."]
    remarks += ["Nobody sees what the run prints: watches.yaml needs a target under notify."]
    if len(task) > LONGEST_TR:
        remarks += [f"schtasks will refuse this: /TR has {len(task)} characters, and {LONGEST_TR} are allowed."]
        remarks += ["Move the files to a shorter path, or make the task in taskschd.msc."]
    if "%" in task:
        remarks += ["A path has a percent sign: Task Scheduler takes a name between two of them for a variable."]
    create = f"schtasks /Create /F /TN {_name(config, state)} /SC HOURLY /ST 00:{minute:02} /TR "
    return _lines(*(f"rem {remark}" for remark in remarks), create + _for_cmd(_for_windows(task)))


def _for_windows(word: str) -> str:
    """Quoted for the C runtime: backslashes are doubled before a quote and at the end, and only there."""
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return f'"{escaped}{escaped[len(escaped.rstrip(chr(92))) :]}"'


def _for_cmd(text: str) -> str:
    r"""With a caret before each sign that cmd would obey, where cmd takes it to be outside quotes: a path in /TR is,
    since the \" before it closes what the first quote opened. Inside, a caret would stay."""
    parts = text.split('"')
    outside = [re.sub(r"[\^&|<>()%]", r"^\g<0>", part) for part in parts[::2]]
    return '"'.join(outside[i // 2] if i % 2 == 0 else part for i, part in enumerate(parts))


def _words(python: str, monitor: str, config: str, state: str) -> list[str]:
    """The command, a word each."""
    words = [python, monitor, *(("--config", config) if config else ()), *(("--state", state) if state else ())]
    for word in words:
        if UNPRINTED.search(word):
            shown = UNPRINTED.sub("\N{REPLACEMENT CHARACTER}", word)
            raise UsageError(f"{shown} has a character that no scheduler can be given: rename it")
    return words


def _name(config: str, state: str) -> str:
    """Of a unit, agent or task: one for each configuration, so that a second does not replace the first."""
    if not config and not state:
        return NAME
    digest = hashlib.sha256("\n".join((config, state)).encode()).hexdigest()
    return f"{NAME}-{digest[:6]}"


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
