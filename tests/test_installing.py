"""The lines to install: read as cron, sh, systemd, launchd, cmd and Windows read them, and run where they can be."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import installing
from pagewatch.errors import UsageError

posix = pytest.mark.skipif(os.name == "nt", reason="needs sh")

# What a folder may be called. A colon and a backslash are ordinary signs there.
FOLDERS = [
    pytest.param("plain", id="plain"),
    pytest.param("my watches", id="spaces"),
    pytest.param('it\'s "here"', id="quotes of both kinds"),
    pytest.param("100% sure %h %%", id="per cent"),
    pytest.param(r"back\slash\\two\%three \"four\n", id="backslashes"),
    pytest.param("$HOME ${x} $(touch no) `touch no`", id="variables and substitutions"),
    pytest.param("Straßenbahn Ünï 日本 😀", id="letters beyond ASCII"),
    pytest.param("a;b & c|d <e> (f) [g] {h} *? ~ #i !j ^k =l ,m", id="signs of a shell"),
    pytest.param(" &amp; ]]> <!-- --> ", id="XML, and spaces at the ends"),
    pytest.param("-o", id="like an option"),
    pytest.param("a\u2028b\u2029c\x20\u00a0d", id="line separators that are none to a shell"),
]

# A stand-in for python: it writes down what it was called with.
STAND_IN = '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.called"\n'


def installed(folder: Path) -> tuple[str, str, str, str]:
    """python, monitor.py, configuration and state in a folder, as paths."""
    folder.mkdir(exist_ok=True)
    python = folder / "python3"
    executable(python, STAND_IN)
    return str(python), str(folder / "monitor.py"), str(folder / "w.yaml"), str(folder / "state")


def executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def words_of(python: str, monitor: str, config: str, state: str) -> list[str]:
    return [python, monitor, "--config", config, "--state", state]


# --------------------------------------------------------------------------------------------------------- minute


def test_the_minute_belongs_to_the_machine_and_is_no_quarter_of_the_hour() -> None:
    minutes = Counter(installing.minute_of(f"host{number} /home/me/monitor.py") for number in range(5600))
    assert installing.minute_of("host1 /home/me/monitor.py") == installing.minute_of("host1 /home/me/monitor.py")
    assert set(minutes) == set(range(60)) - {0, 15, 30, 45}
    assert max(minutes.values()) < 150  # 100 each are expected


def test_the_minute_of_a_path_that_is_no_utf_8() -> None:
    assert installing.minute_of("host /home/\udcff") in range(1, 60)


# ----------------------------------------------------------------------------------------------------------- cron


def as_cron_reads(text: str, backslashes: str) -> tuple[str, str]:
    r"""(schedule, command for sh) of the only entry. `backslashes` are the signs before which a cron takes a backslash
    away: \% by all, \\ by some. A bare % would end the command."""
    (entry,) = [line for line in text.split("\n") if line and not line.startswith("#")]
    fields = entry.split(" ", 5)
    command = ""
    signs = iter(fields[5])
    for sign in signs:
        if sign == "%":
            return " ".join(fields[:5]), command
        following = next(signs, "") if sign == "\\" else ""
        command += following if following and following in backslashes else sign + following
    return " ".join(fields[:5]), command


@posix
@pytest.mark.parametrize("backslashes", [pytest.param("%", id="this cron"), pytest.param("%\\", id="that cron")])
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_crontab_line_runs_in_an_empty_environment(folder: str, backslashes: str, tmp_path: Path) -> None:
    paths = installed(tmp_path / folder)
    schedule, command = as_cron_reads(installing.cron(*paths, 17), backslashes)
    assert schedule == "17 * * * *"
    subprocess.run(["/bin/sh", "-c", command], env={}, cwd=tmp_path, check=True, timeout=20)
    assert called(paths[0]) == words_of(*paths)[1:]
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder]


def called(python: str) -> list[str]:
    """The words after its own name that the stand-in was called with."""
    return Path(f"{python}.called").read_text(encoding="utf-8").split("\n")[:-1]


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")),
    st.sampled_from(["%", "%\\"]),
)
def test_any_path_arrives_through_cron(name: str, backslashes: str) -> None:
    _, command = as_cron_reads(installing.cron("/p", f"/{name}", "", f"/s{name}", 7), backslashes)
    assert shlex.split(command) == ["/p", f"/{name}", "--state", f"/s{name}"]


def test_a_crontab_line_of_a_usual_installation_is_as_one_would_write_it() -> None:
    assert installing.cron("/home/me/.venv/bin/python", "/home/me/monitor.py", "", "", 7) == (
        "# Paste into the file that `crontab -e` opens: hourly, at minute 7.\n"
        "7 * * * * /home/me/.venv/bin/python /home/me/monitor.py\n"
    )


# -------------------------------------------------------------------------------------------------------- systemd


def pasted(text: str, home: Path) -> None:
    """The lines, run by sh; the programs that they call are stand-ins, which write down how they were called."""
    programs = home / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl", "launchctl"):
        executable(programs / name, f'#!/bin/sh\necho {name} "$@" >> "$HOME/called"\n')
    environment = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(["/bin/sh", "-e"], input=text.encode(), env=environment, capture_output=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def units(home: Path) -> dict[str, str]:
    folder = home / ".config" / "systemd" / "user"
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def as_systemd_reads(service: str) -> list[str]:
    """The words of ExecStart: systemd.service(5), "Command lines", and systemd.syntax(7), "Quoting"."""
    (value,) = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    assert re.fullmatch(r'("(?:[^"\\]|\\["\\])*"( |$))+', value), value
    words = [re.sub(r"\\(.)", r"\1", quoted) for quoted in re.findall(r'"((?:[^"\\]|\\.)*)"', value)]
    for sign in "%$":
        assert not any(sign in word.replace(2 * sign, "") for word in words), f"{sign} begins a name in {value}"
        words = [word.replace(2 * sign, sign) for word in words]
    assert not set(words[0]) & set("\"'\\$"), "systemd refuses such an executable"
    return words


@posix
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_systemd_lines_write_a_service_and_a_timer_and_start_it(folder: str, tmp_path: Path) -> None:
    paths = installed(tmp_path / folder)
    home = tmp_path / "a home"
    home.mkdir()
    pasted(installing.systemd(*paths, 7), home)
    (timer, service) = sorted(units(home), key=lambda name: name.endswith(".service"))
    subprocess.run(as_systemd_reads(units(home)[service]), env={}, check=True, timeout=20)
    assert called(paths[0]) == words_of(*paths)[1:]
    assert "OnCalendar=*-*-* *:07:00\n" in units(home)[timer]
    assert (home / "called").read_text(encoding="utf-8").splitlines() == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {timer}",
        "loginctl enable-linger",
    ]


@posix
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
@pytest.mark.parametrize("folder", FOLDERS)
def test_systemd_itself_finds_the_program(folder: str, tmp_path: Path) -> None:
    """It complains of an executable that it cannot find, of escapes and specifiers that it does not know."""
    paths = installed(tmp_path / folder)
    pasted(installing.systemd(*paths, 7), tmp_path)
    found = sorted((tmp_path / ".config" / "systemd" / "user").iterdir())
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    verify = ["systemd-analyze", "verify", "--user", "--man=no", *map(str, found)]
    done = subprocess.run(verify, env=environment, capture_output=True, text=True, timeout=60)
    about = [line for line in (done.stdout + done.stderr).splitlines() if "pagewatch" in line or "ExecStart" in line]
    assert (done.returncode, about) == (0, [])


def test_a_unit_of_a_usual_installation_needs_no_shell() -> None:
    lines = installing.systemd("/usr/bin/python3", "/home/me/monitor.py", "", "", 7).split("\n")
    assert 'ExecStart="/usr/bin/python3" "/home/me/monitor.py"' in lines
    assert "systemctl --user daemon-reload && systemctl --user enable --now pagewatch.timer" in lines


# -------------------------------------------------------------------------------------------------------- launchd


@posix
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_launchd_lines_write_an_agent_and_load_it(folder: str, tmp_path: Path) -> None:
    paths = installed(tmp_path / folder)
    home = tmp_path / "a home"
    home.mkdir()
    pasted(installing.launchd(*paths, 7), home)
    (agent,) = (home / "Library" / "LaunchAgents").iterdir()
    read = plistlib.loads(agent.read_bytes())
    assert read["ProgramArguments"] == words_of(*paths)
    assert read["StartCalendarInterval"] == {"Minute": 7}
    assert agent.name == f"{read['Label']}.plist"
    assert (home / "called").read_text(encoding="utf-8").splitlines() == [
        f"launchctl unload {agent}",
        f"launchctl load -w {agent}",
    ]


# ------------------------------------------------------------------------------------------------------- schtasks

# What a Windows path cannot hold is left out: " < > | * ? and control characters.
WINDOWS = [
    pytest.param((r"C:\Py\python.exe", r"C:\w\monitor.py", "", ""), id="plain, all defaults"),
    pytest.param((r"C:\Program Files\P\python.exe", r"C:\My Watches\monitor.py", r"D:\w x.yaml", ""), id="spaces"),
    pytest.param((r"C:\R&D (x86)\python.exe", r"C:\a^b;c,d=e\monitor.py", r"C:\f'g!`h\w.yaml", ""), id="cmd's signs"),
    pytest.param((r"C:\Päth\python.exe", r"C:\日本\monitor.py", "", r"C:\%TEMP%\100%"), id="per cent, letters"),
    pytest.param((r"\\server\share\python.exe", r"C:\w\monitor.py", "", "D:\\"), id="a share, a drive's root"),
    pytest.param((r"C:\Py\python.exe", r"C:\w\monitor.py", "", "D:\\a b\\\\"), id="backslashes at the end"),
]


def as_cmd_reads(line: str) -> str:
    """The command line that cmd gives to a program: carets outside quotes are taken away, and no sign that it would
    obey stands there bare. A caret before a second % keeps the name between them from being a variable's."""
    read = ""
    quoted = False
    signs = iter(line)
    for sign in signs:
        if sign == "^" and not quoted:
            read += next(signs)
            continue
        assert quoted or sign not in "&|<>()%", f"cmd would obey {sign} after {read}"
        assert not (quoted and sign == "%"), "a caret would not help here"
        quoted ^= sign == '"'
        read += sign
    assert not quoted
    return read


