"""What to do better about a watch, from one look at its page or two: clauses for people, and keys for watches.yaml.

It promises that every key it proposes was tried on the page: the watch with that key sees the very content that it sees
without it, or, where it sees nothing now, what it saw before. What cannot be tried is said as words only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from pagewatch import amounts, brittle, diff, embedded, entry, markup, noise, pace, sources
from pagewatch.announced import API, FEED, HUB, JSON_FEED, OEMBED, SITEMAP, announced
from pagewatch.answers import Amount, Ask, Extract, FetchFailed, NoMatch, Observation, Representation
from pagewatch.arithmetic import written
from pagewatch.element_text import body, is_in, outermost
from pagewatch.entry import Value
from pagewatch.extract import select
from pagewatch.fingerprint import collapse
from pagewatch.frozen import dataclass, field, replace
from pagewatch.markup import Node, Tree
from pagewatch.matching import line_differences
from pagewatch.model import Watch, split_attribute
from pagewatch.moved import Moved, moved
from pagewatch.sturdy import Index, index, selector_for
from pagewatch.urls import without_login

MOST_PLACES = 5  # in embedded JSON that are tried
LEAVING_OUT = ("fields", "ignore", "ignore_text", "ignore_order")  # keys that make two looks equal
ORDER = ("name", "url", "source", "select", "path", *LEAVING_OUT, "number", "every")  # in an entry
CHOOSING = ("source", "select", "match", "path", "counted", *LEAVING_OUT[1:], "number")  # what proposals change
EMPTY = "is empty"
LONGEST_PRICE = 40  # characters of a text that is a price and nothing else

Seen = Observation | NoMatch | FetchFailed
Line = tuple[str, str]  # subject and clause

_WHAT_TO_DO = {
    FEED: "watch it instead if you want its entries: they are items, without select",
    JSON_FEED: "watch it instead if you want its entries: they are items, without select",
    SITEMAP: "tells of new and removed pages: watch it with source: sitemap",
    API: "the same content as JSON: watch it with path",
    OEMBED: "title and author as JSON: watch it with path",
    HUB: "WebSub: feed readers that subscribe there are told at once; here the feed is polled",
}


@dataclass(frozen=True)
class Advice:
    """Lines under a heading, and the keys that they propose."""

    lines: tuple[Line, ...] = ()
    keys: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """An answer as `watch` reads it. `ask` gets what else belongs to the source."""

    watch: Watch
    answer: Representation
    ask: Ask
    known: dict[Watch, Seen] = field(default_factory=dict)

    @property
    def seen(self) -> Seen:
        return self.read(self.watch)

    def read(self, watch: Watch) -> Seen:
        """What another watch would see in this answer, read once for each that selects otherwise."""
        same = replace(self.watch, **{key: getattr(watch, key) for key in CHOOSING})
        if same not in self.known:
            self.known[same] = sources.read(same, self.answer, self.ask)
        return self.known[same]

    @cached_property
    def tree(self) -> Tree | None:
        """The page, None where the source is another."""
        reading = sources.describe(self.watch, self.answer)
        if isinstance(reading, FetchFailed) or reading.source != "page":
            return None
        tree = markup.parse(reading.text, self.answer.media_type)
        if isinstance(tree, FetchFailed):
            return None
        chosen = self.watch.items or self.watch.select
        if tree.torn and chosen and any(element.tag in tree.torn for element in tree.find(chosen)):
            tree = tree.reread()  # as `extract` does
        select(tree, self.watch, self.answer.url)  # gives tables the tbody that a copied selector may ask for
        return tree

    @cached_property
    def index(self) -> Index | None:
        return None if self.tree is None else index(self.tree)

    def elements(self) -> list[Node]:
        """Those whose text is watched; none where a path is."""
        if self.tree is None or self.watch.path:
            return []
        selector = self.watch.items or self.watch.select
        if not selector:
            return [body(self.tree)]
        left_out = frozenset(element for ignored in self.watch.ignore for element in self.tree.find(ignored))
        found = [element for element in self.tree.find(selector) if not is_in(element, left_out)]
        return outermost(found) if self.watch.items or self.watch.match == "all" else found[:1]


# ------------------------------------------------------------------------------------------- selector and content


def of_selector(look: Look) -> Advice:
    """Why the selector may not last, and a sturdier one that matches the very same elements."""
    watch, seen = look.watch, look.seen
    if not watch.select or not isinstance(seen, Observation) or look.index is None:
        return Advice()
    why = brittle.reasons(watch.select, seen.extract.matched, watch.match == "first")
    lines = tuple(("brittle", reason) for reason in why)
    if not lines:
        return Advice()
    proposal = selector_for(look.index, look.elements(), but=watch.select) if not (watch.items or watch.fields) else ""
    if proposal and _shows(look.read(replace(watch, select=proposal)), seen.extract):
        return Advice((*lines, ("sturdier", f"{proposal} matches the same and nothing else")), {"select": proposal})
    return Advice((*lines, ("sturdier", "no other selector was found that matches the same and would last longer")))


def of_content(look: Look) -> Advice:
    """Whether the watched text is in the HTML, or what scripts would make of the page."""
    tree, watch = look.tree, look.watch
    if tree is None or tree.xml or watch.path:
        return Advice()
    built = embedded.built_by_script(tree)
    found = isinstance(look.seen, Observation) and look.seen.extract.matched > 0
    waiting = waiting_for(look)
    if waiting == EMPTY and not built and (embedded.is_picture(look.elements()) or not embedded.has_scripts(tree)):
        return Advice((("html", "the element is there, but there is no text in it"),))
    if found and watch.select and not waiting:
        return Advice((("html", "yes: the watched text is in what the server sends, no script is needed"),))
    if not built and not waiting:
        said = "the HTML has text, and what is watched is not in it"
        return Advice() if found else Advice((("html", said),))
    lines = [("html", f"the element is there, but {waiting}: it is probably filled by a script")] if waiting else []
    why = f"scripts: {built}" if built else "scripts"
    lines.append(("built by", f"{why}; what they show in a browser is not in what the server sends"))
    if data := embedded.data(tree):
        lines.append(("data", f"in {data}: write path: and the way to your value in it, in the place of select"))
    else:
        lines.append(("data", "none in the HTML: look in the browser's network tab for JSON, and watch its address"))
    return Advice(tuple(lines))


def waiting_for(look: Look) -> str:
    """That the watched element is empty, or has a placeholder on a page with scripts, as a clause; else ""."""
    watch = replace(look.watch, number=())
    seen = look.read(watch)
    if look.tree is None or not isinstance(seen, Observation) or not seen.extract.matched or not watch.select:
        return ""
    values = [value or "" for _, value in seen.extract.fields] or [diff.words(seen.extract)]
    if watch.ignore or watch.ignore_text or not all(map(embedded.is_placeholder, values)):
        return ""
    held = next(filter(None, map(collapse, values)), "")
    if held and not embedded.has_scripts(look.tree):
        return ""
    return f'holds no more than a placeholder, "{held}"' if held else EMPTY


def of_sources(look: Look, lastmod: tuple[str, str] | None = None) -> Advice:
    """Better sources that the page announces or holds; `lastmod` is the site's sitemap and what it says of the page."""
    page = announced(look.tree, look.answer.url, look.answer.links)
    lines = [(one.kind, f"{one.url}{_titled(one.title)}: {_WHAT_TO_DO[one.kind]}") for one in page]
    if lastmod:
        url, when = lastmod
        lines.append(("sitemap", f"{url} gives this page the lastmod {when}: hint: sitemap spares requests"))
    text = _text_of(look)
    path = path_to(look, text) if text else None
    if path:
        lines.append(("embedded", f"{path.script} holds the watched text: path: {path.path} in the place of select"))
    return Advice(tuple(lines))


