"""`monitor.py test` on whole pages: what it says, and that the entry it proposes is one that works."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml

from tests.program import Program, configuration, robots
from tests.site import Reply, Site, answer
from tests.tables import Row, table

SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{site}/p</loc>
    <lastmod>2026-02-16</lastmod></url></urlset>"""
SECONDS = 15  # on a busy machine; a quiet one needs a fifth


def served(row: Row, page: str, site: Site) -> Reply:
    lines = [line.replace("{site}", site.url) for line in row.get("headers", ())]
    return answer(page.encode(), f"Content-Type: {row.get('media_type', 'text/html; charset=utf-8')}", *lines)


def subjects(output: str) -> list[tuple[str, str]]:
    """The lines of the output that have a subject."""
    return [(line[:12].strip(), line[13:]) for line in output.splitlines() if line[:12].strip()]


def pasted(output: str, heading: str) -> str:
    """What stands below a heading to be pasted."""
    _, found, rest = output.partition(f"\n{heading}")
    return rest.partition("\n")[2].partition("\n\n")[0] if found else ""


def prepare(row: Row, program: Program, site: Site) -> list[str]:
    """The site as the row has it, and the arguments of the call."""
    watch = {"name": "Page", "url": f"{site.url}/p", **({"select": row["select"]} if "select" in row else {})}
    program.config.write_text(configuration(watch), encoding="utf-8")
    if "robots" in row:
        site.script("/robots.txt", robots(row["robots"].replace("{site}", site.url)))
    if "sitemap" in row:
        site.script(row["sitemap"], answer(SITEMAP.format(site=site.url).encode(), "Content-Type: application/xml"))
    if "known" in row:
        site.script("/p", served(row, row["known"], site))
        assert program("check").returncode == 0
        site.script("/p", served(row, row["page"], site))
        return ["test", "Page"]
    looks = [row["page"]] * (2 if "Last-Modified" in str(row.get("headers")) else 1)
    looks += [row["second"]] if "second" in row else []
    site.script("/p", *(served(row, page, site) for page in looks))
    chosen = ["--select", row["select"]] if "select" in row else []
    return ["test", f"{site.url}/p", *chosen, *(["--twice", "--pause", "0"] if "second" in row else [])]


@table("advice_pages")
def test_the_advice_about_a_page(row: Row, program: Program, site: Site) -> None:
    remembered = program.state.exists
    run = program(*prepare(row, program, site))
    said = subjects(run.stdout)
    assert (run.returncode, run.stderr) == (row.get("status", 0), "")
    for subject, text in row["says"].items():
        texts = [found for name, found in said if name == subject]
        assert any(found.startswith(text.replace("{site}", site.url)) for found in texts), (subject, run.stdout)
    for words in row.get("never", ()):
        assert words not in run.stdout
    assert row.get("remark", "") in pasted(run.stdout, "Entry for watches.yaml")
    assert remembered() is ("known" in row)


def keys_of(row: Row, output: str, site: Site) -> dict[str, Any]:
    """The keys of the entry, or those that are to be changed."""
    if "known" in row:
        text = pasted(output, 'Change in watches.yaml, watch "Page"')
        return {"name": "Page", "url": f"{site.url}/p", **yaml.safe_load(text)}
    (entry,) = yaml.safe_load(f"watches:\n{pasted(output, 'Entry for watches.yaml')}")["watches"]
    assert isinstance(entry, dict)
    return entry


@table("advice_pages")
def test_the_entry_to_paste_loads_and_sees_the_watched_text(row: Row, program: Program, site: Site) -> None:
    output = program(*prepare(row, program, site)).stdout
    if "entry" not in row:
        assert "watches.yaml" not in output
        return
    found = keys_of(row, output, site)
    assert found.pop("url") == f"{site.url}/p"
    name = found.pop("name")
    assert name == row["entry"].pop("name", name)
    assert found == row["entry"]
    fresh = Program(program.config.parent / "fresh")
    fresh.config.parent.mkdir()
    block = pasted(output, "Entry for watches.yaml")
    config = (
        f"gap: 0s\nwatches:\n{block}\n" if block else configuration({"name": name, "url": f"{site.url}/p", **found})
    )
    seen = fresh.check(config=config).watches[name]
    assert seen["outcome"] == "baseline"
    if "new" in row:
        assert seen["new"].lstrip("\x1b") == row["new"]


