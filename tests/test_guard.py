"""The guards themselves: a test suite that left this machine unseen would prove nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.process import GUARD, Monitor

ATTEMPTS = [
    ("connect to another machine", "s.socket().connect(('192.0.2.1', 80))", "connection to 192.0.2.1"),
    ("connect_ex to another machine", "s.socket().connect_ex(('192.0.2.1', 80))", "connection to 192.0.2.1"),
    ("connect over IPv6", "s.socket(s.AF_INET6).connect(('2001:db8::1', 80))", "connection to 2001:db8::1"),
    ("a datagram", "s.socket(type=s.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))", "connection to 192.0.2.1"),
    ("look up a name", "s.getaddrinfo('example.org', 80)", "look-up of example.org"),
    ("look up a name in bytes", "s.getaddrinfo(b'Example.org.', 80)", "look-up of example.org"),
    ("look up the old way", "s.gethostbyname('example.org')", "look-up of example.org"),
    ("look up backwards", "s.gethostbyaddr('192.0.2.1')", "reverse look-up of 192.0.2.1"),
    ("a library", "import urllib.request as u; u.urlopen('http://example.org')", "look-up of example.org"),
    ("a name that cannot exist", "s.getaddrinfo('nowhere.invalid', 80)", ""),
    ("a name under localhost", "s.getaddrinfo('site.localhost', 80)", ""),
]
HARMLESS = [
    ("a local connection", "l = s.create_server(('127.0.0.2', 0)); s.create_connection(l.getsockname()).close()"),
    ("localhost", "s.getaddrinfo('localhost', 80)"),
    ("a name for oneself", "s.getfqdn()"),
    ("any address to listen at", "s.getaddrinfo(None, 0)"),
    ("a pair of sockets", "s.socketpair()"),
]


def guarded(attempt: str, environment: dict[str, str], log: Path) -> subprocess.CompletedProcess[str]:
    log.touch()
    child = {**environment, "PYTHONPATH": str(GUARD), "NETWORK_GUARD_LOG": str(log)}
    command = [sys.executable, "-c", f"import socket as s; {attempt}"]
    return subprocess.run(command, env=child, capture_output=True, encoding="utf-8", timeout=30, check=False)


@pytest.mark.parametrize(("attempt", "line"), [row[1:] for row in ATTEMPTS], ids=[row[0] for row in ATTEMPTS])
def test_what_leaves_the_machine_is_refused_and_written_down(
    attempt: str, line: str, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    run = guarded(attempt, clean_environment, tmp_path / "log")
    assert "the tests stay on this machine" in run.stderr
    assert (tmp_path / "log").read_text(encoding="utf-8").splitlines() == ([line] if line else [])


@pytest.mark.parametrize("attempt", [row[1] for row in HARMLESS], ids=[row[0] for row in HARMLESS])
def test_what_stays_on_the_machine_is_left_alone(
    attempt: str, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    run = guarded(attempt, clean_environment, tmp_path / "log")
    assert (run.returncode, run.stderr) == (0, "")
    assert (tmp_path / "log").read_text(encoding="utf-8") == ""


def test_the_script_runs_with_the_guard_and_its_own_folders(run_monitor: Monitor, trespasses: Path) -> None:
    assert run_monitor.environment.keys() <= {"PATH", "PYTHONPATH", "NETWORK_GUARD_LOG", "SYSTEMROOT"}
    assert run_monitor.environment["NETWORK_GUARD_LOG"] == str(trespasses)
    command = run_monitor.command("list")
    assert command[-4:] == ["--config", str(run_monitor.config), "--state", str(run_monitor.state)]
