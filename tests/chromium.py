"""A real browser for pages that this project writes, where there is one: Chromium without a window and a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import lxml.html  # type: ignore[import-untyped]
import pytest

NAMES = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=3000", "--dump-dom"),
)

# Frames share the page's origin: what became of each is read by a script of ours in the page around them.
MEASURE = """
addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement;
    found[frame.title] = {
      title: page.title, hit: root.dataset.hit || "", width: root.scrollWidth,
      background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
      over: [...page.querySelectorAll("body *")].filter(e => !e.closest(".skip, .hidden, thead, svg") &&
        e.getBoundingClientRect().right > frame.clientWidth + 0.5).map(e => e.outerHTML.slice(0, 200)),
      sides: new Set([...page.querySelectorAll("#w1 .diff .part td")].map(e => e.getBoundingClientRect().left)).size,
    };
  }
  document.getElementById("found").textContent = JSON.stringify(found);
});
"""


def executable() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


needs_chromium = pytest.mark.skipif(executable() is None, reason="there is no Chromium on this machine")


def dom_of(page: Path, folder: Path) -> str:
    """The document as it is when its scripts, if it has any, have run; `folder` becomes the browser's profile."""
    program = executable()
    assert program
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    done = subprocess.run(
        [program, *FLAGS, f"--user-data-dir={folder}", page.as_uri()],
        capture_output=True, timeout=60, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.decode("utf-8")


def framed(pages: Mapping[str, tuple[str, int]], folder: Path) -> dict[str, dict[str, Any]]:
    """What became of each page, by its name, in a frame of the given width; see MEASURE."""
    frames = "".join(
        f'<iframe title="{name}" width="{width}" height="800" style="border: 0" srcdoc="{escape(page)}"></iframe>'
        for name, (page, width) in pages.items()
    )
    around = folder / "around.html"
    text = f'<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre>{frames}<script>{MEASURE}</script>'
    around.write_text(text, encoding="utf-8")
    dumped = lxml.html.fromstring(dom_of(around, folder / "profile"))
    found: dict[str, dict[str, Any]] = json.loads(dumped.get_element_by_id("found").text_content())
    return found
