"""Query text (`q`) to the query tree: a recursive descent parser whose errors carry the column.

Uppercase AND, OR and NOT, `+` and `-`, groups, fields, phrases, wildcards, slips, ranges, boosts,
presence and regular expressions; AND binds tighter than OR. A text without any of them is a
relevance search. Characters that begin nothing are taken literally, so that names can be pasted:
inside a word all but `: ^ ( )`, and at its beginning brackets and comparison signs where no field
stands before them. Behind a field and its colon an operand must be complete.
"""

import re

import msgspec

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.field_values import UnknownField
from projections.search.language.fields import DEFAULT_FIELDS, Fields
from projections.search.language.occurrence import Clause, Sign, disjoin, is_noise
from projections.search.language.patterns import wildcard
from projections.search.language.regex import regex
from projections.search.language.relevance import quoted, relevance
from projections.search.language.scanner import Scanner
from projections.search.tree import Node

MAX_LENGTH = 1_024
MAX_CLAUSES = 64
MAX_DEPTH = 8
MAX_SLOP = 100
MAX_SLIPS = 2

_FUZZY = re.compile(r"~([\d.]*)(?=\s|\)|\^|$)")
_BOOST = re.compile(r"\^([^\s)]*)")
_REGEX = re.compile(r"/((?:[^/\\]|\\.)+)/(?=\s|\)|\^|$)")
_AND = re.compile(r"AND(?=[\s()]|$)|&&")
_OR = re.compile(r"OR(?=[\s()]|$)|\|\|")
_NOT = re.compile(r"NOT(?=[\s()]|$)|!(?=\S)")
_PRESENCE = "_exists_"
_EVERYTHING = ("", "*", "*:*")


class Parsed(msgspec.Struct, frozen=True):
    """A query text, parsed once for all who need to know what it asks for."""

    node: Node
    """The tree that is searched."""
    written: Node
    """The tree of the text itself, each field and value as it is written."""
    plain: bool
    """True if it is a relevance search, which asks for more than what is written."""


def parsed(
    text: str,
    *,
    where: str = "q",
    either: bool = False,
    fields: Fields = DEFAULT_FIELDS,
    slips: int = MAX_SLIPS,
) -> Parsed:
    """The tree of a query text, and what it was made of.

    `either` makes OR, not AND, the operator between words (and a plain text no relevance
    search); `slips` is the distance of a bare `~`. Raises InvalidInput with the column.
    """
    _check(text, where)
    if text.strip() in _EVERYTHING:
        return Parsed(tree.MatchAll(), tree.MatchAll(), plain=False)
    parser = _Parser(text, where, either, fields, slips)
    read = node = parser.whole()
    plain = parser.plain and not either and not fields.boosts
    if plain:
        node = relevance(parser.words)
    elif isinstance(node, tree.Phrase) and node.field is None and not node.slop:
        node = node if either or fields.boosts else quoted(node.text)
    return Parsed(node, parser.as_written(read), plain)


def _check(text: str, where: str) -> None:
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"{where} may have {MAX_LENGTH} characters, got {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{where} is not valid Unicode at column {error.start + 1}") from None


