"""`roles` of a document, and the security of a contract."""

from typing import Any

from domain.contracts.canonical import Document
from domain.contracts.elements import Element, append, elements, put, remove, text

_BETWEEN = ", "
"""Stands between names of approvers, which are one text in the standard."""


def read_security(document: Document) -> dict[str, Any]:
    """The security of a contract by the roles of its document; empty without roles."""
    policies = [_policy(role, each) for role, each in _roles(document).items()]
    return {"policies": policies} if policies else {}


def kept_security(held: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """The security by the roles, with the held classification and rows, which roles cannot say."""
    before = {each.get("accessPolicy"): each for each in held.get("policies") or ()}
    policies = [
        {
            **each,
            **{k: v for k, v in before.get(each["accessPolicy"], {}).items() if k == "rowFilters"},
        }
        for each in said["policies"]
    ]
    return {**held, "policies": policies}


def write_security(document: Document, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Change roles to say `new` where they said `old`.

    The standard has no key for the classification of all data, and for rows that a role may read.
    """
    roles = _roles(document)
    before, after = _by_role(old), _by_role(new)
    for role in before.keys() - after.keys():
        remove(document, "roles", roles[role])
    for role, identities in after.items():
        if role not in roles:
            roles[role] = {"role": role}
            append(document, "roles", roles[role])
        if identities != before.get(role, []):
            put(roles[role], "firstLevelApprovers", _BETWEEN.join(identities) or None)


def _roles(document: Document) -> dict[str, Element]:
    by_name: dict[str, Element] = {}
    for each in elements(document, "roles"):
        if role := text(each, "role"):
            by_name.setdefault(role, each)
    return by_name


def _policy(role: str, each: Element) -> dict[str, Any]:
    approvers = text(each, "firstLevelApprovers")
    identities = approvers.split(_BETWEEN) if approvers else []
    return {"accessPolicy": role, **({"identities": identities} if identities else {})}


def _by_role(security: dict[str, Any]) -> dict[str, list[str]]:
    """Name of each policy that has one -> identities."""
    policies = security.get("policies") or ()
    return {
        each["accessPolicy"]: each.get("identities") or []
        for each in policies
        if each.get("accessPolicy")
    }
