"""Every version stays, the last decisions stay, nothing is there twice, and a damaged history is set aside."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagewatch.answers import Amount, Extract, Item
from pagewatch.errors import StateError
from pagewatch.frozen import replace
from pagewatch.history import (
    KEPT,
    NAME,
    Version,
    all_versions,
    content,
    decisions,
    forget,
    looks,
    told,
    versions,
    write,
)
from pagewatch.model import Event
from tests.history_run import BATCH, NOW, batch, event, telling, write_batch
from tests.test_records import values

PROJECT = Path(__file__).resolve().parent.parent
ODD = Extract(
    "two\nlines, \ud800 alone, \U0001f600, e\u0301, \x00 and ’",
    (("price", "20"), ("sold", None), ("empty", "")),
    (Item("k", "text", "http://127.0.0.1/a", (("a", None), ("b", "\udfff"))), Item("only a key")),
    3,
    (Amount("price", "1299.5", "1400", ","), Amount("", "-1", "-1")),
    2,
)

posix = pytest.mark.skipif(os.name != "posix", reason="needs what only POSIX has")


def bare(row: Event) -> Event:
    return replace(row, extract=None)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / NAME)) as connection:
        return connection.execute(query).fetchall()


def read_all(folder: Path) -> None:
    """Every question there is."""
    for version in versions(folder, "w1")[:2]:
        content(folder, "w1", version.number)
    all_versions(folder)
    decisions(folder, "w1", KEPT)
    told(folder, "w1", KEPT)
    looks(folder, "w1")


READERS: dict[str, Callable[[Path], object]] = {
    "versions": lambda folder: versions(folder, "w1"),
    "content": lambda folder: content(folder, "w1", 1),
    "all versions": all_versions,
    "decisions": lambda folder: decisions(folder, "w1", 10),
    "told": lambda folder: told(folder, "w1", 10),
    "looks": lambda folder: looks(folder, "w1"),
}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


# ------------------------------------------------------------------------------------------------ written and read


def test_what_is_written_is_read(tmp_path: Path) -> None:
    first = event(1, outcome="baseline", extract=ODD, title="a \ud800", detail="→ 20", kind="", status=200, size=9)
    second = event(2, "w2", extract=Extract(""), fingerprint="of nothing")
    third = event(3, outcome="failed", kind="timeout", fingerprint="", extract=None, milliseconds=20_000)
    fourth = event(4)
    notices = [telling(1, title="b \udfff"), telling(2, error="it was refused"), telling(3, "w2", target="päper\ud800")]
    assert write(tmp_path, [first, second, third, fourth], notices, NOW) == ""

    assert versions(tmp_path, "w1") == [Version(1, bare(first)), Version(2, bare(fourth))]
    assert [content(tmp_path, "w1", number) for number in (0, 1, 2, 3)] == [None, ODD, fourth.extract, None]
    assert content(tmp_path, "w2", 1) == Extract("")
    assert decisions(tmp_path, "w1", 2) == [bare(fourth), third]
    assert decisions(tmp_path, "w1", 9) == [bare(fourth), third, bare(first)]
    assert told(tmp_path, "w1", 9) == [notices[1], notices[0]] and told(tmp_path, "w2", 9) == [notices[2]]
    assert looks(tmp_path, "w1") == [(row.at, row.outcome) for row in (first, third, fourth)]


@given(st.lists(values(Extract), min_size=5, max_size=30))
@settings(max_examples=8)
def test_any_content_comes_back_equal(extracts: list[Extract]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), [event(number, extract=extract) for number, extract in enumerate(extracts)], [], NOW)
        assert [version.event.extract for version in all_versions(Path(folder), contents=99)["w1"]] == extracts


def test_a_report_has_all_versions_and_the_last_contents_of_each_watch(tmp_path: Path) -> None:
    written = [event(number, watch_id) for number in range(1, 5) for watch_id in ("w1", "w2")] + [event(9, "w10")]
    write(tmp_path, written, [], NOW)
    found = all_versions(tmp_path)
    assert {watch_id: [version.number for version in its] for watch_id, its in found.items()} == {
        "w1": [1, 2, 3, 4],
        "w2": [1, 2, 3, 4],
        "w10": [1],
    }
    assert [version.event for version in found["w2"]] == [
        *(bare(event(1, "w2")), bare(event(2, "w2"))),
        *(event(3, "w2"), event(4, "w2")),
    ]
    assert found["w10"] == [Version(1, event(9, "w10"))]
    assert [version.event.extract is None for version in all_versions(tmp_path, contents=3)["w1"]] == [True] + [
        False
    ] * 3
    assert all(version.event.extract is None for version in all_versions(tmp_path, contents=0)["w1"])


def test_equal_contents_are_stored_once_and_each_version_has_its_own(tmp_path: Path) -> None:
    """A → B → A, and another watch with A."""
    a, b = Extract("A" * 5000), Extract("B" * 5000)
    seen = [event(1, extract=a), event(2, extract=b), event(3, extract=a), event(1, "w2", extract=a)]
    for row in seen:
        write(tmp_path, [row], [], NOW)
    assert rows(tmp_path, "SELECT count(*) FROM content") == [(2,)]
    assert [content(tmp_path, "w1", number) for number in (1, 2, 3)] == [a, b, a]
    assert content(tmp_path, "w2", 1) == a


def test_a_content_is_compressed(tmp_path: Path) -> None:
    write(tmp_path, [event(1, extract=Extract("the same line\n" * 100_000))], [], NOW)
    assert (tmp_path / NAME).stat().st_size < 100_000


def test_rows_written_twice_are_there_once(tmp_path: Path) -> None:
    for count in (2, 3, 3):
        events = [event(number) for number in range(1, count + 1)]
        write(tmp_path, events, [telling(number) for number in range(1, count + 1)], NOW)
        write(tmp_path, events[-1:], [], NOW)
    assert [version.number for version in versions(tmp_path, "w1")] == [1, 2, 3]
    assert len(decisions(tmp_path, "w1", 99)) == len(told(tmp_path, "w1", 99)) == 3


def test_a_state_that_counts_again_from_its_copy_loses_no_version(tmp_path: Path) -> None:
    """The same id at another time is another look."""
    write(tmp_path, [event(1), event(2)], [], NOW)
    again = replace(event(2, extract=Extract("another")), at=NOW + timedelta(days=1))
    write(tmp_path, [again], [], NOW)
    assert [version.number for version in versions(tmp_path, "w1")] == [1, 2, 3]
    assert content(tmp_path, "w1", 3) == Extract("another")


def test_rows_keep_the_order_they_came_in_whatever_the_clock_says(tmp_path: Path) -> None:
    for day in (0, 400, 1):
        write(tmp_path, [replace(event(day), at=NOW + timedelta(days=day))], [], NOW)
    assert [row.id for row in decisions(tmp_path, "w1", 9)] == ["w1-1", "w1-400", "w1-0"]


# --------------------------------------------------------------------------------------------------------- bounds


def test_the_last_thousand_decisions_of_each_watch_stay_and_every_version(tmp_path: Path) -> None:
    def some(first: int, last: int) -> list[Event]:
        return [event(number, extract=Extract("the same")) for number in range(first, last)]

    write(tmp_path, [*some(0, 700), event(0, "w2")], [telling(number) for number in range(700)], NOW)
    write(tmp_path, some(700, KEPT + 5), [telling(number) for number in range(700, KEPT + 5)], NOW)
    assert [row.id for row in decisions(tmp_path, "w1", 9999)] == [f"w1-{n}" for n in range(KEPT + 4, 4, -1)]
    assert [row.at for row in told(tmp_path, "w1", 9999)] == [telling(n).at for n in range(KEPT + 4, 4, -1)]
    assert len(versions(tmp_path, "w1")) == KEPT + 5 and len(decisions(tmp_path, "w2", 9)) == 1


def test_a_decision_that_had_to_go_does_not_come_back_when_its_row_is_written_again(tmp_path: Path) -> None:
    long = [event(number, outcome="unchanged", extract=None) for number in range(KEPT + 50)]
    for queue in (long[:-10], long, long):
        write(tmp_path, queue, [], NOW)
    assert [row.id for row in decisions(tmp_path, "w1", 9999)] == [row.id for row in reversed(long[-KEPT:])]


def test_forgetting_takes_all_of_one_watch_and_nothing_of_others(tmp_path: Path) -> None:
    shared = Extract("both have seen it")
    events = [event(1), event(2, extract=shared), event(1, "w10", extract=shared)]
    write(tmp_path, events, [telling(1), telling(1, "w10")], NOW)
    forget(tmp_path, "w1")
    assert not any((versions(tmp_path, "w1"), decisions(tmp_path, "w1", 9), told(tmp_path, "w1", 9)))
    assert content(tmp_path, "w10", 1) == shared and told(tmp_path, "w10", 9) == [telling(1, "w10")]
    assert rows(tmp_path, "SELECT count(*) FROM content") == [(1,)]
    write(tmp_path, [event(3)], [], NOW)
    assert versions(tmp_path, "w1") == [Version(1, bare(event(3)))]


# ------------------------------------------------------------------------------------------------- nothing there yet


@readers
def test_where_there_is_no_history_nothing_is_read_and_nothing_is_made(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    assert not read(tmp_path) and not read(tmp_path / "no folder")
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_write_or_to_forget_makes_no_file(tmp_path: Path) -> None:
    assert write(tmp_path, [], [], NOW) == ""
    forget(tmp_path, "w1")
    assert list(tmp_path.iterdir()) == []


@readers
def test_an_empty_file_is_a_history_that_was_about_to_begin(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / NAME).touch()
    assert not read(tmp_path)
    assert write(tmp_path, *batch(0), NOW) == "" and read(tmp_path)
    assert list(files(tmp_path)) == [NAME]


@posix
def test_the_files_are_their_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_batch(tmp_path, 0)
        (tmp_path / NAME).chmod(0o644)  # as a backup may have brought it back
        write_batch(tmp_path, 1)
        with closing(sqlite3.connect(tmp_path / NAME)) as reader:
            reader.execute("SELECT * FROM event").fetchone()
            write_batch(tmp_path, 2)
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
            assert len(list(tmp_path.iterdir())) == 3, "the rows are still in the WAL"
    finally:
        os.umask(before)


@readers
def test_reading_changes_no_file(tmp_path: Path, read: Callable[[Path], object]) -> None:
    write_batch(tmp_path, 0)
    before = files(tmp_path)
    assert read(tmp_path)
    assert files(tmp_path) == before and list(before) == [NAME]


# ------------------------------------------------------------------------------------------------- several at once


def test_a_reader_in_the_middle_of_its_query_stops_no_writer(tmp_path: Path) -> None:
    write_batch(tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / NAME)) as reader:
        found = reader.execute("SELECT number FROM version")
        assert found.fetchone() == (1,)
        write_batch(tmp_path, 1)
        assert len(found.fetchall()) == BATCH - 1, "it goes on reading what was there"
        assert len(versions(tmp_path, "w1")) == 2 * BATCH
    assert len(versions(tmp_path, "w1")) == 2 * BATCH


@readers
def test_a_writer_in_the_middle_of_its_rows_stops_no_reader(tmp_path: Path, read: Callable[[Path], object]) -> None:
    write_batch(tmp_path, 0)
    before = read(tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM version")
        assert read(tmp_path) == before


def test_another_program_that_keeps_the_file_is_named_after_two_seconds(tmp_path: Path) -> None:
    write_batch(tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StateError, match=r"history\.db cannot be written: another program holds it \(close"):
            write_batch(tmp_path, 1)
        assert 1.5 < time.monotonic() - began < 6
    write_batch(tmp_path, 1)
    assert len(versions(tmp_path, "w1")) == 2 * BATCH


@posix
def test_two_writers_at_once_wait_for_each_other(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pagewatch.history import write; from tests.history_run import *\n"
        "sys.stdin.read()\n"
        "for number in range(15): write(Path(sys.argv[1]), [event(number, sys.argv[2])], [], NOW)"
    )
    writers = [started("-c", code, str(tmp_path), watch_id, stdin=subprocess.PIPE) for watch_id in ("w1", "w2", "w3")]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    for writer in writers:
        with writer:
            assert writer.stderr is not None and writer.stderr.read() == ""
    assert [len(versions(tmp_path, watch_id)) for watch_id in ("w1", "w2", "w3")] == [15, 15, 15]
    assert list(files(tmp_path)) == [NAME]


# ------------------------------------------------------------------------------------------------- killed


def started(*arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROJECT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def assert_whole(folder: Path, batches: int) -> None:
    """Exactly these batches, once each and in order; the file is sound."""
    wanted = [event(number) for number in range(1, batches * BATCH + 1)]
    assert [version.event for version in all_versions(folder, contents=10**6)["w1"]] == wanted
    assert decisions(folder, "w1", 9999) == [bare(row) for row in reversed(wanted[-KEPT:])]
    assert [row.id for row in told(folder, "w1", 9999)] == [
        telling(number).id for number in range(len(wanted), max(0, len(wanted) - KEPT), -1)
    ]
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert not list(folder.glob("*damaged*"))


@posix
def test_killed_at_any_step_nothing_is_half_there_and_the_next_run_mends_it(tmp_path: Path) -> None:
    with started("-m", "tests.history_run", "stepwise", str(tmp_path)) as process:
        output, errors = process.communicate(timeout=60)
    assert errors == ""
    places = sorted(tmp_path.iterdir())
    assert output == f"calls {len(places) - 1}\n" and len(places) > 25
    found = []
    for place in places:
        found.append(len(versions(place, "w1")))
        write_batch(place, 1)
        assert_whole(place, 2)
    assert found == sorted(found) and set(found) == {BATCH, 2 * BATCH}, "all of a run or nothing of it"


@posix
def test_killed_at_many_moments_nothing_written_is_lost_and_nothing_is_doubled(tmp_path: Path) -> None:
    written = 0
    for moment in range(8):
        with started("-m", "tests.history_run", "endless", str(tmp_path)) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(random.Random(moment).uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            words = process.stdout.read().splitlines()
        promised = int(words[-1].split()[-1]) + 1 if words and words[-1].split()[1:] else written + 1
        written = len(versions(tmp_path, "w1")) // BATCH
        assert written >= promised
        write(tmp_path, *batch(written - 1, 2), NOW)  # the rows of the first may be queued still
        written += 1
    assert_whole(tmp_path, written)


# ------------------------------------------------------------------------------------------------- damaged


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda raw: raw[: int(len(raw) * share)]


def foreign(raw: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with closing(sqlite3.connect(Path(folder, "other.db"))) as other:
            other.execute("CREATE TABLE recipes (name)")
        return Path(folder, "other.db").read_bytes()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda raw: b"no history, " * 1000,
    "one byte": lambda raw: b"x",
    "cut by ten bytes": lambda raw: raw[:-10],
    "cut by a page": lambda raw: raw[:-4096],
    "cut in half": cut(0.5),
    "the first page only": lambda raw: raw[:4096],
    "no first page": lambda raw: bytes(4096) + raw[4096:],
    "no page but the first": lambda raw: raw[:4096] + b"\xa5" * (len(raw) - 4096),
    "another program's": foreign,
    "another table": lambda raw: raw.replace(b"CREATE TABLE told (watch", b"CREATE TABLE told (wotch"),
    "nonsense in its header": lambda raw: raw[:47] + b"\xee" + raw[48:],
    "a name that is no text": lambda raw: raw.replace(b"CREATE TABLE told", b"CRE\xb2TE TABLE told"),
}
damages = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A history of eight runs."""
    folder = tmp_path_factory.mktemp("sound")
    for number in range(8):
        write_batch(folder, number)
    return (folder / NAME).read_bytes()


