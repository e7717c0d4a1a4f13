"""The architecture, read from the source: who imports whom, where foreign packages come in, and how long things are.

The layers are words < rules < edges < steps < commands < monitor. The dictionaries below are the picture; a module that
is not in it, or an import that is not, is a decision that somebody has to take here first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent

WORDS = frozenset({"answers", "configuration", "errors", "frozen", "model", "nodes", "urls"})

# What each rule may import besides words: other rules, only downwards.
RULES: dict[str, frozenset[str]] = {
    "amounts": frozenset(),
    "brittle": frozenset(),
    "charset": frozenset(),
    "cookies": frozenset(),
    "css": frozenset({"translation"}),
    "translation": frozenset(),
    "document": frozenset(),
    "failures": frozenset(),
    "http_headers": frozenset(),
    "matching": frozenset(),
    "notices": frozenset(),
    "records": frozenset(),
    "robots": frozenset(),
    "soup": frozenset(),
    "schedule": frozenset(),
    # watches.yaml
    "values": frozenset(),
    "environment": frozenset(),
    "content_keys": frozenset({"values"}),
    "request_keys": frozenset({"charset", "values"}),
    "keys": frozenset({"content_keys", "environment", "request_keys", "values"}),
    "top_level": frozenset({"keys", "request_keys", "values"}),
    "kept": frozenset({"environment", "records"}),
    "config": frozenset({"content_keys", "document", "environment", "keys", "top_level", "values"}),
    # an answer, and what is found in it
    "content_coding": frozenset({"failures"}),
    "hops": frozenset({"cookies", "http_headers", "schedule"}),
    "fingerprint": frozenset({"amounts"}),
    "diff": frozenset({"fingerprint", "matching"}),
    "reading": frozenset({"fingerprint"}),
    "markup": frozenset({"css", "http_headers", "soup"}),
    "element_text": frozenset({"fingerprint", "markup"}),
    "view": frozenset({"element_text", "fingerprint", "markup"}),
    "items": frozenset({"element_text", "fingerprint", "markup", "view"}),
    "extract": frozenset({"element_text", "items", "markup", "reading", "view"}),
    "jsondata": frozenset({"fingerprint"}),
    "readers.page": frozenset({"element_text", "extract", "markup", "reading"}),
    "readers.embedded": frozenset({"jsondata", "markup", "reading", "readers.json", "readers.page"}),
    "readers.json": frozenset({"fingerprint", "items", "jsondata", "reading"}),
    "readers.entries": frozenset({"extract", "element_text", "fingerprint", "markup"}),
    "readers.jsonfeed": frozenset({"fingerprint", "jsondata", "readers.entries"}),
    "readers.feed": frozenset({"announced", "fingerprint", "markup", "reading", "readers.entries", "readers.jsonfeed"}),
    "lastmod": frozenset(),
    "readers.sitemap": frozenset({"charset", "content_coding", "failures", "lastmod", "reading"}),
    "readers.text": frozenset({"fingerprint", "reading"}),
    "doubts": frozenset({"fingerprint", "reading"}),
    "sources": frozenset({"amounts", "charset", "content_coding", "doubts", "fingerprint", "http_headers", "reading"}),
    # what is advised about a watch
    "announced": frozenset({"element_text", "markup"}),
    "embedded": frozenset({"amounts", "element_text", "extract", "fingerprint", "jsondata", "markup"}),
    "sturdy": frozenset({"brittle", "css", "markup"}),
    "moved": frozenset({"amounts", "element_text", "fingerprint", "markup", "sturdy"}),
    "noise": frozenset({"element_text", "markup", "sturdy"}),
    "pace": frozenset({"arithmetic", "http_headers"}),
    "entry": frozenset({"config", "jsondata", "notices", "soup", "values"}),
    "advice": frozenset(
        {
            *("amounts", "announced", "arithmetic", "brittle", "diff", "element_text", "embedded", "entry", "extract"),
            *("fingerprint", "markup", "matching", "moved", "noise", "pace", "sources", "sturdy"),
        }
    ),
    # what it means
    "conditions": frozenset({"amounts", "diff", "fingerprint"}),
    "baselines": frozenset({"amounts", "conditions", "diff", "schedule"}),
    "conditional": frozenset({"fingerprint"}),
    "decide": frozenset({"baselines", "conditional", "conditions", "diff", "fingerprint", "notices", "schedule"}),
    "events": frozenset({"diff"}),
    "removals": frozenset(),
    "memory": frozenset({"records"}),
    "output": frozenset({"diff", "notices"}),
    # what is made of the history
    "arithmetic": frozenset(),
    "installing": frozenset(),
    "atom": frozenset({"notices"}),
    "differences": frozenset({"diff", "matching", "notices", "output"}),
    "comparison": frozenset({"matching", "notices"}),
    "explain": frozenset({"conditional", "conditions", "fingerprint", "notices", "schedule"}),
    "plots": frozenset({"notices"}),
    "sides": frozenset({"comparison", "diff"}),
    "stylesheet": frozenset(),
    "report": frozenset({"comparison", "notices", "plots", "schedule", "stylesheet"}),
    "changes": frozenset({"atom", "comparison", "conditions", "diff", "plots", "sides"}),
    "health": frozenset({"memory", "schedule"}),
}

# One outside thing each, and none knows another: what one needs of another it gets as an argument.
EDGES = frozenset(
    {"connections", "demo", "fetch", "history", "lock", "notify", "politeness", "quiet", "sockets", "state"}
)
PARTS = {"connections": frozenset({"sockets"})}  # of one edge, in a file of their own

# What monitor.py and the commands share: it brings edges together. What each may import besides words and rules.
STEPS: dict[str, frozenset[str]] = {
    "asking": frozenset({"connections", "fetch", "politeness"}),
    "checking": frozenset({"notify", "watches_yaml"}),
    "beginning": frozenset({"commandline", "lock", "run", "setup", "telling"}),
    "commandline": frozenset(),
    "ping": frozenset({"connections", "fetch"}),
    "publishing": frozenset({"recall", "state"}),
    "recall": frozenset({"history"}),
    "one_watch": frozenset({"history", "recall", "setup", "state", "watches_yaml"}),
    "run": frozenset({"politeness"}),
    "setup": frozenset({"quiet"}),
    "watches_yaml": frozenset({"quiet", "setup"}),
    "telling": frozenset({"quiet", "run"}),
}

# The one module that each foreign package belongs to.
PACKAGES = {
    "apprise": {"notify"},
    "bs4": {"soup"},
    "cssselect": {"translation"},
    "feedparser": {"readers.feed"},
    "jmespath": {"jsondata"},
    "lxml": {
        "css",
        "element_text",
        "extract",
        "markup",
        "soup",
    },  # the tree: what finds its elements, what reads them, what makes it
    "requests": {"connections"},
    "soupsieve": {"soup"},
    "urllib3": {"connections"},
    "yaml": {"document"},
}

# Rules take text and values: what the standard library has of networks, files, processes and clocks is for edges.
OUTSIDE = frozenset(
    {
        *("asyncio", "concurrent", "glob", "http", "logging", "multiprocessing", "os", "pathlib", "random", "secrets"),
        *("shutil", "signal", "smtplib", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time"),
        "urllib.request",
    }
)
CLOCKS = frozenset({"now", "today", "utcnow"})

# In monitor.py, each where what is slow to import is first needed: a look, its content, an edited configuration, a
# notice, the history, the feed of changes, the ping, and a command other than check.
FUNCTIONS_THAT_IMPORT = 8
LINES_OF_A_MODULE = 400
LINES_OF_A_FUNCTION = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One source file. `name` is that below pagewatch ("fetch", "commands.test"), or "monitor"."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @property
    def layer(self) -> str:
        if self.name.startswith("commands."):
            return "commands"
        layers = {"words": WORDS, "rules": RULES.keys(), "edges": EDGES, "steps": STEPS.keys(), "monitor": {"monitor"}}
        return next((layer for layer, names in layers.items() if self.name in names), "")

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler) -> str:
        return f"{self.path.relative_to(PROJECT).as_posix()}:{node.lineno}"

    @cached_property
    def imports(self) -> list[str]:
        """The full names of all that is imported, wherever it stands."""
        return [name for node in ast.walk(self.tree) for name in imported(node)]

    @property
    def siblings(self) -> set[str]:
        """The names of this project's modules among the imports."""
        found = set()
        for name in self.imports:
            if name.split(".")[0] in ("pagewatch", "monitor"):
                found.add(longest_module(name))
        return found

    @property
    def packages(self) -> set[str]:
        """The foreign packages among the imports."""
        tops = {name.split(".")[0] for name in self.imports}
        return tops - sys.stdlib_module_names - {"pagewatch", "monitor"}


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: imports of this project give the full name"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
        yield beginning(node.args[0])


