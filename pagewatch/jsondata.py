"""JSON: text in, values out, found by JMESPath, and written so that equal content is equal text.

Numbers keep their value, not their spelling: 1, 1.0 and 1e0 are one number, integers of any length are exact, and a
fraction that no float holds stays a Decimal. Members are sorted and written one a line, without commas, so that a new
member is one new line. A null that is there is a value; a member that is not there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, NoReturn

import jmespath
from jmespath.exceptions import EmptyExpressionError, JMESPathError, ParseError
from jmespath.functions import Functions

from pagewatch.answers import FetchFailed
from pagewatch.fingerprint import normalise

DEEPEST = 200  # levels
LONGEST_INTEGER = 4000  # digits; Python turns no more than 4,300 of them into an int
LONGEST_AMOUNT = 40  # digits
WHOLE = 300  # a number with an exponent below this is written out where it is whole

_WRAPPING = re.compile(r"^\s*(?://)?\s*(?:<!--|<!\[CDATA\[)|(?://)?\s*(?:-->|\]\]>)\s*$")  # against old browsers
_PREFIX = re.compile(r"\s*(?:\)\]\}',?|while\s*\(1\)\s*;|for\s*\(;;\)\s*;)")  # against being run as a script elsewhere
_CALLBACK = re.compile(r"\s*(?:/\*\*/\s*)?[\w.$\[\]]+\s*\((.*)\)\s*;?\s*", re.DOTALL)
_ASSIGNMENT = re.compile(r"""\s*(?:(?:var|let|const)\s+)?[\w.$\[\]"']+\s*=\s*(?=[{\[])""")


def read(text: str) -> Any:
    """The value of JSON text, also in a JSONP call or behind a guard such as `)]}',`; a FetchFailed `not-json`
    otherwise."""
    try:
        return _shallow(_decoder().decode(_unwrapped(text).strip("\ufeff \t\r\n")))
    except json.JSONDecodeError as error:
        place = "it begins with <" if text.lstrip()[:1] == "<" else f"line {error.lineno}, column {error.colno}"
        return FetchFailed("not-json", f"the answer is no JSON ({place})")
    except (ValueError, ArithmeticError):
        return FetchFailed("not-json", "the answer is no JSON (NaN or a number without end)")
    except RecursionError:
        return FetchFailed("not-json", "the answer nests too deeply to be read")


def read_script(text: str) -> Any:
    """The value of a page's script block: JSON, or the first one that it assigns (`window.STATE = {…}`); None if
    there is none."""
    text = _WRAPPING.sub("", text)
    assignment = _ASSIGNMENT.match(text)
    if assignment is None:
        value = read(text)
        return None if isinstance(value, FetchFailed) else value
    try:
        return _shallow(_decoder().raw_decode(text, assignment.end())[0])
    except (ValueError, ArithmeticError, RecursionError):
        return None


def check_path(path: str) -> str | None:
    """None where `path` is JMESPath, else one line with a ^ at the place in it."""
    try:
        unknown = _unknown_functions(jmespath.compile(path).parsed)
    except EmptyExpressionError:
        return "the path is empty"
    except RecursionError:
        return "the path is nested too deeply"
    except ParseError as error:
        place = error.lex_position
        return f'"{path[:place]}^{path[place:]}" is no JMESPath at the ^{_advice(path, place)}'
    return f'"{path}" uses a function that JMESPath does not have: {", ".join(unknown)}()' if unknown else None


def find(value: Any, path: str) -> list[Any]:
    """What `path` finds: one value, or nothing (an empty list). Only for a plain path of names and numbers is null a
    value."""
    expression = jmespath.compile(path)
    if _is_plain(expression.parsed):
        return _members([value], expression.parsed)
    try:
        found = expression.search(value)
    except JMESPathError:  # a function was given what it does not take, such as the length of a number
        return []
    return [] if found is None else [found]


def without_members(value: Any, names: Iterable[str]) -> Any:
    """The value without the members of these names, at any depth."""
    left_out = frozenset(names)
    if isinstance(value, dict):
        return {name: without_members(part, left_out) for name, part in value.items() if name not in left_out}
    return [without_members(part, left_out) for part in value] if isinstance(value, list) else value


