"""Several plans stored together, each on what the ones before it leave."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from domain.errors import NotFound
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.catalog import Catalog
from domain.writing.staged_plans import StagedPlans

CONTEXT = WriteContext(actor="me", request_id="r", by_bot=True)
SERVICE, PIPELINE = KINDS["pipelineService"], KINDS["pipeline"]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventStore]:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        yield log


def two_pipelines(plans: StagedPlans) -> tuple[str, str]:
    """A service and two pipelines below it, by three plans, and an edge between them."""
    plans.stage(plans.planner.create(SERVICE, {"name": "s", "serviceType": "Airflow"}, CONTEXT))
    for name in ("a", "b"):
        plans.stage(plans.planner.create(PIPELINE, {"name": name, "service": "s"}, CONTEXT))
    patch = [{"op": "add", "path": "/description", "value": "text"}]
    beginning, end = (plans.log.claim("pipeline", f"s.{name}") for name in ("a", "b"))
    assert beginning is not None
    assert end is not None
    plans.stage(plans.planner.patch(PIPELINE, beginning.id, patch, CONTEXT))
    edge = plans.lineage.add_to(beginning, end, lambda before: {"source": "OpenLineage"}, CONTEXT)
    assert edge is not None
    plans.stage(edge)
    again = plans.lineage.add_to(beginning, end, lambda before: None, CONTEXT)
    assert again is None
    assert plans.events == 5
    return beginning.id, end.id


def test_plans_are_stored_together(log: EventStore) -> None:
    catalog = Catalog(log)
    proposal, (beginning, _) = catalog.propose_staged(two_pipelines)
    assert log.head() == 0
    catalog.until_stored(lambda: (proposal, None))
    assert log.head() == 5
    state = catalog.planner.live(PIPELINE, beginning)
    assert (state.value("description"), state.stream_version) == ("text", 2)


def test_edge_is_given_what_its_change_makes_of_it(log: EventStore) -> None:
    catalog = Catalog(log)
    catalog.until_stored(lambda: catalog.propose_staged(two_pipelines))
    seen = []

    def change(before: object) -> dict[str, str]:
        seen.append(before)
        return {"source": "OpenLineage", "sqlQuery": "select 1"}

    def plan(plans: StagedPlans) -> None:
        ends = [plans.log.claim("pipeline", f"s.{name}") for name in ("a", "b")]
        assert ends[0] is not None
        assert ends[1] is not None
        edge = plans.lineage.add_to(ends[0], ends[1], change, CONTEXT)
        assert edge is not None
        plans.stage(edge)

    for events in (6, 6):
        catalog.until_stored(lambda: catalog.propose_staged(plan))
        assert log.head() == events
    assert [each["source"] for each in seen] == ["OpenLineage"] * 2
    assert ["sqlQuery" in each for each in seen] == [False, True]


def test_plan_that_is_refused_stores_nothing(log: EventStore) -> None:
    catalog = Catalog(log)

    def plan(plans: StagedPlans) -> None:
        two_pipelines(plans)
        plans.planner.create(PIPELINE, {"name": "c", "service": "nowhere"}, CONTEXT)

    with pytest.raises(NotFound):
        catalog.propose_staged(plan)
    assert log.head() == 0
