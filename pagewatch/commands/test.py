"""`monitor.py test`: one look at a page, explained, and what to do better; it saves nothing.

It asks as a run would, first without validators and then with those that came, so that the user sees whether they work.
Beside the page it asks for robots.txt and, as that may spare requests later, for the site's sitemap; with `--twice` it
looks a second time after a pause. What to make of it all is in `advice`.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from datetime import datetime, timedelta

from pagewatch import advice, asking, checking, conditional, diff, sources
from pagewatch.advice import Advice
from pagewatch.answers import (
    Answer,
    Ask,
    Deferred,
    Disallowed,
    Extract,
    FetchFailed,
    Missing,
    NoMatch,
    NotModified,
    Observation,
    Representation,
    Validators,
    Verdict,
)
from pagewatch.configuration import Configuration, line
from pagewatch.errors import ConfigError, UsageError, unknown
from pagewatch.frozen import dataclass, replace
from pagewatch.memory import Memory
from pagewatch.model import Every, Plan, Watch, WatchState
from pagewatch.output import Style
from pagewatch.readers.sitemap import lastmods
from pagewatch.setup import style_of
from pagewatch.soup import check_selector
from pagewatch.state import read_memory
from pagewatch.urls import normalise_url, without_login

LONGEST = 1_500  # characters of the watched text that are shown
LONGEST_LOOK = 300.0  # seconds
MOST_SITEMAPS = 3  # documents of a sitemap that are asked for
DAY = timedelta(days=1)

Say = Callable[[str, str], None]


@dataclass(frozen=True)
class Way:
    """How the page is asked for, what belongs to it, where its site's sitemap is; `pause` waits before a second look,
    None where none is wanted."""

    look: Callable[[Plan], Answer]
    further: Ask
    sitemap: Callable[[str], str]
    pause: Callable[[], None] | None


@dataclass(frozen=True)
class Known:
    """What is known beside the page: the time, the names of all watches, whether this is one of them, and what was
    seen of it at the last good look."""

    now: datetime
    names: tuple[str, ...] = ()
    named: bool = False
    before: Extract | None = None


def run(options: Namespace, sleep: Callable[[float], None] = time.sleep) -> int:
    configuration = checking.read(options)
    memory = read_memory(options.state, options.clock())
    watch = _watch(options, configuration)
    plan = conditional.plan(watch, configuration.settings, WatchState("", watch.name, watch.url), options.clock())
    deadline = time.monotonic() + LONGEST_LOOK + options.pause
    web = asking.open_web(configuration.settings, {}, memory.hosts, options, deadline)
    known = _known(watch, memory, configuration, options)
    with web.client.session() as session:
        way = Way(
            lambda plan: web.ask((plan,), session),
            web.further((plan,), session),
            lambda url: web.sitemap_of(url, (plan,), session),
            (lambda: sleep(options.pause)) if options.twice else None,
        )
        return explain(plan, way, known, style_of(options, configuration.secrets))


def _known(watch: Watch, memory: Memory, configuration: Configuration, options: Namespace) -> Known:
    named = options.name in configuration.names
    past = memory.find(watch.name) if named else None
    before = past.baseline.extract if past and past.baseline else None
    return Known(options.clock(), configuration.names, named, before)


def _watch(options: Namespace, configuration: Configuration) -> Watch:
    """The watch of that name, or one made for that URL."""
    watches = {watch.name: watch for watch in configuration.watches}
    if options.select and (wrong := check_selector(options.select)):
        raise UsageError(f"--select: {wrong}")
    if options.name in watches:
        watch = watches[options.name]
        return replace(watch, select=options.select or watch.select)
    if broken := [problem for problem in configuration.problems if problem.watch == options.name]:
        raise ConfigError(line(problem, options.config.name) for problem in broken)
    if not options.name.lower().startswith(("http://", "https://")):
        told = unknown("watch", options.name, configuration.names)
        raise UsageError(f"{told}; the address of a page begins with http:// or https://")
    try:
        normalise_url(options.name)
    except ValueError as error:
        raise UsageError(f"{without_login(options.name)} is no address of a page: {error}") from error
    return Watch(options.name, options.name, 0, Every(DAY, DAY), select=options.select)


def explain(plan: Plan, way: Way, known: Known, style: Style) -> int:
    """Prints what the look shows and what to do better. Returns 0 where the watched part was found, else 1."""

    def say(subject: str, text: str) -> None:
        print(style.clean(f"{subject:<12} {text}".rstrip()))

    say("url", without_login(plan.watch.url))
    answer = way.look(replace(plan, validators=Validators()))
    if not isinstance(answer, Representation):
        say(*_no_page(answer))
        return 1
    say("robots.txt", _robots(answer.verdict, plan.watch.robots_reason))
    say(
        "status",
        f"{answer.status}, {len(answer.body):,} bytes"
        + (f" ({answer.content_encoding})" if answer.content_encoding else ""),
    )
    say("final url", answer.url + (" (moved permanently: change it in watches.yaml)" if answer.moved_to else ""))
    say("content", _content(plan.watch, answer))
    say("validators", _validators(answer.validators))
    say("conditional", _conditional(plan, way, answer.validators))
    look = advice.Look(plan.watch, answer, way.further)
    status = _explain_content(plan.watch, look.seen, say)
    _paste(*_advise(look, _second(plan, way, look), way, known, say), style, say)
    return status


def _second(plan: Plan, way: Way, first: advice.Look) -> advice.Look | Answer | None:
    """The look after the pause, asked for without validators; None where none is wanted."""
    if way.pause is None or not isinstance(first.seen, Observation):
        return None
    way.pause()
    answer = way.look(replace(plan, validators=Validators()))
    return advice.Look(plan.watch, answer, way.further) if isinstance(answer, Representation) else answer


def _advise(
    look: advice.Look, second: advice.Look | Answer | None, way: Way, known: Known, say: Say
) -> tuple[str, str]:
    """What is to be pasted, and its heading."""
    moved = advice.of_moved(look, known.before) if known.before else Advice()
    selector, pace = advice.of_selector(look), advice.of_pace(look.answer, known.now)
    twice = _twice(look, second)
    lastmod = _lastmod(look, way)
    sections = (
        ("Selector", selector, moved),
        ("Page", advice.of_content(look)),
        ("Better sources", advice.of_sources(look, lastmod)),
        ("Second look", twice),
        ("How often", pace),
    )
    for heading, *parts in sections:
        lines = [line for part in parts for line in part.lines]
        if lines:
            say(f"\n{heading}", "")
        for subject, text in lines:
            say(f"  {subject}", text)
    changes = {**selector.keys, **moved.keys, **twice.keys}
    if known.named:
        return f'Change in watches.yaml, watch "{look.watch.name}"', advice.changes_for(look, changes)
    looks = [look, second] if isinstance(second, advice.Look) else [look]
    return "Entry for watches.yaml", advice.entry_for(looks, {**changes, **pace.keys}, known.names)


def _twice(look: advice.Look, second: advice.Look | Answer | None) -> Advice:
    if second is None:
        return Advice()
    if isinstance(second, advice.Look):
        return advice.of_second(look, second)
    return Advice((("failed", ": ".join(_no_page(second))),))


def _lastmod(look: advice.Look, way: Way) -> tuple[str, str] | None:
    """The site's sitemap, where it has a lastmod for this page, and that."""
    if look.tree is None:
        return None
    place, url, left = way.sitemap(look.answer.url), look.answer.url, iter(range(MOST_SITEMAPS))

    def ask(address: str) -> Answer:
        enough = next(left, None) is None
        return FetchFailed("partial", "enough has been asked for") if enough else way.further(address)

    found = lastmods(place, ask, frozenset({url}))
    return None if isinstance(found, FetchFailed) or url not in found else (place, found[url])


