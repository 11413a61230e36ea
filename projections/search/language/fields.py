"""The fields in which a query looks for words that name no field, and how it reads values.

Query texts have short names of fields, by which people ask: `owner:ann`, `tag:PII`, `tier:Tier1`.
Such a field means a name of what stands there, found by its words as every name is, or its whole
qualified name. It stands for fields that documents have, so that an engine never sees it. What
filters in JSON mean by these names is left to OpenMetadata's documents, which have some of them.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.dates import Now
from projections.search.language.field_types import is_whole
from projections.search.language.field_values import UnknownField, typed
from projections.search.tree import Node

_NAMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "owner": ("owners",),
        "domain": ("domains",),
        "column": ("columns", "dataModel.columns"),
        "service": ("service",),
        "database": ("database",),
        "schema": ("databaseSchema",),
    }
)
"""Short name -> paths of objects with a name and a qualified name."""
_LABELS = ("tag", "tags")
_LABELLED = "tags.tagFQN"
_TIER = "tier"
_TIERS = f"{_LABELLED}.keyword"
_CLASSIFICATION = "Tier."
_OWN = frozenset({"service", "database", "schema", "tags"})
"""Short names that some kind has for a field: whether there is a value is asked of the field."""


class Fields(msgspec.Struct, frozen=True):
    """The fields for unfielded words, instead of the kinds' own default fields."""

    boosts: tuple[tuple[str, float], ...] = ()
    now: Now | None = None
    """The meaning of `now` in dates that are calculated; None where it means nothing."""
    lenient: bool = False
    """True if a value that its field cannot hold matches nothing, instead of being a mistake."""

    def spread(self, node: Node) -> Node:
        """The node in each of these fields, the best one counting; one with a field is typed."""
        if getattr(node, "field", "") is not None or not self.boosts:
            return node
        over = [
            tree.boosted(self.typed(msgspec.structs.replace(node, field=path)), boost)
            for path, boost in self.boosts
        ]
        return over[0] if len(over) == 1 else tree.DisMax(tuple(over))

    def meant(self, node: Node) -> Node:
        """The leaf of a query text, over the fields that a short name stands for, each typed.

        Raises what `typed` raises.
        """
        field = getattr(node, "field", None)
        if isinstance(node, tree.Exists) and field in _OWN:
            return self.typed(node)
        if field in _LABELS:
            labelled = "tags" if isinstance(node, tree.Exists) else _LABELLED
            return self.typed(_over(node, labelled))
        if field == _TIER:
            return self.typed(_tier(node))
        if field is None or field not in _NAMED:
            return self.typed(node)
        nodes = [self.typed(each) for path in _NAMED[field] for each in _named(node, path)]
        return nodes[0] if len(nodes) == 1 else tree.DisMax(tuple(nodes))

    def typed(self, node: Node) -> Node:
        """The leaf as its field reads it; raises UnknownField even where `lenient`."""
        try:
            return typed(node, now=self.now)
        except UnknownField:
            raise
        except InvalidInput:
            if self.lenient:
                return tree.MatchNone()
            raise


DEFAULT_FIELDS = Fields()


def _over(node: Node, field: str) -> Node:
    return msgspec.structs.replace(node, field=field)


def _named(node: Node, path: str) -> list[Node]:
    """The leaf over the names, and over the whole qualified names, of the objects at a path."""
    if isinstance(node, tree.Exists):
        return [tree.Exists(path)]
    names, qualified = [_over(node, f"{path}.name")], f"{path}.fullyQualifiedName"
    whole = qualified if is_whole(qualified) else f"{qualified}.keyword"
    match node:
        case tree.Term(text=text) | tree.Phrase(text=text, slop=0):
            names.append(tree.Exact(whole, text))
        case tree.Wildcard() if not is_whole(qualified):
            names.append(_over(node, whole))
    return names


def _tier(node: Node) -> Node:
    """The leaf over the whole names of the tags of one classification, which may be left out."""
    match node:
        case tree.Exists():
            return tree.Wildcard(_TIERS, f"{_CLASSIFICATION}*")
        case tree.Term(text=text) | tree.Phrase(text=text):
            return tree.Exact(_TIERS, _qualified(text))
        case tree.Wildcard(pattern=pattern):
            return tree.Wildcard(_TIERS, _qualified(pattern))
        case tree.Fuzzy(text=text, distance=distance):
            return tree.Fuzzy(_TIERS, _qualified(text), distance)
        case tree.Regex(pattern=pattern):
            return tree.Regex(_TIERS, rf"tier\.({pattern})")
    raise InvalidInput(f"{_TIER} is found by names of tiers, and has no ranges")


def _qualified(text: str) -> str:
    return text if text.lower().startswith(_CLASSIFICATION.lower()) else _CLASSIFICATION + text
