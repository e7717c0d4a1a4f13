"""The report: what it says, that nothing gets into it, and that everybody can read it."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import lxml.html  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagewatch import plots
from pagewatch.comparison import Compared
from pagewatch.frozen import replace
from pagewatch.report import Report, Shown, html
from pagewatch.stylesheet import DARK, LIGHT
from tests.chromium import dom_of, framed, needs_chromium
from tests.site import Site

NOW = datetime(2026, 11, 30, 15, 4, 9, tzinfo=timezone.utc)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=400)  # lone surrogates and controls too
SVG = "{http://www.w3.org/2000/svg}"

HIT = "document.title='hit';document.documentElement.dataset.hit='yes'"
PAYLOADS = {
    "script": f"<script>{HIT}</script>",
    "script behind a closed title and style": f"</title></style></script><script>{HIT}</script>",
    "picture with a handler": f'<img src="SITE/picture" onerror="{HIT}">',
    "drawing with a handler": f"<svg onload={HIT}><script>{HIT}</script><use href='SITE/use#x'/></svg>",
    "style": "<style>@import 'SITE/import'; * { display: none; background: url(SITE/background) }</style>",
    "link": "<link rel=stylesheet href='SITE/sheet'><base href='SITE/'><meta http-equiv=refresh content='0;SITE/go'>",
    "frame": f"<iframe src='SITE/frame' srcdoc='<script>{HIT}</script>'></iframe><object data='SITE/o'></object>",
    "quotes leave an attribute": f'"\' onfocus="{HIT}" autofocus onmouseover=\'{HIT}\' style="color:red" x="',
    "comment": f"--><script>{HIT}</script><!--",
    "CDATA": f"]]><script>{HIT}</script><![CDATA[",
    "references": f"&lt;script&gt;{HIT}&lt;/script&gt; &#60;script&#62; &quot; &amp;lt;",
    "address of a script": f"javascript:{HIT}",
    "address of data": f"data:text/html,<script>{HIT}</script>",
    "bidirectional override": "\u202e\u2066evil\u2069 \u200f<script>",
    "controls": "\x00\x1b[31m\x07<\x00script>\ud800</\x0bscript>\ufffe",
    "form": f"<form action='SITE/form'><button formaction='javascript:{HIT}' autofocus>x</button></form>",
}


def watch(name: str = "Price", **more: object) -> Shown:
    return replace(Shown(name, "https://example.org/p", "ok", "good", interval="6 hours"), **more)  # type: ignore[arg-type]


def page_of(*watches: Shown, **more: object) -> lxml.html.HtmlElement:
    return lxml.html.document_fromstring(html(replace(Report(watches, NOW), **more)))  # type: ignore[arg-type]


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def everywhere(text: str) -> Report:
    """A report with the text wherever one may come from outside."""
    compared = Compared(NOW - HOUR, text, ((text, None), (None, text), (text, text), (text, f"{text} x")))
    troubled = watch(text, url=text, state=text, health="trouble", detail=text, interval=text, diffs=(compared,) * 2)
    linked = watch("w", url=f"https://example.org/{text}", moments=(NOW - DAY,), values=((NOW - DAY, 1), (NOW, 2)))
    return Report((troubled, linked, watch(health="off", state="off")), NOW, 1, (text,))


# ---------------------------------------------------------------------------------------------------- what it says


def test_trouble_comes_first_and_then_what_changed_last() -> None:
    page = page_of(
        watch("off", health="off", state="off", last_changed=NOW),
        watch("quiet", last_changed=NOW - 9 * DAY),
        watch("never"),
        watch("new", health="waiting", state="new"),
        watch("lively", last_changed=NOW - HOUR),
        watch("lost", health="trouble", state="gone"),
    )
    order = ["lost", "new", "lively", "quiet", "never", "off"]
    assert page.xpath("//table[@class='overview']/tbody/tr/th/a/text()") == order
    assert page.xpath("//section/h2/text() | //section/div/h2/text()") == ["Overview", *order]


@pytest.mark.parametrize(
    ("health", "state", "said"),
    [
        ("good", "ok", "Well"),
        ("trouble", "no-match", "Trouble: no-match"),
        ("waiting", "new", "Waiting: new"),
        ("off", "off", "Off"),
    ],
)
def test_health_and_state_are_words(health: str, state: str, said: str) -> None:
    page = page_of(watch(health=health, state=state))
    assert [words(e) for e in page.xpath("//td//span[contains(@class, 'health')]")] == [said]
    assert [words(e) for e in page.xpath("//div[@class='top']/span")] == [said]


def test_the_reason_for_trouble_is_said_in_the_overview_and_in_full_below() -> None:
    page = page_of(watch(health="trouble", state="no-match", detail=f"selector matches nothing {'x' * 200} end"))
    assert words(page.xpath("//span[@class='why']")[0]).endswith("x…")
    assert words(page.xpath("//p[@class='detail']")[0]).endswith("x end")


def test_the_head_counts_and_notes() -> None:
    page = page_of(watch("a"), watch("b", health="trouble", state="gone"), unsent=2, notes=("the clock was wrong",))
    assert page.findtext(".//title") == "2 watched, 1 in trouble"
    assert [words(e) for e in page.xpath("//ul[@class='tally']/li")] == ["1 in trouble", "1 well"]
    notes = ["the clock was wrong", "2 notices not delivered yet: tried again at the next run"]
    assert [words(e) for e in page.xpath("//ul[@class='notes']/li")] == notes


def test_a_report_on_nothing_is_a_page_too() -> None:
    assert words(page_of().xpath("//h1")[0]) == "0 watched pages"
    assert page_of().xpath("//ul[@class='notes']") == []


def facts(page: lxml.html.HtmlElement) -> dict[str, str]:
    rows = page.xpath("//dl[@class='facts']/div")
    return {words(row.find("dt")): " | ".join(t.strip() for t in row.find("dd").itertext()) for row in rows}


def test_times_are_relative_and_absolute_in_utc() -> None:
    berlin = timezone(timedelta(hours=1))
    page = page_of(
        watch(
            last_verified=NOW - timedelta(minutes=38), last_changed=(NOW - 12 * DAY).astimezone(berlin),
            next_check=NOW + 5 * HOUR, checks=4210, changes=3,
        )
    )  # fmt: skip
    assert facts(page) == {
        "Verified": "38 minutes ago | 30 Nov 2026, 14:26",
        "Changed": "12 days ago | 18 Nov 2026, 15:04",
        "Next check": "in 5 hours | 30 Nov 2026, 20:04",
        "Checked every": "6 hours",
        "Looks": "4,210",
        "Changes": "3",
    }
    assert "2026-11-18T15:04:09Z" in page.xpath("//dl[@class='facts']//time/@datetime")


def test_what_is_not_known_is_a_dash_what_is_overdue_is_due_and_a_clock_may_be_ahead() -> None:
    assert facts(page_of(watch()))["Verified"] == "–"
    assert facts(page_of(watch(next_check=NOW - 3 * HOUR)))["Next check"] == "due | 30 Nov 2026, 12:04"
    assert facts(page_of(watch(last_verified=NOW - timedelta(seconds=5))))["Verified"].startswith("now |")
    assert facts(page_of(watch(last_verified=NOW + DAY)))["Verified"].startswith("in 24 hours |")


def test_the_last_changes_are_compared_the_newest_open_and_the_others_folded() -> None:
    diffs = tuple(Compared(NOW - n * DAY, f"change {n}", ((f"{n} dollars", f"{n + 1} dollars"),)) for n in range(7))
    page = page_of(watch(diffs=diffs, changes=40))
    assert [words(e) for e in page.xpath("//details/summary/span")] == [f"change {n}" for n in range(5)]
    assert len(page.xpath("//details[@open]")) == 1 and page.xpath("//details")[0].get("open") is not None
    assert page.xpath("//details[1]//del/text()") == ["0"] and page.xpath("//details[1]//ins/text()") == ["1"]
    assert "35 earlier changes" in words(page.xpath("//div[@class='changes']")[0])


def test_a_change_whose_text_is_lost_is_a_line() -> None:
    page = page_of(watch(diffs=(Compared(NOW - DAY, "now 20 dollars"),), changes=1))
    assert words(page.xpath("//p[@class='plain']")[0]) == "29 Nov 2026, 15:04now 20 dollars"
    assert page.xpath("//details") == []


# ------------------------------------------------------------------------------------------------------ the pictures


def test_days_are_24_hours_back_from_the_report_and_older_moments_are_left_out() -> None:
    moments = (NOW, NOW - HOUR, NOW - 25 * HOUR, NOW - 90 * DAY + HOUR, NOW - 90 * DAY, NOW - 400 * DAY, NOW + DAY)
    days = plots.days_with_changes(moments, NOW)
    assert len(days) == 90 and (days[0], days[-2], days[-1], sum(days)) == (1, 1, 2, 4)


def test_more_changes_make_a_higher_bar_and_the_picture_says_in_words_what_it_shows() -> None:
    picture = lxml.html.fromstring(plots.strip((0, 1, 2, 3, 900), "906 changes"))
    assert picture.find("title").text == "906 changes" and picture.get("role") == "img"
    heights = re.findall(r"v(\d+)h-", picture.xpath("path[@class='bars']/@d")[0])
    assert heights == ["12", "18", "24", "24"]


def test_no_change_is_said_and_not_drawn() -> None:
    page = page_of(watch(moments=(NOW - 100 * DAY,)))
    assert page.xpath("//figure") == []
    assert page.xpath("//td//svg/title/text()") == ["no change"]


def test_a_number_is_a_step_line_from_its_first_value_to_now() -> None:
    values = ((NOW - 4 * DAY, 10.0), (NOW - 3 * DAY, 30.0), (NOW - DAY, 20.0))
    picture = lxml.html.fromstring(plots.line(values, NOW, "t"))
    assert picture.xpath("path[@class='line']/@d") == ["M0 112H150V8H450V60H600"]
    assert picture.xpath("path[@class='dot']/@d") == ["M600 60h0"]


def test_lowest_highest_and_present_value_are_words() -> None:
    page = page_of(watch(values=((NOW - 4 * DAY, 1299.5), (NOW - 3 * DAY, 1500.0), (NOW - DAY, 1400.25))))
    said = [words(e) for e in page.xpath("//dl[@class='extremes']/div")]
    assert said == ["Now1,400.2529 Nov 2026", "Lowest1,299.526 Nov 2026", "Highest1,50027 Nov 2026"]
    assert page.xpath("//svg[@class='line']/title/text()")[0].startswith("now 1,400.25, 29 Nov 2026; lowest 1,299.5")


@pytest.mark.parametrize(
    "values", [(), ((NOW, 1.0),), ((NOW - DAY, float("nan")), (NOW - HOUR, float("inf")), (NOW, 1.0))]
)
def test_fewer_than_two_numbers_are_no_line(values: tuple[plots.Point, ...]) -> None:
    assert page_of(watch(values=values)).xpath("//svg[@class='line']") == []


@pytest.mark.parametrize("values", [(5.0, 5.0), (-1.7e308, 1.7e308), (0.0, 5e-324), (1e16, 1e16 + 2)])
def test_any_two_numbers_can_be_drawn(values: tuple[float, float]) -> None:
    drawn = plots.line(((NOW - DAY, values[0]), (NOW, values[1])), NOW, "t")
    heights = [float(y) for y in re.findall(r"V([\d.e+-]+)", drawn)]
    assert all(0 <= y <= plots.HIGH for y in heights) and "nan" not in drawn and "inf" not in drawn


def test_values_of_one_moment_or_of_a_clock_ahead_can_be_drawn() -> None:
    assert "M0 112" in plots.line(((NOW, 1.0), (NOW, 2.0)), NOW, "t")
    assert "nan" not in plots.line(((NOW + DAY, 1.0), (NOW + 2 * DAY, 2.0)), NOW, "t")


def test_many_values_take_little_room_and_keep_their_extremes() -> None:
    values = tuple((NOW - timedelta(minutes=n), 20.0 + n % 7) for n in range(20_000, 0, -1))
    values = (*values[:9_000], (values[9_000][0], 500.0), *values[9_001:])
    drawn = plots.line(values, NOW, "t")
    assert len(drawn) < 20_000 and f"V{plots.AIR}" in drawn


# --------------------------------------------------------------------------------------------- nothing gets into it


def skeleton(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """Every element with the names of its attributes; comments too."""
    return [(str(e.tag), tuple(sorted(e.attrib))) for e in lxml.html.document_fromstring(page).iter()]


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_what_a_page_wrote_is_text_and_nothing_else(payload: str) -> None:
    text = html(everywhere(payload))
    page = lxml.html.document_fromstring(text)
    assert skeleton(text) == skeleton(html(everywhere("plain")))
    assert page.xpath("//script | //img | //iframe | //object | //form | //base | //link | //use | //comment()") == []
    assert len(page.xpath("//style")) == 1 and page.xpath("//@style") == []
    assert [name for e in page.iter() for name in e.attrib if name.lower().startswith("on")] == []
    assert all(
        is_ours(href) for href in page.xpath("//@href | //@src | //@srcset | //@action | //@*[name()='xlink:href']")
    )


def is_ours(href: str) -> bool:
    return href.startswith(("#", "https://example.org/"))


@given(ANY_TEXT)
@settings(max_examples=60)
def test_no_text_changes_the_elements_of_the_page(text: str) -> None:
    written = html(everywhere(f"x{text}"))
    written.encode("utf-8")
    assert skeleton_without_marks(written) == skeleton_without_marks(html(everywhere("plain")))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)


def skeleton_without_marks(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """But for what words are marked in a line, which depends on its words."""
    return [
        (tag, tuple(n for n in names if (tag, n) != ("tr", "class")))
        for tag, names in skeleton(page)
        if tag not in ("ins", "del")
    ]


@pytest.mark.parametrize(
    ("url", "links"),
    [
        ("https://example.org/a?b=1&c=<2>#d", ["https://example.org/a?b=1&c=<2>#d"]),
        ("HTTP://EXAMPLE.ORG/", ["HTTP://EXAMPLE.ORG/"]),
        ("https://me:secret@example.org/", ["https://example.org/"]),
        ("javascript:alert(1)//https://", []),
        (" java\tscript:alert(1)", []),
        ("//example.org/", []),
        ("https:example.org", []),
        ("file:///etc/passwd", []),
        ("https://example.org/" + "a" * 3_000, []),
    ],
)
def test_an_address_is_a_link_only_where_it_is_http_and_names_no_password(url: str, links: list[str]) -> None:
    page = page_of(watch(url=url))
    found = page.xpath("//p[@class='address']/a")
    assert [link.get("href") for link in found] == links
    assert all(link.get("rel") == "noopener noreferrer nofollow" for link in found)


def test_no_password_of_an_address_is_shown() -> None:
    address = "see https://me:secret@example.org/x"
    assert "secret" not in html(Report((watch(address, url=address, detail=address),), NOW, 0, (address,)))


def test_the_policy_lets_in_the_one_style_and_nothing_else() -> None:
    page = page_of(watch())
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    digest = base64.b64encode(hashlib.sha256(page.findtext(".//style").encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert page.head[0].get("charset") == "utf-8" and page.head[1].get("http-equiv"), "the policy precedes all it rules"


# ------------------------------------------------------------------------------------------------- size and speed


def test_fifty_watches_with_two_thousand_versions_are_quick_and_small() -> None:
    report = Report(tuple(many_versions(50)), NOW)
    start = time.perf_counter()
    size = len(html(report).encode())
    took = time.perf_counter() - start
    assert size < 2_000_000 and took < 2


def many_versions(count: int) -> Iterator[Shown]:
    for place in range(count):
        moments = tuple(NOW - timedelta(days=2.2 * n, hours=place) for n in range(40))
        rows = tuple(
            (f"line {n} of a hundred words or so {'a b ' * 30}", f"line {n + 1} {'a c ' * 30}") for n in range(12)
        )
        diffs = tuple(Compared(moment, "line → line", rows) for moment in moments[:5])
        values = tuple((moment, 20.0 + n % 7) for n, moment in enumerate(moments))
        yield watch(f"Page {place}", moments=moments, values=values, diffs=diffs, changes=40)


def test_hostile_pages_cannot_make_it_slow_or_large() -> None:
    lines = tuple((f"{n} " + "'\u00e9 " * 5_000, f"{n} " + "\u00e9' " * 5_000) for n in range(300))
    troubled = watch(
        "'" * 9_999, url="https://example.org/" + "a" * 1_900, state="&" * 999, health="trouble", detail="'" * 9_999
    )
    diffs = (Compared(NOW, "'" * 9_999, lines),) * 40
    values = tuple((NOW - timedelta(minutes=n), n * 1e9) for n in range(2_000))
    moments = tuple(NOW - timedelta(minutes=n) for n in range(2_000))
    report = Report((replace(troubled, diffs=diffs, values=values, moments=moments),) * 50, NOW)
    start = time.perf_counter()
    size = len(html(report).encode())
    took = time.perf_counter() - start
    assert size < 2_000_000 and took < 4


# --------------------------------------------------------------------------------------- everybody can read it


def colours(theme: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme))


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEXTS = [
    *((text, ground) for text in ("ink", "quiet", "link") for ground in ("paper", "card")),
    *((text, ground) for text in ("good", "trouble", "waiting") for ground in ("paper", "card")),
    *(("ink", "alarm"), ("plus-ink", "plus"), ("minus-ink", "minus")),
]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_have_a_contrast_of_4_5_and_pictures_of_3(theme: str) -> None:
    colour = colours(theme)
    poor = {pair: contrast(colour[pair[0]], colour[pair[1]]) for pair in TEXTS}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 4.5} == {}
    assert contrast(colour["mark"], colour["card"]) >= 3, "WCAG 2.2, 1.4.11"


def test_both_themes_name_the_same_colours_and_no_other_is_used() -> None:
    style = page_of().findtext(".//style")
    assert colours(LIGHT).keys() == colours(DARK).keys()
    named = set(re.findall(r"--([\w-]+):", LIGHT))
    assert set(re.findall(r"var\(--([\w-]+)\)", style)) == named
    assert not re.search(r"(?<!-)color: #", style) and style.count("prefers-color-scheme: dark") == 1


def test_a_keyboard_and_a_screen_reader_find_their_way() -> None:
    page = lxml.html.document_fromstring(html(everywhere("text")))
    assert page.get("lang") == "en" and len(page.xpath("//h1")) == 1 and len(page.xpath("//main")) == 1
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.xpath("//@href") if href.startswith("#")} <= set(ids)
    assert page.body[0].get("class") == "skip", "the first stop of the keyboard leads past the head"
    assert all(page.get_element_by_id(name) is not None for name in page.xpath("//@aria-labelledby"))
    levels = [int(e.tag[1]) for e in page.xpath("//h1 | //h2 | //h3 | //h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_every_table_has_a_caption_and_every_picture_words() -> None:
    page = lxml.html.document_fromstring(html(everywhere("text")))
    assert page.xpath("//table[not(caption)] | //th[not(@scope)]") == []
    assert page.xpath("//svg[not(@aria-hidden='true')][not(@role='img') or not(title)]") == []
    assert page.xpath("//svg[@aria-hidden='true'][not(following-sibling::span)]") == []


# ----------------------------------------------------------------------------------------------- in a real browser


def hostile(site: str) -> Report:
    reports = [everywhere(payload.replace("SITE", site)) for payload in PAYLOADS.values()]
    return Report(tuple(watch for report in reports for watch in report.watches), NOW, 1, reports[0].notes)


@needs_chromium
def test_in_a_browser_no_payload_runs_and_none_asks_for_anything(site: Site, tmp_path: Path) -> None:
    text = html(hostile(site.url))
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    page = lxml.html.document_fromstring(dom_of(tmp_path / "report.html", tmp_path / "profile"))
    assert page.findtext(".//title") == lxml.html.document_fromstring(text).findtext(".//title")
    assert page.get("data-hit") is None and page.xpath("//script") == []
    assert len(page.xpath("//section")) == len(PAYLOADS) * 3 + 1
    assert site.requests == []


@needs_chromium
def test_in_a_browser_the_policy_holds_alone_and_the_page_fits_a_phone(site: Site, tmp_path: Path) -> None:
    """Leaky pages are reports into which markup got after all: one with the policy, one without as proof that the
    payload would run."""
    long = "w" * 3_000
    row = Compared(NOW, f"2 → 3 {long}", (("2 dollars", "3 dollars"), (long, f"{long}x"), (f"a {long}", None)))
    first = watch(
        "First", health="trouble", state="no-match", diffs=(row,), moments=(NOW,), values=((NOW, 1), (NOW, 1e99))
    )
    wide = replace(
        hostile(site.url), watches=(first, *hostile(site.url).watches, watch(long, url=f"https://a.b/{long}"))
    )
    text = html(wide)
    markup = "".join(PAYLOADS.values()).replace("\ud800", "").replace("http-equiv=refresh", "")
    leaky = html(Report((), NOW)).replace("<h1>", f"<script>{HIT}</script>{markup}<h1>")
    open_to_all = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", leaky)
    leaky, open_to_all = leaky.replace("SITE", f"{site.url}/leaky"), open_to_all.replace("SITE", f"{site.url}/open")
    found = framed(
        {
            "320": (text, 320),
            "390": (text, 390),
            "1280": (text, 1280),
            "leaky": (leaky, 390),
            "open": (open_to_all, 390),
        },
        tmp_path,
    )
    for name in ("320", "390", "1280"):
        assert found[name]["width"] <= int(name) and found[name]["over"] == [], name
        assert found[name]["background"] == "rgb(245, 246, 245)", "its own policy lets its style in"
    assert (found["390"]["sides"], found["1280"]["sides"]) == (1, 2), "stacked on a phone, else side by side"
    assert found["leaky"]["hit"] == "" and found["open"]["hit"] == "yes"
    asked = {request.target for request in site.requests}
    assert "/open/picture" in asked and {target for target in asked if not target.startswith("/open/")} == set()
