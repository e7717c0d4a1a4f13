"""An entry for watches.yaml, to be pasted: text that says exactly these keys, whatever stands in them.

It promises that the entry was read back by `config` and means what it should; a key that does not come back as it was
meant is left out. Names from pages are cut to one line, without what a shell would obey between double quotes or take
for an option, and what could be taken for YAML is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import count

from pagewatch import config
from pagewatch.errors import ConfigError
from pagewatch.jsondata import check_path
from pagewatch.model import Watch
from pagewatch.notices import harmless, one_line
from pagewatch.soup import check_selector
from pagewatch.values import duration

LONGEST_NAME = 60
HEAD = "watches:\n"

_PLAIN = re.compile(r"[A-Za-z](?:[\w ./()-]*[\w./)])?|\d{1,3}[mhdw]|https?://[\w./?&=%~+:;-]*[\w/=]", re.ASCII)
_NOT_PLAIN = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null")
_OBEYED = str.maketrans("", "", '`$"\\!')
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff]")

Value = str | tuple[str, ...] | bool


def name_of(title: str, url: str, taken: Collection[str] = ()) -> str:
    """A short name from the title of a page, or from its address where it has none; not one that is taken."""
    name = _short(title, url)
    numbered = (f"{name} {number}" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def _short(title: str, url: str) -> str:
    host, _, path = url.partition("://")[2].partition("/")
    for text in (title, f"{host} {path.partition('?')[0].strip('/')}"):
        line = one_line(_UNSHOWN.sub(" ", text).translate(_OBEYED)).lstrip("- ")
        if line:
            return one_line(line, LONGEST_NAME)
    return "Page"


def written(keys: Mapping[str, Value], remarks: Iterable[str] = ()) -> str:
    """The entry as it is pasted below `watches:`."""
    lines = [f"{key}: {_value(value)}" for key, value in keys.items()]
    lines += [f"# {one_line(remark)}" for remark in remarks]
    return harmless("\n".join(f"  {'- ' if number == 0 else '  '}{line}" for number, line in enumerate(lines)))


def said(keys: Mapping[str, Value]) -> str:
    """The keys in a sentence."""
    return "; ".join(f"{key}: {_said(value)}" for key, value in keys.items())


def _said(value: Value) -> str:
    return ", ".join(value) if isinstance(value, tuple) else _value(value)


def loaded(text: str) -> Watch | None:
    """The watch that an entry makes; None if anything is wrong with it."""
    data = (HEAD + text + "\n").encode("utf-8")
    try:
        read = config.load(data, file="watches.yaml", environment={})
        read = config.check(
            read, selector=check_selector, path=check_path, target=lambda url: None, file="watches.yaml"
        )
    except ConfigError:
        return None
    return read.watches[0] if len(read.watches) == 1 and not read.problems else None


def means(keys: Mapping[str, Value]) -> Watch | None:
    """The watch that these keys make once they are written, None where one of them does not come back as it was."""
    watch = loaded(written(keys))
    if watch is None or any(not _is(watch, key, value) for key, value in keys.items()):
        return None
    return watch


def _is(watch: Watch, key: str, value: Value) -> bool:
    if key == "number":
        return watch.number == (("", ""),)
    if key == "fields":
        return watch.counted == value
    if key == "every":
        return watch.every.low == watch.every.high == duration(str(value))
    return bool(getattr(watch, key) == value)


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_quoted, value))}]"
    return value if _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value) else _quoted(value)


def _quoted(text: str) -> str:
    """In double quotes, which YAML reads as JSON does (YAML 1.2 §7.3.1); what has quotes or backslashes in single ones,
    in which nothing is escaped but the quote."""
    text = text.replace("${", "$${")
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)
