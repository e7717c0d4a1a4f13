"""The programs that are measured: how each is configured for the same watches, started, and understood."""

from __future__ import annotations

import os
import re
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import certifi

from tests.bench import pages
from tests.site import CA

LIMIT = Path(__file__).with_name("limit.py")


@dataclass(frozen=True)
class Page:
    """A page that is watched; `keys` are lines that only monitor.py understands."""

    name: str
    url: str
    keys: str = ""

    def entry(self) -> str:
        keys = f"    {self.keys}\n" if self.keys else f'    select: "{pages.SELECT}"\n'
        return f"  - name: {self.name}\n    url: {self.url}\n{keys}"


class Program(ABC):
    """A program in a folder of its own: its configuration, its state, and the state as the first visit left it."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self._kept = folder, folder / "state", folder / "kept"
        folder.mkdir(parents=True)
        self._trust = folder / "trust.pem"  # as long as a user's: what it costs to load is a part of the question
        self._trust.write_bytes(Path(certifi.where()).read_bytes() + CA.read_bytes())

    @property
    def environment(self) -> Mapping[str, str]:
        """As cron has it, with a home that is empty, and the site's certificate authority."""
        trust = {"REQUESTS_CA_BUNDLE": str(self._trust), "SSL_CERT_FILE": str(self._trust)}
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **trust}

    @abstractmethod
    def configure(self, watched: list[Page]) -> None: ...

    @abstractmethod
    def command(self) -> list[str]:
        """A run in which everything is due."""

    @abstractmethod
    def listing(self) -> list[str]:
        """The command that shows the watches and asks nobody."""

    @abstractmethod
    def changes(self, output: str) -> int:
        """How many watches it says have changed."""

    # -- its state

    def clear(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(mode=0o700)

    def keep(self) -> None:
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self.state, self._kept, copy_function=_restored)

    def restore(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self._kept, self.state, copy_function=_restored)


def _restored(source: str, target: str) -> None:
    """state.json is the very same file again, by which it is known; nobody writes into it."""
    if target.endswith("state.json"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


class Ours(Program):
    """`monitor.py` as a user runs it, not at a terminal, with no target but standard output. What is due again only
    tomorrow is looked at by `--now`."""

    def __init__(self, folder: Path, script: Path, name: str = "monitor.py") -> None:
        super().__init__(folder)
        self.name, self._script = name, script

    def configure(self, watched: list[Page]) -> None:
        entries = "".join(page.entry() for page in watched)
        self._config.write_text(f"gap: 0s\ncontact: bench@example.org\nwatches:\n{entries}", encoding="utf-8")

    def command(self) -> list[str]:
        return [*self.scheduled(), "--now"]

    def scheduled(self) -> list[str]:
        """The command of a scheduler, which looks only at what is due."""
        return [sys.executable, str(self._script), "--config", str(self._config), "--state", str(self.state)]

    def listing(self) -> list[str]:
        return [*self.scheduled(), "list"]

    def changes(self, output: str) -> int:
        return len(re.findall(r"(?m)^shop \d+: .*→", output))

    @property
    def _config(self) -> Path:
        return self.folder / "watches.yaml"


class Limit(Program):
    name = "limit"

    def configure(self, watched: list[Page]) -> None:
        entries = "".join(page.entry() for page in watched)
        (self.folder / "watches.yaml").write_text(f"watches:\n{entries}", encoding="utf-8")

    def command(self) -> list[str]:
        return [sys.executable, str(LIMIT), str(self.folder / "watches.yaml"), str(self.state / "state.json")]

    def listing(self) -> list[str]:
        return [*self.command(), "--list"]

    def changes(self, output: str) -> int:
        return len(re.findall(r"(?m)^CHANGED ", output))


class Urlwatch(Program):
    """urlwatch, by the Python of the environment that it is installed in."""

    name = "urlwatch"
    jobs, filters, list_option = "--urls", "filter", "--list"
    report = "display: {new: true, error: true}\nreport: {stdout: {enabled: true, color: false}}\n"

    def __init__(self, folder: Path, python: str) -> None:
        super().__init__(folder)
        self._executable = Path(python).with_name(self.name)

    def configure(self, watched: list[Page]) -> None:
        jobs = (f'name: {page.name}\nurl: {page.url}\n{self.filters}:\n  - css: "{pages.SELECT}"\n' for page in watched)
        (self.folder / "jobs.yaml").write_text("---\n".join(jobs), encoding="utf-8")
        (self.folder / "config.yaml").write_text(self.report, encoding="utf-8")

    def command(self) -> list[str]:
        files = [self.jobs, "jobs.yaml", "--config", "config.yaml", "--hooks", "hooks.py"]
        files = [word if word.startswith("--") else str(self.folder / word) for word in files]
        return [str(self._executable), *files, *self.database()]

    def database(self) -> list[str]:
        return ["--cache", str(self.state / "cache.db")]

    def listing(self) -> list[str]:
        return [*self.command(), self.list_option]

    def changes(self, output: str) -> int:
        return len(re.findall(r"(?m)^CHANGED: shop \d+ \( ?http", output))


class Webchanges(Urlwatch):
    name = "webchanges"
    jobs, filters, list_option = "--jobs", "filters", "--list-jobs"
    report = f"{Urlwatch.report[:-2]}, browser: {{enabled: false}}}}\nversion_check: {{enabled: false}}\n"

    def database(self) -> list[str]:
        return ["--database", str(self.state / "snapshots.db")]
