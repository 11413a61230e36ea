"""The entities that a new catalog has from its start: classifications with tags, test definitions.

Their ids follow from their names, and the stream of an id begins once: whoever tries, however
often, each is created once in the life of a log, and not again when somebody has deleted it.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID, uuid5

from msgspec.structs import replace

from domain.errors import CatalogError, StaleVersion
from domain.event_store.port import EventStore
from domain.kinds.names import quote, split
from domain.kinds.registry import KINDS
from domain.machine import clock
from domain.write_context import WriteContext
from domain.writing.bulk_put import BulkPut
from domain.writing.catalog import Catalog, Proposal

_IDS = UUID("5b0a7c3e-7d5f-5c55-9a0c-4a1d3a0f8a11")
"""Namespace of the ids of system entities; never change it, ids are recorded."""
Request = Mapping[str, Any]
"""An entity to be created, as a line of an import: the body, the kind as `kind` or `entityType`,
and `fullyQualifiedName` unless the entity stands alone."""


def create_system_entities(
    store: EventStore, requests: Sequence[Request], context: WriteContext
) -> None:
    """Create what was never created, each root with all that is below it, in one transaction.

    The requests come root by root. A root is left out, with what is below it, when it has been
    created before or another entity holds its name. Raises StoreUnavailable.
    """

    new = replace(context, must_not_exist=True)

    def propose() -> tuple[Proposal, None]:
        epoch = store.epoch()
        ids = iter(map(_id_of, wanted := _missing(store, requests)))
        puts = BulkPut(store, clock.now, lambda: next(ids), epoch)
        for request in wanted:
            (result,) = puts.decide(KINDS[_kind_name(request)], [_body(request)], new)
            if isinstance(result, StaleVersion):
                # Another writer has taken a name since they were looked up.
                return propose()
            if isinstance(result, CatalogError):
                raise result
        append = puts.append()
        return Proposal(append=append, position=None if append.rows else store.durable_head()), None

    Catalog(store).until_stored(propose)


def _missing(store: EventStore, requests: Sequence[Request]) -> list[Request]:
    """The requests of each root that was never created and whose name is free, with those below."""
    missing: list[Request] = []
    for _, of_root in groupby(requests, lambda each: split(_fqn(each))[0]):
        root, *below = of_root
        created = next(store.stream(_id_of(root), upto=1), None) is not None
        if not created and store.claim(_kind_name(root), _fqn(root)) is None:
            missing += [root, *below]
    return missing


def _id_of(request: Request) -> str:
    return str(uuid5(_IDS, f"{_kind_name(request)}:{_fqn(request)}"))


def _fqn(request: Request) -> str:
    fqn: str | None = request.get("fullyQualifiedName")
    return fqn or quote(request["name"])


def _kind_name(request: Request) -> str:
    # Some kind has a key `entityType` of its own.
    name: str = request[_kind_key(request)]
    return name


def _kind_key(request: Request) -> str:
    return "kind" if "kind" in request else "entityType"


def _body(request: Request) -> Request:
    outside = (_kind_key(request), "fullyQualifiedName")
    return {key: value for key, value in request.items() if key not in outside}
