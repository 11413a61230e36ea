"""Reads of facets what the datasets that a job writes are made of, part by part."""

from collections.abc import Iterator

from msgspec import Raw

from domain.openlineage import facets as read
from domain.openlineage.facets import Facets, Told
from domain.openlineage.statements import DatasetName, MadeOf, Output

MOST_DATASETS = 1_000
"""Datasets of one event."""
MOST_MAPPINGS = 20_000
"""Columns of one event, each with a column that it is made of."""


class OutputReader:
    """Reads of what outputs are made, until an event has enough mappings."""

    def __init__(self, told: Told) -> None:
        self._left = MOST_MAPPINGS
        self._told = told

    def output(self, name: DatasetName, facets: Facets) -> Output:
        """A dataset that is written, by its `lineage`, or else its `columnLineage`."""
        lineage = facets.read("lineage", read.DatasetLineage)
        if lineage is not None:
            return self.explicit(name, lineage.inputs, lineage.fields, facets)
        columns = facets.read("columnLineage", read.ColumnLineage)
        if columns is None or columns.fields is None:
            return Output(name)
        return Output(name, self._columns(columns.fields, "columnLineage", facets))

    def explicit(
        self,
        name: DatasetName,
        inputs: list[Raw] | None,
        fields: dict[str, Raw] | None,
        facets: Facets,
    ) -> Output:
        """An output whose event states explicitly what it is made of."""
        columns = None if fields is None else self._columns(fields, "lineage", facets)
        given = [
            DatasetName(each.namespace, each.name)
            for raw in (inputs or ())[:MOST_DATASETS]
            if (each := facets.part("lineage", raw, read.InputField)) is not None
            and each.type in (None, "DATASET")
        ]
        sources = (*given, *(each.source for each in columns or ()))
        return Output(name, columns, tuple(dict.fromkeys(sources)))

    def _columns(self, fields: dict[str, Raw], facet: str, facets: Facets) -> tuple[MadeOf, ...]:
        columns: list[MadeOf] = []
        for made in self._made_of(fields, facet, facets):
            if not self._left:
                self._told.add(f"column mappings left out: an event may have {MOST_MAPPINGS:,}")
                break
            self._left -= 1
            columns.append(made)
        return tuple(columns)

    def _made_of(self, fields: dict[str, Raw], facet: str, facets: Facets) -> Iterator[MadeOf]:
        """The columns that each column is made of directly: filters and joins make no column."""
        for column, raw in fields.items():
            made = facets.part(facet, raw, read.ColumnInputs)
            for given in (made and (made.input_fields or made.inputs)) or ():
                each = facets.part(facet, given, read.InputField)
                if each is None or each.field is None:
                    continue
                steps = each.transformations or []
                direct = next((step for step in steps if step.type != "INDIRECT"), None)
                if steps and direct is None:
                    continue
                function = (direct.description or direct.subtype) if direct else None
                function = None if function == "IDENTITY" else function
                source = DatasetName(each.namespace, each.name)
                yield MadeOf(column, source, each.field, function)
