"""Reads the statements of an event about jobs, runs and datasets."""

from collections.abc import Iterable, Iterator

from msgspec import Raw, Struct
from msgspec.structs import astuple

from domain.openlineage import facets as read
from domain.openlineage.events import Dataset, Event, Job, Run, is_name
from domain.openlineage.facets import Facets, Told, place
from domain.openlineage.outputs import MOST_DATASETS, OutputReader
from domain.openlineage.statements import (
    CheckedAssertion,
    DatasetName,
    DatasetTexts,
    Field,
    JobName,
    Lineage,
    Output,
    State,
    Statement,
)

MOST_SQL = 10_000
"""Characters of the SQL of an edge."""
MOST_MESSAGE = 1_000
"""Characters of the message of a run that failed."""
MOST_SYMLINKS = 5
"""Other names that are read of one dataset."""
MOST_FIELD_NAMES = 200_000
"""Names in the paths of all columns of one event: a column inside others has theirs before its own.
"""
_MOST_OWNERS = 100
MOST_ASSERTIONS = 1_000
"""Assertions of one event."""


def statement_of(event: Event, now: int) -> Statement:
    """Read an event; a time in the future becomes `now`, in milliseconds since 1970."""
    told = Told()
    at = min(event.at, now)
    if event.job is None:
        assert event.dataset is not None
        return _of_dataset(event.dataset, at, told)
    lineage, texts = _Datasets(event, told), _Texts(told)
    job = _Job(event.job, event.run, told)
    for dataset in lineage.all:
        texts.add(dataset.name, dataset.facets)
    final = event.run is not None and job.state(event).is_final
    return Statement(
        at=at,
        state=job.state(event) if event.run is not None else None,
        job=job.name,
        root=job.root,
        run_id=event.run.run_id if event.run is not None else "",
        root_run_id=job.root_run_id,
        task=job.task,
        integration=job.integration,
        is_streaming=job.is_streaming,
        is_entity=job.is_entity,
        description=job.description,
        owners=job.owners,
        nominal=job.nominal,
        message=job.message,
        lineage=lineage.said(job),
        texts=texts.said,
        assertions=tuple(lineage.assertions()) if final else (),
        written=tuple(lineage.written()) if final else (),
        told=tuple(told.sentences),
    )


def _of_dataset(dataset: Dataset, at: int, told: Told) -> Statement:
    name, texts = DatasetName(dataset.namespace, dataset.name), _Texts(told)
    facets = Facets(dataset.facets, place("dataset", *astuple(name)), told)
    texts.add(name, facets)
    # A dataset that was dropped or renamed is not reported as missing.
    mentioned = () if _tell_of_life(name, facets, told) else (name,)
    return Statement(at=at, texts=texts.said, mentioned=mentioned, told=tuple(told.sentences))


class _Said(Struct, frozen=True):
    """A dataset of an event with its facets."""

    name: DatasetName
    facets: Facets
    more: Facets
    """`inputFacets` or `outputFacets`."""


