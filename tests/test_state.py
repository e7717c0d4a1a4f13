"""Nothing that was saved is lost, nothing is half there, and nothing is silently reset."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from pagewatch.answers import Extract
from pagewatch.errors import StateError
from pagewatch.frozen import replace
from pagewatch.lock import Locked, lock
from pagewatch.memory import Memory
from pagewatch.model import Notice, WatchState
from pagewatch.records import Document, compose, parse
from pagewatch.state import Files, damaged_files, open_memory, read_memory, save
from tests.state_run import LATER, NAMES, NEVER, NOW, ORIGIN, ROBOTS, URL, Mortal, long_text, look, run

PROJECT = Path(__file__).resolve().parent.parent

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")


def first_run(folder: Path) -> None:
    """A run that sees "old", whose notices are taken, so that nothing is unsent."""
    with lock(folder, now=NOW):
        memory = open_memory(folder, NOW)
        look(memory, "old", 1)
        for notice in memory.outbox:
            memory.settle(notice.id, notice.target)
        memory.finish(NOW)


def idle_run(folder: Path) -> None:
    with lock(folder, now=NOW):
        open_memory(folder, NOW).finish(NOW)


def seen(memory: Memory) -> str:
    """The word of the baseline; "" if there is none. Its text must be there too."""
    state = memory.find("Price")
    if state is None or state.baseline is None:
        return ""
    word = state.baseline.fingerprint.removeprefix("fingerprint of ")
    assert state.baseline.extract == Extract(long_text(word))
    return word


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` but the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder after two runs: state.json, its copy, two contents."""
    first_run(tmp_path / "state")
    idle_run(tmp_path / "state")
    assert len(contents(tmp_path / "state")) == 4
    return tmp_path / "state"


# -------------------------------------------------------------------------------------------------- saving and reading


def test_what_is_saved_is_read(folder: Path) -> None:
    memory = open_memory(folder, NOW)
    memory.offline_since, memory.offline_told, memory.checked, memory.told_config = NOW, True, "digest", ("a", "b")
    look(memory, "new", 2)
    memory.commit()
    for read in (open_memory(folder, LATER), read_memory(folder, LATER)):
        assert seen(read) == "new"
        assert read.watches.values() == memory.watches.values()
        assert read.outbox == memory.outbox and len(read.outbox) == 2
        record = read.robots.get(ORIGIN)
        assert record is not None and record.body == ROBOTS + b"new"
        assert (read.offline_since, read.offline_told, read.checked, read.told_config) == (
            NOW,
            True,
            "digest",
            ("a", "b"),
        )


def test_the_first_run_leaves_an_empty_state_before_anything_else(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, NOW)
    assert list(contents(tmp_path)) == ["state.json"]
    assert open_memory(tmp_path, NOW).names() == () and list(contents(tmp_path)) == ["state.json"], (
        "nothing to copy yet"
    )
    assert memory.watches.values() == () and not memory.recovered
    assert json.loads((tmp_path / "state.json").read_bytes())["version"] == 1


def test_state_json_is_one_json_document_with_a_line_for_each_watch(folder: Path) -> None:
    memory = open_memory(folder, NOW)
    memory.state_of("Other", "http://127.0.0.1/ö", "select", NAMES)
    memory.commit()
    text = (folder / "state.json").read_text(encoding="ascii")
    assert [watch["name"] for watch in json.loads(text)["watches"]] == ["Price", "Other"]
    (line,) = (line for line in text.splitlines() if URL in line)
    assert json.loads(line.rstrip(","))["url"] == URL


def test_a_commit_without_a_change_writes_nothing(folder: Path) -> None:
    files = Mortal(1, "full")
    memory = open_memory(folder, NOW, files)
    state = memory.find("Price")
    assert state is not None
    memory.put(replace(state))
    memory.commit()
    memory.finish(NOW)
    assert files.log == []


def test_a_run_that_changes_one_watch_leaves_the_other_lines_as_they_are(folder: Path) -> None:
    memory = open_memory(folder, NOW)
    memory.state_of("Other", "http://127.0.0.1/other", "select", NAMES)
    memory.commit()
    before = (folder / "state.json").read_bytes().splitlines()
    memory = open_memory(folder, LATER)
    other = memory.find("Other")
    assert other is not None
    memory.put(replace(other, last_checked=LATER))
    memory.commit()
    after = (folder / "state.json").read_bytes().splitlines()
    changed = [line for line in after if line not in before]
    assert len(after) == len(before)
    assert [line[:15] for line in changed] == [b'{"version":1,"c', b'{"id":"' + other.id.encode()[:8]]