def test_the_pause_is_as_long_as_is_said(program: Program, site: Site) -> None:
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    program("test", "Page", "--twice", "--pause", "0.3")
    first, second = site.to("/p")
    assert second.at - first.at >= 0.3
    assert second.field("If-None-Match") is None


def test_a_second_look_that_fails_is_said(program: Program, site: Site) -> None:
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    site.script("/p", answer(b"<p>text</p>", "Content-Type: text/html"), answer(b"", status=500))
    run = program("test", "Page", "--twice", "--pause", "0")
    assert ("failed", "failed: http-500: the server answered with status 500") in subjects(run.stdout)
    site.script("/p", answer(b"<p>text</p>", "Content-Type: text/html"), answer(b" ", "Content-Type: text/html"))
    run = program("test", "Page", "--twice", "--pause", "0")
    assert ("twice", "one of the two looks did not show the watched part") in subjects(run.stdout)


def test_of_an_index_of_sitemaps_no_more_than_three_are_asked_for(program: Program, site: Site) -> None:
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    children = "".join(f"<sitemap><loc>{site.url}/s{number}.xml</loc></sitemap>" for number in range(9))
    head = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    site.script("/sitemap.xml", answer(f"{head}{children}</sitemapindex>".encode(), "Content-Type: application/xml"))
    for number in range(9):
        site.script(
            f"/s{number}.xml", answer(SITEMAP.format(site="http://a").encode(), "Content-Type: application/xml")
        )
    assert program("test", "Page").returncode == 0
    assert len([request for request in site.requests if request.target.startswith("/s")]) == 3


def test_a_secret_of_the_configuration_is_not_in_what_is_proposed(program: Program, site: Site) -> None:
    url = f"{site.url}/p".replace("//", "//me:sesame-open@")
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    run = program("test", url, "--select", "#price")
    assert "sesame" not in run.stdout
    assert f"url: {site.url}/p" in pasted(run.stdout, "Entry for watches.yaml")


def test_the_login_of_an_address_is_left_out_of_the_entry_which_says_so(program: Program, site: Site) -> None:
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    url = f"{site.url}/p".replace("//", "//me:sesame-open@")
    text = pasted(program("test", url, "--select", "#price").stdout, "Entry for watches.yaml")
    assert "# the login is left out: put it into .env and write https://${SITE_USER}:${SITE_PASSWORD}@… as url" in text
    assert "login" not in program("test", f"{site.url}/p", "--select", "#price").stdout
    config = program.config.read_text(encoding="utf-8") + text
    assert len(program.check(config=config).watches) == 2


def test_no_entry_is_printed_in_which_a_secret_would_be_hidden(program: Program, site: Site) -> None:
    watch = {"name": "Page", "url": f"{site.url}/p?token=${{TOKEN}}", "select": "#price"}
    program.config.with_name(".env").write_text("TOKEN=sesame-open\n", encoding="utf-8")
    program.config.with_name(".env").chmod(0o600)
    program.config.write_text(configuration(watch), encoding="utf-8")
    site.script("/p?token=sesame-open", answer(b"<p id=price>$20</p>", "Content-Type: text/html"))
    run = program("test", f"{site.url}/p?token=sesame-open", "--select", "#price")
    assert "sesame" not in run.stdout
    assert "Entry for watches.yaml" not in run.stdout
    assert ("write", "the entry by hand, with ${NAME} in the place of that value, and NAME=value in .env") in [
        (subject.strip(), text) for subject, text in subjects(run.stdout)
    ]


