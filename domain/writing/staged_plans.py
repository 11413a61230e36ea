"""Several plans that are stored together, each made on what the ones before it leave."""

from collections.abc import Callable

from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Perspective
from domain.event_store.entity_reads import EntityReads
from domain.event_store.writes import Append
from domain.writing.entity_cache import EntityCache
from domain.writing.lineage import LineagePlanner
from domain.writing.planning import Planner
from domain.writing.plans import Plan, Step, append_of
from domain.writing.staged_log import StagedLog


class StagedPlans:
    """Planners over a log with all that was planned; for one thread, and one transaction."""

    def __init__(
        self,
        log: EntityReads,
        entities: EntityCache,
        now: Callable[[], int],
        make_id: Callable[[], str],
        gate: Perspective | None = None,
    ) -> None:
        """`entities` remembers states of the log; the rest is what planners are given."""
        self.log = StagedLog(log)
        self.entities = EntityCache(self.log, entities)
        self.planner = Planner(self.log, self.entities, now, make_id, gate)
        self.lineage = LineagePlanner(self.log, self.entities, now, make_id)
        self._steps: list[Step] = []
        self._states: dict[str, Entity] = {}

    @property
    def events(self) -> int:
        """Number of events that are staged."""
        return sum(len(step.events) for step in self._steps)

    def stage(self, plan: Plan) -> None:
        """Have what follows planned on what a plan leaves, and stored with it."""
        for step in plan.steps:
            if step.events:
                self._steps.append(Step(None, step.events, step.after))
                self._states[step.after.id] = step.after
                self.log.stage(step.events, step.after)

    def append(self, epoch: int) -> Append:
        """The append of all that was staged, which was planned in an epoch of the log."""
        return append_of(self._steps, epoch, states=[*self._states.values()])