def test_reading_writes_nothing_and_cannot_save(folder: Path) -> None:
    (folder / "state.json").write_bytes(b"")
    (folder / "state.json.tmp").touch()
    before = contents(folder)
    memory = read_memory(folder, NOW)
    assert (memory.recovered, seen(memory)) == ("state.json", "old")
    look(memory, "new", 2)
    with pytest.raises(RuntimeError, match="for reading only"):
        memory.commit()
    assert contents(folder) == before


def test_reading_a_folder_that_is_not_there_finds_nothing(tmp_path: Path) -> None:
    assert read_memory(tmp_path / "state", NOW).watches.values() == ()
    assert not (tmp_path / "state").exists()


@posix
def test_all_files_are_their_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first_run(tmp_path / "state")
        idle_run(tmp_path / "state")
        (tmp_path / "state" / "state.json").write_bytes(b"")
        idle_run(tmp_path / "state")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "state").rglob("*")}
    assert modes.pop("content") == 0o700
    assert len(modes) == 6 and set(modes.values()) == {0o600}


@posix
def test_a_leftover_that_all_can_read_does_not_lend_its_mode(folder: Path) -> None:
    memory = open_memory(folder, NOW)
    (folder / "state.json.tmp").touch(mode=0o666)
    memory.commit(always=True)
    assert (folder / "state.json").stat().st_mode & 0o777 == 0o600


def test_leftovers_of_killed_runs_are_ignored_and_cleared_away(folder: Path) -> None:
    for name in ("state.json.tmp", "state.json.bak.tmp", "state.json.damaged-x.tmp", "content/abc.tmp"):
        (folder / name).write_bytes(b"{")
    assert damaged_files(folder) == ()
    look(memory := open_memory(folder, LATER), "new", 2)
    memory.finish(LATER)
    assert [name for name in contents(folder) if name.endswith(".tmp")] == []
    assert damaged_files(folder) == ()


# ------------------------------------------------------------------------------------------------------------ contents


def test_longer_contents_have_files_named_by_their_digest_and_shorter_ones_have_none(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, NOW)
    look(memory, "old", 1)
    memory.commit()
    for path in (tmp_path / "content").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    state = memory.find("Price")
    assert state is not None and state.baseline is not None
    memory.put(replace(state, baseline=replace(state.baseline, extract=Extract("short"))))
    memory.finish(NOW)
    assert len(list((tmp_path / "content").iterdir())) == 1, "only robots.txt is long now"
    kept = open_memory(tmp_path, NOW).find("Price")
    assert kept is not None and kept.baseline is not None and kept.baseline.extract == Extract("short")