def _titled(title: str) -> str:
    return f' "{title}"' if title else ""


def _text_of(look: Look) -> str:
    """The text that a selector has found."""
    seen, watch = look.seen, look.watch
    if not isinstance(seen, Observation) or not watch.select or watch.path or seen.extract.items or watch.fields:
        return ""
    return seen.extract.text


def path_to(look: Look, text: str) -> embedded.Place | None:
    """A path into the page's JSON that finds this text, or its amount."""
    if look.tree is None:
        return None
    wanted = Extract(text)
    for place in embedded.places(look.tree, text)[:MOST_PLACES]:
        if _shows(look.read(replace(look.watch, select="", match="first", path=place.path)), wanted):
            return place
    return None


def _shows(seen: Seen, wanted: Extract) -> bool:
    """Whether a look shows this very content, or, of a short text, its amount."""
    if not isinstance(seen, Observation):
        return False
    text, other = collapse(diff.words(seen.extract)), collapse(diff.words(wanted))
    if text == other or not (embedded.is_amount(text) and embedded.is_amount(other)):
        return text == other
    read, known = seen.extract.amounts or _read(text), wanted.amounts or _read(other)
    return bool(read) and [(one.low, one.high) for one in read] == [(one.low, one.high) for one in known]


def _read(text: str) -> tuple[Amount, ...]:
    amount = amounts.read(text)
    return () if amount is None else (amount,)


