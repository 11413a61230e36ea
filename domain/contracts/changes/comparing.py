"""The comparison of two versions of a contract."""

from collections.abc import Mapping
from typing import Any

import msgspec

from domain.contracts.canonical import Document
from domain.contracts.changes.columns import classification, compare_objects
from domain.contracts.changes.findings import (
    Findings,
    Grades,
    compare_keys,
    compare_lists,
    flag,
    member,
    presence,
)
from domain.contracts.changes.limits import number
from domain.contracts.changes.rules import Change, Path
from domain.contracts.changes.service_levels import compare_service_levels

OBJECT_NAME = "objectName"
"""Key beside a document for the name of the schema object that stands for the entity."""


class Terms(msgspec.Struct, frozen=True):
    """The one form in which contracts are compared."""

    document: Document
    """The contract as a document of the Open Data Contract Standard."""
    beside: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Key of a contract's body -> value, for the keys that no document has."""


def compare(old: Terms, new: Terms, *, exact: bool = False) -> list[Change]:
    """The changes from one version of a contract to another, in the order of the documents.

    With `exact`, a type in another spelling is another type. Whatever stands in a document is
    compared: what no rule knows is graded as `other.changed`. Another `version` is no change.
    """
    findings = Findings(exact=exact)
    compare_keys(findings, None, old.document, new.document, _DOCUMENT)
    compare_keys(findings, None, old.beside, new.beside, _BESIDE, "text.changed")
    return findings.changes


def _nothing(findings: Findings, path: Path, before: Any, after: Any) -> None:
    """Pass over the version, which announces changes and is none."""


def _status(findings: Findings, path: Path, before: Any, after: Any) -> None:
    was, now = (_ENDED.get(str(each).lower(), 0) for each in (before, after))
    word = "status.ended" if now > was else "status.revived" if now < was else "status.changed"
    findings.add(word, path, before, after)


_ENDED = {"deprecated": 1, "retired": 2}


def _description(findings: Findings, path: Path, before: Any, after: Any) -> None:
    old, new = (each if isinstance(each, dict) else {"purpose": each} for each in (before, after))
    compare_keys(findings, path, old, new, _DESCRIPTION)


def _servers(findings: Findings, path: Path, old: Any, new: Any) -> None:
    compare_lists(findings, path, (old, new), lambda each: each.get("server"), _SERVER)


def _roles(findings: Findings, path: Path, old: Any, new: Any) -> None:
    compare_lists(findings, path, (old, new), lambda each: each.get("role"), _ROLE)


def _entity(findings: Findings, path: Path, before: Any, after: Any) -> None:
    ids = [each.get("id") if isinstance(each, dict) else each for each in (before, after)]
    findings.add("text.changed" if ids[0] == ids[1] else "entity.changed", path, before, after)


def _object(findings: Findings, path: Path, before: Any, after: Any) -> None:
    """Find another schema object for the entity; where there is none, no column was promised."""
    if before is not None and after is not None:
        findings.add("entity.changed", path, before, after)


def _end(findings: Findings, path: Path, before: Any, after: Any) -> None:
    was, now = (float("inf") if each is None else number(each) for each in (before, after))
    if was is None or now is None:
        findings.add("other.changed", path, before, after)
    else:
        word = "restated" if was == now else "end.earlier" if now < was else "end.later"
        findings.add(word, path, before, after)


def _security(findings: Findings, path: Path, before: Any, after: Any) -> None:
    old, new = (each if isinstance(each, dict) else {} for each in (before, after))
    compare_keys(findings, path, old, new, {"dataClassification": classification})


def _semantics(findings: Findings, path: Path, old: Any, new: Any) -> None:
    compare_lists(findings, path, (old, new), lambda each: each.get("name"), _semantics_rule)


def _semantics_rule(findings: Findings, path: Path, old: Any, new: Any) -> None:
    was, now = (each is not None and each.get("enabled") is not False for each in (old, new))
    if was != now:
        findings.add("semantics.added" if now else "semantics.removed", path, old, new)
    elif old is None or new is None or not now:
        findings.add("text.changed", path, old, new)
    else:
        compare_keys(findings, path, old, new, _SEMANTICS, "semantics.changed")


def _expectations(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the tests of the data that only the old, or only the new contract names."""

    def name_of(test: dict[str, Any]) -> Any:
        return test.get("fullyQualifiedName") or test.get("id")

    grade = presence("quality.removed", "quality.added", "text.changed")
    compare_lists(findings, path, (old, new), name_of, grade)


_ABOUT = ("id", "description", "tags", "customProperties", "authoritativeDefinitions")
_DOCUMENT: Grades = {
    **dict.fromkeys(_ABOUT, "text.changed"),
    **dict.fromkeys(("name", "tenant", "domain", "dataProduct", "team", "support"), "text.changed"),
    **dict.fromkeys(("price", "contractCreatedTs", "context"), "text.changed"),
    **dict.fromkeys(("apiVersion", "kind"), "restated"),
    "version": _nothing,
    "status": _status,
    "description": _description,
    "schema": compare_objects,
    "slaProperties": compare_service_levels,
    "slaDefaultElement": "sla.changed",
    "servers": _servers,
    "roles": _roles,
}
_DESCRIPTION: Grades = {
    **dict.fromkeys((*_ABOUT, "purpose"), "text.changed"),
    **dict.fromkeys(("limitations", "usage"), "terms.changed"),
}
_SERVER = member(
    "server.removed",
    "server.added",
    dict.fromkeys((*_ABOUT, "server", "environment", "roles"), "text.changed"),
    "server.changed",
)
_ROLE = member(
    "access.tightened",
    "access.loosened",
    dict.fromkeys((*_ABOUT, "firstLevelApprovers", "secondLevelApprovers"), "text.changed"),
)
_BESIDE: Grades = {
    "entity": _entity,
    OBJECT_NAME: _object,
    "effectiveUntil": _end,
    "effectiveFrom": "other.changed",
    "security": _security,
    "semantics": _semantics,
    "qualityExpectations": _expectations,
}
_SEMANTICS: Grades = {
    **dict.fromkeys(("description", "provider", "inherited", "jsonTree"), "text.changed"),
    "enabled": flag("semantics.removed", "semantics.added"),
}
