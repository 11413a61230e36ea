"""The registry of entity kinds: one row each, parents before children.

Routes, permissions, `fields` and filter validation, index names, search fields, hierarchy and
test parameters all come from these rows; a new kind is a new row, in the module of its family.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from domain.edges import EDGE
from domain.kinds.bodies import custom_properties, lineage
from domain.kinds.entity_kind import EntityKind
from domain.kinds.rows import assets, databases, ingestion, people, promises, services, vocabularies

ROWS: tuple[EntityKind, ...] = (
    *people.ROWS,
    *vocabularies.ROWS,
    *services.ROWS,
    *databases.ROWS,
    *assets.ROWS,
    *promises.ROWS,
    *ingestion.ROWS,
)

KINDS: Mapping[str, EntityKind] = MappingProxyType({row.name: row for row in ROWS})
"""Kind name -> its row, parents before children."""
CONTRACT = KINDS["dataContract"]

LINEAGE_EDGE = EntityKind(
    name=EDGE,
    collection="",
    body=lineage.LineageEdge,
    filters={"from": "fromEntity", "to": "toEntity", "pipeline": "pipeline"},
)
"""The edges of the lineage: recorded, audited and verified as entities are, but in no collection
and no index. The filters have the sorted read model find an edge by its ends and its pipeline."""

TYPE = EntityKind(
    name="type", collection="metadata/types", body=custom_properties.Type, root=True, since="0.3.0"
)
"""The types of kinds, which have the definitions of custom properties: entities with the names of
kinds, of which each is there from the first definition on; they are in no list and no index."""

ALL_KINDS: Mapping[str, EntityKind] = MappingProxyType(
    {**KINDS, EDGE: LINEAGE_EDGE, TYPE.name: TYPE}
)
"""Kind name -> its row, of everything that the log holds and policies grant."""


ATTACHED = frozenset(kind.name for kind in ROWS if kind.attached)
"""The kinds whose entities are attached to another entity, and are nothing without it."""


@cache
def kinds_right_below(kind: str) -> frozenset[str]:
    """The kinds that entities may have whose parent is of this kind."""
    return frozenset(
        row.name
        for row in KINDS.values()
        if any(kind in (row.refers_to[key] or KINDS) for key in row.parents)
    )


@cache
def sole_kinds_below(kind: str) -> frozenset[str]:
    """The kinds of which an entity of this kind has at most one right below it."""
    return frozenset(name for name in kinds_right_below(kind) if KINDS[name].naming.below)


@cache
def kinds_above(kind: str) -> tuple[str, ...]:
    """The kinds that entities above one of this kind may have, in the order of the registry."""
    return tuple(above for above in KINDS if kind in kinds_below(above))


@cache
def kinds_below(kind: str) -> frozenset[str]:
    """The kinds that entities below one of this kind may have."""
    below: frozenset[str] = frozenset()
    above = frozenset((kind,))
    while above:
        above = frozenset().union(*map(kinds_right_below, above)) - below
        below |= above
    return below
