"""Promises about the values of columns, which the catalog does not read.

A constraint that the table declares too is kept by its database. Whether any other holds, only a
run of the tests of the contract tells.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from domain.aggregate.entity import Entity
from domain.contracts.exporting import document_of, given_document
from domain.contracts.importing import object_at
from domain.contracts.validation.columns import Column, by_path

_IMPLIED = {
    "NOT_NULL": {"NOT_NULL", "PRIMARY_KEY"},
    "UNIQUE": {"UNIQUE", "PRIMARY_KEY"},
    "PRIMARY_KEY": {"PRIMARY_KEY"},
}
"""Promised constraint -> those of a column by which it holds."""
_OPTIONS = "logicalTypeOptions"


def undeclared(contract: Entity, entity: Entity, there: Iterable[Column]) -> int:
    """Number of promised constraints that the columns `there` of the entity do not declare.

    The bounds and patterns that a document has for values (`logicalTypeOptions`) count, a column
    each.
    """
    held = {(path, column.get("constraint")) for path, column in by_path(there)}
    for each in entity.value("tableConstraints") or ():
        columns: list[str] = each.get("columns") or []
        if len(columns) == 1:
            held.add((columns[0], each.get("constraintType")))
    return _bounded(contract) + sum(
        held.isdisjoint((path, each) for each in _IMPLIED[promised])
        for path, column in by_path(contract.value("schema") or ())
        if (promised := column.get("constraint")) in _IMPLIED
    )


def _bounded(contract: Entity) -> int:
    """Number of columns whose values the document of a contract bounds."""
    given = given_document(contract.body)
    if given is None or given.place is None or f'"{_OPTIONS}"' not in given.text:
        return 0
    return _with_options(object_at(document_of(contract), given.place))


def _with_options(element: Mapping[str, Any]) -> int:
    inside = element.get("properties")
    parts = [*inside] if isinstance(inside, list) else []
    parts += [element["items"]] if isinstance(element.get("items"), Mapping) else []
    own = isinstance(element.get(_OPTIONS), Mapping) and bool(element[_OPTIONS])
    return own + sum(_with_options(each) for each in parts if isinstance(each, Mapping))
