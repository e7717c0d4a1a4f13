"""The README's "How changes cannot get lost", promise by promise.

Targets fail, runs are killed, the disk is full, files are damaged. A run that has to die is a process of its own; those
before and behind it take place in this one, on the same files.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import monitor
from pagewatch import history
from pagewatch.notify import deliver
from tests.process import Monitor, Run
from tests.program import Program, configuration, files, interruptible, mode, ok, price, remembered, until
from tests.site import Line, Site, answer, conditional, silence
from tests.targets import Answer, http_target
from tests.values import DAY, HOUR, MINUTE

KILLS = 20
LAST_PRICE = 99_999
TAKEN = answer(b"taken", "Content-Type: text/plain")


def json_target(hook: Site) -> str:
    """A site that is a target."""
    return hook.url.replace("http://", "json://") + "/hook"


def told(hook: Site) -> list[str]:
    """What arrived at it: title and text of each message."""
    return [request.body.decode("unicode-escape") for request in hook.to("/hook")]


# ---------------------------------------------------------------------------------- saved, then sent, then removed


def test_a_change_and_its_notices_are_on_disk_before_anything_is_sent(program: Program, site: Site) -> None:
    on_disk: list[dict[str, Any]] = []

    def note(line: Line) -> None:
        on_disk.append(remembered(program.state))
        line.send(TAKEN)

    with Site() as hook, Site() as second:
        hook.script("/hook", note)
        second.script("/hook", TAKEN)
        program.check(config=configuration(price(site), notify=[json_target(hook), json_target(second)]))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program.check()
        assert (len(hook.requests), len(second.requests)) == (1, 1)
    (document,) = on_disk
    assert document["watches"][0]["baseline"]["extract"]["text"] == "18 dollars"
    assert {notice["title"] for notice in document["outbox"]} == {"Price: 20 dollars → 18 dollars"}
    assert "json" in {notice["target"] for notice in document["outbox"]}
    assert program.outbox == []


def test_only_the_target_that_failed_is_tried_again(program: Program, site: Site) -> None:
    with http_target() as good, http_target(Answer(500), Answer(200)) as bad:
        program.config.write_text(
            f"gap: 0s\nnotify:\n  good: {good.url}\n  bad: {bad.url}\nwatches:\n"
            f'  - name: Price\n    url: {site.url}/p\n    select: "#price"\n',
            encoding="utf-8",
        )
        program()
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        run = program()
        assert run.returncode == 1
        assert run.stdout.startswith("Price: 20 dollars → 18 dollars\n")
        assert "not delivered to bad: the service answered 500" in run.stdout
        assert program.outbox == [("Price", "changed", "bad")]
        assert '"unsent": 1' in program("list", "--json").stdout
        program.clock.forward(10 * MINUTE / 60)
        assert (program().stdout, len(bad.requests)) == ("", 1)  # it is not tried again at once
        program.clock.forward(HOUR)
        run = program()
        assert (run.returncode, run.stdout) == (0, "")
        assert (len(good.messages), len(bad.messages)) == (1, 1)
    assert bad.titles == good.titles
    assert program.outbox == []


def test_a_target_that_stays_dead_keeps_all_that_was_not_sent(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        program.check(config=configuration(price(site), notify=target.url))
        for number in range(3):
            site.script("/p", ok(f"{number} dollars"))
            program.clock.forward(DAY)
            assert program.check().returncode == 1
        assert program.outbox == [("Price", "changed", "json")] * 3
        target.answers = [Answer(200)]
        program.clock.forward(DAY)
        assert program.check().returncode == 0
    assert target.titles == ["3 changes: Price"]
    assert re.findall(r"(\d+) dollars → (\d+) dollars", target.messages[0]["message"]) == [
        ("20", "0"),
        ("0", "1"),
        ("1", "2"),
    ]


def test_what_no_target_took_is_printed_the_first_time_only(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        program(config=configuration(price(site), notify=target.url))
        site.script("/p", ok("18 dollars"))
        printed = []
        for _ in range(3):
            program.clock.forward(DAY)
            printed.append(program().stdout)
    assert [text.count("Price: 20 dollars → 18 dollars") for text in printed] == [1, 0, 0]
    assert len(target.refused) == 3


def test_several_changes_for_one_target_are_one_message(program: Program, site: Site) -> None:
    site.script("/q", ok("30 dollars"))
    with http_target() as target:
        watches = price(site), price(site, name="Other", url=f"{site.url}/q")
        program.check(config=configuration(*watches, notify=target.url))
        site.script("/p", ok("18 dollars"))
        site.script("/q", ok("33 dollars"))
        program.clock.forward(DAY)
        program.check()
    (message,) = target.messages
    assert message["title"] == "2 changes: Price, Other"
    assert "Price: 20 dollars → 18 dollars" in message["message"]
    assert "Other: 30 dollars → 33 dollars" in message["message"]


def test_a_digest_that_is_refused_is_tried_as_single_messages(program: Program, site: Site) -> None:
    site.script("/q", ok("30 dollars"))
    with http_target(Answer(max_chars=110)) as target:
        watches = price(site), price(site, name="Other", url=f"{site.url}/q")
        program.check(config=configuration(*watches, notify=target.url))
        site.script("/p", ok("18 dollars"))
        site.script("/q", ok("33 dollars"))
        program.clock.forward(DAY)
        assert program.check().returncode == 0
    assert sorted(target.titles) == ["Other: 30 dollars → 33 dollars", "Price: 20 dollars → 18 dollars"]


@pytest.mark.parametrize("slow", [Answer(silent=True), Answer(drip=0.3)], ids=["silent", "dripping"])
def test_a_slow_target_holds_up_neither_the_others_nor_the_end_of_the_run(
    program: Program, site: Site, slow: Answer
) -> None:
    with http_target() as good, http_target(slow) as bad:
        program.check(config=configuration(price(site), notify=[bad.url, good.url]))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        began = time.monotonic()
        run = program.check_as(send=partial(deliver, time_limit=1.0))
        assert time.monotonic() - began < 3
        assert (run.returncode, len(good.messages)) == (1, 1)
        assert program.outbox == [("Price", "changed", "json")]


def test_a_target_that_is_taken_out_of_the_file_keeps_its_notices_until_the_user_drops_them(
    program: Program, site: Site
) -> None:
    with http_target() as good, http_target(Answer(500)) as bad:
        both = f"notify:\n  good: {good.url}\n  bad: {bad.url}\n"
        only = f"notify:\n  good: {good.url}\n"
        program.check(config=both + configuration(price(site)))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program.check()
        program.clock.forward(DAY)
        assert program.check(config=only + configuration(price(site))).returncode == 0
        assert program.outbox == [("Price", "changed", "bad")]
        assert "1 unsent for bad, no longer in the file" in program("list").stdout
        doctor = program("doctor")
        assert doctor.returncode == 2
        assert "forget --target bad" in doctor.stdout
        dropped = program("forget", "--target", "bad")
        assert (dropped.returncode, dropped.stdout) == (0, "dropped 1 unsent notice of bad\n")
        assert program.outbox == []
        assert program("doctor").returncode == 0


def test_a_target_that_comes_back_into_the_file_gets_what_it_missed(program: Program, site: Site) -> None:
    with http_target() as good, http_target(Answer(500), Answer(200)) as bad:
        both = f"notify:\n  good: {good.url}\n  bad: {bad.url}\n"
        only = f"notify:\n  good: {good.url}\n"
        program.check(config=both + configuration(price(site)))
        site.script("/p", ok("18 dollars"))
        for top in (both, only, both):
            program.clock.forward(DAY)
            program.check(config=top + configuration(price(site)))
        assert (len(good.messages), len(bad.messages)) == (1, 1)


def test_warnings_go_to_the_alert_target_and_changes_to_the_watchs_own(program: Program, site: Site) -> None:
    with http_target() as phone, http_target() as mail:
        top = f"notify:\n  phone: {phone.url}\n  mail: {mail.url}\nalert: mail\n"
        program.check(config=top + configuration(price(site, notify="phone")))
        site.script("/p", ok("18 dollars"), answer(b"<p>closed</p>", "Content-Type: text/html"))
        for _ in range(2):
            program.clock.forward(DAY)
            program.check()
    assert phone.titles == ["Price: 20 dollars → 18 dollars"]
    assert mail.titles == ['Price: select "#price" matches nothing']


def test_a_watch_with_no_target_is_checked_and_told_to_nobody(program: Program, site: Site) -> None:
    with http_target() as target:
        program.check(config=configuration(price(site, notify=[]), notify=target.url))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        run = program.check()
    assert run.watches["Price"]["outcome"] == "changed"
    assert (target.requests, program.outbox) == ([], [])


# ----------------------------------------------------------------------------------------------------------- killed


def changes_in(messages: list[str]) -> list[tuple[int, int]]:
    """The price changes that messages tell, single ones and digests."""
    return [(int(old), int(new)) for text in messages for old, new in re.findall(r"Price: (\d+) € → (\d+) €", text)]


@pytest.mark.parametrize("moment", ["before the answer", "behind the answer"])
def test_a_run_that_is_killed_while_it_tells_is_completed_by_the_next(
    program: Program, run_monitor: Monitor, site: Site, moment: str
) -> None:
    running: list[subprocess.Popen[str]] = []

    def kill(line: Line) -> None:
        if moment == "behind the answer":
            line.send(TAKEN)
        running[0].send_signal(signal.SIGKILL)

    program.clock.now = monitor.now_utc()
    site.script("/p", ok("20 €"), ok("18 €"))
    with Site() as hook:
        hook.script("/hook", kill, TAKEN)
        program.check(config=configuration(price(site), notify=json_target(hook)))
        with run_monitor.start("--now") as process:
            running.append(process)
            process.communicate(timeout=20)
        assert process.returncode == -signal.SIGKILL
        assert len(program.outbox) <= 1
        for _ in range(2):
            program.clock.forward(DAY)
            assert program.check().watches["Price"]["outcome"] == "unchanged"
        messages = told(hook)
    assert set(changes_in(messages)) == {(20, 18)}
    assert len(messages) == 2 if moment == "before the answer" else 1 <= len(messages) <= 2
    assert program.outbox == []


def test_runs_that_are_killed_at_any_moment_tell_every_change_once_or_twice(
    tmp_path: Path, run_monitor: Monitor
) -> None:
    """Two programs side by side. The moments lie between the request for the page and well behind the last save."""
    lanes = [Lane(tmp_path / "one", run_monitor, 1), Lane(tmp_path / "two", run_monitor, 2)]
    threads = [threading.Thread(target=lane.sweep) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lane in lanes:
        assert lane.killed == KILLS // 2
        counts = lane.end()
        assert_a_chain(counts)
        assert set(counts.values()) <= {1, 2}
        assert lane.program.outbox == []
        assert lane.versions() == [f"{old} €" for old, _ in sorted(counts)] + [f"{LAST_PRICE} €"]


class Lane:
    """A program that is killed again and again, watching a price that is another one at each look."""

    def __init__(self, folder: Path, run_monitor: Monitor, seed: int) -> None:
        folder.mkdir()
        self.program = Program(folder)
        self.monitor = Monitor(self.program.config, self.program.state, folder, run_monitor.environment)
        self.moments, self.asked, self.prices, self.killed = random.Random(seed), threading.Event(), count(), 0
        self.site, self.hook = Site(), Site()
        self.site.script("/p", self.another_price)
        self.hook.script("/hook", TAKEN)
        self.program.clock.now = monitor.now_utc()
        self.program.check(config=configuration(price(self.site), notify=json_target(self.hook)))

    def another_price(self, line: Line) -> None:
        line.send(ok(f"{next(self.prices)} €"))
        self.asked.set()

    def sweep(self) -> None:
        for _ in range(KILLS // 2):
            self.asked.clear()
            with self.monitor.start("--now") as process:
                assert self.asked.wait(20)
                time.sleep(self.moments.uniform(0, 0.8))
                process.kill()
            self.killed += 1

    def end(self) -> Counter[tuple[int, int]]:
        """A last run that nobody kills; then, how often each change was told."""
        self.site.script("/p", ok(f"{LAST_PRICE} €"))
        self.program.clock.forward(DAY)
        assert self.program.check().returncode == 0
        self.site.close()
        self.hook.close()
        return Counter(changes_in(told(self.hook)))

    def versions(self) -> list[str]:
        """The texts of all versions in the history."""
        watch_id = self.program.document["watches"][0]["id"]
        events = (version.event for version in history.all_versions(self.program.state, 1000)[watch_id])
        return [event.extract.text for event in events if event.extract]


def assert_a_chain(changes: Counter[tuple[int, int]]) -> None:
    """Each change begins where the one before it ended: what was seen and saved is told, and nothing else."""
    ordered = sorted(changes)
    assert ordered[0][0] == 0
    assert ordered[-1][1] == LAST_PRICE
    assert [new for _, new in ordered[:-1]] == [old for old, _ in ordered[1:]]


def test_what_fast_hosts_showed_is_saved_while_slow_ones_are_waited_for_and_a_kill_loses_none_of_it(
    program: Program, run_monitor: Monitor
) -> None:
    program.clock.now = monitor.now_utc()
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(30)]
        hook = stack.enter_context(Site())
        hook.script("/hook", TAKEN)
        for number, site in enumerate(sites):
            slow = silence if number % 2 else ok("18 €")
            site.script("/p", conditional(ok("20 €").partition(b"\r\n\r\n")[2], etag='"1"'), slow)
        watches = [price(site, name=f"Shop {number}") for number, site in enumerate(sites)]
        first = program.check(config=configuration(*watches, notify=json_target(hook)))
        assert first.summary["baseline"] == 30
        with run_monitor.start("--now") as process:
            until(lambda: all(len(site.to("/p")) == 2 for site in sites))
            took = until(lambda: len(program.outbox) == 15)
            process.kill()
        assert took < 2
        for site in sites:
            site.script("/p", ok("18 €"))
        program.clock.forward(DAY)
        run = program.check()
        assert (run.summary["changed"], run.summary["unchanged"]) == (15, 15)
        text = "".join(told(hook))
    assert {f"Shop {number}" for number in range(30)} <= set(re.findall(r"Shop \d+", text))


# ---------------------------------------------------------------------------------------- interrupted, disk full


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX signal")
def test_an_interrupt_ends_the_run_at_once_with_the_finished_watches_saved(run_monitor: Monitor, site: Site) -> None:
    with Site() as slow:
        slow.script("/p", silence)
        run_monitor.config.write_text(configuration(price(site), price(slow, name="Slow")), encoding="utf-8")
        with interruptible(run_monitor, "-v") as process:
            until(lambda: site.to("/p") and slow.to("/p"))
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, errors = process.communicate(timeout=20)
        assert time.monotonic() - began < 2
    assert process.returncode == 130
    assert "Traceback" not in errors
    records = {record["name"]: record for record in remembered(run_monitor.state)["watches"]}
    assert records["Price"]["baseline"]["extract"]["text"] == "20 dollars"
    assert "baseline" not in records.get("Slow", {})


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX signal")
def test_an_interrupt_while_a_target_is_silent_ends_the_run_and_keeps_its_notice_only(
    program: Program, run_monitor: Monitor, site: Site
) -> None:
    site.script("/p", ok("20 €"), ok("18 €"))
    with http_target() as good, http_target(Answer(silent=True)) as silent:
        program.check(config=configuration(price(site), notify=[good.url, silent.url]))
        with interruptible(run_monitor, "--now") as process:
            assert silent.arrived.wait(20)
            until(lambda: program.outbox == [("Price", "changed", "json 2")], 3)  # what was taken is saved at once
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            process.communicate(timeout=20)
        assert time.monotonic() - began < 2
    assert process.returncode == 130
    assert program.outbox == [("Price", "changed", "json 2")]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes")
def test_on_a_full_disk_nothing_is_sent_and_the_next_run_tells_it(
    program: Program, run_monitor: Monitor, site: Site
) -> None:
    site.script("/p", ok("20 €"), ok("18 €"))
    with http_target() as target:
        program.clock.now = monitor.now_utc()
        program.check(config=configuration(price(site), notify=target.url))
        before = files(program.state, "lock", "quiet.txt")
        command = ["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", *run_monitor.command("--now", "--json")]
        full = subprocess.run(command, env=run_monitor.environment, capture_output=True, encoding="utf-8", timeout=20)
        run = Run(command, full.returncode, full.stdout, full.stderr)
        assert (run.watches["Price"]["outcome"], run.watches["Price"]["kind"]) == ("failed", "state-write")
        assert run.returncode == 2
        assert "cannot be saved" in run.stderr
        assert "Traceback" not in run.stderr
        assert target.requests == []
        assert files(program.state, "lock", "quiet.txt") == before
        program.clock.forward(DAY)
        assert program.check().returncode == 0
        assert target.titles == ["Price: 20 € → 18 €"]


def test_what_could_be_saved_only_at_the_end_of_a_run_is_told_though_its_row_says_that_it_was_not(
    program: Program, site: Site
) -> None:
    """The disk is full while the first look is saved, and has room again when the second one ends."""
    obstacle = program.state / "state.json.tmp"

    def make_room(line: Line) -> None:
        line.wait(1.6)
        obstacle.rmdir()
        line.send(ok("30 dollars"))

    with Site() as slow:
        slow.script("/p", ok("30 dollars"), make_room)
        program.check(config=configuration(price(site), price(slow, name="Slow")))
        site.script("/p", ok("18 dollars"))
        obstacle.mkdir()
        program.clock.forward(DAY)
        run = program.check()
    assert run.watches["Price"]["kind"] == "state-write"
    assert run.watches["Slow"]["outcome"] == "unchanged"
    assert run.returncode == 2
    program.clock.forward(DAY)
    titles = [line["notice"]["title"] for line in run.lines if "notice" in line]
    assert "20 dollars → 18 dollars" in "".join(titles) + program().stdout


# ----------------------------------------------------------------------------------------------------------- damaged


def damage(path: Path) -> bytes:
    """Changes one byte in the middle; what the file holds now."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return bytes(data)


