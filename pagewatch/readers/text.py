"""Plain text and CSV: the whole of it, line by line."""

from __future__ import annotations

from pagewatch.answers import Extract
from pagewatch.fingerprint import normalise, without_noise
from pagewatch.reading import Body, Content


def read(body: Body) -> Content:
    return Content(Extract(without_noise(normalise(body.text), body.watch.ignore_text)), body.text)
