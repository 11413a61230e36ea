"""The terms of a contract as the catalog has it, in the form in which contracts are compared."""

from domain.aggregate.entity import STATUS, Entity
from domain.contracts.changes.comparing import Terms
from domain.contracts.exporting import KEYS, document_of
from domain.kinds.bodies.contracts import GIVEN

_SAID = frozenset((*KEYS, STATUS, GIVEN)) - {"security"}
"""Keys of a body of which the document says all that is compared."""


def terms_of(contract: Entity) -> Terms:
    """The terms of a contract, with its document as it is served."""
    beside = {key: contract.value(key) for key in contract.body if key not in _SAID}
    return Terms(document_of(contract), beside)
