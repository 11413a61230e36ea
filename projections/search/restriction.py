"""Restrictions of a search to what a caller may see: kinds, and fields of these kinds."""

from collections.abc import Mapping
from functools import lru_cache
from typing import get_args

import msgspec

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.openmetadata.status_names import OWN, StatusNames
from projections.search import tree
from projections.search.language.relevance import NAMES
from projections.search.tree import Node
from projections.visibility.withholding import Withheld

MAX_PLAIN_WORDS = 1_024
"""Different words without a field, and the like, that are looked for field by field."""
DEFAULT_FIELDS = frozenset(field.path for kind in KINDS.values() for field in kind.search)
"""Fields that are searched, in one kind or another, for words without a field."""
_KNOWN = get_args(Node)


class Hidden(msgspec.Struct, frozen=True):
    """The fields withheld in the kinds that one search is about."""

    withheld: tuple[Withheld, ...]
    kinds: frozenset[str]

    def refuse(self, field: str, parameter: str, *, below_only: bool = False) -> None:
        """Raise FieldWithheld for a field that any of the kinds withholds.

        With `below_only`, a field may contain something withheld, as that will be cut out.
        """
        for each in self.withheld:
            if below_only:
                each.refuse_field(field, parameter)
            else:
                each.refuse_searched(field, parameter)

    def restrict(self, node: Node, parameter: str) -> Node:
        """The node, looking at nothing withheld; raises FieldWithheld where it names a field.

        Words without a field are looked for in each field of the kinds that nobody withholds,
        one by one, if the default fields hold anything withheld.
        """
        return _Restriction(self, parameter).restricted(node) if self.withheld else node

    def hides(self, path: str) -> bool:
        """Return True if an indexed path is withheld, or contains anything withheld."""
        return any(each.touches_indexed(path) for each in self.withheld)


class _Restriction:
    """Restricts one tree; each field is looked up, and each leaf without one spread, once."""

    def __init__(self, hidden: Hidden, parameter: str) -> None:
        self._hidden = hidden
        self._parameter = parameter
        self._boosts = _boosts(hidden)
        self._spread_leaves: dict[Node, Node] = {}
        self._shown: set[str] = set()
        """Fields named in the tree that were looked at and not refused."""

    def restricted(self, node: Node) -> Node:
        if isinstance(node, tree.Exact) and self._parameter == "q" and node.field in NAMES:
            # Not named by the caller, whose `displayName.keyword:` makes a Term.
            return tree.MatchNone() if self._hidden.hides(node.field) else node
        if not isinstance(node, _KNOWN) and not tree.children(node):
            raise TypeError(f"nobody knows which fields a {type(node).__name__} names")
        for field in tree.named_fields(node):
            if field is not None:
                self._refuse(field)
            elif self._boosts is not None:
                return self._spread(node, self._boosts)
        return tree.map_children(node, self.restricted)

    def _refuse(self, field: str) -> None:
        if field not in self._shown:
            self._hidden.refuse(field, self._parameter)
            self._shown.add(field)

    def _spread(self, leaf: Node, boosts: Mapping[str, float]) -> Node:
        """The leaf in each of the fields by itself, the best one counting."""
        known = self._spread_leaves.get(leaf)
        if known is None:
            if len(self._spread_leaves) == MAX_PLAIN_WORDS:
                raise InvalidInput(
                    f"{self._parameter}: more than {MAX_PLAIN_WORDS:,} different words without a"
                    " field, of which each is looked for in every field that is not withheld from"
                    " your roles: name the fields"
                )
            over = (
                tree.boosted(msgspec.structs.replace(leaf, field=path), boost)
                for path, boost in boosts.items()
            )
            known = self._spread_leaves[leaf] = tree.DisMax(tuple(over))
        return known


class Visibility(msgspec.Struct, frozen=True):
    """The kinds and fields that one caller may see."""

    kinds: frozenset[str]
    withheld: Mapping[str, Withheld]
    """Kind -> the fields withheld from the caller."""
    statuses: StatusNames = OWN
    """The caller's names of the statuses of contracts."""

    def within(self, kinds: frozenset[str] | None) -> frozenset[str] | None:
        """The kinds, None for all, as far as they are visible."""
        if kinds is None:
            return None if len(self.kinds) == len(KINDS) else self.kinds
        return kinds & self.kinds

    def deciding(
        self, kinds: frozenset[str] | None, fields: frozenset[str] = DEFAULT_FIELDS
    ) -> frozenset[str] | None:
        """The kinds, None for all, of which documents decide what a search of some kinds is for.

        A kind that is not searched decides nothing if anything in `fields`, in which words are
        looked for, is withheld in it: the query avoids what is withheld in searched kinds alone.
        """
        sought = self.kinds if kinds is None else kinds
        hiding = {
            kind
            for kind, withheld in self.withheld.items()
            if kind not in sought and _hides_any(withheld, fields)
        }
        return self.kinds - hiding if hiding else self.within(None)

    def hidden_in(self, kinds: frozenset[str] | None) -> Hidden:
        """Return the fields that are withheld in a search of some kinds, None for all."""
        sought = self.kinds if kinds is None else kinds
        return Hidden(
            tuple(self.withheld[k] for k in sorted(sought & self.withheld.keys())), sought
        )

    def show(self, kind: str, entity_json: bytes) -> bytes | None:
        """Return the visible part of an entity, None for nothing."""
        if kind not in self.kinds:
            return None
        withheld = self.withheld.get(kind)
        shown = withheld.cut(entity_json) if withheld else entity_json
        return self.statuses.shown(KINDS[kind], shown)


@lru_cache(256)
def _boosts(hidden: Hidden) -> Mapping[str, float] | None:
    """Default fields that no kind withholds, and their boosts: leaves without a field are spread
    over these. None where nothing is withheld in any default field.
    """
    if not any(
        each.touches_indexed(field.path)
        for each in hidden.withheld
        for field in KINDS[each.kind].search
    ):
        return None
    boosts: dict[str, float] = {}
    for kind in sorted(hidden.kinds):
        for field in KINDS[kind].search:
            if not hidden.hides(field.path):
                boosts[field.path] = max(boosts.get(field.path, 0.0), field.boost)
    return boosts


@lru_cache(256)
def _hides_any(withheld: Withheld, fields: frozenset[str]) -> bool:
    """True if anything in the fields is withheld."""
    return any(map(withheld.touches_indexed, fields))


EVERYTHING = Visibility(frozenset(KINDS), {})
