"""Visibility of the lineage: the entities and details of edges that a caller may see."""

from collections.abc import Collection, Mapping

import msgspec
from msgspec import Raw

from domain.edges import EDGE, details_of
from domain.events import Body, values_by_key
from domain.writing.edge_columns import column_paths
from projections.visibility.withholding import Withheld

_COLUMNS, _SQL, _TEMPORARY = "columnsLineage", "sqlQuery", "tempLineageTables"
CODE_PATHS: Mapping[str, tuple[str, ...]] = {
    "table": ("schemaDefinition", "dataModel.sql", "dataModel.rawSql"),
    "dashboardDataModel": ("sql",),
    "pipeline": ("tasks.taskSQL",),
    "storedProcedure": ("storedProcedureCode",),
    "query": ("query",),
    "metric": ("metricExpression",),
}
"""Kind -> fields with code of the sort that the `sqlQuery` of an edge has."""


class _Referred(msgspec.Struct):
    type: str


_referred = msgspec.json.Decoder(_Referred)


class EdgeSight(msgspec.Struct, frozen=True):
    """The visible parts of edges for one caller, by the kinds of the entities concerned."""

    kinds: frozenset[str]
    """The kinds of entities that the caller may view."""
    hidden: Mapping[str, Withheld]
    """Kind, that of edges included -> the fields withheld, where there are any."""

    def shows(self, fields: Mapping[str, Raw]) -> bool:
        """True if the caller may view the kinds of both entities of an edge's document."""
        return self.kinds.issuperset(
            _referred.decode(fields[key]).type for key in ("fromEntity", "toEntity")
        )

    def details(self, fields: Mapping[str, Raw]) -> Body:
        """The `lineageDetails` of an edge's document as far as the caller may see them."""
        details = details_of(fields)
        concerned = [key for key in ("fromEntity", "toEntity", "pipeline") if key in fields]
        withheld = self.withheld([_referred.decode(fields[key]).type for key in concerned])
        if withheld is None:
            return details
        return values_by_key(withheld.cut(msgspec.json.encode(details)))

    def withheld(self, kinds: Collection[str]) -> Withheld | None:
        """The details that are withheld, or would disclose withheld fields of the entities
        concerned.

        `kinds` are those of an edge's ends, which the caller may view, and of its pipeline. Code
        may name any column, so it is withheld with the columns.
        """
        keys = set() if self.kinds.issuperset(kinds) else {"pipeline"}
        for kind in kinds:
            withheld = self.hidden.get(kind)
            if withheld is None:
                continue
            if any(map(withheld.covers, column_paths(kind))):
                keys |= {_COLUMNS, _SQL}
            if any(map(withheld.covers, CODE_PATHS.get(kind, ()))):
                keys |= {_SQL, _TEMPORARY}
        if EDGE in self.hidden:
            keys |= self.hidden[EDGE].paths
        return Withheld(EDGE, frozenset(keys)) if keys else None
