"""Values of the filter DSL read from JSON; every mistake is named with its JSON path."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language import text
from projections.search.language.dates import Now
from projections.search.language.field_values import (
    UnknownField,
    check_field,
    is_matched_whole,
)
from projections.search.language.fields import Fields
from projections.search.minimum_should_match import required_matches
from projections.search.tree import Node

_BOOST = ("boost",)
OPERATORS = ("and", "or")
MAX_WORDS = 1_024
MAX_FIELD_WORDS = 4_096
"""Words of all clauses of a filter, each counted once for every field that it is looked for in.

Any one query text has room: its 64 clauses over 64 fields come to as many.
"""


class FilterReader:
    """Reads the values of one filter; `where` is the parameter that holds it."""

    def __init__(self, where: str, now: Now | None = None) -> None:
        """`now` is what `now` means in dates that are calculated."""
        self.where = where
        self.now = now
        self.field_words = 0
        """Words read so far, as MAX_FIELD_WORDS counts them."""

    def error(self, path: str, why: str) -> InvalidInput:
        """The error for a mistake at a JSON path."""
        return InvalidInput(f"{self.where}: {why} at {path}")

    def object(self, value: Any, path: str, allowed: tuple[str, ...]) -> dict[str, Any]:
        """A value that must be an object with allowed keys only; raises InvalidInput."""
        if not isinstance(value, dict):
            raise self.error(path, "expected an object")
        for key in value:
            if key not in allowed:
                raise self.error(path, f"unknown key {key[:80]!r}; known are {', '.join(allowed)}")
        return value

    def field(
        self, body: Any, path: str, main: str, allowed: tuple[str, ...]
    ) -> tuple[str, dict[str, Any], str]:
        """`{field: value}` or `{field: {main: value, ...}}` as field, options and path."""
        field, value, path = self.only_field(body, path)
        if not isinstance(value, dict):
            return field, {main: value}, path
        options = self.object(value, path, (main, *allowed, *_BOOST))
        if main not in options:
            raise self.error(path, f"{main!r} is missing")
        return field, options, path

    def only_field(self, body: Any, path: str, what: str = "field") -> tuple[str, Any, str]:
        """The key of an object that holds no other, its value, and the path of that."""
        if not isinstance(body, dict) or len(body) != 1:
            raise self.error(path, f"expected an object holding exactly one {what}")
        ((field, value),) = body.items()
        return field, value, f"{path}.{field[:80]}"

    def scalar(self, value: Any, path: str) -> str:
        """A text, number or boolean, as the text that documents are indexed with."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float) and math.isfinite(value):
            return repr(value)
        if isinstance(value, str):
            return value
        raise self.error(path, "expected a text, a number or a boolean")

    def string(self, value: Any, path: str) -> str:
        """A value that must be a text; raises InvalidInput."""
        if not isinstance(value, str):
            raise self.error(path, "expected a text")
        return value

    def number(self, value: Any, path: str, low: float, high: float) -> float:
        """A value that must be a number from `low` to `high`; raises InvalidInput."""
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not (right and low <= value <= high):
            raise self.error(path, f"expected a number from {low:g} to {high:g}")
        return float(value)

    def whole(self, value: Any, path: str, high: int) -> int:
        """A value that must be a whole number from 0 to `high`; raises InvalidInput."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= high:
            raise self.error(path, f"expected a whole number from 0 to {high}")
        return value

    def choice(self, value: Any, path: str, allowed: tuple[str, ...]) -> str:
        """A value that must be one of the allowed texts, in any case; raises InvalidInput."""
        chosen = value.lower() if isinstance(value, str) else value
        if chosen not in allowed:
            raise self.error(path, f"expected one of {', '.join(allowed)}")
        return str(chosen)

    def boost(self, node: Node, options: Mapping[str, Any], path: str) -> Node:
        """The node with the boost that the options of its clause name, 1 by default."""
        value = options.get("boost", tree.DEFAULT_BOOST)
        boost = self.number(value, f"{path}.boost", 0, tree.MAX_BOOST)
        return tree.boosted(node, boost)

    def slips(self, value: Any, path: str, word: str = "") -> int:
        """A fuzziness, AUTO depending on the word's length."""
        if isinstance(value, str) and value.upper() == "AUTO":
            return 0 if len(word) < 3 else 1 if len(word) < 6 else 2
        if isinstance(value, str) and value in ("0", "1", "2"):
            return int(value)
        return self.whole(value, path, text.MAX_SLIPS)

    def flag(self, options: Mapping[str, Any], name: str, path: str) -> bool:
        """An option that is true or false, false where it is absent."""
        value = options.get(name, False)
        if not isinstance(value, bool):
            raise self.error(f"{path}.{name}", "expected true or false")
        return value

    def leaf(self, node: Node, options: Mapping[str, Any], path: str) -> Node:
        """The leaf as its field reads it, with its boost.

        `case_insensitive` may be either: as in OpenMetadata's mappings all values are lower-cased.
        """
        self.flag(options, "case_insensitive", path)
        fields = Fields(now=self.now, lenient=self.flag(options, "lenient", path))
        return self.boost(fields.typed(node), options, path)

    def minimum(self, options: Mapping[str, Any], path: str, clauses: int) -> str | None:
        """The `minimum_should_match` of a clause, checked for its number of clauses, or None."""
        value = options.get("minimum_should_match")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self.error(f"{path}.minimum_should_match", "expected a number or a percentage")
        required_matches(str(value), clauses)
        return str(value)

    def fields(self, value: Any, path: str, lenient: bool = False) -> Fields:
        """A list of fields, each with its boost after `^`."""
        if not isinstance(value, list) or not value or len(value) > 64:
            raise self.error(path, "expected a list of 1 to 64 fields")
        boosts: list[tuple[str, float]] = []
        for place, item in enumerate(value):
            name, caret, boost = self.string(item, f"{path}[{place}]").partition("^")
            try:
                factor = float(boost) if caret else tree.DEFAULT_BOOST
            except ValueError:
                factor = 0.0
            if not name or "*" in name or not 0 < factor <= tree.MAX_BOOST:
                raise self.error(
                    f"{path}[{place}]",
                    f"expected a field without wildcards and a boost up to {tree.MAX_BOOST:g}",
                )
            try:
                check_field(name)
            except UnknownField as error:
                raise self.error(f"{path}[{place}]", error.message) from None
            boosts.append((name, factor))
        return Fields(tuple(boosts), self.now, lenient)

    def split(self, query: str, path: str) -> list[str]:
        """The words of a query; raises InvalidInput for more than MAX_WORDS."""
        words = query.split()
        if len(words) > MAX_WORDS:
            raise self.error(f"{path}.query", f"expected at most {MAX_WORDS} words")
        return words

    def add_field_words(self, count: int, path: str) -> None:
        """Count words, once for each field; raises InvalidInput when there are too many in all."""
        self.field_words += count
        if self.field_words > MAX_FIELD_WORDS:
            raise self.error(
                path,
                f"more than {MAX_FIELD_WORDS:,} words in all, each counted once for every field"
                " that it is looked for in",
            )

    def words(self, field: str | None, options: Mapping[str, Any], path: str) -> Node:
        """The node of a match: documents with any, all or enough of the words."""
        query = self.scalar(options["query"], f"{path}.query")
        fields = Fields(now=self.now, lenient=self.flag(options, "lenient", path))
        nodes: list[Node] = []
        words = [query] if is_matched_whole(field) else self.split(query, path)
        self.add_field_words(len(words), path)
        for word in words:
            slips = 0
            if "fuzziness" in options:
                slips = self.slips(options["fuzziness"], f"{path}.fuzziness", word)
            node = tree.Fuzzy(field, word, slips) if slips else tree.Term(field, word)
            nodes.append(fields.typed(node))
        return self.enough(nodes, options, path)

    def enough(self, nodes: Sequence[Node], options: Mapping[str, Any], path: str) -> Node:
        """Documents of as many of the nodes as `operator` and `minimum_should_match` say."""
        operator = self.choice(options.get("operator", "or"), f"{path}.operator", OPERATORS)
        minimum = self.minimum(options, path, len(nodes))
        if not nodes or minimum is None:
            return tree.all_of(nodes) if nodes and operator == "and" else tree.any_of(nodes)
        return tree.Bool(should=tuple(nodes), minimum_should_match=minimum)
