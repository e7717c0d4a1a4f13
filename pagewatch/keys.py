"""The keys of a watch: what each may hold, which go together, and the Watch that they make.

Every key of the table is read and checked here: none is silently ignored. All that is wrong in a watch is said at
once, as (line, message).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from pagewatch import content_keys, request_keys, values
from pagewatch.environment import without_password
from pagewatch.frozen import dataclass, field
from pagewatch.model import Every, Watch
from pagewatch.nodes import Broken, Mapping, Node, Scalar, Wrong

SOURCES = ("page", "feed", "sitemap", "json", "text")
TOP_LEVEL = ("contact", "user_agent", "gap", "notify", "alert", "heartbeat", "ping", "defaults", "watches")
MEANT = {  # what people write who come from other programs
    **dict.fromkeys(("css", "filter", "xpath"), "select"),
    **dict.fromkeys(("remove", "exclude"), "ignore"),
    **dict.fromkeys(("interval", "frequency"), "every"),
    **dict.fromkeys(("method", "data"), "body"),
    **dict.fromkeys(("target", "targets"), "notify"),
    **{
        "cookies": "headers",
        "disabled": "enabled",
        "link": "url",
        "required": "expect",
        "title": "name",
        "type": "source",
    },
}

Read = Callable[[str, Node], dict[str, Any]]


def _as_is(read: Callable[[str, Node], Any]) -> Read:
    return lambda key, node: {key: read(key, node)}


def _choice(*options: str, default: str = "") -> Read:
    return _as_is(lambda key, node: _without(default, values.choice(key, node, options)))


def _without(default: str, value: str) -> str:
    return "" if value == default else value


def _name(key: str, node: Node) -> dict[str, Any]:
    name = values.line_of_text(key, node)
    if isinstance(node, Scalar) and node.text != node.written:
        raise Wrong(node.line, f"{key} cannot hold a ${{NAME}}: it is shown, and state and history follow it")
    return {"name": name}


def _fields(key: str, node: Node) -> dict[str, Any]:
    return {"fields" if isinstance(node, Mapping) else "counted": content_keys.fields(key, node)}


def _body(key: str, node: Node) -> dict[str, Any]:
    return dict(zip(("body", "body_type"), request_keys.body(key, node), strict=True))


def _render(key: str, node: Node) -> dict[str, Any]:
    if values.flag(key, node):
        raise Wrong(node.line, f"{key} is not available yet: what scripts build in a browser cannot be watched")
    return {}


KEYS: dict[str, Read] = {
    "name": _name,
    "url": _as_is(request_keys.url),
    "enabled": _as_is(values.flag),
    "every": _as_is(values.every),
    "notify": lambda key, node: {"targets": values.names(key, node)},
    "source": _choice(*SOURCES),
    "select": _as_is(values.selector),
    "match": _as_is(lambda key, node: values.choice(key, node, ("first", "all"))),
    "path": _as_is(values.line_of_text),
    "items": _as_is(values.selector),
    "key": _as_is(values.line_of_text),
    "fields": _fields,
    "ignore": _as_is(values.selectors),
    "ignore_text": _as_is(values.regexes),
    "ignore_order": _as_is(values.flag),
    "number": _as_is(content_keys.number),
    "expect": _as_is(values.text),
    "reject": _as_is(values.text),
    "if_missing": _as_is(lambda key, node: values.choice(key, node, ("warn", "ok"))),
    "confirm": _as_is(partial(values.whole_number, low=1, high=100)),
    "only": _choice("any", "added", "removed", default="any"),
    "when": _as_is(content_keys.when),
    "alert_after": _as_is(partial(values.whole_number, low=1, high=1000)),
    "headers": _as_is(request_keys.headers),
    "body": _body,
    "timeout": lambda key, node: {key: values.bounded_duration(key, node, "0.1s", "5m").total_seconds()},
    "encoding": _as_is(request_keys.encoding),
    "verify_tls": _as_is(values.flag),
    "accept_status": _as_is(partial(values.whole_numbers, low=100, high=599)),
    "expires": lambda key, node: {"obey_freshness": values.choice(key, node, ("obey", "ignore")) == "obey"},
    "robots": lambda key, node: {"robots_reason": request_keys.robots(key, node)},
    "hint": _choice("sitemap", "length"),
    "verify_removed": _as_is(values.flag),
    "render": _render,
}

# The sources for which a key means something; a key that is not here is for all.
ONLY_FOR = {
    "select": ("page",),
    "match": ("page",),
    "items": ("page",),
    "path": ("page", "json"),
    "key": ("page", "json", "feed"),
    "fields": ("page", "json", "feed"),
    "ignore": ("page", "json"),
    "number": ("page", "json", "text"),
    "verify_removed": ("page", "json", "sitemap"),
    "render": ("page",),
}


# The keys that depend on others, see `_contradictions`.
RELATED = frozenset({"key", "fields", "items", "verify_removed", "hint", "number", "when"})


@dataclass
class Entry:
    """The keys of one mapping: `given` their nodes, `made` what they mean for a Watch, `problems` what is wrong."""

    given: dict[str, Node] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def value(self, attribute: str) -> Any:
        """What a key made of an attribute of Watch; the default where it is not given."""
        made = (made[attribute] for made in self.made.values() if attribute in made)
        return next(made, getattr(Watch, attribute, ""))


def read(mapping: Mapping, declared: frozenset[str]) -> Entry:
    """Each key by itself. `declared` are the names of the targets there are."""
    entry = Entry()
    for key, node in mapping.entries:
        entry.given[key.text] = node
        try:
            made = _read(key, node)
            if key.text == "notify":
                known_targets(key.text, node, declared)
            entry.made[key.text] = made
        except Wrong as wrong:
            entry.problems += wrong.problems
    return entry


def _read(key: Scalar, node: Node) -> dict[str, Any]:
    reader = KEYS.get(key.text)
    if reader is not None:
        return reader(key.text, node)
    if isinstance(node, Broken):
        raise Wrong(node.line, node.message)
    raise Wrong(key.line, unknown_key(key.text, KEYS))


def unknown_key(key: str, known: Any) -> str:
    word = key.lower().replace("-", "_")
    if key == "":
        return "a key is empty: write it before the colon"
    if word in TOP_LEVEL and word not in known:
        return f"{word} is no key of a watch: it belongs to the top level of the file"
    if word in KEYS and word not in known:
        return f"{word} is a key of a watch: put it into a watch, or under defaults for all of them"
    meant = MEANT.get(word, "")
    suggestion = f"; did you mean {meant}?" if meant in known else values.nearest(key, known)
    return f"unknown key {values.shown(key)}{suggestion}"


def known_targets(key: str, node: Node, declared: frozenset[str]) -> None:
    """Raises `Wrong` for each name that is no target. A URL is not shown: it is a secret."""
    problems = []
    for item in values.items(key, node):
        scalar = values.scalar_of(key, item, "the name of a target")
        if "://" in scalar.text:
            problems.append(
                (item.line, f"{key} takes names of targets: put the URL under notify at the top, with a name")
            )
        elif scalar.text.strip() not in declared:
            advice = values.nearest(scalar.text, declared) if declared else ": there are none, add notify at the top"
            problems.append((item.line, f"{key}: unknown target {values.shown(scalar.written)}{advice}"))
    if problems:
        raise Wrong.together(problems)


# ---------------------------------------------------------------------------------------------- keys that go together


def combine(own: Entry, defaults: Entry, line: int) -> Entry:
    """The watch's own keys on top of the defaults, with what is wrong with them together. Defaults that mean nothing
    for the watch's source are left out; its own keys that mean nothing are wrong, for they would be ignored."""
    both = Entry({**defaults.given, **own.given}, {**defaults.made, **own.made}, list(own.problems))
    if "url" not in both.given:
        both.problems.append((line, "there is no url: write url: https://…"))
    source = both.value("source")
    for key, sources in ONLY_FOR.items() if source else ():
        if source not in sources and key in both.made:
            if key in own.made:
                message = f"{key} means nothing for source: {source}, take one of them out"
                both.problems.append((own.given[key].line, message))
            del both.made[key]
    if not both.problems and not RELATED.isdisjoint(both.given):
        both.problems.extend(_contradictions(both))
    return both


