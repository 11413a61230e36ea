"""Rows copied into the tables of a generation are those that commits would write there."""

import json
from contextlib import closing

from benchmarks.postgres_server import PostgresServer, new_schema
from projections.entities.folding_process import FoldedPart
from projections.entities.postgres.copy_rows import copy_in, copy_part
from projections.entities.postgres.database import EntityDatabase, EntityTables
from projections.entities.postgres.opening import make, open_read_model
from tests.contracts.test_sorted_read_model import fill, stored, uuid
from tests.postgres_models import postgres_model

ENTITIES = [
    stored(1, "plain"),
    stored(2, "", "dataContract", status="Draft", scopes=[uuid(900)], position=2**40),
    stored(3, "ä 名 \U0001f600", "dataContract", deleted=1, scopes=[uuid(901), uuid(902)]),
    stored(4, "wide", "table", status="ä", columns=[{"name": "c" * 5_000}]),
]
LISTED = [
    (scope, one.kind, one.deleted, one.name, one.id, one.status, one.position)
    for one in ENTITIES
    for scope in json.loads(one.scopes)
]


def test_copied_rows_are_those_of_commits(postgres: PostgresServer) -> None:
    schema = f"{new_schema()}_entities_1"
    with (
        postgres_model(postgres) as committed,
        closing(EntityDatabase(postgres.url("catalog"))) as database,
        closing(database.connections.connect()) as link,
    ):
        fill(committed, *ENTITIES)
        part = copy_part(FoldedPart(ENTITIES, LISTED))
        with link.transaction():
            make(link, schema)
            copy_in(link, EntityTables(database, schema, "true"), part)
        copied = open_read_model(database, schema)
        for table in ("entities", "scopes"):
            statement = f"SELECT * FROM {{}}.{table} ORDER BY 1, 2, 3, 4, 5", ()
            assert copied.tables.ask(statement) == committed.tables.ask(statement)
            assert copied.tables.ask(statement) != []
        assert {kind: (n, int.from_bytes(sum_)) for kind, n, sum_ in part.sums} == dict(
            committed.digests()
        )
    postgres.run(f"DROP SCHEMA {schema} CASCADE")
