"""Apprise really sending: to HTTP endpoints and mail servers on 127.0.0.1, well and badly behaved."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from pagewatch.frozen import replace
from pagewatch.model import Delivery, Notice, Target
from pagewatch.notices import after_failure, changed, warning
from pagewatch.notify import TIME_LIMIT, advice, check_target, deliver, host_shown, send
from tests.targets import (
    CERTIFICATE,
    Answer,
    HttpTarget,
    MailTarget,
    closed_port,
    http_target,
    mail_target,
    silent_port,
)

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=timezone.utc)
URL = "https://example.org/tickets"
TEXT = "a <b>5 < 7</b> & *x* _y_ ~~z~~ [a](b) `c` {{ 7*7 }} ${HOME} %s {name} :smile: \\n \\u0041 🏊 \u200f(שלום)"
LINES = f"{TEXT}\n.\nFrom here on\n\tand  here\n{URL}?a=1&b=2"
PROJECT = Path(__file__).resolve().parent.parent
PROGRAM = """
import logging, queue, sys
logging.basicConfig()
from datetime import datetime, timezone
from pagewatch.model import Notice, Target
from pagewatch.notify import deliver
now = datetime.now(timezone.utc)
targets = [Target(str(number), url) for number, url in enumerate(sys.argv[1:])]
reports = queue.Queue()
deliver([Notice(t.name, "w", "w", "changed", "title", "body", t.name, now) for t in targets], targets, now, reports.put)
heard = [reports.get(timeout=10) for _ in range(4)]
for report in sorted(heard, key=lambda report: report.target):
    if report.failed:
        print(report.target, report.failed[0][1])
