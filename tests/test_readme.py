"""The examples of the README, run as they stand there against a site that changes."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.process import PROJECT
from tests.program import Program
from tests.site import Site, answer
from tests.values import DAY

README = (PROJECT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(  - name: .*?)```", README.partition("## What people watch")[2], re.DOTALL)
RSS = '<rss version="2.0"><channel><title>News</title>{}</channel></rss>'
ENTRY = "<item><title>{0}</title><link>/{0}</link><guid>{0}</guid></item>"
GO = "<li class=course data-id=1><h3>Go</h3><p class=places>3</p></li>"
CHESS = "<li class=course data-id=2><h3>Chess</h3></li>"
MAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


class Story(NamedTuple):
    """What the example's page says, look by look, each with the title of the notice ("" for none)."""

    media_type: str
    frame: str
    looks: tuple[tuple[str, str], ...]


STORIES = {
    "Concert price": Story(
        "text/html",
        "<p id=price>{}</p>",
        (
            ("20,00 €", ""),
            ("$21", ""),
            ("from $18.50", "$21 → from $18.50 (−2.5, −11.9 %, the lowest seen)"),
        ),
    ),
    "Bicycle": Story(
        "text/html",
        "<p id=price>{}<img class=main src=a.png>",
        (("20", ""), ("18</p><p class=stock>3</p>", "price: 20 → 18, stock: (none) → 3")),
    ),
    "Courses": Story(
        "text/html",
        "<ul>{}</ul>",
        (
            (GO + CHESS, ""),
            (CHESS + GO, ""),
            (CHESS + GO.replace("3</p>", "1</p>"), "Go: places: 3 → 1"),
        ),
    ),
    "Council news": Story(
        "application/rss+xml",
        RSS,
        (
            (ENTRY.format("Budget"), ""),
            (ENTRY.format("Parks") + ENTRY.format("Budget"), ""),
            (ENTRY.format("Ferry") + ENTRY.format("Streets"), "1 added: Ferry"),
            (ENTRY.format("Streets"), ""),
        ),
    ),
    "Pages of the ministry": Story(
        "application/xml",
        MAP,
        (
            ("<url><loc>{base}/a</loc></url><url><loc>{base}/b</loc></url>", ""),
            ("<url><loc>{base}/c</loc></url><url><loc>{base}/a</loc></url>", "1 added, 1 removed: {base}/c"),
        ),
    ),
    "Releases": Story(
        "application/json",
        '{"releases": [{}]}',
        (
            ('{"id": 1, "name": "One", "status": {"text": "beta"}, "downloads": 3}', ""),
            ('{"downloads": 4, "status": {"text": "final"}, "name": "One", "id": 1}', "One: state: beta → final"),
        ),
    ),
    "Water levels": Story(
        "text/csv",
        "{}",
        (("# made 08:00\na,1\nb,2", ""), ("# made 09:00\nb,2\na,1", ""), ("b,2\na,3", "a,1 → a,3")),
    ),
    "Appointments": Story("text/html", "{}", (("<p>none</p>", ""), ("<p class=free-slot>9:30", "(none) → 9:30"))),
}


def test_each_example_has_its_story() -> None:
    assert [re.findall("name: (.*)", example)[0] for example in EXAMPLES] == list(STORIES)


@pytest.mark.parametrize("example", EXAMPLES, ids=list(STORIES))
def test_the_example_does_what_the_readme_says(example: str, program: Program, site: Site) -> None:
    name = re.findall("name: (.*)", example)[0]
    path = re.findall("url: https://example.org(.*)", example)[0]
    story = STORIES[name]
    config = "gap: 0s\nwatches:\n" + example.replace("https://example.org", site.url)
    for body, title in story.looks:
        text = story.frame.replace("{}", body).replace("{base}", site.url)
        site.script(path, answer(text.encode(), f"Content-Type: {story.media_type}"))
        run = program(config=config)
        assert run.stderr == ""
        said = run.stdout.splitlines()[:1]
        assert said == ([f"{name}: {title}".replace("{base}", site.url)] if title else [])
        program.clock.forward(DAY)
