"""The facets of events, read one by one: one that does not fit is left out.

Their forms are those of the specification (`spec/facets`), with all keys optional that an answer
can do without, as producers leave them out. Other facets may hold secrets and are never looked at.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from domain.errors import shown
from domain.patches.json_input import MISFITS

MOST_BYTES = 2_000_000
"""Bytes of a facet that is read by one call."""
MOST_TOLD = 100
"""Sentences that the answer to one event may have."""

_MOST_CHARACTERS = 300
"""Characters of a sentence, which may repeat names of an event."""

T = TypeVar("T")


class Told:
    """Sentences about the parts of an event that were left out; no more than an answer holds."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def add(self, sentence: str) -> None:
        """Add a sentence, cut to 300 characters, unless it is there or there are many already."""
        if len(self.sentences) < MOST_TOLD and sentence not in self.sentences:
            self.sentences.append(sentence[:_MOST_CHARACTERS])


class Identifier(Struct):
    """The name of a dataset, or of a job."""

    namespace: str
    name: str
    type: str | None = None


class Documentation(Struct):
    """`documentation` of a job or a dataset."""

    description: str | None = None


class Owner(Struct):
    """A user or team, such as `team:sales`."""

    name: str


class Ownership(Struct):
    """`ownership` of a job or a dataset."""

    owners: list[Owner] | None = None


class SchemaField(Struct):
    """A column of a dataset, or a field inside one."""

    name: str
    type: str | None = None
    description: str | None = None
    fields: "list[SchemaField] | None" = None


class Schema(Struct):
    """`schema` of a dataset."""

    fields: list[SchemaField] | None = None


class Symlinks(Struct):
    """`symlinks` of a dataset: other names that it has."""

    identifiers: list[Identifier] | None = None


class Transformation(Struct):
    """One of the steps that a column went through."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None


class InputField(Struct):
    """A column that another one is made of; `field` is None for a dataset as a whole."""

    namespace: str
    name: str
    field: str | None = None
    type: str | None = None
    transformations: list[Transformation] | None = None


class ColumnInputs(Struct, rename={"input_fields": "inputFields"}):
    """The columns that one is made of, by the key of `columnLineage` or by that of `lineage`."""

    input_fields: list[Raw] | None = None
    inputs: list[Raw] | None = None


class ColumnLineage(Struct):
    """`columnLineage` of a dataset: column -> `ColumnInputs`.

    There may be more than is read, and what one call reads holds all threads: so its parts are read
    one by one.
    """

    fields: dict[str, Raw] | None = None


class DatasetLineage(Struct):
    """`lineage` of a dataset: what it is made of, told explicitly."""

    inputs: list[Raw] | None = None
    fields: dict[str, Raw] | None = None


class LineageEntry(Struct):
    """The sources of one dataset, as `lineage` of a job or a run gives them."""

    namespace: str
    name: str
    type: str | None = None
    inputs: list[Raw] | None = None
    fields: dict[str, Raw] | None = None


class JobLineage(Struct):
    """`lineage` of a job or a run."""

    lineage: list[Raw] | None = None


class LifecycleChange(Struct, rename="camel"):
    """`lifecycleStateChange` of a dataset."""

    lifecycle_state_change: str


class Assertion(Struct):
    """A test of a dataset with its result."""

    assertion: str
    success: bool
    column: str | None = None
    name: str | None = None
    expected: str | None = None
    actual: str | None = None


class Assertions(Struct):
    """`dataQualityAssertions` of a dataset."""

    assertions: list[Assertion] | None = None


class OutputStatistics(Struct, rename="camel"):
    """`outputStatistics` of a dataset."""

    row_count: int | None = None


class Sql(Struct):
    """`sql` of a job."""

    query: str | None = None


class JobType(Struct, rename="camel"):
    """`jobType` of a job."""

    processing_type: str | None = None
    integration: str | None = None
    job_type: str | None = None


class DbtNode(Struct):
    """`dbt_node` of a job."""

    unique_id: str | None = None


class ParentRun(Struct, rename="camel"):
    """The run of a parent."""

    run_id: str


class Ancestor(Struct):
    """A parent run, and the job of it."""

    run: ParentRun
    job: Identifier


class Parent(Struct):
    """`parent` of a run."""

    run: ParentRun
    job: Identifier
    root: Ancestor | None = None


class NominalTime(Struct, rename="camel"):
    """`nominalTime` of a run."""

    nominal_start_time: str | None = None


class ErrorMessage(Struct):
    """`errorMessage` of a run."""

    message: str | None = None


_to_facets = msgspec.json.Decoder(dict[str, Raw] | None)
_DELETED = b'"_deleted"'
_IN_PARTS = frozenset(("columnLineage", "lineage"))
"""Facets without a bound in bytes: each of their parts is read by a call of its own."""


class Facets:
    """The facets of one part of an event."""

    def __init__(self, given: Raw, where: str, told: Told) -> None:
        """`where` names the part in the sentences that are `told`."""
        self._where = where
        self._told = told
        self._facets: dict[str, Raw] = {}
        try:
            self._facets = _to_facets.decode(given) or {}
        except MISFITS:
            told.add(f"{where}: facets left out: they are no object")

    def read(self, name: str, form: type[T]) -> T | None:
        """The facet of a name; None without one, for a deleted one, and for a misfit."""
        raw = self._facets.get(name)
        if raw is None or bytes(raw) == b"null":
            return None
        if len(raw) > MOST_BYTES and name not in _IN_PARTS:
            self._told.add(
                f"{self._where}: facet {name} left out: it has over {MOST_BYTES:,} bytes"
            )
            return None
        return None if _is_deleted(raw) else self.part(name, raw, form)

    def part(self, name: str, raw: Raw, form: type[T]) -> T | None:
        """A part of the facet of a name; None for a misfit."""
        try:
            return msgspec.json.decode(raw, type=form)
        except MISFITS as error:
            self._told.add(f"{self._where}: facet {name} left out: {error}")
            return None


class _Deleted(Struct):
    deleted: Any = msgspec.field(default=False, name="_deleted")


_deleted = msgspec.json.Decoder(_Deleted)


def _is_deleted(raw: Raw) -> bool:
    if _DELETED not in bytes(raw):
        return False
    try:
        return _deleted.decode(raw).deleted is True
    except MISFITS:
        return False


def place(what: str, namespace: str, name: str) -> str:
    """A job or dataset as sentences name it."""
    return f"{what} {shown(name)} of {shown(namespace)}"
