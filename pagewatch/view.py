"""A page as one watch sees it: without what it ignores, its elements as text, its fields as values."""

from __future__ import annotations

from pagewatch.element_text import Elements, attribute_of, is_in, outermost, text_of
from pagewatch.fingerprint import normalise, without_noise
from pagewatch.frozen import dataclass
from pagewatch.markup import Node, Tree
from pagewatch.model import Watch, split_attribute


@dataclass(frozen=True)
class View:
    """`left_out` are the elements that `ignore` selects; `url` is that of the page."""

    tree: Tree
    watch: Watch
    left_out: Elements
    url: str = ""

    def find(self, selector: str) -> list[Node]:
        """The elements that match, but for those that are left out."""
        return [element for element in self.tree.find(selector) if not is_in(element, self.left_out)]

    def text(self, element: Node, field: str = "") -> str:
        """What can be read in an element. Where `number` wants one in this field, raised digits are its cents."""
        cents = dict(self.watch.number).get(field)
        return without_noise(text_of(element, self.left_out, self.tree.xml, cents), self.watch.ignore_text)

    def value(self, elements: list[Node], attribute: str = "", field: str = "") -> str | None:
        """The texts of elements, or their attributes of this name; None where there are none."""
        if attribute:
            values = [attribute_of(element, attribute, self.tree.xml) for element in elements]
        else:
            values = [self.text(element, field) for element in outermost(elements)]
        there = [normalise(value) for value in values if value is not None]
        return without_noise("\n".join(there), self.watch.ignore_text) if there else None

    def fields(self, scopes: list[Node]) -> tuple[tuple[str, str | None], ...]:
        """The fields of the watch; with `select` they are parts of what it selects."""
        return tuple((name, self._field(name, where, scopes)) for name, where in self.watch.fields)

    def _field(self, name: str, where: str, scopes: list[Node]) -> str | None:
        selector, attribute = split_attribute(where)
        found = self.find(selector) if selector else scopes
        if selector and self.watch.select:
            within = frozenset(scopes)
            found = [element for element in found if is_in(element, within)]
        return self.value(found if self.watch.match == "all" else found[:1], attribute, name)
