"""What comes from outside the file: `.env`, ${NAME} in its values, and which texts must never be shown.

A variable that is not set is an error that names it, never an empty password. In the user part of a URL a value is
percent-encoded (RFC 3986 §3.2.1), so that an @ or a / in a password does no harm. `$5`, `$x` and keys stay as they are;
`$${` is a literal `${`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pagewatch import nodes
from pagewatch.errors import ConfigError
from pagewatch.frozen import dataclass, field
from pagewatch.model import Settings, Watch
from pagewatch.nodes import Broken, Node, Scalar
from pagewatch.urls import credentials

VARIABLE = re.compile(r"\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?")
USER_PART = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*@")  # up to the @: the user part may hold ${NAME}
# Patterns that few runs need are text: they are compiled when they are first met.
ASSIGNMENT = r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)"
QUOTED = r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")[ \t]*(?:#.*)?"""
NO_TEXT = "[\0\ud800-\udfff]"  # surrogates: how Python gives bytes of the environment that are not UTF-8
LEVELS = 4  # no key takes lists or mappings nested deeper

# Request headers that say nothing about their sender; hiding their values would blot out ordinary words of pages.
PUBLIC = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "dnt", "origin", "pragma", "referer", "user-agent"}
)


def read_environment_file(data: bytes, *, file: str = ".env") -> dict[str, str]:
    """The variables of a `.env` file: NAME=value lines, `#` comments, optional `export` and quotes. Raises ConfigError.

    Values are literal: no variables in them, and only \\\\ and \\" mean something else inside double quotes.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place, byte = f"{file}:{data[: error.start].count(10) + 1}", data[error.start]
        raise ConfigError([f"{place}: byte 0x{byte:02X} is not UTF-8: save the file as UTF-8"]) from None
    values: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if (stripped := line.strip()) and not stripped.startswith("#"):
            wrong = _assign(stripped, values)
            problems += [f"{file}:{number}: {wrong}"] if wrong else []
    if problems:
        raise ConfigError(problems)
    return values


def _assign(line: str, values: dict[str, str]) -> str:
    """Adds the line's variable to `values`, or says what is wrong with the line without showing any of it."""
    match = re.fullmatch(ASSIGNMENT, line)
    if not match:
        return "a line is NAME=value, where NAME has letters, digits and _ only"
    name, value = match.groups()
    if value[:1] in ("'", '"'):
        quoted = re.fullmatch(QUOTED, value)
        if not quoted:
            return f"the quotes around the value of {name} do not fit: end the value with the quote it begins with"
        value = quoted[1] if quoted[1] is not None else re.sub(r'\\(["\\])', r"\1", quoted[2])
    else:
        value = re.split(r"(?:^|\s+)#", value, maxsplit=1)[0]
    if "\0" in value:
        return f"the value of {name} holds a NUL character"
    if values.setdefault(name, value) != value:
        return f"{name} is set a second time, to another value: keep one"
    return ""


# ------------------------------------------------------------------------------------------------------- ${NAME}


@dataclass
class Used:
    """The names of the variables that were met, and by what they became the texts that have one in them."""

    names: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)


def fill(node: Node, environment: Mapping[str, str], used: Used, level: int = 0) -> Node:
    """The same node with ${NAME} replaced in its values. What cannot be is Broken."""
    if isinstance(node, Scalar):
        return _filled(node, environment, used) if "${" in node.text else node
    if level == LEVELS or isinstance(node, Broken):
        return node
    if isinstance(node, nodes.Sequence):
        items = tuple([fill(item, environment, used, level + 1) for item in node.items])
        return nodes.Sequence(items, node.line, node.flow)
    entries = tuple([(key, fill(value, environment, used, level + 1)) for key, value in node.entries])
    return nodes.Mapping(entries, node.line, node.flow)


def _filled(scalar: Scalar, environment: Mapping[str, str], used: Used) -> Node:
    names = [match[1] for match in VARIABLE.finditer(scalar.text) if not match[0].startswith("$$")]
    used.names.update(name for name in names if name)
    if None in names:
        rule = "${ begins a variable, ${NAME} with letters, digits and _; write $${ where it is meant literally"
        return Broken(scalar.line, rule, scalar.written)
    unset = ", ".join(dict.fromkeys(f"${{{name}}}" for name in names if name not in environment))
    if unset:
        advice = "set it in the environment, or in a file .env beside this one"
        return Broken(scalar.line, f"{unset} is not set: {advice}", scalar.written)
    odd = ", ".join(f"${{{name}}}" for name in names if re.search(NO_TEXT, environment[name]))
    if odd:
        return Broken(scalar.line, f"{odd} holds bytes that are not UTF-8", scalar.written)
    user_part = USER_PART.match(scalar.text)
    end = user_part.end() if user_part else 0

    def value(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        found = environment[match[1]]
        return quote(found, safe="") if match.end() <= end else found

    text = VARIABLE.sub(value, scalar.text)
    used.written[text.strip()] = scalar.text
    return scalar._replace(text=text)


# --------------------------------------------------------------------------------------------------- what to hide


def without_password(url: str) -> str:
    """The URL as it may be shown: on one line, no password in its user part."""
    clean = url.strip()
    if not clean.isprintable():
        clean = "".join(character if character.isprintable() else "\ufffd" for character in clean)
    return re.sub(r"//([^/?#@:]*):[^/?#]*@", r"//\1@", clean, count=1)


def secrets(
    names: Iterable[str], environment: Mapping[str, str], settings: Settings, watches: Iterable[Watch]
) -> frozenset[str]:
    """Every text that must not be shown: values of the variables of these names and of headers, targets' URLs, the
    ping, passwords and tokens; some of them percent-encoded too, as they stand in URLs."""
    values = [settings.ping, *(environment[name] for name in names if name in environment)]
    found = {text for value in values for text in (value, quote(value, safe="", errors="replace"))}
    for target in settings.targets:
        found.update(_of_target(target.url))
    for watch in watches:
        found.update(_of_user_part(watch.url))
        for name, value in watch.headers:
            if name.lower() not in PUBLIC:
                found.update((value, value.partition(" ")[2] if "authorization" in name.lower() else ""))
    return frozenset(found - {""})


def _of_user_part(url: str) -> Iterator[str]:
    """The password of a URL, as written and decoded."""
    if "@" not in url:
        return
    user_part = re.match(r"[^/]*//([^/?#]*)@", url)
    password = user_part[1].partition(":")[2] if user_part else ""
    yield from (password, unquote(password))
    with suppress(ValueError):  # it is no address
        yield credentials(url).partition(" ")[2]


def _of_target(url: str) -> Iterator[str]:
    """A target's URL, and those parts of it that look like tokens: services put them into host, path or query."""
    yield url
    yield from _of_user_part(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    texts = [parts.netloc.rpartition("@")[2], *parts.netloc.rpartition("@")[0].split(":"), *parts.path.split("/")]
    texts += [value for _, value in parse_qsl(parts.query)]
    for text in texts:
        if _is_token(text):
            yield from (text, unquote(text))


def _is_token(text: str) -> bool:
    """Long, and of letters and digits as people do not write them: no host, no address, no word."""
    mixed = any(c.isdigit() for c in text) or not (text.islower() or text.isupper())
    return len(text) >= 8 and mixed and not re.search(r"[@\s]|^[\w-]+(\.[\w-]+)+(:\d+)?$", text)
