"""Amounts as people write them: a number read from a text, and the words for what became of it.

It promises exact decimals, the same reading for the same habits of writing, and an answer in linear time to any text.
What is read wrongly here is told as a price drop, so a decimal mark is inferred only from the amount itself (a version
or a date beside it proves nothing), and where the amount leaves it open, the mark that the watch has kept decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from itertools import islice

from pagewatch.answers import Amount
from pagewatch.frozen import dataclass

MOST_DIGITS = 40  # of one number; more is no amount, and costs time
MOST_LETTERS = 8  # beside a price without its currency
MOST_NUMBERS = 1000  # of one text; those behind are not looked at

_SPACE = " \u00a0\u2009\u202f"
_DASH = "-\u2010-\u2015\u2212\ufe58\ufe63\uff0d~\u301c\uff5e"
_SIGN = "-\u2011\u2013\u2212\ufe63\uff0d"
# Unicode's category Sc, which `re` cannot name; and what stands for currencies in Chinese, Japanese and Korean.
_SYMBOL = (
    "$¢-¥\u058f\u060b\u07fe\u07ff\u09f2\u09f3\u09fb\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ua838\ufdfc\ufe69\uff04\uffe0"
    "\uffe1\uffe5\uffe6\U00011fdd-\U00011fe0\U0001e2ff\U0001ecb0円元원"
)
# ISO 4217 without those that are English words in capitals (ALL, CUP, MOP, SOS, TOP).
_CODES = """AED AFN AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
    CLF CLP CNY COP CRC CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG
    HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD
    MMK MNT MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR
    SBD SCR SDG SEK SGD SHP SLE SRD SSP STN SVC SYP SZL THB TJS TMT TND TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV
    WST XAF XCD XOF XPF YER ZAR ZMW"""
_WORDS = "|".join(_CODES.split()) + (
    r"|[Ee]uros?|EURO|eur|[Dd]ollars?|Franken|[Kk]r\.?|KR|zł|ZŁ|zl|Kč|KČ|s?S?Fr\.|Ft|FT|[Ll]e[iu]|LEI|Rs\.?|RM|Rp\.?|TL"
    r"|лв\.?|руб\.?|грн\.?"
)
_CURRENCY = rf"(?:[A-Z]{{0,2}}[{_SYMBOL}]|(?:{_WORDS})(?!\w))"
_TO = "to|bis|à|a|au|al|até|tot|till?|hasta|do|до"

# Digits with grouping and decimal marks; the decimals may stand apart ("14 , 99") or be a dash ("20,-").
_NUMBER = (
    rf"(?P<run>(?:(?!0)\d{{1,3}}(?:[{_SPACE}]\d{{3}}(?!\d))+|\d+)(?:[.,'’\u066b\u066c]\d+)*|(?<![\w.,'’])[.,]\d+)"
    rf"(?:\s(?P<apart>[.,])\s?(?P<cents>\d{{1,2}})(?!\d|[.,]\d|\s[.,])|[{_SPACE}]?(?P<bare>[.,])[{_DASH}]{{1,2}}(?!\d))?"
)
_ONE_FORM = str.maketrans({**dict.fromkeys(_SPACE + "’\u066c", "'"), "\u066b": ","})
_GROUPED = r"\d+|\d{1,3}([.,'])\d{3}(?:\1\d{3})*|\d{1,2}(?:,\d\d)+,\d{3}"
_OTHER = {".": ",", ",": "."}

_NEAR = 16  # characters in front of a number that can say something about it
_IN_FRONT = rf"(?:[{_SYMBOL}]|(?<![^\W\d])(?:{_WORDS}))\s?[{_SIGN}]?$"
_BEHIND = rf"\s?{_CURRENCY}"
_NEGATIVE = rf"(?<![\w.,)\]%°{_DASH}])[{_SIGN}](?:[A-Z]{{0,2}}[{_SYMBOL}])?$"
_GLUED = r"[^\W\d][-\u2010\u2011]?$"
_UNIT = rf"(?:\s?(?:{_CURRENCY}|%|°[CF]?))?"
# A dash with a space in front only is the sign of what follows: "19,99 € -20 %".
_BETWEEN = (
    rf"{_UNIT}(?:[{_SPACE}][{_DASH}][{_SPACE}]|[{_DASH}][{_SPACE}]?|\s(?:{_TO})\s)"
    rf"(?:{_CURRENCY}\s?)?(?P<sign>[{_SIGN}])?"
)
_LONGEST_BETWEEN = 24
_ONE_MORE = rf"[{_DASH}]\d"
_PERCENT = r"\s?%"
_compiled = cache(re.compile)  # those that are needed: most runs read no number


@dataclass(frozen=True)
class _Number:
    """A number in a text: `body` has ASCII digits, the marks "." and ",", and "'" for what can only group; it ends
    with a mark where a dash stands for the decimals."""

    start: int
    end: int
    body: str


# --------------------------------------------------------------------------------------------------------- reading


def read(text: str, mark: str = "", field: str = "") -> Amount | None:
    """The amount in a text: the first number or range beside a currency, else the first that is not glued to a word
    ("A4"), else the first; None where there is none. `mark` is the decimal mark that is known, "" if it is open: it
    decides what the amount leaves open ("1.299"), and an amount that proves another mark outweighs it."""
    found = min(_found(text, mark), key=lambda candidate: candidate[0], default=None)
    if found is None:
        return None
    rank, low, high, proven = found
    return Amount(field, low, high, proven or mark, money=rank == 0)


def takes_its_place(new: Amount, known: Amount, text: str) -> bool:
    """Whether what was read in `text` can be what `known` was: where a price stood, a number among words is none."""
    return new.money or not known.money or sum(map(str.isalpha, text)) < MOST_LETTERS


def others(text: str) -> bool:
    """Whether the text has numbers beside the one that is read."""
    return sum(1 for _ in _found(text, "")) > 1


def is_price(text: str) -> bool:
    """Whether a currency belongs to one of the numbers in a text."""
    return any(rank == 0 for rank, *_ in _found(text, ""))


def _found(text: str, mark: str) -> Iterator[tuple[int, str, str, str]]:
    """Every number and range: its rank (0 is best), low, high and the mark that it proves."""
    numbers = _numbers(text)
    place = 0
    while place < len(numbers):
        first, *others = numbers[place : place + 3]
        ends = _range(text, first, others[0], mark) if others else None
        last = others.pop(0) if ends else first
        following = others[0] if others else None
        money = _is_money(text, last, following) or (last is not first and _is_money(text, first, None))
        yield (0 if money else _rank(text, first)), *(ends or _single(text, first, mark))
        place += 2 if ends else 1


def _numbers(text: str) -> list[_Number]:
    found = islice(_compiled(_NUMBER).finditer(text), MOST_NUMBERS)
    numbers = (_Number(match.start(), match.end(), _body(match)) for match in found if _is_short(match["run"]))
    return list(numbers)


def _is_short(run: str) -> bool:
    return len(run) <= MOST_DIGITS or sum(map(str.isdecimal, run)) <= MOST_DIGITS


def _body(match: re.Match[str]) -> str:
    run = match["run"].translate(_ONE_FORM)
    if match["apart"] and match["apart"] not in run:
        run += match["apart"] + match["cents"]
    run += match["bare"] or ""
    return run if run.isascii() else "".join(str(int(sign)) if sign.isdecimal() else sign for sign in run)


def _range(text: str, first: _Number, second: _Number, mark: str) -> tuple[str, str, str] | None:
    """Low, high and the proven mark where two numbers are the ends of a range; a third behind another dash makes them
    a date or a telephone number, and per cent behind money is a discount. What one end proves holds for the other."""
    if second.start - first.end > _LONGEST_BETWEEN or _compiled(_ONE_MORE).match(text, second.end):
        return None
    between = _compiled(_BETWEEN).fullmatch(text, first.end, second.start)
    if between is None or (_compiled(_PERCENT).match(text, second.end) and _is_money(text, first, second)):
        return None
    proven = _value(first.body, mark)[1] or _value(second.body, mark)[1]
    low = _signed(_value(first.body, proven or mark)[0], _is_negative(text, first))
    high = _signed(_value(second.body, proven or mark)[0], between["sign"] is not None)
    return (low, high, proven) if Decimal(low) <= Decimal(high) else None


def _single(text: str, number: _Number, mark: str) -> tuple[str, str, str]:
    value, proven = _value(number.body, mark)
    value = _signed(value, _is_negative(text, number))
    return value, value, proven


def _is_money(text: str, number: _Number, following: _Number | None) -> bool:
    """Whether a currency belongs to the number. Between two numbers it belongs to the one that it touches; apart from
    both, to the first only if the second has its own ("20 USD 15 USD", but "Qty 3 EUR 20")."""
    if _compiled(_IN_FRONT).search(_in_front(text, number)):
        return True
    behind = _compiled(_BEHIND).match(text, number.end)
    if behind is None:
        return False
    if following is None or text[behind.end() : following.start].strip() or not text[number.end].isspace():
        return True
    return behind.end() < following.start and _compiled(_BEHIND).match(text, following.end) is not None


def _in_front(text: str, number: _Number) -> str:
    return text[max(0, number.start - _NEAR) : number.start]


def _rank(text: str, number: _Number) -> int:
    return 2 if _compiled(_GLUED).search(_in_front(text, number)) else 1


def _is_negative(text: str, number: _Number) -> bool:
    """A sign that touches the digits, or the currency at them; before a bare mark it stands for no whole part."""
    return number.body[0] not in ".," and _compiled(_NEGATIVE).search(_in_front(text, number)) is not None


def _value(body: str, mark: str) -> tuple[str, str]:
    """The unsigned decimal, and the mark that the number proves."""
    whole, fraction, proven = _parts(body, mark)
    whole = re.sub(r"\D", "", whole).lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return (f"{whole}.{fraction}" if fraction else whole), proven


def _parts(body: str, mark: str) -> tuple[str, str, str]:
    """Whole part, decimals and proven mark. Groups that nobody forms ("24.12.2024", "5'11") are several numbers, of
    which the first is read."""
    if body[-1] in ".," and body[-1] in body[:-1]:  # "1.299.-": the dash has a mark of its own
        body = body[:-1]
        mark = "" if _compiled(_GROUPED).fullmatch(body) else mark
    last = max(".,", key=body.rfind)
    head, found, tail = body.rpartition(last)
    if "'" in tail or last in head or not found:
        return (
            (body, "", _OTHER[last] if found else "")
            if _compiled(_GROUPED).fullmatch(body)
            else (_first_digits(body), "", "")
        )
    if not head.isdecimal() or len(tail) != 3 or len(head) > 3 or head[0] == "0":
        return head, tail, last
    return (head, tail, "") if mark == last else (head + tail, "", "")


def _first_digits(body: str) -> str:
    return re.split(r"\D", body, maxsplit=1)[0]


def _signed(value: str, negative: bool) -> str:
    return f"-{value}" if negative and value != "0" else value


# ----------------------------------------------------------------------------------------------------------- words


def said(old: Amount, new: Amount, extremes: Amount | None) -> str:
    """What a notice says of a move, such as "−2, −10 %, the lowest seen"; of a range, which end moved. `extremes` is
    the lowest and highest seen before `new`. "" if nothing differs."""
    low, high = _moved(old.low, new.low), _moved(old.high, new.high)
    lowest = ", the lowest seen" if extremes and Decimal(new.low) < Decimal(extremes.low) else ""
    highest = ", the highest seen" if extremes and Decimal(new.high) > Decimal(extremes.high) else ""
    if old.low == old.high and new.low == new.high:
        return low and low + lowest + highest
    ends = (("low", low, lowest), ("high", high, highest))
    return "; ".join(f"{end} {move}{record}" for end, move, record in ends if move)


def _moved(old: str, new: str) -> str:
    """Difference and per cent; no per cent from 0, nor where it rounds to 0."""
    exact = Context(prec=4 * MOST_DIGITS, rounding=ROUND_HALF_UP)
    before, difference = Decimal(old), exact.subtract(Decimal(new), Decimal(old))
    if not difference:
        return ""
    ratio = exact.divide(exact.scaleb(difference, 2), before.copy_abs()) if before else Decimal(0)
    percent = ratio.quantize(Decimal("0.1"), context=exact)
    return _plus_or_minus(difference) + (f", {_plus_or_minus(percent)} %" if percent else "")


def _plus_or_minus(value: Decimal) -> str:
    digits = f"{value.copy_abs():f}"  # abs() rounds
    return ("−" if value < 0 else "+") + (digits.rstrip("0").rstrip(".") if "." in digits else digits)


def widened(extremes: Amount | None, new: Amount) -> Amount:
    """The lowest and highest seen, `new` included."""
    if extremes is None:
        return new
    low, high = min(extremes.low, new.low, key=Decimal), max(extremes.high, new.high, key=Decimal)
    return Amount(new.field, low, high, new.mark)


def same(a: Amount, b: Amount) -> bool:
    """Whether nothing moved; how it was written does not count."""
    return (a.low, a.high) == (b.low, b.high)
