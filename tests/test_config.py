"""watches.yaml: the table of what it may hold (tests/cases/config.yaml), and what a table cannot say."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import config, document, kept
from pagewatch.configuration import Configuration, line
from pagewatch.environment import read_environment_file
from pagewatch.errors import ConfigError
from pagewatch.frozen import replace
from pagewatch.keys import KEYS, TOP_LEVEL
from pagewatch.model import STDOUT, Every, Problem
from pagewatch.nodes import Wrong
from pagewatch.values import ENDLESS

PROJECT = Path(__file__).resolve().parent.parent
ROWS = yaml.safe_load((PROJECT / "tests" / "cases" / "config.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((PROJECT / "pagewatch" / "watches.schema.json").read_text(encoding="utf-8"))
SHIPPED = PROJECT / "watches.yaml"

WATCH = "watches:\n- name: w\n  url: https://example.org/p\n"

CHECKED = """\
notify:
  a: json://127.0.0.1/a
  b: json://me:hunter2@127.0.0.1/b
watches:
- name: good
  url: https://example.org/1
  select: p
- name: bad
  url: https://me:hunter2@example.org/2
  select: p!
  ignore:
  - .x
  - y!
- name: parts
  url: https://example.org/3
  fields:
    price: p!@href
    link: "@href"
- name: json
  url: https://example.org/4
  source: json
  path: a!
  ignore: [b!]
  fields: {x: c!}
- name: records
  url: https://example.org/5
  items: li!
  key: k!@id
- name: embedded
  url: https://example.org/6
  path: a
  ignore: [member!]
  key: member!
"""


def load(text: str | bytes, **environment: str) -> Configuration:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    found = config.load(data, file="watches.yaml", environment=environment)
    assert_the_same_when_kept(found, data, environment)
    return found


def assert_the_same_when_kept(found: Configuration, data: bytes, environment: dict[str, str]) -> None:
    text = kept.text(found, "digest", data, environment)
    assert text or found.problems or found.secrets or any(watch.body is not None for watch in found.watches)
    if text is not None:
        again = kept.read(text, lambda variables: "digest", data, environment)
        assert again == replace(found, places=(), written={})


def assert_lines(told: Iterable[str]) -> None:
    """Each is one line: file, place, and what is wrong."""
    assert [
        line for line in told if len(line.splitlines()) != 1 or not re.match(r"watches\.yaml(:\d+)?: \S", line)
    ] == []


def lines(configuration: Configuration) -> list[str]:
    return [line(problem, "watches.yaml") for problem in configuration.problems]


def text_of(row: dict[str, Any]) -> str:
    if "file" in row:
        return str(row["file"])
    return WATCH + "".join(f"  {line}" for line in row["watch"].splitlines(keepends=True))


def plain(value: Any) -> Any:
    """A value of a Watch as the table writes it."""
    if isinstance(value, Every):
        return [value.low.total_seconds(), value.high.total_seconds()]
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


# ------------------------------------------------------------------------------------------------------ the table


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_the_table_of_configurations(row: dict[str, Any]) -> None:
    try:
        found = load(text_of(row), **row.get("env", {}))
    except ConfigError as error:
        assert list(error.problems) == row.get("error"), "the run is stopped"
        return
    assert "error" not in row, "the run is not stopped"
    assert lines(found) == row.get("problems", [])
    if "names" in row:
        assert list(found.names) == row["names"]
    if "watches" in row:
        keys = row["watches"][0].keys()
        assert [{key: plain(getattr(watch, key)) for key in keys} for watch in found.watches] == row["watches"]
    if "settings" in row:
        settings = found.settings
        assert row["settings"] == {
            "user_agent": settings.user_agent,
            "product_token": settings.product_token,
            "gap": settings.gap.total_seconds(),
            "targets": {target.name: target.url for target in settings.targets},
        }


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_both_loaders_of_pyyaml_give_the_same(row: dict[str, Any]) -> None:
    def read(loader: Any) -> Any:
        try:
            return document.read(text_of(row).encode(), loader)
        except Wrong as wrong:
            return wrong.problems

    assert document.FASTEST is not yaml.BaseLoader, "PyYAML has no C loader here"
    assert read(document.FASTEST) == read(yaml.BaseLoader)


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_no_secret_of_the_table_is_in_a_message(row: dict[str, Any]) -> None:
    told = "\n".join(row.get("problems", []) + row.get("error", []))
    assert not re.search("hunter2|s3cr3t|s3cret|TokenA", told)


# ----------------------------------------------------------------------------------------------------- the schema


class Core(yaml.SafeLoader):
    """YAML 1.2's core schema, which editors use."""


