"""Puts the guard into a child process: Python imports this by its name where the folder stands on PYTHONPATH."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

if "NETWORK_GUARD_LOG" in os.environ:
    guard = runpy.run_path(str(Path(__file__).with_name("loopback.py")))
    guard["install"](Path(os.environ["NETWORK_GUARD_LOG"]))