def as_the_c_runtime_reads(line: str) -> list[str]:
    r"""argv: 2n backslashes before a quote are n and the quote is one of the line's; 2n + 1 are n and a plain quote."""
    words: list[str] = []
    word: str | None = None
    quoted = False
    for run, sign in re.findall(r"(\\*)([^\\]|$)", line):
        if sign == '"':
            word = (word or "") + "\\" * (len(run) // 2) + ('"' if len(run) % 2 else "")
            quoted ^= len(run) % 2 == 0
            continue
        word = (word or "") + run if run else word
        if (sign == " " and not quoted) or not sign:
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + sign
    return words


@pytest.mark.parametrize("words", [["a b", 'c"d', "", "e\\", 'f\\"g', "h i\\\\", "\\\\j"], ['"', "\\", " "]])
def test_the_tests_own_reader_undoes_what_python_writes(words: list[str]) -> None:
    assert as_the_c_runtime_reads(subprocess.list2cmdline(words)) == words


@pytest.mark.parametrize("paths", WINDOWS)
def test_a_task_is_created_that_runs_the_paths_as_they_are(paths: tuple[str, str, str, str]) -> None:
    python, monitor, config, state = paths
    *remarks, line, _ = installing.schtasks(*paths, 7).split("\n")
    assert all(re.fullmatch(r"rem [^&|<>%^\"]+", remark) for remark in remarks)
    arguments = as_the_c_runtime_reads(as_cmd_reads(line))
    assert arguments[:4] == ["schtasks", "/Create", "/F", "/TN"]
    assert arguments[5:10] == ["/SC", "HOURLY", "/ST", "00:07", "/TR"]
    assert as_the_c_runtime_reads(arguments[10]) == [
        python.replace("python.exe", "pythonw.exe"),
        monitor,
        *(["--config", config] if config else []),
        *(["--state", state] if state else []),
    ]
    assert arguments[11:] == []


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters='"<>|*?/\ufffe\uffff')))
def test_any_windows_path_arrives(name: str) -> None:
    line = installing.schtasks(r"C:\python.exe", rf"C:\{name}", "", rf"D:\{name}", 7).split("\n")[-2]
    task = as_the_c_runtime_reads(as_cmd_reads(line))[10]
    assert as_the_c_runtime_reads(task) == [r"C:\pythonw.exe", rf"C:\{name}", "--state", rf"D:\{name}"]


