"""Reported runs as they are kept beside the log, for the page of a contract."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from domain.contracts.validation.reported_runs import Check, Log, ReportedRun
from domain.contracts.validation.results import Status
from domain.kinds.bodies.secret_texts import masked_lines

MOST_CHECKS = 500
MOST_LOGS = 200
KEPT_RUNS = 10
"""Runs of a contract, the newest."""
_CHECKS_BYTES, _LOGS_BYTES = 800_000, 150_000
_TITLE, _TEXT = 300, 2_000
"""Characters of a name, and of a reason or message."""
_ORDER = ("failed", "error", "warning")
"""Results in the order in which people look for them."""

T = TypeVar("T", bound=msgspec.Struct)


class KeptRun(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A run of the tests of a contract, without the rows that failed them."""

    run_id: str
    status: Status
    """The status that this run gives the contract."""
    data_contract_version: str | None = None
    datacontract_cli_version: str | None = None
    server: str | None = None
    timestamp_start: datetime | None = None
    timestamp_end: datetime | None = None
    checks: list[Check]
    """The checks that are kept; those that did not pass come first."""
    omitted: int = 0
    """Number of checks that are not kept."""
    logs: list[Log]
    """The last messages of the run."""


def kept_run(run: ReportedRun, checks: Sequence[Check], status: Status) -> bytes:
    """The JSON of a run with the checks that are about a contract, of less than a megabyte.

    500 checks and 200 messages are kept, long texts are cut, and what may hold a secret is masked.
    """
    ordered = sorted(checks, key=_place)
    shown = list(_fitting(map(_cut_check, ordered[:MOST_CHECKS]), _CHECKS_BYTES))
    logs = list(_fitting(map(_cut_log, reversed((run.logs or [])[-MOST_LOGS:])), _LOGS_BYTES))
    return msgspec.json.encode(
        KeptRun(
            run_id=str(run.run_id),
            status=status,
            data_contract_version=_cut(run.data_contract_version, _TITLE),
            datacontract_cli_version=_cut(run.datacontract_cli_version, _TITLE),
            server=_cut(run.server, _TITLE),
            timestamp_start=run.timestamp_start,
            timestamp_end=run.timestamp_end,
            checks=shown,
            omitted=len(checks) - len(shown),
            logs=logs[::-1],
        )
    )


def _place(check: Check) -> int:
    if check.result in _ORDER:
        return _ORDER.index(check.result)
    return len(_ORDER) + (check.result is not None)


def _fitting(items: Iterable[T], most_bytes: int) -> Iterator[T]:
    """Yield items from the first on, as long as their JSON takes at most `most_bytes` together."""
    for each in items:
        most_bytes -= len(msgspec.json.encode(each))
        if most_bytes < 0:
            return
        yield each


def _cut_check(check: Check) -> Check:
    return replace(
        check,
        type=_cut(check.type, _TITLE) or "",
        category=_cut(check.category, _TITLE),
        name=_cut(check.name, _TITLE),
        model=_cut(check.model, _TITLE),
        field=_cut(check.field, _TITLE),
        dimension=_cut(check.dimension, _TITLE),
        result=_cut(check.result, _TITLE),
        reason=_cut(check.reason, _TEXT),
    )


def _cut_log(log: Log) -> Log:
    return Log(level=_cut(log.level, _TITLE) or "", message=_cut(log.message, _TEXT) or "")


def _cut(text: str | None, most: int) -> str | None:
    return text and masked_lines(text[:most])
