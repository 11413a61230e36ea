"""The runs of a pipeline on its page."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.pages.entities.entity_routes import EntityRequest
from api.use_cases import measured
from domain.measurements.runs import RUN, PipelineRun, TaskRun, with_tasks

RUNS = 20
"""Runs that the page of a pipeline shows."""
TASKS_NAMED = 20
"""Tasks of a run that the page names, those that did not succeed first."""
_ORDER = ("Failed", "Pending", "Skipped", "Successful")
"""States in the order in which people look for them."""


class _Paging(msgspec.Struct):
    total: int


class _Page(msgspec.Struct):
    data: list[PipelineRun]
    paging: _Paging


_decode = msgspec.json.Decoder(_Page).decode


def pipeline_runs_of(at: EntityRequest, entity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The newest runs of a pipeline; None for an entity of another kind. Blocks."""
    if at.kind.name != "pipeline":
        return None
    body = measured.page(
        at.services,
        entity["id"],
        RUN,
        "",
        start_ts=None,
        end_ts=None,
        limit=RUNS,
        after=None,
        complete=with_tasks,
    )
    page = _decode(body)
    return {"total": page.paging.total, "rows": [_row(run) for run in page.data]}


def _row(run: PipelineRun) -> dict[str, Any]:
    tasks = sorted(run.task_status or (), key=lambda task: _ORDER.index(task.execution_status))
    end = run.end_time or max((task.end_time or 0 for task in tasks), default=0)
    start = run.start_time or run.timestamp
    return {
        "run": run,
        "seconds": (end - start) / 1_000 if end > start else None,
        "tasks": tasks[:TASKS_NAMED],
        "more_tasks": len(tasks[TASKS_NAMED:]),
        "succeeded": sum(task.execution_status == "Successful" for task in tasks),
        "total_tasks": len(tasks),
        "rows": _rows(run, tasks),
        "said": _said(run, tasks),
    }


def _rows(run: PipelineRun, tasks: list[TaskRun]) -> int | None:
    """The number of rows that a run has written, by itself or by its tasks; None if none says."""
    if run.metrics and run.metrics.total_rows_processed is not None:
        return run.metrics.total_rows_processed
    parts: list[PipelineRun | TaskRun] = [run, *tasks]
    made = [each for part in parts for each in part.outputs or ()]
    counts = [each.row_count for each in made if each.row_count is not None]
    return sum(counts) if counts else None


def _said(run: PipelineRun, tasks: list[TaskRun]) -> str:
    """The message of the first error of a run, or of one of its tasks; empty without any."""
    parts: list[PipelineRun | TaskRun] = [run, *tasks]
    errors = (part.error for part in parts if part.error)
    return next((error.error_message for error in errors if error.error_message), "")