@pytest.mark.parametrize(
    ("python", "run"),
    [
        (r"C:\Py\Python.EXE", r"C:\Py\pythonw.exe"),
        (r"C:\Py\python3.12.exe", r"C:\Py\pythonw.exe"),
        (r"C:\Py\pythonw.exe", r"C:\Py\pythonw.exe"),
        (r"C:\Py\ipython.exe", r"C:\Py\ipython.exe"),
        (r"C:\python.exe\pypy3.exe", r"C:\python.exe\pypy3.exe"),
    ],
)
def test_the_task_runs_the_python_without_a_window(python: str, run: str) -> None:
    line = installing.schtasks(python, r"C:\monitor.py", "", "", 7).split("\n")[-2]
    assert as_the_c_runtime_reads(as_the_c_runtime_reads(as_cmd_reads(line))[10])[0] == run


def test_a_task_that_is_too_long_for_schtasks_is_said_to_be() -> None:
    fixed = len(r'"C:\pythonw.exe" "C:\monitor.py"')
    fits = installing.schtasks(r"C:\python.exe", rf"C:\{'x' * (261 - fixed)}monitor.py", "", "", 7)
    assert "refuse" not in fits
    longer = installing.schtasks(r"C:\python.exe", rf"C:\{'x' * (262 - fixed)}monitor.py", "", "", 7)
    assert "rem schtasks will refuse this: /TR has 262 characters, and 261 are allowed.\n" in longer


