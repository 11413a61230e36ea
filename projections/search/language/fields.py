"""The fields in which a query looks for words that name no field, and how it reads values."""

import msgspec

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.language.dates import Now
from projections.search.language.field_values import UnknownField, typed
from projections.search.language.short_names import meant
from projections.search.tree import Node


class Fields(msgspec.Struct, frozen=True):
    """Where unfielded words are looked for, instead of the kinds' own default fields."""

    boosts: tuple[tuple[str, float], ...] = ()
    now: Now | None = None
    """What `now` means in dates that are calculated; None where it means nothing."""
    lenient: bool = False
    """Whether a value that its field cannot hold matches nothing, instead of being a mistake."""

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
        return meant(node, self.typed)

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
