"""The keys that name parts of the watched content, numbers in it, and when a change of them is worth telling."""

from __future__ import annotations

import re

from pagewatch.nodes import Mapping, Node, Scalar, Sequence, Wrong
from pagewatch.values import (
    FLAGS,
    each,
    either,
    entries,
    line_of_text,
    nearest,
    regex,
    scalar_of,
    selector,
    shown,
    text,
    written,
)

FEED_PARTS = ("title", "link", "summary", "content", "author", "id", "published", "updated", "tags", "enclosures")
FEED_KEYS = ("id", "link", "title")
NUMERIC = ("below", "above", "changed_by")
CONDITIONS = ("contains", *NUMERIC)
MARKS = {",": ",", ".": "."}
NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
STEP = re.compile(r"[0-9]+(?:\.[0-9]+)?(?: ?%)?")


def fields(key: str, node: Node) -> tuple[tuple[str, str], ...] | tuple[str, ...]:
    """Pairs of name and `selector@attribute`; for feeds the list of what counts."""
    if isinstance(node, Sequence):
        counted = each(node.items, lambda item: _feed_part(key, item))
        return tuple(dict.fromkeys(counted)) or _empty(key, node)
    pairs = entries(key, node, 'a mapping of names and selectors, such as price: "#price"; for feeds a list')
    return each(pairs, lambda pair: _field(key, *pair)) or _empty(key, node)


def _field(key: str, name: Scalar, node: Node) -> tuple[str, str]:
    return field_name(key, name), selector(f"{key}: {name.text}", node)


def _feed_part(key: str, node: Node) -> str:
    part = line_of_text(key, node)
    if part not in FEED_PARTS:
        known = ", ".join(FEED_PARTS)
        raise Wrong(node.line, f"{key}: a feed has no {shown(part)}{nearest(part, FEED_PARTS)}; it has {known}")
    return part


def _empty(key: str, node: Node) -> tuple[str, ...]:
    raise Wrong(node.line, f"{key} is empty: name at least one, or leave the line out")


def field_name(key: str, name: Scalar) -> str:
    if not name.text.strip() or not name.text.isprintable():
        raise Wrong(name.line, f"{key}: {shown(name.text)} cannot be the name of a field")
    return name.text


def number(key: str, node: Node) -> tuple[tuple[str, str], ...]:
    """Decimal marks by field; the field "" is the whole text, the mark "" is inferred."""
    if not isinstance(node, Mapping):
        return _mark(key, "", node)
    marks = each(node.entries, lambda entry: _mark(f"{key}: {entry[0].text}", field_name(key, entry[0]), entry[1]))
    return tuple(pair for pairs in marks for pair in pairs)


def _mark(key: str, field: str, node: Node) -> tuple[tuple[str, str], ...]:
    scalar = scalar_of(key, node, 'true, "," or "."')
    if scalar.text in MARKS:
        return ((field, scalar.text),)
    if scalar.text.lower() not in FLAGS:
        wanted = 'true, or the decimal mark "," or "." in quotes'
        raise Wrong(node.line, f"{key} must be {wanted}, not {shown(scalar.written)}")
    return ((field, ""),) if FLAGS[scalar.text.lower()] else ()


def when(key: str, node: Node) -> tuple[tuple[str, str, str], ...]:
    """Conditions as (field, condition, operand); the field "" is the whole text. `always` is none."""
    if isinstance(node, Scalar) and node.text == "always":
        return ()
    pairs = entries(key, node, f"a mapping: {either(CONDITIONS)}, such as {{below: 20}}")
    found = each(pairs, lambda pair: _conditions(key, *pair))
    return tuple(condition for conditions in found for condition in conditions) or _no_condition(key, node)


def with_conditions(
    number: tuple[tuple[str, str], ...], conditions: tuple[tuple[str, str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """`number` with the fields that a condition takes for numbers."""
    needed = {field: "" for field, name, _ in conditions if name in NUMERIC}
    return tuple({**needed, **dict(number)}.items())


def _conditions(key: str, name: Scalar, node: Node) -> tuple[tuple[str, str, str], ...]:
    if not isinstance(node, Mapping):
        return ((("", name.text, _operand(key, name, node))),)
    field = field_name(key, name)
    label = f"{key}: {field}"
    found = each(node.entries, lambda pair: (field, pair[0].text, _operand(label, *pair)))
    return found or _no_condition(label, node)


def _no_condition(key: str, node: Node) -> tuple[tuple[str, str, str], ...]:
    raise Wrong(node.line, f"{key} is empty: write {either(CONDITIONS)}, or leave the line out")


def _operand(key: str, name: Scalar, node: Node) -> str:
    condition, label = name.text, f"{key}: {name.text}"
    if condition not in CONDITIONS:
        close = nearest(condition, CONDITIONS)
        raise Wrong(name.line, f"{key} knows no condition {shown(condition)}{close}; it knows {either(CONDITIONS)}")
    if condition == "contains":
        return regex(label, node)
    form, example = (STEP, "5%, or 5") if condition == "changed_by" else (NUMBER, "20 or 19.99")
    value = text(label, node).strip()
    if not form.fullmatch(value):
        raise Wrong(node.line, f"{label} must be a number with a point, such as {example}, not {written(node)}")
    if condition == "changed_by" and not value.strip("0.% "):
        raise Wrong(node.line, f"{label} must be more than 0: without it every change is told")
    return value.replace(" ", "")