sys.stdin.readline()
"""
LOGIN = "me:p%40ss%2Fword@"
ROWS = json.loads((Path(__file__).parent / "cases" / "target_urls.json").read_text(encoding="utf-8"))


def notice(number: int, target: str = "hook", text: str = "20 → 18", **more: Any) -> Notice:
    title, body = changed(f"Watch {number}", URL, text, text)
    return Notice(f"{number}-{target}", f"{number}", f"Watch {number}", "changed", title, body, target, NOW, **more)


def impatient(target: HttpTarget) -> str:
    return f"{target.url}?cto=0.3&rto=0.3"


def delivered(
    outbox: Iterable[Notice], targets: Iterable[Target], time_limit: float = TIME_LIMIT
) -> tuple[set[str], dict[str, str], list[Delivery]]:
    """What a whole delivery came to, as a run hears of it: ids taken, ids failed with the reason, and each report."""
    reports: queue.Queue[Delivery] = queue.Queue()
    waiting = set(deliver(outbox, targets, NOW, reports.put, time_limit))
    heard = []
    while waiting:
        heard.append(reports.get(timeout=time_limit + 5))
        if heard[-1].last:
            waiting.remove(heard[-1].target)
    taken = {id_ for report in heard for id_ in report.delivered}
    return taken, {id_: reason for report in heard for id_, reason in report.failed}, heard


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "certificate.pem"
    path.write_text(CERTIFICATE, encoding="ascii")
    return path


# -------------------------------------------------------------------------------------------------- one message, HTTP


def test_text_arrives_literally_by_http() -> None:
    with http_target() as hook:
        assert send(Target("hook", hook.url), TEXT, LINES) == ""
        (message,) = hook.messages
    assert (message["title"], message["message"], message["type"]) == (TEXT, LINES, "info")


def test_half_an_emoji_and_controls_do_not_lose_the_notice() -> None:
    with http_target() as hook:
        assert send(Target("hook", hook.url), "Pool\r\nBcc: x\x00 \ud83d", "🏊 \ud83d \u202e\x1b[31m shut") == ""
        (message,) = hook.messages
    assert (message["title"], message["message"]) == ("Pool Bcc: x \ufffd", "🏊 \ufffd  [31m shut")


def test_an_empty_body_is_never_sent() -> None:
    with http_target() as hook:
        assert send(Target("hook", hook.url), "Watch 1: changed", " \n") == ""
        assert send(Target("hook", hook.url), "", "") == ""
    assert [message["message"] for message in hook.messages] == ["Watch 1: changed", "(no text)"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "the service answered 500"),
        (429, "the service answered 429 (too many messages)"),
        (401, "the service answered 401 (is the password or token right?)"),
        (404, "the service answered 404 (is the address right?)"),
    ],
)
def test_an_error_status_is_a_failure(status: int, reason: str) -> None:
    with http_target(Answer(status)) as hook:
        assert send(Target("hook", hook.url), "title", "body") == reason
    assert len(hook.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_is_a_failure(status: int) -> None:
    with http_target(Answer(status, location="/elsewhere"), Answer(200)) as hook:
        reason = send(Target("hook", hook.url), "title", "body")
    assert reason == f"the service answered {status} (a redirect: write the new address into the target)"
    assert hook.requests == ["POST /hook HTTP/1.1"]


@pytest.mark.parametrize("option", ["redirect=yes", "optional=yes"])
def test_no_option_of_the_url_turns_a_loss_into_a_success(option: str) -> None:
    with http_target(Answer(302, location="/elsewhere"), Answer(200)) as hook:
        assert send(Target("hook", f"{hook.url}?{option}"), "title", "body").startswith("the service answered 302")
    assert hook.requests == ["POST /hook HTTP/1.1"]


def test_emoji_names_stay_text_even_if_the_url_wants_emoji() -> None:
    with http_target() as hook:
        assert send(Target("hook", f"{hook.url}?emojis=yes"), ":smile:", ":smile:") == ""
    assert hook.messages[0]["message"] == ":smile:"


def test_a_target_that_wants_html_gets_the_text_escaped() -> None:
    with http_target() as hook:
        assert send(Target("hook", f"{hook.url}?format=html"), "title", "<script>5 < 7</script>") == ""
    assert "<script" not in hook.messages[0]["message"]
    assert "&lt;script&gt;" in hook.messages[0]["message"]


def test_nobody_is_pinged_by_what_a_page_says() -> None:
    with http_target() as chat:
        url = chat.url.replace("json://", "mmost://").replace("/hook", "/abcdefghijklmnopqrstuvwx")
        assert send(Target("chat", url), "@all", "@everyone @here or @someone, https://example.org/@all") == ""
    assert chat.messages[0]["text"] == "@\u200ball\r\n@\u200beveryone @\u200bhere or @someone, https://example.org/@all"


def test_a_silent_service_is_a_failure_after_its_own_timeout() -> None:
    with http_target(Answer(silent=True)) as hook:
        assert send(Target("hook", impatient(hook)), "title", "body") == "no answer in time"


def test_nobody_listening_is_a_failure() -> None:
    reason = send(Target("hook", f"json://127.0.0.1:{closed_port()}/"), "title", "body")
    assert reason == "nothing answers there (connection refused)"


def test_an_unknown_host_is_a_failure() -> None:
    assert send(Target("hook", "json://hooks.invalid/"), "title", "body") == "its host name is not known"


def test_an_unusable_url_is_a_failure() -> None:
    assert send(Target("hook", "json://"), "title", "body") == "its URL cannot be used: monitor.py doctor says why"


# -------------------------------------------------------------------------------------------------- one message, mail


def text_of(mail: EmailMessage) -> str:
    assert mail.get_content_type() == "text/plain"
    return str(mail.get_content()).replace("\r\n", "\n").rstrip("\n")


def test_text_arrives_literally_by_mail() -> None:
    with mail_target() as server:
        assert send(Target("mail", server.url()), TEXT, LINES) == ""
    (mail,) = server.mails
    assert mail["Subject"] == TEXT
    assert text_of(mail) == LINES
    assert server.recipients == [["reader@example.org"]]


def test_a_title_smuggles_no_header_into_a_mail() -> None:
    with mail_target() as server:
        assert send(Target("mail", server.url()), "Offers\r\nBcc: x@example.net\r\n\r\nHello\x0b\x00", "body") == ""
    (mail,) = server.mails
    assert mail["Subject"] == "Offers Bcc: x@example.net Hello"
    assert mail["Bcc"] is None
    assert text_of(mail) == "body"


def test_a_mail_server_gets_user_and_decoded_password() -> None:
    with mail_target(login=True) as server:
        assert send(Target("mail", server.url(login=LOGIN)), "title", "body") == ""
    assert server.logins == [(b"me", b"p@ss/word")]
    assert len(server.mails) == 1


def test_a_wrong_password_is_a_failure() -> None:
    with mail_target(login=True) as server:
        reason = send(Target("mail", server.url(login="me:s3cr3t@")), "title", "body")
    assert reason == "the mail server answered 535 (is the password right?)"
    assert server.mails == []


def test_starttls_encrypts_login_and_mail(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with mail_target(starttls=certificate, login=True) as server:
        assert send(Target("mail", server.url("mailtos", login=LOGIN)), "title", "body") == ""
    assert server.encrypted == [True]
    assert server.logins == [(b"me", b"p@ss/word")]


def test_starttls_with_an_unknown_certificate_is_a_failure(certificate: Path) -> None:
    with mail_target(starttls=certificate, login=True) as server:
        target = Target("mail", server.url("mailtos", login=LOGIN))
        assert send(target, "title", "body") == "its certificate cannot be verified"
        assert server.logins == []
        assert send(replace(target, url=target.url + "&verify=no"), "title", "body") == ""


def test_a_mail_server_without_starttls_gets_no_mail_in_the_clear() -> None:
    with mail_target() as server:
        assert send(Target("mail", server.url("mailtos")), "title", "body") == "the mail server offers no encryption"
    assert server.mails == []


def test_a_mail_server_that_refuses_the_message_is_a_failure() -> None:
    with mail_target(refuse_message="554 5.7.1 looks like spam") as server:
        assert send(Target("mail", server.url()), "title", "body") == "the mail server answered 554"


def test_a_refused_recipient_is_a_failure() -> None:
    with mail_target(refuse=["reader@example.org"]) as server:
        assert send(Target("mail", server.url()), "title", "body") == "a recipient was refused"


def test_one_of_two_recipients_refused_is_a_failure_that_says_so() -> None:
    with mail_target(refuse=["gone@example.org"]) as server:
        reason = send(Target("mail", server.url(to="reader@example.org,gone@example.org")), "title", "body")
    assert reason == (
        "a recipient was refused; some of its 2 recipients may have got it: give each a target of its own"
    )
    assert server.recipients == [["reader@example.org"]]


def test_a_mail_server_that_says_nothing_is_a_failure() -> None:
    with silent_port() as port:
        url = MailTarget(port).url().replace("cto=1.0", "cto=0.3")
        assert send(Target("mail", url), "title", "body") == "no answer in time"


# ------------------------------------------------------------------------------------------------- secrets and silence


def test_no_failure_tells_a_secret_and_nothing_is_printed(capfd: pytest.CaptureFixture[str], certificate: Path) -> None:
    reasons = []
    with ExitStack() as servers:
        for answer in (Answer(500), Answer(302, location="/s3cr3t"), Answer(silent=True)):
            hook = servers.enter_context(http_target(answer))
            url = hook.url.replace("//", "//me:s3cr3t@") + "/s3cr3t?cto=0.3&rto=0.3&+X-Key=s3cr3t&-token=s3cr3t"
            reasons.append(send(Target("hook", url), "title", "body"))
        mail = servers.enter_context(mail_target(login=True))
        reasons.append(send(Target("mail", mail.url(login="me:s3cr3t@")), "title", "body"))
        mail = servers.enter_context(mail_target(refuse=["s3cr3t@example.org"]))
        reasons.append(send(Target("mail", mail.url(to="s3cr3t@example.org")), "title", "body"))
        capfd.readouterr()  # what the mail server itself says
    reasons.append(send(Target("hook", "json://s3cr3t.invalid/s3cr3t"), "title", "body"))
    reasons.append(send(Target("hook", "nonsense://s3cr3t"), "title", "body"))
    reasons.append(send(Target("chat", f"mmost://127.0.0.1:{closed_port()}/s3cr3ts3cr3ts3cr3ts3cr3t"), "title", "body"))
    assert all(reasons)
    assert "s3cr3t" not in " ".join(reasons)
    assert capfd.readouterr() == ("", "")


def test_what_a_page_says_is_not_taken_for_a_reason() -> None:
    with http_target(Answer(500)) as hook:
        assert send(Target("hook", hook.url), "error=404 timed out", "Connection refused") == "the service answered 500"


def test_a_target_is_shown_without_its_url() -> None:
    assert "s3cr3t" not in repr(Target("hook", "json://s3cr3t"))


def test_a_process_with_a_slow_target_ends_at_once_and_prints_nothing(tmp_path: Path) -> None:
    """What reaches standard error is what cron would mail."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with http_target(Answer(silent=True)) as slow, http_target(Answer(500)) as failing:
        urls = [slow.url + "?rto=15", failing.url + "?+X-Key=s3cr3t", "nonsense://s3cr3t"]
        run = subprocess.Popen(
            [sys.executable, str(program), *urls],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )
        slow.arrived.wait(10)  # the others may have been told of before
        printed, complaints = run.communicate("\n", timeout=10)
        assert slow.arrived.is_set() and not slow.closing.is_set()
    assert (run.returncode, complaints) == (0, "")
    assert printed.splitlines() == [
        "1 the service answered 500",
        "2 its URL cannot be used: monitor.py doctor says why",
    ]


