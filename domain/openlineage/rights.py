"""What the caller of the door may have done beside edges and pipelines."""

from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import replace

from domain.openlineage.edges import without_columns
from domain.openlineage.naming import KIND_OF
from domain.openlineage.statements import Statement

_CONCERNED = (*KIND_OF.values(), "pipeline")
"""The kinds of what an edge may be about."""


def _nothing_unseen(_: Collection[str]) -> frozenset[str]:
    return frozenset()


class Rights(Struct, frozen=True, kw_only=True):
    """The rights of a caller, beside those without which the door is closed."""

    sees_all: bool = False
    """True if the caller may view all of what datasets may be; else it is not told what is there.
    """
    describes: frozenset[str] = frozenset()
    """The kinds whose descriptions the caller may write."""
    owns: frozenset[str] = frozenset()
    """The kinds whose owners the caller may write."""
    columns: frozenset[str] = frozenset()
    """The kinds whose columns the caller may write."""
    measures: bool = False
    """True if the caller may report how many rows were written into a table."""
    tests: bool = False
    """True if the caller may make test cases, with their suites and definition, and report results.
    """
    makes_tables: bool = False
    unseen: Callable[[Collection[str]], Collection[str]] = _nothing_unseen
    """Gives the details of an edge that the caller does not see, by the kinds of its ends."""


def permitted(statement: Statement, rights: Rights) -> Statement:
    """The statement without details that its caller may not write of an edge between any datasets.

    What waits, and what the events of one run say together, is drawn later or by another caller.
    """
    unseen = rights.unseen(_CONCERNED)
    lineage = statement.lineage
    if "columnsLineage" in unseen:
        lineage = without_columns(lineage)
    if "sqlQuery" in unseen:
        lineage = replace(lineage, sql=None)
    return replace(statement, lineage=lineage, names_pipeline="pipeline" not in unseen)


EDGES_ALONE = Rights()
"""The rights of a statement that waited: its edges are drawn, and nothing else is done."""
