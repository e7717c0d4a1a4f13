"""Plays visits: looks at a small site, a day apart as a rule, through the whole program (tests/cases/visits*.json).

    assert not play(case, tmp_path)

A case names watches in words of its own (`watch_of` translates them) and says for each visit what the site serves, what
has to come out, and which requests and notices have to arrive. The program is `monitor.main`, with a clock that moves
only between the visits and where a case says so; HTTP, files and notifications are real. A word that is not known here
is refused: no expectation is passed over in silence. Several outcomes may be right where the contract leaves it open.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import yaml

import monitor
from pagewatch import amounts
from tests.site import SERVER, Arrived, Line, Reply, Site, answer
from tests.targets import Answer, http_target

Data = dict[str, Any]

START = "2026-03-02T08:00:00Z"
LATER = timedelta(seconds=90)  # each day's visit is so much later than the last, so that a day has surely passed
ROBOTS = "/robots.txt"

# What each part of a case may say.
CASE = frozenset("id kind title rule note needs start tz robots exit_nonzero watches visits".split())
WATCH = frozenset(
    "url type select match remove ignore_text ignore_order require_text block_text path drop_keys fields headers"
    " verify_tls timeout accept_status misses every min max notify warn_after title_from_page"
    " value decimal identity items key compare".split()
)
VISIT = frozenset(
    "n at serve watches config_text env expect requests sink sends sends_since inject output_lacks state_intact"
    " files_kept tz local exit".split()
)
RESPONSE = frozenset(
    "status headers body body_b64 body_gen body_note conditional truncate_to delay_s takes_s drop".split()
)
FORMS = frozenset("exact_space text_ci max_seconds note accept never".split())  # how to compare, and what else is right
EXPECT = FORMS | frozenset(
    "outcome kind text old new contains contains_old contains_new number number_old number_new fields hint message_has"
    " low high low_old low_new high_old high_new items added removed updated count links message_lacks notify"
    " interval_s state".split()
)
REQUEST = frozenset("path count has lacks same_header_as method body".split())
SEND = frozenset(
    "ok failed body_has body_has_any all_bodies_have body_lacks title_lacks title_max_chars max_chars"
    " valid_utf8".split()
)

SOURCES = {"html": "page", "xml": None, "items": None}  # None: by its media type; the others have the same name
SAME_NAME = ("select", "match", "ignore_text", "ignore_order", "path", "headers", "verify_tls", "accept_status")
OTHER_NAME = {
    **{"identity": "key", "items": "items", "key": "key", "compare": "fields"},
    **{"remove": "ignore", "drop_keys": "ignore", "require_text": "expect", "warn_after": "alert_after"},
}

# Outcomes and kinds of the contract that stand for an outcome or a kind of the cases.
NOT_ASKED = {"deferred": "not-due", "fresh": "not-due"}
TROUBLE = {"no-match": "warning", **dict.fromkeys(("missing", "disallowed", "failed"), "error")}
KINDS: dict[str, tuple[str, ...]] = {
    "not-a-number": ("no-match number",),
    "selector-matches-nothing": ("no-match selector", "no-match challenge"),
    "path-matches-nothing": ("no-match path",),
    "empty-text": ("no-match selector",),
    "required-text-missing": ("no-match expect",),
    "blocked-text": ("no-match reject",),
    "redirected": ("no-match redirected",),
    "suspect-page": ("no-match challenge",),
    "http-404": ("missing",),
    "http-410": ("missing",),
    "connection": ("failed connection", "failed robots-unreachable", "failed offline"),
    "config": ("failed config",),
    "selector-syntax": ("failed config",),
    "robots-disallowed": ("disallowed",),
    "state-corrupt": ("failed state",),
}
REFUSALS = frozenset({"config", "selector-syntax", "state-corrupt", "state-write"})  # may also stop the whole run

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncate to 0 bytes": lambda data: b"",
    "replace by 200 bytes of 0xFF": lambda data: b"\xff" * 200,
    "replace by the text []": lambda data: b"[]",
    "cut the state file to half its length": lambda data: data[: len(data) // 2],
}


# ------------------------------------------------------------------------------------------------------------ a case


def play(case: Data, folder: Path) -> list[str]:
    """What did not come out as the case says, each with the number of its visit; nothing if all is well."""
    know(case, CASE, f"case {case['id']}")
    with contextlib.ExitStack() as stack:
        stage = Stage(case, folder, stack)
        return [f"visit {visit['n']}: {complaint}" for visit in case["visits"] for complaint in stage.visit(visit)]


def know(given: Iterable[str], known: frozenset[str], where: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"{where}: tests/visits.py does not know {', '.join(unknown)}")


@dataclass
class Clock:
    """The program's wall clock and that of the servers."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Stage:
    """The sites, the targets, the clock and the files of one case, from visit to visit."""

    def __init__(self, case: Data, folder: Path, stack: contextlib.ExitStack) -> None:
        self.case = case
        self.config, self.state, self.good = folder / "watches.yaml", folder / "state", folder / "good"
        self.start = datetime.fromisoformat(case.get("start", START).replace("Z", "+00:00"))
        self.clock = Clock(self.start)
        text = json.dumps(case)
        self.sites = {"": stack.enter_context(Site())}
        if "{other}" in text:
            self.sites["{other}"] = stack.enter_context(Site())
        if "{tls}" in text:
            self.sites["{tls}"] = stack.enter_context(Site(tls=SERVER))
        names = sorted({"sink", *re.findall(r'"sink:([\w-]+)"', text)})
        self.targets = {name: stack.enter_context(http_target()) for name in names}
        self.scripted: set[tuple[Site, str]] = set()
        self.watches = {name: dict(keys) for name, keys in case["watches"].items()}
        self.sent: list[tuple[int, dict[str, list[Data]]]] = []
        self.trouble = False

    def visit(self, visit: Data) -> list[str]:
        know(visit, VISIT, f"visit {visit['n']} of {self.case['id']}")
        clocked = "clock" in self.case.get("needs", [])
        later = timedelta() if clocked else LATER * (visit["n"] - 1)
        self.clock.now = self.start + timedelta(seconds=visit["at"]) + later
        self.edit(visit)
        self.serve(visit)
        for name, target in self.targets.items():
            target.answers[:] = [Answer(**given) for given in visit.get("sink", {}).get(name, [])] or [Answer()]
        with self.fault(visit.get("inject", {})) as damaged:
            before = self.snapshot()
            seen = self.look(visit, before)
        self.sent.append((visit["n"], {name: list(taken) for name, (taken, _) in seen.sends.items()}))
        return [*judge(self, visit, seen), *self.kept(visit, before, damaged), *self.manners(visit, seen)]

    # what the user writes

    def edit(self, visit: Data) -> None:
        for name, keys in visit.get("watches", {}).items():
            edited = {**self.watches.pop(name, {}), **(keys or {})}
            if keys is not None:
                self.watches[name] = {key: value for key, value in edited.items() if value is not None}
        text = visit["config_text"] if "config_text" in visit else self.configuration()
        self.config.write_text(self.filled(text), encoding="utf-8")

    def configuration(self) -> str:
        watches = [{"name": name, **watch_of(keys)} for name, keys in self.watches.items()]
        if "clock" in self.case.get("needs", []):
            watches = [{"every": "5m", **watch} for watch in watches]
        named = {name for watch in watches for name in watch.get("notify", ())} or {"sink"}
        targets = {name: self.targets[name].url for name in sorted(named)}
        file = {"contact": "reader@example.org", "gap": "0s", "notify": targets, "watches": watches}
        return yaml.safe_dump(file, sort_keys=False, allow_unicode=True, width=10_000)

    def filled(self, text: str) -> str:
        for mark, site in self.sites.items():
            host = f"localhost:{site.port}" if mark == "{other}" else f"127.0.0.1:{site.port}"
            text = text.replace(mark or "{base}", host if mark == "{tls}" else f"http://{host}")
        return text

    # what the site serves

    def serve(self, visit: Data) -> None:
        for site, path in self.scripted:
            site.script(path, answer(b"no such page\n", status=404))
        served = visit["serve"]
        if served and all("drop" in response for response in served.values()):
            served = {**served, ROBOTS: {"drop": "refuse"}}  # a server that is down has no robots.txt either
        elif not self.case.get("robots"):
            served = {path: response for path, response in served.items() if not path.endswith(ROBOTS)}
        for path, response in served.items():
            know(response, RESPONSE, path)
            for place in self.places(path):
                place[0].script(place[1], self.reply(response))
                self.scripted.add(place)
        for site in self.sites.values():
            site.requests.clear()

    def places(self, path: str) -> Iterator[tuple[Site, str]]:
        """Where a path is asked for: as it is written or percent-encoded; that of the plain site by TLS too."""
        marks = ["{other}"] if path.startswith("{other}") else [mark for mark in self.sites if mark != "{other}"]
        bare = path.removeprefix("{other}")
        for mark in marks:
            for form in {bare, quote(bare, safe="/?&=%$+,;:@!*'()~"), quote(bare, safe="/?&=%$+,;:@!*'()~[]|")}:
                yield self.sites[mark], form

    def reply(self, response: Data) -> Reply:
        def send(line: Line) -> None:
            if "drop" in response:
                line.reset()
                return
            line.wait(response.get("delay_s", 0))
            self.clock.advance(response.get("takes_s", 0))
            head, body = self.message(response, line.request)
            line.send(head + body[: response.get("truncate_to")] if line.request.method != "HEAD" else head)
            line.close()

        return send

    def message(self, response: Data, request: Arrived) -> tuple[bytes, bytes]:
        fields = {"Date": format_datetime(self.clock.now, usegmt=True), **response.get("headers", {})}
        fields = {name: self.filled(value) for name, value in fields.items()}
        status, body = response["status"], self.body(response)
        if status == 200 and is_held(response.get("conditional"), request, fields):
            kept = ("etag", "last-modified", "date", "expires", "cache-control")
            status, body = 304, b""
            fields = {name: value for name, value in fields.items() if name.lower() in kept}
        lines = [f"{name}: {value}" for name, value in {**fields, "Connection": "close"}.items()]
        sized = "content-length" not in map(str.lower, fields)
        whole = answer(body, *lines, status=status, sized=sized)
        return whole[: len(whole) - len(body)], body

    def body(self, response: Data) -> bytes:
        if "body_b64" in response:
            return base64.b64decode(response["body_b64"])
        if parts := response.get("body_gen"):
            return str(parts["before"] + parts["repeat"] * parts["times"] + parts["after"]).encode()
        return self.filled(response.get("body", "")).encode()

    # faults

    @contextlib.contextmanager
    def fault(self, inject: Data) -> Iterator[dict[Path, bytes]]:
        """Brings a fault about. Yields what damaged files held, by their path."""
        damaged: dict[Path, bytes] = {}
        match inject.get("type"):
            case None:
                yield damaged
            case "edit-state":
                if self.case.get("note", "").startswith("before each visit restore"):
                    shutil.rmtree(self.state if self.good.exists() else self.good, ignore_errors=True)
                    shutil.copytree(*((self.good, self.state) if self.good.exists() else (self.state, self.good)))
                path = self.state / "state.json"
                damaged[path] = DAMAGE[inject["how"]](path.read_bytes())
                path.write_bytes(damaged[path])
                yield damaged
            case "edit-history":
                for path in self.state.glob("history*"):
                    os.truncate(path, path.stat().st_size - 10)
                (self.state / "state.json.tmp").touch()
                yield damaged
            case "disk-full":
                with full_disk():
                    yield damaged
            case other:
                raise ValueError(f"tests/visits.py cannot bring about {other!r}")

    def snapshot(self) -> dict[Path, bytes]:
        files = (path for path in self.state.rglob("*") if path.is_file() and path.name != "lock")
        return {path: path.read_bytes() for path in files}

    def kept(self, visit: Data, before: Mapping[Path, bytes], damaged: Mapping[Path, bytes]) -> Iterator[str]:
        after = self.snapshot()
        if visit.get("state_intact") and any(after.get(path) != data for path, data in before.items()):
            yield "a file of the state is not as it was"
        for path, data in damaged.items():
            if visit.get("files_kept") and data not in [held for other, held in after.items() if other != path]:
                yield f"no copy of the damaged {path.name} under another name"

    # a look

    def look(self, visit: Data, before: Mapping[Path, bytes]) -> Seen:
        zone = visit.get("tz") or self.case.get("tz")
        with environment({**({"TZ": zone} if zone else {}), **visit.get("env", {})}):
            began = time.monotonic()
            status, out, err = self.run("check", "--json")
            seconds = time.monotonic() - began
            wanted = ("interval_s", "state")
            listed = any(word in expect for expect in visit["expect"].values() for word in wanted)
            listing = self.run("list", "--json")[1] if listed else ""
        requests = [(mark, arrived) for mark, site in self.sites.items() for arrived in site.requests]
        sends = {name: (list(target.messages), list(target.refused)) for name, target in self.targets.items()}
        for target in self.targets.values():
            target.messages.clear()
            target.refused.clear()
        return Seen(status, out, err, seconds, rows_of(listing), requests, sends)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        places = ("--config", str(self.config), "--state", str(self.state))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = monitor.main([*arguments, *places], self.clock)
        return status, out.getvalue(), err.getvalue()

    def manners(self, visit: Data, seen: Seen) -> Iterator[str]:
        """What holds for every run."""
        outcomes = [row["outcome"] for row in seen.rows.values()]
        failed = any(refused for _, refused in seen.sends.values())
        if seen.status not in (0, 1, 2) or re.search("^Traceback", seen.out + seen.err, re.MULTILINE):
            yield f"exit {seen.status}: {seen.err[-300:]}"
        if any(not line.startswith("{") for line in seen.out.splitlines()):
            yield f"standard output is not JSON: {seen.out[:200]!r}"
        if seen.status < 2 and seen.out.count('{"summary": ') != 1:
            yield "there is not one summary"
        if seen.status != visit.get("exit", seen.status) or (self.case.get("exit_nonzero") and not seen.status):
            yield f"exit {seen.status}, expected {visit.get('exit', 'another')}"
        if not seen.status and any(refused and not taken for taken, refused in seen.sends.values()):
            yield "exit 0 although a notice was not delivered"
        in_trouble = any(word in (*TROUBLE, "gone") for word in outcomes)
        self.trouble = self.trouble or failed or bool(seen.status) or in_trouble
        if "config_text" not in visit and not any("notify" in keys for keys in self.watches.values()):
            if "changed" in outcomes and not seen.told and visit.get("inject", {}).get("type") != "disk-full":
                yield "a change was not told"
            if seen.told and "changed" not in outcomes and not self.trouble:
                yield f"told although nothing changed: {seen.told[0]['title']}"
        for text in visit.get("output_lacks", []):
            if text in seen.out + seen.err or any(text.encode() in data for data in self.snapshot().values()):
                yield f"{text!r} is in the output or in the state"


