"""Statements: what one event says, without what may hold secrets."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """The state of a run by an event."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    OTHER = "OTHER"

    @property
    def is_final(self) -> bool:
        """True if the run has ended."""
        return self in _FINAL


_FINAL = (State.COMPLETE, State.FAIL, State.ABORT)


class DatasetName(Struct, frozen=True, array_like=True):
    """A dataset by OpenLineage's naming: where it is, and its name there."""

    namespace: str
    name: str


class JobName(Struct, frozen=True, array_like=True):
    """A job by OpenLineage's naming."""

    namespace: str
    name: str


class MadeOf(Struct, frozen=True, array_like=True):
    """A column of an output that is made of a column of a dataset."""

    column: str
    """Empty where nothing is to be said of columns."""
    source: DatasetName
    field: str
    function: str | None = None


class Output(Struct, frozen=True, array_like=True):
    """A dataset that a job writes, with what is said of how it is made."""

    name: DatasetName
    columns: tuple[MadeOf, ...] | None = None
    """Columns with their source columns; None where the event says nothing of columns."""
    sources: tuple[DatasetName, ...] | None = None
    """The datasets that it is made of; None where no event states them explicitly."""


class Lineage(Struct, frozen=True, array_like=True):
    """The datasets that a job reads and writes."""

    inputs: tuple[DatasetName, ...] = ()
    outputs: tuple[Output, ...] = ()
    sql: str | None = None
    symlinks: tuple[tuple[DatasetName, tuple[DatasetName, ...]], ...] = ()
    """Dataset -> other names of the same table, which are looked up before its own."""

    def with_later(self, later: "Lineage") -> "Lineage":
        """All that this one and a later event of the same run say; the later one comes first."""
        outputs = {each.name: each for each in self.outputs}
        for each in later.outputs:
            before = outputs.get(each.name, each)
            outputs[each.name] = Output(
                each.name,
                before.columns if each.columns is None else each.columns,
                before.sources if each.sources is None else each.sources,
            )
        return Lineage(
            tuple(dict.fromkeys((*self.inputs, *later.inputs))),
            tuple(outputs.values()),
            later.sql or self.sql,
            tuple({**dict(self.symlinks), **dict(later.symlinks)}.items()),
        )


class Field(Struct, frozen=True, array_like=True):
    """A column in the `schema` of a dataset."""

    path: tuple[str, ...]
    """The names of the columns around it, the outermost first, and its own name."""
    type: str | None = None
    description: str | None = None


class DatasetTexts(Struct, frozen=True, array_like=True):
    """The texts and columns that an event gives a dataset."""

    name: DatasetName
    description: str | None = None
    fields: tuple[Field, ...] = ()
    owners: tuple[str, ...] = ()


class CheckedAssertion(Struct, frozen=True, array_like=True):
    """The result of a test of a dataset."""

    dataset: DatasetName
    test: str
    name: str
    success: bool
    column: str | None = None
    outcome: str | None = None
    """The expected and the actual value, in words."""


class Statement(Struct, frozen=True, kw_only=True):
    """The content of one event, as far as the catalog uses it."""

    at: int
    """Milliseconds since 1970, never in the future."""
    state: State | None = None
    """State of the run; None for an event of a job or a dataset."""
    job: JobName | None = None
    """None for an event of a dataset."""
    root: JobName | None = None
    """The job at the top, of which this one is a part; the job itself where it is the top."""
    run_id: str = ""
    root_run_id: str = ""
    task: str | None = None
    """The name of the job as a task of the root; None for the root itself."""
    integration: str = ""
    is_streaming: bool = False
    is_entity: bool = True
    """False for what is a detail of a job, such as one statement of SQL: neither pipeline nor task.
    """
    description: str | None = None
    owners: tuple[str, ...] = ()
    nominal: str | None = None
    message: str | None = None
    lineage: Lineage = Lineage()
    texts: tuple[DatasetTexts, ...] = ()
    assertions: tuple[CheckedAssertion, ...] = ()
    written: tuple[tuple[DatasetName, int], ...] = ()
    """Rows written into datasets."""
    mentioned: tuple[DatasetName, ...] = ()
    """The datasets of the event that no edge can be made of."""
    told: tuple[str, ...] = ()
    names_pipeline: bool = True
    """False if its caller may not write of which pipeline an edge is."""

    @property
    def has_datasets(self) -> bool:
        """True if the job reads or writes anything."""
        return bool(self.lineage.inputs or self.lineage.outputs)

    @property
    def draws(self) -> bool:
        """True if the event alone says that its datasets are read and written."""
        if self.state is None or self.state is State.COMPLETE:
            return True
        return self.is_streaming and self.state in (State.START, State.RUNNING)
