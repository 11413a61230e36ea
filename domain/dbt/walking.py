"""The contracts below a database service that dbt has a part in."""

from collections.abc import Iterator

from domain.aggregate.entity import Entity
from domain.dbt.documents import Origin, origin_in
from domain.errors import NotFound
from domain.event_store.port import EventStore
from domain.event_store.stored import Claim
from domain.kinds.registry import CONTRACT
from domain.writing.catalog import Catalog

_LEVELS = ("database", "databaseSchema", "table")
_PAGE = 1_000
"""Claims that are read at a time."""


def contracts_below(catalog: Catalog, service: Claim) -> Iterator[tuple[Entity, Origin]]:
    """The live contracts of tables of a service that an import of dbt has changed."""
    for page in _tables(catalog.store, service.id, _LEVELS):
        claims = catalog.store.claims(parents=[claim.id for claim in page])
        for claim in claims:
            if claim.kind != CONTRACT.name or claim.deleted:
                continue
            try:
                contract = catalog.planner.live(CONTRACT, claim.id)
            except NotFound:
                # The contract was deleted after its claim was read.
                continue
            if origin := origin_in(contract):
                yield contract, origin


def _tables(store: EventStore, parent_id: str, levels: tuple[str, ...]) -> Iterator[list[Claim]]:
    """The live tables below an entity, page by page."""
    kind, *below = levels
    after, more = "", True
    while more and (page := store.live_children(parent_id, kind, after, _PAGE)):
        if below:
            for claim in page:
                yield from _tables(store, claim.id, tuple(below))
        else:
            yield page
        after, more = page[-1].fqn, len(page) == _PAGE
