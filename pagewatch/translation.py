"""CSS selectors as XPath by cssselect, for those that are more than names: only what certainly means the same as in
Beautiful Soup's engine and is quick.

Conditions are written from the found element outwards, as browsers match: the other direction is quadratic.
"""

from __future__ import annotations

from typing import Any

from cssselect import ExpressionError, HTMLTranslator, SelectorError
from cssselect import parse as parse_selector
from cssselect.parser import (
    Attrib,
    Class,
    CombinedSelector,
    Element,
    Function,
    Hash,
    Negation,
    Pseudo,
    parse_series,
)
from cssselect.xpath import XPathExpr

_POSITIONS = frozenset({"first-child", "last-child", "only-child", "first-of-type", "last-of-type", "only-of-type"})
_COUNTS = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
_OPERATORS = frozenset({"exists", "=", "~=", "|=", "^=", "$=", "*="})


def translated(selector: str) -> str | None:
    """The XPath that finds the same, None where none is known to."""
    try:
        selectors = parse_selector(selector)
        if not all(_translates(part.parsed_tree) and part.pseudo_element is None for part in selectors):
            return None
        return " | ".join(map(_Translator().selector_to_xpath, selectors))
    except SelectorError:
        return None


def _translates(tree: Any) -> bool:
    """Whether all of it means the same in soupsieve and in XPath, and is quick there. It does not where HTML makes
    exceptions (the attribute `type` ignores case), and is not where XPath compares all siblings with all siblings
    (`~`)."""
    match tree:
        case Element():
            return tree.namespace is None
        case CombinedSelector():
            return tree.combinator != "~" and _translates(tree.selector) and _translates(tree.subselector)
        case Negation():
            return _translates(tree.selector) and _is_compound(tree.subselector) and _translates(tree.subselector)
        case Attrib():
            plain = tree.namespace is None and tree.attrib.lower() != "type" and tree.operator in _OPERATORS
            return plain and _translates(tree.selector)
        case Pseudo():
            return tree.ident in _POSITIONS and _translates(tree.selector)
        case Function():
            return tree.name in _COUNTS and _translates(tree.selector)
        case Hash() | Class():
            return _translates(tree.selector)
    return False


def _is_compound(tree: Any) -> bool:
    """No combinator in it, at any depth: each part is made of one `selector`, down to the element."""
    while not isinstance(tree, Element):
        if isinstance(tree, CombinedSelector):
            return False
        tree = getattr(tree, "selector", None) or Element()
    return True


class _Translator(HTMLTranslator):
    """cssselect's translation, with conditions on the found element: `a b` is b[ancestor::a]. Positions are asked for
    by number, because counting all siblings of all siblings takes minutes on a long list."""

    def xpath_descendant_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
        return _where(right, "ancestor::", left)

    def xpath_child_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
        return _where(right, "parent::", left)

    def xpath_direct_adjacent_combinator(self, left: XPathExpr, right: XPathExpr) -> XPathExpr:
        return _where(right, "preceding-sibling::*[1]/self::", left)

    def xpath_pseudo(self, pseudo: Pseudo) -> XPathExpr:
        xpath = self.xpath(pseudo.selector)
        side, _, kind = pseudo.ident.partition("-")
        test = "*" if kind == "child" else _element_name(xpath)
        for last in {"first": (False,), "last": (True,), "only": (False, True)}[side]:
            _at(xpath, 1, last, test)
        return xpath

    def xpath_function(self, function: Function) -> XPathExpr:
        try:
            step, place = parse_series(function.arguments)
        except ValueError as error:
            raise ExpressionError("no plain series") from error
        if step:
            raise ExpressionError("all siblings of all siblings would be counted")
        xpath = self.xpath(function.selector)
        test = "*" if function.name.endswith("child") else _element_name(xpath)
        return _at(xpath, place, "last" in function.name, test)


def _where(right: XPathExpr, axis: str, left: XPathExpr) -> XPathExpr:
    right.add_condition(f"{axis}{left.element}" + (f"[{left.condition}]" if left.condition else ""))
    return right


def _element_name(xpath: XPathExpr) -> str:
    if xpath.element == "*":
        raise ExpressionError("of which type is not known")
    return str(xpath.element)


def _at(xpath: XPathExpr, place: int, last: bool, test: str) -> XPathExpr:
    siblings = f"{'following' if last else 'preceding'}-sibling::{test}"
    if place > 1:
        xpath.add_condition(f"{siblings}[{place - 1}]")
    xpath.add_condition(f"not({siblings}[{place}])" if place > 0 else "false()")
    return xpath