def _contradictions(entry: Entry) -> Iterator[tuple[int, str]]:
    source, given = entry.value("source"), entry.given
    if entry.value("key") and not (entry.value("items") or entry.value("path") or source in ("json", "feed")):
        yield given["key"].line, "key is of no use without items: add items, or source: json or feed"
    if source == "feed" and entry.value("key") and entry.value("key") not in content_keys.FEED_KEYS:
        yield given["key"].line, f"key must be {values.either(content_keys.FEED_KEYS)} for a feed"
    if entry.value("counted") and source != "feed":
        advice = 'write names and selectors, such as price: "#price"'
        yield given["fields"].line, f"fields as a list is for source: feed; {advice}"
    if entry.value("fields") and source == "feed":
        yield given["fields"].line, f"fields is a list for a feed, such as [{', '.join(content_keys.FEED_PARTS[:3])}]"
    if entry.value("verify_removed") and not (entry.value("items") or entry.value("key") or source == "sitemap"):
        yield given["verify_removed"].line, "verify_removed is of no use without items"
    if entry.value("hint") and entry.value("body") is not None:
        yield given["hint"].line, "a hint is about a page that is asked for with GET: take hint or body out"
    if entry.value("path") and entry.value("items"):
        yield given["items"].line, "items is a CSS selector, and path leads into JSON: with path, write key alone"
    yield from _fields_that_are_not_there(entry)
    yield from _never_true(entry)


