"""Which watches share a request."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from pagewatch.answers import Answer, Missing, Validators
from pagewatch.asking import Readers, request_of, share
from pagewatch.frozen import replace
from pagewatch.model import Plan
from tests.values import SETTINGS, START, TAGGED, URL, first_sight, plan


def planned(**keys: Any) -> Plan:
    return plan(first_sight(), START, **keys)


@pytest.mark.parametrize(
    ("keys", "fetches"),
    [
        pytest.param({"select": "#q"}, 1, id="another selector"),
        pytest.param({"url": f"{URL}#part"}, 1, id="another fragment, which is never sent"),
        pytest.param({"url": URL.replace("http", "HTTP")}, 1, id="another spelling of the same URL"),
        pytest.param({"timeout": 5.0}, 1, id="another timeout"),
        pytest.param({"url": f"{URL}?q"}, 2, id="another query"),
        pytest.param({"url": URL.replace("//", "//me:secret@")}, 2, id="another login"),
        pytest.param({"headers": (("X-Key", "1"),)}, 2, id="other headers"),
        pytest.param({"body": b"a=1"}, 2, id="a body"),
        pytest.param({"verify_tls": False}, 2, id="no verification"),
        pytest.param({"robots_reason": "my own site"}, 2, id="robots.txt ignored"),
    ],
)
def test_watches_share_a_request_where_they_ask_the_same(keys: dict[str, Any], fetches: int) -> None:
    assert len(share([planned(), planned(**keys)])) == fetches


def test_a_shared_request_has_validators_only_where_all_have_the_same_and_the_longest_timeout() -> None:
    one = replace(planned(timeout=5.0), validators=TAGGED)
    assert request_of(SETTINGS, (one, one)).validators == TAGGED
    other = replace(one, validators=Validators('"v2"', "", URL))
    assert not request_of(SETTINGS, (one, other)).validators
    assert request_of(SETTINGS, (one, planned(timeout=9.0))).timeout == 9.0


def test_who_waits_for_the_web_keeps_nobody_from_reading() -> None:
    readers, come = Readers(), threading.Event()

    def ask(url: str) -> Answer:
        come.wait(2)
        return Missing(404)

    patient = readers.meanwhile(ask)
    with ThreadPoolExecutor(8) as hosts:
        waiting = [hosts.submit(readers, partial(patient, "http://a/")) for _ in range(3)]
        assert hosts.submit(readers, lambda: "read").result(1) == "read"
        come.set()
        assert [each.result(5) for each in waiting] == [Missing(404)] * 3


def test_no_more_than_two_bodies_are_read_at_once() -> None:
    readers, lock = Readers(), threading.Lock()
    at_work: list[int] = []
    busiest: list[int] = []

    def read(number: int) -> int:
        with lock:
            at_work.append(number)
            busiest.append(len(at_work))
        time.sleep(0.02)
        with lock:
            at_work.remove(number)
        return number

    with ThreadPoolExecutor(8) as hosts:
        assert list(hosts.map(lambda number: readers(partial(read, number)), range(8))) == list(range(8))
    assert max(busiest) == 2