def text_of(value: Any, ignore_order: bool = False) -> str:
    """A string as it is, any other value as JSON in lines; with `ignore_order` arrays are sorted, an element of the
    outermost one to a line."""
    if isinstance(value, str):
        return normalise(value)
    if ignore_order and isinstance(value, list):
        return "\n".join(" ".join(_written(part, "", True).split()) for part in value)
    return _written(value, "", ignore_order)


def plain(number: int | float | Decimal) -> str | None:
    """All digits of a number, without an exponent; None for one that is too long to be anybody's amount."""
    exact = Decimal(repr(number) if isinstance(number, float) else number)
    if abs(exact.adjusted()) > LONGEST_AMOUNT or len(exact.as_tuple().digits) > LONGEST_AMOUNT:
        return None
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# --------------------------------------------------------------------------------------------------------- reading


def _decoder() -> json.JSONDecoder:
    """Line ends in strings are read, which people write and RFC 8259 §7 forbids."""
    return json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_refused, strict=False)


def _shallow(value: Any) -> Any:
    """The value, unless it nests deeper than all of Python's releases can follow: the same text is JSON for all or
    for none."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for whole in level if isinstance(whole, dict | list) for part in _parts(whole)]
        if not level:
            return value
    raise RecursionError


def _parts(whole: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return whole.values() if isinstance(whole, dict) else whole


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= LONGEST_INTEGER else Decimal(digits)


def _fraction(digits: str) -> int | float | Decimal:
    exact = Decimal(digits)
    if exact.adjusted() < WHOLE and exact == exact.to_integral_value():
        return int(exact)
    nearest = float(exact)
    return nearest if Decimal(repr(nearest)) == exact else exact


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON (RFC 8259 §6)")


def _unwrapped(text: str) -> str:
    if guard := _PREFIX.match(text):
        return text[guard.end() :]
    call = _CALLBACK.fullmatch(text) if text.rstrip()[-1:] in (")", ";") else None
    return call[1] if call else text


# ----------------------------------------------------------------------------------------------------------- paths


def _advice(path: str, place: int) -> str:
    if path.startswith("$"):
        return ": it begins with the name of a member, without $"
    return ': a name with a - in it is written in double quotes, "a-b"' if path[place:][:1] == "-" else ""


def _unknown_functions(node: Any) -> list[str]:
    calls = node["type"] == "function_expression"
    own = [node["value"]] if calls and node["value"] not in Functions.FUNCTION_TABLE else []
    return own + [name for child in node["children"] if isinstance(child, dict) for name in _unknown_functions(child)]


def _is_plain(node: Any) -> bool:
    plain = node["type"] in ("field", "index", "identity", "subexpression", "index_expression")
    return plain and all(_is_plain(child) for child in node["children"])


def _members(values: list[Any], node: Any) -> list[Any]:
    for child in node["children"]:
        values = _members(values, child)
    if node["type"] == "field":
        return [value[node["value"]] for value in values if isinstance(value, dict) and node["value"] in value]
    if node["type"] == "index":
        at = node["value"]
        return [value[at] for value in values if isinstance(value, list) and -len(value) <= at < len(value)]
    return values


# --------------------------------------------------------------------------------------------------------- writing


def _written(value: Any, indent: str, ignore_order: bool) -> str:
    inner = indent + "  "
    if isinstance(value, dict):
        members = sorted((_string(name), _written(part, inner, ignore_order)) for name, part in value.items())
        return _block("{}", [f"{name}: {text}" for name, text in members], indent)
    if isinstance(value, list):
        parts = [_written(part, inner, ignore_order) for part in value]
        return _block("[]", sorted(parts) if ignore_order else parts, indent)
    return _string(value) if isinstance(value, str) else _scalar(value)


def _block(brackets: str, parts: list[str], indent: str) -> str:
    lines = "".join(f"{indent}  {part}\n" for part in parts)
    return f"{brackets[0]}\n{lines}{indent}{brackets[1]}" if parts else brackets


def _string(value: str) -> str:
    return json.dumps(normalise(value), ensure_ascii=False)


def _scalar(value: object) -> str:
    if isinstance(value, Decimal):
        precise = Context(prec=max(1, len(value.as_tuple().digits)), Emax=MAX_EMAX, Emin=MIN_EMIN)
        return str(value.normalize(precise))
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
    )