# ------------------------------------------------------------------------------------------------------------ delivery


def test_one_notice_goes_as_it_is() -> None:
    with http_target() as hook:
        taken, failed, _ = delivered([notice(1)], [Target("hook", hook.url)])
    assert (taken, failed) == ({"1-hook"}, {})
    assert hook.messages[0]["title"] == "Watch 1: 20 → 18"
    assert hook.messages[0]["message"] == f"20 → 18\n\n{URL}"


def test_several_notices_for_one_target_go_as_one_digest() -> None:
    with http_target() as hook:
        taken, failed, _ = delivered([notice(1), notice(2), notice(3)], [Target("hook", hook.url)])
    assert (taken, failed) == ({"1-hook", "2-hook", "3-hook"}, {})
    assert hook.titles == ["3 changes: Watch 1, Watch 2, Watch 3"]


def test_a_refused_digest_is_tried_as_single_notices_without_a_pause() -> None:
    began = time.monotonic()
    with http_target(Answer(max_chars=100)) as hook:
        taken, failed, _ = delivered([notice(1), notice(2), notice(3)], [Target("hook", hook.url)])
    assert (taken, failed) == ({"1-hook", "2-hook", "3-hook"}, {})
    assert hook.titles == ["Watch 1: 20 → 18", "Watch 2: 20 → 18", "Watch 3: 20 → 18"]
    assert time.monotonic() - began < 3  # Apprise pauses 5.5 s between the messages of one instance


