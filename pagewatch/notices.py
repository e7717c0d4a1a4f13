"""The words of notices, and what becomes of a notice in the outbox.

A title is one line of at most 200 characters that holds the gist; a body is plain text of about 1,000 that says what
was cut and where the whole is, and ends with the link. Text from pages stays as it is, but cannot steer a terminal or
break a mail. A notice that was not delivered is tried again after growing pauses; only a delivery takes one away.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from pagewatch.frozen import replace
from pagewatch.model import Notice
from pagewatch.urls import without_login

LONGEST_TITLE = 200
ACTIVE = frozenset('"$`\\!%')  # what double quotes do not keep from a shell
LONGEST_NAME = 80  # in a title, so that the gist has room beside a name that is an address
LONGEST_BODY = 1_000  # Pushover takes 1,024
LONGEST_DIGEST = 1_750  # with its title below the 2,000 that Discord takes
LONGEST_REMARK = 300
SHORTEST_TEXT = 200  # what is shown of the text however long the link is
IN_FULL = "Shortened: monitor.py diff NAME shows a change in full."
EXCERPTS = (LONGEST_BODY, 500, 250, 120, 0)  # what a digest shows of each text: the longest that fits

LEADS = {  # what stands between the name and the gist in the title of a warning
    "recovered": "well again, ",
    "gone": "the page is gone, ",
    "missing": "page not found, ",
    "disallowed": "robots.txt forbids it, ",
    "failing": "cannot be read, ",
    "config": "cannot be watched, ",
    "damaged": "new baseline, ",
}
ADVICE = {  # what the program goes on doing, and what the reader may do
    "no-match": "What was last seen is kept, and the page goes on being looked at: "
    "you will be told when it is well again. "
    "If the page has changed for good, {test} helps to find what to watch now.",
    "gone": "What was last seen is kept, and the page goes on being looked at: you will be told if it comes back. "
    "If it is gone for good, take the watch out of watches.yaml.",
    "missing": "This was the first look, so there is nothing to compare with yet. Is the address right? "
    "It goes on being looked at.",
    "disallowed": "The page is not requested while this stands, and what was last seen is kept. "
    "robots.txt is read again every day: you will be told when it allows the page.",
    "failing": "It goes on being tried, and you will be told when it works again. What was last seen is kept. "
    "If it has never worked, check the address.",
    "config": "What cannot be used is left out until watches.yaml is mended; nothing that is remembered is lost.",
    "damaged": "What the page showed before is not known any more: a change between that look and this one "
    "cannot be told.",
    "stale": "A change since then may not have been seen.",
    "offline": "This machine's own connection seems to be at fault. Nothing is forgotten: every watch stays due.",
}

PAUSES = (  # after the first, second, … failure to deliver; the last one for all others
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
)
LEAST_SLACK = timedelta(seconds=30)  # cron is never on the second: the run at the end of a pause must not just miss it

# Patterns that few runs need are text: they are compiled when they are first met.
BREAKS = "\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]"
CONTROLS = "[\x00-\x08\x0e-\x1f\x7f-\x9f]"
STEERING = "[\u202a-\u202e\u2066-\u206f\ufff9-\ufffb]"  # bidirectional overrides and isolates; marks stay
NO_CHARACTERS = "[\ufdd0-\ufdef\ufffe\uffff]"


# ------------------------------------------------------------------------------------------------------- single notices


def changed(name: str, url: str, gist: str, text: str, remarks: Iterable[str] = ()) -> tuple[str, str]:
    """Title and body for a change: `gist` is it in a few words, `text` in full, `remarks` are clauses about it."""
    sentences = [_sentence(one_line(remark, LONGEST_REMARK)) for remark in remarks]
    return _title(name, gist or "changed"), _body(text or gist, sentences, url, f"; all of it: {command('diff', name)}")


def warning(kind: str, name: str, url: str, gist: str, text: str) -> tuple[str, str]:
    """Title and body for anything but a change. `kind` is the notice's; `name` and `url` are "" where it is about no
    single watch; `gist` and `text` are clauses that may say the same; with `recovered`, `text` says what had been."""
    clauses = [text or gist]
    if kind == "recovered":
        clauses = [gist, f"it had been in trouble {text}" if text.startswith("since ") else text]
    said = "\n".join(_sentence(clause) for clause in clauses)
    advice = [ADVICE[kind].replace("{test}", command("test", name))] if kind in ADVICE else []
    lead = LEADS.get(kind, "") if name else ""
    return _title(name, lead + gist), _body(said, advice, url)


def _title(name: str, gist: str) -> str:
    who = one_line(without_login(name), LONGEST_NAME)
    return one_line(f"{who}: {gist}" if who else _capital(gist), LONGEST_TITLE)


def _body(text: str, sentences: Sequence[str], url: str, whole: str = "") -> str:
    """The text as far as there is room, the sentences, the link. `whole` says where all of it is."""
    link = one_line(without_login(url))
    tail = [*sentences, link]
    room = LONGEST_BODY - sum(len(part) + 2 for part in tail)
    parts = [_cut(harmless(text).strip(), max(room, SHORTEST_TEXT), whole), *tail]
    return "\n\n".join(part for part in parts if part)


def _cut(text: str, room: int, whole: str) -> str:
    """At the end of a line if there is one in the second half of the room, with a note of how much is left out."""
    if len(text) <= room:
        return text
    room -= len(_rest(text, whole)) + 1
    end = text.rfind("\n", room // 2, room)
    kept = text[:end] if end > 0 else shortened(text, room)
    return f"{kept}\n{_rest(text[len(kept.rstrip('…')) :].strip(), whole)}"


def _rest(text: str, whole: str) -> str:
    lines = text.count("\n") + 1
    return f"[{len(text):,} more characters{f' in {lines:,} lines' if lines > 1 else ''}{whole}]"


def command(word: str, name: str = "") -> str:
    """A command for people to type or paste; a name that is too long for that is left to them. What a shell would obey
    in a name is quoted for it."""
    if not name:
        return f"monitor.py {word}"
    if len(name) > LONGEST_NAME or name != without_login(name) or name != one_line(name):
        return f"monitor.py {word} NAME"
    quoted = shlex.quote(name) if set(name) & ACTIVE else f'"{name}"'
    return f"monitor.py {word} {'-- ' if name.startswith('-') else ''}{quoted}"


def _sentence(clause: str) -> str:
    """With a capital and a full stop, which no address and no path gets: the stop would be taken for a part of it."""
    clause = _capital(clause.strip())
    is_whole = not clause or clause[-1] in ".!?…" or "\n" in clause or "/" in clause.rsplit(None, 1)[-1]
    return clause if is_whole else f"{clause}."


def _capital(clause: str) -> str:
    """Only a word gets one: a file name or an address is written as it is."""
    return clause[:1].upper() + clause[1:] if re.match(r"[a-z]+(?![\w.:/-])", clause) else clause


# -------------------------------------------------------------------------------------------------------------- digests


def digest(notices: Sequence[Notice]) -> tuple[str, str]:
    """Title and body of one message for several notices: of each the gist, the link, and as much of the text as all
    have room for."""
    for most in EXCERPTS:
        entries = [_entry(notice, most) for notice in notices]
        body = "\n\n".join(entries if most == LONGEST_BODY else [*entries, IN_FULL])
        if len(body) <= LONGEST_DIGEST:
            return _digest_title(notices), body
    return _digest_title(notices), _index(notices)


def _digest_title(notices: Sequence[Notice]) -> str:
    """`3 changes, 1 warning: A, B, C, D`, with as many names as fit."""
    changes = sum(notice.kind == "changed" for notice in notices)
    recovered = sum(notice.kind == "recovered" for notice in notices)
    others = len(notices) - changes - recovered
    counts = [_plural(changes, "change"), f"{recovered} well again" if recovered else "", _plural(others, "warning")]
    names = dict.fromkeys(one_line(without_login(notice.watch), LONGEST_NAME) or notice.title for notice in notices)
    return one_line(f"{', '.join(filter(None, counts))}: {', '.join(names)}", LONGEST_TITLE)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else ""


def _entry(notice: Notice, most: int) -> str:
    """The title is the gist; the text is shown if it says more."""
    text, _, last = notice.body.rpartition("\n\n")
    text, link = (text, last) if re.match("https?://", last) else (notice.body, "")
    excerpt = "" if one_line(text) in notice.title or not most else shortened(text, most)
    return "\n".join(part for part in (notice.title, excerpt, link) if part)


def _index(notices: Sequence[Notice]) -> str:
    """Too many for their texts and links: the gists, as many as there is room for."""
    lines = [one_line(notice.title, LONGEST_NAME + 20) for notice in notices]
    room, shown = LONGEST_DIGEST - len(IN_FULL) - 40, 0
    while shown < len(lines) and room >= len(lines[shown]):
        room -= len(lines[shown]) + 1
        shown += 1
    rest = [f"… and {len(lines) - shown} more"] if shown < len(lines) else []
    return "\n".join([*lines[:shown], *rest, "", IN_FULL])


# -------------------------------------------------------------------------------------------------------- harmless text


def harmless(text: str) -> str:
    """The text without what would steer a terminal, break a message or reorder what stands around it.

    Controls become spaces, odd line breaks newlines, half a surrogate pair U+FFFD; bidirectional overrides go. Lines,
    tabs, emoji and bidirectional marks stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins a pair that came in two halves
    text = re.sub(CONTROLS, " ", re.sub(BREAKS, "\n", text))
    return re.sub(NO_CHARACTERS, "\ufffd", re.sub(STEERING, "", text))


