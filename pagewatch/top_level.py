"""The keys at the top of watches.yaml: who asks (contact, user_agent, gap), who is told (notify, alert) and how
it is known that the program is alive (heartbeat, ping).

A target that cannot be used is left out and named; the others go on. A target's URL is a secret: no message shows any
of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pagewatch import nodes, request_keys, values
from pagewatch.frozen import dataclass, field
from pagewatch.keys import TOP_LEVEL, known_targets, unknown_key
from pagewatch.model import VERSION, Settings, Target
from pagewatch.nodes import Broken, Node, Scalar, Wrong
from pagewatch.request_keys import TOKEN

PRODUCT = "pagewatch"
GAP = timedelta(seconds=1)
SERVICE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30})://")
TOLD_WITH = frozenset({"notify", "alert", "contact", "user_agent"})  # what a notice about a broken file needs

Problems = list[tuple[int, str]]


@dataclass
class Targets:
    """`usable` can be told; `lines` has the line of every target of the file, by name; `problems` of the others."""

    usable: list[Target] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=list)


def split(root: nodes.Mapping) -> tuple[dict[str, Node], Problems]:
    """The nodes of the known keys, and what is wrong with the others."""
    known = {key.text: node for key, node in root.entries if key.text in TOP_LEVEL}
    problems = [
        (key.line, node.message if isinstance(node, Broken) else unknown_key(key.text, TOP_LEVEL))
        for key, node in root.entries
        if key.text not in known
    ]
    return known, problems


def read(top: Mapping[str, Node]) -> tuple[Settings, Targets, Problems]:
    """The settings with the usable targets, all targets, and what is wrong with the other keys."""
    problems: Problems = []
    targets = Targets()
    made: dict[str, Any] = {}
    readers: dict[str, Callable[[str, Node], Any]] = {
        "notify": lambda key, node: _read_targets(key, node, targets),
        "contact": _contact,
        "user_agent": _user_agent,
        "gap": lambda key, node: values.bounded_duration(key, node, "0s", "60s"),
        "alert": lambda key, node: _alert(key, node, targets),
        "heartbeat": lambda key, node: values.bounded_duration(key, node, "1h", "52w"),
        "ping": _ping,
    }
    for key, reader in readers.items():
        if key in top:
            try:
                made[key] = reader(key, top[key])
            except Wrong as wrong:
                problems += wrong.problems
    contact = f" (+{made['contact']})" if "contact" in made else ""
    user_agent = made.get("user_agent", f"{PRODUCT}/{VERSION}{contact}")
    token = TOKEN.match(user_agent)
    product_token = token[0] if token else PRODUCT
    others = {key: made[key] for key in ("alert", "heartbeat", "ping") if key in made}
    settings = Settings(user_agent, product_token, made.get("gap", GAP), tuple(targets.usable), **others)
    return settings, targets, problems


def _contact(key: str, node: Node) -> str:
    contact = values.line_of_text(key, node)
    if not re.fullmatch(r"[^\s()\\]+", contact) or not contact.isascii():
        rule = "a mail address or a URL: ASCII, without spaces and brackets"
        raise Wrong(node.line, f"{key} {values.written(node)} must be {rule}")
    return contact


def _user_agent(key: str, node: Node) -> str:
    """The whole header. It begins with a product token (RFC 9110 §10.1.5), which is what robots.txt is asked for."""
    agent = values.line_of_text(key, node)
    if not TOKEN.match(agent) or not (agent.isascii() and agent.isprintable()):
        rule = "begin with a product, such as mybot/1.0 (+https://example.org/bot), and be ASCII"
        raise Wrong(node.line, f"{key} must {rule}")
    return agent


def _ping(key: str, node: Node) -> str:
    """A URL that is a secret: no message shows it."""
    try:
        return request_keys.url(key, node)
    except Wrong:
        raise Wrong(node.line, f"{key} must be a URL that begins with https:// or http://, without spaces") from None


def _alert(key: str, node: Node, targets: Targets) -> tuple[str, ...]:
    names = values.names(key, node)
    known_targets(key, node, frozenset(targets.lines))
    return names


def _read_targets(key: str, node: Node, targets: Targets) -> None:
    """A mapping of names and URLs, a list of URLs, or one URL. Without names a target is called after its service."""
    if isinstance(node, nodes.Mapping):
        for name, child in node.entries:
            _read_target(name.text, name.line, child, targets)
        return
    if isinstance(node, Scalar) and values.is_null(node):
        advice = "add a target, such as phone: ntfys://my-topic, or leave the line out"
        raise Wrong(node.line, f"{key} is empty: {advice}")
    for child in values.items(key, node):
        _read_target(_service(child, targets), child.line, child, targets)


def _service(node: Node, targets: Targets) -> str:
    """`mailtos`, and `mailtos 2` where that is taken."""
    service = SERVICE.match(node.written) if isinstance(node, Scalar | Broken) else None
    name = service[1].lower() if service else "target"
    taken = sum(re.fullmatch(rf"{re.escape(name)}( \d+)?", known) is not None for known in targets.lines)
    return f"{name} {taken + 1}" if taken else name


def _read_target(name: str, line: int, node: Node, targets: Targets) -> None:
    label = f"target {values.shown(name)}"
    targets.lines[name] = line
    if not name.strip() or not name.isprintable() or name != name.strip():
        targets.problems.append((line, f"{label}: this cannot be the name of a target"))
        return
    try:
        targets.usable.append(Target(name, values.text(label, node, hidden=True).strip()))
    except Wrong as wrong:
        targets.problems += wrong.problems
