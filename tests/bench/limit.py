"""The least that does the work: what is left to gain.

    python limit.py WATCHES_YAML STATE_JSON [--list]

Eight threads, a task a host, one request a watch with the validators of the last one, lxml for the element, SHA-256
of its text, one JSON file. It has no robots.txt, no history, no outbox, no limits, and trusts every answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import yaml

THREADS = 8

State = dict[str, dict[str, str]]


def main(config: str, state_file: str, *options: str) -> None:
    """Prints a line for each new or changed watch."""
    watches = yaml.load(Path(config).read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))["watches"]
    if options:
        print("\n".join(watch["name"] for watch in watches))
        return
    path = Path(state_file)
    text = path.read_text(encoding="utf-8") if path.exists() else "{}"
    state: State = json.loads(text)
    hosts = defaultdict(list)
    for watch in watches:
        hosts[watch["url"].split("/")[2]].append(watch)
    with ThreadPoolExecutor(THREADS) as pool:
        for lines in pool.map(partial(_look_at_host, state), hosts.values()):
            print("".join(lines), end="")
    after = json.dumps(state)
    if after != text:
        temporary = path.with_suffix(".tmp")
        temporary.write_text(after, encoding="utf-8")
        temporary.replace(path)


def _look_at_host(state: State, watches: list[dict[str, Any]]) -> list[str]:
    import requests

    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("REQUESTS_CA_BUNDLE", True)
        return [line for watch in watches if (line := _look(session, state, watch))]


def _look(session: Any, state: State, watch: dict[str, Any]) -> str:
    before = state.get(watch["url"], {})
    asked = {"If-None-Match": before.get("etag"), "If-Modified-Since": before.get("modified")}
    answer = session.get(watch["url"], headers={name: value for name, value in asked.items() if value}, timeout=20)
    if answer.status_code == 304:
        return ""
    answer.raise_for_status()
    body = hashlib.sha256(answer.content).hexdigest()
    text = before["text"] if before.get("body") == body else _text(answer.content, watch["select"])
    fields = answer.headers
    validators = {"etag": fields.get("ETag", ""), "modified": fields.get("Last-Modified", "")}
    state[watch["url"]] = {**validators, "body": body, "text": text}
    if before.get("text") == text:
        return ""
    return f"{'CHANGED' if before else 'NEW'} {watch['name']}\n"


def _text(body: bytes, select: str) -> str:
    import lxml.html  # type: ignore[import-untyped]
    from lxml.cssselect import CSSSelector  # type: ignore[import-untyped]

    parser = lxml.html.HTMLParser(encoding="utf-8")
    found = CSSSelector(select, translator="html")(lxml.html.document_fromstring(body, parser=parser))
    return hashlib.sha256(found[0].text_content().encode()).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