Core.yaml_implicit_resolvers = {}
for tag, form, first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{form})$"), first)
Core.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))


def schema_allows(text: str) -> bool | None:
    """None where there is nothing that an editor could show the schema."""
    try:
        data = yaml.load(text, Loader=Core)
    except yaml.YAMLError:
        return None
    return bool(jsonschema.Draft7Validator(SCHEMA).is_valid(data))


@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_the_schema_agrees_with_the_loader(row: dict[str, Any]) -> None:
    """Where it cannot, the row says why."""
    allowed = schema_allows(text_of(row))
    told = [line for line in row.get("problems", []) + row.get("error", []) if "is not available yet" not in line]
    if allowed is None:
        assert told
    else:
        assert (allowed == bool(told)) == ("schema" in row), row.get("schema", "the schema says otherwise")


def test_the_schema_describes_every_key() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    watch = SCHEMA["definitions"]["watch"]["properties"]
    assert list(watch) == list(KEYS)
    assert list(SCHEMA["properties"]) == list(TOP_LEVEL)
    assert list(SCHEMA["properties"]["defaults"]["properties"]) == [key for key in KEYS if key != "name"]
    assert [key for key, value in (watch | SCHEMA["properties"]).items() if not value.get("description")] == []


# ------------------------------------------------------------------------------------------------ the shipped file


def test_the_shipped_file_has_no_problems_and_watches_one_page() -> None:
    found = config.load(SHIPPED.read_bytes(), file="watches.yaml", environment={})
    assert found.problems == ()
    assert [(watch.url, watch.select, watch.targets) for watch in found.watches] == [
        ("https://example.org/", "h1", (STDOUT,))
    ]


def test_the_first_line_of_the_shipped_file_names_the_schema_for_editors() -> None:
    first = SHIPPED.read_text(encoding="utf-8").splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert name != first and (PROJECT / name).is_file()


def test_the_examples_in_the_shipped_file_work_when_their_sign_is_taken_away() -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^( *)#(- |  |(?=\w+:))", r"\1\2", text)
    used = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "value")
    found = load(text, **used)
    assert lines(found) == []
    assert len(found.watches) == 6 and len(found.settings.targets) == 4
    assert schema_allows(text)


# ------------------------------------------------------------------------------------------------ bytes and YAML


GOOD = "watches:\r\n- name: wörd\r\n  url: https://example.org/\r\n"


@pytest.mark.parametrize(
    "data",
    [
        GOOD.encode(),
        GOOD.encode("utf-8-sig"),
        GOOD.encode("utf-16"),
        b"\xfe\xff" + GOOD.encode("utf-16-be"),
        GOOD.replace("\r\n", "\n").encode(),
        GOOD.replace("\r\n", "\r").encode(),
    ],
    ids=["UTF-8", "with a byte order mark", "UTF-16", "UTF-16, big end first", "LF", "CR"],
)
def test_a_file_may_be_saved_by_any_editor(data: bytes) -> None:
    assert load(data).names == ("wörd",)


