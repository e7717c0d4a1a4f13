"""Content codings taken off a body while it arrives (RFC 9110 §8.4.1): gzip and deflate, as servers really send them.

It promises never to hold more than `limit` decoded bytes, whatever the packed ones expand to, and that a body which was
cut off is a failure: nothing else in the libraries below says so. Garbage behind a complete stream is common and let
pass.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from pagewatch.answers import FetchFailed
from pagewatch.failures import Broken

PIECE = 64 * 1024  # decoded bytes at a time
MOST_CODINGS = 4

_GZIP = b"\x1f\x8b"
_RAW, _ZLIB, _GZIP_WRAPPED = -zlib.MAX_WBITS, zlib.MAX_WBITS, 16 + zlib.MAX_WBITS

Coding = Callable[[Iterable[bytes]], Iterator[bytes]]


def decode(
    chunks: Iterable[bytes], codings: Sequence[str], limit: int, *, truncate: bool = False, framed: bool = True
) -> bytes | FetchFailed:
    """The whole body with `codings` taken off, the last one first.

    Over `limit` decoded bytes it is `too-large`, or is cut there if `truncate`. `framed`: its end is marked, so that no
    bytes at all are an empty body and not one that was cut off.
    """
    if len(codings) > MOST_CODINGS or not all(coding in _CODINGS for coding in codings):
        return FetchFailed("content-decoding", "the body has a content coding that was not asked for")
    stream: Iterable[bytes] = chunks
    for coding in reversed(codings):
        stream = _CODINGS[coding](stream if framed else _not_empty(stream))
    try:
        return _collect(stream, limit, truncate)
    except Broken as error:
        return error.failure


def unpack_undeclared(body: bytes, limit: int, *, truncate: bool = False) -> bytes | FetchFailed:
    """A text that is gzip all the same (packed twice, or without saying so); any other body as it is."""
    result: bytes | FetchFailed = body
    for _ in range(MOST_CODINGS):
        if isinstance(result, FetchFailed) or not result.startswith(_GZIP + b"\x08"):
            break
        result = decode((result,), ("gzip",), limit, truncate=truncate)
    return result


def _collect(stream: Iterable[bytes], limit: int, truncate: bool) -> bytes:
    pieces, size = [], 0
    for piece in stream:
        size += len(piece)
        pieces.append(piece)
        if size > limit:
            if truncate:
                return b"".join(pieces)[:limit]
            raise Broken(FetchFailed("too-large", f"the body is larger than {_amount(limit)}"))
    return b"".join(pieces)


def _amount(octets: int) -> str:
    return f"{octets / 1e6:g} MB" if octets >= 100_000 else f"{octets} bytes"


def _not_empty(chunks: Iterable[bytes]) -> Iterator[bytes]:
    empty = True
    for chunk in chunks:
        empty = empty and not chunk
        yield chunk
    if empty:
        raise Broken(FetchFailed("incomplete-body", "the connection was closed before the body came"))


def _gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """RFC 1952 §2.2: any number of members; what follows the last one and is no member is passed over."""
    decoder = zlib.decompressobj(_GZIP_WRAPPED)
    begun, ended, rest = False, False, b""
    for chunk in chunks:
        data = rest + chunk
        rest = b""
        while data and not ended:
            if decoder.eof:  # between two members
                if len(data) < len(_GZIP):
                    rest = data
                    break
                if not data.startswith(_GZIP):
                    ended = True
                    break
                decoder = zlib.decompressobj(_GZIP_WRAPPED)
            begun = True
            yield from _pieces(decoder, data)
            data = decoder.unused_data
    if begun and not decoder.eof:
        raise Broken(FetchFailed("incomplete-body", "the packed body was cut off"))


def _inflate(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """RFC 9110 §8.4.1.2: the zlib format, and without its wrapper as some send it."""
    decoder, head = None, b""
    for chunk in chunks:
        if decoder is None:
            head += chunk
            if len(head) < 2:
                continue
            wrapped = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0  # RFC 1950 §2.2
            decoder, chunk = zlib.decompressobj(_ZLIB if wrapped else _RAW), head
        if not decoder.eof:
            yield from _pieces(decoder, chunk)
    if head and not (decoder and decoder.eof):
        raise Broken(FetchFailed("incomplete-body", "the packed body was cut off"))


def _pieces(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """All that `data` expands to, a bounded piece at a time."""
    try:
        while not decoder.eof:
            if piece := decoder.decompress(data, PIECE):
                yield piece
            data = decoder.unconsumed_tail
            if not data and len(piece) < PIECE:  # with a full piece, zlib may hold back more although all was taken in
                break
    except zlib.error:
        raise Broken(FetchFailed("content-decoding", "the body is not packed as the server says it is")) from None


_CODINGS: dict[str, Coding] = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _inflate}
