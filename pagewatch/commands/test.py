"""`monitor.py test`: one look at a page, explained; it saves nothing.

It asks as a run would, first without validators and then with those that came, so that the user sees whether they work.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from pagewatch import asking, checking, conditional, diff, sources
from pagewatch.answers import (
    Answer,
    Ask,
    Deferred,
    Disallowed,
    FetchFailed,
    Missing,
    NoMatch,
    NotModified,
    Observation,
    Representation,
    Validators,
    Verdict,
)
from pagewatch.config import Configuration
from pagewatch.errors import UsageError, unknown
from pagewatch.model import Every, Plan, Watch, WatchState
from pagewatch.output import Style
from pagewatch.setup import style_of
from pagewatch.soup import check_selector
from pagewatch.state import read_memory
from pagewatch.urls import normalise_url, without_login

LONGEST = 1_500  # characters of the watched text that are shown
LONGEST_LOOK = 300.0  # seconds
DAY = timedelta(days=1)

Look = Callable[[Plan], Answer]


def run(options: Namespace) -> int:
    configuration = checking.read(options)
    memory = read_memory(options.state, options.clock())
    watch = _watch(options, configuration)
    plan = conditional.plan(watch, configuration.settings, WatchState("", watch.name, watch.url), options.clock())
    web = asking.open_web(configuration.settings, {}, memory.hosts, options, time.monotonic() + LONGEST_LOOK)
    with web.client.session() as session:
        style = style_of(options, configuration.secrets)
        return explain(plan, lambda plan: web.ask((plan,), session), web.further((plan,), session), style)


def _watch(options: Namespace, configuration: Configuration) -> Watch:
    """The watch of that name, or one made for that URL."""
    watches = {watch.name: watch for watch in configuration.watches}
    if options.select and (wrong := check_selector(options.select)):
        raise UsageError(f"--select: {wrong}")
    if options.name in watches:
        watch = watches[options.name]
        return replace(watch, select=options.select or watch.select)
    if not options.name.lower().startswith(("http://", "https://")):
        told = unknown("watch", options.name, configuration.names)
        raise UsageError(f"{told}; the address of a page begins with http:// or https://")
    try:
        normalise_url(options.name)
    except ValueError as error:
        raise UsageError(f"{without_login(options.name)} is no address of a page: {error}") from error
    return Watch(options.name, options.name, 0, Every(DAY, DAY), select=options.select)


def explain(plan: Plan, look: Look, further: Ask, style: Style) -> int:
    """Prints what the look shows. Returns 0 where the watched part was found, else 1."""

    def say(subject: str, text: str) -> None:
        print(style.clean(f"{subject:<12} {text}"))

    say("url", without_login(plan.watch.url))
    answer = look(replace(plan, validators=Validators()))
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
    say("conditional", _conditional(look(replace(plan, validators=answer.validators)), answer.validators))
    return _explain_content(plan.watch, sources.read(plan.watch, answer, further), say)


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


def _conditional(answer: Answer, sent: Validators) -> str:
    if not sent:
        return "not possible without validators"
    if isinstance(answer, NotModified):
        return "works: the second request was answered 304, without a body"
    if isinstance(answer, Representation):
        return "does not work: the second request was answered in full"
    return f"unclear: {': '.join(_no_page(answer))}"


def _explain_content(watch: Watch, seen: Observation | NoMatch | FetchFailed, say: Callable[[str, str], None]) -> int:
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