def watch_of(keys: Data) -> Data:
    """A watch of a case in the product's keys, without its name. `misses` is always three, `title_from_page` no key."""
    know(keys, WATCH, "a watch")
    url = keys["url"]
    watch: Data = {"url": f"{{base}}{url}" if url.startswith("/") else url}
    watch |= {key: keys[key] for key in SAME_NAME if key in keys}
    watch |= {OTHER_NAME[key]: keys[key] for key in OTHER_NAME if key in keys}
    kind = keys.get("type", "xml")
    if source := SOURCES.get(kind, kind):
        watch["source"] = source
    if "value" in keys:
        watch["number"] = keys.get("decimal", "true")
    if "block_text" in keys:
        watch["reject"] = "|".join(map(re.escape, keys["block_text"]))
    if "timeout" in keys:
        watch["timeout"] = f"{keys['timeout']}s"
    if "every" in keys:
        watch["every"] = f"{keys['min']}..{keys['max']}" if keys["every"] == "adaptive" else keys["every"]
    if "fields" in keys:
        watch["fields"] = {name: part["select"] for name, part in keys["fields"].items()}
    if "notify" in keys:
        watch["notify"] = [name.removeprefix("sink:") for name in keys["notify"]]
    return watch


def is_held(mode: str | None, request: Arrived, fields: Mapping[str, str]) -> bool:
    """Whether the server finds that its client has this page already."""
    own = {name.lower(): value for name, value in fields.items()}
    asked = {name: request.field(name) for name in ("If-None-Match", "If-Modified-Since")}
    tag, date = ((value or b"").decode("latin-1") for value in asked.values())
    by_tag = bool(tag) and tag == own.get("etag")
    dates = bool(date) and "last-modified" in own
    by_date = dates and parsedate_to_datetime(date) >= parsedate_to_datetime(own["last-modified"])
    return {"etag": by_tag, "lm": by_date, "both": by_tag if tag else by_date}.get(mode or "", False)


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    reread_zone()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        reread_zone()


