"""Highlights: the words of a query where they stand in the texts of a hit, as OpenMetadata tells.

The text around the tags is escaped for HTML, so that a page may show it as it is. Only documents as
the caller sees them are looked at, and only up to `MAX_BYTES` of an answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from html import escape
from types import MappingProxyType

import msgspec

from domain.kinds.registry import KINDS
from projections.search import tree
from projections.search.analysis import compose
from projections.search.answers.sought_words import Marks, SoughtWords
from projections.search.documents.sources import raw_values_for, texts_at
from projections.search.language.field_types import field_type
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

BEGIN, END = '<span class="text-highlighter">', "</span>"
MAX_BYTES = 500_000
"""JSON of the hits of an answer that is looked at, from the first hit on; a hit that does not fit
has no highlights."""
MAX_CHARACTERS = 4_000
"""Characters of the texts at one path of a hit that are looked at."""
MAX_FRAGMENTS = 5
"""Highlighted pieces of each field."""
FRAGMENT = 150
"""Characters of a piece of a longer text, but for a word that is longer."""
_BEFORE = 40
"""Characters that stand before the first highlighted word of a piece, at most."""

Highlights = Mapping[str, list[str]]
"""Path -> pieces of its texts, with the words between BEGIN and END."""


class Highlighter:
    """Highlights the words of one query in the hits of one answer, in their order."""

    def __init__(self, node: Node, most_bytes: int = MAX_BYTES) -> None:
        """`node` asks for nothing that the caller may not see."""
        leaves = dict.fromkeys(_wanted(node))
        self._leaves: dict[str | None, list[Node]] = {}
        for leaf in leaves:
            (field,) = tree.named_fields(leaf)
            path = None if field is None else indexed_path(field)
            self._leaves.setdefault(path, []).append(leaf)
        self._words: dict[str | None, SoughtWords] = {}
        self._left = most_bytes

    def highlights(self, kind: str, visible_json: bytes) -> Highlights:
        """The highlights of a hit, given what the caller may see of it; none where none fit."""
        if not self._leaves or len(visible_json) > self._left:
            return {}
        self._left -= len(visible_json)
        named = [path for path in self._leaves if path is not None]
        paths = dict.fromkeys([*(field.path for field in KINDS[kind].search), *named])
        raw = raw_values_for(paths, visible_json)
        value_of = cache(lambda key: msgspec.json.decode(raw[key]))

        @cache
        def texts_of(path: str) -> list[str]:
            key = path.partition(".")[0]
            if key not in raw:
                return []
            return [compose(text) for text in texts_at({key: value_of(key)}, path, MAX_CHARACTERS)]

        met: set[str] = set()
        marked: dict[str, dict[int, Marks]] = {}
        for path in paths:
            held = raw.get(path.partition(".")[0])
            if held is not None and self._sought(path).may_be_in(bytes(held)):
                marked[path] = _marked(texts_of(path), partial(self._sought(path).marks, met=met))
        has_any = any(marked.values())
        pieces: dict[str, list[str]] = {}
        for path in paths:
            marks = marked.get(path, {})
            # The texts of parts are many: they are gone through letter by letter in need only.
            if not (has_any and "." in path) and self._sought(path).has_slips(met):
                slipped = partial(self._sought(path).slipped, met=met)
                marks = _marked(texts_of(path), slipped, marks)
            for at, own in sorted(marks.items()):
                known = pieces.setdefault(path, [])
                known += _pieces(texts_of(path)[at], own)
                del known[MAX_FRAGMENTS:]
        return pieces

    def _sought(self, path: str) -> SoughtWords:
        """The words that are looked for at a path, which are mostly those without a field."""
        field = path if path in self._leaves else None
        words = self._words.get(field)
        if words is None:
            leaves = [leaf for key in {None, field} for leaf in self._leaves.get(key, ())]
            words = self._words[field] = SoughtWords(leaves)
        return words


def _marked(
    texts: Sequence[str],
    find: Callable[[str], Marks],
    known: Mapping[int, Marks] = MappingProxyType({}),
) -> dict[int, Marks]:
    """The known marks and those that `find` adds, by the places of as many texts as are shown."""
    marked = dict(known)
    for at, text in enumerate(texts):
        if marks := find(text):
            marked[at] = [*marked.get(at, ()), *marks]
            if len(marked) == MAX_FRAGMENTS:
                break
    return marked


def _wanted(node: Node) -> Iterator[Node]:
    """The leaves of a tree that say which words a document should have."""
    match node:
        case tree.Bool():
            for inner in (*node.must, *node.filter, *node.should):
                yield from _wanted(inner)
        case tree.Nested():
            return
        case (
            tree.Term(field=field)
            | tree.Exact(field=field)
            | tree.Phrase(field=field)
            | tree.PhrasePrefix(field=field)
            | tree.Fuzzy(field=field)
            | tree.Wildcard(field=field)
            | tree.Regex(field=field)
        ):
            if field is None or field_type(field) == "text":
                yield node
        case _:
            for inner in tree.children(node):
                yield from _wanted(inner)


def _pieces(text: str, marks: Marks) -> Iterator[str]:
    """The pieces of a text around its marks; a short text is one piece."""
    joined = _joined(marks)
    if len(text) <= FRAGMENT:
        yield _tagged(text, 0, len(text), joined)
        return
    after = 0
    for place, (begin, end) in enumerate(joined):
        if begin < after:
            continue
        low = _word_begin(text, max(after, begin - _BEFORE), begin)
        after = _word_end(text, max(low + FRAGMENT, end), end)
        inside = [mark for mark in joined[place:] if mark[1] <= after]
        yield _tagged(text, low, after, inside)


def _joined(marks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The marks in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(marks):
        if joined and begin < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _word_begin(text: str, at: int, latest: int) -> int:
    """The first beginning of a word from a place on, `latest` where there is none before."""
    while at < latest and at and not text[at - 1].isspace():
        at += 1
    return at


def _word_end(text: str, at: int, earliest: int) -> int:
    """The last end of a word up to a place, `earliest` where there is none after it."""
    at = min(at, len(text))
    while at > earliest and at < len(text) and not text[at].isspace():
        at -= 1
    return at


def _tagged(text: str, low: int, high: int, marks: Iterable[tuple[int, int]]) -> str:
    """The text from `low` to `high` for HTML, with tags around the marks."""
    tagged = ""
    for begin, end in marks:
        tagged += f"{escape(text[low:begin])}{BEGIN}{escape(text[begin:end])}{END}"
        low = end
    return tagged + escape(text[low:high])