def test_a_notice_that_is_refused_by_itself_is_the_only_one_that_fails() -> None:
    with http_target(Answer(max_chars=150)) as hook:
        taken, failed, _ = delivered([notice(1), notice(2, text="x" * 500), notice(3)], [Target("hook", hook.url)])
    assert taken == {"1-hook", "3-hook"}
    assert failed == {"2-hook": "the service answered 400"}


def test_a_service_that_refuses_everything_is_asked_three_times_at_most() -> None:
    with http_target(Answer(500)) as hook:
        taken, failed, _ = delivered([notice(number) for number in range(20)], [Target("hook", hook.url)])
    assert taken == set()
    assert failed == {f"{number}-hook": "the service answered 500" for number in range(20)}
    assert len(hook.refused) == 3


def test_notices_that_are_never_taken_do_not_hold_up_the_others_for_ever() -> None:
    outbox = tuple(notice(number, text="x" * 500 if number < 4 else "20 → 18") for number in range(5))
    with http_target(Answer(max_chars=150)) as hook:
        for attempts in range(1, 6):
            taken, _, _ = delivered(outbox, [Target("hook", hook.url)])
            outbox = tuple(replace(left, attempts=attempts) for left in outbox if left.id not in taken)
    assert hook.titles == ["Watch 4: 20 → 18"]
    assert [left.id for left in outbox] == ["0-hook", "1-hook", "2-hook", "3-hook"]