def reread_zone() -> None:
    if sys.platform != "win32":
        time.tzset()


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process can grow, as on a full disk (POSIX only)."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


# ------------------------------------------------------------------------------------------------------- what came out


def rows_of(output: str) -> dict[str, Data]:
    """The objects of single watches by the name of the watch."""
    objects = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {row["watch"]: row for row in objects if "watch" in row}


@dataclass(frozen=True)
class Seen:
    """All that one visit showed. `sends` are the messages taken and refused, by target."""

    status: int
    out: str
    err: str
    seconds: float
    listing: dict[str, Data]
    requests: list[tuple[str, Arrived]]
    sends: dict[str, tuple[list[Data], list[Data]]]
    rows: dict[str, Data] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", rows_of(self.out))

    @property
    def told(self) -> list[Data]:
        return [message for taken, _ in self.sends.values() for message in taken]

    @property
    def words(self) -> str:
        """All that was said to the user."""
        told = [text for message in self.told for text in (message["title"], message["message"])]
        said = [value for row in self.rows.values() for value in row.values() if isinstance(value, str)]
        return "\n".join([self.out, self.err, *said, *told])


def judge(stage: Stage, visit: Data, seen: Seen) -> Iterator[str]:
    for name, expect in visit["expect"].items():
        complaints = list(outcome_complaints(stage, expect, seen, name))
        form = {key: expect[key] for key in FORMS & expect.keys()}
        others = ({**form, **other} for other in expect.get("accept", []))
        if complaints and all(any(outcome_complaints(stage, other, seen, name)) for other in others):
            yield f"{name}: {'; '.join(complaints)}; got {shown(seen, name)}"
        word = seen.rows.get(name, {}).get("outcome", "")
        if {word, NOT_ASKED.get(word, word), TROUBLE.get(word, word)} & set(expect.get("never", [])):
            yield f"{name}: {word} is never right here; got {shown(seen, name)}"
    for request in visit.get("requests", []):
        yield from request_complaints(stage, request, seen)
    for name, send in visit.get("sends", {}).items():
        taken, refused = seen.sends[name]
        yield from (f"target {name}: {text}" for text in send_complaints(stage, send, taken, len(refused)))
    since = dict(visit.get("sends_since") or {"visit": 0})
    first = since.pop("visit")
    for name, send in since.items():
        taken = [message for number, sends in stage.sent if number >= first for message in sends[name]]
        yield from (f"target {name} since {first}: {text}" for text in send_complaints(stage, send, taken, 0))


