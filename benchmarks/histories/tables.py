"""The tables of a sorted read model, as the model of histories compares them."""

import json

from benchmarks.histories.record import Json


def viewed(
    checkpoint: list[tuple[int]],
    entities: list[tuple[str, str, str, str, int, int, bytes, bytes]],
    totals: list[tuple[str, int, int]],
) -> tuple[int, dict[str, Json], dict[tuple[str, bool], int]]:
    """Rows of the tables of a sorted read model, as the model of histories compares them."""
    rows = {
        entity_id: {
            "kind": kind,
            "name": name,
            "fqn": fqn,
            "deleted": bool(deleted),
            "position": position,
            "document": {**json.loads(core), **json.loads(optional)},
        }
        for entity_id, kind, name, fqn, deleted, position, core, optional in entities
    }
    counted = {(kind, bool(deleted)): int(n) for kind, deleted, n in totals if n}
    return (checkpoint[0][0] if checkpoint else 0), rows, counted