def test_each_target_stands_for_itself() -> None:
    with http_target(Answer(500)) as one, http_target() as two:
        targets = [Target("one", one.url), Target("two", two.url)]
        taken, failed, _ = delivered([notice(1, "one"), notice(1, "two")], targets)
    assert (taken, failed) == ({"1-two"}, {"1-one": "the service answered 500"})


def test_warnings_and_recoveries_are_told_as_such() -> None:
    with http_target() as hook:
        target = Target("hook", hook.url)
        for kind in ("no-match", "recovered"):
            title, body = warning(kind, "Watch 1", URL, "why", "why")
            delivered([replace(notice(1), kind=kind, title=title, body=body)], [target])
        delivered([replace(notice(1), kind="gone"), notice(2)], [target])
        delivered([replace(notice(1), kind="gone"), replace(notice(2), kind="recovered")], [target])
    assert [message["type"] for message in hook.messages] == ["warning", "success", "info", "warning"]


def test_nothing_due_starts_nothing() -> None:
    waiting = after_failure(notice(1), "no answer in time", NOW)
    with http_target() as hook:
        assert delivered([waiting], [Target("hook", hook.url)]) == (set(), {}, [])
        assert delivered([], [Target("hook", hook.url)]) == (set(), {}, [])
    assert hook.requests == []


def test_a_notice_is_tried_again_only_after_its_pause() -> None:
    waiting = after_failure(notice(1), "no answer in time", NOW)
    with http_target() as hook:
        taken, _, _ = delivered([waiting, notice(2)], [Target("hook", hook.url)])
        assert taken == {"2-hook"}
        reports: queue.Queue[Delivery] = queue.Queue()
        assert deliver([waiting], [Target("hook", hook.url)], NOW + timedelta(minutes=1), reports.put) == {"hook"}
        assert reports.get(timeout=5).delivered == ("1-hook",)


def test_notices_for_a_target_that_is_not_in_the_file_are_neither_sent_nor_reported() -> None:
    with http_target() as hook:
        taken, failed, _ = delivered([notice(1, "removed"), notice(1)], [Target("hook", hook.url)])
    assert (taken, failed) == ({"1-hook"}, {})


def test_a_target_that_cannot_be_used_fails_and_the_others_get_theirs() -> None:
    with http_target() as hook:
        targets = [Target("bad", "nonsense://s3cr3t"), Target("hook", hook.url)]
        taken, failed, _ = delivered([notice(1, "bad"), notice(1)], targets)
    assert taken == {"1-hook"}
    assert failed == {"1-bad": "its URL cannot be used: monitor.py doctor says why"}


# --------------------------------------------------------------------------------------------------- slow targets


