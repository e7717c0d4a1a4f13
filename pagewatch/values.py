"""One value of watches.yaml: a node in, what it means out, or `Wrong` with the line and what to write instead.

Messages begin with the key and show what stands in the file, never what a ${NAME} became. Nothing is guessed: a word
that is not one of the allowed ones, a list where text is wanted, text that an unquoted # has cut off are errors, for
each would otherwise watch something else than was meant, silently.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from pagewatch import nodes
from pagewatch.model import Every
from pagewatch.nodes import Broken, Mapping, Node, Scalar, Wrong

T = TypeVar("T")

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# (a+)+, (\w+\s*)*: on some texts it takes exponential time, and nothing can stop it.
_ATOM = r"(?:\\.|\[\^?\]?[^\]]*\]|[^()\[\]\\|+*?{}])"
ENDLESS = re.compile(rf"\((?:\?:|\?P<\w+>)?{_ATOM}[+*](?:{_ATOM}[*?])*\)(?:[+*]|\{{\d+,\d*\}})")
DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([smhdw]?)")
LONGEST = 1e10  # seconds; more than any bound, less than a timedelta holds
AUTO = Every(timedelta(hours=1), timedelta(days=30))
FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
LONGEST_SHOWN = 60
COMMENT = "an unquoted # starts a YAML comment"
LISTS = frozenset({"alert", "ignore", "ignore_text", "notify"})  # keys whose values mostly stand in lists
EXAMPLES = {
    "notify": "[] for none",
    "select": '"#price"',
    "items": '"li.offer"',
    "ignore": '".ad"',
    "url": '"https://example.org/"',
}


# ----------------------------------------------------------------------------------------------------------- text


def text(key: str, node: Node, *, hidden: bool = False) -> str:
    """Text as written; `hidden` where it is not to be shown. A null is an unquoted # or a value that was forgotten."""
    scalar = scalar_of(key, node, "text")
    if scalar.comment:
        raise Wrong(node.line, _cut(key, scalar, hidden))
    if is_null(scalar) or not scalar.text.strip():
        raise Wrong(node.line, _empty(key, scalar))
    if odd := CONTROL.search(scalar.text):
        advice = "a backslash in \"double quotes\" starts an escape, use 'single quotes'"
        raise Wrong(node.line, f"{key} has the character U+{ord(odd[0]):04X}, which is no text; {advice}")
    return scalar.text.rstrip("\n")


def _empty(key: str, scalar: Scalar) -> str:
    if scalar.text != scalar.written:
        return f"{key} is empty: {shown(scalar.written)} has an empty value"
    example = f"write {key}: {EXAMPLES[key]}" if key in EXAMPLES else "write a value"
    return f"{key} is empty: {example}, or leave the line out"


def _cut(key: str, scalar: Scalar, hidden: bool) -> str:
    """What an unquoted # did to a value: took all of it, or its end."""
    if hidden:
        return f"{key} is cut off; {COMMENT}, put the value in quotes (or a space behind the #, if it is a remark)"
    place = "" if key in LISTS else f"{key.rpartition(': ')[2]}: "
    if is_null(scalar):
        return f"{key} is empty; {COMMENT}, write {place}{_quoted(scalar.comment)}"
    whole = _quoted(masked(f"{scalar.written} {scalar.comment}"))
    advice = f"write {place}{whole} (or a space behind the #, if it is a remark)"
    return f"{key} is cut off before {shown(scalar.comment)}; {COMMENT}, {advice}"


def _quoted(value: str) -> str:
    """As YAML that means `value`."""
    if '"' not in value and "\\" not in value:
        return f'"{value}"'
    return "'{}'".format(value.replace("'", "''"))


def line_of_text(key: str, node: Node) -> str:
    """Text in one line, without white space around it."""
    value = text(key, node).strip()
    if re.search(r"[\n\x80-\x9f\u2028\u2029]", value):
        raise Wrong(node.line, f"{key} must be one line of text")
    return value


