"""A page, HTML or XML: its watched part, found by CSS selectors."""

from __future__ import annotations

from functools import cached_property

from pagewatch import markup
from pagewatch.answers import FetchFailed
from pagewatch.element_text import page_text
from pagewatch.extract import select
from pagewatch.frozen import dataclass
from pagewatch.markup import Tree
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
    found = select(tree, body.watch, body.url)
    return Page(found, body.text, shared_keys(found), tree)
