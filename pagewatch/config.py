"""watches.yaml: text in, settings and watches out, and every problem with its line.

One mistake never hides another, and takes out as little as it can: a wrong watch itself, a wrong target itself while
another is left. Only what makes the whole file doubtful (no YAML, no watches, a name twice, an unknown key at the
top, no usable target) is a ConfigError; it has every line found, and the settings as far as they can be read, so that
their targets can be told. The checks that need the packages which select and notify are in `check`, done once per
edit, with the checkers as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from pagewatch import document, keys, nodes, top_level, values
from pagewatch.configuration import SHORTEST_SECRET, Configuration, Place, line
from pagewatch.environment import Used, fill, secrets, without_password
from pagewatch.errors import ConfigError
from pagewatch.frozen import dataclass, field, replace
from pagewatch.keys import Entry
from pagewatch.model import STDOUT, Problem, Watch, split_attribute
from pagewatch.nodes import Broken, Node, Scalar, Wrong

PLAIN = re.compile(r"[#.]?[A-Za-z][A-Za-z0-9_-]{0,99}")
NOBODY = "no target is left that can be used, so nobody would be told: mend one of them, or take notify out"
NO_WATCHES = "there are no watches: add watches: and below it a list, each with a name and a url"


def load(data: bytes, *, file: str, environment: Mapping[str, str]) -> Configuration:
    """Everything in the file, read and checked. `file` is its name in messages. Raises ConfigError."""
    used = Used()
    try:
        root = document.read(data)
    except Wrong as wrong:
        rest, _ = top_level.split(document.salvage(data, top_level.TOLD_WITH))
        settings, _, _ = top_level.read({key: fill(node, environment, used) for key, node in rest.items()})
        raise ConfigError(_lines(_of_file(wrong.problems), file), settings) from None
    top, unknown = top_level.split(root)
    top = {key: fill(node, environment, used) for key, node in top.items()}
    settings, targets, wrong_settings = top_level.read(top)
    defaults = _defaults(top.get("defaults"), frozenset(targets.lines))
    found = _Found(defaults, tuple(targets.lines), frozenset(targets.lines), settings.alert)
    fatal = _of_file([*unknown, *wrong_settings, *defaults.problems]) + found.read(top.get("watches"))
    if targets.lines and not targets.usable:
        fatal += _of_file([(top["notify"].line, NOBODY)])
    problems = sorted(found.problems + _of_file(targets.problems), key=lambda problem: problem.line)
    if fatal:
        raise ConfigError(_lines(fatal + problems, file), settings)
    return Configuration(
        settings=settings,
        watches=tuple(found.watches),
        problems=tuple(problems),
        names=tuple(found.names),
        declared=targets.lines,
        variables=frozenset(used.names),
        secrets=secrets(used.names, environment, settings, found.watches),
        places=tuple(found.places),
        written=used.written,
    )


def check(
    configuration: Configuration,
    *,
    selector: Callable[[str], str | None],
    path: Callable[[str], str | None],
    target: Callable[[str], str | None],
    file: str,
) -> Configuration:
    """The same without the watches whose selectors or paths, and the targets whose URLs, a checker finds wrong.

    A checker returns None, or what is wrong and what to do. Raises ConfigError where no target is left.
    """
    checkers = {"selector": selector, "path": path}
    places = {(place.kind, place.text) for place in configuration.places}
    said = {(kind, text): checkers[kind](text) for kind, text in places}
    found = [
        Problem(place.line, _one_line(f"{place.key}: {message}", configuration.secrets), place.watch, place.url)
        for place in configuration.places
        if (message := said[place.kind, place.text])
    ]
    wrong = {problem.watch for problem in found}
    targets = []
    for candidate in configuration.settings.targets:
        message = target(candidate.url)
        if message:
            message = _one_line(f"target {values.shown(candidate.name)}: {message}", configuration.secrets)
            found.append(Problem(configuration.declared[candidate.name], message))
        else:
            targets.append(candidate)
    settings = replace(configuration.settings, targets=tuple(targets))
    problems = sorted([*configuration.problems, *found], key=lambda problem: problem.line)
    if configuration.declared and not targets:
        nobody = _of_file([(min(configuration.declared.values()), NOBODY)])
        raise ConfigError(_lines([*nobody, *problems], file), settings)
    good = tuple(watch for watch in configuration.watches if watch.name not in wrong)
    return replace(configuration, settings=settings, watches=good, problems=tuple(problems))


def needs_checkers(configuration: Configuration) -> bool:
    """Whether there is something that only `check` can find wrong: no name, #id or .class alone can be."""
    plain = all(place.kind == "selector" and PLAIN.fullmatch(place.text) for place in configuration.places)
    return bool(configuration.declared) or not plain