def test_what_makes_two_looks_at_a_known_feed_equal_is_written_whole(program: Program, site: Site) -> None:
    feed = "<rss version='2.0'><channel><item><title>One</title><guid>1</guid><description>{}</description></item>"
    looks = [feed.format(text) + "</channel></rss>" for text in ("open", "closed")]
    site.script("/p", *(answer(look.encode(), "Content-Type: application/rss+xml") for look in looks))
    watch = {"name": "Page", "url": f"{site.url}/p"}
    run = program("test", "Page", "--twice", "--pause", "0", config=configuration(watch))
    keys = yaml.safe_load(pasted(run.stdout, 'Change in watches.yaml, watch "Page"'))
    assert keys == {"source": "feed", "fields": ["title", "link"]}
    assert program.check(config=configuration({**watch, **keys})).watches["Page"]["outcome"] == "baseline"


def test_a_watch_that_is_broken_in_the_file_shows_what_is_wrong_with_it(program: Program, site: Site) -> None:
    watches = [{"name": "A", "url": f"{site.url}/p", "select": "p["}, {"name": "B", "url": f"{site.url}/p"}]
    run = program("test", "A", config=configuration(*watches))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith('watches.yaml:5: watch "A": select')
    assert "did you mean" not in run.stderr


def test_where_fields_have_moved_is_said_for_each(program: Program, site: Site) -> None:
    watch = {"name": "Page", "url": f"{site.url}/p", "fields": {"price": "#price", "stock": "#stock", "link": "a@href"}}
    site.script("/p", answer(b"<p id=price>$20</p><p id=stock>5 left</p>", "Content-Type: text/html"))
    assert program("check", config=configuration(watch)).returncode == 0
    site.script("/p", answer(b"<p class=new-price>$20</p><p class=rest>4 left</p>", "Content-Type: text/html"))
    said = [text for subject, text in subjects(program("test", "Page").stdout) if subject == "moved to"]
    assert said == [
        "price: .new-price: the last known text stands there now",
        "stock: .rest: it is most like the last known text: 4 left",
    ]


def test_a_path_to_write_says_what_it_replaces(program: Program, site: Site) -> None:
    row = {
        "known": "<p id=s>Sold out</p>",
        "page": '<script>{"state": "Sold out"}</script>',
        "select": "#s",
        "name": "",
    }
    text = pasted(program(*prepare(row, program, site)).stdout, "Change in watches.yaml")
    assert text.rstrip("\n") == "    path: state  # in the place of select"


def test_the_name_of_an_entry_is_not_that_of_another_watch(program: Program, site: Site) -> None:
    watches = [{"name": name, "url": f"{site.url}/p"} for name in ("Shop", "Shop 2")]
    program.config.write_text(configuration(*watches), encoding="utf-8")
    text = pasted(program("test", f"{site.url}/p", "--select", "#price").stdout, "Entry for watches.yaml")
    assert text.splitlines()[0] == "  - name: Shop 3"
    assert len(program.check(config=program.config.read_text(encoding="utf-8") + text).watches) == 3


def test_without_validators_no_second_request_is_made(program: Program, site: Site) -> None:
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    assert program("test", "Page").returncode == 0
    assert [request.target for request in site.requests] == ["/robots.txt", "/p", "/sitemap.xml"]


RECORD = '{"price":20,"a":[1,2],"n":"x y z"}'
HOSTILE = {
    "100,000 elements": "".join(f"<div class='a c{n % 7}'><p class=price>${n}</p></div>" for n in range(50_000)),
    "deep nesting": "<div class=a>" * 20_000 + "<p class=price>$20</p>",
    "5 MB of text": f"<div>{'lorem ipsum dolor 1 ' * 250_000}</div><p class=price>$20</p>",
    "5 MB of JSON": f"<p class=price>$20</p><script>[{','.join([RECORD] * 130_000)}]</script>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_explained_in_a_few_seconds(name: str, program: Program, site: Site) -> None:
    page = HOSTILE[name]
    program.config.write_text(configuration({"name": "Page", "url": f"{site.url}/p"}), encoding="utf-8")
    looks = (page, page.replace("$20", "$25"))
    site.script("/p", *(answer(look.encode(), "Content-Type: text/html; charset=utf-8") for look in looks))
    began = time.monotonic()
    run = program("test", f"{site.url}/p", "--select", ".price", "--twice", "--pause", "0")
    assert (run.returncode, run.stderr) == (0, "")
    assert time.monotonic() - began < SECONDS
