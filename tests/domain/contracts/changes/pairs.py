"""Pairs of contracts that differ in one thing, with the changes that are to be found."""

from pathlib import Path
from typing import Any

import msgspec

from domain.contracts.changes.comparing import Terms

PATH = Path(__file__).with_name("pairs.jsonl")


class CliVerdict(msgspec.Struct, omit_defaults=True):
    """Levels by which datacontract-cli 1.2.8 grades a pair."""

    consumer: str
    producer: str
    reason: str = ""
    """Why ours differs; empty where it does not."""


class Pair(msgspec.Struct, omit_defaults=True):
    """Two contracts, each by what it says beyond what all of them do."""

    name: str
    before: dict[str, Any]
    after: dict[str, Any]
    changes: list[tuple[str, str]]
    """Word and path of each change."""
    cli: CliVerdict | None = None
    """None where the difference is in what no document can say."""


def read_pairs() -> list[Pair]:
    """All pairs."""
    return [msgspec.json.decode(line, type=Pair) for line in PATH.read_bytes().splitlines()]


def terms(given: dict[str, Any]) -> Terms:
    """The contract of one side of a pair.

    `root` has keys of the document, `object` of its schema object, `column` of a column.
    """
    root, schema_object = dict(given.get("root", {})), dict(given.get("object", {}))
    key = {"primaryKey": root.pop("key", True)}
    more, columns = root.pop("more", []), schema_object.pop("columns", [])
    identity = {"name": "id", "logicalType": "integer", "required": True, **key}
    total = {"name": "total", **given.get("column", {})}
    orders = {"name": "orders", "logicalType": "object", **schema_object}
    orders["properties"] = [identity, total, *columns]
    document = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "orders",
        "version": "1.0.0",
        "status": "active",
        "schema": [orders, *more],
        **root,
    }
    return Terms(document, given.get("beside", {}))
