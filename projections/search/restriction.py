"""What a caller may not see, kept out of a search: kinds, and fields of the kinds it sees."""

from collections.abc import Iterable, Mapping
from typing import get_args

import msgspec

from domain.registry import KINDS
from projections.search import tree
from projections.search.language.relevance import NAMES
from projections.search.tree import Node
from projections.visibility.withholding import Withheld

_KNOWN = get_args(Node)


class Hidden(msgspec.Struct, frozen=True):
    """The fields withheld in the kinds that one search is about."""

    withheld: tuple[Withheld, ...]
    kinds: frozenset[str]

    def refuse(self, field: str, parameter: str, *, below_only: bool = False) -> None:
        """Raises FieldWithheld for a field that any of the kinds withholds.

        `below_only` lets a field pass that something withheld lies in: that will be cut.
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
        return self._restricted(node, parameter) if self.withheld else node

    def _restricted(self, node: Node, parameter: str) -> Node:
        if isinstance(node, tree.Exact) and parameter == "q" and node.field in NAMES:
            # Not named by the caller, whose `displayName.keyword:` makes a Term.
            hidden = any(each.touches_indexed(node.field) for each in self.withheld)
            return tree.MatchNone() if hidden else node
        if not isinstance(node, _KNOWN) and not tree.children(node):
            raise TypeError(f"nobody knows which fields a {type(node).__name__} names")
        for field in tree.named_fields(node):
            if field is not None:
                self.refuse(field, parameter)
            elif self._default_fields_hide:
                return self._spread(node)
        return tree.map_children(node, lambda inner: self._restricted(inner, parameter))

    @property
    def _default_fields_hide(self) -> bool:
        return any(
            each.touches_indexed(field.path)
            for each in self.withheld
            for field in KINDS[each.kind].search
        )

    def _spread(self, node: Node) -> Node:
        """The node over the default fields of the kinds, one by one, the best counting."""
        weights: dict[str, float] = {}
        for kind in sorted(self.kinds):
            for field in KINDS[kind].search:
                if not any(each.touches_indexed(field.path) for each in self.withheld):
                    weights[field.path] = max(weights.get(field.path, 0.0), field.boost)
        return tree.DisMax(
            tuple(
                tree.boosted(msgspec.structs.replace(node, field=path), weight)
                for path, weight in weights.items()
            )
        )


class Visibility(msgspec.Struct, frozen=True):
    """What one caller may see."""

    kinds: frozenset[str]
    withheld: Mapping[str, Withheld]
    """By kind."""

    @classmethod
    def of(cls, kinds: Iterable[str] | None, withheld: Mapping[str, Withheld]) -> "Visibility":
        """Of some kinds, None for all."""
        return cls(frozenset(KINDS if kinds is None else kinds), withheld)

    def within(self, kinds: frozenset[str] | None) -> frozenset[str] | None:
        """The kinds, None for all, as far as they are visible."""
        if kinds is None:
            return None if len(self.kinds) == len(KINDS) else self.kinds
        return kinds & self.kinds

    def hidden_in(self, kinds: frozenset[str] | None) -> Hidden:
        """What is withheld in a search of some kinds, None for all."""
        sought = self.kinds if kinds is None else kinds
        return Hidden(
            tuple(self.withheld[k] for k in sorted(sought & self.withheld.keys())), sought
        )

    def show(self, kind: str, entity_json: bytes) -> bytes | None:
        """What may be seen of an entity, None for nothing."""
        if kind not in self.kinds:
            return None
        withheld = self.withheld.get(kind)
        return withheld.cut(entity_json) if withheld else entity_json