def shown(seen: Seen, name: str) -> str:
    row = {key: value for key, value in seen.rows.get(name, {}).items() if value and key not in ("watch", "url")}
    return f"exit {seen.status}, {json.dumps(row, ensure_ascii=False)[:400]} {seen.err.strip()[-300:]}"


# ------------------------------------------------------------------------------------------------------- one watch


def outcome_complaints(stage: Stage, expect: Data, seen: Seen, name: str) -> Iterator[str]:
    know(expect, EXPECT, f"what is expected of {name}")
    row = seen.rows.get(name)
    if complaint := outcome_complaint(expect, seen, row):
        yield complaint
        return
    yield from text_complaints(expect, row or {})
    yield from item_complaints(stage, expect, seen, row or {})
    yield from message_complaints(expect, seen)
    yield from field_complaints(expect, row or {})
    yield from listing_complaints(expect, seen.listing.get(name, {}))


def outcome_complaint(expect: Data, seen: Seen, row: Data | None) -> str:
    outcome, kind = expect["outcome"], expect.get("kind", "")
    if row is None:
        stopped = kind in REFUSALS and seen.status == 2 and seen.err.strip()
        return "" if stopped else f"no object for the watch, expected {outcome} {kind}"
    got = f"{row['outcome']} {row['kind'] or ''}".strip()
    if outcome not in ("warning", "error"):
        word = row["outcome"]
        return "" if NOT_ASKED.get(word, word) == outcome else f"{got}, expected {outcome}"
    wanted = KINDS.get(kind, (f"failed {kind}",))
    lenient = kind in REFUSALS and seen.status != 2
    return f"{got} (exit {seen.status}), expected {' or '.join(wanted)}" if got not in wanted or lenient else ""


