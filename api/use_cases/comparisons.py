"""Comparisons of contracts: of two documents, and of versions and proposals of a stored one."""

from typing import Any

import msgspec

from api.callers.permissions import Access, Action
from api.services import Services
from api.use_cases.documents import CONTRACT
from domain.contracts.canonical import read_json
from domain.contracts.changes.comparing import Terms, compare
from domain.contracts.changes.rules import Bump, Change, Level, Perspective, bump_of
from domain.contracts.changes.terms import terms_of
from domain.contracts.judging import check_shape
from domain.contracts.yaml_input import read_yaml
from domain.errors import InvalidInput
from domain.reading import history
from projections.visibility.withholding import FieldWithheld

MOST_CHANGES = 5_000
"""Changes that an answer names, the worst first."""
_WORST_FIRST = tuple(Level)


class ContractChange(msgspec.Struct, rename="camel"):
    """A difference of two versions of a contract; `docs/contracts.md` has the rules."""

    rule: str
    path: str
    level: Level
    """The grade in the perspective that was asked for."""
    consumer: Level
    producer: Level
    before: Any
    after: Any
    message: str


class Comparison(msgspec.Struct, rename="camel"):
    """The changes from one version of a contract to another."""

    compatible: bool
    """True if no change is breaking in the perspective that was asked for."""
    bump: Bump
    """The part of the version that has to rise for these changes."""
    changes: list[ContractChange]
    omitted: int
    """Number of changes that are not named, none of which is worse than those that are."""


def compare_documents(body: bytes, *, is_yaml: bool, exact: bool) -> list[Change]:
    """The changes between the two documents in a body; raises InvalidInput."""
    given = _read(body, is_yaml=is_yaml)
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
) -> list[Change]:
    """The changes from a stored contract to the document in a body, or between two versions.

    Without `to`, a version is compared with the contract as it is now. Raises InvalidInput where
    both or neither are given, NotFound, and FieldWithheld for callers who may not see all of a
    contract: a verdict on a part of it would pass for one on all.
    """
    if withheld := access.withheld(Action.VIEW, CONTRACT.name):
        named = ", ".join(sorted(withheld.paths))
        raise FieldWithheld(
            f"a comparison is of all of a contract, of which {named[:200]} is withheld from your"
            " roles"
        )
    if bool(body.strip()) == (from_ is not None) or (to is not None and from_ is None):
        raise InvalidInput("give either a document in the body, or the versions `from` and `to`")
    now = services.catalog.planner.live(CONTRACT, contract_id)
    terms = terms_of(now)
    if from_ is None:
        # What no document says stays as it is.
        proposed = Terms(check_shape(_read(body, is_yaml=is_yaml)), terms.beside)
        return compare(terms, proposed, exact=exact)
    log = services.stores.log
    before = history.version(log, CONTRACT, contract_id, from_).entity
    after = now if to is None else history.version(log, CONTRACT, contract_id, to).entity
    return compare(terms_of(before), terms_of(after), exact=exact)


def comparison(changes: list[Change], perspective: Perspective) -> Comparison:
    """The answer that tells changes, the worst first."""
    levels = [change.rule.level(perspective) for change in changes]
    graded = sorted(zip(levels, changes, strict=True), key=lambda each: _WORST_FIRST.index(each[0]))
    return Comparison(
        compatible=Level.BREAKING not in levels,
        bump=bump_of(changes),
        changes=[
            ContractChange(
                rule=change.rule.word,
                path=change.path,
                level=level,
                consumer=change.rule.consumer,
                producer=change.rule.producer,
                before=change.before,
                after=change.after,
                message=change.message,
            )
            for level, change in graded[:MOST_CHANGES]
        ],
        omitted=max(len(changes) - MOST_CHANGES, 0),
    )


def _read(body: bytes, *, is_yaml: bool) -> Any:
    return read_yaml(body) if is_yaml else read_json(body)
