"""watches.yaml as it is written: bytes to nodes that know their line, nothing interpreted.

Scalars stay text, so that `no`, `1:30` and `010` are what was typed. What YAML swallows silently is kept where it
happened: a key that is there twice, a tag, an alias that holds itself become `Broken`, and the text behind an
unquoted # stays with the value it cuts off. So one wrong watch does not hide the others. A file that is no YAML at
all is `Wrong`, with one line to mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from pagewatch.frozen import dataclass, field
from pagewatch.nodes import Broken, Mapping, Node, Scalar, Sequence, Wrong

LARGEST_FILE = 5_000_000  # a watch is about 150 bytes
DEEPEST = 20
LARGEST_TREE = 500_000  # values after all aliases: a few lines of aliases to aliases make billions
FASTEST: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
KINDS = {"SequenceNode": "a list", "MappingNode": "a mapping"}
GLUED = re.compile(r"[ \t]*,?[ \t]+(#[^\s#].*)")  # `# a remark` has a space, `#price` has none
FORBIDDEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")  # not in YAML 1.1 §5.1
# A key at the top, with all that belongs to it.
BLOCK = re.compile(r"(?m)^([\w-]+):.*\n?(?:(?:[ \t#-].*)?\n)*(?:[ \t#-].+)?")


def read(data: bytes, loader: Any = FASTEST) -> Mapping:
    """The keys and values of the one document in `data`; empty where there is nothing but remarks. Raises `Wrong`."""
    text = decode(data)
    root = compose(text, loader)
    if root is None:
        return Mapping((), 1, False)
    node = _Builder(text).node(root)
    if isinstance(node, Mapping):
        return node
    raise Wrong(node.line, "the file must begin with keys, such as notify: and watches:")


def salvage(data: bytes, keys: Iterable[str]) -> Mapping:
    """What can still be read of these top-level keys in a file that is no YAML elsewhere."""
    found: list[tuple[Scalar, Node]] = []
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    for block in BLOCK.finditer(text):
        if block[1] in keys:
            try:
                found.extend(read(block[0].encode()).entries)
            except Wrong:
                continue
    return Mapping(tuple(found), 1, False)


# ------------------------------------------------------------------------------------------------- bytes to YAML


def decode(data: bytes) -> str:
    """UTF-8, or UTF-16 with a byte order mark (YAML 1.1 §5.2), with one kind of line end. Raises `Wrong`."""
    if len(data) > LARGEST_FILE:
        raise Wrong(0, f"the file has {len(data):,} bytes, more than {LARGEST_FILE:,}: is it the right one?")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Wrong(line, f"byte 0x{data[error.start]:02X} is not UTF-8: save the file as UTF-8") from None
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if odd := FORBIDDEN.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        advice = "save the file as UTF-8" if odd[0] == "\0" else "take it out"
        raise Wrong(line, f"the control character U+{ord(odd[0]):04X}: {advice}")
    return text


def compose(text: str, loader: Any) -> Any:
    """The YAML nodes. PyYAML's two loaders differ in messages and about tabs: the one in Python decides."""
    try:
        if "\t" not in text:
            return yaml.compose(text, Loader=loader)
    except yaml.YAMLError:
        pass
    try:
        return yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        raise Wrong(*_explained(error, text.split("\n"))) from None
    except RecursionError:
        raise Wrong(0, f"values are nested more than {DEEPEST} deep") from None


QUOTE_IT = "put the whole value in quotes"
EXPLAINED = (  # what PyYAML says, whether the place is where the construct began, and what it means to whoever wrote it
    ("character '\\t'", False, "a tab: YAML is indented with spaces, replace the tab"),
    ("found unknown escape", False, "a backslash in \"double quotes\" starts an escape: use 'single quotes'"),
    ("found unexpected end of stream", True, "a quote is opened here and never closed"),
    ("mapping values are not allowed", False, f"a ': ' that does not fit here: {QUOTE_IT}, or indent it properly"),
    (
        "could not find expected ':'",
        True,
        "a line without 'key: value': is the indentation wrong, or the file cut off?",
    ),
    ("found undefined alias", False, f"an unquoted * starts a YAML alias: {QUOTE_IT}"),
    ("second occurrence", False, "the same &anchor is set twice: give it another name"),
    ("that cannot start any token", False, f"a value cannot begin with this character: {QUOTE_IT}"),
    ("but found another document", False, "a second document begins here (---): one file holds one"),
    ("expected ',' or", True, f"a {{ or [ is opened here and not closed: close it, or {QUOTE_IT}"),
    ("but found '<scalar>'", False, f"text behind a closed quote or bracket: {QUOTE_IT}"),
    ("expected a comment or a line break", False, f"an unquoted > or | starts a block of text: {QUOTE_IT}"),
    ("sequence entries are not allowed", False, f"a '- ' that does not fit here: {QUOTE_IT}, or indent it properly"),
    ("expected the node content", False, f"a value is missing here or cannot begin with this character: {QUOTE_IT}"),
    ("expected <block end>", False, "the indentation does not fit: keys of one thing begin in the same column"),
)
HASH = re.compile(r"[\s,\[{:]#[^\s#]")


