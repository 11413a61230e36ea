"""Entities of an area beside tables: topics, dashboards, pipelines, models, APIs, tests, ..."""

from collections.abc import Iterator, Sequence

from benchmarks import words
from benchmarks.sample.lines import (
    SCHEMAS_PER_PLATFORM,
    Line,
    Table,
    definition,
    entity_line,
    reference,
    schema_place,
    service_name,
    service_type,
)
from benchmarks.sample.tables import Tables

_DATA_MODELS = {
    "Superset": "SupersetDataModel",
    "Looker": "LookMlView",
    "Tableau": "TableauDataModel",
    "Metabase": "MetabaseDataModel",
}
"""Type of a dashboard service -> the type of the data models there."""


class Assets(Tables):
    """The assets beside the tables of a schema."""

    def assets(self, number: int, tables: Sequence[Table]) -> Iterator[Line]:
        """Yield the entities of a schema's area beside tables."""
        area = words.AREAS[number % len(words.AREAS)]
        _, database, _ = schema_place(number)
        first_of_area = number % SCHEMAS_PER_PLATFORM < len(words.AREAS)
        stem = area.name if first_of_area else f"{database}_{area.name}"
        for subject in area.subjects[:2]:
            yield self._topic(number, stem, subject)
        for purpose in self._random.sample(words.PURPOSES, 2):
            dashboard = self._dashboard(number, stem, area, purpose)
            if self._chance(1 / 8):
                yield self._chart(number, dashboard["charts"][0])
            yield dashboard
        for table in self._random.sample(tables, 2):
            yield self._pipeline(number, stem, table)
        yield self._bucket(number, stem, area, self._random.choice(tables))
        if number % 2 == 0:
            yield self._model(number, stem, area, tables[0])
        else:
            yield self._index(number, stem, area)
        match number % 4:
            case 0:
                yield self._procedure(number, tables[0])
                yield self._data_model(number, stem, tables[0])
            case 1:
                yield from self._api(number, stem, area)
            case 2:
                yield self._metric(number, tables[0])
                yield from self._tests(number, tables[0])
            case 3:
                yield self._query(number, tables[0])
                yield self._ingestion(number, stem)

    def _topic(self, number: int, stem: str, subject: words.Subject) -> Line:
        name = f"{stem}_{subject.plural}_events"
        types = {"INT": "INT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN"}
        return {
            **self._asset("topic", "messagingService", number, name),
            "description": self._prose(f"An event for every change of every {subject.singular}."),
            "partitions": self._random.choice((3, 6, 12, 24)),
            "replicationFactor": 3,
            "cleanupPolicies": ["delete"],
            "messageSchema": {
                "schemaType": "Avro",
                "schemaFields": [
                    {
                        "name": field.name,
                        "dataType": types.get(field.type, "STRING"),
                        "description": field.description,
                    }
                    for field in subject.fields
                ],
            },
            "owners": self._owners(),
        }

    def _dashboard(self, number: int, stem: str, area: words.Area, purpose: str) -> Line:
        name = f"{stem}_{purpose.removeprefix('the ').replace(' ', '_')}"
        shown = f"{area.title}: {purpose.removeprefix('the ')}"
        return {
            **self._asset("dashboard", "dashboardService", number, name),
            "displayName": shown,
            "description": self._prose(f"Charts on {area.title.lower()} for {purpose}."),
            "charts": [
                {"name": f"{name}_{place}", "displayName": f"{what} by week"}
                for place, (_, _, what) in enumerate(self._random.sample(words.MEASURES, 3), 1)
            ],
            "owners": self._owners(),
        }

    def _chart(self, number: int, chart: Line) -> Line:
        """The entity of a chart that a dashboard names."""
        return {
            **self._asset("chart", "dashboardService", number, chart["name"]),
            "displayName": chart["displayName"],
            "description": self._prose(f"{chart['displayName']}, a line for each year."),
            "chartType": "Line",
        }

    def _data_model(self, number: int, stem: str, table: Table) -> Line:
        service = service_name("dashboardService", number)
        return {
            **entity_line("dashboardDataModel", f"{service}.model", f"{stem}_{table.name}"),
            "description": self._prose(f"What dashboards show of {table.subject.plural}."),
            "service": reference("dashboardService", service),
            "dataModelType": _DATA_MODELS[service_type("dashboardService", number)],
            "sql": f"SELECT * FROM {table.fqn}",
            "columns": [
                {"name": column["name"], "dataType": "STRING", "description": column["description"]}
                for column in table.columns[:5]
            ],
        }

    def _pipeline(self, number: int, stem: str, table: Table) -> Line:
        return {
            **self._asset("pipeline", "pipelineService", number, f"{stem}_load_{table.name}"),
            "description": self._prose(f"Fills the table {table.name} and checks what arrived."),
            "scheduleInterval": f"{self._random.randrange(60)} {self._random.randrange(24)} * * *",
            "tasks": [
                {"name": "extract", "downstreamTasks": ["load"], "taskType": "PythonOperator"},
                {"name": "load", "downstreamTasks": ["check"], "taskType": "SQLOperator"},
                {"name": "check", "downstreamTasks": [], "taskType": "SQLOperator"},
            ],
            "owners": self._owners(),
        }

    def _bucket(self, number: int, stem: str, area: words.Area, table: Table) -> Line:
        columns = [
            {
                key: column[key]
                for key in ("name", "dataType", "dataLength", "description")
                if key in column
            }
            for column in table.columns[:6]
        ]
        return {
            **self._asset("container", "storageService", number, f"{stem}_files"),
            "description": self._prose(f"Files that {area.title.lower()} exchanges with partners."),
            "prefix": f"/{stem}/",
            "fileFormats": ["parquet"],
            "numberOfObjects": self._random.randint(10, 100_000),
            "dataModel": {"isPartitioned": True, "columns": columns},
        }

    def _model(self, number: int, stem: str, area: words.Area, table: Table) -> Line:
        return {
            **self._asset("mlmodel", "mlmodelService", number, f"{stem}_forecast"),
            "displayName": f"{area.title} forecast",
            "description": self._prose(f"Predicts {table.subject.plural} for the next four weeks."),
            "algorithm": self._random.choice(("Gradient boosting", "Neural network", "Regression")),
            "mlFeatures": [
                {
                    "name": column["name"],
                    "dataType": "categorical" if "dataLength" in column else "numerical",
                    "description": column["description"],
                    "featureSources": [
                        {
                            "name": column["name"],
                            "dataType": "string",
                            "dataSource": reference("table", table.fqn),
                        }
                    ],
                }
                for column in table.columns[:5]
            ],
            "owners": self._owners(),
        }

    def _index(self, number: int, stem: str, area: words.Area) -> Line:
        subject = area.subjects[0]
        return {
            **self._asset("searchIndex", "searchService", number, f"{stem}_search"),
            "description": self._prose(f"Lets the shop look up {subject.plural}."),
            "fields": [
                {"name": field.name, "dataType": "KEYWORD", "description": field.description}
                for field in subject.fields
            ],
        }

    def _procedure(self, number: int, table: Table) -> Line:
        parent = ".".join(schema_place(number))
        history = f"{parent}.{table.name}_history"
        return {
            **entity_line("storedProcedure", parent, f"archive_{table.name}"),
            "description": self._prose(f"Archives the {table.subject.plural} of last year."),
            "storedProcedureType": "StoredProcedure",
            "storedProcedureCode": {
                "language": "SQL",
                "code": f"INSERT INTO {history} SELECT * FROM {table.fqn}",
            },
            "databaseSchema": reference("databaseSchema", parent),
        }

    def _query(self, number: int, table: Table) -> Line:
        service = schema_place(number)[0]
        key = table.columns[0]["name"]
        return {
            **entity_line(
                "query", service, f"newest_{'_'.join(schema_place(number)[1:])}_{table.name}"
            ),
            "description": self._prose(f"Finds the newest {table.subject.plural}."),
            "query": f"SELECT * FROM {table.fqn} ORDER BY {key} DESC LIMIT 100",
            "service": reference("databaseService", service),
            "queryUsedIn": [reference("table", table.fqn)],
            "users": [self._some_user()],
        }

    def _ingestion(self, number: int, stem: str) -> Line:
        """The ingestion pipeline that a connector reads a schema by."""
        service, database, schema = schema_place(number)
        config = {"type": "DatabaseMetadata", "schemaFilterPattern": {"includes": [schema]}}
        return {
            **entity_line("ingestionPipeline", service, f"{stem}_ingestion"),
            "service": reference("databaseService", service),
            "description": f"Reads {schema} of {database} every night.",
            "pipelineType": "metadata",
            "sourceConfig": {"config": config},
            "airflowConfig": {"scheduleInterval": "0 3 * * *"},
        }

    def _api(self, number: int, stem: str, area: words.Area) -> Iterator[Line]:
        """A collection of an API, and the endpoint in it."""
        subject = area.subjects[0]
        collection = self._asset("apiCollection", "apiService", number, f"{stem}_api")
        address = f"https://api.example.org/{stem}"
        yield {
            **collection,
            "description": self._prose(f"What shops ask about {area.title.lower()}."),
            "endpointURL": address,
        }
        fqn = collection["fullyQualifiedName"]
        path = subject.plural.replace(" ", "_")
        yield {
            **entity_line("apiEndpoint", fqn, f"list_{path}"),
            "description": self._prose(f"The {subject.plural} of a customer, newest first."),
            "apiCollection": reference("apiCollection", fqn),
            "endpointURL": f"{address}/{path}",
            "requestMethod": "GET",
            "responseSchema": {
                "schemaType": "JSON",
                "schemaFields": [
                    {"name": field.name, "dataType": "STRING", "description": field.description}
                    for field in subject.fields
                ],
            },
        }

    def _tests(self, number: int, table: Table) -> Iterator[Line]:
        """The test suite of a table with a test in it, and the definition of such tests."""
        name = "_".join(("no_rows_lost", *schema_place(number)[:2]))
        suite = f"{table.fqn}.testSuite"
        yield {
            **definition(name),
            "description": self._prose("The table has as many rows as the source."),
        }
        yield {
            "entityType": "testSuite",
            "name": suite,
            "fullyQualifiedName": suite,
            "basicEntityReference": reference("table", table.fqn),
        }
        yield {
            **entity_line("testCase", table.fqn, "rows"),
            "entityLink": f"<#E::table::{table.fqn}>",
            "testDefinition": reference("testDefinition", name),
            "description": self._prose(f"All {table.subject.plural} are there."),
        }

    def _metric(self, number: int, table: Table) -> Line:
        """Metric of a table's rows gained in a month, under a name that no other number gives."""
        name = "_".join((table.name, "per_month", *schema_place(number)[:2]))
        return {
            **entity_line("metric", None, name),
            "displayName": f"{table.subject.plural} per month".capitalize(),
            "description": self._prose(f"How many {table.subject.plural} a month brings."),
            "metricType": "COUNT",
            "unitOfMeasurement": "COUNT",
            "granularity": "MONTH",
            "metricExpression": {"language": "SQL", "code": f"SELECT COUNT(*) FROM {table.fqn}"},
            "owners": self._owners(),
        }

    def _asset(self, kind: str, service_kind: str, number: int, name: str) -> Line:
        service = service_name(service_kind, number)
        line = {**entity_line(kind, service, name), "service": reference(service_kind, service)}
        if tags := self._tags():
            line["tags"] = tags
        return line
