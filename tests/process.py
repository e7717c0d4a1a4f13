"""`monitor.py` as a process of its own, as cron runs it, and what came of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
MONITOR = PROJECT / "monitor.py"
GUARD = PROJECT / "tests" / "guard"


class Run(subprocess.CompletedProcess[str]):
    """A run that has ended, with what `--json` printed taken apart."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The objects printed, a line each, the summary among them."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    @property
    def watches(self) -> dict[str, dict[str, Any]]:
        """The objects of single watches by the name of the watch."""
        return {line["watch"]: line for line in self.lines if "watch" in line}

    @property
    def summary(self) -> dict[str, Any]:
        (summary,) = (line["summary"] for line in self.lines if "summary" in line)
        assert isinstance(summary, dict)
        return summary


@dataclass(frozen=True)
class Monitor:
    """`monitor.py` with a configuration and a state folder of its own, in a working directory that has neither."""

    config: Path
    state: Path
    working_directory: Path
    environment: Mapping[str, str]

    def __call__(
        self,
        *arguments: str,
        config: str | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Run:
        """Run to the end. `config` is written as watches.yaml first; `environment` is added to the guarded one."""
        process = self.start(*arguments, config=config, environment=environment)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return Run(process.args, process.returncode, stdout, stderr)

    def start(
        self, *arguments: str, config: str | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start, for a test that kills or interrupts it: that test waits for the end and closes the pipes (`with`)."""
        if config is not None:
            self.config.write_text(config, encoding="utf-8")
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.working_directory,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line, which never reaches the project's own watches.yaml and state/ unless it names them."""
        command = [sys.executable, str(MONITOR), *arguments]
        if "--config" not in arguments:
            command += ["--config", str(self.config)]
        if "--state" not in arguments:
            command += ["--state", str(self.state)]
        return command
