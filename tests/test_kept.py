"""What was read of watches.yaml is kept without secrets, and taken while nothing has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from pagewatch import commandline, config, kept, setup
from pagewatch.configuration import Configuration
from pagewatch.frozen import replace
from tests.process import PROJECT
from tests.program import Program, configuration, ok, price
from tests.site import Site

WATCHES = "watches:\n- url: http://a/1\n- {url: http://a/2, name: b, every: 1h..2d, timeout: 1.5s}\n- url: http://a/3\n"
PASSWORD = "correct horse"
ENVIRONMENT = {"PASSWORD": PASSWORD, "TOKEN": "t0ken1234", "SHORT": "1"}


def read(text: str, environment: dict[str, str] = ENVIRONMENT) -> Configuration:
    return config.load(text.encode(), file="watches.yaml", environment=environment)


def text_of(text: str, environment: dict[str, str] = ENVIRONMENT) -> bytes | None:
    return kept.text(read(text, environment), "digest", text.encode(), environment)


def again(text: str, kept_text: bytes, asleep: frozenset[int] = frozenset()) -> Configuration | None:
    return kept.read(kept_text, lambda variables: "digest", text.encode(), ENVIRONMENT, asleep)


SECRETS = {
    "a target": f"notify: {{mail: 'mailtos://me:t0ken1234@example.org?smtp=mail'}}\n{WATCHES}",
    "a target with a variable, which is percent-encoded": (
        f'notify: {{mail: "mailtos://me:${{PASSWORD}}@example.org"}}\n{WATCHES}'
    ),
    "the password in a URL": f"{WATCHES}- url: http://me:secretword@a/4\n",
    "a short password in a URL": f"{WATCHES}- url: http://me:9z@a/4\n",
    "a variable in a URL": f"{WATCHES}- url: http://a/4?key=${{TOKEN}}\n",
    "a header": f"{WATCHES}- url: http://a/4\n  headers: {{Authorization: Bearer t0ken1234, X-Key: '${{TOKEN}}'}}\n",
    "a header of all watches": f"defaults: {{headers: {{X-Key: '${{TOKEN}}'}}}}\n{WATCHES}",
    "a short value of a header": f"{WATCHES}- url: http://a/4\n  headers: {{X-Pin: 9876, X-Key: 987}}\n",
    "a ping": f"ping: https://ping.example.org/${{TOKEN}}\n{WATCHES}",
    "a value that is part of other words": f"{WATCHES}- url: http://a/4?${{SHORT}}\n",
    "a literal ${": f"{WATCHES}- url: http://a/4\n  expect: $${{TOKEN}} costs\n  headers:\n    X-Key: $${{TOKEN}}\n",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=list(SECRETS))
def test_a_secret_is_not_kept_and_comes_back(text: str) -> None:
    found, there = read(text), text_of(text)
    assert there is not None
    assert found.secrets
    assert [each for each in found.secrets if len(each) > 1 and each.encode() in there] == []
    assert again(text, there) == replace(found, places=(), written={})


def test_a_secret_of_its_own_for_each_of_2000_watches_takes_no_seconds() -> None:
    watches = "".join(f"- url: http://a/{n}\n  headers: {{Cookie: session-{n}, X-Key: k{n}0}}\n" for n in range(2000))
    text = f"watches:\n{watches}"
    found, began = read(text), time.process_time()
    assert kept.text(found, "digest", text.encode(), ENVIRONMENT) is not None
    assert time.process_time() - began < 2


NOT_KEPT = {
    "a body": f"{WATCHES}- url: http://a/4\n  body: {{user: me, password: secretword}}\n",
    "two watches on one line, by which they are known": "watches: [{url: http://a/1}, {url: http://a/2}]\n",
    "a problem": f"{WATCHES}- url: http://a/4\n  select: ''\n",
    "a secret in an escape": f'{WATCHES}- url: http://a/4\n  headers: {{X-Key: "t\\u0030ken1234"}}\n',
    "a secret over two lines": f"{WATCHES}- url: http://a/4\n  headers: {{X-Key: t0ken1234\n    and more}}\n",
    "a variable over two lines": f"{WATCHES}- url: http://a/4\n  headers: {{X-Key: '${{TOKEN}}\n    more'}}\n",
}


@pytest.mark.parametrize("text", NOT_KEPT.values(), ids=list(NOT_KEPT))
def test_what_cannot_be_kept_without_a_secret_is_not_kept(text: str) -> None:
    assert text_of(text) is None


def test_a_secret_in_a_file_that_is_not_utf_8_is_not_kept() -> None:
    text = f"{WATCHES}- url: http://me:secretword@a/4\n"
    data = text.encode("utf-16")
    found = config.load(data, file="watches.yaml", environment={})
    assert len(found.watches) == 4
    assert kept.text(found, "digest", data, {}) is None


def test_without_some_watches_the_others_are_what_they_were() -> None:
    whole, there = read(WATCHES), text_of(WATCHES)
    assert there is not None
    for count in range(4):
        for lines in combinations([watch.line for watch in whole.watches], count):
            found = again(WATCHES, there, frozenset(lines))
            assert found is not None
            assert found.watches == tuple(watch for watch in whole.watches if watch.line not in lines)
            assert (found.settings, found.declared) == (whole.settings, whole.declared)


def test_what_was_kept_under_another_digest_is_not_taken() -> None:
    text = f"{WATCHES}- url: http://a/4?key=${{TOKEN}}\n"
    there = text_of(text)
    assert there is not None
    asked: list[list[str]] = []

    def another(variables: object) -> str:
        assert isinstance(variables, list)
        asked.append(variables)
        return "another"

    assert kept.read(there, another, text.encode(), ENVIRONMENT) is None
    assert asked == [["TOKEN"]]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "the checksum of nothing": lambda text: b"00000000",
    "cut off": lambda text: text[:-1],
    "a byte is another": lambda text: text.replace(b"http://a/3", b"http://a/4"),
    "no checksum": lambda text: text.partition(b"\n")[2],
    "other things": lambda text: b"\xff\x00" * 100,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_what_is_damaged_is_not_taken(damage: Callable[[bytes], bytes]) -> None:
    there = text_of(WATCHES)
    assert there is not None
    assert again(WATCHES, there) is not None
    assert again(WATCHES, damage(there)) is None


# ------------------------------------------------------------------------------------------------------ whole runs


def test_a_run_takes_what_was_kept_and_an_edit_is_read(program: Program, site: Site) -> None:
    site.script("/p", *[ok("20 dollars")] * 3)
    program(config=configuration(price(site)))
    file = program.state / kept.FILE
    first = file.read_bytes()
    assert b"/p" in first
    assert file.stat().st_mode & 0o777 == 0o600
    program("check", "--now")
    assert file.read_bytes() == first
    program("check", "--now", config=configuration(price(site, select="title")))
    assert program.record("Price")["baseline"]["extract"]["text"] == "Shop"
    assert file.read_bytes() != first


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_one_is_written_anew(program: Program, site: Site, damage: Callable[[bytes], bytes]) -> None:
    site.script("/p", *[ok("20 dollars")] * 2)
    program(config=configuration(price(site)))
    file = program.state / kept.FILE
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    run = program("check", "--now")
    assert (run.returncode, run.stderr, file.read_bytes()) == (0, "", whole)


class EditedWhenRead:
    """The path of a file that is edited just before it is read: between its digest and its text."""

    def __init__(self, path: Path) -> None:
        self.path, self.parent = path, path.parent

    def __str__(self) -> str:
        return str(self.path)

    def read_bytes(self) -> bytes:
        self.path.write_bytes(b"#\n" + self.path.read_bytes())
        return self.path.read_bytes()


def test_where_the_file_is_edited_meanwhile_nothing_is_taken(program: Program, site: Site) -> None:
    """The texts with secrets are in other places then."""
    (program.config.parent / ".env").write_text("KEY=value-of-key\n", encoding="utf-8")
    program(config=configuration(price(site, headers={"X-Key": "${KEY}"})))
    options = commandline.parse(["--config", str(program.config), "--state", str(program.state)], PROJECT)
    options.environment = {}
    assert setup.kept_configuration(options) is not None
    options.config = EditedWhenRead(program.config)
    assert setup.kept_configuration(options) is None


def test_another_value_of_a_variable_is_read(program: Program, site: Site) -> None:
    site.script("/p", *[ok("20 dollars")] * 2)
    text = configuration(price(site, headers={"X-Key": "${KEY}"}))
    environment = program.config.parent / ".env"
    for value in ("first", "second"):
        environment.write_text(f"KEY={value}-value\n", encoding="utf-8")
        environment.chmod(0o600)
        assert program("check", "--now", config=text).returncode == 0
        assert f"{value}-value" not in (program.state / kept.FILE).read_text(encoding="utf-8")
    assert [request.fields("X-Key") for request in site.to("/p")] == [[b"first-value"], [b"second-value"]]


def test_a_dry_run_and_a_list_keep_nothing(program: Program, site: Site) -> None:
    program("check", "--dry-run", config=configuration(price(site)))
    program("list")
    assert not (program.state / kept.FILE).exists()


def test_one_that_cannot_be_written_is_no_loss(program: Program, site: Site) -> None:
    site.script("/p", *[ok("20 dollars")] * 2)
    (program.state / kept.FILE).mkdir(parents=True)
    for _ in range(2):
        run = program("check", "--now", config=configuration(price(site)))
        assert (run.returncode, run.stderr) == (0, "")