def beginning(name: ast.expr) -> str:
    """What is certain of a computed name: f"pagewatch.commands.{command}" is something in pagewatch.commands."""
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name
    assert isinstance(first, ast.Constant), f"line {name.lineno}: which module is imported?"
    return str(first.value).rstrip(".")


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def longest_module(name: str) -> str:
    """pagewatch.model.Watch -> model; pagewatch.commands.list.run -> commands.list; pagewatch.VERSION -> ""."""
    parts = name.split(".")
    if parts[0] == "monitor":
        return "monitor"
    depth = 3 if parts[1:2] in (["commands"], ["readers"]) else 2
    below = ".".join(parts[1:depth])
    return below if below in NAMES or below.startswith(("commands.", "readers.")) else ""


def modules() -> list[Module]:
    found = [Module("monitor", PROJECT / "monitor.py")]
    for path in sorted((PROJECT / "pagewatch").rglob("*.py")):
        if path.name != "__init__.py":
            below = path.relative_to(PROJECT / "pagewatch").with_suffix("")
            found.append(Module(".".join(below.parts), path))
    return found


MODULES = modules()
NAMES = frozenset(module.name for module in MODULES)
PACKAGE_FILES = sorted((PROJECT / "pagewatch").rglob("__init__.py"))


def functions(module: Module) -> Iterator[Function]:
    for node in ast.walk(module.tree):
        if isinstance(node, Function):
            yield node


