"""What counts as the same: tests/cases/fingerprint.yaml, and what must hold for any text and any watch."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch.answers import Extract, Item
from pagewatch.fingerprint import body_digest, fingerprint, normalise, recipe, request_digest, without_noise
from pagewatch.frozen import fields, replace
from pagewatch.model import Watch
from tests.tables import Row, table
from tests.values import SETTINGS, representation, watch

TEXTS = st.text(max_size=80)
WORDS = st.lists(st.text(alphabet="abc12€é", min_size=1, max_size=5), min_size=1, max_size=8)


def of(text: str, **keys: Any) -> str:
    return fingerprint(Extract(normalise(text)), watch(**keys))


# ---------------------------------------------------------------------------------------------------------- text


@table("fingerprint", "normalise")
def test_text_as_a_person_reads_it(row: Row) -> None:
    assert normalise(row["text"]).split("\n") == (row["lines"] or [""])


def test_half_an_emoji_is_replaced() -> None:
    assert normalise("Boat \ud83d ready") == "Boat � ready"


@given(TEXTS)
def test_normalised_text_stays_as_it_is_and_can_be_written(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert not re.search(r"[^\S\n ]|^ | $|  |\n\n", once, re.MULTILINE)
    once.encode("utf-8")


@table("fingerprint", "noise")
def test_noise_is_removed(row: Row) -> None:
    assert without_noise(row["text"], tuple(row["patterns"])) == row["left"]


def test_an_odd_pattern_warns_nobody() -> None:
    """Warnings are errors in these tests, and mails of cron for users."""
    assert without_noise("a [x b", (r"[[x]",)) == "a b"


# --------------------------------------------------------------------------------------------------- fingerprints


@table("fingerprint", "same")
def test_one_content_has_one_fingerprint(row: Row) -> None:
    assert len({of(text) for text in row["texts"]}) == 1


@table("fingerprint", "different")
def test_other_content_has_another_fingerprint(row: Row) -> None:
    assert len({of(text) for text in row["texts"]}) == len(row["texts"])


def test_a_fingerprint_names_its_version() -> None:
    assert re.fullmatch(r"1:[0-9a-f]{64}", of("a"))


@given(WORDS, st.lists(st.sampled_from([" ", "\n", "\t", "\r\n", "\u00a0", "  \n"]), min_size=8, max_size=8))
def test_white_space_never_changes_a_fingerprint(words: list[str], gaps: list[str]) -> None:
    text = "".join(gap + word for gap, word in zip(gaps, words, strict=False))
    assert of(text) == of(" ".join(words))


@given(WORDS, WORDS)
def test_other_words_always_do(one: list[str], other: list[str]) -> None:
    assert (of(" ".join(one)) == of(" ".join(other))) == (normalise(" ".join(one)) == normalise(" ".join(other)))


@given(WORDS, st.randoms(use_true_random=False))
def test_with_ignore_order_lines_may_move(words: list[str], chance: random.Random) -> None:
    moved = chance.sample(words, len(words))
    assert of("\n".join(words), ignore_order=True) == of("\n".join(moved), ignore_order=True)


def test_with_ignore_order_one_more_of_the_same_line_is_a_change() -> None:
    assert of("a\na\nb", ignore_order=True) != of("a\nb", ignore_order=True)


def test_nothing_there_is_not_there_but_empty() -> None:
    assert fingerprint(Extract("", matched=0), watch()) != fingerprint(Extract("", matched=1), watch())


def test_how_many_match_is_no_content() -> None:
    assert fingerprint(Extract("a", matched=1), watch()) == fingerprint(Extract("a", matched=7), watch())


def test_fields_are_compared_by_name() -> None:
    one = Extract("", (("price", "20"), ("stock", "3")))
    assert fingerprint(one, watch()) == fingerprint(replace(one, fields=one.fields[::-1]), watch())
    assert fingerprint(one, watch()) != fingerprint(Extract("", (("price", "3"), ("stock", "20"))), watch())


def test_a_field_that_is_not_there_is_not_an_empty_one() -> None:
    there, gone = Extract("", (("price", ""), ("x", "1"))), Extract("", (("price", None), ("x", "1")))
    assert fingerprint(there, watch()) != fingerprint(gone, watch())


def test_items_are_a_set_by_key() -> None:
    one, two = Item("1", "Kayak"), Item("2", "Canoe", fields=(("price", "20"),))
    both = fingerprint(Extract("", items=(one, two)), watch())
    assert both == fingerprint(Extract("", items=(two, one)), watch())
    assert both != fingerprint(Extract("", items=(one,)), watch())
    assert both != fingerprint(Extract("", items=(one, replace(two, fields=(("price", "18"),)))), watch())
    assert fingerprint(Extract("", items=()), watch()) != fingerprint(Extract("", items=None), watch())


# -------------------------------------------------------------------------------------------- recipes and requests

OTHER: dict[str, Any] = {
    "name": "Other",
    "url": "http://127.0.0.1/q",
    "line": 7,
    "every": watch().every,
    "enabled": False,
    "targets": ("phone",),
    "alerts": ("phone",),
    "source": "text",
    "select": "#q",
    "match": "all",
    "path": "a.b",
    "items": "li",
    "key": "@id",
    "fields": (("price", "#p"),),
    "counted": ("title",),
    "ignore": (".ad",),
    "ignore_text": ("x",),
    "ignore_order": True,
    "number": (("", ","),),
    "expect": "Tickets",
    "reject": "Login",
    "if_missing": "ok",
    "confirm": 2,
    "only": "added",
    "when": (("", "below", "20"),),
    "alert_after": 5,
    "headers": (("X-Key", "s3cret"),),
    "body": b"q=1",
    "body_type": "text/plain",
    "timeout": 5.0,
    "encoding": "utf-8",
    "verify_tls": False,
    "accept_status": (200, 404),
    "obey_freshness": False,
    "robots_reason": "own site",
    "hint": "length",
    "verify_removed": True,
    "render": True,
}
CONTENT = set(
    """url source select match path items key fields counted ignore ignore_text ignore_order number encoding body
    body_type render""".split()
)
REQUEST = {"headers", "verify_tls", "accept_status", "expect", "reject", "if_missing"}


def edited(key: str) -> Watch:
    return replace(watch(), **{key: OTHER[key]})


@pytest.mark.parametrize("key", [field.name for field in fields(Watch)])
def test_an_edit_is_of_the_content_or_of_the_request_or_of_neither(key: str) -> None:
    assert (recipe(edited(key)) != recipe(watch())) == (key in CONTENT)
    assert (request_digest(edited(key), SETTINGS) != request_digest(watch(), SETTINGS)) == (key in REQUEST)


def test_another_user_agent_is_another_request() -> None:
    other = replace(SETTINGS, user_agent="pagewatch/1.0.0 (+me@example.org)", gap=timedelta(1))
    assert request_digest(watch(), other) != request_digest(watch(), SETTINGS)


def test_a_recipe_stays_the_same_for_years() -> None:
    """State holds it: a changed way of hashing would be a new baseline for every watch, which only SCHEME may cause."""
    assert recipe(watch(url="http://example.org/", select="#p", ignore=(".ad",), body=b"q=1")) == "1-138b688f01add1ce"


def test_the_same_bytes_are_the_same_body_only_if_read_the_same_way() -> None:
    body = representation(body=b"x", digest="")
    assert body_digest(body) == body_digest(replace(body, status=404))
    others: list[dict[str, Any]] = [
        {"body": b"y"},
        {"media_type": "text/plain"},
        {"charset": "x"},
        {"url": "http://h/"},
    ]
    assert body_digest(body) not in {body_digest(replace(body, **other)) for other in others}
