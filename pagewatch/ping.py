"""Requests the user's own URL after a run that has finished: a dead man's switch tells when that stays away.

It is the user's service, so no robots.txt is asked; nothing that it answers is content, and nothing raises.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext

from pagewatch import fetch
from pagewatch.answers import Deferred, FetchFailed, Missing
from pagewatch.connections import Client
from pagewatch.hops import Request
from pagewatch.model import Settings

PATIENCE = 5.0  # seconds per read; all in all three times that
MOST_READ = 10_000  # bytes of an answer that nobody reads


def ping(settings: Settings, options: Namespace) -> str:
    """Why it did not arrive, "" where it did. The URL is a secret: it is not in the reason."""
    asked = Request(url=settings.ping, user_agent=settings.user_agent, timeout=PATIENCE, limit=MOST_READ, truncate=True)
    with Client.of(options.environment, options.clock).session() as session:
        answer = fetch.ask(asked, session, lambda url: nullcontext(None))
    match answer:
        case FetchFailed(kind="http-204" | "empty-body"):
            return ""
        case FetchFailed():
            return answer.reason
        case Missing():
            return f"the server answers {answer.status}"
        case Deferred():
            return answer.reason
        case _:
            return ""
