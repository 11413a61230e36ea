"""Leaves of the query tree in the language of the cluster: the same terms as in our own index."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from projections.search import tree
from projections.search.analysis import fold, keyword, single_token, stem, tokens
from projections.search.language.patterns import TermPattern, wildcard
from projections.search.language.regex import lucene, lucene_escaped, regex
from projections.search.matching.terms import (
    EXACT,
    KEYWORD,
    MAX_SLOP,
    PRESENT,
    SEPARATOR,
    TEXT,
    WHOLE,
    WORDS,
    refuse_whole,
    takes_whole,
    term_ranges,
    value_terms,
    whole_term,
)
from projections.search.matching.weights import K1, STEM
from projections.search.opensearch.mapping import PLACE_END, SAID, spelled
from projections.visibility.field_paths import indexed_path

Dsl = dict[str, Any]
"""A clause in the language of the cluster."""
MATCH_ALL: Dsl = {"match_all": {}}
MATCH_NONE: Dsl = {"match_none": {}}
_MAX_BEGUN = 100_000
"""The most terms that begin with the last word of a phrase."""
_SCORED = 64
"""The number of terms, out of many, that decide the order of the documents with any of them."""
_BOOLEANS = ("true", "false")


def compiled(node: tree.Leaf) -> Dsl:
    """The clause of a leaf; raises InvalidInput for what a leaf may not ask."""
    match node:
        case tree.MatchAll():
            return MATCH_ALL
        case tree.MatchNone():
            return MATCH_NONE
        case tree.Term(field=field, text=text):
            return _term(field, text)
        case tree.Exact(field=field, value=value):
            return _best(_exact(field, value))
        case tree.Phrase(field=field, text=text, slop=slop):
            return _phrase(field, text, slop)
        case tree.PhrasePrefix(field=field, text=text, slop=slop):
            refuse_whole(field)
            return _phrase_prefix(field, tokens(text).parts, min(slop, MAX_SLOP))
        case tree.Fuzzy():
            refuse_whole(node.field)
            return _fuzzy(node)
        case tree.Wildcard(field=field, pattern=pattern):
            refuse_whole(field)
            return _wildcard(field, pattern)
        case tree.Regex(field=field, pattern=pattern):
            refuse_whole(field)
            return _regex(field, pattern)
        case tree.Range():
            return _range(node)
        case tree.Exists(field=field):
            path = indexed_path(field)
            return constant(any_of([_plain(PRESENT + path), _begun(EXACT, f"{PRESENT}{path}.")]))
        case tree.Ids(values=values):
            return _ids(values)
        case _:
            assert_never(node)


def constant(clause: Dsl, score: float = 1.0) -> Dsl:
    """The documents of a clause, each with the same score."""
    return {"constant_score": {"filter": clause, "boost": score}}


def any_of(clauses: Sequence[Dsl]) -> Dsl:
    """The documents of any of the clauses."""
    if not clauses:
        return MATCH_NONE
    return clauses[0] if len(clauses) == 1 else {"bool": {"should": list(clauses)}}


def _best(clauses: Sequence[Dsl]) -> Dsl:
    """The documents of any of the clauses; the best score counts."""
    if len(clauses) > 1:
        return {"dis_max": {"queries": list(clauses)}}
    return clauses[0] if clauses else MATCH_NONE


def _posting(field: str, term: str, boost: float = 1.0) -> Dsl:
    """The documents with a term, scored as our own engine scores them."""
    factor = 1.0 if field in (EXACT, WHOLE) else K1 + 1
    return {"term": {field: {"value": term, "boost": boost * factor}}}


def _plain(term: str) -> Dsl:
    return {"term": {EXACT: term}}


def _begun(field: str, start: str) -> Dsl:
    return {"prefix": {field: {"value": start}}}


def _home(field: str | None) -> tuple[str, str]:
    """The field of the index that has the tokens of a field, and their prefix there."""
    return (WORDS, "") if field is None else (TEXT, spelled(indexed_path(field)) + SEPARATOR)


# Terms


def _term(field: str | None, text: str) -> Dsl:
    if takes_whole(field):
        return _best(_exact(field, text))
    analysed = tokens(text)
    space, start = _home(field)
    scored: list[Dsl] = []
    if name := single_token(text, analysed):
        scored.append(_posting(space, start + name))
        if (root := stem(name)) != name:
            scored.append(_posting(space, start + root, STEM))
            if field is not None:
                # A value of one word is kept whole only.
                scored.append(_posting(EXACT, indexed_path(field) + KEYWORD + root, STEM))
    if len(analysed.parts) > 1:
        scored.append(_together(field, analysed.parts, 0))
    if field is not None:
        scored += _values(field, text) if name == keyword(text) else _exact(field, text)
    return _best(scored)


def _exact(field: str, value: str) -> list[Dsl]:
    """The documents with the whole value, or with a word that is the value."""
    return [_posting(name, _spelled(name, term)) for name, term in value_terms(field, value)]


def _values(field: str, value: str) -> list[Dsl]:
    """The documents with the whole value."""
    terms = [known for known in value_terms(field, value) if known[0] != TEXT]
    return [_posting(name, _spelled(name, term)) for name, term in terms]


def _spelled(name: str, term: bytes) -> str:
    return term.hex() if name == WHOLE else term.decode()


def _ids(values: Sequence[str]) -> Dsl:
    terms = sorted({whole_term("id", value).hex() for value in values})
    return constant({"terms": {WHOLE: terms}})


# Phrases


def _phrase(field: str | None, text: str, slop: int) -> Dsl:
    parts = tokens(text).parts
    if len(parts) <= 1 or takes_whole(field):
        return _term(field, text) if parts else MATCH_NONE
    scored = [_together(field, parts, min(slop, MAX_SLOP))]
    if field is not None:
        scored += _exact(field, text)
    return _best(scored)


def _together(field: str | None, parts: Sequence[str], slop: int) -> Dsl:
    """Documents in which the parts follow each other; the score is that of all parts."""
    space, start = _home(field)
    clause = _following("match_phrase", field, parts, slop)
    must = [_posting(space, start + part) for part in dict.fromkeys(parts)]
    return {"bool": {"filter": [clause], "must": must}}


def _following(clause: str, field: str | None, parts: Sequence[str], slop: int, **more: int) -> Dsl:
    """A clause on parts that follow each other."""
    _, start = _home(field)
    text = PLACE_END.join(start + part for part in parts)
    where = SAID if field is None else TEXT
    return {clause: {where: {"query": text, "analyzer": "ready", "slop": slop, **more}}}


def _phrase_prefix(field: str | None, parts: Sequence[str], slop: int) -> Dsl:
    """Documents in which the parts follow each other, the last one being the beginning of one."""
    if not parts:
        return MATCH_NONE
    *words, start = parts
    begun = _many(_prefix(field, start))
    if not words:
        return begun
    clause = _following("match_phrase_prefix", field, parts, slop, max_expansions=_MAX_BEGUN)
    space, before = _home(field)
    must = [_posting(space, before + word) for word in dict.fromkeys(words)]
    return {"bool": {"filter": [clause], "must": [*must, begun]}}


# Many terms


def _spaces(field: str | None) -> Iterator[tuple[str, str]]:
    """The fields of the index with terms of a field as written in a query, without booleans and
    numbers, and what the terms begin with there."""
    if field is not None:
        yield EXACT, indexed_path(field) + KEYWORD
    if field is None or not field.endswith(".keyword"):
        yield _home(field)


def _booleans(field: str | None, pattern: TermPattern) -> Iterator[Dsl]:
    """The terms of booleans that a pattern matches."""
    if field is not None and not field.endswith(".keyword"):
        for value in _BOOLEANS:
            if pattern.runs().fullmatch(f"{value}\n".encode()):
                yield _plain(indexed_path(field) + SEPARATOR + value)


def _many(clauses: Sequence[tuple[str, str, Dsl]]) -> Dsl:
    """Documents with any of many terms, the order being that of the likeliest of these.

    Each clause comes as its name, its field and its other parameters.
    """
    each = [{name: {field: options}} for name, field, options in clauses]
    top = f"top_terms_blended_freqs_{_SCORED}"
    scored = [{name: {field: options | {"rewrite": top}}} for name, field, options in clauses]
    # Every document at least, and those of the likeliest terms with their scores.
    at_least = {"bool": {"should": [_best(scored), constant(MATCH_ALL, 0.0)]}}
    return {"bool": {"filter": [any_of(each)], "must": [at_least]}}


def _prefix(field: str | None, start: str) -> list[tuple[str, str, Dsl]]:
    clauses = [("prefix", name, {"value": before + start}) for name, before in _spaces(field)]
    if field is not None and not field.endswith(".keyword"):
        path = indexed_path(field)
        clauses += [
            ("prefix", EXACT, {"value": path + SEPARATOR + value})
            for value in _BOOLEANS
            if value.startswith(start)
        ]
    return clauses


def _fuzzy(node: tree.Fuzzy) -> Dsl:
    word = fold(node.text)
    spaces = list(_spaces(node.field))
    if node.field is not None and not node.field.endswith(".keyword"):
        # No number is near a word, as its term is 17 characters long.
        spaces.append((EXACT, indexed_path(node.field) + SEPARATOR))
    return _many(
        [
            (
                "fuzzy",
                name,
                {
                    "value": before + word,
                    "fuzziness": str(node.distance),
                    "prefix_length": len(before) + min(node.prefix, len(word)),
                    "transpositions": True,
                },
            )
            for name, before in spaces
        ]
    )


def _wildcard(field: str | None, pattern: str) -> Dsl:
    folded = fold(pattern)
    if folded.endswith("\\") and not folded.endswith("\\\\"):
        folded = folded[:-1]  # escapes nothing
    clauses = [
        {"wildcard": {name: {"value": tree.escape_wildcards(before) + folded}}}
        for name, before in _spaces(field)
    ]
    return constant(any_of([*clauses, *_booleans(field, wildcard(pattern))]))


def _regex(field: str | None, pattern: str) -> Dsl:
    source = lucene(pattern)
    clauses = [
        {"regexp": {name: {"value": f"{lucene_escaped(before)}({source})", "flags": "NONE"}}}
        for name, before in _spaces(field)
    ]
    return constant(any_of([*clauses, *_booleans(field, regex(pattern))]))


def _range(node: tree.Range) -> Dsl:
    return constant(any_of([_between(start, bounds) for start, bounds in term_ranges(node)]))


def _between(start: str, bounds: Sequence[tuple[str, str]]) -> Dsl:
    """The terms of `exact` that begin with `start` and go on between the bounds."""
    low, lower = start, "gte"
    high, higher = start[:-1] + chr(ord(start[-1]) + 1), "lt"
    for side, bound in bounds:
        term = start + bound
        if side.startswith("g"):
            if term > low or (term == low and side == "gt"):
                low, lower = term, side
        elif term < high or (term == high and side == "lt"):
            high, higher = term, side
    if low > high:
        return MATCH_NONE
    return {"range": {EXACT: {lower: low, higher: high}}}