def test_a_damaged_state_is_kept_and_its_copy_used_and_a_baseline_made_anew_is_told(
    program: Program, site: Site
) -> None:
    site.script("/q", ok("30 dollars"))
    later = price(site, name="Later", url=f"{site.url}/q")
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        program.clock.forward(DAY)
        program.check(config=configuration(price(site), later, notify=target.url))
        damaged = damage(program.state / "state.json")
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        run = program.check()
        (kept,) = program.state.glob("state.json.damaged-*")
        assert kept.read_bytes() == damaged
        assert kept.name in run.stderr
        assert run.watches["Price"]["old"] == "20 dollars"
        assert run.watches["Later"]["outcome"] == "baseline"
        (message,) = target.messages
        assert "Later: new baseline, now 30 dollars" in message["message"]
        assert kept.name in program("list").stdout
        program.clock.forward(DAY)
        assert program.check().stderr == ""


def test_list_and_doctor_name_a_damaged_state_before_the_next_run_does(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check()
    damage(program.state / "state.json")
    listed, doctor = program("list"), program("doctor")
    assert "state.json is damaged" in listed.stdout + listed.stderr
    assert "state.json is damaged" in doctor.stdout
    assert "Price  ok" in listed.stdout


def test_a_dry_run_uses_the_copy_of_a_damaged_state_and_keeps_nothing(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check()
    damage(program.state / "state.json")
    before = files(program.state)
    run = program.check("--dry-run", "--now")
    assert run.watches["Price"]["outcome"] == "unchanged"
    assert files(program.state) == before
    assert "state.json is damaged" in run.stderr or "was damaged" in run.stderr
    assert "kept as state.json;" not in run.stderr


@pytest.mark.parametrize("copy", ["damaged", "missing"])
def test_without_a_good_copy_every_run_stops_and_touches_nothing(program: Program, site: Site, copy: str) -> None:
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check()
    damage(program.state / "state.json")
    if copy == "damaged":
        damage(program.state / "state.json.bak")
    else:
        (program.state / "state.json.bak").unlink()
    before, asked = files(program.state, "lock"), len(site.requests)
    for command in (["check"], ["check", "--now"], ["list"], ["forget", "Price"]):
        run = program(*command)
        assert run.returncode == 2
        assert str(program.state / "state.json") in run.stderr
        assert "Traceback" not in run.stderr
    after = files(program.state, "lock")
    assert {name: after[name] for name in before} == before
    assert len(site.requests) == asked


def test_a_state_that_is_gone_from_among_its_companions_stops_every_run(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check()
    (program.state / "state.json").unlink()
    before, asked = files(program.state, "lock"), len(site.requests)
    for command in (["check"], ["list"]):
        run = program(*command)
        assert run.returncode == 2
        assert "state.json is gone" in run.stderr
    assert files(program.state, "lock") == before
    assert len(site.requests) == asked


def test_deleting_the_whole_folder_begins_anew(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site)))
    for path in program.state.iterdir():
        path.unlink()
    program.state.rmdir()
    assert program.check().watches["Price"]["detail"] == "first look"


def test_a_long_text_whose_file_is_lost_is_still_compared_and_its_change_told(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars " * 1000))
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        (content,) = (program.state / "content").iterdir()
        content.unlink()
        program.clock.forward(DAY)
        assert program.check().watches["Price"]["outcome"] == "unchanged"
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        assert program.check().watches["Price"]["outcome"] == "changed"
        assert len(target.titles) == 1


def test_what_is_remembered_can_be_read_by_its_owner_only(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars " * 1000))
    program.state.mkdir(mode=0o755)
    program.check(config=configuration(price(site)))
    program.clock.forward(DAY)
    program.check()
    assert mode(program.state) == 0o700
    assert {mode(path) for path in program.state.rglob("*") if path.is_file()} == {0o600}


# ------------------------------------------------------------------------------------------------------- no blindness


def test_the_weekly_look_without_validators_finds_a_change_that_304_hid(program: Program, site: Site) -> None:
    shown = ["20 dollars"]

    def stale(line: Line) -> None:
        """It answers 304 to whoever names its one ETag, whatever it shows."""
        asked = line.request.field("If-None-Match") == b'"always"'
        line.send(answer(status=304) if asked else ok(shown[0], 'ETag: "always"'))

    site.script("/p", stale)
    with http_target() as target:
        program.check(config=configuration(price(site), notify=target.url))
        shown[0] = "18 dollars"
        outcomes = []
        for _ in range(9):
            program.clock.forward(DAY)
            outcomes.append(program.check().watches["Price"]["outcome"])
        assert outcomes[:5] == ["not-modified"] * 5
        assert outcomes.count("changed") == 1
        assert target.titles == ["Price: 20 dollars → 18 dollars"]
        assert "validators are not trusted" in program("list").stdout
    assert site.to("/p")[-1].field("If-None-Match") is None


def test_a_change_that_several_targets_did_not_take_is_printed_once(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as one, http_target(Answer(500)) as two:
        top = f"notify:\n  one: {one.url}\n  two: {two.url}\n"
        program(config=top + configuration(price(site)))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        printed = program().stdout
    assert printed.count("Price: 20 dollars → 18 dollars") == 1
    assert "not delivered to one, two" in printed or "not delivered to two, one" in printed
