"""`get_lineage`: the edges around an entity, with the columns that flow over them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw

from api.callers.permissions import Action
from api.mcp.answers import Answer, Text, fill, text_of
from api.mcp.asking import Asked, AsOf, Cursor, Named, Shown, id_of_named, viewed, which_of
from api.mcp.cleaning import plain
from api.mcp.facts import exact_or_id
from api.use_cases.edge_sight import check_sees_lineage, sight_of
from api.use_cases.past import node_of_then, past_of
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import ColumnLineage
from projections.entities.lineage import Edge, Lineage, Node, read_lineage, walked
from projections.visibility.edges import EdgeSight

MOST_DEPTH = 3
_MOST_PAIRS_CHARACTERS = 3_000
"""Characters of the pairs of columns in one row; an edge that has more takes several rows."""
_MOST_SQL, _MOST_DELETED = 3_000, 20
_mappings = msgspec.json.Decoder(list[ColumnLineage])
_node = msgspec.json.Decoder(Node)


class GetLineage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    column: Annotated[
        str, Meta(max_length=3_072, description="Only what flows from or to this column.")
    ] = ""
    direction: Literal["both", "upstream", "downstream"] = "both"
    depth: Annotated[int, Meta(ge=1, le=MOST_DEPTH)] = 1
    sql: Annotated[bool, Meta(description="Show the SQL of edges.")] = False
    as_of: AsOf = ""
    cursor: Cursor = ""


class EdgeShown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An edge, or more columns of the edge in the row before."""

    from_: Shown = msgspec.field(name="from")
    to: Shown
    direction: str
    columns: list[tuple[str, str]] = []
    """Pairs of a column and of one that is made of it, as qualified names."""
    pipeline: Shown | None = None
    source: str = ""
    texts: list[Text] = []


class LineageShown(Answer, kw_only=True, omit_defaults=True):
    """The answer."""

    entity: Shown
    edges: list[EdgeShown]
    total_rows: int
    deleted: list[Shown] = msgspec.field(default_factory=list)
    """The soft-deleted entities of the lineage, as far as the answer names them."""
    truncated: bool = False
    """True if a bound ended the walk, so that there may be more than the pages show."""


async def get_lineage(asked: Asked, given: GetLineage) -> LineageShown:
    """A page of edges, in the order of a walk from the entity."""
    check_sees_lineage(asked.access)
    pinned, start = asked.place(given.cursor)
    if pinned is None:
        pinned = await asked.position(given.as_of)
    return await asked.services.heavy_read(
        asked.request, partial(_page, asked, given, pinned, start)
    )


def _page(asked: Asked, given: GetLineage, pinned: int | None, start: int) -> LineageShown:
    sight = sight_of(asked.access, Action.VIEW)
    position, lineage = _walked(asked, given, sight, pinned)
    column = _qualified(given.column, lineage.entity)
    nodes = {node.id: node for node in (lineage.entity, *lineage.nodes)}
    rows = [
        row
        for direction, edges in (
            ("upstream", lineage.upstream),
            ("downstream", lineage.downstream),
        )
        for row in _rows(direction, edges, nodes, sight, column, sql=given.sql)
    ]
    gone = [_named(node) for node in lineage.nodes if node.deleted][:_MOST_DELETED]
    room = asked.room()
    room.spend(msgspec.json.encode((gone, _named(lineage.entity))))
    shown, more = fill(room, rows[start:], start)
    return LineageShown(
        position=position,
        request_id=asked.request_id,
        entity=_named(lineage.entity),
        edges=shown,
        total_rows=len(rows),
        deleted=gone,
        truncated=lineage.truncated,
        cursor=asked.cursors.made(position, more),
    )


def _walked(
    asked: Asked, given: GetLineage, sight: EdgeSight, pinned: int | None
) -> tuple[int, Lineage]:
    """The walk at a position (None: now), and the position that it is of."""
    services = asked.services
    kind = viewed(asked.access, given.entity)
    upstream = 0 if given.direction == "downstream" else given.depth
    downstream = 0 if given.direction == "upstream" else given.depth
    which = which_of(kind, given.entity)
    root = Reference(
        type=kind.name, id=which.get("entity_id"), fully_qualified_name=which.get("fqn")
    )
    with services.stores.entities.use() as entities:
        position = entities.checkpoint()
        if pinned in (None, position):
            lineage = read_lineage(entities, root, sight, upstream=upstream, downstream=downstream)
            if entities.checkpoint() == position:
                return position, lineage
        # A commit came between, or the pages before are of the past.
        position = position if pinned is None else pinned
        root = Reference(type=kind.name, id=id_of_named(services.stores.log, kind, given.entity))
        entity = node_of_then(services, root, position)
        past = past_of(services, position)
        return position, walked(entities, entity, sight, (upstream, downstream), past=past)


def _rows(
    direction: str,
    edges: Sequence[Edge],
    nodes: Mapping[str, Node],
    sight: EdgeSight,
    column: str,
    *,
    sql: bool,
) -> Iterator[EdgeShown]:
    """The rows of edges; an edge without the column that is asked for has none."""
    for edge in edges:
        details = sight.details(edge.fields)
        pairs = list(_pairs(details.get("columnsLineage"), column))
        if column and not pairs:
            continue
        chunks = [*_chunks(pairs)] or [[]]
        pipeline = details.get("pipeline")
        first = EdgeShown(
            from_=_named(nodes[edge.from_id]),
            to=_named(nodes[edge.to_id]),
            direction=direction,
            columns=chunks[0],
            pipeline=_named(_node.decode(pipeline)) if pipeline is not None else None,
            source=plain(_text(details.get("source"))),
            texts=_sql(details) if sql else [],
        )
        yield first
        for chunk in chunks[1:]:
            yield EdgeShown(from_=first.from_, to=first.to, direction=direction, columns=chunk)


def _pairs(raw: Raw | None, column: str) -> Iterator[tuple[str, str]]:
    for mapping in _mappings.decode(raw) if raw is not None else ():
        for from_column in mapping.from_columns or ():
            pair = plain(from_column), plain(mapping.to_column or "")
            if not column or column in (from_column, mapping.to_column):
                yield pair


def _chunks(pairs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    size = 0
    for pair in pairs:
        size += sum(map(len, pair))
        if chunk and size > _MOST_PAIRS_CHARACTERS:
            yield chunk
            chunk, size = [], sum(map(len, pair))
        chunk.append(pair)
    if chunk:
        yield chunk


def _qualified(column: str, entity: Node) -> str:
    """The qualified name of a column that may be named below its entity."""
    above = f"{entity.fully_qualified_name}."
    return column if not column or column.startswith(above) else f"{above}{column}"


def _sql(details: Mapping[str, Any]) -> list[Text]:
    text = _text(details.get("sqlQuery"))
    return [text_of("sqlQuery", text, most=_MOST_SQL)] if text else []


def _text(raw: Raw | None) -> str:
    value = None if raw is None else msgspec.json.decode(raw)
    return value if isinstance(value, str) else ""


def _named(node: Node) -> Shown:
    return Shown(plain(node.type), exact_or_id(node.fully_qualified_name, node.id))
