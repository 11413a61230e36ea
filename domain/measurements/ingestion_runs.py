"""Runs of ingestion pipelines, as the workflows of OpenMetadata's client report them."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from domain.kinds.bodies.components import Integer, Part
from domain.kinds.bodies.secret_texts import masked_lines
from domain.measurements.reports import Point, Timestamp
from domain.measurements.runs import RUN, masked_values

MAX_STEPS = 1_000
"""Steps of one run."""


class Failure(Part, kw_only=True):
    """What a step could not do."""

    name: str
    error: str
    stack_trace: str | None = None

    def masked(self) -> "Failure":
        """The failure without the lines that may hold a secret, such as the address of a source."""
        trace = self.stack_trace
        return replace(
            self, error=masked_lines(self.error), stack_trace=trace and masked_lines(trace)
        )


class StepSummary(
    Part,
    rename={
        "operation_metrics": "operationMetrics",
        "source_time_ms": "sourceTimeMs",
        "sink_time_ms": "sinkTimeMs",
    },
    kw_only=True,
):
    """What a step of a workflow has done, by the keys of OpenMetadata's `StepSummary`."""

    name: str
    records: Integer | None = None
    updated_records: Integer | None = None
    warnings: Integer | None = None
    errors: Integer | None = None
    filtered: Integer | None = None
    failures: list[Failure] | None = None
    progress: dict[str, Any] | None = None
    operation_metrics: dict[str, Any] | None = None
    source_time_ms: float | None = None
    sink_time_ms: float | None = None

    def masked(self) -> "StepSummary":
        """The summary with its failures masked."""
        return replace(self, failures=self.failures and [each.masked() for each in self.failures])


class IngestionRun(Part, kw_only=True):
    """A run of an ingestion pipeline, which its `runId` tells apart from others."""

    run_id: Annotated[str, Meta(max_length=256)] | None = None
    pipeline_state: (
        Literal["queued", "success", "failed", "running", "partialSuccess", "stopped"] | None
    ) = None
    start_date: Timestamp | None = None
    timestamp: Timestamp | None = None
    end_date: Timestamp | None = None
    status: Annotated[list[StepSummary], Meta(max_length=MAX_STEPS)] | None = None
    config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def part(self) -> str:
        """The part of the series that the run is: its id."""
        return self.run_id or ""

    def points(self, now: int, earlier: int | None) -> Iterator[Point]:
        """The only point of the run; `earlier` is the time of what was reported of it before.

        A value of the configuration that may hold a secret is masked, and so is each line of a
        failure that may.
        """
        at = next(at for at in (earlier, self.timestamp, self.start_date, now) if at is not None)
        kept = replace(
            self,
            timestamp=at if self.timestamp is None else self.timestamp,
            config=masked_values(self.config),
            metadata=masked_values(self.metadata),
            status=self.status and [step.masked() for step in self.status],
        )
        yield Point(RUN, self.part, at, msgspec.json.encode(kept))