def damages() -> dict[str, Callable[[bytes], bytes]]:
    return {
        "cut to nothing": lambda raw: b"",
        "cut to half": lambda raw: raw[: len(raw) // 2],
        "its last byte cut": lambda raw: raw[:-1],
        "200 bytes of 0xFF": lambda raw: b"\xff" * 200,
        "another JSON": lambda raw: b"[]",
        "an empty object": lambda raw: b"{}",
        "one byte flipped": lambda raw: (
            raw[: len(raw) // 3] + bytes([raw[len(raw) // 3] ^ 1]) + raw[len(raw) // 3 + 1 :]
        ),
        "written twice": lambda raw: raw + raw,
    }


@pytest.mark.parametrize("damage", [*damages(), "gone"])
def test_a_lost_content_stops_nothing(folder: Path, damage: str) -> None:
    """The baseline goes on by its fingerprint, robots.txt is fetched again."""
    for path in (folder / "content").iterdir():
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(damages()[damage](path.read_bytes()))
    memory = open_memory(folder, LATER)
    state = memory.find("Price")
    assert state is not None and state.baseline is not None
    assert (state.baseline.fingerprint, state.baseline.extract) == ("fingerprint of old", None)
    assert memory.robots.get(ORIGIN) is None and ORIGIN not in memory.robots
    look(memory, "old", 2)
    memory.finish(LATER)
    assert seen(open_memory(folder, LATER)) == "old", "what is seen again is written again"


def test_a_look_that_leaves_the_baseline_keeps_the_reference_to_a_content_that_could_not_be_read(folder: Path) -> None:
    away = folder.with_name("away")
    (folder / "content").rename(away)
    memory = open_memory(folder, LATER)
    state = memory.find("Price")
    assert state is not None
    memory.put(replace(state, last_checked=LATER))
    memory.commit()
    away.rename(folder / "content")
    assert seen(open_memory(folder, LATER)) == "old"


def test_a_content_lives_as_long_as_state_json_or_its_copy_refers_to_it(folder: Path) -> None:
    old = set(contents(folder))
    memory = open_memory(folder, LATER)
    look(memory, "new", 2)
    memory.finish(LATER)
    assert set(contents(folder)) > old
    memory = open_memory(folder, LATER)
    memory.finish(LATER)
    assert len(contents(folder)) == 4 and seen(memory) == "new"


def test_a_content_that_was_cleared_away_is_written_again_when_it_is_seen_again(folder: Path) -> None:
    memory = open_memory(folder, LATER)
    look(memory, "new", 2)
    memory.commit()
    look(memory, "newer", 3)
    memory.finish(LATER)
    look(memory, "new", 4)
    memory.commit()
    assert seen(open_memory(folder, LATER)) == "new"


@pytest.mark.parametrize("name", ["state.json", "state.json.bak"])
def test_no_content_is_cleared_away_while_a_document_is_damaged(folder: Path, name: str) -> None:
    memory = open_memory(folder, LATER)
    look(memory, "new", 2)
    memory.commit()
    (folder / "content" / ("0" * 64)).touch()
    (folder / name).write_bytes(b"")
    memory.finish(LATER)
    assert len(list((folder / "content").iterdir())) == 5


# -------------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("damage", damages())
def test_a_damaged_state_is_kept_aside_and_its_copy_is_used(folder: Path, damage: str) -> None:
    raw = damages()[damage]((folder / "state.json").read_bytes())
    (folder / "state.json").write_bytes(raw)
    memory = open_memory(folder, LATER)
    assert memory.recovered == "state.json.damaged-20260302T090000Z"
    assert damaged_files(folder) == (memory.recovered,)
    assert (folder / memory.recovered).read_bytes() == raw
    assert seen(memory) == "old"
    again = open_memory(folder, LATER)
    assert (again.recovered, seen(again)) == (memory.recovered, "old"), "named until it is acknowledged"
    again.acknowledge()
    again.commit()
    assert open_memory(folder, LATER).recovered == ""


@pytest.mark.parametrize("copy", [*damages(), "gone"])
def test_without_a_good_copy_every_run_stops_and_leaves_the_files_alone(folder: Path, copy: str) -> None:
    raw = (folder / "state.json").read_bytes()[:-20]
    (folder / "state.json").write_bytes(raw)
    if copy == "gone":
        (folder / "state.json.bak").unlink()
    else:
        (folder / "state.json.bak").write_bytes(damages()[copy]((folder / "state.json.bak").read_bytes()))
    before = contents(folder)
    for hours in range(3):
        with pytest.raises(
            StateError, match=r"state\.json is damaged \(.*\), and state\.json\.bak cannot take its place"
        ):
            open_memory(folder, NOW + timedelta(hours=hours))
        with pytest.raises(StateError, match=r"state\.json is damaged"):
            read_memory(folder, NOW)
    after = contents(folder)
    (aside,) = after.keys() - before.keys()
    assert after.pop(aside) == raw and after == before, "a copy for the user to repair, once"


def test_a_damaged_copy_is_made_anew_from_a_good_state(folder: Path) -> None:
    for damage in damages().values():
        (folder / "state.json.bak").write_bytes(damage((folder / "state.json").read_bytes()))
        assert seen(open_memory(folder, NOW)) == "old"
        assert (folder / "state.json.bak").read_bytes() == (folder / "state.json").read_bytes()


def test_a_state_damaged_in_its_first_run_is_no_first_visit(tmp_path: Path) -> None:
    """The copy would be that of the empty state: no good copy."""
    first_run(tmp_path)
    (tmp_path / "state.json").write_bytes(b"")
    with pytest.raises(StateError, match=r"it is empty.*it is missing"):
        open_memory(tmp_path, LATER)


def test_two_damages_in_one_second_are_kept_apart_and_one_found_twice_is_kept_once(folder: Path) -> None:
    for raw in (b"one", b"two", b"one"):
        (folder / "state.json").write_bytes(raw)
        open_memory(folder, LATER)
    names = damaged_files(folder)
    assert names == ("state.json.damaged-20260302T090000Z", "state.json.damaged-20260302T090000Z-2")
    assert [(folder / name).read_bytes() for name in names] == [b"one", b"two"]


@pytest.mark.parametrize(
    "companion", ["state.json.bak", "content/abc", "history.db", "state.json.damaged-20260302T090000Z"]
)
def test_a_state_gone_from_among_its_companions_stops_every_run(tmp_path: Path, companion: str) -> None:
    (tmp_path / companion).parent.mkdir(exist_ok=True)
    (tmp_path / companion).touch()
    for _ in range(2):
        with pytest.raises(StateError, match=r"state\.json is gone, but .* shows that there was one"):
            open_memory(tmp_path, NOW)
        with pytest.raises(StateError, match=r"state\.json is gone"):
            read_memory(tmp_path, NOW)
    assert list(contents(tmp_path)) == [companion]


def test_what_is_no_memory_does_not_keep_a_first_run_from_its_start(tmp_path: Path) -> None:
    for name in ("README.md", "lock", "state.json.tmp", "report.html", "quiet.txt", "watches.txt", "error-1.txt"):
        (tmp_path / name).write_bytes(b"x")
    assert open_memory(tmp_path, NOW).watches.values() == ()


@pytest.mark.parametrize("edit", ["version only", "written anew", "of another form", "and its copy is older"])
def test_a_state_of_a_newer_program_is_left_alone(folder: Path, edit: str) -> None:
    raw = (folder / "state.json").read_bytes()
    if edit == "written anew":
        raw = json.dumps({**json.loads(raw), "version": 2}, indent=1).encode()
    elif edit == "of another form":
        raw = b'{"program":"pagewatch","version":12,"shards":[]}'
    else:
        raw = raw.replace(b'"version":1', b'"version":2', 1)
    (folder / "state.json").write_bytes(raw)
    if edit != "and its copy is older":
        (folder / "state.json.bak").write_bytes(raw)
    before = contents(folder)
    for _ in range(2):
        with pytest.raises(StateError, match=r"state\.json is of version \d+, and this program knows versions up to 1"):
            open_memory(folder, NOW)
    assert contents(folder) == before


def test_a_copy_of_a_newer_program_does_not_take_the_place_of_a_damaged_state(folder: Path) -> None:
    (folder / "state.json").write_bytes(b"")
    (folder / "state.json.bak").write_bytes(b'{"version":2}')
    with pytest.raises(StateError, match=r"state\.json\.bak is of version 2"):
        open_memory(folder, NOW)
    assert (folder / "state.json").read_bytes() == b""


def test_a_record_that_cannot_be_understood_is_an_error_that_names_the_file(folder: Path) -> None:
    """A right checksum and a wrong shape: a bug, or a hand."""
    document = parse((folder / "state.json").read_bytes())
    assert isinstance(document, Document)
    for row in (b'{"id":"w1","name":"Price","url":5}', b'{"id":"w1","name":"Price"}', b'{"id":"w1","name":"Price",'):
        (folder / "state.json").write_bytes(compose(Document({}, {"watches": [row]})))
        with pytest.raises(StateError, match=r"^state\.json has a "):
            open_memory(folder, NOW).find("Price")
    (folder / "state.json").write_bytes(compose(Document({"hosts": b"[]"}, {})))
    with pytest.raises(StateError, match=r"^state\.json has a record that cannot be understood"):
        open_memory(folder, NOW)


# ------------------------------------------------------------------------------------------------------ no permission


@contextmanager
def theirs(folder: Path, name: str, mode: int) -> Iterator[Path]:
    """A copy of the folder as another user meets it (root may do everything), with that mode for one of its files."""
    copy = folder.with_name("theirs")
    shutil.copytree(folder, copy)
    home, root = Path.cwd(), os.geteuid() == 0
    for path in (folder.parent, copy, *copy.rglob("*")) if root else ():
        os.chown(path, 65534, 65534)
    (copy / name).chmod(mode)
    os.chdir(folder.parent)  # the way there need not be open to all
    os.seteuid(65534 if root else os.geteuid())
    try:
        yield Path("theirs")
    finally:
        os.seteuid(0 if root else os.geteuid())
        os.chdir(home)
        (copy / name).chmod(0o700)


@posix
@pytest.mark.parametrize("name", ["state.json", "state.json.bak", "."])
def test_what_may_not_be_read_is_the_users_to_mend(folder: Path, name: str) -> None:
    if name == "state.json.bak":
        (folder / "state.json").write_bytes(b"")
    with theirs(folder, name, 0) as copy:
        for attempt in (open_memory, read_memory):
            with pytest.raises(StateError, match=r"cannot be read: Permission denied \(run as the user"):
                attempt(copy, NOW)
    assert contents(folder).items() <= contents(folder.with_name("theirs")).items(), "all is as it was"


@posix
def test_what_may_not_be_written_is_the_users_to_mend(folder: Path) -> None:
    with theirs(folder, ".", 0o500) as copy:
        memory = open_memory(copy, NOW)
        look(memory, "new", 2)
        with pytest.raises(StateError, match=r"cannot be saved: Permission denied \(run as the user"):
            memory.commit()
        assert seen(read_memory(copy, NOW)) == "old"


def test_a_folder_in_the_place_of_state_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(StateError, match=r"state\.json cannot be read: "):
        open_memory(tmp_path, NOW)


# ----------------------------------------------------------------------------------------------- killed, and full disks


@dataclass(frozen=True)
class Start:
    """How the folder is before the run that fails, and what the run may leave as its past."""

    name: str
    prepare: Callable[[Path], None]
    past: str


def damaged(folder: Path) -> None:
    first_run(folder)
    idle_run(folder)
    (folder / "state.json").write_bytes((folder / "state.json").read_bytes()[:-30])


STARTS = (
    Start("a first visit", lambda folder: None, ""),
    Start("a second visit", first_run, "old"),
    Start("a damaged state", damaged, "old"),
)


def counted(folder: Path, start: Start) -> Mortal:
    """A run that begins so and ends well: its steps."""
    start.prepare(folder)
    files = Mortal(NEVER, "kill")
    run(folder, files)
    return files


def killed_run(folder: Path, step: int, how: str) -> set[str]:
    """What a run in another process promised before it ended at that step."""
    command = [sys.executable, "-m", "tests.state_run", str(folder), str(step), how]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (9, "")
    return set(done.stdout.split())


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
def test_a_run_killed_at_any_step_loses_nothing(tmp_path: Path, start: Start) -> None:
    files = counted(tmp_path / "counted", start)
    assert len(files.log) >= 14 and len(files.writes) >= 5
    kills = [(step, "kill") for step in range(1, len(files.log) + 1)] + [(step, "half") for step in files.writes]

    def kill(case: tuple[int, str]) -> tuple[Path, set[str]]:
        folder = tmp_path / f"{case[1]} at {case[0]}"
        start.prepare(folder)
        return folder, killed_run(folder, *case)

    with ThreadPoolExecutor(4) as pool:
        for folder, promised in pool.map(kill, kills):
            check_whole(folder, promised, start, folder.name)


def check_whole(folder: Path, promised: set[str], start: Start, case: str) -> None:
    """The next run finds either the past or all that belongs together, and at least what was promised."""
    with lock(folder, now=LATER) as held:
        assert held == Locked(), case
        memory = open_memory(folder, LATER)
        targets = [notice.target for notice in memory.outbox]
        if seen(memory) == start.past:
            assert targets == [] and "saved" not in promised, case
        else:
            assert (seen(memory), targets) in [("new", ["mail", "phone"]), ("new", ["phone"])], case
            assert targets == ["phone"] or "settled" not in promised, case
        if start.name == "a damaged state":
            (aside,) = damaged_files(folder)
            assert memory.recovered == aside, case
        look(memory, "new", 2)
        memory.finish(LATER)
    idle_run(folder)
    assert [name for name in contents(folder) if name.endswith(".tmp")] == [], case
    assert len(list((folder / "content").iterdir())) == 2, case


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
def test_a_disk_full_at_any_step_loses_nothing(tmp_path: Path, start: Start) -> None:
    for step in range(1, len(counted(tmp_path / "counted", start).log) + 1):
        folder = tmp_path / str(step)
        start.prepare(folder)
        files = Mortal(step, "full")
        promised = {"saved", "settled"}
        try:
            run(folder, files)
        except StateError as error:
            assert "No space left on device (make room on the disk" in str(error)
            promised = set()
        assert [name for name in contents(folder) if name.endswith(".tmp")] == [], step
        check_whole(folder, promised, start, str(step))


def test_after_a_failed_commit_the_next_one_saves_it_all(folder: Path) -> None:
    files = Mortal(NEVER, "full")
    for step in range(1, 16):
        copy = folder.with_name(f"full at {step}")
        shutil.copytree(folder, copy)
        files = Mortal(step, "full")
        memory = open_memory(copy, LATER, files)
        look(memory, "new", 2)
        try:
            memory.commit()
        except StateError:
            assert seen(read_memory(copy, LATER)) == ("new" if "rename state.json" in files.log else "old"), step
            files.step = NEVER
            memory.commit()
        read = read_memory(copy, LATER)
        assert seen(read) == "new" and len(read.outbox) == 2, step
    assert len(files.log) == 14, "the last one had no step left to fail at"


def test_a_copy_that_does_not_fit_on_the_disk_stops_nothing_and_the_old_one_stays(folder: Path) -> None:
    look(memory := open_memory(folder, NOW), "new", 2)
    memory.commit()
    old = (folder / "state.json.bak").read_bytes()
    assert seen(open_memory(folder, LATER, Mortal(1, "full"))) == "new"
    assert (folder / "state.json.bak").read_bytes() == old
    assert not (folder / "state.json.bak.tmp").exists()


@posix
def test_a_real_limit_of_zero_bytes_leaves_state_json_as_it_was(folder: Path) -> None:
    before = contents(folder)
    command = [sys.executable, "-m", "tests.state_run", str(folder), str(NEVER), "limit"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.stderr == "" and done.returncode == 0
    assert "StateError" in done.stdout and "File too large (make room on the disk" in done.stdout
    assert done.stdout.startswith("opened\nStateError")
    assert contents(folder) == before


# ------------------------------------------------------------------------------------------------------- file by file


def test_a_file_is_on_the_disk_before_its_name_is_and_contents_are_before_what_refers_to_them(folder: Path) -> None:
    files = Mortal(NEVER, "kill")
    memory = open_memory(folder, LATER, files)
    look(memory, "new", 2)
    memory.commit()
    text, robots = sorted(
        set(contents(folder)) - {"state.json", "state.json.bak"}, key=lambda name: (folder / name).stat().st_mtime_ns
    )[2:]
    expected = []
    for name in (Path(text).name, Path(robots).name, "state.json"):
        expected += [] if name == "state.json" else ["make content"]
        expected += [f"write {name}.tmp", "sync", f"rename {name}", *["sync"] * (os.name == "posix")]
    assert files.log == expected


def test_a_replacement_that_is_refused_for_a_moment_is_tried_again(tmp_path: Path) -> None:
    """Windows, while another program has the file open."""
    refusals = [PermissionError(errno.EACCES, "Permission denied")] * 3
    slept: list[float] = []

    class Refusing(Files):
        patience = 5

        def rename(self, source: Path, target: Path) -> None:
            if refusals:
                raise refusals.pop()
            super().rename(source, target)

    save(tmp_path / "file", b"new", Refusing(slept.append))
    assert (tmp_path / "file").read_bytes() == b"new" and len(slept) == 3
    refusals += [PermissionError(errno.EACCES, "Permission denied")] * 6
    with pytest.raises(StateError, match=r"file cannot be saved: Permission denied"):
        save(tmp_path / "file", b"newer", Refusing(slept.append))
    assert contents(tmp_path) == {"file": b"new"}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
def test_a_folder_that_cannot_be_synced_is_no_failure() -> None:
    Files().sync_folder(Path("/proc"))


def test_a_folder_that_is_gone_during_the_run_is_an_error(folder: Path) -> None:
    memory = open_memory(folder, NOW)
    shutil.rmtree(folder)
    memory.put(WatchState("w1", "Price", URL))
    with pytest.raises(StateError, match=r"state\.json cannot be saved: No such file or directory"):
        memory.commit()


def test_every_string_survives(tmp_path: Path) -> None:
    hostile = '\ud800 lone \udfff \x00\x1b[31m \u2028 " \\ ,\n{"content":"x"} 😀'
    memory = open_memory(tmp_path, NOW)
    state = memory.state_of(hostile, URL, hostile, frozenset({hostile}))
    memory.post([Notice("n-1", state.id, hostile, "changed", hostile, hostile, hostile, NOW)])
    memory.commit()
    read = open_memory(tmp_path, NOW)
    assert read.find(hostile) == state
    assert read.outbox == memory.outbox
    read.settle("n-1", hostile)
    assert read.outbox == ()
