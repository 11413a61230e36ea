"""Highlights: the words of a query where they stand in the texts of a hit, as OpenMetadata tells.

The text around the tags is escaped for HTML, so that a page may show it as it is. Only documents as
the caller sees them are looked at, and only up to `MAX_BYTES` of an answer, for `MAX_SECONDS`.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from domain.events import values_by_key
from domain.kinds.registry import KINDS
from projections.search import tree
from projections.search.analysis import compose
from projections.search.answers.sought_words import Marks, SoughtWords, first_marked
from projections.search.documents.sources import objects_at, texts_of
from projections.search.language.field_types import field_type
from projections.search.matching.deadline import Clock, Deadline, OutOfTime
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

BEGIN, END = '<span class="text-highlighter">', "</span>"
MAX_BYTES = 500_000
"""JSON of the hits of an answer that is looked at, from the first hit on; a hit that does not fit
has no highlights."""
MAX_SECONDS = 0.5
"""Seconds that the highlights of an answer may take in all."""
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


class _Plan(NamedTuple):
    """The words that are looked for in entities of one kind."""

    paths: dict[str, SoughtWords]
    keys: dict[tuple[str, SoughtWords], list[str]]
    """Key of an entity's JSON and words -> the paths in it at which the words are looked for."""


class _Texts(dict[str, list[str]]):
    """Path -> the texts of one entity at the path, read at the first use."""

    def __init__(self, entity_json: bytes) -> None:
        super().__init__()
        self.held = values_by_key(entity_json)
        self._values: dict[str, Any] = {}
        self._objects: dict[str, list[Mapping[str, Any]]] = {}

    def __missing__(self, path: str) -> list[str]:
        first, (above, _, last) = path.partition(".")[0], path.rpartition(".")
        if first in self.held and first not in self._values:
            self._values[first] = msgspec.json.decode(self.held[first])
        objects = self._objects.get(above)
        if objects is None:
            objects = self._objects[above] = objects_at(self._values, above)
        self[path] = texts = list(map(compose, texts_of(objects, last, MAX_CHARACTERS)))
        return texts


class Highlighter:
    """Highlights the words of one query in the hits of one answer, in their order."""

    def __init__(
        self,
        node: Node,
        clock: Clock = time.perf_counter,
        *,
        most_bytes: int = MAX_BYTES,
        seconds: float = MAX_SECONDS,
    ) -> None:
        """`node` must be restricted already to what the caller may see."""
        self._clock = clock
        self._deadline = Deadline(seconds, clock)
        self._seconds = seconds
        """Seconds left for highlighting; the time for reading documents does not count."""
        self.timed_out = False
        """True once there was no time left: no hit has highlights from then on."""
        leaves = dict.fromkeys(_wanted(node))
        self._leaves: dict[str | None, list[Node]] = {}
        for leaf in leaves:
            (field,) = tree.named_fields(leaf)
            path = None if field is None else indexed_path(field)
            self._leaves.setdefault(path, []).append(leaf)
        self._words: dict[str | None, SoughtWords] = {}
        self._plans: dict[str, _Plan] = {}
        self._left = most_bytes

    def highlights(self, kind: str, visible_json: bytes) -> Highlights:
        """The highlights of a hit, given what the caller may see of it; none where none fit."""
        if not self._leaves or self.timed_out or len(visible_json) > self._left:
            return {}
        self._left -= len(visible_json)
        self._deadline = Deadline(self._seconds, self._clock)
        try:
            found = self._highlights(kind, visible_json)
            self._seconds = self._deadline.left()
        except OutOfTime:
            self.timed_out = True
            return {}
        return found

    def _check(self) -> None:
        self._deadline.check()

    def _highlights(self, kind: str, visible_json: bytes) -> Highlights:
        plan = self._plans.get(kind)
        if plan is None:
            plan = self._plans[kind] = self._plan(kind)
        texts = _Texts(visible_json)
        met: set[str] = set()
        marked: dict[str, dict[int, Marks]] = {}
        for (key, words), paths in plan.keys.items():
            held = texts.held.get(key)
            if held is not None and words.may_be_in(bytes(held)):
                for path in paths:
                    if marks := words.marked(texts[path], met, MAX_FRAGMENTS):
                        marked[path] = marks
        has_any = bool(marked)
        for path, words in plan.paths.items():
            # The texts of parts are many: they are gone through letter by letter in need only.
            if words.has_slips(met) and not (has_any and "." in path):
                slipped = partial(words.slipped, met=met)
                known = marked.get(path, {})
                marked[path] = first_marked(texts[path], slipped, MAX_FRAGMENTS, known)
        return {
            path: _pieces_at(texts[path], marked[path]) for path in plan.paths if marked.get(path)
        }

    def _plan(self, kind: str) -> _Plan:
        """The words that are looked for in entities of a kind."""
        plan = _Plan({}, {})
        named = [path for path in self._leaves if path is not None]
        for path in (*(field.path for field in KINDS[kind].search), *named):
            plan.paths[path] = self._sought(path)
        for path, words in plan.paths.items():
            plan.keys.setdefault((path.partition(".")[0], words), []).append(path)
        return plan

    def _sought(self, path: str) -> SoughtWords:
        """The words that are looked for at a path, which are mostly those without a field."""
        field = path if path in self._leaves else None
        words = self._words.get(field)
        if words is None:
            leaves = [leaf for key in {None, field} for leaf in self._leaves.get(key, ())]
            words = self._words[field] = SoughtWords(leaves, self._check)
        return words


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


def _pieces_at(texts: Sequence[str], marked: Mapping[int, Marks]) -> list[str]:
    """The pieces of the texts of a path around their marks, as many as are shown."""
    pieces = (piece for at in sorted(marked) for piece in _pieces(texts[at], marked[at]))
    return list(islice(pieces, MAX_FRAGMENTS))


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
