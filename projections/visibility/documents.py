"""Visibility of the documents of contracts: what of them says fields that a caller may not see."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from domain.kinds.bodies.contracts import GIVEN
from projections.visibility.field_paths import path_tree, pruned
from projections.visibility.withholding import Withheld

_SAYING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        GIVEN: (),
        "description": ("description",),
        "termsOfUse": ("description",),
        "owners": ("team",),
        "schema": ("schema",),
        "odcsQualityRules": ("schema.quality",),
        "odcsElementExtensions": (
            "schema.authoritativeDefinitions",
            "schema.transformSourceObjects",
        ),
        "sla": ("slaProperties", "slaDefaultElement"),
        "security": ("roles", "schema.classification"),
    }
)
"""Key of a contract -> paths of documents that say it, or a part of it."""
_NESTED = ("properties", "items")
"""Keys that add no step to a path: `schema.quality` is that of objects and of all properties."""


def document_is_withheld(withheld: Withheld) -> bool:
    """Return True if anything of documents is withheld."""
    return any(path.partition(".")[0] in _SAYING for path in withheld.paths)


def cut_document(document: dict[str, Any], withheld: Withheld) -> dict[str, Any]:
    """The document without what is withheld; raises FieldWithheld where all of it is.

    `odcs.servers.password` withholds a path of documents, to which lists add no step. A field of
    contracts, or one inside it, withholds all that says the field.
    """
    withheld.refuse_field(GIVEN, "the path")
    shown: dict[str, Any] = pruned(document, path_tree(_paths(withheld)), through=_NESTED)
    return shown


def _paths(withheld: Withheld) -> Iterator[str]:
    for path in withheld.paths:
        first, _, below = path.partition(".")
        if first == GIVEN:
            yield ".".join(step for step in below.split(".") if step not in _NESTED)
        else:
            yield from _SAYING.get(first, ())