def damaged(folder: Path, sound: bytes, damage: Callable[[bytes], bytes]) -> bytes:
    raw = damage(sound)
    assert raw != sound
    (folder / NAME).write_bytes(raw)
    return raw


@damages
def test_a_damaged_history_is_set_aside_once_and_a_new_one_begun(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    raw = damaged(tmp_path, sound, damage)
    name = write(tmp_path, *batch(7), NOW)
    assert name == "history.db.damaged-20260302T080000Z"
    assert files(tmp_path).keys() == {NAME, name} and files(tmp_path)[name] == raw
    assert [version.event.id for version in versions(tmp_path, "w1")] == [row.id for row in batch(7)[0]]
    assert write(tmp_path, *batch(8), NOW) == ""


@damages
def test_a_damaged_history_is_no_empty_one_for_those_who_read(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    raw = damaged(tmp_path, sound, damage)
    with pytest.raises(StateError, match=r"history\.db is damaged \(.+\)\. Move it away, or put back a backup"):
        read_all(tmp_path)
    assert files(tmp_path) == {NAME: raw}


@damages
def test_nothing_is_forgotten_in_a_damaged_history(
    tmp_path: Path, sound: bytes, damage: Callable[[bytes], bytes]
) -> None:
    raw = damaged(tmp_path, sound, damage)
    with pytest.raises(StateError, match=r"history\.db is damaged"):
        forget(tmp_path, "w1")
    assert files(tmp_path) == {NAME: raw}


def test_two_damages_in_one_second_are_kept_apart(tmp_path: Path) -> None:
    names = []
    for raw in (b"one", b"two"):
        (tmp_path / NAME).write_bytes(raw)
        names.append(write(tmp_path, *batch(0), NOW))
    assert names == ["history.db.damaged-20260302T080000Z", "history.db.damaged-20260302T080000Z-2"]
    assert [files(tmp_path)[name] for name in names] == [b"one", b"two"]


def left_by_a_killed_run(folder: Path) -> dict[str, bytes]:
    """Two runs, the second of which is still in the WAL alone."""
    write_batch(folder, 0)
    with closing(sqlite3.connect(folder / NAME)) as reader:
        reader.execute("SELECT * FROM event").fetchone()
        write_batch(folder, 1)
        left = files(folder)
    del left[f"{NAME}-shm"]
    for path in folder.iterdir():
        path.unlink()
    for name, raw in left.items():
        (folder / name).write_bytes(raw)
    return left


@posix
def test_what_belongs_to_a_damaged_history_goes_aside_with_it(tmp_path: Path) -> None:
    """While somebody reads, SQLite leaves the WAL: it may be wanted for mending, and is no part of the new file."""
    write_batch(tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / NAME)) as reader:
        reader.execute("SELECT * FROM event").fetchone()
        write_batch(tmp_path, 1)
        wal = files(tmp_path)[f"{NAME}-wal"]
        (tmp_path / NAME).write_bytes(b"garbage " * 1024)
        (tmp_path / f"{NAME}-wal").write_bytes(bad := wal[:100])
        name = write(tmp_path, *batch(5), NOW)
        assert files(tmp_path).keys() == {NAME, name, f"{name}-wal"} and files(tmp_path)[f"{name}-wal"] == bad
    assert [version.event for version in versions(tmp_path, "w1")] == [bare(row) for row in batch(5)[0]]


@pytest.mark.parametrize("begun", [0, 100], ids=["not yet", "half a page"])
def test_what_a_killed_run_or_a_full_disk_left_in_the_wal_is_read_and_moved(tmp_path: Path, begun: int) -> None:
    left_by_a_killed_run(tmp_path)
    with (tmp_path / NAME).open("ab") as file:
        file.write(bytes(begun))
    assert len(versions(tmp_path, "w1")) == 2 * BATCH
    assert list(files(tmp_path)) == [NAME]
    assert write(tmp_path, *batch(1, 2), NOW) == ""
    assert_whole(tmp_path, 3)


@pytest.mark.parametrize("rest", ["-wal", "-shm"])
@pytest.mark.parametrize("damage", [b"", b"garbage" * 999], ids=["empty", "garbage"])
def test_leftovers_beside_a_sound_history_do_no_harm(tmp_path: Path, rest: str, damage: bytes) -> None:
    write_batch(tmp_path, 0)
    (tmp_path / f"{NAME}{rest}").write_bytes(damage)
    assert len(versions(tmp_path, "w1")) == BATCH
    assert write(tmp_path, *batch(1), NOW) == ""
    assert_whole(tmp_path, 2)


@pytest.mark.parametrize("how", ["bytes", "zeros", "pages"])
def test_whatever_is_changed_the_answer_is_rows_or_a_state_error(tmp_path: Path, sound: bytes, how: str) -> None:
    for seed in range(40):
        (tmp_path / NAME).write_bytes(changed(sound, how, random.Random(seed)))
        with suppressed():
            read_all(tmp_path)
        if seed % 20 == 0:
            with suppressed():
                forget(tmp_path, "w1")
            write_batch(tmp_path, 9)
        for path in tmp_path.iterdir():
            path.unlink()


def changed(raw: bytes, how: str, chance: random.Random) -> bytes:
    result = bytearray(raw)
    if how == "bytes":
        for _ in range(chance.choice([1, 10, 300])):
            result[chance.randrange(len(raw))] = chance.randrange(256)
        return bytes(result)
    here, there = (chance.randrange(1, len(raw) // 4096) * 4096 for _ in range(2))
    result[here : here + 4096] = bytes(4096) if how == "zeros" else raw[there : there + 4096]
    return bytes(result)


@contextmanager
def suppressed() -> Iterator[None]:
    try:
        yield
    except StateError as error:
        assert NAME in str(error)


@pytest.mark.parametrize("act", [*READERS.values(), lambda folder: forget(folder, "w1"), lambda f: write_batch(f, 0)])
def test_a_history_of_a_newer_program_is_left_alone(tmp_path: Path, act: Callable[[Path], object]) -> None:
    write_batch(tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / NAME)) as newer:
        newer.execute("PRAGMA user_version = 2")
    before = files(tmp_path)
    with pytest.raises(StateError, match=r"history\.db is of version 2, and this program knows versions up to 1"):
        act(tmp_path)
    assert files(tmp_path) == before


@pytest.mark.parametrize("act", [*READERS.values(), lambda folder: forget(folder, "w1"), lambda f: write_batch(f, 0)])
def test_a_folder_in_the_place_of_the_history_is_an_error(tmp_path: Path, act: Callable[[Path], object]) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(StateError, match=r"history\.db (cannot be (read|written)|is damaged)"):
        act(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


# ------------------------------------------------------------------------------------------- no room, no permission


@posix
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_full_disk_takes_nothing_that_is_there_and_is_no_damage(tmp_path: Path, before: int) -> None:
    for number in range(before):
        write_batch(tmp_path, number)
    with started("-m", "tests.history_run", "full", str(tmp_path)) as process:
        *written, refused = process.communicate(timeout=60)[0].splitlines()
    assert refused.startswith(f"StateError {tmp_path / NAME} cannot be written: ") and "make room on" in refused
    if before:
        assert len(versions(tmp_path, "w1")) == max(before, len(written) + 1) * BATCH
    assert write(tmp_path, *batch(0, 20), NOW) == ""
    assert len(versions(tmp_path, "w1")) == 20 * BATCH and not list(tmp_path.glob("*damaged*"))


@contextmanager
def theirs(mode: int, mode_of_file: int) -> Iterator[Path]:
    """A folder with a history as another user meets it (root may do everything), with these modes."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "state")
        folder.mkdir()
        write_batch(folder, 0)
        for path in (Path(home), folder, folder / NAME) if root else ():
            os.chown(path, 65534, 65534)
        (folder / NAME).chmod(mode_of_file)
        folder.chmod(mode)
        os.seteuid(65534 if root else os.geteuid())
        try:
            yield folder
        finally:
            os.seteuid(0 if root else os.geteuid())
            folder.chmod(0o700)


@posix
@pytest.mark.parametrize("mode_of_file", [0o600, 0o400])
def test_a_folder_that_may_not_be_written_in_is_the_users_to_mend_and_is_read(mode_of_file: int) -> None:
    with theirs(0o500, mode_of_file) as folder:
        before = files(folder)
        with pytest.raises(StateError, match=r"history\.db cannot be written: .*\((run as|see that) .*user"):
            write_batch(folder, 1)
        for read in READERS.values():
            assert read(folder)
        assert files(folder) == before


@posix
def test_a_file_that_may_not_be_written_is_the_users_to_mend_and_is_read() -> None:
    with theirs(0o700, 0o400) as folder:
        with pytest.raises(StateError, match=r"history\.db cannot be written: Permission denied \(run as the user"):
            write_batch(folder, 1)
        for read in READERS.values():
            assert read(folder)


@posix
@readers
def test_what_may_not_be_read_is_the_users_to_mend(read: Callable[[Path], object]) -> None:
    with theirs(0o700, 0) as folder, pytest.raises(StateError, match=r"history\.db cannot be read: "):
        read(folder)
    with theirs(0, 0o600) as folder, pytest.raises(StateError, match=r"history\.db cannot be read: Permission denied"):
        read(folder)


# ------------------------------------------------------------------------------------------------- quick enough


@pytest.mark.parametrize("watches", [1000, 10])
def test_a_run_of_a_thousand_events_is_written_in_a_moment(tmp_path: Path, watches: int) -> None:
    """0.13 s on a quiet machine: the bound is for a busy one, and for a scan of the table at each row."""
    events = [event(number, f"w{number % watches}") for number in range(1000)]
    write(tmp_path, events, [], NOW)
    began = time.process_time()
    write(tmp_path, [replace(row, at=row.at + timedelta(days=9)) for row in events], [], NOW)
    assert time.process_time() - began < 1


def test_a_report_over_fifty_watches_is_read_in_a_moment(tmp_path: Path) -> None:
    write(tmp_path, [event(number, f"w{number % 50}") for number in range(2000)], [], NOW)
    began = time.process_time()
    assert sum(map(len, all_versions(tmp_path).values())) == 2000
    assert time.process_time() - began < 0.5


def test_the_rows_are_plain_text_for_other_programs(tmp_path: Path) -> None:
    """`sqlite3 state/history.db` shows them."""
    write(tmp_path, [event(1, outcome="baseline")], [], NOW)
    ((record,),) = rows(tmp_path, "SELECT record FROM event WHERE watch = 'w1'")
    assert isinstance(record, bytes) and b'"outcome":"baseline"' in record


@posix
def test_a_folder_with_signs_that_mean_something_in_a_uri_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a?mode=memory#b %41 ö"
    folder.mkdir()
    write_batch(folder, 0)
    assert len(versions(folder, "w1")) == BATCH and list(files(folder)) == [NAME]
    shutil.rmtree(folder)
    assert versions(folder, "w1") == []
