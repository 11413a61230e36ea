"""Questions of the search benchmark: query shapes, with words from the documents themselves."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, cycle, islice, pairwise

import msgspec

from domain.kinds.registry import KINDS
from projections.search.analysis import stem, tokens
from projections.search.documents.documents import SearchDocument
from projections.search.language.field_types import is_prose

COLUMNS = "columns.name"
DEEP = 5_000
_KIND = "table"
_MOST_WORDS = 3


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One query: as it is typed, and in parts that another engine can be asked with."""

    text: str
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    pattern: str | None = None
    """A regular expression over whole terms."""
    fuzzy: str | None = None
    """A word with one slip."""
    forgiving: tuple[str, ...] = ()
    """The words of a relevance search."""
    field: str | None = None
    kind: str | None = None
    by_name: bool = False
    offset: int = 0


class Shape(msgspec.Struct, frozen=True):
    """Questions of one form, no two the same where the documents have enough words."""

    name: str
    questions: tuple[Question, ...]
    counted: bool
    """True if it is one of the shapes that the budget's mean is taken over."""
    same: bool
    """True if both engines mean the same by it, so that totals must be equal."""


class Sample:
    """Words of documents: how many documents hold each, and which stand together."""

    def __init__(self, documents: Iterable[SearchDocument], seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words: Counter[str] = Counter()
        self._columns: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._together: list[list[str]] = []
        self.size = 0
        for document in documents:
            self.size += 1
            self._add(document)

    def _add(self, document: SearchDocument) -> None:
        words: set[str] = set()
        for field in KINDS[document.kind].search:
            for value in document.fields.get(field.path, ()):
                if isinstance(value, str):
                    parts = tokens(value, is_prose(field.path)).parts
                    words.update(parts)
                    if field.path == "description":
                        self._pairs.update(filter(_plain_pair, pairwise(parts)))
        self._words.update(sorted(words))
        telling = sorted(word for word in words if _plain(word) and len(word) > 5)
        if len(telling) >= _MOST_WORDS:
            self._together.append(self._random.sample(telling, _MOST_WORDS))
        if document.kind == _KIND:
            self._columns.update({str(name) for name in document.fields.get(COLUMNS, ())})

    def shapes(self, count: int) -> list[Shape]:
        """`count` questions of each shape."""
        known = [(word, n) for word, n in self._words.most_common() if _plain(word)]
        common = [word for word, n in known if n >= self.size * 0.02][: max(8, count)]
        middle = [word for word, n in known if n >= 5 and len(word) > 5]
        rare = [word for word, n in known if n <= 3] or common[::-1]
        columns = [name for name, _ in self._columns.most_common(400) if "_" in name]
        phrases = [pair for pair, _ in self._pairs.most_common(400)]
        starts = dict.fromkeys(word[:4] for word in common + middle)
        ends = dict.fromkeys("_" + name.rpartition("_")[2] for name in columns)
        ends |= dict.fromkeys(name[-5:] for name in columns)
        inner = dict.fromkeys(word[1:-1] for word in common + middle)
        together = list(self._together)
        for some in (rare, middle, columns, phrases, together):
            self._random.shuffle(some)

        def term(word: str) -> Question:
            return Question(text=f"+{word}", all_of=(word,))

        def shape(
            name: str,
            made: Iterable[Question],
            counted: bool = True,
            same: bool = True,
        ) -> Shape:
            return Shape(
                name, tuple(islice(cycle(list(islice(made, count))), count)), counted, same
            )

        replace = msgspec.structs.replace
        return [
            shape("rare term", map(term, rare)),
            shape("common term", map(term, common)),
            shape("AND of two", (_all(pair) for pair in self._groups(common, 2))),
            shape("OR of three", (_any(three) for three in self._groups(common, 3))),
            # Ours finds phrases with plurals too, whose stems stand in the same places.
            shape("phrase", map(_phrase, phrases), same=False),
            shape("prefix cust*", (_starting(start) for start in starts)),
            shape("columns.name:*_id", (_ending(end) for end in ends)),
            shape("columns.name:customer_id", map(_column, columns)),
            shape("kind filter and term", (replace(term(w), kind=_KIND) for w in common)),
            shape("sort by name", (replace(term(w), by_name=True) for w in common)),
            shape(f"from={DEEP}", (replace(term(w), offset=DEEP) for w in common)),
            shape("match all", [Question(text="*")]),
            shape("columns.name.keyword:...", map(_whole_column, columns), counted=False),
            shape("fuzzy ~1", map(_slipped, middle), counted=False, same=False),
            shape("infix *ustome*", map(_holding, inner), counted=False),
            shape("regular expression", map(_regex, columns), counted=False),
            *(
                shape(
                    f"plain text, words: {number}",
                    (_plain_text(tuple(words[:number])) for words in together),
                    counted=False,
                    same=False,
                )
                for number in range(1, _MOST_WORDS + 1)
            ),
        ]

    def _groups(self, words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
        groups = list(islice(combinations(words, size), 100_000))
        self._random.shuffle(groups)
        return iter(groups)


def _plain(word: str) -> bool:
    """True if a word is one term to every engine: no plural, whose stem is searched too."""
    return len(word) > 2 and word.isascii() and word.isalpha() and stem(word) == word


def _plain_pair(pair: tuple[str, str]) -> bool:
    return _plain(pair[0]) and _plain(pair[1])


def _all(words: tuple[str, ...]) -> Question:
    return Question(text=" AND ".join(words), all_of=words)


def _any(words: tuple[str, ...]) -> Question:
    return Question(text=" OR ".join(words), any_of=words)


def _phrase(pair: tuple[str, str]) -> Question:
    return Question(text=f'"{pair[0]} {pair[1]}"', phrase=pair)


def _column(name: str) -> Question:
    # A name is searched for by its parts next to each other, so `old_customer_id` is found too.
    parts = tokens(name).parts
    return Question(text=f"{COLUMNS}:{name}", phrase=parts, field=COLUMNS)


def _whole_column(name: str) -> Question:
    return Question(text=f"{COLUMNS}.keyword:{name}", all_of=(name.lower(),), field=COLUMNS)


def _starting(start: str) -> Question:
    return Question(text=f"{start}*", pattern=f"{start}.*")


def _ending(end: str) -> Question:
    end = end.lower()
    return Question(text=f"{COLUMNS}:*{end}", pattern=f".*{re.escape(end)}", field=COLUMNS)


def _holding(part: str) -> Question:
    return Question(text=f"*{part}*", pattern=f".*{part}.*")


def _regex(name: str) -> Question:
    start, _, end = name.lower().rpartition("_")
    pattern = f"{start[:3]}[a-z_]*_{end[:1]}[a-z0-9]*"
    return Question(text=f"/{pattern}/", pattern=pattern)


def _slipped(word: str) -> Question:
    slipped = word[:3] + word[4:]
    return Question(text=f"{slipped}~1", fuzzy=slipped)


def _plain_text(words: tuple[str, ...]) -> Question:
    return Question(text=" ".join(words), forgiving=words)


Answer = tuple[int, list[str]]
"""The exact total, and the ids of a page."""

Ask = Callable[[Question], Answer]