# ------------------------------------------------------------------------------------- how often, and what has moved


def of_pace(answer: Representation, now: datetime) -> Advice:
    """An interval that fits what the server says."""
    found = pace.suggested(answer.validators.last_modified, answer.fresh_for, now)
    if found is None:
        return Advice()
    every = written(found.every)
    return Advice((("every", f"{every}: {found.why}"),), {"every": every})


def of_moved(look: Look, known: Extract) -> Advice:
    """Where that stands now which was seen at the last good look, and is not found any more."""
    watch, missed = look.watch, look.seen
    if look.index is None or watch.items or not isinstance(missed, NoMatch) or missed.kind not in ("selector", "path"):
        return Advice()
    if watch.fields:
        return _of_fields(look.index, watch, known)
    text = known.text
    lines: list[Line] = []
    keys: dict[str, Value] = {}
    found = moved(look.index, text, watch.select) if not watch.path else None
    if found and _shows(look.read(replace(watch, select=found.selector)), Extract(found.text)):
        lines.append(("moved to", f"{found.selector}: {_how(found)}"))
        keys["select"] = found.selector
    if text and (place := path_to(look, text)):
        lines.append(
            ("embedded", f"{place.script} holds the last known text: path: {place.path} in the place of select")
        )
        keys = keys or {"path": place.path}
    return Advice(tuple(lines) or (("moved to", "nothing on the page is much like the last known text"),), keys)


def _how(found: Moved) -> str:
    if found.same:
        return "the last known text stands there now"
    return f"it is most like the last known text: {found.text[: noise.LONGEST_SHOWN]}"


def _of_fields(known: Index, watch: Watch, before: Extract) -> Advice:
    """The same for each field that is an element's text."""
    values, lines = dict(before.fields), []
    for name, where in watch.fields:
        selector, attribute = split_attribute(where)
        value = values.get(name)
        if value and not attribute and (found := moved(known, value, selector)):
            lines.append(("moved to", f"{name}: {found.selector}: {_how(found)}"))
    return Advice(tuple(lines))


# ---------------------------------------------------------------------------------------------------- a second look


def of_second(first: Look, second: Look) -> Advice:
    """What differs between two looks in a row, and what makes them equal."""
    one, other = first.seen, second.seen
    if not isinstance(one, Observation) or not isinstance(other, Observation):
        return Advice((("twice", "one of the two looks did not show the watched part"),))
    if one.fingerprint == other.fingerprint:
        return Advice((("twice", "the second look shows the same: nothing to ignore"),))
    lines = noise.shown(*line_differences(diff.words(one.extract), diff.words(other.extract)))
    keys = next(filter(None, (_equal(first, second, keys) for keys in _options(first, second, one, other))), {})
    if not keys and one.representation.source in ("feed", "sitemap"):
        return Advice(lines or (("twice", "the second look shows something else in the same entries"),))
    if not keys:
        return Advice((*lines, ("ignore", "no proposal: nothing tells what differs from what is content; select less")))
    return Advice((*lines, ("proposal", f"{entry.said(keys)} makes the two looks equal")), keys)


