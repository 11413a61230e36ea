"""Parts that lines of entities share: names, references, and the place of a schema."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from benchmarks import words

Line = dict[str, Any]
SCHEMAS_PER_DATABASE = 4
SCHEMAS_PER_PLATFORM = SCHEMAS_PER_DATABASE * len(words.DATABASES)
DAY = 86_400
"""Seconds."""


class Table(NamedTuple):
    """Facts of a table that other entities need."""

    fqn: str
    name: str
    subject: words.Subject
    columns: list[Line]


class MadeTable(NamedTuple):
    """A table, and its line."""

    table: Table
    line: Line


def service_name(kind: str, number: int) -> str:
    """The service of a kind that belongs to the schema of this number."""
    platform = number // SCHEMAS_PER_PLATFORM
    unit = words.UNITS[platform % len(words.UNITS)]
    again = platform // len(words.UNITS)
    short = service_type(kind, number).lower()
    return f"{unit}_{again + 1}_{short}" if again else f"{unit}_{short}"


def service_type(kind: str, number: int) -> str:
    """The type of that service."""
    types = words.SERVICES[kind]
    return types[number // SCHEMAS_PER_PLATFORM % len(types)]


def schema_place(number: int) -> tuple[str, str, str]:
    """Service, database and schema of a schema number."""
    database = number // SCHEMAS_PER_DATABASE % len(words.DATABASES)
    area = words.AREAS[number % len(words.AREAS)]
    return service_name("databaseService", number), words.DATABASES[database], area.name


def entity_line(kind: str, parent: str | None, name: str) -> Line:
    """The beginning of an entity's line; `parent` is a qualified name."""
    fqn = f"{parent}.{name}" if parent else name
    return {"entityType": kind, "name": name, "fullyQualifiedName": fqn}


def definition(name: str) -> Line:
    """A definition of tests, which has a key `entityType` of its own."""
    return {
        "kind": "testDefinition",
        "name": name,
        "entityType": "TABLE",
        "testPlatforms": ["dbt"],
    }


def reference(kind: str, fqn: str) -> Line:
    """A reference by qualified name."""
    return {"type": kind, "fullyQualifiedName": fqn}


def day_text(seconds: int) -> str:
    """The day of a moment, in seconds since 1970, as an ISO 8601 time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT00:00:00Z")
