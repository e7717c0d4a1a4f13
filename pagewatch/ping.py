"""Requests the user's own URL after a run that has finished: a dead man's switch tells when that stays away.

It is the user's service, so no robots.txt is asked; nothing that it answers is content, and nothing raises.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from urllib.request import getproxies

from pagewatch import fetch
from pagewatch.answers import Deferred, FetchFailed, Missing
from pagewatch.connections import Client
from pagewatch.hops import Request
from pagewatch.model import Settings

PATIENCE = 5.0  # seconds per read; all in all three times that
MOST_READ = 10_000  # bytes of an answer that nobody reads


def ping(settings: Settings, options: Namespace) -> str:
    """Why it did not arrive, "" where it did. The URL is a secret: it is not in the reason."""
    environment = options.environment
    bundle = environment.get("REQUESTS_CA_BUNDLE") or environment.get("SSL_CERT_FILE", "")
    client = Client(ca_bundle=bundle, proxies=getproxies(), now=options.clock)
    asked = Request(url=settings.ping, user_agent=settings.user_agent, timeout=PATIENCE, limit=MOST_READ, truncate=True)
    with client.session() as session:
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