def names(key: str, node: Node) -> tuple[str, ...]:
    """A list of names, each once, or a single one."""
    return tuple(dict.fromkeys(each(items(key, node), lambda item: line_of_text(key, item))))


def choice(key: str, node: Node, options: Sequence[str]) -> str:
    scalar = scalar_of(key, node, either(options))
    if scalar.text not in options:
        close = nearest(scalar.text, options)
        raise Wrong(node.line, f"{key} must be {either(options)}, not {shown(scalar.written)}{close}")
    return scalar.text


def flag(key: str, node: Node) -> bool:
    scalar = scalar_of(key, node, "true or false")
    if scalar.text.lower() not in FLAGS:
        raise Wrong(node.line, f"{key} must be true or false, not {shown(scalar.written)}")
    return FLAGS[scalar.text.lower()]


def selector(key: str, node: Node) -> str:
    """A CSS selector; whether it is one is checked later, by what will select with it."""
    value = text(key, node).strip().replace("\n", " ")
    if isinstance(node, Scalar) and node.plain and re.fullmatch(r"(data|aria)-[\w-]+|[\w-]+[~|^$*]?=.*", value):
        advice = f'an unquoted [ starts a YAML list, write "[{node.written}]" in quotes'
        raise Wrong(node.line, f"{key} {shown(node.written)} is no CSS selector; {advice}")
    return value


def selectors(key: str, node: Node) -> tuple[str, ...]:
    return each(items(key, node), lambda item: selector(key, item))


def regexes(key: str, node: Node) -> tuple[str, ...]:
    return each(items(key, node), lambda item: regex(key, item))


def regex(key: str, node: Node) -> str:
    value = text(key, node)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        reason = "it is too large"
        if isinstance(error, re.error):
            reason = f"{error.msg} at character {(error.pos or 0) + 1}"
        raise Wrong(node.line, f"{key} {written(node)} is not a regular expression: {reason}") from None
    if ENDLESS.search(value):
        reason = "repeats what is repeated already, which can take for ever: write a+ for (a+)+"
        raise Wrong(node.line, f"{key} {written(node)} {reason}")
    return value


# -------------------------------------------------------------------------------------------------------- numbers


def whole_number(key: str, node: Node, low: int, high: int) -> int:
    scalar = scalar_of(key, node, "a whole number")
    if not re.fullmatch(r"[0-9]{1,9}", scalar.text) or not low <= int(scalar.text) <= high:
        raise Wrong(node.line, f"{key} must be a whole number from {low} to {high}, not {shown(scalar.written)}")
    return int(scalar.text)


def whole_numbers(key: str, node: Node, low: int, high: int) -> tuple[int, ...]:
    values = each(items(key, node), lambda item: whole_number(key, item, low, high))
    if not values:
        raise Wrong(node.line, f"{key} is empty: give at least one number, or leave the line out")
    return tuple(dict.fromkeys(values))


def duration(text: str) -> timedelta:
    """`30m`, `6h`, `1d`, `2w`; a bare number is seconds. Raises ValueError."""
    match = DURATION.fullmatch(text)
    if not match:
        raise ValueError(text)
    return timedelta(seconds=min(float(match[1]) * SECONDS[match[2]], LONGEST))


def bounded_duration(key: str, node: Node, low: str, high: str) -> timedelta:
    scalar = scalar_of(key, node, "a duration such as 20s")
    try:
        value = duration(scalar.text)
    except ValueError:
        forms = "write 20s, 2m, or a bare number of seconds"
        raise Wrong(node.line, f"{key} {shown(scalar.written)} is not a duration: {forms}") from None
    if not duration(low) <= value <= duration(high):
        raise Wrong(node.line, f"{key} must be from {low} to {high}, not {shown(scalar.written)}")
    return value