def text_complaints(expect: Data, row: Data) -> Iterator[str]:
    def form(text: object) -> str:
        words = str(text or "").split()
        joined = " ".join(words) if expect.get("exact_space") else "".join(words)
        return joined.casefold() if expect.get("text_ci") else joined

    for word, key in (("text", "new"), ("new", "new"), ("old", "old")):
        if word in expect and form(expect[word]) != form(row[key]):
            yield f"{word} {row[key]!r}, expected {expect[word]!r}"
    for word, key in (("contains", "new"), ("contains_new", "new"), ("contains_old", "old")):
        if word in expect and form(expect[word]) not in form(row[key]):
            yield f"{row[key]!r} does not have {expect[word]!r}"
    ends = (("number", "new"), ("low", "new"), ("high", "new"))
    for end, key in (*ends, *((f"{end}_{key}", key) for end, _ in ends for key in ("old", "new"))):
        if end in expect and number(row[key] or "", end.partition("_")[0]) != expect[end]:
            yield f"{end} {row[key]!r}, expected {expect[end]}"


def number(text: str, end: str) -> float | None:
    amount = amounts.read(text)
    return float(amount.high if end == "high" else amount.low) if amount else None


def item_complaints(stage: Stage, expect: Data, seen: Seen, row: Data) -> Iterator[str]:
    """Sets of items: all of a baseline, or what has changed; each is named by a part of its text."""
    for word in ("added", "removed", "updated"):
        if word in expect:
            yield from mismatches(word, expect[word], [json.dumps(item, ensure_ascii=False) for item in row[word]])
    if "items" in expect:
        yield from mismatches("items", expect["items"], row["new"].split("\n") if row["new"] else [])
    if "count" in expect and f"{expect['count']} item" not in row["detail"]:
        yield f"{row['detail']}, expected {expect['count']} items"
    for title, link in expect.get("links", {}).items():
        link = stage.filled(link)
        if not any(title in line and link in line for line in [row["new"], *map(json.dumps, row["added"])]):
            yield f"{title} has not the link {link}"


