"""Runs of pipelines, as the connectors of orchestrators report them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from domain.errors import InvalidInput
from domain.kinds.bodies.components import Integer, Part, Reference
from domain.kinds.bodies.secret_texts import MASK, holds_secret, masked_lines
from domain.measurements.reports import Point, Timestamp

RUN = "run"
"""The name of the series."""
MAX_TASKS = 10_000
"""Tasks of one run."""
MAX_RUNS = 1_000
"""Runs in one report: as many as are kept of a pipeline."""
_LONGEST = 2_000
"""The most characters of a parameter with its name."""

RunState = Literal["Successful", "Failed", "Pending", "Skipped"]


class DatasetUse(Part, kw_only=True):
    """Data that a run has read."""

    dataset_fqn: str = msgspec.field(name="datasetFQN")
    columns: list[str] | None = None
    row_count: Integer | None = None
    size_bytes: Integer | None = None
    filter: str | None = None
    version: str | None = None


class DatasetMade(Part, kw_only=True):
    """Data that a run has written."""

    dataset_fqn: str = msgspec.field(name="datasetFQN")
    columns: list[str] | None = None
    row_count: Integer | None = None
    size_bytes: Integer | None = None
    mode: Literal["overwrite", "append", "merge", "upsert"] | None = None
    partitions: list[str] | None = None
    version: str | None = None


class TaskMetrics(Part, kw_only=True):
    """What a task has done, in numbers."""

    rows_read: Integer | None = None
    rows_written: Integer | None = None
    rows_filtered: Integer | None = None
    execution_time_ms: Integer | None = None


class RunError(Part, kw_only=True):
    """The reason why a run, or a task of one, failed."""

    error_type: str | None = None
    error_message: str | None = None
    stack_trace: str | None = None
    failed_task: str | None = None

    def masked(self) -> "RunError":
        """The reason without the lines that may hold a secret."""
        message, trace = self.error_message, self.stack_trace
        return replace(
            self,
            error_message=message and masked_lines(message),
            stack_trace=trace and masked_lines(trace),
        )


class TaskRun(Part, kw_only=True):
    """A task of a run."""

    name: str
    execution_status: RunState
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    log_link: str | None = None
    task_id: str | None = None
    transformation_type: (
        Literal["filter", "aggregate", "join", "pivot", "custom", "extract", "load"] | None
    ) = None
    transformation_logic: str | None = None
    inputs: list[DatasetUse] | None = None
    outputs: list[DatasetMade] | None = None
    metrics: TaskMetrics | None = None
    error: RunError | None = None


class RunMetrics(Part, kw_only=True):
    """What a run has used."""

    total_rows_processed: Integer | None = None
    total_bytes_processed: Integer | None = None
    cpu_time: float | None = None
    memory_used: Integer | None = None
    cost: float | None = None


class PipelineRun(Part, kw_only=True):
    """A run of a pipeline.

    `timestamp` tells the runs of a pipeline apart; connectors choose it, and it need not be the
    time of a clock.
    """

    timestamp: Timestamp
    execution_status: RunState
    task_status: Annotated[list[TaskRun], Meta(max_length=MAX_TASKS)] | None = None
    execution_id: str | None = None
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    nominal_start_time: Annotated[str, Meta(max_length=64)] | None = None
    """The time for which an orchestrator has planned the run, as it writes times."""
    version: str | None = None
    parameters: dict[str, Any] | None = None
    executed_by: Reference | None = None
    inputs: list[DatasetUse] | None = None
    outputs: list[DatasetMade] | None = None
    metrics: RunMetrics | None = None
    error: RunError | None = None


def points(runs: Iterable[PipelineRun], oldest: int) -> list[Point]:
    """The points of runs, but of those before `oldest`, which would be deleted at once.

    A parameter that may hold a secret, or is longer than 2,000 characters, is masked, and so is
    each line of an error that may. Raises InvalidInput for a run by nobody that is named.
    """
    made = []
    for run in runs:
        by = run.executed_by
        if by is not None and by.id is by.fully_qualified_name is None:
            raise InvalidInput(
                f"executedBy of the run of {run.timestamp}: a reference needs `id` or"
                " `fullyQualifiedName`"
            )
        if run.timestamp >= oldest:
            kept = replace(
                run,
                parameters=masked_values(run.parameters),
                error=run.error and run.error.masked(),
            )
            made.append(Point(RUN, "", run.timestamp, msgspec.json.encode(kept)))
    return made


def task_point(task: TaskRun, at: int) -> Point:
    """The point of a task that is reported by itself, of the run that is shown at a time."""
    kept = replace(task, error=task.error and task.error.masked())
    return Point(RUN, task.name, at, msgspec.json.encode(kept))


def with_tasks(
    runs: Sequence[tuple[int, bytes]], points: Iterable[tuple[int, bytes]]
) -> list[bytes]:
    """The JSON of runs, with those of their tasks that were reported by themselves.

    Both are pairs of time and JSON; a task belongs to the run of its time.
    """
    tasks: defaultdict[int, list[TaskRun]] = defaultdict(list)
    for at, body in points:
        if body.startswith(_TASK):
            tasks[at].append(_decode_task(body))
    return [
        msgspec.json.encode(replace(run, task_status=[*(run.task_status or ()), *tasks[at]]))
        if tasks[at] and (run := _decode_run(body))
        else body
        for at, body in runs
    ]


def masked_values(given: dict[str, Any] | None) -> dict[str, Any] | None:
    """Values by their names as they are kept: what may hold a secret, or is long, is masked."""
    return {key: _masked(key, value) for key, value in given.items()} if given else None


def _masked(name: str, value: Any) -> Any:
    text = f"{name}={value}" if isinstance(value, str) else f"{name}={msgspec.json.encode(value)!r}"
    return MASK if len(text) > _LONGEST or holds_secret(text) else value


_TASK = b'{"name":'
"""The beginning of the JSON of a task, which that of no run has."""
_decode_task = msgspec.json.Decoder(TaskRun).decode
_decode_run = msgspec.json.Decoder(PipelineRun).decode
