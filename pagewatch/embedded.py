"""What the scripts of a page hold: JSON with the watched text in it, and its path; and whether they build the page.

JSON is sturdier than any selector: sites change their looks and keep their data. A path that is given here is a plain
one, of names and numbers, and finds the text in that script; which of them is best is guessed from the kind of the
script and the names on the way, and whoever proposes one tries it on the page first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from pagewatch import amounts, jsondata
from pagewatch.answers import Amount
from pagewatch.element_text import page_text, text_of
from pagewatch.extract import LITTLE_TEXT
from pagewatch.fingerprint import collapse
from pagewatch.frozen import dataclass
from pagewatch.markup import Node, Tree

MOST_VALUES = 200_000  # of one script
MOST_SCRIPTS = 200
LONGEST_TEXT = 2_000  # characters that are looked for
LONGEST_PATH = 200
LONGEST_AMOUNT = 60  # characters of a text that is a number with its unit
MOST_WORDS = 2  # beside it
FEWEST_DIGITS = 3  # of a number that is no coincidence wherever it stands

JSON_LD = "application/ld+json"
_NUMBER = re.compile(r"\d+(?:[.,'’\s]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_A_NUMBER = re.compile(r"(?i)price|amount|cost|value|total|count|number|rate|score|stock|quantity|level|balance")
_ROOTS = frozenset("root app __next __nuxt app-root main-app application svelte react-root gatsby ___gatsby".split())
_WAITING = r"loading|fetching|please wait|wird geladen|lädt|lade|chargement|cargando|carregando|caricamento"
_PLACEHOLDER = re.compile(
    rf"(?i)[\s.…·_–—-]*|(?:{_WAITING})(?:[ ,.…]+please wait)?[ .…!]*|(?:{_WAITING})(?: \w+){{1,3}} ?(?:\.\.+|…)"
    r"|\{\{[^{}]*\}\}|\$\{[^{}]*\}|\[\[[^\[\]]*\]\]|<%[^%]*%>"
)
LONGEST_PLACEHOLDER = 100  # characters
_PICTURES = ("img", "input", "meta", "video", "audio", "picture", "iframe", "embed", "object")
_STATE = re.compile(
    r"__NEXT_DATA__|__NUXT(?:_DATA)?__|__INITIAL_STATE__|__PRELOADED_STATE__|__APOLLO_STATE__|__STATE__"
)


@dataclass(frozen=True)
class Place:
    """Where JSON of a page holds a text: the path in it, and what the script is called."""

    path: str
    script: str


def places(tree: Tree, text: str) -> tuple[Place, ...]:
    """The places of `text`, the best guess first: the very text, or a number that is its amount."""
    wanted = collapse(text)
    if not wanted or len(wanted) > LONGEST_TEXT or tree.xml:
        return ()
    amount = amounts.read(wanted) if is_amount(text) else None
    ranked = []
    for number, (script, value) in enumerate(_blocks(tree)):
        kind, called = _kind(script), _called(script)
        for path, leaf in _leaves(value):
            rank = _rank(leaf, wanted, amount, path)
            if rank is not None:
                ranked.append((rank, kind != JSON_LD, number, len(path), path, called))
    return tuple(dict.fromkeys(Place(path, called) for *_, path, called in sorted(ranked)[:20]))


def is_amount(text: str) -> bool:
    """Whether a text is one number with its unit or a label, and little else: what it says is then its amount."""
    if len(text) > LONGEST_AMOUNT or "\n" in text:
        return False
    return len(_NUMBER.findall(text)) == 1 and len(_WORD.findall(text)) <= MOST_WORDS


def _blocks(tree: Tree) -> Iterator[tuple[Node, Any]]:
    for script in [*tree.root.iter("script")][:MOST_SCRIPTS]:
        value = jsondata.read_script(script.text or "")
        if isinstance(value, dict | list):
            yield script, value


def _kind(script: Node) -> str:
    return (script.get("type") or "").partition(";")[0].strip().lower()


def _called(script: Node) -> str:
    if _kind(script) == JSON_LD:
        return "JSON-LD"
    name = script.get("id") or next(iter(_STATE.findall((script.text or "")[:500])), "")
    return f"script {name[:40]}" if name else "a script"


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Each value that is no object and no array, with its path, in document order."""
    waiting, count = [("", value)], 0
    while waiting and count < MOST_VALUES:
        path, part = waiting.pop()
        count += 1
        if len(path) > LONGEST_PATH:
            continue
        if isinstance(part, dict):
            below = [(f"{path}.{_member(name)}" if path else _member(name), inner) for name, inner in part.items()]
        elif isinstance(part, list):
            below = [(f"{path}[{at}]", inner) for at, inner in enumerate(part[:MOST_VALUES])]
        else:
            yield path, part
            continue
        waiting.extend(reversed(below))


def _member(name: str) -> str:
    """A name as JMESPath has it; what is no plain word stands in quotes, in the form of a JSON string."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _rank(leaf: Any, wanted: str, amount: Amount | None, path: str) -> int | None:
    """0 for the very text, 1 for its number under a name that says so, 2 for it anywhere; None: something else."""
    if isinstance(leaf, str) and len(leaf) <= 2 * LONGEST_TEXT and collapse(leaf) == wanted:
        return 0
    if amount is None or amount.low != amount.high or isinstance(leaf, bool):
        return None
    if isinstance(leaf, int | float | Decimal):
        value = jsondata.plain(leaf)
    else:
        value = _plain(leaf) if isinstance(leaf, str) else None
    if value is None or value != amount.low:
        return None
    named = _OF_A_NUMBER.search(path.rpartition(".")[2]) is not None
    return 1 if named else 2 if sum(map(str.isdigit, value)) >= FEWEST_DIGITS else None


def _plain(leaf: str) -> str | None:
    """A string that is nothing but a number with a point."""
    return jsondata.plain(Decimal(leaf)) if re.fullmatch(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?", leaf) else None


# ---------------------------------------------------------------------------------------------- built by scripts


def built_by_script(tree: Tree) -> str:
    """Signs that scripts build the page in the browser, as a clause; "" where it has its text in the HTML."""
    scripts = [] if tree.xml else [*tree.root.iter("script")]
    if not scripts:
        return ""
    length = len(page_text(tree))
    root = next((element for element in tree.root.iter() if _is_app(element)), None)
    if root is None and length >= LITTLE_TEXT:
        return ""
    if root is None:
        return f"the HTML has {length:,} characters of text and {len(scripts)} scripts"
    named = f'{root.tag} id="{root.get("id")}"' if root.get("id") else str(root.tag)
    return f"<{named[:60]}> comes empty and is filled by a script"


def data(tree: Tree) -> str:
    """The scripts with data, "" if there are none."""
    return ", ".join(list(dict.fromkeys(_called(script) for script, _ in _blocks(tree)))[:3])


def has_scripts(tree: Tree) -> bool:
    return next(tree.root.iter("script"), None) is not None


def is_picture(elements: Iterable[Node]) -> bool:
    """Whether what they show is no text."""
    return any(True for element in elements for _ in element.iter(*_PICTURES))


def is_placeholder(text: str) -> bool:
    """Whether it is what a page shows until its scripts have run: nothing, dashes, "Loading...", "{{ price }}"."""
    return len(text) <= LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(collapse(text)) is not None


def _is_app(element: Node) -> bool:
    """Whether it is the element that a framework fills, and is empty."""
    name = (element.get("id") or "").lower()
    if name not in _ROOTS and element.tag != "app-root":
        return False
    return len(element) < LITTLE_TEXT and not text_of(element)
