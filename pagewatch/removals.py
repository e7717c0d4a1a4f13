"""`verify_removed`: which pages to ask for when records are no longer listed, and what their answers mean."""

from __future__ import annotations

from pagewatch.answers import Answer, Missing, Representation
from pagewatch.model import Decision, Links, Plan
from pagewatch.urls import is_same_site

MOST = 20  # records whose pages are asked for after one look
UNKNOWN = "its page could not be asked for"


def links(plan: Plan, decision: Decision) -> Links:
    """The records that are told as removed, with the addresses of their pages, if those are of the site itself: which
    others a page names is nobody's wish."""
    change = decision.result.change
    if not plan.watch.verify_removed or change is None or not decision.notices:
        return ()
    removed = ((item.key, item.link or item.key) for item in change.removed)
    return tuple((key, link) for key, link in removed if is_same_site(link, plan.watch.url))[:MOST]


def fate(answer: Answer) -> str:
    match answer:
        case Missing():
            return f"its page is gone, {answer.status}"
        case Representation():
            return "no longer listed, its page is still there"
        case _:
            return UNKNOWN
