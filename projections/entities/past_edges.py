"""The edges of the lineage at a position of the past."""

from collections.abc import Iterator, Sequence

import msgspec

from domain.edges import EDGE, edge_ends
from projections.entities.cursors import Place
from projections.entities.list_port import PastOfList
from projections.entities.list_selections import ScopeShape, Selection, Shape
from projections.entities.list_sql import AFTER_ANY_ID, ListSql
from projections.entities.past_list import Asking, PastList
from projections.entities.port import EdgeReader

_AT_ONCE = 100
"""Edges that are asked for together."""
_PART_BYTES = 1_000_000
_IN_SCOPE = Shape((0,), False, (ScopeShape("", False, 0, False),))


class _Beginning(msgspec.Struct):
    id: str


class _Edge(msgspec.Struct, rename="camel"):
    from_entity: _Beginning


_decode = msgspec.json.Decoder(_Edge).decode


class PastEdges(EdgeReader):
    """Reads edges as they were, in one state of the read model.

    An edge that was removed later is included while both of its ends exist.
    """

    def __init__(self, sql: ListSql, asking: Asking, past: PastOfList) -> None:
        self._sql = sql
        self._asking = asking
        self._past = past

    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Return those of the entities that were soft-deleted."""
        rows = self._asking.run(self._sql.deleted_at(ids, self._past.position)) if ids else []
        return {entity_id for (entity_id,) in rows}

    def _listed(self, entity_id: str, sign: str) -> Iterator[bytes]:
        place = {
            "<": None,
            "=": Place(entity_id, "", inclusive=True),
            ">": Place(entity_id, AFTER_ANY_ID),
        }[sign]
        for name, core in self._from(entity_id, place):
            if (sign == "<" and name >= entity_id) or (sign == "=" and name != entity_id):
                return
            yield core

    def _named(self, fqn: str) -> Iterator[bytes]:
        beginning, end = edge_ends(fqn)
        for name, core in self._from(beginning, Place(end, "", inclusive=True)):
            if name != end:
                return
            if _decode(core).from_entity.id == beginning:
                yield core

    def _from(self, scope: str, place: Place | None) -> Iterator[tuple[str, bytes]]:
        """Name and JSON of the edges in a scope from a place on."""
        edges = PastList(
            self._sql, self._asking, Selection(_IN_SCOPE, (EDGE,), ((scope,),)), None, self._past
        )
        while True:
            rows, _ = edges.read(place, _AT_ONCE, _PART_BYTES, backward=False, optional=False)
            for name, _, core, *_ in rows:
                yield name, core
            if not rows:
                return
            place = Place(rows[-1][0], rows[-1][1])
