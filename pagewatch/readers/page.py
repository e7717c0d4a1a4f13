"""A page, HTML or XML: its watched part, found by CSS selectors; with `path`, in the JSON that it embeds."""

from __future__ import annotations

from functools import cached_property

from pagewatch import jsondata, markup
from pagewatch.answers import Extract, FetchFailed, NoMatch
from pagewatch.element_text import page_text
from pagewatch.extract import select
from pagewatch.frozen import dataclass
from pagewatch.markup import Tree
from pagewatch.model import Watch
from pagewatch.readers import json
from pagewatch.reading import Body, Content, shared_keys


@dataclass(frozen=True)
class Page(Content):
    """The content of a page, with its tree."""

    tree: Tree | None = None

    @cached_property
    def visible(self) -> str:
        return page_text(self.tree) if self.tree else ""

    @property
    def title(self) -> str:
        title = self.tree.root.find(".//title") if self.tree else None
        return "" if title is None else title.text or ""

    @property
    def asks_password(self) -> bool:
        inputs = self.tree.root.iter("input") if self.tree else ()
        return any((field.get("type") or "").lower() == "password" for field in inputs)

    @property
    def is_page(self) -> bool:
        return True


def read(body: Body) -> Content | FetchFailed:
    tree = markup.parse(body.text, body.media_type)
    if isinstance(tree, FetchFailed):
        return tree
    found = _embedded(body.watch, tree, body.url) if body.watch.path else select(tree, body.watch, body.url)
    return Page(found, body.text, shared_keys(found), tree)


def _embedded(watch: Watch, tree: Tree, url: str) -> Extract | NoMatch:
    """`path` on a page: into its first JSON script block that has it, among what `select` selects if that is given."""
    within = tree.find(watch.select) if watch.select else [tree.root]
    scripts = [script for element in within for script in element.iter("script")]
    for value in (jsondata.read_script(script.text or "") for script in scripts):
        if value is not None and not isinstance(found := json.extract(watch, value, url), NoMatch) and found.matched:
            return found
    return json.nothing(watch, f'path "{watch.path}" finds nothing in the JSON of {len(scripts)} scripts of the page')
