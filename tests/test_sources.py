"""What is seen in an answer: tests/cases/sources.yaml, and the promises of `read` about bytes, memory and order."""

from __future__ import annotations

import gzip
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import sources
from pagewatch.answers import Answer, Extract, FetchFailed, Missing, NoMatch, Observation, Representation
from pagewatch.fingerprint import body_digest, fingerprint, recipe
from pagewatch.frozen import replace
from pagewatch.model import Baseline, Watch
from pagewatch.sources import Reading, describe
from tests.tables import Row, keys_of, table
from tests.values import START, URL, representation, watch

PARTS = ("body", "body_before", "times", "type", "charset", "url", "answer", "before", "before_url", "as", "source")
EXPECTED = ("text", "fields_are", "matched", "kind", "says")


def nobody(url: str) -> Answer:
    return Missing(404, url)


def read(
    definition: Watch, answer: Representation, baseline: Baseline | None = None
) -> Observation | NoMatch | FetchFailed:
    return sources.read(definition, answer, nobody, baseline)


def answer_of(row: Row) -> Representation:
    body = (row.get("body_before", "") + row["body"] * row.get("times", 1)).encode("utf-8")
    kind, charset = row.get("type", "text/html"), row.get("charset", "utf-8")
    given = {"url": row.get("url", URL), "body": body, "media_type": kind, "charset": charset, "digest": ""}
    return representation(**{**given, **row.get("answer", {})})


def watch_of(row: Row) -> Watch:
    given = {"select": "", "source": row.get("as", ""), "url": row.get("before_url", URL)}
    return watch(**{**given, **keys_of(row, *PARTS, *EXPECTED)})


def baseline_of(seen: Observation, definition: Watch) -> Baseline:
    answer = seen.representation
    return Baseline(recipe(definition), seen.fingerprint, seen.extract, START, answer.url, body_digest(answer))


def outcome_of(row: Row) -> Observation | NoMatch | FetchFailed:
    definition, baseline = watch_of(row), None
    if "before" in row:
        url = row.get("before_url", URL)
        seen = read(replace(definition, expect=""), replace(answer_of({"body": row["before"]}), url=url))
        assert isinstance(seen, Observation)
        baseline = baseline_of(seen, definition)
    return read(definition, answer_of(row), baseline)


def check(row: Row) -> None:
    outcome = outcome_of(row)
    if "kind" in row:
        assert isinstance(outcome, NoMatch | FetchFailed), outcome
        assert outcome.kind == row["kind"]
        assert row["says"] in (outcome.what if isinstance(outcome, NoMatch) else outcome.reason)
    else:
        assert isinstance(outcome, Observation), outcome
        assert outcome.extract.text == row["text"]
        assert dict(outcome.extract.fields) == row.get("fields_are", {})
        assert outcome.extract.matched == row.get("matched", 1)


@table("sources", "source")
def test_how_a_body_is_read(row: Row) -> None:
    reading = describe(watch_of(row), answer_of(row))
    assert isinstance(reading, Reading)
    assert (reading.source, reading.encoding, reading.text) == (row["source"], "utf-8", row["body"])


@table("sources", "seen")
def test_what_is_seen_in_an_answer(row: Row) -> None:
    check(row)


@table("sources", "believed")
def test_a_page_is_believed_by_expect_and_reject(row: Row) -> None:
    check(row)


@table("sources", "refused")
def test_what_is_no_content_is_told_as_such(row: Row) -> None:
    check(row)


@table("sources", "redirected")
def test_a_login_page_elsewhere_is_no_content(row: Row) -> None:
    check(row)


# ------------------------------------------------------------------------------------------------- values and bytes


def page(text: str = "<p id=p>20 €</p>", **keys: Any) -> Representation:
    return representation(**{"body": text.encode("utf-8"), "digest": "", **keys})


def test_an_observation_keeps_the_answer_but_not_its_body() -> None:
    seen = read(watch(), page())
    assert isinstance(seen, Observation)
    assert seen.extract == Extract("20 €")
    assert seen.fingerprint == fingerprint(seen.extract, watch())
    assert seen.representation.body == b""
    assert body_digest(seen.representation) == body_digest(page())


@pytest.mark.parametrize("conditional", [True, False])
def test_a_no_match_says_whether_validators_were_sent(conditional: bool) -> None:
    outcome = read(watch(select="#q"), page(conditional=conditional))
    assert isinstance(outcome, NoMatch) and outcome.conditional is conditional


def known(**keys: Any) -> tuple[Baseline, Extract]:
    """A baseline of `page` whose extract cannot come from its bytes."""
    seen = read(watch(**keys), page())
    assert isinstance(seen, Observation)
    extract = Extract("from the baseline")
    return replace(baseline_of(seen, watch(**keys)), extract=extract), extract


def test_the_very_bytes_of_the_baseline_are_not_read_again() -> None:
    baseline, extract = known()
    seen = read(watch(), page(), baseline)
    assert isinstance(seen, Observation)
    assert seen.extract is extract and seen.fingerprint == baseline.fingerprint
    assert seen.representation.body == b""