def every(key: str, node: Node) -> Every:
    """An interval, bounds (A..B), or `auto`."""
    scalar = scalar_of(key, node, "an interval such as 6h")
    if scalar.text == "auto":
        return AUTO
    low, dots, high = scalar.text.partition("..")
    try:
        bounds = Every(duration(low.strip()), duration((high if dots else low).strip()))
    except ValueError:
        forms = "30m, 6h, 1d, 2w, a bare number of seconds, auto, or bounds such as 1h..30d"
        raise Wrong(node.line, f"{key} {shown(scalar.written)} is not an interval: write {forms}") from None
    if bounds.low > bounds.high:
        raise Wrong(node.line, f"{key} {shown(scalar.written)} has its bounds in the wrong order")
    if bounds.low < duration("1s") or bounds.high > duration("366d"):
        raise Wrong(node.line, f"{key} must be from 1s to 366d, not {shown(scalar.written)}")
    return bounds


# -------------------------------------------------------------------------------------------------------- nodes


def scalar_of(key: str, node: Node, wanted: str) -> Scalar:
    """The node, if it is a single value."""
    if isinstance(node, Scalar):
        return node
    if isinstance(node, Broken):
        raise Wrong(node.line, f"{key}: {node.message}")
    kind = "list" if isinstance(node, nodes.Sequence) else "mapping"
    raise Wrong(node.line, f"{key} must be {wanted}, not a {kind}{_meant(key, node)}")


def _meant(key: str, node: nodes.Sequence | Mapping) -> str:
    """Advice where a selector or a URL was made a list or a mapping by its own bracket."""
    name = key.rpartition(": ")[2]
    is_selector = key in ("select", "items") or key.startswith("fields: ")
    if is_selector and isinstance(node, nodes.Sequence):
        only = node.items[0] if len(node.items) == 1 and node.flow else None
        if isinstance(only, Scalar) and only.plain:
            return f"; an unquoted [ starts a YAML list, write {name}: {_quoted(f'[{only.written}]')}"
        return "; join several selectors with a comma, in quotes"
    if key == "url" and isinstance(node, Mapping) and node.flow:
        return "; an unquoted { starts a YAML mapping, put the URL in quotes"
    return ""


def items(key: str, node: Node) -> tuple[Node, ...]:
    """The nodes of a list; a single value is a list of one."""
    if isinstance(node, nodes.Sequence):
        return node.items
    return (scalar_of(key, node, "text, or a list of texts"),)


def entries(key: str, node: Node, wanted: str) -> tuple[tuple[Scalar, Node], ...]:
    if isinstance(node, Mapping):
        return node.entries
    if isinstance(node, Broken):
        raise Wrong(node.line, f"{key}: {node.message}")
    raise Wrong(node.line, f"{key} must be {wanted}")


def is_null(scalar: Scalar) -> bool:
    """Whether nothing was written, not even quotes."""
    return scalar.plain and scalar.written in NULLS


def each(nodes: Iterable[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    """All of them read; one `Wrong` for all that are wrong."""
    values: list[T] = []
    problems: list[tuple[int, str]] = []
    for node in nodes:
        try:
            values.append(read(node))
        except Wrong as wrong:
            problems += wrong.problems
    if problems:
        raise Wrong.together(problems)
    return tuple(values)


def written(node: Node) -> str:
    """A value as it stands in the file, to be shown."""
    return shown(node.written) if isinstance(node, Scalar) else ""


def shown(value: str) -> str:
    """In quotes, on one line, not too long, without a password in a URL."""
    clean = "".join(character if character.isprintable() else "\ufffd" for character in masked(value))
    return f'"{clean}"' if len(clean) <= LONGEST_SHOWN else f'"{clean[:LONGEST_SHOWN]}…"'


def masked(value: str) -> str:
    """Without the user part of a URL."""
    return re.sub(r"//[^/?#\s]*@", "//…@", value)


def nearest(word: str, known: Iterable[str]) -> str:
    """A clause that suggests the known word which was probably meant."""
    close = difflib.get_close_matches(word.lower().replace("-", "_"), list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def either(options: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))
