"""The lineage of a made-up catalog, which follows from its lines alone.

In each schema extracts become staging copies, these the tables of the business, and these marts.
Topics fill extracts; dashboards, models, search indexes and files are made of tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.sample.lines import Line, reference

_BEFORE = re.compile(r"(raw|stg|dim|fact)_(.+)").fullmatch
_AFTER = re.compile(r"(.+)_(daily|monthly|history|snapshot|current|quality)").fullmatch
_STEPS = ("raw", "stg", "")
"""The forms of tables that are made of each other, from the extract to the business's table."""
_MARTS = ("fact", "daily", "dim", "monthly")
"""The forms of tables that dashboards show."""
_MOST_SHOWN = 3
"""Tables that a dashboard shows."""


class Edge(NamedTuple):
    """Two entities, of which the second is made of the first, and how."""

    beginning: Line
    end: Line
    details: dict[str, Any]
    """The body of a PUT of the edge."""


class _Table(NamedTuple):
    line: Line
    form: str
    """The form of its name, such as `stg`; empty for the table of the business."""
    subject: str

    @property
    def columns(self) -> list[str]:
        return [column["name"] for column in self.line["columns"]]


def edges(lines: Iterable[Line]) -> Iterator[Edge]:
    """The edges between the entities of the lines of a catalog, schema by schema."""
    area: list[Line] = []
    for line in lines:
        if line["entityType"] == "databaseSchema":
            yield from _of_area(area)
            area = []
        area.append(line)
    yield from _of_area(area)


def _of_area(lines: Sequence[Line]) -> Iterator[Edge]:
    """The edges between the tables of a schema, and the assets that come after them."""
    of_kind: dict[str, list[Line]] = {}
    for line in lines:
        of_kind.setdefault(line["entityType"], []).append(line)
    tables = [_table(line) for line in of_kind.get("table", ())]
    if not tables:
        return
    yield from _between(tables, of_kind.get("pipeline", ()))
    yield from _around(tables, of_kind)


def _table(line: Line) -> _Table:
    name = line["name"]
    if found := _BEFORE(name):
        return _Table(line, found[1], found[2])
    if found := _AFTER(name):
        return _Table(line, found[2], found[1])
    return _Table(line, "", name)


def _between(tables: Sequence[_Table], pipelines: Sequence[Line]) -> Iterator[Edge]:
    """The edges between tables; the pipeline that loads a table is that of its edges."""
    loads = {line["name"].partition("_load_")[2]: line for line in pipelines}
    named = {(table.form, table.subject): table for table in tables}
    for table in tables:
        before = _STEPS[: _STEPS.index(table.form)] if table.form in _STEPS else _STEPS
        given = [named[form, table.subject] for form in before if (form, table.subject) in named]
        sources = given[-1:]
        if table.form == "fact":
            # A fact has the keys of what it joins.
            sources += [
                other
                for other in tables
                if not other.form
                and other.subject != table.subject
                and other.columns[0] in table.columns
            ]
        for source in sources:
            edge = _edge(source, "table", table.line, table.columns, "QueryLineage")
            begins, ends = (each.line["fullyQualifiedName"] for each in (source, table))
            edge.details["sqlQuery"] = f"INSERT INTO {ends} SELECT * FROM {begins}"
            if pipeline := loads.get(table.line["name"]):
                edge.details["source"] = "PipelineLineage"
                fqn = pipeline["fullyQualifiedName"]
                edge.details["pipeline"] = reference("pipeline", fqn)
            yield edge


def _around(tables: Sequence[_Table], of_kind: dict[str, list[Line]]) -> Iterator[Edge]:
    """The edges between tables and what is none."""
    extracts = {
        table.subject: table for form in reversed(_STEPS) for table in tables if table.form == form
    }
    firsts = [table for table in tables if not table.form]
    for topic in of_kind.get("topic", ()):
        for subject, table in extracts.items():
            if topic["name"].endswith(f"_{subject}_events"):
                begins = reference("topic", topic["fullyQualifiedName"])
                ends = reference("table", table.line["fullyQualifiedName"])
                yield Edge(begins, ends, {"source": "PipelineLineage"})
    marts = sorted((table for table in tables if table.form in _MARTS), key=_rank) or firsts
    dashboards = of_kind.get("dashboard", ())
    for number, dashboard in enumerate(dashboards):
        for table in marts[number :: len(dashboards)][:_MOST_SHOWN]:
            yield _edge(table, "dashboard", dashboard, (), "DashboardLineage")
    for model in of_kind.get("dashboardDataModel", ()):
        columns = [column["name"] for column in model["columns"]]
        yield _edge(firsts[0], "dashboardDataModel", model, columns, "DashboardLineage")
    for kind in ("mlmodel", "searchIndex", "container"):
        for line in of_kind.get(kind, ()):
            yield _edge(firsts[0], kind, line, (), "PipelineLineage")


def _rank(table: _Table) -> int:
    return _MARTS.index(table.form)


def _edge(source: _Table, kind: str, line: Line, columns: Sequence[str], how: str) -> Edge:
    """The edge by which a table's columns become those of the same names."""
    begins, ends = source.line["fullyQualifiedName"], line["fullyQualifiedName"]
    details: dict[str, Any] = {"source": how}
    mappings = [
        {"fromColumns": [f"{begins}.{name}"], "toColumn": f"{ends}.{name}"}
        for name in source.columns
        if name in columns
    ]
    if mappings:
        details["columnsLineage"] = mappings
    return Edge(reference("table", begins), reference(kind, ends), details)
