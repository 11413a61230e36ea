"""Runs: what the events of one run say together, in whichever order and however often they come."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from domain.measurements.reports import Point
from domain.measurements.runs import (
    PipelineRun,
    RunError,
    RunState,
    TaskRun,
    points,
    task_point,
)
from domain.openlineage.keeping import RUNS, Keeping
from domain.openlineage.kept_rows import Row, key_of
from domain.openlineage.statements import JobName, Lineage, State, Statement

MOST_BYTES = 1_000_000
"""Bytes of what is remembered of a run; of a larger one the datasets are forgotten."""
_RANKS = (State.COMPLETE, State.ABORT, State.FAIL)
"""Final states, of two at the same time the later one here counts."""
_STATUS: Mapping[State | None, RunState] = {
    State.COMPLETE: "Successful",
    State.FAIL: "Failed",
    State.ABORT: "Skipped",
}


class RunRecord(Struct, frozen=True, kw_only=True, array_like=True):
    """A run, as far as its events have described it until now."""

    shown_at: int
    """The time under which the run is shown, which it keeps: that of the event that came first."""
    started: int | None = None
    ended: int | None = None
    state: State | None = None
    """The final state, by the latest final event; None before the first one."""
    nominal: str | None = None
    message: str | None = None
    said_at: int = 0
    """Time of the latest event that named datasets."""
    lineage: Lineage = Lineage()

    def with_event(self, said: Statement) -> "RunRecord":
        """The record with one more event; events may come twice, and in any order."""
        record = replace(
            self, nominal=self.nominal or said.nominal, message=self.message or said.message
        )
        if said.state is not None and said.state.is_final:
            if self._gives_way(said.state, said.at):
                record = replace(record, state=said.state, ended=said.at)
        else:
            known = said.at if self.started is None else min(self.started, said.at)
            record = replace(record, started=known)
        if not (said.has_datasets or said.lineage.sql):
            return record
        later = said.at >= self.said_at
        first, last = (self.lineage, said.lineage) if later else (said.lineage, self.lineage)
        whole = first.with_later(last)
        return replace(record, said_at=max(self.said_at, said.at), lineage=whole)

    def _gives_way(self, state: State, at: int) -> bool:
        if self.state is None or self.ended is None:
            return True
        return (self.ended, _RANKS.index(self.state)) < (at, _RANKS.index(state))


_encode = msgspec.msgpack.Encoder(enc_hook=list).encode
_decode = msgspec.msgpack.Decoder(RunRecord).decode


def run_key(job: JobName, run_id: str) -> str:
    """The id under which a run is remembered; another job's run of the same id is another run."""
    return key_of(job.namespace, job.name, run_id)


class KnownRun(Struct, frozen=True):
    """The records of a run, and of the run at the top that it is part of."""

    own: RunRecord
    root: RunRecord


def merge_runs(keeping: Keeping, statements: Sequence[Statement]) -> list[KnownRun | None]:
    """Add statements to the records of their runs; returns the records of each statement's run.

    None for a statement without a run. A run is shown under the time of the run at the top.
    """
    runs = [each for each in statements if each.state is not None]
    if not runs:
        return [None] * len(statements)
    records: dict[str, RunRecord] = {}

    def merged(held: Mapping[str, bytes]) -> list[Row]:
        before = {key: _decode(body) for key, body in held.items()}
        records.clear()
        records.update(before)
        for each in runs:
            root = records.get(root_key(each)) or RunRecord(shown_at=each.at)
            records[root_key(each)] = root
            own = records.get(own_key(each)) or RunRecord(shown_at=root.shown_at)
            records[own_key(each)] = own.with_event(each)
        changed = (key for key, record in records.items() if before.get(key) != record)
        return [_row(key, records[key]) for key in changed]

    keys = [key for each in runs for key in (own_key(each), root_key(each))]
    keeping.merge(RUNS, keys, merged)
    return [_known(records, each) for each in statements]


def known_runs(keeping: Keeping, statements: Sequence[Statement]) -> list[KnownRun | None]:
    """The records of the run of each statement; None for a statement without a run."""
    runs = [each for each in statements if each.state is not None]
    keys = [key for each in runs for key in (own_key(each), root_key(each))]
    held = keeping.read(RUNS, keys) if keys else {}
    records = {key: _decode(body) for key, body in held.items()}
    return [_known(records, each) for each in statements]


def _known(records: Mapping[str, RunRecord], said: Statement) -> KnownRun | None:
    if said.state is None:
        return None
    own, root = records.get(own_key(said)), records.get(root_key(said))
    return None if own is None or root is None else KnownRun(own, root)


def own_key(statement: Statement) -> str:
    """The id of a statement's run."""
    assert statement.job is not None
    return run_key(statement.job, statement.run_id)


def root_key(statement: Statement) -> str:
    """The id of the run at the top."""
    assert statement.root is not None
    return run_key(statement.root, statement.root_run_id)


def _row(key: str, record: RunRecord) -> Row:
    body = _encode(record)
    if len(body) > MOST_BYTES:
        body = _encode(replace(record, lineage=Lineage()))
    return Row(key, record.ended or record.started or record.shown_at, body)


def run_points(record: RunRecord, run_id: str, oldest: int) -> Iterable[Point]:
    """The point of a run of a pipeline, unless it is from before `oldest`."""
    run = PipelineRun(
        timestamp=record.shown_at,
        execution_status=_STATUS.get(record.state, "Pending"),
        execution_id=run_id[:256],
        start_time=record.started,
        end_time=record.ended,
        nominal_start_time=record.nominal,
        error=_error(record),
    )
    return points([run], oldest)


def task_points(record: RunRecord, task: str, at: int, oldest: int) -> Iterable[Point]:
    """The point of a task of the run that is shown at a time, unless that is before `oldest`."""
    if at < oldest:
        return
    run = TaskRun(
        name=task,
        execution_status=_STATUS.get(record.state, "Pending"),
        start_time=record.started,
        end_time=record.ended,
        error=_error(record),
    )
    yield task_point(run, at)


def _error(record: RunRecord) -> RunError | None:
    return RunError(error_message=record.message) if record.message else None
