"""The JSON that a page embeds: `path` on a page leads into its first JSON script block that has it."""

from __future__ import annotations

from pagewatch import jsondata, markup
from pagewatch.answers import Extract, FetchFailed, NoMatch
from pagewatch.markup import Tree
from pagewatch.model import Watch
from pagewatch.readers import json
from pagewatch.readers.page import Page
from pagewatch.reading import Body, Content, shared_keys


def read(body: Body) -> Content | FetchFailed:
    tree = markup.parse(body.text, body.media_type)
    if isinstance(tree, FetchFailed):
        return tree
    found = _found(body.watch, tree, body.url)
    return Page(found, body.text, shared_keys(found), tree)


def _found(watch: Watch, tree: Tree, url: str) -> Extract | NoMatch:
    """Among what `select` selects, if that is given."""
    within = tree.find(watch.select) if watch.select else [tree.root]
    scripts = (script.text or "" for element in within for script in element.iter("script"))
    blocks = 0
    for value in (value for text in scripts if (value := jsondata.read_script(text)) is not None):
        blocks += 1
        if not isinstance(found := json.extract(watch, value, url), NoMatch) and found.matched:
            return found
    where = f"the page's {blocks} blocks of JSON" if blocks > 1 else "the JSON of the page"
    missing = f"finds nothing in {where}" if blocks else "cannot be followed: there is no JSON in the page"
    return json.nothing(watch, f'path "{watch.path}" {missing}')