# ------------------------------------------------------------------------------------------------ who imports whom


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_module_has_a_layer(module: Module) -> None:
    assert module.layer, f"{module.name} stands in no layer of tests/test_imports.py"


def test_the_layers_name_only_modules_that_exist() -> None:
    assert sorted((WORDS | RULES.keys() | EDGES | STEPS.keys()) - NAMES) == []


def allowed(module: Module) -> frozenset[str]:
    of_layer: dict[str, frozenset[str]] = {
        "words": WORDS,
        "rules": WORDS | RULES.get(module.name, frozenset()),
        "edges": WORDS | RULES.keys() | PARTS.get(module.name, frozenset()),
        "steps": WORDS | RULES.keys() | STEPS.get(module.name, frozenset()),
        "commands": WORDS | RULES.keys() | EDGES | STEPS.keys(),
        "monitor": NAMES - {"monitor"},
    }
    return of_layer[module.layer]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_imports_only_what_is_below_it(module: Module) -> None:
    upwards = module.siblings - allowed(module) - {""}
    assert not upwards, f"{module.name} ({module.layer}) imports {', '.join(sorted(upwards))}"


def test_the_imports_have_no_cycle() -> None:
    TopologicalSorter({module.name: module.siblings for module in MODULES}).prepare()


def test_words_import_the_standard_library_only() -> None:
    assert {module.name: module.packages for module in MODULES if module.layer == "words" and module.packages} == {}


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.layer == "rules"], ids=lambda module: module.name
)
def test_rules_know_no_network_no_files_and_no_clock(module: Module) -> None:
    outside = {name for name in module.imports for known in OUTSIDE if f"{name}.".startswith(f"{known}.")}
    assert not outside, f"{module.name} imports {', '.join(sorted(outside))}"
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    asked = [module.at(node) for node in calls if called(node) in CLOCKS or getattr(node.func, "id", "") == "open"]
    assert not asked, f"a clock or a file is asked in {', '.join(asked)}"


