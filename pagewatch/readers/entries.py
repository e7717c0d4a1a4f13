"""The entries of a feed, whatever its format: what a person reads in them, what identifies them, and which are known.

Texts are compared as they are read: other escaping, other tags around the same words and other white space are no
change. Entries that leave a feed stay known, so that one which comes back is not new; where a document has nothing
new, the items are exactly those that were known.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from urllib.parse import urljoin

from pagewatch import markup
from pagewatch.answers import FetchFailed, Item
from pagewatch.element_text import page_text
from pagewatch.fingerprint import collapse, comparable_item, normalise, without_noise
from pagewatch.model import Watch

MOST = 5_000  # items that are kept
LABEL = 80  # characters of a text that stands for a missing title
LONGEST_KEY = 500  # characters of a text that stands for a missing id
ESCAPES = 3  # how many times a text may have been escaped

Parts = Mapping[str, str]  # of an entry, by name, as a person reads them; "" where there is nothing

_COUNTED = ("title", "link", "summary")
_IDENTITY = ("id", "link", "title", "summary", "content")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][\dA-Fa-f]{1,6}|[A-Za-z][A-Za-z\d]{1,31});")
_TAG = re.compile(  # what people write only in HTML: end tags, tags with attributes, a few alone
    r"""(?i)</[a-z][a-z\d]*\s*>|<(?:br|hr|p|img|li|div)\b[^<>]*>|<[a-z][a-z\d]*\s+[\w-]+\s*=\s*["'][^<>]*>|<!--"""
)
_SCRIPT = re.compile(r"(?i)<(?:script|style)\b")
_ANY_TAG = re.compile(r"<[^<>]*>")
_ACTIVE = re.compile(r"(?i)(?:javascript|vbscript|data):")


def read_text(text: str) -> str:
    """Plain text in lines. Entities that are left in it were escaped twice."""
    for _ in range(ESCAPES):
        text = _unescaped(text)
    return normalise(text)


def read_html(text: str) -> str:
    """What a person reads in a piece of HTML, in lines."""
    tree = markup.parse(f"<div>{text}")
    return read_text(_ANY_TAG.sub(" ", text) if isinstance(tree, FetchFailed) else page_text(tree))


def read_either(text: str, titled: bool) -> str:
    """A text of which nobody says whether it is HTML, however often it was escaped. In a title (`titled`) <script>
    alone is a word."""
    for _ in range(ESCAPES):
        if _TAG.search(text) or (not titled and _SCRIPT.search(text)):
            return read_html(text)
        text = _unescaped(text)
    return normalise(text)


def address(base: str, link: str) -> str:
    """Where a link of an entry leads, of the web or not; "" where it leads nowhere or is a script."""
    try:
        found = urljoin(base, normalise(link).replace("\n", "").replace(" ", "%20")) if link else ""
    except ValueError:
        return ""
    return "" if _ACTIVE.match(found) else found


def items_of(
    entries: list[Parts], watch: Watch, known: tuple[Item, ...] | None
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The items of a document and those that are known besides, and remarks."""
    found = [_item(entry, watch) for entry in entries]
    current = tuple({comparable_item(item, watch): item for item in found if item.key}.values())
    remarks = _shared(current, watch.key or "id")
    if not entries and known is None:
        remarks += ("the feed has no entries",)
    if len(current) > MOST:
        remarks += (f"of its {len(current):,} entries the first {MOST:,} are watched",)
    return _with_known(current[:MOST], known or (), watch), remarks


# ---------------------------------------------------------------------------------------------------------- texts


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


# ---------------------------------------------------------------------------------------------------------- items


def _item(entry: Parts, watch: Watch) -> Item:
    """The item of an entry; its key is "" where there is nothing in it."""
    parts = {name: without_noise(text, watch.ignore_text) for name, text in entry.items()}
    parts["title"] = parts["title"].replace("\n", " ")
    key = next((parts[name] for name in (watch.key or "id", *_IDENTITY) if parts[name]), "")
    label = parts["title"] or _first_words(parts["summary"]) or entry["link"] or key
    fields = tuple((name, parts[name] or None) for name in watch.counted or _COUNTED)
    return Item(collapse(key)[:LONGEST_KEY], label, entry["link"], fields)


def _first_words(text: str) -> str:
    line = text.replace("\n", " ")
    return line if len(line) <= LABEL else line[:LABEL].rpartition(" ")[0].rstrip() + "…"


def _shared(current: tuple[Item, ...], name: str) -> tuple[str, ...]:
    """A remark where different entries have one key."""
    shared = [(key, count) for key, count in Counter(item.key for item in current).items() if count > 1]
    if not shared:
        return ()
    key, count = shared[0]
    more = f", and so it is with {len(shared) - 1} more" if len(shared) > 1 else ""
    return (f"{count} entries share the {name} {_first_words(key)}{more}",)


# ---------------------------------------------------------------------------------------------------------- known


def _with_known(current: tuple[Item, ...], known: tuple[Item, ...], watch: Watch) -> tuple[Item, ...]:
    """The current items, as they were known where they are equal in what counts, then those that have left."""
    now = {comparable_item(item, watch): item for item in current}
    before = {comparable_item(item, watch): item for item in known}
    if now.keys() <= before.keys():
        return known
    times_now, times_before = Counter(item.key for item in current), Counter(item.key for item in known)
    left = (item for form, item in before.items() if form not in now)
    departed = (item for item in left if times_now[item.key] != 1 or times_before[item.key] != 1)
    return (*(before.get(form, item) for form, item in now.items()), *departed)[:MOST]
