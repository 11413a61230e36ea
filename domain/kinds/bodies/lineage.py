"""Lineage edges: which entity is made of which, and how."""

from typing import Annotated, Literal

from msgspec import Meta

from domain.kinds.bodies.base import EntityBody
from domain.kinds.bodies.columns import MAX_PART_FQN
from domain.kinds.bodies.components import MAX_INTEGER, UNKEPT, Integer, Part, Ref, refers_to

MANUAL: Literal["Manual"] = "Manual"
"""The source of what a person drew, and of what comes from no source in particular."""
DBT: Literal["DbtLineage"] = "DbtLineage"
"""The source of what a dbt project says."""
RUNNING_KINDS = ("pipeline", "storedProcedure")
"""The kinds of what moves data along an edge, which the edge names as its pipeline."""
MAX_MAPPINGS = 20_000
"""The most column mappings of an edge: as many as an entity may have columns."""

Source = Literal[
    "Manual",
    "ViewLineage",
    "QueryLineage",
    "PipelineLineage",
    "DashboardLineage",
    "DbtLineage",
    "SparkLineage",
    "OpenLineage",
    "ExternalTableLineage",
    "CrossDatabaseLineage",
    "ChildAssets",
]
"""The way in which an edge was found out."""
ColumnName = Annotated[str, Meta(min_length=1, max_length=MAX_PART_FQN)]


class ColumnLineage(Part, kw_only=True):
    """Columns of the entity that an edge begins at, of which a column at its end is made."""

    from_columns: list[ColumnName] | None = None
    to_column: ColumnName | None = None
    function: str | None = None


class TempTable(Part, kw_only=True):
    """One hop over a table that is made and dropped on the way; such tables are only named."""

    from_entity: str
    to_entity: str


class LineageEdge(EntityBody, kw_only=True):
    """An edge of the lineage: how the entity at its end is made of the one at its beginning."""

    from_entity: Annotated[Ref, refers_to()]
    to_entity: Annotated[Ref, refers_to()]
    sql_query: str | None = None
    columns_lineage: Annotated[list[ColumnLineage], Meta(max_length=MAX_MAPPINGS)] | None = None
    drawn_columns: list[ColumnLineage] | None = None
    """The mappings that a person patched onto an edge of a source other than `Manual`."""
    pipeline: Annotated[Ref | None, refers_to(*RUNNING_KINDS)] = None
    source: Source
    asset_edges: Annotated[int, Meta(ge=0, le=MAX_INTEGER)] | None = None
    temp_lineage_tables: list[TempTable] | None = None
    created_at: Integer
    created_by: str
    # Clients send back what they have read; the catalog knows it of every entity.
    updated_at: Annotated[Integer | None, UNKEPT] = None
    updated_by: Annotated[str | None, UNKEPT] = None