def test_slow_targets_hold_up_neither_the_others_nor_the_run() -> None:
    """More silent targets than Apprise's own pool has threads."""
    began = time.monotonic()
    with ExitStack() as hooks:
        slow = [hooks.enter_context(http_target(Answer(silent=True))) for _ in range(40)]
        good = hooks.enter_context(http_target())
        targets = [Target(f"slow {number}", hook.url) for number, hook in enumerate(slow)]
        outbox = [notice(1, target.name) for target in targets]
        taken, failed, reports = delivered([*outbox, notice(1)], [*targets, Target("hook", good.url)], time_limit=1.5)
    assert time.monotonic() - began < 5
    assert taken == {"1-hook"}
    assert failed == {f"1-slow {number}": "no answer within 1.5 s" for number in range(40)}
    assert reports[0] == Delivery("hook", delivered=("1-hook",))


def test_a_mail_server_that_hangs_does_not_hold_up_the_run() -> None:
    with silent_port() as port, http_target() as hook:
        targets = [Target("mail", f"mailto://127.0.0.1:{port}?from=a@example.org"), Target("hook", hook.url)]
        taken, failed, _ = delivered([notice(1, "mail"), notice(1)], targets, time_limit=0.5)
    assert (taken, failed) == ({"1-hook"}, {"1-mail": "no answer within 0.5 s"})


def test_what_a_dripping_service_took_late_is_still_reported() -> None:
    reports: queue.Queue[Delivery] = queue.Queue()
    with http_target(Answer(drip=0.05)) as hook:
        deliver([notice(1), notice(2)], [Target("hook", hook.url)], NOW, reports.put, 0.3)
        reason = "no answer within 0.3 s"
        assert reports.get(timeout=5) == Delivery("hook", failed=(("1-hook", reason), ("2-hook", reason)), last=True)
        assert reports.get(timeout=5) == Delivery("hook", delivered=("1-hook", "2-hook"))


def test_what_was_taken_before_the_time_was_over_is_not_sent_again() -> None:
    answers = (Answer(500), Answer(200), Answer(silent=True))
    with http_target(*answers) as hook:
        taken, failed, _ = delivered([notice(n) for n in range(3)], [Target("hook", hook.url)], time_limit=1)
    assert taken == {"0-hook"}
    assert failed == dict.fromkeys(("1-hook", "2-hook"), "no answer within 1 s")


def test_no_further_message_is_begun_when_the_time_is_over() -> None:
    reports: queue.Queue[Delivery] = queue.Queue()
    with http_target(Answer(500), Answer(200, drip=0.03)) as hook:
        deliver([notice(n) for n in range(5)], [Target("hook", hook.url)], NOW, reports.put, 0.2)
        assert {id_ for id_, _ in reports.get(timeout=5).failed} == {f"{n}-hook" for n in range(5)}
        assert reports.get(timeout=5).delivered == ("0-hook",)
        time.sleep(0.2)
    assert len(hook.requests) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_in_the_program_loses_no_notice() -> None:
    broken = replace(notice(1), body=None)  # type: ignore[arg-type]
    taken, failed, reports = delivered([broken], [Target("hook", "json://127.0.0.1:1/")])
    assert taken == set()
    assert failed == {"1-hook": "an error in the program stopped the sending"}
    assert reports[-1].last
    for thread in threading.enumerate():
        if "_send_all" in thread.name:
            thread.join(5)  # it dies within this test


# ----------------------------------------------------------------------------------------------------- target URLs


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in ROWS])
def test_a_target_url_is_checked_without_telling_its_secrets(
    row: dict[str, str | None], capfd: pytest.CaptureFixture[str]
) -> None:
    url, expected = str(row["url"]), row["problem"]
    problem = check_target(url)
    if expected is None:
        assert problem is None
    else:
        assert expected in (problem or "")
    shown = host_shown(url)
    assert shown == row["shown"]
    assert "s3cr3t" not in f"{problem} {shown} {advice(url)}"
    assert capfd.readouterr() == ("", "")


def test_several_recipients_in_one_target_are_advised_against() -> None:
    assert "it has 2 recipients" in (advice("mailto://me:p4ss@example.org/a@example.org/b@example.org") or "")
    assert advice("mailto://me:p4ss@example.org/a@example.org") is None
    assert advice("json://") is None
