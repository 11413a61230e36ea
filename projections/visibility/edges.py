"""What a caller may see of the lineage: which entities at its edges, and which of their details."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw

from domain.edge_columns import column_paths
from domain.edges import EDGE
from domain.events import Body
from domain.lineage import DETAIL_KEYS, details_of
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
    """What a caller may see of edges, by the kinds of the entities that they concern."""

    kinds: frozenset[str]
    """The kinds of entities that the caller may view."""
    hidden: Mapping[str, Withheld]
    """Kind, that of edges included -> the fields withheld, where there are any."""

    def shows(self, fields: Mapping[str, Raw]) -> bool:
        """Whether the caller may view the kinds of both entities of an edge's document."""
        return self.kinds.issuperset(
            _referred.decode(fields[key]).type for key in ("fromEntity", "toEntity")
        )

    def details(self, fields: Mapping[str, Raw]) -> Body:
        """The `lineageDetails` of an edge's document as far as the caller may see them."""
        details = details_of(fields)
        concerned = kinds_of(fields)
        if "pipeline" in details and _referred.decode(details["pipeline"]).type not in self.kinds:
            del details["pipeline"]
        for key in self.hidden_keys(concerned):
            details.pop(key, None)
        if EDGE in self.hidden:
            details = msgspec.json.decode(
                self.hidden[EDGE].cut(msgspec.json.encode(details)), type=Body
            )
        return details

    def hidden_keys(self, kinds: Iterable[str]) -> frozenset[str]:
        """The details that say what is withheld of the entities that an edge concerns.

        `kinds` are those of its ends and its pipeline. Code may name any column, so it goes with
        the columns.
        """
        keys: set[str] = set()
        for kind in kinds:
            withheld = self.hidden.get(kind)
            if withheld is None:
                continue
            if any(map(withheld.covers, column_paths(kind))):
                keys |= {_COLUMNS, _SQL}
            if any(map(withheld.covers, CODE_PATHS.get(kind, ()))):
                keys |= {_SQL, _TEMPORARY}
        if EDGE in self.hidden:
            keys.update(key for key in DETAIL_KEYS if self.hidden[EDGE].covers(key))
        return frozenset(keys)


def kinds_of(fields: Mapping[str, Raw]) -> list[str]:
    """The kinds of the entities that an edge's document concerns: its ends, and its pipeline."""
    return [
        _referred.decode(fields[key]).type
        for key in ("fromEntity", "toEntity", "pipeline")
        if key in fields
    ]
