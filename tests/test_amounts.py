"""Amounts in texts: the table tests/cases/amounts.yaml, six ways of writing them, and what must hold for any text."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagewatch import amounts
from pagewatch.amounts import said, same, widened
from pagewatch.answers import Amount
from pagewatch.frozen import replace
from tests.tables import Row, table

# ------------------------------------------------------------------------------------------------------ the tables


def read(text: str, mark: str = "", field: str = "") -> Amount | None:
    """The number alone, whether or not a currency stands beside it."""
    found = amounts.read(text, mark, field)
    return found and replace(found, money=False)


@pytest.mark.parametrize(("text", "money"), [("20 €", True), ("CHF 20", True), ("20", False), ("20 kg", False)])
def test_a_price_has_a_currency(text: str, money: bool) -> None:
    found = amounts.read(text)
    assert found is not None and found.money is money


@pytest.mark.parametrize(
    ("text", "takes"), [("18 €", True), ("18,50", True), ("ab 18", True), ("Sold out, back in 3 days", False)]
)
def test_a_number_among_words_does_not_take_the_place_of_a_price(text: str, takes: bool) -> None:
    price, found = amounts.read("20 €"), amounts.read(text)
    assert price is not None and found is not None
    assert amounts.takes_its_place(found, price, text) is takes


@pytest.mark.parametrize(
    ("text", "others"), [("20 €", False), ("20–25 €", False), ("1 299,- €", False), ("2 × 20 €", True)]
)
def test_whether_there_are_other_numbers(text: str, others: bool) -> None:
    assert amounts.others(text) is others


@table("amounts", "read")
def test_reading(row: Row) -> None:
    wanted = None
    if "low" in row:
        low: str = row["low"]
        wanted = Amount("price", low, row.get("high", low), row.get("kept", ""))
    assert read(row["text"], row.get("mark", ""), "price") == wanted


def amount(ends: str | list[str]) -> Amount:
    low, high = (ends, ends) if isinstance(ends, str) else ends
    return Amount("", low, high)


@table("amounts", "said")
def test_words(row: Row) -> None:
    seen = amount(row["seen"]) if "seen" in row else None
    assert said(amount(row["old"]), amount(row["new"]), seen) == row["words"]


def test_a_difference_of_the_longest_numbers_is_exact() -> None:
    assert said(amount("9" * 40), amount("0." + "0" * 38 + "1"), None) == f"−{'9' * 39}8.{'9' * 39}, −100 %"


def test_every_currency_symbol_of_unicode_makes_an_amount() -> None:
    symbols = [sign for sign in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(sign) == "Sc"]
    assert len(symbols) > 60
    for sign in symbols:
        assert read(f"3 of {sign}20") == read(f"3 of 20 {sign}") == amount("20"), sign


def test_the_lowest_and_highest_are_kept() -> None:
    first, second = Amount("price", "9", "20", ","), Amount("price", "10", "100", ".")
    assert widened(None, first) == first
    assert widened(first, second) == Amount("price", "9", "100", ".")
    assert widened(second, Amount("price", "-1", "5")) == Amount("price", "-1", "100")


def test_how_it_is_written_makes_no_other_amount() -> None:
    assert same(Amount("", "5", "5", ","), Amount("", "5", "5", "."))
    assert not same(Amount("", "5", "5"), Amount("", "5", "6"))
    assert not same(Amount("", "4", "5"), Amount("", "5", "5"))


# ------------------------------------------------------------------------------------------------------ six locales


@dataclass(frozen=True)
class Locale:
    grouping: str
    mark: str
    pattern: str
    last: int = 3  # digits of the last group
    rest: int = 3

    def written(self, value: Decimal, decimals: int) -> str:
        whole, _, fraction = f"{abs(value):.{decimals}f}".partition(".")
        groups, whole = [whole[-self.last :]], whole[: -self.last]
        while whole:
            groups, whole = [whole[-self.rest :], *groups], whole[: -self.rest]
        digits = self.grouping.join(groups) + (self.mark + fraction if decimals else "")
        return self.pattern.format(("-" if value < 0 else "") + digits)


LOCALES = {
    "en_US": Locale(",", ".", "${}"),
    "de_DE": Locale(".", ",", "{} €"),
    "fr_FR": Locale("\u202f", ",", "{}\u00a0€"),
    "de_CH": Locale("’", ".", "CHF {}"),
    "sv_SE": Locale("\u00a0", ",", "{} kr"),
    "en_IN": Locale(",", ".", "₹{}", rest=2),
}
each_locale = pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
cents = st.integers(min_value=-(10**11), max_value=10**11)


def plain(value: Decimal) -> str:
    digits = f"{value:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


@each_locale
@given(cents=cents)
def test_what_was_written_with_two_decimals_is_read(locale: Locale, cents: int) -> None:
    value = Decimal(cents).scaleb(-2)
    text = locale.written(value, 2)
    assert read(text) == Amount("", plain(value), plain(value), locale.mark), text
    assert read(text, amounts._OTHER[locale.mark]) == read(text), "a proof outweighs the kept mark"


@each_locale
@given(whole=cents)
def test_what_was_written_without_decimals_is_read(locale: Locale, whole: int) -> None:
    text = locale.written(Decimal(whole), 0)
    found = read(text)
    assert found is not None and same(found, amount(str(whole))), text
    assert found.mark in ("", locale.mark)


@each_locale
@given(value=cents, decimals=st.integers(0, 4))
def test_the_kept_mark_makes_all_ways_of_writing_one_amount(locale: Locale, value: int, decimals: int) -> None:
    exact = Decimal(value).scaleb(-decimals)
    text = locale.written(exact, decimals)
    assert read(text, locale.mark) == Amount("", plain(exact), plain(exact), locale.mark), text


@each_locale
@given(first=cents, second=cents, dash=st.sampled_from([" – ", "–", " to ", " bis ", "—"]))
def test_a_range_is_its_ends(locale: Locale, first: int, second: int, dash: str) -> None:
    low, high = sorted(Decimal(abs(number)).scaleb(-2) for number in (first, second))
    text = locale.written(low, 2) + dash + locale.written(high, 2)
    assert read(text) == Amount("", plain(low), plain(high), locale.mark), text


# --------------------------------------------------------------------------------------------------------- any text


pieces = st.sampled_from([*"0 1 299 50 ٣ . , ' ’ - – − ~ $ € CHF kr Rs. % ° to bis a A".split(), " ", "\n", "\u202f"])
texts = st.one_of(st.text(), st.lists(pieces, max_size=30).map("".join))


@given(text=texts, mark=st.sampled_from(["", ",", "."]))
def test_any_text_gives_an_exact_amount_or_none(text: str, mark: str) -> None:
    found = read(text, mark, "price")
    assert (found is not None) == any(sign.isdecimal() for sign in text)
    if found:
        assert found.field == "price" and found.mark in ("", ",", ".") and (found.mark or not mark)
        assert Decimal(found.low) <= Decimal(found.high)
        for end in (found.low, found.high):
            assert end.isascii() and end == plain(Decimal(end)) != "-0"


@given(text=texts, mark=st.sampled_from(["", ",", "."]))
def test_reading_again_with_the_kept_mark_changes_nothing(text: str, mark: str) -> None:
    found = read(text, mark)
    if found and found.mark:
        assert read(text, found.mark) == found


@given(old=texts, new=texts)
def test_there_are_words_exactly_where_something_moved(old: str, new: str) -> None:
    before, after = read(old), read(new)
    if before and after:
        assert (said(before, after, before) == "") == same(before, after)
        assert same(widened(before, after), widened(after, before))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1 ", "1-", "-", "999 ", ".", "$", "1 , 2", " ,", "A", ",-", "1.-", "1 to ", "1’", "\n", "$-"]
)
def test_megabytes_are_read_in_linear_time(piece: str) -> None:
    assert seconds(lambda: read(piece * (2_000_000 // len(piece)))) < 2
