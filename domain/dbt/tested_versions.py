"""Versions of contracts that runs of dbt have tested.

A run has tested the models of its own invocation. The manifest of that invocation may be imported
after the run, and makes the version that was tested; so imports note where the log stood when they
had imported a manifest. A run of which no manifest was imported has tested what there was then.
"""

import msgspec

from domain.aggregate.entity import Entity
from domain.dbt.run_results import Run
from domain.errors import NotFound, Purged
from domain.event_store.port import EventStore
from domain.kinds.registry import CONTRACT
from domain.measurements.port import Measurements, PageRequest
from domain.measurements.reports import MANIFEST, Point
from domain.reading import history


class _Imported(msgspec.Struct):
    position: int


def noted_manifest(invocation: str, position: int, at: int) -> Point:
    """The note, of a database service, that the manifest of an invocation is imported.

    `position` is that of the log then, `at` the time in milliseconds since the Unix epoch.
    """
    return Point(MANIFEST, invocation, at, msgspec.json.encode(_Imported(position)))


class TestedVersions:
    """The contracts of a database service as a run has tested them."""

    __test__ = False  # none of pytest's

    def __init__(
        self, store: EventStore, measurements: Measurements, service_id: str, run: Run
    ) -> None:
        """Raises StoreUnavailable."""
        self._store = store
        self._at = run.at
        noted = PageRequest(
            entity_id=service_id, series=MANIFEST, part=run.invocation, limit=1, most_bytes=1_000
        )
        points = measurements.page(noted).points
        self._position = (
            msgspec.json.decode(points[0][1], type=_Imported).position if points else None
        )

    def of(self, contract: Entity) -> Entity | None:
        """The contract as it was tested; None where there was none."""
        if contract.updated_at <= self._at:
            return contract
        if self._position is not None:
            try:
                return history.as_of(self._store, CONTRACT, contract.id, self._position)[0]
            except (NotFound, Purged):
                return None
        tested = None
        for revision in history.revisions(self._store, contract.id):
            if revision.entity.updated_at <= self._at:
                tested = revision.entity
        return tested