def _explained(error: yaml.MarkedYAMLError, lines: list[str]) -> tuple[int, str]:
    problem = error.problem or ""
    explained = ((starts, message) for known, starts, message in EXPLAINED if known in problem)
    starts, message = next(explained, (False, f"this is not YAML: {problem}"))
    marks = [mark.line for mark in (error.context_mark, error.problem_mark) if mark is not None] or [-1]
    line = marks[0] if starts else marks[-1]
    cut = [number for number in range(max(line, 0), min(marks[-1] + 1, len(lines))) if HASH.search(lines[number])]
    if cut and "expected" in problem:
        return cut[0] + 1, f"{message}; an unquoted # starts a YAML comment"
    return line + 1, message


# --------------------------------------------------------------------------------------------------- YAML to nodes


@dataclass
class _Builder:
    """Nodes of one text. Each list and mapping is built once, however many aliases point at it; `sizes` are those that
    it would have with every alias written out."""

    text: str
    built: dict[int, Node] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    def node(self, node: Any, depth: int = 0) -> Node:
        line = node.start_mark.line + 1
        if node.tag not in TAGS:
            return Broken(line, f"an unquoted ! starts a YAML tag: {QUOTE_IT}")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        if id(node) in self.built:
            return self.built[id(node)]
        if depth > DEEPEST:
            raise Wrong(0, f"values are nested more than {DEEPEST} deep")
        self.built[id(node)] = Broken(line, "an alias stands inside what it points at")
        self.sizes[id(node)] = 1
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self._part(node, child, depth) for child in node.value)
            self.built[id(node)] = Sequence(items, line, bool(node.flow_style))
        else:
            self.built[id(node)] = Mapping(self._entries(node, depth), line, bool(node.flow_style))
        return self.built[id(node)]

    def _scalar(self, node: Any, line: int) -> Scalar:
        text, plain, comment = node.value, not node.style, ""
        if plain:
            end = node.end_mark.index
            stop = self.text.find("\n", end)
            stop = len(self.text) if stop < 0 else stop
            if self.text.find("#", end, stop) >= 0 and (glued := GLUED.match(self.text, end, stop)):
                comment = re.split(r"\s+#", glued[1], maxsplit=1)[0].rstrip()
        return Scalar(text, line, plain, comment, text)

    def _part(self, whole: Any, node: Any, depth: int) -> Node:
        """A value inside another; the other grows by its size."""
        built = self.node(node, depth + 1)
        size = self.sizes[id(whole)] = self.sizes[id(whole)] + self.sizes.get(id(node), 1)
        if size > LARGEST_TREE:
            raise Wrong(whole.start_mark.line + 1, f"aliases make more than {LARGEST_TREE:,} values of this file")
        return built

    def _entries(self, node: Any, depth: int) -> tuple[tuple[Scalar, Node], ...]:
        """The mapping's own entries, then what merge keys (`<<: *defaults`) add; the first of a name counts."""
        own: dict[str, tuple[Scalar, Node]] = {}
        merged: list[tuple[Scalar, Node]] = []
        for key_node, value_node in node.value:
            key, value = _key(key_node), self._part(node, value_node, depth)
            if key.text == "<<" and key.plain:
                merged.extend(_merged(key, value))
            elif not isinstance(key_node, yaml.ScalarNode):
                own[key.text] = key, Broken(key.line, f"a key is text, not {KINDS[type(key_node).__name__]}")
            elif key.text in own:
                first = own[key.text][0]
                lines = f", in lines {first.line} and {key.line}" if first.line != key.line else ""
                own[key.text] = first, Broken(key.line, f"it is here twice{lines}: keep one")
            else:
                own[key.text] = key, value
        for key, value in merged:
            own.setdefault(key.text, (key, value))
        return tuple(own.values())


def _key(node: Any) -> Scalar:
    text = node.value if isinstance(node, yaml.ScalarNode) else "?"
    return Scalar(text, node.start_mark.line + 1, not getattr(node, "style", ""), "", text)


def _merged(key: Scalar, value: Node) -> Iterable[tuple[Scalar, Node]]:
    for source in value.items if isinstance(value, Sequence) else (value,):
        if isinstance(source, Mapping):
            yield from source.entries
        else:
            yield key, Broken(key.line, "<< takes an alias of a mapping, or a list of them")
