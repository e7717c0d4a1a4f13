"""`monitor.py demo`: five runs of the real program against a site on 127.0.0.1, held against what they promise.

The site, the state, the configuration and the notification are real; only the five changes on the page are made up.
It needs no network.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pagewatch import demo
from pagewatch.frozen import dataclass

CONFIGURATION = """\
gap: 0s
notify: {target}
watches:
  - name: Ticket price
    url: {url}
    select: "#price"
"""
COLUMNS = "{:<3} {:<25} {:>5} {:>6} {:>5}  {:<12} {}"


@dataclass(frozen=True)
class Step:
    """One of the five runs: what happens to the page before it, and what it must then show."""

    happens: str
    price: str
    made: str
    outcome: str
    status: int
    notices: int
    shows: str


STEPS = (
    Step("first visit", demo.PRICE.format(20), "08:00", "baseline", 200, 0, "saved: {new}"),
    Step("nothing", demo.PRICE.format(20), "08:00", "not-modified", 304, 0, "no body was sent"),
    Step(
        "a timestamp changes",
        demo.PRICE.format(20),
        "09:30",
        "unchanged",
        200,
        0,
        "same content",
    ),
    Step("price falls from 20 to 18", demo.PRICE.format(18), "09:30", "changed", 200, 1, "told, see below"),
    Step(
        "redesign: #price is gone",
        "<p>Tickets: ask at the box office</p>",
        "10:15",
        "no-match",
        200,
        1,
        "told, see below",
    ),
)


def run(options: Namespace) -> int:
    options.environment["no_proxy"] = "127.0.0.1"  # a proxy could not reach the endpoint on this machine
    return demonstrate(options.main)


def demonstrate(check: Callable[[list[str]], int]) -> int:
    """Plays the five runs. `check` is the program's own entry. 0: all was as promised; 1: an observation differs."""
    failures: list[str] = []
    print(COLUMNS.format("run", "what happens", "asked", "status", "bytes", "outcome", "what it does"))
    with demo.site() as site, tempfile.TemporaryDirectory(prefix="pagewatch-demo-") as folder:
        config = Path(folder, "watches.yaml")
        config.write_text(CONFIGURATION.format(target=site.target, url=site.url), encoding="utf-8")
        for number, step in enumerate(STEPS, 1):
            failures += _play(number, step, site, lambda: _check(check, config))
        messages = site.messages
    for message in messages:
        print(f"\nnotification received at json://127.0.0.1: {message['title']}\n{message['message']}")
    for failure in failures:
        print(f"demo: {failure}", file=sys.stderr)
    print("\nAll five runs did what they promise." if not failures else "\nThe demonstration failed.")
    return 1 if failures else 0


def _check(check: Callable[[list[str]], int], config: Path) -> dict[str, Any]:
    """The JSON object of the watch, from a run of the program in this process."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        status = check(["check", "--now", "--json", "--config", str(config), "--state", str(config.parent / "state")])
    if status == 130:
        raise KeyboardInterrupt
    rows: list[dict[str, Any]] = [json.loads(line) for line in printed.getvalue().splitlines()]
    return next((row for row in rows if "watch" in row), {"outcome": "nothing", "new": None})


def _play(number: int, step: Step, site: demo.Site, check: Callable[[], dict[str, Any]]) -> list[str]:
    """One run: prints its line, and returns what was not as promised."""
    site.price, site.made = step.price, step.made
    before, told = len(site.exchanges), len(site.messages)
    row = check()
    pages = [exchange for exchange in site.exchanges[before:] if exchange.path == "/tickets"]
    all_requests = [exchange.path for exchange in site.exchanges[before:] if exchange.method == "GET"]
    status, sent = (pages[-1].status, pages[-1].sent) if pages else (0, 0)
    messages = site.messages[told:]
    title = messages[-1]["title"] if messages else "nothing"
    shows = step.shows.format(new=row["new"])
    print(COLUMNS.format(number, step.happens, len(all_requests), status, sent, row["outcome"], shows))
    observed = {
        "outcome": (row["outcome"], step.outcome),
        "status": (status, step.status),
        "requests for the page": (len(pages), 1),
        "requests for robots.txt": (all_requests.count("/robots.txt"), 1 if number == 1 else 0),
        "validator sent": (bool(pages and pages[-1].validator), number > 1),
        "body transferred": (sent > 0, step.status == 200),
        "notifications": (len(messages), step.notices),
    }
    wrong = [
        f"run {number}: {what}: {seen}, expected {promised}"
        for what, (seen, promised) in observed.items()
        if seen != promised
    ]
    if step.outcome == "changed" and "20 dollars → 18 dollars" not in title:
        wrong.append(f"run {number}: the notice does not show old and new text: {title}")
    return wrong