@pytest.mark.parametrize(
    ("definition", "answer", "lost"),
    [
        ({"ignore": (".x",)}, {}, False),
        ({"expect": "20"}, {}, False),
        ({"reject": "21"}, {}, False),
        ({}, {"charset": "windows-1251"}, False),
        ({}, {"media_type": "text/plain"}, False),
        ({}, {"url": "http://127.0.0.1/q"}, False),
        ({}, {}, True),
    ],
)
def test_they_are_if_anything_else_has_changed(definition: dict[str, Any], answer: dict[str, Any], lost: bool) -> None:
    baseline, extract = known()
    baseline = replace(baseline, extract=None) if lost else baseline
    seen = read(watch(**definition), page(**answer), baseline)
    assert isinstance(seen, Observation) and seen.extract != extract


def test_expect_is_asked_even_of_the_very_bytes() -> None:
    baseline, _ = known()
    outcome = read(watch(expect="Tickets"), page(), baseline)
    assert isinstance(outcome, NoMatch) and outcome.kind == "expect"


def test_a_challenge_is_one_even_with_the_very_bytes() -> None:
    baseline, _ = known()
    outcome = read(watch(), page(challenge="challenge"), baseline)
    assert isinstance(outcome, NoMatch) and outcome.kind == "challenge"


def test_gzip_that_is_called_nothing_is_unpacked() -> None:
    packed = gzip.compress(b"<p id=p>20</p>")
    for media_type in ("application/gzip", "application/octet-stream", ""):
        seen = read(watch(), page(body=packed, media_type=media_type))
        assert isinstance(seen, Observation) and seen.extract.text == "20"


def test_gzip_that_is_cut_or_too_large_is_a_failure() -> None:
    packed = gzip.compress(b"<p id=p>20</p>" * 100)
    cut = read(watch(), page(body=packed[:-20], media_type="application/gzip"))
    assert isinstance(cut, FetchFailed) and cut.kind == "incomplete-body"
    bomb = read(watch(), page(body=gzip.compress(bytes(21_000_000)), media_type="application/gzip"))
    assert isinstance(bomb, FetchFailed) and bomb.kind == "too-large"


def test_the_charset_of_the_header_and_of_the_user_are_used() -> None:
    body = "<p id=p>среда</p>".encode("koi8-r")
    by_header = read(watch(), page(body=body, charset="koi8-r"))
    by_user = read(watch(encoding="koi8-r"), page(body=body))
    assert isinstance(by_header, Observation) and isinstance(by_user, Observation)
    assert by_header.extract.text == by_user.extract.text == "среда"


def test_text_in_utf_16_is_text() -> None:
    body = "<p id=p>среда</p>".encode("utf-16-le")
    by_header, by_user = (
        read(watch(), page(body=body, charset="utf-16")),
        read(watch(encoding="utf-16"), page(body=body)),
    )
    assert isinstance(by_header, Observation) and isinstance(by_user, Observation)
    assert by_header.extract.text == by_user.extract.text == "среда"
    assert isinstance(read(watch(select=""), page(body=body[12:], media_type="text/plain")), FetchFailed)


def test_enc_02_another_encoding_of_the_same_text_is_the_same_content() -> None:
    encodings = ("windows-1251", "utf-8", "koi8-r", "utf-16")
    seen = [read(watch(), page(body="<p id=p>среда</p>".encode(name), charset=name)) for name in encodings]
    assert len({look.fingerprint for look in seen if isinstance(look, Observation)}) == 1
    assert all(isinstance(look, Observation) for look in seen)


def test_noise_is_neither_compared_nor_shown() -> None:
    definition = watch(ignore_text=(r"\d+ views",))
    one, other = (read(definition, page(f"<p id=p>20 € <i>{n} views</i></p>")) for n in (5, 6))
    assert isinstance(one, Observation) and isinstance(other, Observation)
    assert one.fingerprint == other.fingerprint
    assert one.extract.text == other.extract.text == "20 €"


def test_deep_json_is_a_failure_of_this_look_only() -> None:
    for depth in (3000, 200_000):
        outcome = read(watch(select="", source="json"), page("[" * depth + "]" * depth))
        assert isinstance(outcome, FetchFailed) and outcome.kind == "not-json"


def test_deep_json_in_a_page_is_passed_over() -> None:
    deep = "[" * 3000 + "]" * 3000
    seen = read(watch(select="", path="a"), page(f'<script>{deep}</script><script>{{"a": 1}}</script>'))
    assert isinstance(seen, Observation) and seen.extract.text == "1"


def test_5_megabytes_take_no_time() -> None:
    card = '<div class=card><h3><a href="/p">Größe</a></h3><p>Some <b>text</b></p><ul><li>one<li>two</ul></div>'
    body = card * 50_000 + "<p id=p>20 €</p>"
    began = time.process_time()
    seen = read(watch(), page(body))
    assert time.process_time() - began < 3
    assert isinstance(seen, Observation) and seen.extract.text == "20 €"


TYPES = ["text/html", "application/json", "text/plain", "application/xml", "application/xhtml+xml", "", "image/gif"]


@given(
    st.binary(max_size=120) | st.text(alphabet='<>/pa ="{}[]:,1&;!-?', max_size=80).map(lambda text: text.encode()),
    st.sampled_from(TYPES),
    st.sampled_from(["", "utf-8", "utf-16", "shift_jis"]),
    st.sampled_from([{}, {"select": "p"}, {"path": "a[0].b"}, {"fields": (("a", "p@a"),)}, {"expect": "[a-z"[:2]}]),
)
def test_no_answer_raises(body: bytes, media_type: str, charset: str, keys: dict[str, Any]) -> None:
    outcome = read(watch(**{"select": "", **keys}), page(body=body, media_type=media_type, charset=charset))
    assert isinstance(outcome, Observation | NoMatch | FetchFailed)
