"""The results of a run of dbt.

Results are read as raw JSON of any version from 4 on
(https://docs.getdbt.com/reference/artifacts/run-results-json).
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from domain.contracts.elements import text
from domain.dates import milliseconds
from domain.errors import InvalidInput, shown
from domain.patches.json_input import MISFITS

OLDEST = 4
"""The oldest version of the results that is read (dbt 1.0)."""
_VERSION = re.compile(r".*/run-results/v(\d{1,4})(?:\.json)?")


class Run(msgspec.Struct, kw_only=True):
    """A run of dbt."""

    invocation: str
    at: int
    """Milliseconds since 1970."""


class NodeResult(msgspec.Struct, kw_only=True):
    """The result of a model or a test."""

    unique_id: str
    status: str


class _Results(msgspec.Struct):
    metadata: dict[str, Any]
    results: list[msgspec.Raw]


def read_run(data: bytes) -> tuple[Run, Iterator[NodeResult]]:
    """A run, and the results of its nodes one after the other.

    Raises InvalidInput for what are no results of a run, or those of an older version.
    """
    try:
        results = msgspec.json.decode(data, type=_Results)
    except MISFITS as error:
        raise InvalidInput(f"this is no run_results.json of dbt: {error}") from None
    given = results.metadata.get("dbt_schema_version")
    version = _VERSION.fullmatch(given) if isinstance(given, str) else None
    if version and int(version[1]) < OLDEST:
        raise InvalidInput(f"results of a run must be of version {OLDEST} or later, got {given}")
    invocation, generated = (
        text(results.metadata, key) for key in ("invocation_id", "generated_at")
    )
    try:
        moment = datetime.fromisoformat(generated or "")
    except ValueError:
        raise InvalidInput(
            f"metadata.generated_at of run_results.json must be a time, got {shown(generated)}"
        ) from None
    run = Run(invocation=invocation or "unknown", at=milliseconds(moment))
    return run, _results(results.results)


def _results(nodes: Sequence[msgspec.Raw]) -> Iterator[NodeResult]:
    for raw in nodes:
        try:
            yield msgspec.json.decode(raw, type=NodeResult)
        except msgspec.ValidationError:
            continue
