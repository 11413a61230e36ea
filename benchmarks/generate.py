"""Writes a made-up catalog of any size as JSON lines for `catalog import`.

    python -m benchmarks.generate 500 > sample.jsonl

The same count and seed give the same bytes. Nothing is remembered but the tables of the schema
at hand, so a million lines need no more memory than ten.
"""

import itertools
import json
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from benchmarks import words

Line = dict[str, Any]
T = TypeVar("T")

STATUSES = ("Draft", "Active", "Deprecated")
_STATUS_WEIGHTS = (25, 60, 15)
_TABLES, _CONTRACTED = 22, 2 / 3
"""Tables in a schema, and the share of them that has a contract."""
_SCHEMAS_PER_DATABASE = 4
_SCHEMAS_PER_PLATFORM = _SCHEMAS_PER_DATABASE * len(words.DATABASES)
_MOST_USERS = 5_000
_DATA_MODELS = {
    "Superset": "SupersetDataModel",
    "Looker": "LookMlView",
    "Tableau": "TableauDataModel",
    "Metabase": "MetabaseDataModel",
}
"""Type of a dashboard service -> the type of the data models there."""
_DAY = 86_400
_encode = msgspec.json.Encoder().encode


class _Table(NamedTuple):
    fqn: str
    name: str
    subject: words.Subject
    columns: list[Line]


def lines(count: int, seed: int = 1) -> Iterator[bytes]:
    """`count` entities of every kind, parents first, each as one line of JSON."""
    for entity in itertools.islice(_Catalog(count, seed).entities(), count):
        yield _encode(entity) + b"\n"


