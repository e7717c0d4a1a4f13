"""The words of notices, and the outbox's arithmetic."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import notices
from pagewatch.frozen import replace
from pagewatch.model import Notice
from pagewatch.notices import (
    IN_FULL,
    LONGEST_BODY,
    LONGEST_DIGEST,
    after_failure,
    changed,
    digest,
    due_at,
    harmless,
    is_due,
    one_line,
    shortened,
    warning,
)

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=timezone.utc)
URL = "https://example.org/tickets"
CASES = Path(__file__).parent / "cases"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=3_000)  # lone surrogates and controls too
KINDS = ("no-match", "gone", "missing", "disallowed", "failing", "config", "damaged", "stale", "offline", "recovered")


def rows(name: str) -> list[Any]:
    found = json.loads((CASES / name).read_text(encoding="utf-8"))
    return [pytest.param(row, id=row["name"]) for row in found]


def notice(number: int = 1, kind: str = "changed", target: str = "phone", **more: Any) -> Notice:
    watch = f"Watch {number}"
    message = (
        changed(watch, URL, "20 → 18", "20 → 18") if kind == "changed" else warning(kind, watch, URL, "why", "why")
    )
    return Notice(f"w{number}-1-{target}", f"w{number}", watch, kind, *message, target, NOW, **more)


def long_notice(number: int) -> Notice:
    message = changed(f"Watch {number}", URL, "60 lines added", "\n".join(f"+ line {n} of many" for n in range(60)))
    return replace(notice(number), title=message[0], body=message[1])


# --------------------------------------------------------------------------------------------------- harmless text


@pytest.mark.parametrize("row", rows("harmless.json"))
def test_text_from_pages_is_literal_and_harmless(row: dict[str, str]) -> None:
    assert harmless(row["text"]) == row["clean"]
    assert one_line(row["text"]) == row.get("line", " ".join(row["clean"].split()))


@given(ANY_TEXT)
def test_harmless_text_can_be_encoded_and_cannot_steer_a_terminal(text: str) -> None:
    clean = harmless(text)
    clean.encode("utf-8")
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or "\u202a" <= c <= "\u202e" for c in clean)
    assert harmless(clean) == clean


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_letters_digits_and_signs_are_never_touched(text: str) -> None:
    assert harmless(text) == text


def test_no_half_emoji_is_left_where_text_is_cut() -> None:
    assert shortened("a👩‍👩‍👧b", 4) == "a👩…"


# --------------------------------------------------------------------------------------------------- single notices


def test_a_short_change_is_told_in_the_title_and_linked() -> None:
    assert changed("Concert price", URL, "20 → 18", "20 → 18") == ("Concert price: 20 → 18", f"20 → 18\n\n{URL}")


def test_remarks_are_sentences_of_their_own() -> None:
    remarks = [
        'it is well again; since 2026-03-01: nothing matched "#price"',
        "moved permanently to https://example.org/new",
    ]
    _, body = changed("Concert price", URL, "20 → 18", "20 → 18", remarks)
    assert body.split("\n\n") == [
        "20 → 18",
        'It is well again; since 2026-03-01: nothing matched "#price".',
        "Moved permanently to https://example.org/new",  # no full stop that would become a part of the address
        URL,
    ]


def test_a_change_without_a_gist_is_still_told() -> None:
    assert changed("Concert price", URL, "", "new text")[0] == "Concert price: changed"


def test_a_long_change_is_cut_at_a_line_and_says_what_was_cut_and_where_the_whole_is() -> None:
    text = "\n".join(f"+ line {number} of a longer list" for number in range(100))
    _, body = changed("News", URL, "100 lines added", text)
    shown, note = body.split("\n\n")[0].rsplit("\n", 1)
    assert text.startswith(shown + "\n")
    rest = text[len(shown) :].strip()
    lines = rest.count("\n") + 1
    assert note == f'[{len(rest):,} more characters in {lines} lines; all of it: monitor.py diff "News"]'
    assert 800 < len(body) <= LONGEST_BODY
    assert body.endswith(f"\n\n{URL}")


def test_one_long_line_is_cut_too() -> None:
    _, body = changed("News", URL, "now longer", "word " * 2_000)
    assert "…\n[9," in body
    assert len(body) <= LONGEST_BODY


def test_a_long_link_is_never_cut_and_leaves_room_for_the_text() -> None:
    link = URL + "?q=" + "x" * 2_000
    _, body = changed("News", link, "now longer", "word " * 2_000)
    assert body.endswith(link)
    assert body.startswith("word word")
    assert len(body) - len(link) < 250


def test_a_name_that_is_a_long_address_leaves_room_for_the_gist() -> None:
    link = URL + "/x" * 200
    title, body = changed(link, link, "20 → 18", "word " * 2_000)
    assert title.endswith("…: 20 → 18")
    assert body.endswith(link)


def test_logins_in_addresses_are_not_told() -> None:
    secret = "https://me:s3cr3t@example.org/tickets"
    for told in (changed(secret, secret, "20 → 18", "word " * 2_000), warning("gone", secret, secret, "404", "404")):
        assert "s3cr3t" not in "".join(told)
        assert told[1].endswith(URL)


def test_text_from_pages_is_literal_in_title_and_body() -> None:
    text = "a <b>5 < 7</b> *x* _y_ {{ 7*7 }} ${HOME} %s {name} 🏊"
    title, body = changed("w", URL, text, text)
    assert title == f"w: {text}"
    assert body.startswith(text)
    assert f"Nothing like {text}." in warning("no-match", "w", URL, "", f"nothing like {text}")[1]


def test_a_title_is_one_line_whatever_the_page_says() -> None:
    title, _ = changed("Offers\r\nBcc: someone@example.net", URL, "a\nb\x00" + "x" * 300, "text")
    assert title.startswith("Offers Bcc: someone@example.net: a b x")
    assert len(title) == 200


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.sampled_from(("changed", *KINDS)))
def test_no_text_makes_a_notice_too_long_or_empty(name: str, gist: str, text: str, kind: str) -> None:
    if kind == "changed":
        title, body = changed(name, URL, gist, text, [gist])
    else:
        title, body = warning(kind, name, URL, gist, text)
    assert len(title) <= 200
    assert not {"\n", "\r", "\x00"} & {*title}
    assert len(body) <= LONGEST_BODY
    assert body.endswith(URL)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_says_what_happened_and_what_goes_on(kind: str) -> None:
    title, body = warning(
        kind, "Concert price", URL, 'nothing matches "#price"', 'since 2026: nothing matches "#price"'
    )
    assert title.startswith("Concert price: ")
    assert '"#price"' in title
    assert '"#price".' in body
    assert body.endswith(f"\n\n{URL}")
    assert "{" not in body


def test_a_no_match_names_the_command_that_helps() -> None:
    _, body = warning("no-match", "Concert price", URL, 'nothing matches "#price"', 'nothing matches "#price"')
    assert body.startswith('Nothing matches "#price".\n\nWhat was last seen is kept')
    assert 'monitor.py test "Concert price"' in body


def test_a_recovery_says_what_is_there_now_and_what_had_been() -> None:
    trouble = 'since 2026-03-01 08:00 UTC: nothing matches "#price"'
    assert warning("recovered", "Concert price", URL, "the watched content is the same as before", trouble) == (
        "Concert price: well again, the watched content is the same as before",
        "The watched content is the same as before.\n"
        f'It had been in trouble since 2026-03-01 08:00 UTC: nothing matches "#price".\n\n{URL}',
    )


def test_a_warning_about_no_single_watch_has_no_name_and_no_link() -> None:
    title, body = warning("offline", "", "", "no host could be reached for 24 hours", "")
    assert title == "No host could be reached for 24 hours"
    assert body.endswith("every watch stays due.")
    assert warning("recovered", "", "", "this machine is online again", "it was offline since 2026-03-01") == (
        "This machine is online again",
        "This machine is online again.\nIt was offline since 2026-03-01.",
    )


def test_problems_of_the_configuration_stay_lines() -> None:
    problems = "watches.yaml:12: select is empty\nwatches.yaml:14: url is missing"
    title, body = warning("config", "", "", "watches.yaml:12: select is empty and 1 more", problems)
    assert title == "watches.yaml:12: select is empty and 1 more"
    assert body.startswith(problems + "\n\n")


# --------------------------------------------------------------------------------------------------------- digests


def test_a_digest_counts_and_names_in_its_title() -> None:
    title, _ = digest([notice(1), notice(2), notice(3)])
    assert title == "3 changes: Watch 1, Watch 2, Watch 3"
    title, _ = digest([notice(1), notice(2, "gone"), notice(3, "recovered"), notice(3, "failing")])
    assert title == "1 change, 1 well again, 2 warnings: Watch 1, Watch 2, Watch 3"


def test_a_digest_shows_each_gist_and_link_and_no_text_twice() -> None:
    _, body = digest([notice(1), notice(2)])
    assert body == f"Watch 1: 20 → 18\n{URL}\n\nWatch 2: 20 → 18\n{URL}"


def test_a_digest_shows_texts_whole_while_there_is_room() -> None:
    text = "+ one\n+ two\n− three"
    title, body = changed("News", URL, "2 lines added, 1 removed", text)
    _, body = digest([replace(notice(1), title=title, body=body), notice(2)])
    assert body == f"News: 2 lines added, 1 removed\n{text}\n{URL}\n\nWatch 2: 20 → 18\n{URL}"


def test_a_digest_shortens_texts_for_all_to_have_room_and_says_so() -> None:
    _, body = digest([long_notice(number) for number in range(5)])
    assert len(body) <= LONGEST_DIGEST
    assert body.count("+ line 5 of many") == 5
    assert body.count(URL) == 5
    assert body.endswith(IN_FULL)


def test_a_digest_of_very_many_lists_gists_and_says_how_many_are_left_out() -> None:
    title, body = digest([notice(number) for number in range(1_000)])
    assert title.startswith("1000 changes: Watch 0, ")
    assert len(title) <= 200
    assert len(body) <= LONGEST_DIGEST
    listed = body.count(": 20 → 18")
    assert listed > 50
    assert f"… and {1_000 - listed} more\n" in body
    assert body.endswith(IN_FULL)


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), min_size=2, max_size=30))
def test_no_text_makes_a_digest_too_long(texts: list[tuple[str, str, str]]) -> None:
    messages = [(name, *changed(name, URL, gist, text)) for name, gist, text in texts]
    title, body = digest([replace(notice(), watch=name, title=t, body=b) for name, t, b in messages])
    assert len(title) <= 200
    assert len(body) <= LONGEST_DIGEST


# ------------------------------------------------------------------------------------------------------ the outbox


def test_the_pauses_grow() -> None:
    waiting, minutes = notice(), []
    for _ in range(8):
        waiting = after_failure(waiting, "the service answered 500", NOW)
        assert waiting.next_try is not None
        minutes.append((waiting.next_try - NOW).total_seconds() / 60)
    assert minutes == [1, 5, 15, 60, 240, 720, 720, 720]
    assert waiting.attempts == 8
    assert waiting.error == "the service answered 500"


@pytest.mark.parametrize(
    ("attempts", "after", "due"),
    [
        pytest.param(1, timedelta(seconds=29), False, id="before the pause is over"),
        pytest.param(1, timedelta(seconds=30), True, id="within the slack of 30 s"),
        pytest.param(4, timedelta(minutes=56), False, id="a longer pause, before its slack"),
        pytest.param(4, timedelta(minutes=57), True, id="the slack is 5 % of a longer pause"),
        pytest.param(1, timedelta(days=3), True, id="long after"),
        pytest.param(1, timedelta(days=-3), True, id="the clock was in the future and is right again"),
        pytest.param(1, timedelta(seconds=-20), False, id="the clock went back a little"),
    ],
)
def test_a_notice_is_due_again_after_its_pause(attempts: int, after: timedelta, due: bool) -> None:
    failed = after_failure(notice(attempts=attempts - 1), "no answer", NOW)
    assert is_due(failed, NOW + after) is due


def test_a_new_notice_is_due_at_once_even_if_the_clock_went_back() -> None:
    assert is_due(notice(), NOW)
    assert is_due(notice(), NOW - timedelta(seconds=20))
    assert is_due(notice(), NOW - timedelta(days=3))


def test_the_moment_when_a_notice_is_due_is_known_beforehand() -> None:
    failed = after_failure(notice(attempts=3), "no answer", NOW)
    assert due_at(notice()) == NOW
    assert due_at(failed) == NOW + timedelta(minutes=57)
    assert is_due(failed, due_at(failed))
    assert not is_due(failed, due_at(failed) - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("Concert price", 'monitor.py test "Concert price"'),
        ("Preis für Köln", 'monitor.py test "Preis für Köln"'),
        ('the "new" one', "monitor.py test 'the \"new\" one'"),
        ("`touch x` $(touch y)", "monitor.py test '`touch x` $(touch y)'"),
        ("it's $5", "monitor.py test 'it'\"'\"'s $5'"),
        ("-x", 'monitor.py test -- "-x"'),
        ("two\nlines", "monitor.py test NAME"),
        ("n" * 81, "monitor.py test NAME"),
        ("", "monitor.py test"),
    ],
)
def test_a_command_to_paste_is_quoted_for_a_shell(name: str, typed: str) -> None:
    assert notices.command("test", name) == typed
