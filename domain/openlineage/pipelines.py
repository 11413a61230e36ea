"""Pipelines and their tasks: the jobs of events, each an event of the log when first seen."""

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, RequestRefused, shown
from domain.event_store.stored import Claim
from domain.kinds.names import child, quote, split
from domain.kinds.registry import KINDS
from domain.openlineage.facets import Told, place
from domain.openlineage.mapping_file import Rules
from domain.openlineage.statements import Statement
from domain.openlineage.texts import owners_of
from domain.write_context import WriteContext
from domain.writing.staged_plans import StagedPlans

PIPELINE, SERVICE = KINDS["pipeline"], KINDS["pipelineService"]
MOST_TASKS = 2_000
"""Tasks that a pipeline is given; jobs beyond are part of it without a task."""
_SERVICE_TYPES = {
    "AIRFLOW": "Airflow",
    "SPARK": "Spark",
    "FLINK": "Flink",
    "DAGSTER": "Dagster",
    "DBT": "DBTCloud",
}
"""Integration -> type of the service that is made for it."""


class Pipelines:
    """Finds or makes the pipelines of statements, in one transaction."""

    def __init__(self, plans: StagedPlans, rules: Rules) -> None:
        self._plans = plans
        self._rules = rules
        self._known: dict[str, Claim | None] = {}

    def pipeline_of(self, said: Statement, context: WriteContext, told: Told) -> Claim | None:
        """The pipeline of a statement's root, with the statement's task; None where there is none.

        An error, such as that of a name that is too long, becomes a sentence of `told`. A pipeline
        that somebody has deleted stays deleted.
        """
        assert said.root is not None
        where = place("job", said.root.namespace, said.root.name)
        try:
            claim = self._found(said, context)
            if claim is None:
                return None
            if claim.deleted:
                told.add(f"{where}: its pipeline is deleted")
                return None
            self._complete(claim, said, context, told)
        except RequestRefused as error:
            told.add(f"{where}: {error.message}")
            return None
        return claim

    def known(self, said: Statement, context: WriteContext, told: Told) -> Claim | None:
        """The pipeline of a statement's root, if there is one already, with the root's texts."""
        claim = self._plans.log.claim(PIPELINE.name, child(*self._name(said)))
        if claim is None or claim.deleted:
            return None
        if said.task is None:
            self._complete(claim, said, context, told)
        return claim

    def _name(self, said: Statement) -> tuple[str, str]:
        """The qualified name of the service of a statement's pipeline, and the name of this."""
        assert said.root is not None
        rule = self._rules.of_job(said.root.namespace)
        return rule.service if rule else quote(said.root.namespace), said.root.name

    def _found(self, said: Statement, context: WriteContext) -> Claim | None:
        service, name = self._name(said)
        fqn = child(service, name)
        if fqn in self._known:
            return self._known[fqn]
        claim = self._plans.log.claim(PIPELINE.name, fqn)
        if claim is None:
            if self._plans.log.claim(SERVICE.name, service) is None:
                self._make_service(service, said, context)
            values = {"name": name, "service": service}
            self._plans.stage(self._plans.planner.create(PIPELINE, values, context))
            claim = self._plans.log.claim(PIPELINE.name, fqn)
        self._known[fqn] = claim
        return claim

    def _make_service(self, fqn: str, said: Statement, context: WriteContext) -> None:
        parts = split(fqn)
        if len(parts) > 1:
            raise InvalidInput(f"CATALOG_OPENLINEAGE: {shown(fqn)} is not the name of a service")
        type_ = _SERVICE_TYPES.get(said.integration, "OpenLineage")
        values = {"name": parts[0], "serviceType": type_}
        self._plans.stage(self._plans.planner.create(SERVICE, values, context))

    def _complete(self, claim: Claim, said: Statement, context: WriteContext, told: Told) -> None:
        """Add a task that is new, and texts where there are none."""
        state = self._plans.entities.known(claim.id)
        operations = []
        if said.task is None:
            if said.description and not state.value("description"):
                operations.append(_adding("/description", said.description))
            owners = owners_of(said.owners, self._plans.log)
            if owners and not state.value("owners"):
                operations.append(_adding("/owners", owners))
        else:
            operations += self._task(state, said, told)
        if operations:
            plan = self._plans.planner.patch(PIPELINE, claim.id, operations, context)
            self._plans.stage(plan)

    def _task(self, state: Entity, said: Statement, told: Told) -> list[dict[str, object]]:
        assert said.task is not None
        assert said.job is not None
        tasks = state.value("tasks") or []
        number = next((n for n, each in enumerate(tasks) if each["name"] == said.task), None)
        if number is not None:
            if said.description and not tasks[number].get("description"):
                return [_adding(f"/tasks/{number}/description", said.description)]
            return []
        if len(tasks) >= MOST_TASKS:
            told.add(f"task {shown(said.task)} left out: a pipeline may have {MOST_TASKS:,}")
            return []
        task = {"name": said.task, "displayName": said.job.name}
        if said.integration:
            task["taskType"] = said.integration
        if said.description:
            task["description"] = said.description
        return [_adding("/tasks/-", task) if tasks else _adding("/tasks", [task])]


def _adding(path: str, value: object) -> dict[str, object]:
    return {"op": "add", "path": path, "value": value}
