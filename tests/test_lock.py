"""One run at a time, and never none because of a run that died."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pagewatch.errors import StateError
from pagewatch.lock import Busy, Locked, lock

NOW = datetime(2026, 3, 2, 8, 0, 0, 250000, tzinfo=timezone.utc)
PROJECT = Path(__file__).resolve().parent.parent

HOLDER = """
import sys
from datetime import datetime, timezone
from pathlib import Path
from pagewatch.lock import lock
with lock(Path(sys.argv[1]), now=datetime(2026, 3, 2, 6, tzinfo=timezone.utc)) as held:
    print(type(held).__name__, flush=True)
    sys.stdin.read()
"""

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")


@contextmanager
def another_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Locked\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_first_run_makes_the_folder_and_holds_it(tmp_path: Path) -> None:
    with lock(tmp_path / "state", now=NOW) as held:
        assert held == Locked()
    assert (tmp_path / "state" / "lock").exists()


def test_a_second_run_learns_since_when_the_first_is_at_work(tmp_path: Path) -> None:
    with lock(tmp_path, now=NOW), lock(tmp_path, now=NOW + timedelta(hours=2)) as held:
        assert held == Busy(NOW)


def test_a_run_in_another_process_is_seen(tmp_path: Path) -> None:
    with another_run(tmp_path), lock(tmp_path, now=NOW) as held:
        assert held == Busy(datetime(2026, 3, 2, 6, tzinfo=timezone.utc))


def test_the_lock_of_a_killed_run_is_free_at_once(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        process.kill()
        process.wait()
        with lock(tmp_path, now=NOW) as held:
            assert held == Locked()


def test_after_a_run_the_lock_is_free_and_says_nothing_of_it(tmp_path: Path) -> None:
    with lock(tmp_path, now=NOW):
        pass
    with lock(tmp_path, now=NOW) as held:
        assert held == Locked()
    assert (tmp_path / "lock").read_bytes() == b""


def test_the_lock_is_free_after_a_run_that_ended_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock(tmp_path, now=NOW):
        raise KeyError
    with lock(tmp_path, now=NOW) as held:
        assert held == Locked()


@pytest.mark.parametrize("content", [b"", b"\xff" * 200, b"yesterday", b"2026-03-02T08:00:00"])
def test_a_lock_file_that_says_nonsense_is_a_lock_all_the_same(tmp_path: Path, content: bytes) -> None:
    with lock(tmp_path, now=NOW):
        (tmp_path / "lock").write_bytes(content)
        with lock(tmp_path, now=NOW) as held:
            assert held == Busy(None)


def test_waiting_ends_when_the_other_run_ends(tmp_path: Path) -> None:
    clock = [100.0]
    other = lock(tmp_path, now=NOW)
    other.__enter__()

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if clock[0] >= 102.5:
            other.__exit__(None, None, None)

    with lock(tmp_path, now=NOW, wait=60, sleep=sleep, monotonic=lambda: clock[0]) as held:
        assert held == Locked()
        assert 102.4 < clock[0] < 103
        with lock(tmp_path, now=NOW) as late:
            assert late == Busy(NOW + timedelta(seconds=2)), "the time of the lock is when it was had"


def test_waiting_ends_when_its_time_is_over(tmp_path: Path) -> None:
    clock = [100.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    waiting = lock(tmp_path, now=NOW, wait=60, sleep=sleep, monotonic=lambda: clock[0])
    with lock(tmp_path, now=NOW), waiting as held:
        assert held == Busy(NOW)
    assert 160 <= clock[0] < 161


@posix
def test_the_folder_and_the_lock_are_their_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with lock(tmp_path / "state", now=NOW):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "lock").stat().st_mode & 0o777 == 0o600


@posix
@pytest.mark.parametrize("names", [[], ["README.md", ".gitignore"], ["state.json", "state.json.bak", "history.db-wal"]])
def test_a_folder_that_came_with_a_checkout_or_a_backup_is_made_private(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    with lock(tmp_path, now=NOW):
        assert tmp_path.stat().st_mode & 0o777 == 0o700


@posix
def test_a_folder_with_other_peoples_things_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    with lock(tmp_path, now=NOW):
        assert tmp_path.stat().st_mode & 0o777 == 0o755


@posix
def test_a_full_disk_does_not_keep_a_run_from_its_lock(tmp_path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + HOLDER
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=PROJECT, input="", capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("Locked\n", "")


@pytest.mark.parametrize(
    "path",
    [Path("no", "such", "folder"), Path("file"), Path("file", "state")],
    ids=["parent missing", "file", "in a file"],
)
def test_a_folder_that_cannot_be_is_the_users_to_mend(tmp_path: Path, path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"the state folder .* cannot be used: "), lock(tmp_path / path, now=NOW):
        pass