def mismatches(word: str, wanted: list[str], got: list[str]) -> Iterator[str]:
    if len(wanted) != len(got) or not all(any(has(item, part) for item in got) for part in wanted):
        yield f"{word} {got}, expected {wanted}"


def message_complaints(expect: Data, seen: Seen) -> Iterator[str]:
    for text in [*expect.get("message_has", []), *([expect["hint"]] if "hint" in expect else [])]:
        line = re.fullmatch(r"line (\d+)", text)
        if not has(seen.words, text) and not (line and f"watches.yaml:{line[1]}:" in seen.words):
            yield f"{text!r} is said nowhere"
    yield from (f"says {text!r}" for text in expect.get("message_lacks", []) if text in seen.words)
    if seen.seconds > expect.get("max_seconds", 60):
        yield f"took {seen.seconds:.1f} s"
    if "notify" in expect and not in_range(len(seen.told), expect["notify"]):
        yield f"{len(seen.told)} notices, expected {expect['notify']}"


def field_complaints(expect: Data, row: Data) -> Iterator[str]:
    for name, wanted in expect.get("fields", {}).items():
        got = row["fields"].get(name, {})
        pair = wanted if isinstance(wanted, list) else [got.get("old"), wanted]
        if [got.get("old"), got.get("new")] != pair:
            yield f"field {name}: {got}, expected {wanted!r}"