class _Parser(Scanner):
    """One parse of a query text."""

    def __init__(self, text: str, where: str, either: bool, fields: Fields, slips: int) -> None:
        super().__init__(text, where)
        self.either = either
        self.fields = fields
        self.slips = slips
        self.depth = 0
        self.clauses = 0
        self.valued = False
        """True if a field was just given, so that another colon is a mistake."""
        self.words: list[str] = []
        self._written: dict[int, tuple[Node, Node]] = {}
        """Identity of a leaf -> the leaf as its field reads it, and as the text has it."""

    def whole(self) -> Node:
        node = self.disjunction(None)
        if self.peek() == ")":
            raise self.error("unbalanced ')'")
        return node

    def as_written(self, node: Node) -> Node:
        """Return the written form of a node of this text."""
        if (known := self._written.get(id(node))) is not None:
            return known[1]
        return tree.map_children(node, self.as_written)

    # Operators

    def disjunction(self, field: str | None) -> Node:
        groups = [self.conjunction(field)]
        while True:
            self.skip_space()
            if self.accept(_OR):
                groups.append(self.conjunction(field, after="OR"))
            elif self.either and self.peek() not in ("", ")"):
                groups.append(self.conjunction(field))
            else:
                break
        kept = [group for group in groups if not all(clause.noise for clause in group)] or groups
        return disjoin(kept)

    def conjunction(self, field: str | None, after: str = "") -> list[Clause]:
        clauses = [self.clause(field, after)]
        while True:
            self.skip_space()
            if self.accept(_AND):
                clauses.append(self.clause(field, "AND"))
                continue
            if self.either or self.peek() in ("", ")") or _OR.match(self.text, self.at):
                break
            clauses.append(self.clause(field))
        kept = [clause for clause in clauses if not clause.noise]
        return kept or clauses[:1]

    def clause(self, field: str | None, after: str = "") -> Clause:
        self.skip_space()
        start = self.at
        if after and self.peek() in ("", ")"):
            raise self.error(f"something is expected after {after}")
        for pattern in (_AND, _OR):
            if operator := pattern.match(self.text, self.at):
                raise self.error(f"{operator[0]} needs something on its left")
        negated = False
        while self.accept(_NOT):
            negated = not negated
            self.skip_space()
            if self.peek() in ("", ")"):
                raise self.error("something is expected after NOT")
        sign: Sign = ""
        if self.peek() in ("+", "-") and self.text[self.at + 1 : self.at + 2].strip():
            sign = "+" if self.peek() == "+" else "-"
            self.at += 1
            self.plain = False
        self.clauses += 1
        if self.clauses > MAX_CLAUSES:
            raise self.error(f"more than {MAX_CLAUSES} clauses", start)
        at = self.at
        node = self.operand(field)
        noise = not sign and not negated and is_noise(node)
        try:
            node = self.fields.spread(node)
        except InvalidInput as error:
            raise self.error(error.message, at) from None
        return Clause(self.boost(node), sign, negated, noise)

    def boost(self, node: Node) -> Node:
        start = self.at
        if not (written := self.accept(_BOOST)):
            return node
        try:
            boost = float(written[1])
        except ValueError:
            boost = 0.0
        if not 0.0 < boost <= tree.MAX_BOOST:
            raise self.error(f"a boost is a number above 0 and at most {tree.MAX_BOOST:g}", start)
        return tree.boosted(node, boost)

    # Operands

    def operand(self, field: str | None) -> Node:
        character = self.peek()
        if character == "(":
            return self.group(field)
        if character in ("", ")"):
            raise self.error(
                f"something is expected before {character!r}"
                if character
                else "something is expected at the end"
            )
        start = self.at
        if character == '"':
            return self.leaf(self.phrase(field), start)
        if field is not None and character in "[{<>":
            return self.leaf(self.range(field), start)
        if field is not None and character in "]}~":
            raise self.error(f"unexpected {character!r}")
        if character in "[{" and self.begins_range():
            raise self.error("a range needs a field")
        if expression := self.accept(_REGEX):
            regex(expression[1])
            return self.leaf(tree.Regex(field, expression[1]), start)
        return self.word(field)

    def leaf(self, node: Node, start: int) -> Node:
        """The leaf as its field reads it; raises UnknownField, whose column is the field's."""
        try:
            read = self.fields.meant(node)
        except UnknownField:
            raise
        except InvalidInput as error:
            raise self.error(error.message, start) from None
        self._written[id(read)] = read, node
        return read

    def group(self, field: str | None) -> Node:
        opened = self.at
        self.plain = False
        self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"groups are nested more than {MAX_DEPTH} deep", opened)
        node = self.disjunction(field)
        if self.peek() != ")":
            raise self.error("unbalanced '('", opened)
        self.depth -= 1
        self.at += 1
        return node

    def phrase(self, field: str | None) -> Node:
        text = self.quoted()
        slop = 0
        start = self.at
        if moves := self.accept(_FUZZY):
            slop = self.number(moves[1] or "0", MAX_SLOP, "a phrase's slop", start)
        return tree.Phrase(field, text, slop)

    def word(self, field: str | None) -> Node:
        start = self.at
        literal, pattern, wild = "", "", False
        while (character := self.peek()) and not character.isspace() and character not in "()^":
            if character == "~" and literal and _FUZZY.match(self.text, self.at):
                break
            if character == ":":
                return self.fielded(literal, wild, start)
            if character == "\\":
                self.at += 1
                character = self.peek()
                if not character:
                    raise self.error("nothing after the backslash", self.at - 1)
                pattern += "\\" + character if character in "\\*?" else character
            else:
                wild = wild or character in "*?"
                pattern += character
            literal += character
            self.at += 1
        if not literal:
            raise self.error(f"unexpected {self.peek()!r}")
        if wild:
            self.plain = False
            if not pattern.strip("*"):
                return self.leaf(tree.Exists(field), start) if field else tree.MatchAll()
            if _FUZZY.match(self.text, self.at):
                raise self.error("a word with wildcards cannot be fuzzy")
            wildcard(pattern)
            return self.leaf(tree.Wildcard(field, pattern), start)
        suffix = self.at
        if written := self.accept(_FUZZY):
            slips = self.number(written[1] or str(self.slips), MAX_SLIPS, "the slips of ~", suffix)
            fuzzy = tree.Fuzzy(field, literal, slips)
            return self.leaf(fuzzy if slips else tree.Term(field, literal), start)
        self.words.append(literal)
        return self.leaf(tree.Term(field, literal), start)

    def fielded(self, field: str, wild: bool, start: int) -> Node:
        if not field:
            raise self.error("a field is expected before ':'")
        if self.valued:
            raise self.error("a ':' inside a value is written '\\:', or the value in quotes")
        if wild and field != "*":
            raise self.error("a field's name cannot have wildcards", start)
        self.plain = False
        self.at += 1
        self.skip_space()
        name = None if field == "*" else field
        character = self.peek()
        if character in ("", ")"):
            raise self.error(f"a value is expected after '{field[:80]}:'")
        if field == _PRESENCE:
            start = self.at
            path = self.quoted() if character == '"' else self.bare()
            try:
                return self.leaf(tree.Exists(path), start)
            except UnknownField as error:
                raise self.error(error.message, start) from None
        if name is None and character in "[{<>":
            raise self.error("a range needs a field")
        try:
            if character == "(":
                return self.group(name)
            before = self.at
            for pattern in (_AND, _OR, _NOT):
                if pattern.match(self.text, self.at) and self.peek() not in "&|!":
                    raise self.error("a value is expected after ':'", before)
            self.valued = True
            node = self.operand(name)
            self.valued = False
        except UnknownField as error:
            hint = " (a ':' that is meant literally is written '\\:', or in quotes)"
            raise self.error(f"{error.message}{hint}", start) from None
        if self.peek() == ":":
            raise self.error("unexpected ':'")
        return node
