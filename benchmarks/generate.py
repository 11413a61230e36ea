"""Writes a made-up catalog of any size as JSON lines for `catalog import`.

    python -m benchmarks.generate 500 > sample.jsonl

The same count and seed give the same bytes. Nothing is remembered but the tables of the schema
at hand, so a million lines need no more memory than ten.
"""

import itertools
import json
import sys
from collections.abc import Iterator

import click
import msgspec

from benchmarks.sample.assets import Assets
from benchmarks.sample.lines import Line
from benchmarks.sample.tables import TABLES

_CONTRACTED = 2 / 3
"""The share of tables that has a contract."""
_encode = msgspec.json.Encoder().encode


class _Catalog(Assets):
    """The entities of one catalog; its methods must be called in a fixed order to repeat."""

    def entities(self) -> Iterator[Line]:
        """Endless: people and vocabularies, then schema after schema with what belongs to it."""
        yield from self.foundations()
        for number in itertools.count():
            yield from self._schema(number)

    def _schema(self, number: int) -> Iterator[Line]:
        yield from self.containers_of(number)
        tables = []
        for made in self.tables(number):
            tables.append(made.table)
            yield made.line
            if self._chance(_CONTRACTED):
                yield self.contract(made.table)
        yield from self.assets(number, tables)


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
    for number in range(-(-count // TABLES)):
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


@click.command()
@click.argument("count", type=click.IntRange(min=1))
@click.option("--seed", type=int, default=1, show_default=True, help="Another catalog.")
@click.option("--contracts", "only", is_flag=True, help="Contracts, and the tables they are for.")
def main(count: int, seed: int, only: bool) -> None:
    """Write COUNT made-up entities as JSON lines to standard output."""
    sys.stdout.buffer.writelines(contracts(count, seed) if only else lines(count, seed))


if __name__ == "__main__":
    main()
