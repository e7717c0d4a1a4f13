"""`monitor.py schedule`: what it says of each watch's own history, and that the printed lines run."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import pytest

from pagewatch import arithmetic, installing
from pagewatch.arithmetic import Look
from tests.process import MONITOR, PROJECT, Monitor
from tests.program import Program, configuration, files, ok, price
from tests.site import Site, answer
from tests.test_installing import as_cron_reads, posix
from tests.values import DAY, HOUR, START

NO_MATCH = answer(b"<!doctype html><p>closed</p>", "Content-Type: text/html")
SCHEDULERS = ("cron", "systemd", "schtasks", "launchd")


def looks_at(program: Program, site: Site, replies: list[bytes], **keys: object) -> None:
    for reply in replies:
        site.script("/p", reply)
        program("check", "--now", config=configuration(price(site, **keys)))
        program.clock.forward(DAY)


def said(program: Program, *arguments: str) -> str:
    run = program("schedule", *arguments)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


# ------------------------------------------------------------------------------------------------ the arithmetic


def test_without_a_history_it_prints_the_table_and_what_the_interval_costs_and_makes_nothing(
    program: Program, site: Site
) -> None:
    program.config.write_text(configuration(price(site, every="6h"), price(site, name="Off", enabled=False)))
    table, _, lines = said(program).partition("\nPrice: ")
    assert table == f"A page that changes once a week:\n\n{arithmetic.article_table()}"
    assert lines == (
        "0 looks so far, too few to tell how often it changes (5 are needed); every 6h finds a change 3 hours late on "
        "average, 1,460 requests a year\n"
    ), "a watch that is off costs nothing"
    assert not program.state.exists() and site.requests == []


def test_a_watch_has_the_rate_of_its_own_history(program: Program, site: Site) -> None:
    texts = ["1", "1", "2", "2", "2", "3", "3", "3", "3"]
    looks_at(program, site, [ok(text) for text in texts])
    asked = len(site.requests)
    line = said(program).splitlines()[-1]
    looks = [Look(DAY, before != after) for before, after in pairwise(texts)]
    assert line == arithmetic.advice(arithmetic.Habit("Price", DAY, tuple(looks)), None)
    assert "2 changes in 8 looks" in line and len(site.requests) == asked


def test_looks_that_saw_nothing_are_none_and_the_gap_goes_over_them(program: Program, site: Site) -> None:
    looks_at(program, site, [ok("1"), NO_MATCH, ok("1"), answer(status=500), answer(status=404), ok("2"), ok("2")])
    looks = (Look(2 * DAY, False), Look(3 * DAY, True), Look(DAY, False))
    assert said(program).splitlines()[-1] == arithmetic.advice(arithmetic.Habit("Price", DAY, looks), None)


def test_a_baseline_made_anew_tells_nothing_of_the_time_before_it() -> None:
    outcomes = ("baseline", "unchanged", "baseline", "changed", "failed", "not-modified")
    decided = [(START + number * HOUR, outcome) for number, outcome in enumerate(outcomes)]
    assert arithmetic.looks_of(decided) == (Look(HOUR, False), Look(HOUR, True), Look(2 * HOUR, False))
    assert arithmetic.looks_of([]) == ()


def test_looks_that_are_not_in_the_history_yet_count(program: Program, site: Site) -> None:
    looks_at(program, site, [ok("1")])
    (program.state / "history.db").rename(program.config.parent / "kept")
    (program.state / "history.db").mkdir()
    looks_at(program, site, [ok("1"), ok("2")])
    (program.state / "history.db").rmdir()
    (program.config.parent / "kept").rename(program.state / "history.db")
    assert "Price: 2 looks so far" in said(program)


@pytest.mark.parametrize(("delay", "every"), [("12h", "1d"), ("90m", "3h"), ("1w", "2w")])
def test_for_a_wished_delay_it_proposes_an_interval(program: Program, site: Site, delay: str, every: str) -> None:
    program.config.write_text(configuration(price(site)))
    assert said(program, "--delay", delay).endswith(f": every: {every}\n")


@pytest.mark.parametrize("delay", ["", "soon", "0", "-1h", "1h30m"])
def test_a_delay_that_is_no_time_is_refused(program: Program, site: Site, delay: str) -> None:
    program.config.write_text(configuration(price(site)))
    run = program("schedule", f"--delay={delay}")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"--delay {delay!r} is no time: write 30m, 6h, 1d or 2w\n"


def test_the_simulation_says_the_same_each_time(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)))
    once = said(program, "--simulate")
    assert once == said(program, "--simulate")
    assert "checked every 1 hour: " in once and "check every" not in once


def test_a_history_that_cannot_be_read_is_said_and_the_rest_is_printed(program: Program, site: Site) -> None:
    looks_at(program, site, [ok("1"), ok("2")])
    (program.state / "history.db").write_bytes(b"no database at all")
    run = program("schedule")
    assert run.returncode == 0 and run.stderr.count("\n") == 1 and "history.db is damaged" in run.stderr
    assert "Price: 0 looks so far" in run.stdout


def test_a_broken_file_is_the_usual_error_and_a_broken_watch_takes_only_itself_out(
    program: Program, site: Site
) -> None:
    run = program("schedule", config="watches:\n")
    assert (run.returncode, run.stdout) == (2, "") and run.stderr.startswith("watches.yaml:1: there are no watches")
    run = program("schedule", config=configuration(price(site), price(site, name="Broken", select="p[")))
    assert run.returncode == 0 and 'watch "Broken": select: ' in run.stderr
    assert "\nPrice: " in run.stdout and "\nBroken: " not in run.stdout


# ----------------------------------------------------------------------------------------------------- the lines


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_lines_are_for_this_installation(program: Program, site: Site, scheduler: str) -> None:
    program.config.write_text(configuration(price(site)))
    minute = installing.minute_of(f"{platform.node()} {MONITOR}")
    paths = (sys.executable, str(MONITOR), str(program.config), "")
    assert said(program, f"--{scheduler}") == getattr(installing, scheduler)(*paths, minute)
    assert not program.state.exists()


def test_a_state_folder_of_its_own_is_named(run_monitor: Monitor, site: Site, tmp_path: Path) -> None:
    run_monitor.config.write_text(configuration(price(site)))
    run = run_monitor("schedule", "--cron", "--state", "kept here")
    assert run.stdout.endswith(f" --config {run_monitor.config} --state '{run_monitor.working_directory}/kept here'\n")


def test_several_may_be_asked_for(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)))
    both = said(program, "--cron", "--launchd", "--delay", "12h")
    assert both == "\n".join([said(program, "--delay", "12h"), said(program, "--cron"), said(program, "--launchd")])


@posix
def test_the_cron_line_of_an_installation_with_spaces_really_runs(
    tmp_path: Path, guarded_environment: dict[str, str], site: Site
) -> None:
    """A virtual environment: its python is a link, and would not find its packages by the name of what it links to."""
    home = tmp_path / "my pages' 100%"
    python = virtual_environment(home / ".venv")
    shutil.copytree(PROJECT / "pagewatch", home / "pagewatch", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(MONITOR, home)
    (home / "watches.yaml").write_text(configuration(price(site)), encoding="utf-8")
    printed = subprocess.run(
        [str(python), str(home / "monitor.py"), "schedule", "--cron"],
        env=guarded_environment, capture_output=True, timeout=20, check=True, encoding="utf-8",
    )  # fmt: skip
    assert "--config" not in printed.stdout and "--state" not in printed.stdout
    when, command = as_cron_reads(printed.stdout, "%")
    assert when.endswith(" * * * *") and int(when.split()[0]) % 15
    run = subprocess.run(
        ["/bin/sh", "-c", command], cwd="/", env=guarded_environment, capture_output=True, timeout=20, check=True
    )
    assert (run.stdout, run.stderr) == (b"", b"")
    assert "state.json" in files(home / "state") and len(site.to("/p")) == 1


def virtual_environment(folder: Path) -> Path:
    """The packages of this one, below another name."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / version).mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n", encoding="utf-8")
    (folder / "lib" / version / "site-packages").symlink_to(sysconfig.get_paths()["purelib"])
    (folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    return folder / "bin" / "python"