def test_each_foreign_package_is_imported_by_its_own_module() -> None:
    importers = defaultdict(set)
    for module in MODULES:
        for package in module.packages:
            importers[package].add(module.name)
    assert {package: by for package, by in importers.items() if by - PACKAGES.get(package, set())} == {}


def test_the_environment_is_read_by_the_script_only() -> None:
    readers = [
        module.at(node)
        for module in MODULES
        if module.name != "monitor"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv")
    ]
    assert readers == []


def test_imports_stand_at_the_top_of_their_module() -> None:
    """But for monitor.py: what is slow to load is imported once it is known that something is due; for readers, each
    when the first source of its kind is met; and for what few selectors or documents need."""
    late = [
        (module.name, function.name)
        for module in MODULES
        for function in functions(module)
        if any(list(imported(node)) for node in ast.walk(function))
    ]
    elsewhere = [place for place in late if place[0] != "monitor"]
    assert sorted(elsewhere) == [
        ("css", "_translated"),
        ("markup", "_soup"),
        ("markup", "_xml"),
        ("sources", "reader"),
    ]
    assert len(late) - len(elsewhere) <= FUNCTIONS_THAT_IMPORT, f"imports inside functions: {late}"


def test_the_package_is_a_map_and_nothing_else() -> None:
    for path in PACKAGE_FILES:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert all(is_text(node) for node in body), f"{path.relative_to(PROJECT)} has more than its docstring"


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_the_map_names_every_module() -> None:
    text = (PROJECT / "pagewatch" / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", text))
    assert [name for name in sorted(NAMES - {"monitor"}) if name.split(".")[-1] not in named] == []


# ------------------------------------------------------------------------------------------------ how it is written


def broad(handler: ast.expr | None) -> bool:
    """Whether it catches what nobody has thought of: everything, Exception or BaseException."""
    if isinstance(handler, ast.Tuple):
        return any(broad(element) for element in handler.elts)
    return handler is None or getattr(handler, "id", "") in ("Exception", "BaseException")


def cleans_up(handler: ast.ExceptHandler) -> bool:
    """`except BaseException: …; raise` hides nothing."""
    last = handler.body[-1]
    return getattr(handler.type, "id", "") == "BaseException" and isinstance(last, ast.Raise) and last.exc is None


def swallows(node: ast.ExceptHandler | ast.Call) -> bool:
    if isinstance(node, ast.ExceptHandler):
        return broad(node.type) and not cleans_up(node)
    return called(node) == "suppress" and any(broad(what) for what in node.args)


def test_except_exception_stands_twice_and_in_the_script() -> None:
    """Around one look, and in `main`: a third would hide what somebody has to hear."""
    guards = [
        (module.name, module.at(node))
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler | ast.Call) and swallows(node)
    ]
    assert [place for name, place in guards if name != "monitor"] == []
    assert len(guards) == 2, guards


def test_no_module_is_long() -> None:
    lengths = {module.name: len(module.text.splitlines()) for module in MODULES if module.name != "monitor"}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_OF_A_MODULE} == {}


def test_no_function_is_long() -> None:
    lengths = {
        f"{module.at(function)} {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for module in MODULES
        for function in functions(module)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LINES_OF_A_FUNCTION} == {}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_module_says_what_it_is_for(module: Module) -> None:
    docstring = ast.get_docstring(module.tree) or ""
    assert docstring.splitlines()[:1] and docstring.splitlines()[0].strip(), f"{module.path.name} has no docstring"