def one_line(text: str, most: int = 0) -> str:
    """Harmless and in one line, cut to `most` characters where that is not 0."""
    line = " ".join(harmless(text).split())
    return shortened(line, most) if most else line


def shortened(text: str, most: int) -> str:
    """At most so many characters, with … where something was cut off; no half emoji is left at the end."""
    return text if len(text) <= most else text[: most - 1].rstrip(" \n\t\u200d\ufe0f") + "…"


# ----------------------------------------------------------------------------------------------------------- the outbox


def is_due(notice: Notice, now: datetime) -> bool:
    """Whether to try it (again). A time further away than the whole pause comes from a clock that jumped."""
    return notice.next_try is None or due_at(notice) <= now or due_at(notice) > now + _pause(notice.attempts)


def due_at(notice: Notice) -> datetime:
    """When its pause is over, all but a slack; a new notice is due from the start."""
    if notice.next_try is None:
        return notice.created
    return notice.next_try - max(_pause(notice.attempts) / 20, LEAST_SLACK)


def after_failure(notice: Notice, reason: str, now: datetime) -> Notice:
    attempts = notice.attempts + 1
    return replace(notice, attempts=attempts, next_try=now + _pause(attempts), error=reason)


def _pause(attempts: int) -> timedelta:
    return PAUSES[min(max(attempts, 1), len(PAUSES)) - 1]
