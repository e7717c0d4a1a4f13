"""Whether a selector will last: what in it comes from a tool or from the order of the page, and not from its author.

It promises short clauses for people, and none for a selector that rests on names which somebody has chosen. A class
that a build tool has made up is another one after the next build; the third child is another one after the next edit.
"""

from __future__ import annotations

import re

LONGEST_CHAIN = 3  # steps from parent to child that are not yet a copied path
SHOWN = 3  # names in one clause

_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_COUNTED = re.compile(r":nth-(?:last-)?(?:child|of-type)\([^)]*\)?")
_NAMES = re.compile(r"[.#]((?:[\w-]|\\.)+)")
_VALUES = re.compile(r"\[(?:class|id)[~|^$*]?=[\"']?((?:[\w-]|\\.)+)")
_FROM_THE_TOP = re.compile(r"\s*(?:html\b[^>]*>\s*)?body\b[^>]*>|\s*html\b[^>]*>")
_GENERATED = re.compile(
    r"(?:css|sc|jsx|jss|emotion|svelte|astro|styled|lit|tss)-(?=[\w-]*\d)[\w-]+"
    r"|sc-[A-Za-z]{4,}|jss\d+|makeStyles-.+-\d+|[\w-]+-sc-\w+-\d+"
    r"|_[a-z0-9]*\d[a-z0-9]*|_[A-Za-z0-9]+_[A-Za-z0-9]{4,}(?:_\d+)?"
    r"|[\w-]*__(?=\w*(?:\d[A-Za-z]|[a-z][A-Z]))\w{5}"
    r"|ng-tns-.*|_ng(?:content|host)-.*|data-v-[0-9a-f]+|cid-\w+"
    r"|(?:ember|ext-gen|yui|gwt-uid|react-select|mui|uid|auto|gen|id|el|view|t)[-_]?\d{2,}[\w-]*"
    r"|(?:radix|headlessui|react-aria)-.*|:r\w*:.*"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+"
)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_UNSPOKEN = re.compile(r"[B-DF-HJ-NP-TV-XZ]?[b-df-hj-np-tv-xz]+")
_SHORTENED = frozenset("btn css hdr lbl lg md nr pc pdf sm src tbl tv txt xl xml xs".split())
SHORT_HUMPS = 2.4  # letters between capitals on the average, up to which words are none


def reasons(selector: str, matched: int = 1, only_first: bool = True) -> tuple[str, ...]:
    """Why the selector may soon match something else, or nothing; `matched` is how many elements it matches now."""
    bare = _STRINGS.sub('""', selector)
    said = []
    if counted := tuple(dict.fromkeys(_COUNTED.findall(bare))):
        said.append(f"it counts siblings ({_some(counted)}), which another element moves")
    names = (name.replace("\\", "") for name in (*_NAMES.findall(bare), *_VALUES.findall(selector)))
    if made := tuple(dict.fromkeys(name for name in names if is_generated(name))):
        said.append(f"{_some(made)} looks generated: the next build of the site may rename it")
    steps = bare.count(">")
    if steps > LONGEST_CHAIN or (steps > 1 and _FROM_THE_TOP.match(bare)):
        said.append(f"it is a path of {steps + 1} steps, of which none may change")
    if matched > 1 and only_first:
        said.append(f"{matched:,} elements match, and the first is watched")
    return tuple(said)


def is_generated(name: str) -> bool:
    """Whether a class, an id or an attribute's value looks made up by a tool: css-1x2y3z, sc-AbCd, jss12, a hash."""
    return _GENERATED.fullmatch(name) is not None or any(_is_random(word) for word in re.split(r"[-_:]+", name))


def _is_random(word: str) -> bool:
    """Digits and letters by turns, a long hexadecimal number, or capitals where no word begins."""
    turns = len(re.findall(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]", word))
    if len(word) >= 6 and turns >= 3:
        return True
    if re.fullmatch(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}", word) and turns >= 2:
        return True
    humps = _HUMPS.findall(word) if word.isalpha() and word.isascii() else []
    if len(humps) < 3 or len(word) > SHORT_HUMPS * len(humps):
        return False
    return max(map(len, humps)) <= 2 or any(map(_is_unspoken, humps))


def _is_unspoken(hump: str) -> bool:
    """Whether it has no vowel, and is no abbreviation in capitals or one that is usual in names."""
    return len(hump) > 1 and _UNSPOKEN.fullmatch(hump) is not None and hump.lower() not in _SHORTENED


def _some(names: tuple[str, ...]) -> str:
    left = len(names) - SHOWN
    return ", ".join(name[:60] for name in names[:SHOWN]) + (f" and {left} more" if left > 0 else "")