def contracts(count: int, seed: int = 1) -> Iterator[bytes]:
    """`count` contracts, and before each of them the table that it is for, with little in it."""
    catalog = _Catalog(count, seed)
    made = itertools.count()
    for entity in catalog.foundations():
        yield _encode(entity) + b"\n"
    for number in range(-(-count // _TABLES)):
        for entity in catalog.containers_of(number):
            yield _encode(entity) + b"\n"
        for table in catalog.tables(number):
            at = next(made)
            if at >= count:
                return
            contract = catalog.contract(table.table, f"_{at:07}")
            small = {key: table.line[key] for key in _TABLE_KEYS} | {"columns": contract["schema"]}
            yield _encode(small) + b"\n"
            yield _encode(contract) + b"\n"


_TABLE_KEYS = ("entityType", "name", "fullyQualifiedName", "databaseSchema")
_PLAIN_KEYS = frozenset(
    {
        "entityType",
        "name",
        "fullyQualifiedName",
        "displayName",
        "description",
        "entityStatus",
        "entity",
    }
)


def plain_contracts(count: int, seed: int = 1) -> Iterator[bytes]:
    """The same contracts without schemas, owners and extensions: a few hundred bytes each.

    Their tables have no columns.
    """
    for line in contracts(count, seed):
        entity = json.loads(line)
        if entity["entityType"] == "dataContract":
            entity = {key: value for key, value in entity.items() if key in _PLAIN_KEYS}
        elif entity["entityType"] == "table":
            entity["columns"] = []
        yield _encode(entity) + b"\n"


class _Made(NamedTuple):
    table: _Table
    line: Line


class _Catalog:
    """The entities of one catalog; its methods must be called in a fixed order to repeat."""

    def __init__(self, count: int, seed: int) -> None:
        self._random = random.Random(f"{seed}/{count}")
        self._users = min(max(6, count // 40), _MOST_USERS)
        self._teams = max(len(words.AREAS), self._users // 10)
        self._cumulative = {
            size: list(itertools.accumulate(1 / (rank + 2.7) for rank in range(size)))
            for size in range(1, 200)
        }

    def entities(self) -> Iterator[Line]:
        """Endless: people and vocabularies, then schema after schema with what belongs to it."""
        yield from self.foundations()
        for number in itertools.count():
            yield from self._schema(number)

    def foundations(self) -> Iterator[Line]:
        """What everything else refers to."""
        yield from self._people()
        yield from self._vocabularies()
        yield from self._domains()

    # Choices

    def _zipf(self, choices: Sequence[T]) -> T:
        """One of the choices, the first most often, after Zipf and Mandelbrot."""
        weights = self._cumulative[len(choices)]
        return self._random.choices(choices, cum_weights=weights)[0]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _user(self, number: int) -> tuple[str, str]:
        """First and last name of a user; numbers repeat the combinations after a while."""
        first = words.FIRST_NAMES[number % len(words.FIRST_NAMES)]
        rest = number // len(words.FIRST_NAMES)
        # Steps of 7 through 30 names reach all of them, so no pair comes twice in 900 users.
        last = words.LAST_NAMES[(number + 7 * rest) % len(words.LAST_NAMES)]
        again = rest // len(words.LAST_NAMES)
        return first, last + (str(again + 1) if again else "")

    def _user_name(self, number: int) -> str:
        first, last = self._user(number)
        return f"{first}.{last}".lower()

    def _some_user(self) -> Line:
        number = int(self._users * self._random.random() ** 3)
        return _ref("user", f'"{self._user_name(number)}"')

    def _team_name(self, number: int) -> str:
        area = words.AREAS[number % len(words.AREAS)].title
        again = number // len(words.AREAS)
        return f"{area} {again + 1}" if again else area

    def _some_team(self) -> Line:
        return _ref("team", self._team_name(int(self._teams * self._random.random() ** 2)))

    def _owners(self) -> list[Line]:
        owners = [self._some_team()] if self._chance(0.4) else [self._some_user()]
        if self._chance(0.2) and (other := self._some_user()) not in owners:
            owners.append(other)
        return owners

    def _tags(self) -> list[Line]:
        tags = []
        if self._chance(0.5):
            name, _, labels = self._zipf(words.VOCABULARIES)
            tags.append({"tagFQN": f"{name}.{self._zipf(labels)[0]}", "source": "Classification"})
        if self._chance(0.15):
            term = f"Business.{self._zipf(words.TERMS)[0]}"
            tags.append({"tagFQN": term, "source": "Glossary"})
        return tags

    def _codename(self) -> str:
        return f"{self._random.choice(words.ADJECTIVES)} {self._random.choice(words.NOUNS)}"

    def _prose(self, opening: str) -> str:
        """The opening and up to four sentences more."""
        sentences = [opening]
        if self._chance(0.7):
            cadence, system = self._zipf(words.CADENCES), self._zipf(words.SYSTEMS)
            sentences.append(f"Loaded from {system} {cadence}.")
        if self._chance(0.6):
            sentences.append(f"Used for {self._zipf(words.PURPOSES)}.")
        if self._chance(0.8):
            sentences.append(self._zipf(words.CARES))
        if self._chance(0.3):
            year = self._random.randint(2015, 2025)
            sentences.append(f"Introduced with project {self._codename().title()} in {year}.")
        if self._chance(0.2):
            ticket = self._random.randint(100, 99_999)
            sentences.append(f"Open questions are collected in DATA-{ticket}.")
        return " ".join(sentences)

    # Foundations

    def _people(self) -> Iterator[Line]:
        for number in range(self._teams):
            name = self._team_name(number)
            yield {
                **_entity("team", None, name),
                "teamType": "Group",
                "description": f"Answers for the data of {name}.",
            }
        for number in range(self._users):
            first, last = self._user(number)
            name = self._user_name(number)
            yield {
                "entityType": "user",
                "name": name,
                "fullyQualifiedName": f'"{name}"',
                "displayName": f"{first} {last}",
                "email": f"{name}@example.org",
                "teams": [_ref("team", self._team_name(number % self._teams))],
            }

    def _vocabularies(self) -> Iterator[Line]:
        for name, description, labels in words.VOCABULARIES:
            yield {**_entity("classification", None, name), "description": description}
            for label, meaning in labels:
                yield {
                    **_entity("tag", name, label),
                    "description": meaning,
                    "classification": _ref("classification", name),
                }
        yield {
            **_entity("glossary", None, "Business"),
            "displayName": "Business terms",
            "description": "What the numbers in our reports mean.",
        }
        for term, meaning in words.TERMS:
            yield {
                **_entity("glossaryTerm", "Business", term),
                "displayName": term.replace("_", " ").capitalize(),
                "description": meaning,
                "glossary": _ref("glossary", "Business"),
            }

    def _domains(self) -> Iterator[Line]:
        yield {
            **_entity("domain", None, "Commerce"),
            "domainType": "Aggregate",
            "description": "Everything the company sells, ships and earns.",
        }
        for area in words.AREAS:
            yield {
                **_entity("dataProduct", "Commerce", f"{area.name}_insights"),
                "displayName": f"{area.title} insights",
                "description": f"The tables and dashboards on {area.title.lower()} that other"
                " teams may rely on.",
                "domains": [_ref("domain", "Commerce")],
                "owners": [_ref("team", area.title)],
            }

    # Schema after schema

    def containers_of(self, number: int) -> Iterator[Line]:
        """The schema of this number, before it the services and the database when they are new."""
        service, database, schema = _place(number)
        if number % _SCHEMAS_PER_PLATFORM == 0:
            for kind in words.SERVICES:
                name = _service(kind, number)
                unit = name.rpartition("_")[0].replace("_", " ")
                chosen = _service_type(kind, number)
                yield {
                    **_entity(kind, None, name),
                    "serviceType": chosen,
                    "description": f"{chosen} of the {unit} business.",
                }
        if number % _SCHEMAS_PER_DATABASE == 0:
            yield {
                **_entity("database", service, database),
                "description": f"Tables for {database}, kept by the platform team.",
                "service": _ref("databaseService", service),
            }
        area = words.AREAS[number % len(words.AREAS)]
        parent = f"{service}.{database}"
        yield {
            **_entity("databaseSchema", parent, schema),
            "displayName": area.title,
            "description": self._prose(f"All {database} tables about {area.title.lower()}."),
            "database": _ref("database", parent),
        }

    def _schema(self, number: int) -> Iterator[Line]:
        yield from self.containers_of(number)
        tables = []
        for made in self.tables(number):
            tables.append(made.table)
            yield made.line
            if self._chance(_CONTRACTED):
                yield self.contract(made.table)
        yield from self._assets(number, tables)

    def tables(self, number: int) -> Iterator[_Made]:
        """The tables of a schema."""
        subjects = words.AREAS[number % len(words.AREAS)].subjects
        names = [(subject, words.FORMS[0]) for subject in subjects]
        rest = [(subject, form) for subject in subjects for form in words.FORMS[1:]]
        names += self._random.sample(rest, _TABLES - len(names))
        parent = ".".join(_place(number))
        for subject, (form, opening) in names:
            name = form.format(subject.plural)
            columns = self._columns(subject, subjects)
            line = {
                **_entity("table", parent, name),
                "description": self._prose(opening.format(subject.singular)),
                "tableType": "View" if name.endswith("_current") else "Regular",
                "columns": columns,
                "databaseSchema": _ref("databaseSchema", parent),
            }
            if self._chance(0.7):
                line["owners"] = self._owners()
            if tags := self._tags():
                line["tags"] = tags
            if self._chance(0.2):
                area = words.AREAS[number % len(words.AREAS)]
                line["dataProducts"] = [_ref("dataProduct", f"Commerce.{area.name}_insights")]
            yield _Made(_Table(f"{parent}.{name}", name, subject, columns), line)

    def _columns(self, subject: words.Subject, neighbours: Sequence[words.Subject]) -> list[Line]:
        """5 to 40 columns: the key, what the subject has, keys of others, common ones, measures."""
        wanted = 5 + int(36 * self._random.random() ** 1.5)
        key = subject.singular.replace(" ", "_")
        fields = [words.Field(f"{key}_id", "VARCHAR", f"Identifies the {subject.singular}.")]
        fields += subject.fields
        for other in self._random.sample(neighbours, 2):
            if other is not subject:
                stem = other.singular.replace(" ", "_")
                text = f"The {other.singular} that the {subject.singular} belongs to."
                fields.append(words.Field(f"{stem}_id", "VARCHAR", text))
        fields += self._random.sample(words.COMMON, self._random.randint(2, 8))
        while len(fields) < wanted:
            (stem, kind, what), (window, when) = (
                self._random.choice(words.MEASURES),
                self._random.choice(words.WINDOWS),
            )
            cut, only = self._zipf(words.CUTS)
            fields.append(words.Field(f"{stem}_{window}{cut}", kind, f"{what} {when}{only}."))
        unique = {field.name: field for field in fields}
        columns = []
        for place, field in enumerate(itertools.islice(unique.values(), wanted), start=1):
            column = {
                "name": field.name,
                "dataType": field.type,
                "description": field.description,
                "ordinalPosition": place,
            }
            if place == 1:
                column["constraint"] = "PRIMARY_KEY"
            if field.type in ("VARCHAR", "CHAR"):
                column["dataLength"] = 255 if field.type == "VARCHAR" else 3
            if field.name == "email":
                column["tags"] = [{"tagFQN": "PersonalData.Personal", "source": "Classification"}]
            columns.append(column)
        return columns

    def contract(self, table: _Table, suffix: str = "") -> Line:
        """A contract about a table."""
        status = self._random.choices(STATUSES, _STATUS_WEIGHTS)[0]
        shown = table.name.replace("_", " ")
        name = f"{table.name}_contract{suffix}"
        hours = self._random.choice((1, 6, 12, 24))
        started = 1_600_000_000 + self._random.randrange(1_800) * _DAY
        line = {
            **_entity("dataContract", table.fqn, name),
            "fullyQualifiedName": f"{table.fqn}.dataContract_{name}",
            "displayName": f"{shown} contract".capitalize(),
            "description": self._prose(f"What readers of {shown} can rely on."),
            "entityStatus": status,
            "entity": _ref("table", table.fqn),
            "schema": [
                {key: column[key] for key in ("name", "dataType", "dataLength") if key in column}
                for column in table.columns[:8]
            ],
            "sla": {
                "refreshFrequency": {"interval": hours, "unit": "hour"},
                "retention": {"period": self._random.choice((1, 2, 7, 10)), "unit": "year"},
            },
            "effectiveFrom": _time(started),
        }
        if self._chance(0.5):
            line["semantics"] = [
                {
                    "name": "Has an owner",
                    "description": "Somebody answers questions about the data.",
                    "rule": '{"!!":[{"var":"owners"}]}',
                    "enabled": True,
                }
            ]
        if self._chance(0.4):
            line["termsOfUse"] = {"content": self._random.choice(words.TERMS_OF_USE)}
        if status == "Deprecated":
            line["effectiveUntil"] = _time(started + 700 * _DAY)
        line["owners"] = self._owners()
        if self._chance(0.4):
            line["reviewers"] = [self._some_user()]
        return line

    def _assets(self, number: int, tables: Sequence[_Table]) -> Iterator[Line]:
        """What a schema's area has beside tables."""
        area = words.AREAS[number % len(words.AREAS)]
        _, database, _ = _place(number)
        first_of_area = number % _SCHEMAS_PER_PLATFORM < len(words.AREAS)
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

    def _data_model(self, number: int, stem: str, table: _Table) -> Line:
        service = _service("dashboardService", number)
        return {
            **_entity("dashboardDataModel", f"{service}.model", f"{stem}_{table.name}"),
            "description": self._prose(f"What dashboards show of {table.subject.plural}."),
            "service": _ref("dashboardService", service),
            "dataModelType": _DATA_MODELS[_service_type("dashboardService", number)],
            "sql": f"SELECT * FROM {table.fqn}",
            "columns": [
                {"name": column["name"], "dataType": "STRING", "description": column["description"]}
                for column in table.columns[:5]
            ],
        }

    def _pipeline(self, number: int, stem: str, table: _Table) -> Line:
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

    def _bucket(self, number: int, stem: str, area: words.Area, table: _Table) -> Line:
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

    def _model(self, number: int, stem: str, area: words.Area, table: _Table) -> Line:
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
                            "dataSource": _ref("table", table.fqn),
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

    def _procedure(self, number: int, table: _Table) -> Line:
        parent = ".".join(_place(number))
        history = f"{parent}.{table.name}_history"
        return {
            **_entity("storedProcedure", parent, f"archive_{table.name}"),
            "description": self._prose(f"Archives the {table.subject.plural} of last year."),
            "storedProcedureType": "StoredProcedure",
            "storedProcedureCode": {
                "language": "SQL",
                "code": f"INSERT INTO {history} SELECT * FROM {table.fqn}",
            },
            "databaseSchema": _ref("databaseSchema", parent),
        }

    def _query(self, number: int, table: _Table) -> Line:
        service = _place(number)[0]
        key = table.columns[0]["name"]
        return {
            **_entity("query", service, f"newest_{'_'.join(_place(number)[1:])}_{table.name}"),
            "description": self._prose(f"Finds the newest {table.subject.plural}."),
            "query": f"SELECT * FROM {table.fqn} ORDER BY {key} DESC LIMIT 100",
            "service": _ref("databaseService", service),
            "queryUsedIn": [_ref("table", table.fqn)],
            "users": [self._some_user()],
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
            **_entity("apiEndpoint", fqn, f"list_{path}"),
            "description": self._prose(f"The {subject.plural} of a customer, newest first."),
            "apiCollection": _ref("apiCollection", fqn),
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

    def _tests(self, number: int, table: _Table) -> Iterator[Line]:
        """The test suite of a table with a test in it, and the definition of such tests."""
        name = "_".join(("no_rows_lost", *_place(number)[:2]))
        suite = f"{table.fqn}.testSuite"
        yield {
            **_definition(name),
            "description": self._prose("The table has as many rows as the source."),
        }
        yield {
            "entityType": "testSuite",
            "name": suite,
            "fullyQualifiedName": suite,
            "basicEntityReference": _ref("table", table.fqn),
        }
        yield {
            **_entity("testCase", table.fqn, "rows"),
            "entityLink": f"<#E::table::{table.fqn}>",
            "testDefinition": _ref("testDefinition", name),
            "description": self._prose(f"All {table.subject.plural} are there."),
        }

    def _metric(self, number: int, table: _Table) -> Line:
        """How many rows a table gains in a month, under a name that no other number gives."""
        name = "_".join((table.name, "per_month", *_place(number)[:2]))
        return {
            **_entity("metric", None, name),
            "displayName": f"{table.subject.plural} per month".capitalize(),
            "description": self._prose(f"How many {table.subject.plural} a month brings."),
            "metricType": "COUNT",
            "unitOfMeasurement": "COUNT",
            "granularity": "MONTH",
            "metricExpression": {"language": "SQL", "code": f"SELECT COUNT(*) FROM {table.fqn}"},
            "owners": self._owners(),
        }

    def _asset(self, kind: str, service_kind: str, number: int, name: str) -> Line:
        service = _service(service_kind, number)
        line = {**_entity(kind, service, name), "service": _ref(service_kind, service)}
        if tags := self._tags():
            line["tags"] = tags
        return line


def _service(kind: str, number: int) -> str:
    """The service of a kind that belongs to the schema of this number."""
    platform = number // _SCHEMAS_PER_PLATFORM
    unit = words.UNITS[platform % len(words.UNITS)]
    again = platform // len(words.UNITS)
    short = _service_type(kind, number).lower()
    return f"{unit}_{again + 1}_{short}" if again else f"{unit}_{short}"


def _service_type(kind: str, number: int) -> str:
    types = words.SERVICES[kind]
    return types[number // _SCHEMAS_PER_PLATFORM % len(types)]


def _place(number: int) -> tuple[str, str, str]:
    """Service, database and schema of a schema number."""
    database = number // _SCHEMAS_PER_DATABASE % len(words.DATABASES)
    area = words.AREAS[number % len(words.AREAS)]
    return _service("databaseService", number), words.DATABASES[database], area.name


def _entity(kind: str, parent: str | None, name: str) -> Line:
    fqn = f"{parent}.{name}" if parent else name
    return {"entityType": kind, "name": name, "fullyQualifiedName": fqn}


def _definition(name: str) -> Line:
    """A definition of tests, which has a key `entityType` of its own."""
    return {
        "kind": "testDefinition",
        "name": name,
        "entityType": "TABLE",
        "testPlatforms": ["dbt"],
    }


def _ref(kind: str, fqn: str) -> Line:
    return {"type": kind, "fullyQualifiedName": fqn}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT00:00:00Z")


@click.command()
@click.argument("count", type=click.IntRange(min=1))
@click.option("--seed", type=int, default=1, show_default=True, help="Another catalog.")
@click.option("--contracts", "only", is_flag=True, help="Contracts, and the tables they are for.")
def main(count: int, seed: int, only: bool) -> None:
    """Write COUNT made-up entities as JSON lines to standard output."""
    sys.stdout.buffer.writelines(contracts(count, seed) if only else lines(count, seed))


if __name__ == "__main__":
    main()
