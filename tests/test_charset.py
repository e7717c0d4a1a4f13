"""Bytes become text: the table tests/cases/charset.yaml, and what must hold for any bytes and labels."""

from __future__ import annotations

import codecs

from hypothesis import example, given
from hypothesis import strategies as st

from pagewatch import charset
from tests.tables import Row, table


def body(row: Row) -> bytes:
    if "bytes" in row:
        return str(row["bytes"]).encode("latin-1")
    text: str = row.get("text_before", "") * row.get("times", 1) + row["text"]
    return text.encode(row.get("as", "utf-8"))


@table("charset")
def test_the_encoding_of_a_body(row: Row) -> None:
    media_type = row.get("media_type", "text/html")
    text, name = charset.decode(body(row), row.get("header", ""), row.get("override", ""), media_type)
    wanted = row.get("read", row.get("text", row.get("bytes")))
    assert name == row["encoding"]
    assert text == row.get("text_before", "") * row.get("times", 1) + wanted


def test_every_name_has_a_decoder_and_every_label_a_name() -> None:
    for label in ("utf-8", "latin1", "ks_c_5601-1987", "x-sjis", "windows-874", "x-mac-cyrillic", "visual"):
        assert charset.encoding_name(label), label
    for name in {charset.encoding_name(label) for label in charset._NAMES}:
        assert codecs.lookup(charset._CODECS.get(name, name)), name


def test_a_label_of_any_length_is_no_trouble() -> None:
    assert charset.decode(b"<p>x", "x" * 5000) == ("<p>x", "utf-8")


def test_two_texts_never_both_collapse_to_replacement_characters() -> None:
    pages = ['<meta charset="euc-jp"><p>平常どおりです</p>', '<meta charset="euc-jp"><p>欠航です</p>']
    texts = [charset.decode(page.encode("euc-jp"), "utf-8")[0] for page in pages]
    assert texts == pages


LABELS = st.sampled_from([*charset._LABELS, "hex", "utf-7", "", "none", '"utf-8"']) | st.text(max_size=20)


@given(st.binary(max_size=200), LABELS, LABELS, st.sampled_from(["text/html", "application/json", "text/plain", ""]))
@example(b"\xff\xfe\x00", "", "", "text/html")
@example(b'<?xml encoding="utf-16"?>', "utf-16", "utf-16", "text/html")
def test_no_bytes_and_no_label_raise_and_the_answer_is_always_the_same(
    body: bytes, header: str, override: str, media_type: str
) -> None:
    text, name = charset.decode(body, header, override, media_type)
    assert (text, name) == charset.decode(body, header, override, media_type)
    assert charset.encoding_name(name) == name
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=100))
def test_utf_8_without_a_label_is_read_as_it_was_written(text: str) -> None:
    assert charset.decode(text.encode("utf-8"))[0] == text.removeprefix("\ufeff")
