"""What holds for every test, and how the script is run as cron runs it.

Three guards: no test leaves loopback, neither in this process nor in a child; none touches the project's own `state/`;
none sees the proxies of the machine it runs on. They are real guards, not fakes: nothing of the program is replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from tests.guard import loopback
from tests.process import GUARD, PROJECT, Monitor
from tests.program import Program, ok
from tests.site import Site

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


# ---------------------------------------------------------------------------------------- the program in this process


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def site() -> Iterator[Site]:
    """A site whose page /p has a price of 20 dollars."""
    with Site() as site:
        site.script("/p", ok("20 dollars"))
        yield site