class _Datasets:
    """The datasets of an event."""

    def __init__(self, event: Event, told: Told) -> None:
        self._told = told
        self.inputs = self._known(event.inputs, "input")
        left = MOST_DATASETS - len(self.inputs)
        self.outputs = self._known(event.outputs, "output", left)
        self.all = [*self.inputs, *self.outputs]
        for each in self.all:
            _tell_of_life(each.name, each.facets, told)

    def _known(
        self, given: list[Dataset] | None, what: str, most: int = MOST_DATASETS
    ) -> list[_Said]:
        datasets = given or []
        if len(datasets) > most:
            self._told.add(
                f"{len(datasets) - most:,} {what}s left out: an event may have {MOST_DATASETS:,}"
                " datasets"
            )
        known: dict[DatasetName, _Said] = {}
        for each in datasets[:most]:
            name = DatasetName(each.namespace, each.name)
            where = place(what, each.namespace, each.name)
            more = each.input_facets if what == "input" else each.output_facets
            known[name] = _Said(
                name, Facets(each.facets, where, self._told), Facets(more, where, self._told)
            )
        return [*known.values()]

    def said(self, job: "_Job") -> Lineage:
        """The lineage between them."""
        made = OutputReader(self._told)
        explicit = job.explicit(made)
        outputs: dict[DatasetName, Output] = {}
        for each in self.outputs:
            outputs[each.name] = (
                explicit.pop(each.name)
                if each.name in explicit
                else made.output(each.name, each.facets)
            )
        outputs |= explicit
        links = [(each.name, self._symlinks(each)) for each in self.all]
        return Lineage(
            tuple(each.name for each in self.inputs),
            tuple(outputs.values()),
            job.sql,
            tuple((name, others) for name, others in links if others),
        )

    def _symlinks(self, said: _Said) -> tuple[DatasetName, ...]:
        """The other names of a dataset, in the order of the event."""
        facet = said.facets.read("symlinks", read.Symlinks)
        others = [
            DatasetName(each.namespace, each.name)
            for each in (facet and facet.identifiers) or ()
            if each.type == "TABLE" and is_name(each.namespace) and is_name(each.name)
        ]
        if len(others) > MOST_SYMLINKS:
            where = place("dataset", *astuple(said.name))
            self._told.add(f"{where}: symlinks left out: it may have {MOST_SYMLINKS}")
        return tuple(others[:MOST_SYMLINKS])

    def assertions(self) -> Iterator[CheckedAssertion]:
        """The results of tests, each once where it stands in both sorts of facets."""
        seen: dict[tuple[DatasetName, str], CheckedAssertion] = {}
        for each in self.all:
            for facets in (each.facets, each.more):
                facet = facets.read("dataQualityAssertions", read.Assertions)
                for given in (facet and facet.assertions) or ():
                    checked = _checked(each.name, given)
                    seen[each.name, f"{checked.column}\0{checked.name}"] = checked
        if len(seen) > MOST_ASSERTIONS:
            self._told.add(f"assertions left out: an event may have {MOST_ASSERTIONS:,}")
        yield from [*seen.values()][:MOST_ASSERTIONS]

    def written(self) -> Iterator[tuple[DatasetName, int]]:
        """The numbers of rows written."""
        for each in self.outputs:
            facet = each.more.read("outputStatistics", read.OutputStatistics)
            if facet is not None and facet.row_count is not None and facet.row_count >= 0:
                yield each.name, facet.row_count


def _checked(name: DatasetName, given: read.Assertion) -> CheckedAssertion:
    parts = [given.assertion, *filter(None, (given.column,))]
    said = [
        f"{key} {value}"
        for key, value in (("expected", given.expected), ("got", given.actual))
        if value
    ]
    return CheckedAssertion(
        name,
        given.assertion,
        given.name or "_".join(parts),
        given.success,
        given.column,
        ", ".join(said)[:MOST_MESSAGE] or None,
    )


def _tell_of_life(name: DatasetName, facets: Facets, told: Told) -> bool:
    """Tell that a dataset was dropped or renamed; True if it was."""
    change = facets.read("lifecycleStateChange", read.LifecycleChange)
    if change is None or change.lifecycle_state_change not in ("DROP", "RENAME"):
        return False
    what = change.lifecycle_state_change
    told.add(f"{place('dataset', *astuple(name))}: {what} deletes and renames nothing here")
    return True


