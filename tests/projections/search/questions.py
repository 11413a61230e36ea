"""Random query texts and filters made of a catalog's own vocabulary: most find something."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from projections.search.aggregations import (
    CALENDAR,
    Aggregation,
    DateHistogram,
    Terms,
    TopHits,
    Values,
)
from projections.search.analysis import stem, tokens
from projections.search.documents.documents import SORTABLE, Scalar, SearchDocument
from projections.search.language.field_types import field_type, is_prose, is_whole

_SPECIAL = '+-&|!(){}[]^"~*?:\\/<>= '
_OPERATORS = ("AND", "OR", "NOT")
_LETTERS = "abcdeginorst_1"

Value = tuple[str, Scalar]
"""A path and one of its values."""


def escaped(text: str) -> str:
    """The text as a query text takes it literally."""
    plain = "".join("\\" + c if c in _SPECIAL or c.isspace() else c for c in text)
    return "\\" + plain if plain in _OPERATORS else plain


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def different(words: Sequence[str]) -> list[str]:
    """The words without repetitions: under a slop one occurrence may or may not serve twice."""
    return list({stem(word): word for word in words}.values())


def has_order(path: str, value: Scalar) -> bool:
    """True if ranges can be asked for around the value."""
    return not (is_whole(path) or is_prose(path) or isinstance(value, bool))


class Questions:
    """Makes questions about the documents."""

    def __init__(self, random: Random, documents: Sequence[SearchDocument]) -> None:
        self._random = random
        self._documents = documents

    # What is asked about

    def value(self, wanted: Callable[[str, Scalar], bool] = lambda _, __: True) -> Value:
        """A value that the test accepts, in a path that some document has.

        Not a reference that is still a text, as lines to be imported have it: none is recorded so.
        """
        while True:
            fields = self._random.choice(self._documents).fields
            path = self._random.choice(tuple(fields))
            value = self._random.choice(fields[path])
            if field_type(path) != "object" and wanted(path, value):
                return path, value

    def text_value(self) -> tuple[str, str, list[str]]:
        """A path, a text with words in it, and the words."""
        while True:
            path, text = self.value(lambda p, v: isinstance(v, str))
            words = list(tokens(str(text), is_prose(path)).parts)
            if words and not is_whole(path):
                return path, str(text), words

    def named(self) -> list[str]:
        """Words of a name or a description, as people search for them."""
        fields = self._random.choice(self._documents).fields
        path = self._random.choice(("name", "name", "displayName", "description", "columns.name"))
        words = str(self._random.choice(fields.get(path, fields["name"]))).split()
        start = self._random.randrange(max(1, len(words)))
        return words[start : start + self._random.randint(1, 3)]

    def slip(self, word: str) -> str:
        at = self._random.randrange(len(word) + 1)
        letter = self._random.choice(_LETTERS)
        ways = (
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
        )
        return self._random.choice(ways) or word

    def typed(self, word: str) -> str:
        """A word as it may be typed: as it is, not to its end, or with a slip or two."""
        ways = (word, word, word[: self._random.randint(1, len(word))], self.slip(word))
        return self._random.choice((*ways, self.slip(self.slip(word))))

    def pattern(self, word: str) -> str:
        """A wildcard pattern that the word fits, unless it has signs of its own."""
        start, stop = sorted(self._random.sample(range(len(word) + 1), 2)) if word else (0, 0)
        ways = (word[:stop] + "*", "*" + word[start:], f"*{word[start:stop]}*")
        hole = word[:start] + "?" + word[start + 1 :]
        return self._random.choice((*ways, hole, f"{word[:start]}*{word[stop:]}"))

    def expression(self, word: str) -> str:
        """A regular expression that the word fits."""
        cut = self._random.randrange(len(word) + 1)
        head = "".join("\\" + c if not c.isalnum() and c.isascii() else c for c in word[:cut])
        return head + self._random.choice((".*", "[a-z_0-9]*", ".{0,20}", "(.|..)*", r"\w*"))

    def day(self) -> str:
        _, value = self.value(lambda p, _: p == "updatedAt")
        return datetime.fromtimestamp(float(value) / 1000, UTC).date().isoformat()

    def field(self, path: str) -> str | None:
        """The path, its twin of whole values, or None for all."""
        return self._random.choice((path, path, path, self.form(path), None))

    def form(self, path: str) -> str:
        """The path, or its twin of whole values where it has one."""
        return path if is_prose(path) else self._random.choice((path, f"{path}.keyword"))

    # Query texts

    def query(self) -> str:
        if self._random.random() < 0.2:
            words = [self.typed(word) for word in self.named()]
            return " ".join(map(escaped, words)) or "*"
        return self._combined(self._random.choice((0, 0, 1, 1, 2)))

    def _combined(self, depth: int) -> str:
        if not depth:
            return self.clause()
        parts = [self._combined(depth - 1) for _ in range(self._random.randint(1, 3))]
        signs = [self._random.choice(("", "", "", "NOT ", "+", "-")) for _ in parts]
        joint = self._random.choice((" AND ", " OR ", " OR ", " "))
        boost = self._random.choice(("", "", "^2.5"))
        return f"({joint.join(map(''.join, zip(signs, parts, strict=True)))}){boost}"

    def clause(self) -> str:
        words = (self._word, self._word, self._wild, self._fuzzy, self._regex, self._phrase)
        others = (self._range, self._presence, self._whole, self._group)
        return self._random.choice((*words, *others))()

    def _prefixed(self, path: str, operand: str) -> str:
        field = self.field(path)
        return operand if field is None else f"{escaped(field)}:{operand}"

    def _word(self) -> str:
        path, text, words = self.text_value()
        return self._prefixed(path, escaped(self._random.choice((*words, text[:60]))))

    def _wild(self) -> str:
        path, _, words = self.text_value()
        pattern = self.pattern(self._random.choice(words))
        operand = "".join(c if c in "*?" else escaped(c) for c in pattern) or "*"
        return self._prefixed(path, operand)

    def _fuzzy(self) -> str:
        path, _, words = self.text_value()
        word = self.slip(self._random.choice(words))
        return self._prefixed(path, escaped(word) + self._random.choice(("~", "~1", "~2")))

    def _regex(self) -> str:
        path, _, words = self.text_value()
        return self._prefixed(path, f"/{self.expression(self._random.choice(words))}/")

    def _phrase(self) -> str:
        path, _, words = self.text_value()
        start = self._random.randrange(len(words))
        some = words[start : start + self._random.randint(2, 4)]
        if len(some) > 2 and self._random.random() < 0.5:
            del some[1]
        if self._random.random() < 0.2:
            some.reverse()
        if slop := self._random.choice(("", "~1", "~3")):
            some = different(some)
        return self._prefixed(path, quoted(" ".join(some)) + slop)

    def _range(self) -> str:
        if self._random.random() < 0.3:
            low, high = sorted((self.day(), self.day()))
            return (
                f"updatedAt:{self._random.choice('[{')}{low} TO {high}{self._random.choice(']}')}"
            )
        path, value = self.value(has_order)
        bound = quoted(value[:40]) if isinstance(value, str) else repr(value)
        if field_type(path) == "moment":
            offset = timezone(timedelta(minutes=self._random.choice((-330, 0, 60))))
            bound = quoted(datetime.fromtimestamp(float(value) / 1000, offset).isoformat())
        sign = self._random.choice(("<", "<=", ">", ">="))
        return self._random.choice(
            (f"{escaped(path)}:{sign}{bound}", f"{escaped(path)}:[{bound} TO *]")
        )

    def _presence(self) -> str:
        path, _ = self.value()
        return f"_exists_:{escaped(self._random.choice((path, path.partition('.')[0])))}"

    def _whole(self) -> str:
        path, value = self.value()
        text = value if isinstance(value, str) else json.dumps(value)
        field = self.form(path)
        return f"{escaped(field)}:{quoted(text[:200])}"

    def _group(self) -> str:
        path, _, words = self.text_value()
        some = [self._random.choice(("", "", "-", "+")) + escaped(w) for w in words[:3]]
        return f"{escaped(path)}:({self._random.choice((' OR ', ' ')).join(some)})"

    # Aggregations

    def aggregation(self, depth: int = 2) -> Aggregation:
        """Buckets of a field that some document has, with buckets or hits in them."""
        way = self._random.random()
        if not depth or way < 0.1:
            field, size = self._random.choice(tuple(SORTABLE)), self._random.randint(0, 3)
            descending = self._random.random() < 0.5
            return TopHits(name="top", size=size, sort_field=field, descending=descending)
        below = tuple(self.aggregation(depth - 1) for _ in range(self._random.choice((0, 0, 1))))
        if way < 0.25:
            return DateHistogram(
                name="time",
                field="updatedAt",
                interval=self._random.choice((*CALENDAR[2:], 100_000_000)),
                gaps=False,
                below=below,
            )
        size = self._random.choice((1, 3, 10, 50))
        if way < 0.4:
            path, value = self.value(lambda _, v: isinstance(v, int | float))
            form: Values = "booleans" if isinstance(value, bool) else "numbers"
            return Terms(name="numbers", field=path, values=form, size=size, below=below)
        path, text, words = self.text_value()
        if is_prose(path):
            path, text = self.value(lambda p, v: isinstance(v, str) and has_order(p, v))
            words = str(text).split() or ["a"]
        return Terms(
            name="texts",
            field=self.form(path),
            size=size,
            order=self._random.choice(("count", "key")),
            pattern=self._random.choice((None, None, self.expression(str(text)[:20]))),
            containing=self._random.choice((None, None, self._random.choice(words))),
            below=below,
        )

    # Filters

    def filter(self, depth: int = 2) -> dict[str, Any]:
        if depth and self._random.random() < 0.4:
            return self._bool(depth)
        leaves = (self._values, self._match, self._patterns, self._bounds, self._texts)
        others = (self._nested, self._wrapped, self._ids)
        return self._random.choice((*leaves, *others))(depth)

    def _bool(self, depth: int) -> dict[str, Any]:
        parts = {
            name: [self.filter(depth - 1) for _ in range(self._random.randint(1, 3))]
            for name in self._random.sample(("must", "should", "filter", "must_not"), 2)
        }
        body: dict[str, Any] = dict(parts)
        if "should" in body and self._random.random() < 0.6:
            body["minimum_should_match"] = self._random.choice((1, 2, -1, "50%", "-40%", "1<2"))
        return {"bool": body}

    def _values(self, _: int) -> dict[str, Any]:
        path, value = self.value()
        other = self.value(lambda p, _: p == path)[1]
        field = self.form(path)
        return self._random.choice(
            (
                {"term": {field: value}},
                {"terms": {field: [value, other]}},
                {"exists": {"field": path}},
            )
        )

    def _match(self, _: int) -> dict[str, Any]:
        path, _, words = self.text_value()
        some = " ".join(words[: self._random.randint(1, 4)])
        operator = self._random.choice(("and", "or"))
        return self._random.choice(
            (
                {"match": {path: {"query": some, "operator": operator}}},
                {"match": {path: {"query": some, "minimum_should_match": "2<70%"}}},
                {"match": {path: {"query": self.slip(some), "fuzziness": "AUTO"}}},
                {"match": {self.form(path): {"query": some, "fuzziness": 1}}},
                {"match_phrase": {path: some}},
                {"match_phrase_prefix": {path: some[: self._random.randint(1, len(some))]}},
                {"match_phrase_prefix": {self.form(path): words[0][:2]}},
                {
                    "match_phrase_prefix": {
                        path: {"query": " ".join(different(words[:3]))[:-1] or "x", "slop": 2}
                    }
                },
                {"multi_match": {"query": some, "type": "phrase_prefix", "fields": [path, "name"]}},
                {"match_phrase": {path: {"query": " ".join(different(words[:3])), "slop": 2}}},
                {"multi_match": {"query": some, "fields": [path, "name^3"], "operator": operator}},
                {"multi_match": {"query": some, "type": "cross_fields", "operator": operator}},
                {"multi_match": {"query": some, "type": "phrase", "fields": [path, "description"]}},
            )
        )

    def _patterns(self, _: int) -> dict[str, Any]:
        path, _, words = self.text_value()
        word = self._random.choice(words)
        field = self.form(path)
        return self._random.choice(
            (
                {"prefix": {field: word[: self._random.randint(1, len(word))]}},
                {"wildcard": {field: {"value": self.pattern(word)}}},
                {"regexp": {field: self.expression(word)}},
                {"fuzzy": {field: {"value": self.slip(word), "prefix_length": 0}}},
                {"fuzzy": {field: {"value": self.slip(word), "fuzziness": 2}}},
            )
        )

    def _bounds(self, _: int) -> dict[str, Any]:
        if self._random.random() < 0.4:
            low, high = sorted((self.day(), self.day()))
            zone = self._random.choice(("Z", "+05:30", "-08:00"))
            return {"range": {"updatedAt": {"gte": low, "lt": high, "time_zone": zone}}}
        path, value = self.value(has_order)
        side = self._random.choice(("gt", "gte", "lt", "lte"))
        return {"range": {path: {side: value}}}

    def _texts(self, _: int) -> dict[str, Any]:
        words = " ".join(self.named()) or "x"
        return self._random.choice(
            (
                {"query_string": {"query": self.query()}},
                {"query_string": {"query": self.query(), "default_operator": "AND"}},
                {"query_string": {"query": self.clause(), "fields": ["name", "columns.name^2"]}},
                {"simple_query_string": {"query": words + "*"}},
                {"simple_query_string": {"query": words, "default_operator": "and"}},
            )
        )

    def _nested(self, _: int) -> dict[str, Any]:
        path, value = self.value(lambda p, _: "." in p)
        objects = path.rpartition(".")[0]
        other = self.value(lambda p, _: p.startswith(f"{objects}."))
        if self._random.random() < 0.1:
            other = self.value()
        clauses = [{"term": {path: value}}, {"term": {other[0]: other[1]}}]
        return {
            "nested": {
                "path": objects,
                "query": {
                    "bool": self._random.choice(
                        (
                            {"must": clauses},
                            {"must": clauses[0], "must_not": clauses[1]},
                            {"should": clauses},
                            {"must": clauses[1]},
                        )
                    )
                },
            }
        }

    def _wrapped(self, depth: int) -> dict[str, Any]:
        inner = self.filter(0)
        return self._random.choice(
            (
                {"constant_score": {"filter": inner}},
                {"dis_max": {"queries": [inner, self.filter(0)]}},
                {"bool": {"must_not": inner}},
            )
        )

    def _ids(self, _: int) -> dict[str, Any]:
        some = self._random.choices(self._documents, k=3)
        return {"ids": {"values": [document.id for document in some]}}
