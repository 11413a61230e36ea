"""Comparisons of contracts: of two documents, and of versions and proposals of a stored one."""

from api.callers.permissions import Access, Action
from api.services import Services
from api.use_cases.documents import read_given
from api.use_cases.past import live_of_then
from domain.aggregate.entity import Entity
from domain.contracts.changes.comparing import Terms, compare
from domain.contracts.changes.rules import Change
from domain.contracts.changes.terms import terms_of
from domain.contracts.judging import check_shape
from domain.errors import InvalidInput, NotFound
from domain.kinds.registry import CONTRACT
from domain.reading import history


def compare_documents(body: bytes, *, is_yaml: bool, exact: bool) -> list[Change]:
    """The changes between the two documents in a body; raises InvalidInput."""
    given = read_given(body, is_yaml=is_yaml)
    if not isinstance(given, dict) or given.keys() != {"before", "after"}:
        raise InvalidInput("the body must have two documents, `before` and `after`, and no more")
    return compare(*(Terms(check_shape(given[side])) for side in ("before", "after")), exact=exact)


def compare_stored(
    services: Services,
    access: Access,
    contract_id: str,
    body: bytes,
    *,
    is_yaml: bool,
    exact: bool,
    from_: str | None,
    to: str | None,
    position: int | None = None,
) -> tuple[Entity, list[Change]]:
    """A contract, and the changes from it to the document in a body, or between two versions.

    The contract is as it is now, or was at a position, where it has no later versions. Without
    `to`, a version is compared with it. Raises InvalidInput where both or neither are given,
    NotFound, Purged, and FieldWithheld for callers who may not see all of a contract: a verdict on
    a part of it would pass for one on all.
    """
    if withheld := access.withheld(Action.VIEW, CONTRACT.name):
        withheld.refuse_all("a comparison is of all of a contract")
    if bool(body.strip()) == (from_ is not None) or (to is not None and from_ is None):
        raise InvalidInput("give either a document in the body, or the versions `from` and `to`")
    if position is None:
        contract = services.catalog.planner.live(CONTRACT, contract_id)
    else:
        contract = live_of_then(services, CONTRACT, contract_id, position)
    terms = terms_of(contract)
    if from_ is None:
        # What no document says stays as it is.
        proposed = Terms(check_shape(read_given(body, is_yaml=is_yaml)), terms.beside)
        return contract, compare(terms, proposed, exact=exact)

    def version(text: str) -> Entity:
        entity = history.version(services.stores.log, CONTRACT, contract_id, text).entity
        if entity.version > contract.version:
            raise NotFound(f"{CONTRACT.name} {contract.fqn} had no version {text} yet")
        return entity

    after = contract if to is None else version(to)
    return contract, compare(terms_of(version(from_)), terms_of(after), exact=exact)
