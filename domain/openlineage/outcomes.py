"""The outcome of a statement: what was drawn, what is missing, and what has to be remembered."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from domain.event_store.stored import Claim
from domain.openlineage.edges import SaidEdge
from domain.openlineage.facets import Told
from domain.openlineage.keeping import WAITING, Work
from domain.openlineage.kept_rows import Row, key_of
from domain.openlineage.missing_datasets import MISSING, missing_row
from domain.openlineage.statements import (
    CheckedAssertion,
    DatasetName,
    JobName,
    Lineage,
    MadeOf,
    Output,
    Statement,
)


class Outcome:
    """The outcome of one statement, filled in while it is planned."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.told = Told()
        for sentence in statement.told:
            self.told.add(sentence)
        self.edges = 0
        """Number of edges that the statement means and the catalog has."""
        self.missing: dict[DatasetName, None] = {}
        """Datasets that the catalog does not have."""
        self.waiting = 0
        """Number of edges that wait for missing datasets."""
        self.pipeline: Claim | None = None
        self.tests: list[tuple[str, str, CheckedAssertion]] = []
        """Id and qualified name of each test case, with the result."""
        self.written: list[tuple[str, int]] = []
        """Id of each table, with the number of rows written into it."""
        self.concerned: set[str] = set()
        """Ids of the entities on whose present state the outcome rests."""
        self.work = Work()
        """The rows that are still to be written."""
        self._links = dict(statement.lineage.symlinks)

    def wait(self, actor: str, edge: SaidEdge, missing: Iterable[DatasetName]) -> None:
        """Have an edge wait for datasets."""
        self.waiting += 1
        self._keep(
            actor,
            key_of(*self._job, *astuple(edge.source), *astuple(edge.target)),
            _of_edge(edge),
            missing,
        )

    def wait_alone(self, actor: str, name: DatasetName) -> None:
        """Remember a dataset that is missing and has no edge here."""
        self._keep(actor, key_of(*self._job, *astuple(name)), Lineage(), [name], mentioned=(name,))

    @property
    def _job(self) -> tuple[str, str]:
        job = self.statement.job
        return (job.namespace, job.name) if job else ("", "")

    def _keep(
        self,
        actor: str,
        key: str,
        lineage: Lineage,
        missing: Iterable[DatasetName],
        mentioned: tuple[DatasetName, ...] = (),
    ) -> None:
        said = self.statement
        names = {*missing}
        links = tuple((name, self._links[name]) for name in names if name in self._links)
        kept = Waiting(
            actor=actor,
            at=said.at,
            job=said.job,
            root=said.root,
            task=said.task,
            integration=said.integration,
            lineage=Lineage(
                lineage.inputs,
                lineage.outputs,
                said.lineage.sql if lineage.outputs else None,
                links,
            ),
            mentioned=mentioned,
            names_pipeline=said.names_pipeline,
        )
        self.work.add(WAITING, Row(key, said.at, encode_waiting(kept)))
        for name in names:
            self.missing[name] = None
            self.work.add(MISSING, missing_row(key, name, said.at, leaf_of(name.name)))


class Waiting(Struct, frozen=True, kw_only=True, array_like=True):
    """A statement that waits for datasets, with who has made it."""

    actor: str
    at: int
    job: JobName | None = None
    root: JobName | None = None
    task: str | None = None
    integration: str = ""
    lineage: Lineage = Lineage()
    mentioned: tuple[DatasetName, ...] = ()
    names_pipeline: bool = True

    @property
    def statement(self) -> Statement:
        """The statement once more, as that of a job."""
        return Statement(
            at=self.at,
            job=self.job,
            root=self.root,
            task=self.task,
            integration=self.integration,
            lineage=self.lineage,
            mentioned=self.mentioned,
            names_pipeline=self.names_pipeline,
        )


encode_waiting = msgspec.msgpack.Encoder(enc_hook=list).encode
decode_waiting = msgspec.msgpack.Decoder(Waiting).decode


def leaf_of(name: str) -> str:
    """The label of a dataset: its last part in lower case, which is what a table is called."""
    return key_of(name.rpartition("/")[2].rpartition(".")[2].lower())


def _of_edge(edge: SaidEdge) -> Lineage:
    columns = None
    if edge.mappings is not None:
        columns = tuple(
            MadeOf(each.to_column, edge.source, field, each.function)
            for each in edge.mappings
            for field in each.from_columns
        )
    return Lineage((), (Output(edge.target, columns, (edge.source,)),))
