"""What holds for every test, and how the script is run as cron runs it.

Three guards: no test leaves loopback, neither in this process nor in a child; none touches the project's own `state/`;
none sees the proxies of the machine it runs on. They are real guards, not fakes: nothing of the program is replaced.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.guard import loopback

PROJECT = Path(__file__).resolve().parent.parent
MONITOR = PROJECT / "monitor.py"
GUARD = PROJECT / "tests" / "guard"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy")

# The time of one example says more about the machine than about the code; in CI the same examples come each time.
settings.register_profile("project", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("project")


# --------------------------------------------------------------------------------------------------- the guards


@pytest.fixture(scope="session")
def trespasses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guarded processes' record of what they were refused, a line each."""
    log = tmp_path_factory.mktemp("guard") / "refused.txt"
    log.touch()
    loopback.install(log)
    return log


@pytest.fixture(autouse=True)
def nothing_leaves_loopback(trespasses: Path) -> Iterator[None]:
    before = trespasses.stat().st_size
    yield
    if trespasses.stat().st_size > before:
        lines = trespasses.read_text(encoding="utf-8")[before:].splitlines()
        pytest.fail(f"the test left loopback: {', '.join(sorted(set(lines)))}", pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def real_state_outlives_the_session() -> Iterator[None]:
    with _state_untouched("the session"):
        yield


@pytest.fixture(autouse=True)
def real_state_is_untouched(real_state_outlives_the_session: None) -> Iterator[None]:
    with _state_untouched("the test"):
        yield


@contextmanager
def _state_untouched(during: str) -> Iterator[None]:
    before = _listing(PROJECT / "state")
    yield
    after = _listing(PROJECT / "state")
    touched = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if touched:
        pytest.fail(f"{during} (or a monitor that ran meanwhile) touched {', '.join(touched)}", pytrace=False)


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below `folder`, and itself, with what tells that it was written."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found[path.relative_to(PROJECT).as_posix()] = (status.st_mtime_ns, status.st_size)
    return found


@pytest.fixture(scope="session", autouse=True)
def no_proxies() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name in PROXIES:
            environment.delenv(name, raising=False)
            environment.delenv(name.upper(), raising=False)
        yield


# ------------------------------------------------------------------------------------------ the script, as cron runs it


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


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """What cron gives to its jobs: PATH and nothing else (Windows cannot open a socket without SYSTEMROOT)."""
    environment = {"PATH": os.defpath}
    if sys.platform == "win32":
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return environment


@pytest.fixture
def guarded_environment(clean_environment: dict[str, str], trespasses: Path) -> dict[str, str]:
    """The same for a child process that must not leave loopback: it has the guard, and reports to this session."""
    return {**clean_environment, "PYTHONPATH": str(GUARD), "NETWORK_GUARD_LOG": str(trespasses)}


@pytest.fixture
def run_monitor(tmp_path: Path, guarded_environment: dict[str, str]) -> Monitor:
    """`run_monitor("check", "--json", config=TEXT)`; `.config`, `.state` and `.working_directory` are its places."""
    working_directory = tmp_path / "elsewhere"
    working_directory.mkdir()
    return Monitor(tmp_path / "watches.yaml", tmp_path / "state", working_directory, guarded_environment)