def _lines(problems: Iterable[Problem], file: str) -> list[str]:
    return [line(problem, file) for problem in sorted(problems, key=lambda problem: problem.line)]


def _of_file(problems: Iterable[tuple[int, str]]) -> list[Problem]:
    return [Problem(number, message) for number, message in problems]


def _one_line(message: str, hidden: Iterable[str]) -> str:
    """What a checker said, without secrets."""
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            message = message.replace(secret, "…")
    return " ".join(message.split())


# ------------------------------------------------------------------------------------------------------ the watches


def _defaults(node: Node | None, declared: frozenset[str]) -> Entry:
    if node is None or (isinstance(node, Scalar) and values.is_null(node) and not node.comment):
        return Entry()
    try:
        mapping = nodes.Mapping(values.entries("defaults", node, "a mapping of keys of a watch"), node.line, False)
    except Wrong as wrong:
        return Entry(problems=list(wrong.problems))
    entry = keys.read(mapping, declared)
    if "name" in entry.given:
        entry.problems.append((entry.given["name"].line, "name cannot be a default: names must differ"))
    return replace(entry, problems=[(number, f"defaults: {message}") for number, message in entry.problems])


@dataclass
class _Found:
    """The watches of the file as they are read, one after the other."""

    defaults: Entry
    targets: tuple[str, ...]
    declared: frozenset[str]
    alert: tuple[str, ...] | None
    watches: list[Watch] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    def read(self, node: Node | None) -> list[Problem]:
        """All watches; returns what is wrong with the list as a whole."""
        if node is None or (isinstance(node, Scalar) and values.is_null(node)):
            return [Problem(node.line if node else 0, NO_WATCHES)]
        if isinstance(node, Broken):
            return [Problem(node.line, f"watches: {node.message}")]
        if not isinstance(node, nodes.Sequence):
            return [Problem(node.line, "watches must be a list: begin each watch with a dash, - name: …")]
        fatal = [problem for number, item in enumerate(node.items, 1) for problem in self._read(item, number)]
        return fatal if node.items else [Problem(node.line, NO_WATCHES)]

    def _read(self, node: Node, number: int) -> Iterator[Problem]:
        """One watch; yields what makes the whole file doubtful: that its name is another's."""
        if not isinstance(node, nodes.Mapping):
            self._refuse(node, number)
            return
        entry = keys.combine(keys.read(node, self.declared), self.defaults, node.line)
        url = keys.shown_url(entry)
        name = keys.shown_name(entry) or f"watch {number}"
        self.names.append(name)
        self.problems += [Problem(at, message, name, url) for at, message in entry.problems]
        if "name" in entry.made or "name" not in entry.given:
            if name in self.lines:
                what = "the name" if "name" in entry.made else "the URL, which is the name of a watch without one,"
                message = f"{what} is the same as in line {self.lines[name]}; names must differ"
                yield Problem(node.line, message, name, url)
            self.lines.setdefault(name, node.line)
        if not entry.problems and not self.defaults.problems:
            self.watches.append(keys.watch(entry, node.line, self.targets or (STDOUT,), self.alert))
            self.places += _places(self.watches[-1], entry.given, url)

    def _refuse(self, node: Node, number: int) -> None:
        written = without_password(node.written) if isinstance(node, Scalar | Broken) else ""
        url = written if re.match("https?://", written) else ""
        self.names.append(url or f"watch {number}")
        message = node.message if isinstance(node, Broken) else "a watch has keys: write - name: … and below it url: …"
        self.problems.append(Problem(node.line, message, self.names[-1], url))


def _places(watch: Watch, given: Mapping[str, Node], url: str) -> Iterator[Place]:
    """The selectors and paths of a watch. In JSON, fields are paths, and key and ignore are names of members."""
    is_json = watch.source == "json" or bool(watch.path)

    def place(kind: str, key: str, text: str, node: Node) -> Iterator[Place]:
        if text:
            yield Place(kind, watch.name, url, key, text, node.line)

    for key in ("select", "items"):
        if key in given:
            yield from place("selector", key, getattr(watch, key), given[key])
    if "path" in given:
        yield from place("path", "path", watch.path, given["path"])
    if watch.key and watch.items:
        yield from place("selector", "key", split_attribute(watch.key)[0], given["key"])
    if watch.fields:
        for name, node in values.entries("fields", given["fields"], ""):
            text = dict(watch.fields)[name.text]
            text = text if is_json else split_attribute(text)[0]
            yield from place("path" if is_json else "selector", f"fields: {name.text}", text, node)
    if watch.ignore and not is_json:
        for text, node in zip(watch.ignore, values.items("ignore", given["ignore"]), strict=True):
            yield from place("selector", "ignore", text, node)
