"""The terms of a contract as the catalog has it, in the form in which contracts are compared."""

from domain.aggregate.entity import STATUS, Entity
from domain.contracts.canonical import Document
from domain.contracts.changes.comparing import OBJECT_NAME, Terms
from domain.contracts.elements import Element
from domain.contracts.exporting import KEYS, document_of, given_document
from domain.contracts.importing import object_at
from domain.kinds.bodies.contracts import GIVEN

_SAID = frozenset((*KEYS, STATUS, GIVEN)) - {"security"}
"""Keys of a body of which the document says all that is compared."""


def terms_of(contract: Entity) -> Terms:
    """The terms of a contract, with its document as it is served."""
    document = document_of(contract)
    beside = {key: contract.value(key) for key in contract.body if key not in _SAID}
    return Terms(document, {**beside, OBJECT_NAME: own_object(contract, document).get("name")})


def own_object(contract: Entity, document: Document) -> Element:
    """The schema object of a contract's document that stands for its entity; empty for none."""
    given = given_document(contract.body)
    return object_at(document, 0 if given is None else given.place)
