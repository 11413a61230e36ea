"""The forgiving query text of `simple_query_string`: nothing in it is ever an error."""

import re

import msgspec

from projections.search import tree
from projections.search.language.fields import DEFAULT_FIELDS, Fields
from projections.search.language.text import MAX_LENGTH, MAX_SLIPS, MAX_SLOP
from projections.search.tree import Node

MAX_WORDS = 64
_TOKEN = re.compile(r'([+-]?)(?:"([^"]*)"(?:~(\d{1,3}))?|([^\s"|()]+))|([|])')


def parse_simple(query: str, *, either: bool = True, fields: Fields = DEFAULT_FIELDS) -> Node:
    """The tree of a text in which `+`, `-`, `|`, quotes, a final `*` and `~n` have a meaning.

    Parentheses group nothing, and what exceeds the limits of query texts is left out.
    """
    fields = msgspec.structs.replace(fields, lenient=True)
    query = query[:MAX_LENGTH].encode(errors="replace").decode()
    must: list[Node] = []
    should: list[Node] = []
    must_not: list[Node] = []
    joined = False
    for place, token in enumerate(_TOKEN.finditer(query)):
        if place >= MAX_WORDS:
            break
        sign, phrase, slop, word, bar = token.groups()
        if bar:
            if must and not should and not either:
                should.append(must.pop())
            joined = True
            continue
        node = fields.spread(_operand(phrase, slop, word))
        if sign == "-":
            must_not.append(node)
        elif sign == "+" or not (either or joined):
            must.append(node)
        else:
            should.append(node)
        joined = False
    if not (must or should or must_not):
        return tree.MatchNone()
    needed = "1" if should and must and not either else None
    return tree.Bool(tuple(must), tuple(should), tuple(must_not), minimum_should_match=needed)


def _operand(phrase: str | None, slop: str | None, word: str | None) -> Node:
    if word is None:
        return tree.Phrase(None, phrase or "", min(int(slop or 0), MAX_SLOP))
    if len(word) > 1 and word.endswith("*"):
        return tree.Wildcard(None, tree.escape_wildcards(word[:-1][:128]) + "*")
    fuzzy = re.fullmatch(r"(.+)~(\d?)", word)
    if fuzzy:
        return tree.Fuzzy(None, fuzzy[1], min(int(fuzzy[2] or MAX_SLIPS), MAX_SLIPS))
    return tree.Term(None, word)
