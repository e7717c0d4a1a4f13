"""`python monitor.py` as cron, a person at a terminal and other programs run it: what it prints, what it returns, what
it imports."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import monitor
from pagewatch import quiet
from tests.process import MONITOR, PROJECT, Monitor
from tests.program import Program, configuration, files, interruptible, mode, ok, page, price, robots, until
from tests.site import Line, Site, answer, conditional
from tests.targets import Answer, http_target
from tests.values import DAY, HOUR

KEYS = [
    "watch",
    "url",
    "outcome",
    "kind",
    "detail",
    "old",
    "new",
    "added",
    "removed",
    "updated",
    "fields",
    "next_check",
]
LISTED = ["watch", "url", "state", "last_verified", "last_changed", "last_error", "interval_s", "next_check", "unsent"]
LATE = ("requests", "urllib3", "bs4", "lxml", "yaml", "apprise")
NO_MATCH = answer(b"<!doctype html><p>closed</p>", "Content-Type: text/html")


# ---------------------------------------------------------------------------------------------------- as cron runs it


def test_as_cron_runs_it_from_another_directory_it_finds_its_files_beside_itself_and_prints_nothing(
    tmp_path: Path, guarded_environment: dict[str, str], site: Site
) -> None:
    home = tmp_path / "my pages"
    shutil.copytree(PROJECT / "pagewatch", home / "pagewatch", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(MONITOR, home)
    (home / "watches.yaml").write_text(configuration(price(site)), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(home / "monitor.py")], cwd="/", env=guarded_environment, capture_output=True, timeout=20
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert {"state.json", "lock", "quiet.txt"} <= set(files(home / "state"))


def test_paths_on_the_command_line_are_relative_to_the_working_directory(run_monitor: Monitor, site: Site) -> None:
    folder = run_monitor.working_directory / "mine"
    folder.mkdir()
    (folder / "pages.yaml").write_text(configuration(price(site)), encoding="utf-8")
    run = run_monitor("--config", "mine/pages.yaml", "--state", "kept")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert "state.json" in files(run_monitor.working_directory / "kept")


def test_the_state_is_beside_the_configuration_where_nothing_else_is_said(
    run_monitor: Monitor, tmp_path: Path, site: Site
) -> None:
    run_monitor.config.write_text(configuration(price(site)), encoding="utf-8")
    command = [sys.executable, str(MONITOR), "--config", str(run_monitor.config)]
    subprocess.run(command, env=run_monitor.environment, timeout=20, check=True)
    assert "state.json" in files(tmp_path / "state")


def test_a_missing_package_is_one_sentence_with_the_command_that_installs_it(run_monitor: Monitor, site: Site) -> None:
    run_monitor.config.write_text(configuration(price(site)), encoding="utf-8")
    command = [sys.executable, "-S", *run_monitor.command()[1:]]
    run = subprocess.run(command, env=run_monitor.environment, capture_output=True, encoding="utf-8", timeout=20)
    assert run.returncode == 2
    assert run.stdout == ""
    assert re.fullmatch(
        r"monitor\.py needs the package \w+: python -m pip install -r .*/requirements\.txt\n", run.stderr
    )


# ---------------------------------------------------------------------------------------------- when nothing is due


def imported(run_monitor: Monitor, *arguments: str, environment: dict[str, str] | None = None) -> tuple[set[str], str]:
    """The modules that a run has imported, and what it printed."""
    command = [sys.executable, "-X", "importtime", *run_monitor.command(*arguments)[1:]]
    run = subprocess.run(
        command,
        env={**run_monitor.environment, **(environment or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=20,
    )
    return set(re.findall(r"\| +(\S+)$", run.stderr, re.MULTILINE)), run.stdout


def goes_its_whole_way(run_monitor: Monitor, *arguments: str, environment: dict[str, str] | None = None) -> bool:
    return "pagewatch.run" in imported(run_monitor, *arguments, environment=environment)[0]


def test_a_run_with_nothing_due_imports_no_package_and_prints_nothing(run_monitor: Monitor, site: Site) -> None:
    run_monitor(config=configuration(price(site), notify="json://127.0.0.1:9/hook"))
    before, asked = files(run_monitor.state), len(site.requests)
    modules, printed = imported(run_monitor)
    assert not {name for name in modules if name.split(".")[0] in LATE}
    assert "argparse" not in modules
    assert printed == ""
    assert (files(run_monitor.state), len(site.requests)) == (before, asked)


def test_nor_does_it_import_them_when_it_has_to_go_its_whole_way(run_monitor: Monitor, site: Site) -> None:
    run_monitor(config=configuration(price(site), notify="json://127.0.0.1:9/hook"))
    modules, printed = imported(run_monitor, "-v")
    assert "pagewatch.run" in modules
    assert not {name for name in modules if name.split(".")[0] in LATE}
    assert printed.startswith("not due")


def test_a_look_imports_what_it_needs(run_monitor: Monitor, site: Site) -> None:
    """Of a page that has not changed, and a file that has not been edited: neither has to be parsed."""
    site.script("/p", ok("20 dollars", 'ETag: "a"'), answer(b"", 'ETag: "a"', status=304))
    run_monitor(config=configuration(price(site), notify="json://127.0.0.1:9/hook"))
    modules, printed = imported(run_monitor, "--now", "-v")
    assert printed.startswith("not modified")
    assert "requests" in modules
    assert not modules & {"apprise", "bs4", "lxml", "yaml", "dataclasses", "pagewatch.config", "pagewatch.sources"}


def test_with_json_a_run_with_nothing_due_lists_every_watch(run_monitor: Monitor, site: Site) -> None:
    off = price(site, name="Off", enabled=False)
    first = run_monitor("--json", config=configuration(price(site), price(site, name="Title", select="title"), off))
    run = run_monitor("--json")
    assert {name: row["outcome"] for name, row in run.watches.items()} == {"Price": "not-due", "Title": "not-due"}
    assert all(list(row) == KEYS for row in run.watches.values())
    assert {name: row["next_check"] for name, row in run.watches.items()} == {
        name: row["next_check"] for name, row in first.watches.items()
    }
    assert run.summary == {"watches": 2, "not-due": 2, "requests_avoided": 0, "unsent": 0}
    assert (run.returncode, run.stderr) == (0, "")


def test_an_edit_of_the_file_its_environment_or_the_state_makes_the_next_run_go_its_whole_way(
    run_monitor: Monitor, site: Site
) -> None:
    config = configuration(price(site, headers={"X-Key": "${KEY}"}))
    run_monitor(config=config, environment={"KEY": "one-key"})
    assert not goes_its_whole_way(run_monitor, environment={"KEY": "one-key", "OTHER": "1"})
    assert goes_its_whole_way(run_monitor, environment={"KEY": "two-key"})
    run_monitor(environment={"KEY": "one-key"})
    dot_env = run_monitor.config.parent / ".env"
    dot_env.write_text("OTHER=1\n", encoding="utf-8")
    dot_env.chmod(0o600)
    assert goes_its_whole_way(run_monitor, environment={"KEY": "one-key"})
    assert not goes_its_whole_way(run_monitor, environment={"KEY": "one-key"})
    run_monitor.config.write_text(config + "\n", encoding="utf-8")
    assert goes_its_whole_way(run_monitor, environment={"KEY": "one-key"})
    (run_monitor.state / "state.json").touch()
    assert goes_its_whole_way(run_monitor, environment={"KEY": "one-key"})
    for note in ("", "[]", "{", '{"config": 1}', json.dumps({"until": 9e99}), "\0" * 100):
        (run_monitor.state / "quiet.txt").write_text(note, encoding="utf-8")
    assert goes_its_whole_way(run_monitor, environment={"KEY": "one-key"})


def test_a_notice_for_a_target_that_is_no_longer_in_the_file_keeps_no_run_busy(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        program(config=f"notify: {{bad: {target.url}}}\n{configuration(price(site))}")
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program()
    (program.state / "quiet.txt").unlink(missing_ok=True)
    program.clock.forward(HOUR)
    program(config=f"notify: {{good: {target.url}}}\n{configuration(price(site))}")
    assert program.outbox == [("Price", "changed", "bad")]
    assert json.loads((program.state / "quiet.txt").read_text(encoding="utf-8"))["until"] > program.clock().timestamp()


def test_a_note_of_another_kind_is_ignored(run_monitor: Monitor, site: Site, program: Program) -> None:
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site)))
    note = json.loads((program.state / "quiet.txt").read_text(encoding="utf-8"))
    for name in note:
        damaged = {**note, name: None}
        (program.state / "quiet.txt").write_text(json.dumps(damaged), encoding="utf-8")
        assert quiet.status(run_monitor.command()[2:], str(PROJECT), {}) is None, name
    (program.state / "quiet.txt").write_text(json.dumps(note), encoding="utf-8")
    assert quiet.status(run_monitor.command()[2:], str(PROJECT), {}) == 0


def test_a_quiet_run_in_trouble_that_was_told_still_returns_1(run_monitor: Monitor, site: Site) -> None:
    site.script("/p", NO_MATCH)
    first, second = run_monitor(config=configuration(price(site))), run_monitor()
    assert (first.returncode, second.returncode, second.stdout) == (1, 1, "")
    assert not goes_its_whole_way(run_monitor)
    assert len(site.to("/p")) == 1


# ------------------------------------------------------------------------------------------------- exit statuses


def test_status_0_where_all_that_was_due_was_checked_changed_or_not(program: Program, site: Site) -> None:
    assert program(config=configuration(price(site))).returncode == 0
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    assert program().returncode == 0


def test_status_1_while_a_trouble_lasts_that_was_told(program: Program, site: Site) -> None:
    site.script("/p", NO_MATCH, NO_MATCH, ok("20 dollars"))
    assert program(config=configuration(price(site))).returncode == 1
    assert program().returncode == 1  # nothing is due
    program.clock.forward(DAY)
    assert program().returncode == 1
    program.clock.forward(DAY)
    assert program().returncode == 0


def test_status_1_where_a_notice_could_not_be_delivered(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        assert program(config=configuration(price(site), notify=target.url)).returncode == 0
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        assert program().returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuchcommand"],
        ["check", "--nosuchoption"],
        ["check", "--wait", "soon"],
        ["forget"],
        ["forget", "Price", "--target", "x"],
        ["forget", "Prize"],
        ["test", "Prize"],
        ["test"],
        ["test", "http://127.0.0.1:9/", "--select", "p["],
    ],
    ids=" ".join,
)
def test_status_2_and_one_sentence_for_a_mistake_on_the_command_line(
    program: Program, site: Site, arguments: list[str]
) -> None:
    run = program(*arguments, config=configuration(price(site)))
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr
    assert "Traceback" not in run.stderr


def test_status_3_for_a_bug_in_one_look_while_the_others_go_on_with_its_traceback_in_a_file_of_the_owners(
    program: Program, site: Site
) -> None:
    program.config.write_text(configuration(price(site), price(site, name="Other")), encoding="utf-8")
    run = program.check_with_a_bug("Traceback: 20 / 0")
    assert run.returncode == 3
    assert (run.watches["Price"]["outcome"], run.watches["Price"]["kind"]) == ("failed", "internal")
    assert run.watches["Other"]["outcome"] == "baseline"
    (place,) = program.state.glob("error-*.txt")
    assert run.stderr == f"Price: a bug in monitor.py; its traceback is in {place}\n"
    assert "Traceback: 20 / 0" in place.read_text(encoding="utf-8")
    assert mode(place) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX signal")
def test_status_130_when_it_is_interrupted(run_monitor: Monitor, site: Site) -> None:
    site.script("/p", lambda line: line.wait(20))
    run_monitor.config.write_text(configuration(price(site)), encoding="utf-8")
    with interruptible(run_monitor) as process:
        until(lambda: site.to("/p"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


# --------------------------------------------------------------------------------------------- what is printed: a pipe


def test_with_no_target_a_change_is_printed_once(program: Program, site: Site) -> None:
    assert program(config=configuration(price(site))).stdout == ""
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    run = program()
    assert run.stdout == f"Price: 20 dollars → 18 dollars\n20 dollars → 18 dollars\n\n{site.url}/p\n\n"
    assert run.stderr == ""
    program.clock.forward(DAY)
    assert (program().stdout, program.outbox) == ("", [])


def test_with_a_target_a_change_is_not_printed(program: Program, site: Site) -> None:
    with http_target() as target:
        program(config=configuration(price(site), notify=target.url))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        run = program()
    assert (run.stdout, run.stderr, len(target.titles)) == ("", "", 1)


def test_trouble_is_printed_when_it_is_new_and_then_no_more(program: Program, site: Site) -> None:
    with http_target() as target:
        program(config=configuration(price(site), notify=target.url))
        site.script("/p", NO_MATCH)
        program.clock.forward(DAY)
        run = program()
        assert run.stdout.split(maxsplit=2)[:2] == ["no", "match"]
        assert 'Price: select "#price" matches nothing' in run.stdout
        assert run.stdout.count("\n") == 1
        program.clock.forward(DAY)
        run = program()
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 1)


def test_with_no_target_new_trouble_is_not_printed_twice(program: Program, site: Site) -> None:
    site.script("/p", NO_MATCH)
    run = program(config=configuration(price(site)))
    assert len(re.findall(r"^.*Price: .*matches nothing", run.stdout, re.MULTILINE)) == 1
    assert program().stdout == ""


def test_with_v_every_watch_and_the_summary_are_printed(program: Program, site: Site) -> None:
    run = program("-v", config=configuration(price(site), price(site, name="Title", select="title")))
    assert run.stdout.splitlines() == [
        "baseline            Price: 20 dollars (first look)",
        "baseline            Title: Shop (first look)",
        "2 watches: 2 baseline; 1 request avoided",
    ]
    assert program("-v").stdout.splitlines()[-1] == "2 watches: 2 not due"


def test_with_q_nothing_is_printed_and_nothing_is_lost(program: Program, site: Site) -> None:
    with http_target() as target:
        program("-q", config=configuration(price(site), notify=target.url))
        site.script("/p", ok("18 dollars"), NO_MATCH)
        for _ in range(2):
            program.clock.forward(DAY)
            run = program("-q")
            assert (run.stdout, run.stderr) == ("", "")
    assert len(target.titles) == 2


def test_with_q_and_no_target_a_change_is_still_told_once(program: Program, site: Site) -> None:
    program("-q", config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    quiet = program("-q").stdout
    assert (quiet + program().stdout).count("Price: 20 dollars → 18 dollars") == 1


def test_a_closed_pipe_is_no_bug_and_loses_nothing(program: Program, run_monitor: Monitor, site: Site) -> None:
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    command = run_monitor.command("--now", "-v")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = subprocess.run(command, env=run_monitor.environment, stdout=writer, stderr=subprocess.PIPE, timeout=20)
    finally:
        os.close(writer)
    assert b"a bug in monitor.py" not in run.stderr
    assert list(program.state.glob("error-*")) == []
    program.clock.forward(DAY)
    assert "20 dollars → 18 dollars" in program().stdout


@pytest.mark.parametrize("arguments", [["list"], ["doctor"], ["check", "--json"]], ids=" ".join)
def test_no_command_leaves_a_traceback_on_a_closed_pipe(
    program: Program, run_monitor: Monitor, site: Site, arguments: list[str]
) -> None:
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site)))  # nothing is due then
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = subprocess.run(
            run_monitor.command(*arguments),
            env=run_monitor.environment,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=20,
        )
    finally:
        os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirection")
def test_a_change_is_not_told_to_a_closed_standard_output(program: Program, run_monitor: Monitor, site: Site) -> None:
    """So does pythonw.exe run it: nobody has been told."""
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *run_monitor.command("--now")]
    subprocess.run(command, env=run_monitor.environment, stderr=subprocess.PIPE, timeout=20)
    assert program.record("Price")["changes"] == 1
    program.clock.forward(DAY)
    assert "20 dollars → 18 dollars" in program().stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_change_that_a_full_standard_output_did_not_take_is_told_by_the_next_run_though_nothing_is_due(
    program: Program, run_monitor: Monitor, site: Site
) -> None:
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site)))
    site.script("/p", ok("18 dollars"))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        run = subprocess.run(
            run_monitor.command("--now"), env=run_monitor.environment, stdout=full, stderr=subprocess.PIPE, timeout=20
        )
    assert run.returncode == 1
    later = run_monitor()
    assert "20 dollars → 18 dollars" in later.stdout
    assert later.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirection")
def test_errors_are_said_where_only_standard_output_is_closed(run_monitor: Monitor) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *run_monitor.command()]
    run = subprocess.run(command, env=run_monitor.environment, stderr=subprocess.PIPE, timeout=20)
    assert run.returncode == 2
    assert b"watches.yaml cannot be read" in run.stderr


def test_a_narrow_encoding_is_no_reason_to_fail(program: Program, run_monitor: Monitor, site: Site) -> None:
    program.clock.now = monitor.now_utc()
    program(config=configuration(price(site, name="Preis für Käse")))
    site.script("/p", ok("18 €"))
    run = run_monitor("--now", environment={"PYTHONIOENCODING": "ascii"})
    assert (run.returncode, run.stderr) == (0, "")
    assert "20 dollars \\u2192 18 \\u20ac" in run.stdout


def test_json_is_json_in_a_narrow_encoding_too_whether_something_is_due_or_not(
    run_monitor: Monitor, site: Site
) -> None:
    run_monitor.config.write_text(configuration(price(site, name="Preis für Käse")), encoding="utf-8")
    for _ in range(2):
        run = run_monitor("--json", environment={"PYTHONIOENCODING": "ascii"})
        assert (run.returncode, run.stderr) == (0, "")
        assert list(run.watches) == ["Preis für Käse"]


# ----------------------------------------------------------------------------------------- what is printed: a terminal


def test_a_terminal_gets_a_line_for_every_watch_and_what_each_layer_saved(program: Program, site: Site) -> None:
    numbers = range(8)
    for n in numbers:
        site.script(f"/{n}", conditional(page("20 dollars"), etag='"1"'))
    for path in ("/same", "/changes", "/gone"):
        site.script(path, ok("20 dollars"))
    watches = [price(site, name=f"Kept {n}", url=f"{site.url}/{n % 6}") for n in numbers]
    watches += [price(site, name=f"Same {n}", url=f"{site.url}/same") for n in range(2)]
    watches += [price(site, name=path, url=f"{site.url}{path}") for path in ("/changes", "/gone")]
    program(config=configuration(*watches))
    site.script("/changes", ok("18 dollars"))
    site.script("/gone", NO_MATCH)
    program.clock.forward(DAY)
    run = program(terminal=True)
    lines = [re.sub("\x1b\\[[0-9]*m", "", line) for line in run.stdout.splitlines()]
    assert lines[-1] == ("12 watches: 8 not modified (304), 2 unchanged, 1 changed, 1 no match; 3 requests avoided")
    assert sum(line.startswith("not modified (304)") for line in lines) == 8
    assert "changed             /changes: 20 dollars → 18 dollars" in lines
    assert "\x1b[32mchanged" in run.stdout
    run = program(terminal=True)
    assert run.stdout == "12 watches: 12 not due\n"


def test_no_color_is_respected(program: Program, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    run = program(config=configuration(price(site)), terminal=True)
    assert run.stdout.startswith("baseline ")
    assert "\x1b" not in run.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_on_a_real_terminal_it_prints_lines_also_when_nothing_is_due(run_monitor: Monitor, site: Site) -> None:
    import pty

    run_monitor.config.write_text(configuration(price(site)), encoding="utf-8")
    shown = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(run_monitor.command(), env=run_monitor.environment, stdout=theirs, stderr=theirs)
        process.wait(20)
        os.close(theirs)
        shown.append(os.read(ours, 65536).decode())
        os.close(ours)
    assert shown[0].splitlines()[-1] == "1 watch: 1 baseline"
    assert "Price: 20 dollars (first look)" in shown[0]
    assert shown[1] == "1 watch: 1 not due\r\n"


def test_text_from_pages_and_names_cannot_steer_a_terminal(program: Program, site: Site) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\b"
    name = "Pri\u202ece"
    program.config.write_text(configuration(price(site, name=name)), encoding="utf-8")
    program()
    outputs = []
    for text in (f"18{evil}", f"17{evil}"):
        site.script("/p", ok(text))
        program.clock.forward(DAY)
        outputs += [program("-v").stdout, program("list").stdout, program("test", name).stdout]
        outputs.append(program("check", "--json", "--now").stdout)
    for printed in outputs:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", printed), repr(printed)


@pytest.mark.parametrize("name", ["Pri\x1b[2Jce", "Pri\nce", "Pri\u009bce"], ids=ascii)
def test_a_name_that_could_steer_a_terminal_is_refused_in_harmless_words(
    program: Program, site: Site, name: str
) -> None:
    text = configuration(price(site), price(site, name="NAME", url=f"{site.url}/q"))
    run = program("-v", config=text.replace('"NAME"', json.dumps(name)))
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", run.stdout + run.stderr)


# -------------------------------------------------------------------------------------------------------- secrets

PASSWORD, HEADER, VARIABLE, TOPIC = "pass-W0rd-one", "header-V4lue-two", "variable-V4l-three", "target-T0pic-four"


def test_secrets_are_never_shown_whatever_goes_wrong(
    program: Program, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEWATCH_TEST_SECRET", VARIABLE)
    login = site.url.replace("http://", f"http://me:{PASSWORD}@")
    echo = f"18 dollars for {HEADER} {VARIABLE} {PASSWORD}"
    site.script("/a", answer(page("20 dollars")), answer(page(echo)), NO_MATCH, answer(b"", status=500))
    site.script("/moved", answer(b"", f"Location: {login}/nowhere", status=301))
    headers = {"Authorization": f"Bearer {HEADER}", "X-Key": "${PAGEWATCH_TEST_SECRET}"}
    watches = (
        {"name": "Page", "url": f"{login}/a", "select": "#price", "headers": headers},
        {"url": f"{login}/b"},
        {"name": "Moved", "url": f"{login}/moved"},
        {"name": "Refused", "url": f"http://me:{PASSWORD}@127.0.0.1:9/"},
    )
    shown = []
    with http_target(Answer(500), Answer(302, location="/elsewhere"), Answer(200)) as target:
        url = f"{target.url}/{TOPIC}".replace("json://", f"json://me:{PASSWORD}@")
        program.config.write_text(configuration(*watches, notify=url), encoding="utf-8")
        for arguments in (["-v"], ["-v"], ["check", "--json"], ["-v"], ["list"], ["list", "--json"], ["doctor"]):
            shown.append(program(*arguments))
            program.clock.forward(DAY)
        shown += [program("doctor", "--send"), program("test", "Page"), program("test", "Refused")]
        shown.append(program("test", f"{login}/a"))
        program.config.write_text(configuration(*watches, {"name": "Bad", "url": login, "x": 1}, notify=url))
        shown += [program(), program("check", "--json"), program("list")]
        program.config.write_text(configuration(*watches, notify=f"jsn://{TOPIC}"))
        shown.append(program())
        messages = json.dumps(target.messages)
    assert target.messages
    printed = "".join(run.stdout + run.stderr for run in shown)
    for secret in (PASSWORD, HEADER, VARIABLE, TOPIC):
        assert secret not in printed
        assert secret not in messages
    assert f"Bearer {HEADER}".encode() in site.to("/a")[0].head
    assert VARIABLE.encode() in site.to("/a")[0].head


def test_a_password_in_a_url_on_the_command_line_is_not_shown(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    run = program("test", f"{site.url}/p".replace("//", f"//me:{PASSWORD}@"))
    assert run.returncode == 0
    assert PASSWORD not in run.stdout


def test_a_secret_that_is_an_ordinary_word_does_not_break_the_json_of_list(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site, headers={"X-View": "state", "X-Year": "2026"})))
    (row,) = program("list", "--json").lines
    assert list(row) == LISTED
    assert row["last_verified"] == "2026-03-02T08:00:00Z"


def test_the_traceback_of_a_bug_holds_no_secrets(program: Program, site: Site) -> None:
    program.config.write_text(configuration(price(site, headers={"X-Key": HEADER})), encoding="utf-8")
    run = program.check_with_a_bug(f"ValueError: X-Key: {HEADER}")
    (place,) = program.state.glob("error-*.txt")
    assert "ValueError: X-Key" in place.read_text(encoding="utf-8")
    assert HEADER not in place.read_text(encoding="utf-8") + run.stderr + run.stdout


def test_the_state_holds_no_password_of_a_url(program: Program, site: Site) -> None:
    program.check(config=configuration(price(site, url=f"{site.url}/p".replace("//", f"//me:{PASSWORD}@"))))
    assert PASSWORD.encode() not in b"".join(files(program.state).values())


def test_header_values_and_target_urls_are_not_in_the_state(program: Program, site: Site) -> None:
    with http_target(Answer(500)) as target:
        url = f"{target.url}/{TOPIC}"
        watch = price(site, headers={"Authorization": f"Bearer {HEADER}"})
        program(config=configuration(watch, notify=url))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program()
        assert program.outbox == [("Price", "changed", "json")]
    kept = b"".join(files(program.state).values())
    assert HEADER.encode() not in kept
    assert TOPIC.encode() not in kept


# ------------------------------------------------------------------------------------------------------------- json


def test_a_json_object_has_the_keys_of_the_readme_and_no_others(program: Program, site: Site) -> None:
    site.script("/p", ok("20 dollars"), ok("18 dollars"), NO_MATCH, answer(b"", status=404))
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    (documented,) = re.findall(r'^`\{("watch",.*?)\}`', readme, re.MULTILINE)
    assert json.loads(f"[{documented}]") == KEYS
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    outcomes = []
    for _ in range(4):
        (row, summary) = program.check().lines
        assert list(row) == KEYS
        assert list(summary) == ["summary"]
        outcomes.append(row["outcome"])
        program.clock.forward(DAY)
    assert outcomes == ["baseline", "changed", "no-match", "missing"]
    assert list(program.check("--dry-run").watches["Price"]) == KEYS


def test_a_json_object_tells_the_change(program: Program, site: Site) -> None:
    first = program.check(config=configuration(price(site))).watches["Price"]
    assert (first["old"], first["new"], first["kind"]) == (None, "20 dollars", None)
    assert first["next_check"] == "2026-03-03T08:00:00Z"
    site.script("/p", ok("18 dollars"))
    program.clock.forward(DAY)
    row = program.check().watches["Price"]
    assert (row["old"], row["new"]) == ("20 dollars", "18 dollars")
    assert (row["added"], row["removed"], row["updated"], row["fields"]) == ([], [], [], {})
    assert row["url"] == f"{site.url}/p"


def test_a_json_object_tells_fields_by_name(program: Program, site: Site) -> None:
    watch = {"name": "Shop", "url": f"{site.url}/p", "fields": {"price": "#price", "stock": ".stock"}}
    program.check(config=configuration(watch))
    site.script("/p", answer(page("18 dollars", around="<b class=stock>7</b>")))
    program.clock.forward(DAY)
    fields = program.check().watches["Shop"]["fields"]
    assert fields == {"price": {"old": "20 dollars", "new": "18 dollars"}, "stock": {"old": None, "new": "7"}}


def test_list_as_json_has_the_keys_of_the_contract_and_no_others(program: Program, site: Site) -> None:
    site.script("/q", NO_MATCH)
    watches = (
        price(site),
        price(site, name="Trouble", url=f"{site.url}/q", every="1h..2d"),
        price(site, name="Off", enabled=False),
        price(site, name="Bad", every="often"),
    )
    program(config=configuration(*watches))
    rows = {row["watch"]: row for row in program("list", "--json").lines}
    assert all(list(row) == LISTED for row in rows.values())
    assert {name: row["state"] for name, row in rows.items()} == {
        "Price": "ok",
        "Trouble": "no-match",
        "Off": "off",
        "Bad": "failed",
    }
    assert rows["Price"] == {
        "watch": "Price",
        "url": f"{site.url}/p",
        "state": "ok",
        "last_verified": "2026-03-02T08:00:00Z",
        "last_changed": None,
        "last_error": None,
        "interval_s": 86400,
        "next_check": "2026-03-03T08:00:00Z",
        "unsent": 0,
    }
    assert rows["Trouble"]["interval_s"] == 3600
    assert 'select "#price" matches nothing' in rows["Trouble"]["last_error"]


# ---------------------------------------------------------------------------------------------------- list, forget


def test_list_shows_how_every_watch_is_and_changes_nothing(program: Program, site: Site) -> None:
    moved = {"name": "Moved", "url": f"{site.url}/old"}
    site.script("/old", answer(b"", f"Location: {site.url}/p", status=301))
    program(config=configuration(price(site), moved))
    program.clock.forward(2 * HOUR)
    before, asked = files(program.state), len(site.requests)
    run = program("list")
    assert run.returncode == 0
    assert re.search(r"^Price +ok +2h ago +– +1d +2026-03-03 08:00:00 +–$", run.stdout, re.MULTILINE)
    assert f"Moved: moved permanently to {site.url}/p" in run.stdout
    assert (files(program.state), len(site.requests)) == (before, asked)


def test_list_names_a_target_that_cannot_be_used(program: Program, site: Site) -> None:
    top = "notify:\n  good: json://127.0.0.1:9/hook\n  bad: nosuchservice://x\n"
    run = program("list", config=top + configuration(price(site)))
    assert run.stdout.splitlines()[-1] == 'line 3: target "bad": Apprise knows no service nosuchservice://'


def test_list_before_the_first_run_shows_new_watches_and_makes_no_folder(program: Program, site: Site) -> None:
    run = program("list", config=configuration(price(site)))
    assert re.search(r"^Price +new", run.stdout, re.MULTILINE)
    assert not program.state.exists()


def test_after_forget_the_next_look_is_a_first_visit(program: Program, site: Site) -> None:
    program(config=configuration(price(site)))
    run = program("forget", "Price")
    assert (run.returncode, run.stdout) == (0, 'forgot "Price" and its history: its next look is a first visit\n')
    site.script("/p", ok("18 dollars"))
    row = program.check().watches["Price"]
    assert (row["outcome"], row["detail"]) == ("baseline", "first look")


def test_forget_keeps_what_was_seen_and_not_told(program: Program, site: Site) -> None:
    with http_target(Answer(500), Answer(200)) as target:
        program(config=configuration(price(site), notify=target.url))
        site.script("/p", ok("18 dollars"))
        program.clock.forward(DAY)
        program()
        assert "1 unsent notice" in program("forget", "Price").stdout
        program.clock.forward(DAY)
        program()
    assert target.titles == ["Price: 20 dollars → 18 dollars"]


def test_forget_suggests_the_nearest_name(program: Program, site: Site) -> None:
    program(config=configuration(price(site)))
    assert program("forget", "Prise").stderr == 'there is no remembered watch "Prise": did you mean "Price"?\n'


# ----------------------------------------------------------------------------------------------------- test, doctor


def lines_of(text: str) -> dict[str, str]:
    """What `test` prints: subject and text."""
    return {line[:12].rstrip(): line[13:] for line in text.splitlines() if line[:1].strip()}


def test_test_explains_one_look_at_a_url_and_saves_nothing(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("# ours\nUser-agent: *\nAllow: /p\nDisallow: /\n"))
    site.script("/p", conditional(page("20 dollars"), "Content-Type: text/html; charset=utf-8", etag='"1"'))
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    run = program("test", f"{site.url}/p", "--select", "p")
    said = lines_of(run.stdout)
    assert run.returncode == 0
    assert said["robots.txt"] == "allows this page: line 3: Allow: /p (group *)"
    assert said["status"].startswith("200, ")
    assert said["final url"] == f"{site.url}/p"
    assert said["content"] == "text/html, read as a page in utf-8 (the server says utf-8)"
    assert said["validators"] == 'ETag: "1"'
    assert said["conditional"] == "works: the second request was answered 304, without a body"
    assert said["matches"] == "2 for p, the first is watched"
    assert "text" in said
    assert [request.field("If-None-Match") for request in site.to("/p")] == [None, b'"1"']
    assert not program.state.exists()


def test_test_with_a_name_takes_the_watchs_own_definition(program: Program, site: Site) -> None:
    config = configuration(price(site, headers={"Accept-Language": "de"}))
    run = program("test", "Price", config=config)
    said = lines_of(run.stdout)
    assert (run.returncode, said["text"], said["matches"]) == (0, "20 dollars", "1 for #price")
    assert said["validators"] == "none: the page is read in full at each look"
    assert site.to("/p")[0].field("Accept-Language") == b"de"


def test_test_says_what_is_wrong_and_returns_1(program: Program, site: Site) -> None:
    site.script("/robots.txt", robots("User-agent: *\nDisallow: /secret\n"))
    site.script("/broken", answer(b"", status=500))
    program.config.write_text(configuration(price(site)), encoding="utf-8")
    for url, subject, text in (
        (f"{site.url}/secret", "robots.txt", "line 2: Disallow: /secret"),
        (f"{site.url}/nowhere", "status", "404"),
        (f"{site.url}/broken", "failed", "http-500"),
        ("http://127.0.0.1:9/", "failed", "robots-unreachable"),
    ):
        run = program("test", url)
        assert run.returncode == 1
        assert text in lines_of(run.stdout)[subject]
    run = program("test", f"{site.url}/p", "--select", "#amount")
    assert (run.returncode, lines_of(run.stdout)["no match"].split(":")[0]) == (1, "selector")


def test_doctor_finds_all_in_order_and_sends_a_test_notice(program: Program, site: Site) -> None:
    with http_target() as target:
        program(config=configuration(price(site), notify=target.url, contact="me@example.org"))
        run = program("doctor", "--send")
        assert (run.returncode, run.stderr) == (0, "")
        assert all(line.startswith("ok ") for line in run.stdout.splitlines()[:-1])
        assert run.stdout.splitlines()[-1] == "json: delivered"
        assert target.titles == ["A test notice"]
        assert "watches remembered: 1, notices unsent: 0" in run.stdout


def test_doctor_names_what_is_wrong(program: Program, site: Site) -> None:
    with http_target(Answer(401)) as target:
        program(config=configuration(price(site), price(site, name="Bad", every="often"), notify=target.url))
        dot_env = program.config.parent / ".env"
        dot_env.write_text("A=1\n", encoding="utf-8")
        dot_env.chmod(0o644)
        program.state.chmod(0o755)
        program.clock.forward(-400 * DAY)
        run = program("doctor", "--send")
    bad = [line for line in run.stdout.splitlines() if line.startswith("BAD")]
    assert run.returncode == 2
    assert len(bad) == 5
    for text in ('watch "Bad": every', "chmod 600", "chmod 700", "in the future", "clock"):
        assert any(text in line for line in bad), text
    assert "NOT delivered: the service answered 401 (is the password or token right?)" in run.stdout


def test_version_and_help_are_printed(run_monitor: Monitor) -> None:
    command = [sys.executable, str(MONITOR)]
    version = subprocess.run([*command, "--version"], env=run_monitor.environment, capture_output=True, timeout=20)
    assert (version.returncode, version.stdout) == (0, b"pagewatch 1.0.0\n")
    text = subprocess.run([*command, "--help"], env=run_monitor.environment, capture_output=True, timeout=20).stdout
    for name in ("check", "test", "list", "history", "diff", "why", "forget", "doctor", "demo"):
        assert f"\n    {name} ".encode() in text


def test_doctor_finds_a_fresh_state_folder_in_order_before_the_first_run(program: Program, site: Site) -> None:
    program.state.mkdir(mode=0o755)
    (program.state / "README.md").write_text("what the files are", encoding="utf-8")
    run = program("doctor", config=configuration(price(site)))
    assert (run.returncode, "BAD" in run.stdout) == (0, False)


def test_an_edit_while_a_run_is_at_work_is_not_taken_for_what_that_run_has_read(
    run_monitor: Monitor, site: Site
) -> None:
    edited = configuration(price(site), price(site, name="Title", select="title"))

    def edit(line: Line) -> None:
        run_monitor.config.write_text(edited, encoding="utf-8")
        line.send(ok("20 dollars"))

    site.script("/p", edit, ok("20 dollars"))
    run_monitor(config=configuration(price(site)))
    assert run_monitor("--json").watches["Title"]["outcome"] == "baseline"