def _paste(heading: str, lines: str, style: Style, say: Say) -> None:
    """Lines as they stand in watches.yaml, but for those with a secret: without it they would not work."""
    if style.redact(lines) != lines:
        say("\nNo lines for watches.yaml", "")
        say("  secret", "they have a value of .env or watches.yaml in them that must not be shown")
        say("  write", "the entry by hand, with ${NAME} in the place of that value, and NAME=value in .env")
    elif lines:
        say(f"\n{heading}\n{lines}", "")


def _no_page(answer: Answer) -> tuple[str, str]:
    match answer:
        case Disallowed():
            return "robots.txt", f"forbids {answer.url}: {answer.robots_url} line {answer.line}: {answer.rule}"
        case Missing():
            return "status", f"{answer.status}: there is no such page"
        case FetchFailed():
            return "failed", f"{answer.kind}: {answer.reason}"
        case Deferred():
            return "deferred", answer.reason
        case _:
            return "failed", "no page came"


def _robots(verdict: Verdict | None, ignored: str) -> str:
    if ignored:
        return f"ignored: {ignored}"
    if verdict is None or not verdict.line:
        return "allows this page: no rule is about it"
    return f"allows this page: line {verdict.line}: {verdict.rule} (group {verdict.group})"


def _content(watch: Watch, answer: Representation) -> str:
    reading = sources.describe(watch, answer)
    media_type = answer.media_type or "no media type"
    if isinstance(reading, FetchFailed):
        return f"{media_type}: {reading.reason}"
    said = f" (the server says {answer.charset})" if answer.charset else ""
    return f"{media_type}, read as a {reading.source} in {reading.encoding}{said}"


def _validators(validators: Validators) -> str:
    named = (("ETag", validators.etag), ("Last-Modified", validators.last_modified))
    return (
        ", ".join(f"{name}: {value}" for name, value in named if value) or "none: the page is read in full at each look"
    )


def _conditional(plan: Plan, way: Way, sent: Validators) -> str:
    if not sent:
        return "not possible without validators"
    answer = way.look(replace(plan, validators=sent))
    if isinstance(answer, NotModified):
        return "works: the second request was answered 304, without a body"
    if isinstance(answer, Representation):
        return "does not work: the second request was answered in full"
    return f"unclear: {': '.join(_no_page(answer))}"


def _explain_content(watch: Watch, seen: Observation | NoMatch | FetchFailed, say: Say) -> int:
    if isinstance(seen, NoMatch):
        say("no match", f"{seen.kind}: {seen.what}" + (f"; {seen.hint}" if seen.hint else ""))
        return 1
    if not isinstance(seen, Observation):
        say("failed", f"{seen.kind}: {seen.reason}")
        return 1
    extract = seen.extract
    if watch.select and extract.items is None:
        more = ", the first is watched" if extract.matched > 1 and watch.match == "first" else ""
        say("matches", f"{extract.matched} for {watch.select}{more}")
    if extract.items is not None:
        say("items", f"{len(extract.items):,}")
    for remark in seen.remarks:
        say("note", remark)
    for amount in extract.amounts:
        say("number", " to ".join(dict.fromkeys((amount.low, amount.high))))
    for name, value in extract.fields:
        say("field", f"{name}: {'(none)' if value is None else value}")
    text = diff.words(extract)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text):,} characters in all"
    say("text", "(empty)" if not text else text.replace("\n", f"\n{'':<13}"))
    return 0
