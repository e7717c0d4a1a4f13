"""Bytes -> text: which character encoding a body is in.

The same bytes with the same labels always give the same text, and no label makes it fail: that a server mislabels a
page, or that one byte in its footer is broken, must not be a change of what is watched. Labels mean what the WHATWG
Encoding Standard says (iso-8859-1 is windows-1252); Python's own codecs, some of which are no character encodings at
all, are never looked up by a label of the web.
"""

from __future__ import annotations

import re
from functools import lru_cache

FALLBACK = "windows-1252"

# WHATWG Encoding Standard §4.2: names and their labels. The two encodings that browsers refuse to decode are left out.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"
    " iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597"
    " iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-8859-8-i iso-ir-138"
    " iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
}
_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}
# The supersets that the standard means, where Python's codec of that name is narrower, and names unknown to Python.
_CODECS = {
    "big5": "big5hkscs", "euc-kr": "cp949", "shift_jis": "cp932",
    "windows-874": "cp874", "x-mac-cyrillic": "mac_cyrillic",
}  # fmt: skip

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_UTF16_XML = {b"<\0?\0": "utf-16le", b"\0<\0?": "utf-16be"}  # XML 1.0 appendix F
_WINDOW = 4096  # where a document declares its encoding; the HTML standard's 1,024 is often overrun
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_XML_DECLARATION = re.compile(rb"""\s*<\?xml[^>]{1,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_META = re.compile(rb"""<meta\s[^>]{0,400}?\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)


def decode(body: bytes, header_charset: str = "", override: str = "", media_type: str = "") -> tuple[str, str]:
    """The text of `body` and the name of the encoding it was read in (a WHATWG name). Never raises.

    In this order: `override` (the user's), byte order mark, the charset of the HTTP header, the declaration in the
    document (HTML standard §13.2.3, XML 1.0 §4.3.3), UTF-8, windows-1252. What the bytes contradict is passed over,
    see `_read`.
    """
    if name := encoding_name(override):
        return _strict_or_replaced(body, name), name
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _strict_or_replaced(body, name), name
    for name in _candidates(body, header_charset, media_type):
        if (text := _read(body, name)) is not None:
            return text, name
    return _strict_or_replaced(body, FALLBACK), FALLBACK


@lru_cache(maxsize=256)
def encoding_name(label: str) -> str:
    """The WHATWG name for a label as people write it (quotes, doubled parameters), "" for one that the web does not
    know."""
    label = re.split(r"[;,]", label.strip(" \t\r\n\f\"'")[:100])[0]
    return _NAMES.get(label.strip(" \t\r\n\f\"'").lower(), "")


def _candidates(body: bytes, header_charset: str, media_type: str) -> list[str]:
    header = encoding_name(header_charset)
    declared = _declared(body) if _declares(media_type) else ""
    if media_type.endswith("json") or (declared == "utf-8" and _is_utf8(body)):
        return ["utf-8", header]  # RFC 8259 §8.1; and a document that says UTF-8 and is UTF-8 outweighs its server
    return [header, declared, "utf-8"]


def _declares(media_type: str) -> bool:
    """Whether documents of this type can name their own encoding: plain text, CSV and JSON cannot."""
    plain = media_type.startswith("text/") and not media_type.endswith(("html", "xml"))
    return not plain and not media_type.endswith("json")


def _declared(body: bytes) -> str:
    """The encoding that the document names, or shows by its first characters."""
    if name := _UTF16_XML.get(body[:4]):
        return name
    head = _COMMENT.sub(b"", body[:_WINDOW])
    found = _XML_DECLARATION.match(head) or _META.search(head)
    return encoding_name(found[1].decode("ascii", "replace")) if found else ""


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read(body: bytes, name: str) -> str | None:
    """The text, or None where the bytes contradict this encoding: they are faultless UTF-8 instead, or more of what
    is not ASCII is broken than is whole. So one stray byte leaves a declared UTF-8, with a replacement character, and
    a page in another charset does not. UTF-16 without a NUL is none: where its name can be read as ASCII, HTML means
    UTF-8.
    """
    if not name or (name.startswith("utf-16") and b"\0" not in body[:_WINDOW]):
        return None
    codec = _CODECS.get(name, name)
    try:
        return body.decode(codec)
    except UnicodeDecodeError:
        if _is_utf8(body):
            return None
    text = body.decode(codec, "replace")
    broken = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - broken
    return text if broken <= whole else None


def _strict_or_replaced(body: bytes, name: str) -> str:
    return body.decode(_CODECS.get(name, name), "replace").removeprefix("\ufeff")