def _options(first: Look, second: Look, one: Observation, other: Observation) -> Iterable[Mapping[str, Value]]:
    """What might make the looks equal, the least first."""
    yield {"ignore_order": True}
    ignored: tuple[str, ...] = ()
    said = noise.patterns(one.extract, other.extract)
    if first.index is not None and second.index is not None:
        sights = (noise.Sight(look.index, look.elements()) for look in (first, second) if look.index is not None)
        ignored = noise.elements(*sights)
    elif one.representation.source == "json":
        ignored = noise.members(one.extract, other.extract)
    options = ({"ignore": ignored}, {"ignore_text": said}, {"ignore": ignored, "ignore_text": said})
    yield from (option for option in options if all(option.values()))
    if one.representation.source == "feed" and (kept := noise.kept_fields(one.extract, other.extract)):
        yield {"source": "feed", "fields": kept}


def _equal(first: Look, second: Look, keys: Mapping[str, Value]) -> Mapping[str, Value]:
    """The keys, if with them both looks show the same and still something; else none."""
    watch, added = first.watch, dict(keys)
    for key in ("ignore", "ignore_text"):
        if key in keys:
            added[key] = (*getattr(watch, key), *keys[key])  # type: ignore[misc]
    values = {"counted" if key == "fields" else key: value for key, value in added.items()}
    seen = [look.read(replace(watch, **values)) for look in (first, second)]  # type: ignore[arg-type]
    shown = [one.fingerprint for one in seen if isinstance(one, Observation) and diff.words(one.extract)]
    return added if len(shown) == 2 and shown[0] == shown[1] else {}


# --------------------------------------------------------------------------------------------------------- an entry


def entry_for(looks: Sequence[Look], keys: Mapping[str, Value], taken: Collection[str] = ()) -> str:
    """Lines to paste into watches.yaml that watch the same with all that is proposed, "" where none do. A second look
    has to show the same as the first. `taken` are the names of other watches."""
    look = looks[0]
    if not isinstance(look.seen, Observation):
        return ""
    title = look.tree.root.findtext(".//title") if look.tree is not None else ""
    given: dict[str, Value] = {
        "name": entry.name_of(title or "", look.answer.url, taken),
        "url": look.answer.moved_to or without_login(look.watch.url),
        "select": look.watch.select,
    }
    given = {key: value for key, value in given.items() if value}
    text = diff.words(look.seen.extract)
    price = look.seen.extract.items is None and len(text) <= LONGEST_PRICE and amounts.is_price(text)
    pace = {key: keys[key] for key in keys if key == "every"}
    for proposed in ({**keys, **({"number": True} if price else {})}, keys, pace, {}):
        whole = {**given, **proposed}
        watch = entry.means(whole)
        if watch is not None and _shows_all(looks, watch, whole):
            return entry.written(dict(sorted(whole.items(), key=lambda pair: ORDER.index(pair[0]))), _remarks(look))
    return ""


def _remarks(look: Look) -> Iterable[str]:
    """What the user has to know about an entry."""
    url, seen = look.watch.url, look.seen
    if without_login(url) != url:
        yield "the login is left out: put it into .env and write https://${SITE_USER}:${SITE_PASSWORD}@… as url"
    if waiting := waiting_for(look):
        yield f"the element that is selected {waiting}"
    if isinstance(seen, Observation) and seen.extract.items == ():
        yield f"the {seen.representation.source} has no entries yet: make sure that it is the right address"


def changes_for(look: Look, keys: Mapping[str, Value]) -> str:
    """Lines to change in the entry of a known watch, "" where nothing is proposed."""
    if not keys or entry.means({"url": "https://example.org/", **keys}) is None:
        return ""
    lines = [entry.written({key: value}).replace("- ", "  ", 1) for key, value in keys.items()]
    return "\n".join(lines) + ("  # in the place of select" if "path" in keys and look.watch.select else "")


def _shows_all(looks: Sequence[Look], watch: Watch, keys: Mapping[str, Value]) -> bool:
    """Whether the watch of an entry sees what is watched, but for what it is told to leave out."""
    wanted, seen = looks[0].seen, [look.read(watch) for look in looks]
    shown = [one.extract for one in seen if isinstance(one, Observation)]
    if not isinstance(wanted, Observation) or len(shown) < len(looks):
        return False
    if any(key in keys for key in LEAVING_OUT):
        return (
            bool(diff.words(shown[0])) and len({one.fingerprint for one in seen if isinstance(one, Observation)}) == 1
        )
    return _shows(seen[0], wanted.extract)