def test_a_percent_sign_is_said_to_be_read_as_a_variable() -> None:
    assert "takes a name between two of them for a variable" in installing.schtasks("C:\\p.exe", "C:\\%a%", "", "", 7)
    assert "variable" not in installing.schtasks("C:\\p.exe", "C:\\a", "", "", 7)


# ------------------------------------------------------------------------------------------------------------ all

ALL = [installing.cron, installing.systemd, installing.schtasks, installing.launchd]
by_name = pytest.mark.parametrize("lines", ALL, ids=lambda lines: lines.__name__)


@by_name
def test_options_that_are_the_defaults_are_left_out(lines: object) -> None:
    assert callable(lines)
    usual = lines("/p/python", "/m/monitor.py", "", "", 7)
    assert "--" not in re.sub(r"--user|--now|<!--|--man", "", usual)
    assert "--state" in lines("/p/python", "/m/monitor.py", "", "/s", 7)
    assert "--config" not in lines("/p/python", "/m/monitor.py", "", "/s", 7)


@pytest.mark.parametrize("lines", ALL[1:], ids=lambda lines: lines.__name__)
def test_a_second_configuration_does_not_replace_the_first(lines: object) -> None:
    assert callable(lines)
    names = set()
    for config, state in (("", ""), ("/a.yaml", ""), ("/b.yaml", ""), ("", "/a.yaml")):
        names |= set(re.findall(r"pagewatch(?:-[0-9a-f]{6})?\b", lines("/p", "/m.py", config, state, 7)))
    assert len(names) == 4


@by_name
@pytest.mark.parametrize("path", ["/a\nb/monitor.py", "/a\x00/monitor.py", "/a\x1b[2J/m.py", "/\udcff/monitor.py"])
def test_a_path_that_no_scheduler_can_be_given_is_refused(lines: object, path: str) -> None:
    assert callable(lines)
    for arguments in (("/p", path, "", ""), (path, "/m", "", ""), ("/p", "/m", path, ""), ("/p", "/m", "", path)):
        with pytest.raises(UsageError, match="no scheduler can be given") as refused:
            lines(*arguments, 7)
        assert str(refused.value).isprintable()