def test_a_line_is_counted_alike_whatever_ends_it() -> None:
    for end in ("\n", "\r\n", "\r"):
        told = lines(load((WATCH + "  select: #price\n").replace("\n", end)))
        assert told[0].startswith('watches.yaml:4: watch "w": select is empty; an unquoted #'), repr(end)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (GOOD.encode("latin-1"), "watches.yaml:2: byte 0xF6 is not UTF-8: save the file as UTF-8"),
        ("a: b\n".encode("utf-16-le"), "watches.yaml:1: the control character U+0000: save the file as UTF-8"),
        (b"watches:\n- name: a\x07b\n", "watches.yaml:2: the control character U+0007: take it out"),
        (b"#" * 5_000_001, "watches.yaml: the file has 5,000,001 bytes, more than 5,000,000: is it the right one?"),
        (b"watches: " + b"[" * 1500, "watches.yaml: values are nested more than 20 deep"),
        (b"watches: " + b"[" * 100 + b"]" * 100, "watches.yaml: values are nested more than 20 deep"),
        (
            b"watches: " + b"- " * 100_000,
            "watches.yaml:1: a '- ' that does not fit here: put the whole value in quotes,",
        ),
        (b"%YAML 2.0\n---\na: b\n", "watches.yaml:1: this is not YAML: found incompatible YAML document"),
    ],
    ids=["Latin-1", "UTF-16 without mark", "a control character", "too large", "open", "deep", "dashes", "YAML 2"],
)
def test_a_file_that_is_no_yaml_is_one_line(data: bytes, line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(data)
    assert len(raised.value.problems) == 1
    assert raised.value.problems[0].startswith(line)


def test_aliases_of_aliases_are_counted_before_they_are_followed() -> None:
    levels = "".join(f"  e{n}: &e{n} [{', '.join([f'*e{n - 1}'] * 10)}]\n" for n in range(1, 10))
    with pytest.raises(ConfigError, match="aliases make more than 500,000 values of this file"):
        load(f"defaults:\n  e0: &e0 [a]\n{levels}watches: *e9\n")


def test_merge_keys_of_merge_keys_are_counted_too() -> None:
    many = "".join(f"  k{n}: v\n" for n in range(1000))
    merges = f"- <<: [{', '.join(['*m'] * 1000)}]\n"
    with pytest.raises(ConfigError, match="aliases make more than 500,000 values of this file"):
        load(f"defaults: &m\n{many}watches:\n{merges}")


def test_a_thousand_watches_are_read_in_a_moment() -> None:
    one = "- name: n%d\n  url: https://example.org/%d\n  select: '#price'\n  every: 6h\n"
    data = ("watches:\n" + "".join(one % (n, n) for n in range(1000))).encode()
    start = time.process_time()
    found = load(data)
    assert time.process_time() - start < 0.5  # 0.07 on the machine it was written on
    assert len(found.watches) == 1000


PIECES = st.sampled_from(
    [
        *": # - \n   ' \" [ ] { } , & * ! | > % @ ` \\ ~ ${ } ${P} << é \u2028 \x85 😀 \t --- ...".split(" "),
        " ",
        "\n",
        ": ",
        " #",
        "- ",
    ]
)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 8), PIECES), max_size=6))
def test_whatever_is_typed_is_read_or_told(edits: list[tuple[int, int, str]]) -> None:
    text = CHECKED
    for place, length, piece in edits:
        place %= len(text) + 1
        text = text[:place] + piece + text[place + length :]
    try:
        found = load(text, P="p")
    except ConfigError as error:
        assert error.settings is not None
        assert_lines(error.problems)
    else:
        assert_lines(lines(found))
        assert {problem.watch for problem in found.problems} <= {"", *found.names}
        assert {watch.name for watch in found.watches} <= set(found.names)


# ---------------------------------------------------------------------------------------- what stops the whole run


def test_the_targets_are_read_even_of_a_file_that_is_no_yaml() -> None:
    text = "contact: me@example.org\nnotify:\n  a: json://127.0.0.1/${X}\n  # remark\n\n  b: ${NOPE}\nalert: a\n"
    with pytest.raises(ConfigError) as raised:
        load(text + "watches:\n- name: a\n   url: x\n", X="y")
    settings = raised.value.settings
    assert settings is not None
    assert [(target.name, target.url) for target in settings.targets] == [("a", "json://127.0.0.1/y")]
    assert settings.alert == ("a",)
    assert settings.user_agent.endswith("(+me@example.org)")


def test_the_targets_are_lost_only_where_they_are_what_is_broken() -> None:
    with pytest.raises(ConfigError) as raised:
        load("notify:\n  a: json://127.0.0.1/\n b: c\nwatches:\n- url: https://example.org/\n")
    assert raised.value.settings is not None and raised.value.settings.targets == ()


def test_an_error_of_the_file_carries_the_settings() -> None:
    with pytest.raises(ConfigError) as raised:
        load("notify: {a: json://127.0.0.1/}\nwatchs: []\n")
    assert raised.value.settings is not None
    assert [target.name for target in raised.value.settings.targets] == ["a"]
    assert raised.value.problems == (
        "watches.yaml: there are no watches: add watches: and below it a list, each with a name and a url",
        'watches.yaml:2: unknown key "watchs"; did you mean watches?',
    )
    assert str(raised.value) == "\n".join(raised.value.problems)


# -------------------------------------------------------------------------------------------- the expensive checks


def check(configuration: Configuration, refuse_targets: str = "") -> Configuration:
    return config.check(
        configuration,
        selector=lambda text: f"{text} is no selector:\n  write another" if "!" in text else None,
        path=lambda text: f"{text} is no path" if "!" in text else None,
        target=lambda url: f"{url} is refused" if refuse_targets and re.search(refuse_targets, url) else None,
        file="watches.yaml",
    )


