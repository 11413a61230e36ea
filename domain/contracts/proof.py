"""The proof that what is served of a contract's document is what was given."""

from domain.aggregate.entity import Entity
from domain.contracts.canonical import canonical
from domain.contracts.exporting import document_of, given_document
from domain.contracts.yaml_input import read_yaml
from domain.contracts.yaml_output import write_yaml


def document_fault(contract: Entity) -> str | None:
    """The fault of the document of a contract right after it was given; None without one.

    The JSON that is served, and the document read back from the YAML that is served, must equal the
    given text. Raises whatever a damaged text raises.
    """
    given = given_document(contract.body)
    if given is None:
        return None
    served = document_of(contract)
    if canonical(served) != given.text:
        return "the document that is served as JSON is not the one that was given"
    if canonical(read_yaml(write_yaml(served))) != given.text:
        return "the document that is served as YAML is not the one that was given"
    return None
