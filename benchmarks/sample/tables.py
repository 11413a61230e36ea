"""Schemas with their tables, and the contracts on these."""

import itertools
from collections.abc import Iterator, Sequence

from benchmarks import words
from benchmarks.sample.foundations import Foundations
from benchmarks.sample.lines import (
    DAY,
    SCHEMAS_PER_DATABASE,
    SCHEMAS_PER_PLATFORM,
    Line,
    MadeTable,
    Table,
    day_text,
    entity_line,
    reference,
    schema_place,
    service_name,
    service_type,
)

STATUSES = ("Draft", "Active", "Deprecated")
_STATUS_WEIGHTS = (25, 60, 15)
TABLES = 22
"""Tables in a schema."""


class Tables(Foundations):
    """Schema after schema with its tables."""

    def containers_of(self, number: int) -> Iterator[Line]:
        """The schema of this number, before it the services and the database when they are new."""
        service, database, schema = schema_place(number)
        if number % SCHEMAS_PER_PLATFORM == 0:
            for kind in words.SERVICES:
                name = service_name(kind, number)
                unit = name.rpartition("_")[0].replace("_", " ")
                chosen = service_type(kind, number)
                yield {
                    **entity_line(kind, None, name),
                    "serviceType": chosen,
                    "description": f"{chosen} of the {unit} business.",
                }
        if number % SCHEMAS_PER_DATABASE == 0:
            yield {
                **entity_line("database", service, database),
                "description": f"Tables for {database}, kept by the platform team.",
                "service": reference("databaseService", service),
            }
        area = words.AREAS[number % len(words.AREAS)]
        parent = f"{service}.{database}"
        yield {
            **entity_line("databaseSchema", parent, schema),
            "displayName": area.title,
            "description": self._prose(f"All {database} tables about {area.title.lower()}."),
            "database": reference("database", parent),
        }

    def tables(self, number: int) -> Iterator[MadeTable]:
        """The tables of a schema."""
        subjects = words.AREAS[number % len(words.AREAS)].subjects
        names = [(subject, words.FORMS[0]) for subject in subjects]
        rest = [(subject, form) for subject in subjects for form in words.FORMS[1:]]
        names += self._random.sample(rest, TABLES - len(names))
        parent = ".".join(schema_place(number))
        for subject, (form, opening) in names:
            name = form.format(subject.plural)
            columns = self._columns(subject, subjects)
            line = {
                **entity_line("table", parent, name),
                "description": self._prose(opening.format(subject.singular)),
                "tableType": "View" if name.endswith("_current") else "Regular",
                "columns": columns,
                "databaseSchema": reference("databaseSchema", parent),
            }
            if self._chance(0.7):
                line["owners"] = self._owners()
            if tags := self._tags():
                line["tags"] = tags
            if self._chance(0.2):
                area = words.AREAS[number % len(words.AREAS)]
                line["dataProducts"] = [reference("dataProduct", f"Commerce.{area.name}_insights")]
            yield MadeTable(Table(f"{parent}.{name}", name, subject, columns), line)

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

    def contract(self, table: Table, suffix: str = "") -> Line:
        """A contract about a table."""
        status = self._random.choices(STATUSES, _STATUS_WEIGHTS)[0]
        shown = table.name.replace("_", " ")
        name = f"{table.name}_contract{suffix}"
        hours = self._random.choice((1, 6, 12, 24))
        started = 1_600_000_000 + self._random.randrange(1_800) * DAY
        line = {
            **entity_line("dataContract", table.fqn, name),
            "fullyQualifiedName": f"{table.fqn}.dataContract_{name}",
            "displayName": f"{shown} contract".capitalize(),
            "description": self._prose(f"What readers of {shown} can rely on."),
            "entityStatus": status,
            "entity": reference("table", table.fqn),
            "schema": [
                {key: column[key] for key in ("name", "dataType", "dataLength") if key in column}
                for column in table.columns[:8]
            ],
            "sla": {
                "refreshFrequency": {"interval": hours, "unit": "hour"},
                "retention": {"period": self._random.choice((1, 2, 7, 10)), "unit": "year"},
            },
            "effectiveFrom": day_text(started),
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
            line["effectiveUntil"] = day_text(started + 700 * DAY)
        line["owners"] = self._owners()
        if self._chance(0.4):
            line["reviewers"] = [self._some_user()]
        return line