class _Texts:
    """The descriptions, owners and columns that an event gives datasets."""

    def __init__(self, told: Told) -> None:
        self._by_name: dict[DatasetName, DatasetTexts] = {}
        self._left = MOST_FIELD_NAMES
        self._told = told

    def add(self, name: DatasetName, facets: Facets) -> None:
        """Read the texts in the facets of a dataset."""
        documentation = facets.read("documentation", read.Documentation)
        schema = facets.read("schema", read.Schema)
        fields = tuple(self._fields((schema and schema.fields) or ()))
        description = (documentation and documentation.description) or None
        owners = _owners(facets)
        if description or fields or owners:
            self._by_name[name] = DatasetTexts(name, description, fields, owners)

    def _fields(
        self, given: Iterable[read.SchemaField], above: tuple[str, ...] = ()
    ) -> Iterator[Field]:
        for each in given:
            path = (*above, each.name)
            self._left -= len(path)
            if self._left < 0:
                self._told.add(f"columns left out: an event may have {MOST_FIELD_NAMES:,} names")
                return
            yield Field(path, each.type, each.description or None)
            yield from self._fields(each.fields or (), path)

    @property
    def said(self) -> tuple[DatasetTexts, ...]:
        """The texts of all datasets that have some."""
        return tuple(self._by_name.values())


def _owners(facets: Facets) -> tuple[str, ...]:
    facet = facets.read("ownership", read.Ownership)
    return tuple(each.name for each in (facet and facet.owners) or ())[:_MOST_OWNERS]


class _Job:
    """The job of an event, and its run."""

    def __init__(self, job: Job, run: Run | None, told: Told) -> None:
        self.name = JobName(job.namespace, job.name)
        self._facets = facets = Facets(job.facets, place("job", job.namespace, job.name), told)
        self._run = of_run = Facets(run.facets if run else Raw(b"{}"), "the run", told)
        kind = facets.read("jobType", read.JobType) or read.JobType()
        self.integration = (kind.integration or "").upper()
        self.is_streaming = (kind.processing_type or "").upper() == "STREAMING"
        sort = (kind.job_type or "").upper()
        self.is_entity = not (sort == "RDD_JOB" or (self.integration == "DBT" and sort == "SQL"))
        parent = of_run.read("parent", read.Parent)
        self.root, self.root_run_id = self.name, run.run_id if run else ""
        if parent is not None:
            top = parent.root or read.Ancestor(parent.run, parent.job)
            self.root, self.root_run_id = JobName(top.job.namespace, top.job.name), top.run.run_id
        node = facets.read("dbt_node", read.DbtNode)
        self.task = None
        if self.root != self.name:
            own = job.name.removeprefix(f"{self.root.name}.")
            self.task = (node and node.unique_id) or own
        documentation = facets.read("documentation", read.Documentation)
        self.description = (documentation and documentation.description) or None
        self.owners = _owners(facets)
        sql = facets.read("sql", read.Sql)
        self.sql = ((sql and sql.query) or "")[:MOST_SQL] or None
        nominal = of_run.read("nominalTime", read.NominalTime)
        self.nominal = ((nominal and nominal.nominal_start_time) or "")[:64] or None
        error = of_run.read("errorMessage", read.ErrorMessage)
        self.message = ((error and error.message) or "")[:MOST_MESSAGE] or None

    def state(self, event: Event) -> State:
        """The state that the event says; OTHER for one that is not known."""
        given = event.event_type
        known = isinstance(given, str) and given in State.__members__
        return State(given) if known else State.OTHER

    def explicit(self, made: OutputReader) -> dict[DatasetName, Output]:
        """The outputs that the `lineage` of the run or of the job is about."""
        facets = self._run
        lineage = facets.read("lineage", read.JobLineage)
        if lineage is None:
            facets = self._facets
            lineage = facets.read("lineage", read.JobLineage)
        outputs: dict[DatasetName, Output] = {}
        for raw in ((lineage and lineage.lineage) or ())[:MOST_DATASETS]:
            each = facets.part("lineage", raw, read.LineageEntry)
            if each is not None and each.type in (None, "DATASET"):
                name = DatasetName(each.namespace, each.name)
                outputs[name] = made.explicit(name, each.inputs, each.fields, facets)
        return outputs
