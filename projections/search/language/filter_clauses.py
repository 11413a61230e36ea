"""The clauses of the filter DSL, each a method from its JSON to a node of the query tree."""

from collections.abc import Callable, Mapping
from typing import Any

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language import text
from projections.search.language.dates import DEFAULT_FORMATS
from projections.search.language.field_types import is_object
from projections.search.language.field_values import UnknownField, known_type, typed
from projections.search.language.fields import Fields
from projections.search.language.filter_reader import OPERATORS, FilterReader
from projections.search.language.patterns import wildcard
from projections.search.language.regex import regex
from projections.search.language.simple_text import parse_simple
from projections.search.tree import Node

MAX_DEPTH = 20
MAX_TERMS = 1_024
MAX_CLAUSES = 2_048
_MULTI_TYPES = ("best_fields", "most_fields", "cross_fields", "phrase", "phrase_prefix")
_PHRASES: Mapping[str, type[tree.Phrase | tree.PhrasePrefix]] = {
    "phrase": tree.Phrase,
    "phrase_prefix": tree.PhrasePrefix,
}
_SCORE_MODES = ("avg", "max", "min", "none", "sum")
_DATED = ("format", "time_zone")
_BOOST = ("boost",)


class Clauses(FilterReader):
    """Reads one filter into the tree; each method `clause_<name>` reads the clause of this name."""

    depth = count = 0

    def node(self, value: Any, path: str) -> Node:
        """The node of an object that holds exactly one clause."""
        name, body, _ = self.only_field(value, path, "clause")
        read: Callable[[Any, str], Node] | None = getattr(self, f"clause_{name}", None)
        if read is None:
            known = ", ".join(each[7:] for each in dir(self) if each.startswith("clause_"))
            raise self.error(path, f"unknown clause {name[:80]!r}; known are {known}")
        self.count += 1
        self.depth += 1
        if self.depth > MAX_DEPTH or self.count > MAX_CLAUSES:
            raise self.error(
                path, f"more than {MAX_DEPTH} clauses inside each other or {MAX_CLAUSES} in all"
            )
        try:
            made = read(body, f"{path}.{name}")
        except InvalidInput as error:
            if error.message.startswith(f"{self.where}: "):
                raise
            raise self.error(f"{path}.{name}", error.message) from None
        self.depth -= 1
        return made

    def nodes(self, value: Any, path: str) -> tuple[Node, ...]:
        """The nodes of one clause, or of a list of clauses."""
        if isinstance(value, dict):
            return (self.node(value, path),)
        if not isinstance(value, list):
            raise self.error(path, "expected a clause or a list of clauses")
        return tuple(self.node(item, f"{path}[{place}]") for place, item in enumerate(value))

    # Clauses, in the order of the documentation

    def clause_match_all(self, body: Any, path: str) -> Node:
        """`match_all`: every document."""
        return self.boost(tree.MatchAll(), self.object(body, path, _BOOST), path)

    def clause_match_none(self, body: Any, path: str) -> Node:
        """`match_none`: no document."""
        self.object(body, path, ())
        return tree.MatchNone()

    def clause_term(self, body: Any, path: str) -> Node:
        """`term`: documents with this whole value in a field."""
        field, options, path = self.field(body, path, "value", ("case_insensitive",))
        value = self.scalar(options["value"], path)
        return self.leaf(tree.Exact(field, value), options, path)

    def clause_terms(self, body: Any, path: str) -> Node:
        """`terms`: documents with any of these whole values in a field, all with one score."""
        if not isinstance(body, dict):
            raise self.error(path, "expected an object holding exactly one field")
        options = {key: value for key, value in body.items() if key == "boost"}
        fields = {key: value for key, value in body.items() if key != "boost"}
        field, values, path = self.only_field(fields, path)
        if not isinstance(values, list) or len(values) > MAX_TERMS:
            raise self.error(path, f"expected a list of at most {MAX_TERMS} values")
        texts = [self.scalar(v, f"{path}[{place}]") for place, v in enumerate(values)]
        any_value = tree.any_of(typed(tree.Exact(field, text), now=self.now) for text in texts)
        return self.boost(tree.Constant(any_value), options, path)

    def clause_match(self, body: Any, path: str) -> Node:
        """`match`: documents with the words of a text in a field."""
        allowed = ("operator", "minimum_should_match", "fuzziness", "lenient")
        field, options, path = self.field(body, path, "query", allowed)
        return self.boost(self.words(field, options, path), options, path)

    def clause_match_phrase(self, body: Any, path: str) -> Node:
        """`match_phrase`: documents with these words next to each other in a field."""
        return self._phrase(tree.Phrase, body, path)

    def clause_match_phrase_prefix(self, body: Any, path: str) -> Node:
        """`match_phrase_prefix`: the same, of the last word at least the beginning."""
        return self._phrase(tree.PhrasePrefix, body, path)

    def _phrase(self, form: type[tree.Phrase | tree.PhrasePrefix], body: Any, path: str) -> Node:
        field, options, path = self.field(body, path, "query", ("slop",))
        slop = self.whole(options.get("slop", 0), f"{path}.slop", text.MAX_SLOP)
        return self.leaf(form(field, self.scalar(options["query"], path), slop), options, path)

    def clause_multi_match(self, body: Any, path: str) -> Node:
        """`multi_match`: a match over several fields, joined as its type says."""
        allowed = ("query", "fields", "type", "operator", "minimum_should_match", "fuzziness")
        options = self.object(body, path, (*allowed, "tie_breaker", "lenient", *_BOOST))
        if "query" not in options:
            raise self.error(path, "'query' is missing")
        kind = self.choice(options.get("type", "best_fields"), f"{path}.type", _MULTI_TYPES)
        for key in ("operator", "minimum_should_match", "fuzziness"):
            if kind in _PHRASES and key in options:
                raise self.error(f"{path}.{key}", "a phrase has no such option")
        tie = self.number(options.get("tie_breaker", 0), f"{path}.tie_breaker", 0, 1)
        given = self.fields(options["fields"], f"{path}.fields") if "fields" in options else None
        over: list[tuple[str | None, float]] = list(given.boosts) if given else [(None, 1.0)]
        nodes: list[Node] = []
        if kind == "cross_fields":
            return self.boost(self._across(over, options, path), options, path)
        for field, boost in over:
            if kind in _PHRASES:
                query = self.scalar(options["query"], f"{path}.query")
                fields = Fields(now=self.now, lenient=self.flag(options, "lenient", path))
                node = fields.typed(_PHRASES[kind](field, query))
            else:
                node = self.words(field, options, path)
            nodes.append(tree.boosted(node, boost))
        joined = tree.any_of(nodes) if kind == "most_fields" else tree.DisMax(tuple(nodes), tie)
        return self.boost(joined, options, path)

    def _across(
        self, over: list[tuple[str | None, float]], options: Mapping[str, Any], path: str
    ) -> Node:
        """The type `cross_fields`: each word may be in any field, and the operator counts words."""
        query = self.scalar(options["query"], f"{path}.query")
        words = [
            tree.DisMax(
                tuple(
                    tree.boosted(self.words(field, {**options, "query": word}, path), boost)
                    for field, boost in over
                )
            )
            for word in self.split(query, path)
        ]
        return self.enough(words, options, path)

    def clause_prefix(self, body: Any, path: str) -> Node:
        """`prefix`: documents with a value in a field that begins with a text."""
        field, options, path = self.field(body, path, "value", ("case_insensitive",))
        pattern = tree.escape_wildcards(self.scalar(options["value"], path)) + "*"
        wildcard(pattern)
        return self.leaf(tree.Wildcard(field, pattern), options, path)

    def clause_wildcard(self, body: Any, path: str) -> Node:
        """`wildcard`: documents with a value in a field that fits a pattern of `*` and `?`."""
        allowed = ("case_insensitive",)
        main = "wildcard" if _has_wildcard(body) else "value"
        field, options, path = self.field(body, path, main, allowed)
        pattern = self.scalar(options[main], path)
        wildcard(pattern)
        return self.leaf(tree.Wildcard(field, pattern), options, path)

    def clause_regexp(self, body: Any, path: str) -> Node:
        """`regexp`: documents with a value in a field that fits a regular expression."""
        field, options, path = self.field(body, path, "value", ("case_insensitive",))
        pattern = self.string(options["value"], path)
        regex(pattern)
        return self.leaf(tree.Regex(field, pattern), options, path)

    def clause_fuzzy(self, body: Any, path: str) -> Node:
        """`fuzzy`: documents with a word in a field that differs by a few slips."""
        field, options, path = self.field(body, path, "value", ("fuzziness", "prefix_length"))
        word = self.scalar(options["value"], path)
        slips = self.slips(options.get("fuzziness", "AUTO"), f"{path}.fuzziness", word)
        prefix = self.whole(options.get("prefix_length", 1), f"{path}.prefix_length", 256)
        return self.leaf(tree.Fuzzy(field, word, slips, prefix), options, path)

    def clause_exists(self, body: Any, path: str) -> Node:
        """`exists`: documents with any value in a field."""
        options = self.object(body, path, ("field", *_BOOST))
        node = tree.Exists(self.string(options.get("field"), f"{path}.field"))
        return self.leaf(node, options, path)

    def clause_ids(self, body: Any, path: str) -> Node:
        """`ids`: the documents with these ids."""
        options = self.object(body, path, ("values", *_BOOST))
        values = options.get("values")
        if not isinstance(values, list) or len(values) > MAX_TERMS:
            raise self.error(f"{path}.values", f"expected a list of at most {MAX_TERMS} ids")
        ids = (self.string(v, f"{path}.values[{place}]") for place, v in enumerate(values))
        return self.boost(tree.Ids(tuple(ids)), options, path)

    def clause_range(self, body: Any, path: str) -> Node:
        """`range`: documents with a value between bounds in a field."""
        field, value, path = self.only_field(body, path)
        sides = ("gt", "gte", "lt", "lte")
        options = self.object(value, path, (*sides, *_DATED, *_BOOST))
        bounds = {
            side: self.scalar(options[side], f"{path}.{side}")
            for side in sides
            if options.get(side) is not None
        }
        given = {
            key: self.string(options[key], f"{path}.{key}") for key in _DATED if key in options
        }
        formats = given.get("format", DEFAULT_FORMATS)
        node = tree.Range(field, **bounds) if bounds else tree.Exists(field)
        zone = given.get("time_zone", "Z")
        made = typed(node, formats, zone, dated=bool(given), now=self.now)
        return self.boost(made, options, path)

    def clause_query_string(self, body: Any, path: str) -> Node:
        """`query_string`: a query text in the syntax of `q`."""
        allowed = ("query", "fields", "default_field", "default_operator", "fuzziness")
        options = self.object(body, path, (*allowed, "lenient", *_BOOST))
        query = self.string(options.get("query"), f"{path}.query")
        slips = options.get("fuzziness", text.MAX_SLIPS)
        read = text.parsed(
            query,
            where="query_string",
            either=self._either(options, path),
            fields=self._over(options, path),
            slips=self.slips(slips, f"{path}.fuzziness", "medium"),
        )
        self.add_field_words(tree.leaf_count(read.node), path)
        return self.boost(read.node, options, path)

    def clause_simple_query_string(self, body: Any, path: str) -> Node:
        """`simple_query_string`: a query text in which nothing is an error."""
        allowed = ("query", "fields", "default_operator", "lenient")
        options = self.object(body, path, (*allowed, *_BOOST))
        query = self.string(options.get("query"), f"{path}.query")
        node = parse_simple(
            query, either=self._either(options, path), fields=self._over(options, path)
        )
        self.add_field_words(tree.leaf_count(node), path)
        return self.boost(node, options, path)

    def _either(self, options: Mapping[str, Any], path: str) -> bool:
        operator = options.get("default_operator", "or")
        return self.choice(operator, f"{path}.default_operator", OPERATORS) == "or"

    def _over(self, options: Mapping[str, Any], path: str) -> Fields:
        lenient = self.flag(options, "lenient", path)
        if "default_field" in options and "fields" in options:
            raise self.error(path, "default_field and fields exclude each other")
        if options.get("default_field", "*") != "*":
            return self.fields([options["default_field"]], f"{path}.default_field", lenient)
        if "fields" in options:
            return self.fields(options["fields"], f"{path}.fields", lenient)
        return Fields(now=self.now, lenient=lenient)

    def clause_bool(self, body: Any, path: str) -> Node:
        """`bool`: clauses that must, should or must not match, or only filter."""
        occurrences = ("must", "should", "must_not", "filter")
        options = self.object(body, path, (*occurrences, "minimum_should_match", *_BOOST))
        must, should, must_not, filters = (
            self.nodes(options.get(name, []), f"{path}.{name}") for name in occurrences
        )
        node = tree.Bool(
            must=must,
            should=should,
            must_not=must_not,
            filter=filters,
            minimum_should_match=self.minimum(options, path, len(should)),
        )
        return self.boost(node, options, path)

    def clause_constant_score(self, body: Any, path: str) -> Node:
        """`constant_score`: the documents of a filter, all with one score."""
        options = self.object(body, path, ("filter", *_BOOST))
        inner = self.node(options.get("filter"), f"{path}.filter")
        return self.boost(tree.Constant(inner), options, path)

    def clause_dis_max(self, body: Any, path: str) -> Node:
        """`dis_max`: documents of any clause, the best one giving the score."""
        options = self.object(body, path, ("queries", "tie_breaker", *_BOOST))
        queries = self.nodes(options.get("queries"), f"{path}.queries")
        if not queries:
            raise self.error(f"{path}.queries", "expected at least one clause")
        tie = self.number(options.get("tie_breaker", 0), f"{path}.tie_breaker", 0, 1)
        return self.boost(tree.DisMax(queries, tie), options, path)

    def clause_nested(self, body: Any, path: str) -> Node:
        """`nested`: documents of which one object at a path matches a clause."""
        options = self.object(
            body, path, ("path", "query", "score_mode", "ignore_unmapped", *_BOOST)
        )
        objects = self.string(options.get("path"), f"{path}.path")
        # Filters do not score, so that all modes give the same documents.
        self.choice(options.get("score_mode", "avg"), f"{path}.score_mode", _SCORE_MODES)
        unmapped = not is_object(objects)
        if unmapped and not self.flag(options, "ignore_unmapped", path):
            try:
                kept = known_type(objects) != "not kept"
            except UnknownField as error:
                raise self.error(f"{path}.path", error.message) from None
            if kept:
                raise self.error(f"{path}.path", f"no kind has objects in {objects[:80]!r}")
        inner = self.node(options.get("query"), f"{path}.query")
        made = tree.MatchNone() if unmapped else tree.Nested(objects, inner)
        return self.boost(made, options, path)


def _has_wildcard(body: Any) -> bool:
    held = body.values() if isinstance(body, dict) else ()
    return any(isinstance(value, dict) and "wildcard" in value for value in held)
