"""The tools: a row for each, with what it takes, what it answers, and who may call it."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.mcp.asking import Asked
from api.mcp.changing import Changed, ChangeEntity, change_entity
from api.mcp.reading.columns import Columns, ListColumns, list_columns
from api.mcp.reading.entities import Entities, GetEntities, get_entities
from api.mcp.reading.history import GetHistory, History, get_history
from api.mcp.reading.impact import CheckImpact, ImpactShown, check_impact
from api.mcp.reading.lineage import GetLineage, LineageShown, get_lineage
from api.mcp.reading.quality import GetQuality, Quality, get_quality
from api.mcp.reading.search import Hits, SearchCatalog, search_catalog
from api.mcp.schemas import schema_of
from domain.edges import EDGE


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the catalog has it."""

    name: str
    about: str
    """The work of the tool in words, for a model that chooses among tools."""
    takes: type[msgspec.Struct]
    gives: type[msgspec.Struct]
    call: Callable[[Asked, Any], Awaitable[msgspec.Struct]]
    needs: Permission
    """The permission without which it is not shown; each call is held to its kinds besides."""
    writes: bool = False

    def is_for(self, access: Access, *, may_write: bool) -> bool:
        """True if a caller is shown the tool."""
        return access.may(self.needs) and (may_write or not self.writes)


_VIEWING = Permission(Action.VIEW)
_ROWS = (
    Tool(
        name="search_catalog",
        about="Find tables, dashboards, contracts, people and other entities.",
        takes=SearchCatalog,
        gives=Hits,
        call=search_catalog,
        needs=Permission(Action.SEARCH),
    ),
    Tool(
        name="get_entities",
        about="Read entities: facts, texts, owners, tags. Columns are read by list_columns.",
        takes=GetEntities,
        gives=Entities,
        call=get_entities,
        needs=_VIEWING,
    ),
    Tool(
        name="list_columns",
        about="Read the columns of a table, topic, container or other entity, page by page.",
        takes=ListColumns,
        gives=Columns,
        call=list_columns,
        needs=_VIEWING,
    ),
    Tool(
        name="get_lineage",
        about="What an entity or a column is made of, and what is made of it.",
        takes=GetLineage,
        gives=LineageShown,
        call=get_lineage,
        needs=Permission(Action.VIEW, EDGE),
    ),
    Tool(
        name="check_impact",
        about="What breaks if a column or an entity changes or goes, and which owners to ask.",
        takes=CheckImpact,
        gives=ImpactShown,
        call=check_impact,
        needs=Permission(Action.VIEW, EDGE),
    ),
    Tool(
        name="get_history",
        about="Who changed an entity, when, by which request, and what stood there before.",
        takes=GetHistory,
        gives=History,
        call=get_history,
        needs=_VIEWING,
    ),
    Tool(
        name="get_quality",
        about="Tests, profile, use, runs and results that were measured of an entity.",
        takes=GetQuality,
        gives=Quality,
        call=get_quality,
        needs=_VIEWING,
    ),
    Tool(
        name="change_entity",
        about=(
            "Change texts, owners, tags, terms and domains of an entity or a column. A dry run"
            " shows the difference; show it to the person, then store it with dry_run false."
        ),
        takes=ChangeEntity,
        gives=Changed,
        call=change_entity,
        needs=Permission(Action.EDIT),
        writes=True,
    ),
)
TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in _ROWS})


def definition(name: str) -> dict[str, Any]:
    """The definition of a tool as clients are given it."""
    tool = TOOLS[name]
    hints = {"destructiveHint": True} if tool.writes else {"readOnlyHint": True}
    return {
        "name": name,
        "description": tool.about,
        "inputSchema": schema_of(tool.takes),
        "outputSchema": schema_of(tool.gives, whole=False),
        "annotations": {**hints, "idempotentHint": True},
    }