def listing_complaints(expect: Data, row: Data) -> Iterator[str]:
    if "interval_s" in expect and row.get("interval_s") != expect["interval_s"]:
        yield f"interval {row.get('interval_s')}, expected {expect['interval_s']}"
    for word, wanted in expect.get("state", {}).items():
        key = {"last_checked": "last_verified"}.get(word, word)
        if (row.get(key) is not None) != (wanted == "set"):
            yield f"{key} is {row.get(key)}, expected {wanted}"


# ------------------------------------------------------------------------------------------------ requests and notices


def request_complaints(stage: Stage, wanted: Data, seen: Seen) -> Iterator[str]:
    know(wanted, REQUEST, "a request")
    arrived = requests_to(wanted["path"], seen)
    if "count" in wanted and not in_range(len(arrived), wanted["count"]):
        yield f"{len(arrived)} requests to {wanted['path']}, expected {wanted['count']}"
    for request in arrived:
        for name, value in wanted.get("has", {}).items():
            if request.field(name) != stage.filled(str(value)).encode():
                yield f"{wanted['path']}: {name} is {request.field(name)!r}, expected {value!r}"
        yield from (f"{wanted['path']} has {name}" for name in wanted.get("lacks", []) if request.fields(name))
        if request.method != wanted.get("method", request.method):
            yield f"{wanted['path']}: {request.method}, expected {wanted['method']}"
        if "body" in wanted and request.body.decode() != wanted["body"]:
            yield f"{wanted['path']}: body {request.body!r}, expected {wanted['body']!r}"
    if "same_header_as" in wanted:
        name, other = wanted["same_header_as"]
        if len({request.field(name) for request in (*arrived, *requests_to(other, seen))}) > 1:
            yield f"{name} is not the same for {wanted['path']} and {other}"


def requests_to(path: str, seen: Seen) -> list[Arrived]:
    mark = "{other}" if path.startswith("{other}") else ""
    bare = unquote(path.removeprefix(mark).partition("#")[0])
    sites = (mark,) if mark else ("", "{tls}")
    return [request for site, request in seen.requests if site in sites and unquote(request.target) == bare]


def send_complaints(stage: Stage, wanted: Data | int, taken: list[Data], refused: int) -> Iterator[str]:
    if isinstance(wanted, int):
        wanted = {"ok": wanted, "failed": [0, 0]}
    know(wanted, SEND, "a send")
    failed = wanted.get("failed", [0, 1000])
    for word, number, span in (
        ("taken", len(taken), wanted.get("ok", [0, 1000])),
        ("refused", refused, failed if isinstance(failed, list) else [failed, failed + 2]),
    ):
        if not in_range(number, span):
            yield f"{number} notices {word}, expected {span}"
    text = "\n".join(f"{message['title']}\n{message['message']}" for message in taken)
    plain = re.sub(r"https?://\S+|\d{4}-\d\d-\d\d|\d\d?:\d\d", "", text)  # their digits are nobody's text
    for part in [*wanted.get("body_has", []), *wanted.get("all_bodies_have", [])]:
        if not has(text, stage.filled(part)):
            yield f"does not say {part!r}: {text!r}"
    for parts in wanted.get("body_has_any", []):
        if not any(has(text, part) for part in parts):
            yield f"says none of {parts}: {text!r}"
    yield from (f"says {part!r}: {text!r}" for part in wanted.get("body_lacks", []) if part in plain)
    for message in taken:
        title, size = message["title"], len(message["title"]) + len(message["message"])
        has_unwanted = any(part in title for part in wanted.get("title_lacks", []))
        if has_unwanted or len(title) > wanted.get("title_max_chars", 200):
            yield f"title {title!r}"
        if size > wanted.get("max_chars", size):
            yield f"{size} characters"
        f"{title}{message['message']}".encode()  # half an emoji cannot be


def has(text: str, part: str) -> bool:
    return "".join(part.split()) in "".join(text.split())


def in_range(number: int, span: int | list[int]) -> bool:
    low, high = span if isinstance(span, list) else (span, span)
    return low <= number <= high