def _fields_that_are_not_there(entry: Entry) -> Iterator[tuple[int, str]]:
    fields = dict.fromkeys([name for name, _ in entry.value("fields")] or entry.value("counted"))
    source = entry.value("source")
    records = entry.value("items") or entry.value("key") or entry.value("source") in ("feed", "sitemap")
    for key in ("number", "when"):
        line = entry.given[key].line if key in entry.given else 0
        for name, *rest in entry.value(key):
            numeric = key == "number" or rest[0] in content_keys.NUMERIC
            if name and name not in fields:
                yield line, f"{key}: there is no field {values.shown(name)}{values.nearest(name, fields)}"
            elif numeric and source in ("feed", "sitemap"):
                yield line, f"{key}: a {source} has no numbers; {rest[0]} means nothing there"
            elif numeric and not name and (fields or records):
                example = f"{next(iter(fields), 'price')}: {'true' if key == 'number' else f'{{{rest[0]}: …}}'}"
                yield line, f"{key}: say which field is meant, such as {example}"
            elif records and rest[0] == "changed_by":
                yield line, "when: changed_by counts from the number told last, which is not known of each item"


def _never_true(entry: Entry) -> Iterator[tuple[int, str]]:
    """All conditions have to hold together, and some never do."""
    numeric = [each for each in entry.value("when") if each[1] in ("below", "above")]
    limits = {(part, name): Decimal(operand) for part, name, operand in numeric}
    for part, name in limits:
        low, high = limits.get((part, "above")), limits[part, name]
        if name == "below" and low is not None and low >= high:
            message = f"nothing is below {high} and above {low}: make two watches of it"
            yield entry.given["when"].line, f"when: {message}"


def watch(entry: Entry, line: int, everybody: tuple[str, ...], alert: tuple[str, ...] | None) -> Watch:
    """The watch. `everybody` are the targets of a watch that names none, `alert` those of all warnings."""
    attributes = {attribute: value for made in entry.made.values() for attribute, value in made.items()}
    attributes.setdefault("every", Every(timedelta(days=1), timedelta(days=1)))
    attributes.setdefault("name", shown_name(entry))
    targets = attributes.setdefault("targets", everybody)
    attributes["number"] = content_keys.with_conditions(attributes.get("number", ()), attributes.get("when", ()))
    attributes["alerts"] = targets if alert is None else alert
    if any(name.lower() == "content-type" for name, _ in attributes.get("headers", ())):
        attributes["body_type"] = ""
    return Watch(line=line, **attributes)


def shown_name(entry: Entry) -> str:
    """The name of a watch: its own, or its URL as written, without a password. "" if it has neither."""
    if "name" in entry.made:
        return str(entry.made["name"]["name"])
    return shown_url(entry)


def shown_url(entry: Entry) -> str:
    """The URL as written, without a password."""
    node = entry.given.get("url")
    return without_password(node.written) if isinstance(node, Scalar | Broken) else ""