def test_selectors_and_paths_are_checked_where_they_stand() -> None:
    found = check(load(CHECKED))
    assert lines(found) == [
        'watches.yaml:10: watch "bad": select: p! is no selector: write another',
        'watches.yaml:13: watch "bad": ignore: y! is no selector: write another',
        'watches.yaml:17: watch "parts": fields: price: p! is no selector: write another',
        'watches.yaml:22: watch "json": path: a! is no path',
        'watches.yaml:24: watch "json": fields: x: c! is no path',
        'watches.yaml:27: watch "records": items: li! is no selector: write another',
        'watches.yaml:28: watch "records": key: k! is no selector: write another',
    ]
    assert [watch.name for watch in found.watches] == ["good", "embedded"], "members of JSON are no selectors"
    assert found.names == ("good", "bad", "parts", "json", "records", "embedded")
    assert {problem.url for problem in found.problems if problem.watch == "bad"} == {"https://me@example.org/2"}


def test_a_target_that_is_refused_is_left_out_while_another_is_left() -> None:
    found = check(load(CHECKED), "hunter2")
    assert lines(found)[0] == 'watches.yaml:3: target "b": … is refused'
    assert [target.name for target in found.settings.targets] == ["a"]
    assert found.watches[0].targets == ("a", "b"), "its notices wait until the target is mended"
    assert found.declared == {"a": 2, "b": 3}


def test_no_target_left_stops_the_run_with_all_lines() -> None:
    with pytest.raises(ConfigError) as raised:
        check(load(CHECKED), "json")
    assert raised.value.problems[0].startswith("watches.yaml:2: no target is left")
    assert len(raised.value.problems) == 10
    assert raised.value.settings is not None and raised.value.settings.targets == ()


def test_what_was_wrong_before_is_still_told_after_the_checks() -> None:
    found = check(load(CHECKED + "- name: worse\n  url: x\n"))
    assert len(found.problems) == 8


def test_a_file_without_problems_is_the_same_after_the_checks() -> None:
    configuration = load(WATCH + "  select: p\n")
    assert check(configuration) == configuration


# -------------------------------------------------------------------------------------------------------- secrets


def test_everything_that_must_not_be_shown_is_named() -> None:
    found = load(
        "notify:\n"
        "  mail: mailtos://me:${PW}@example.org\n"
        "  slack: slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnl\n"
        "  topic: ntfys://my-topic\n"
        "  odd: json://[::1\n"
        "watches:\n- name: w\n  url: https://u:p%40ss@example.org/?k=${KEY}\n"
        "  headers: {Authorization: Bearer abcdef, X-Key: 0123456, Accept-Language: de, X-Empty: ''}\n",
        PW="a@b",
        KEY="key/1",
    )
    assert found.secrets == {
        *("a@b", "a%40b", "mailtos://me:a%40b@example.org"),
        *("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnl", "T1JJ3T3L2", "A1BRTD4JD", "TIiajkdnl"),
        *("ntfys://my-topic", "json://[::1", "key/1", "key%2F1", "p%40ss", "p@ss"),
        *("Bearer abcdef", "abcdef", "0123456"),
        *("bWU6YUBi", "dTpwQHNz"),  # name and password as they are sent
    }
    assert found.variables == {"PW", "KEY"}


def test_a_configuration_can_be_printed_without_its_secrets() -> None:
    found = load(
        "notify: {a: 'json://me:hunter2@127.0.0.1/'}\nwatches:\n- name: w\n  url: https://example.org/\n"
        "  headers: {X-Key: hunter2}\n  body: hunter2\n"
    )
    assert "hunter2" not in repr(found)


def test_unset_variables_are_among_those_that_are_used() -> None:
    assert load(WATCH + "  expect: ${NOPE} ${P}\n", P="p").variables == {"NOPE", "P"}


# -------------------------------------------------------------------------------------------------------- messages


def test_a_problem_is_one_line_with_file_line_watch_and_advice() -> None:
    assert line(Problem(12, "select is empty", "Concert price"), "w.yaml") == (
        'w.yaml:12: watch "Concert price": select is empty'
    )
    assert line(Problem(3, "x", "watch 2"), "w.yaml") == "w.yaml:3: watch 2: x"
    assert line(Problem(3, "x"), "w.yaml") == "w.yaml:3: x"
    assert line(Problem(0, "x"), "w.yaml") == "w.yaml: x"


def test_every_line_of_the_table_is_one_line() -> None:
    assert_lines(line for row in ROWS for line in row.get("problems", []) + row.get("error", []))


# ------------------------------------------------------------------------------------------------------------ .env


