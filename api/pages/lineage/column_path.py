"""The path of a column: the columns that it is made of, and those that are made of it."""

from collections.abc import Iterable, Mapping

import msgspec

from api.pages.lineage.layers import Arrow
from domain.impact import Flow, Reach, columns_above, impact_of


class ColumnPath(msgspec.Struct, frozen=True):
    """The columns and arrows that are lit in a picture for one column."""

    columns: Mapping[str, Mapping[str, None]]
    """Id of an entity -> qualified names of its columns on the path; the given one's first."""
    arrows: frozenset[Arrow]


def columns_of(entity_id: str, flows: Iterable[Flow]) -> dict[str, None]:
    """The qualified names of the columns of an entity that the flows name."""
    columns: dict[str, None] = {}
    for flow in flows:
        for from_columns, to_column in flow.mappings:
            if flow.from_id == entity_id:
                columns |= dict.fromkeys(from_columns)
            if flow.to_id == entity_id:
                columns[to_column] = None
    return columns


NO_PATH = ColumnPath({}, frozenset())


def path_of(column: str, flows: Iterable[Flow], ids: Mapping[str, str]) -> ColumnPath:
    """The path of a column by its qualified name; NO_PATH where no flow begins or ends at it.

    It leads through what columns lie in, as the impact of a change does. `ids` are those of
    entities by their qualified names.
    """
    flows = [*flows]
    holder = _holder(column, flows, ids)
    if holder is None:
        return NO_PATH
    turned = [*map(_turned, flows)]
    made = impact_of(holder, [column], {Reach.COLUMNS}, flows)
    made_of = impact_of(holder, [column], {Reach.COLUMNS}, turned)
    lit: dict[str, dict[str, None]] = {holder: {column: None}}
    for hits in (made_of, made):
        for entity_id, hit in hits.items():
            if hit.columns:
                lit.setdefault(entity_id, {}).update(hit.columns)
    if len(lit) == 1:
        return NO_PATH
    near = {entity_id: _with_above(columns) for entity_id, columns in lit.items()}
    arrows = (
        (flow.from_id, flow.to_id)
        for flow in flows
        if flow.from_id in lit and flow.to_id in lit and _is_lit(flow, lit, near)
    )
    return ColumnPath(lit, frozenset(arrows))


def _turned(flow: Flow) -> Flow:
    """The reverse of a flow: it leads from the made columns to their sources."""
    mappings = [((to,), each) for from_columns, to in flow.mappings for each in from_columns]
    return Flow(flow.to_id, flow.from_id, mappings)


def _holder(column: str, flows: Iterable[Flow], ids: Mapping[str, str]) -> str | None:
    """The id of the entity that has a column: by the first flow that names it, or by its own name.

    The columns of some entities, such as the charts of a dashboard, have names of another place.
    """
    for flow in flows:
        for from_columns, to_column in flow.mappings:
            if column in from_columns:
                return flow.from_id
            if column == to_column:
                return flow.to_id
    return next((ids[above] for above in columns_above(column) if above in ids), None)


def _is_lit(
    flow: Flow, lit: Mapping[str, Mapping[str, None]], near: Mapping[str, frozenset[str]]
) -> bool:
    """True if a flow leads between columns on the path, or between columns around these."""

    def on_path(entity_id: str, column: str) -> bool:
        above = any(each in lit[entity_id] for each in columns_above(column))
        return above or column in near[entity_id]

    return any(
        on_path(flow.to_id, to_column) and any(on_path(flow.from_id, each) for each in from_columns)
        for from_columns, to_column in flow.mappings
    )


def _with_above(columns: Iterable[str]) -> frozenset[str]:
    """The columns, and all names above them."""
    return frozenset(name for column in columns for name in (column, *columns_above(column)))