ENVIRONMENT_FILES: list[tuple[str, str, dict[str, str]]] = [
    ("a line is NAME=value", "A=b\nC=d e\n", {"A": "b", "C": "d e"}),
    ("a value may be empty", "A=\nB=''\n", {"A": "", "B": ""}),
    ("a value keeps its signs", "A=b=c#d$e${F}\n", {"A": "b=c#d$e${F}"}),
    ("a # behind a space begins a remark", "# x\n\nA=b # c\n  # y\nB= # z\n", {"A": "b", "B": ""}),
    ("export and spaces around = are allowed", "export A=b\n  export  C = d \n", {"A": "b", "C": "d"}),
    ("single quotes are literal", "A='b \\n \"c\" # d'  # e\n", {"A": 'b \\n "c" # d'}),
    (
        "in double quotes only the quote and the backslash are escaped",
        'A="b \\"c\\" \\\\ \\n"\n',
        {"A": 'b "c" \\ \\n'},
    ),
    ("a byte order mark and line ends of Windows do no harm", "\ufeffA=b\r\nC=d\r\n", {"A": "b", "C": "d"}),
    ("the same value twice is no contradiction", "A=b\nA=b\n", {"A": "b"}),
    ("an empty file has no variables", "", {}),
]
WRONG_ENVIRONMENT_FILES: list[tuple[str, bytes, list[str]]] = [
    (
        "a line that is none is told without what stands in it",
        b"A=b\nhunter2\n1A=hunter2\nmy-name=hunter2\nexport A\n",
        [f".env:{line}: a line is NAME=value, where NAME has letters, digits and _ only" for line in (2, 3, 4, 5)],
    ),
    (
        "quotes must fit",
        b"A=\"hunter2\nB='hunter2' x\n",
        [
            ".env:1: the quotes around the value of A do not fit: end the value with the quote it begins with",
            ".env:2: the quotes around the value of B do not fit: end the value with the quote it begins with",
        ],
    ),
    ("two values contradict", b"A=b\nA=c\n", [".env:2: A is set a second time, to another value: keep one"]),
    ("bytes are UTF-8", b"A=b\nC=\xe9\n", [".env:2: byte 0xE9 is not UTF-8: save the file as UTF-8"]),
    ("a NUL cannot be in a value", b"A=b\0\n", [".env:1: the value of A holds a NUL character"]),
]


@pytest.mark.parametrize(("name", "text", "values"), ENVIRONMENT_FILES, ids=[row[0] for row in ENVIRONMENT_FILES])
def test_the_environment_file(name: str, text: str, values: dict[str, str]) -> None:
    assert read_environment_file(text.encode()) == values


@pytest.mark.parametrize(
    ("name", "data", "told"), WRONG_ENVIRONMENT_FILES, ids=[row[0] for row in WRONG_ENVIRONMENT_FILES]
)
def test_what_is_wrong_in_the_environment_file_is_told_by_line(name: str, data: bytes, told: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        read_environment_file(data)
    assert list(raised.value.problems) == told


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(\w+\s*)+", r"(?:.*)*", r"([a-z]+)*", r"(.+){2,}", r"(?P<n>\d+)+"])
def test_a_pattern_that_can_take_for_ever_is_refused(pattern: str) -> None:
    assert ENDLESS.search(pattern)


@pytest.mark.parametrize("pattern", [r"updated: .*? ago", r"(\d+,)+\d", r"(\w+\s)+", r"\(a+\)+", r"(\d+)?", r"(ab+c)*"])
def test_a_pattern_that_repeats_what_has_an_end_of_its_own_is_not(pattern: str) -> None:
    assert not ENDLESS.search(pattern)


def test_such_a_pattern_takes_its_watch_out_with_a_line() -> None:
    text = "watches:\n  - url: http://h/\n    ignore_text: '(a+)+'\n"
    configuration = config.load(text.encode(), file="watches.yaml", environment={})
    assert "can take for ever" in configuration.problems[0].message
    assert configuration.problems[0].line == 3


@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ("", False),
        ('select: "#price"', False),
        ("select: p.b", True),
        ("path: a", True),
        ('fields: {a: "b > i"}', True),
    ],
)
def test_the_packages_are_asked_only_about_what_they_can_find_wrong(keys: str, needed: bool) -> None:
    watches = f"watches: [{{url: 'http://a/', {keys}}}]"
    assert config.needs_checkers(load(watches)) == needed
    assert config.needs_checkers(load(f"notify: ntfys://topic\n{watches}"))
