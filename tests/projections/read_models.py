"""A data directory with read models, filled, brought up to date and rebuilt by hand."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from projections.entities import stored_entity
from projections.entities.list_pages import list_page
from projections.entities.list_port import ListRequest
from projections.generations.building import build
from projections.generations.current_generation import CurrentGeneration
from projections.operation.proofs import verify_live
from projections.search.engine import EngineQuery
from projections.search.tree import MatchAll
from projections.verification.report import Verdict
from projections.verification.run import Request
from projections.wiring.stores import Stores, open_stores
from tests.waiting import until

ME = WriteContext(actor="me", request_id="request")
EVERYTHING = EngineQuery(tree=MatchAll(), size=100)
_SEARCHES_LOOK_SECONDS = 0.004
"""A search looks for a newer commit unless the one before looked less than 3 ms ago."""


def create(stores: Stores, *names: str) -> None:
    """A service per name."""
    catalog = DirectCatalog(stores.log)
    for name in names:
        catalog.create(KINDS["databaseService"], {"name": name, "serviceType": "Mysql"}, ME)


def step(stores: Stores) -> None:
    """Step as the daemon does, until nothing is left to do and searches see it."""
    while any([supervisor.step() for supervisor in stores.supervisors]):
        pass
    time.sleep(_SEARCHES_LOOK_SECONDS)


def step_until(stores: Stores, is_so: Callable[[], bool]) -> None:
    """Step as the daemon does, which tries again where a database was away, until all is so."""

    def is_so_now() -> bool:
        with suppress(StoreUnavailable):
            step(stores)
            return is_so()
        return False

    until(is_so_now)


def listed(stores: Stores) -> bytes:
    """The list of all services."""
    with stores.entities.use() as entities:
        return b"".join(list_page(entities, ListRequest(kind=KINDS["databaseService"], limit=100)))


def found(stores: Stores) -> list[str]:
    """The ids that a search for everything finds."""
    with stores.engine.use() as engine:
        return sorted(hit.id for hit in engine.search(EVERYTHING).hits)


def generations(stores: Stores) -> list[int]:
    return [live.generation().number for live in stores.read_models]


def difference_of(live: CurrentGeneration[Any], log: EventStore) -> str | None:
    """The first difference of a live generation from a replay of the log, if there is any."""
    request = Request(log=False, shown=1, now=time.time_ns() // 1_000_000)
    (proof,) = verify_live(log, [live], request, lambda done, total: None, "")[0].projections
    if proof.verdict is Verdict.EQUAL:
        return None
    return str(proof.differences[0]) if proof.differences else proof.reason


def rebuild(stores: Stores) -> None:
    """Rebuild as `catalog-replay rebuild --force` does beside a process that projects."""
    for live in stores.read_models:
        build(live.definition, stores.log, lambda done, total: None)
    step(stores)


@contextmanager
def opened(
    directory: Path,
    database: str | None = None,
    search: str | None = None,
    *,
    writable: bool = True,
) -> Iterator[Stores]:
    stores = open_stores(directory, database, search, writable=writable)
    try:
        yield stores
    finally:
        stores.close()


@contextmanager
def other_code() -> Iterator[None]:
    """A block in which lists are made by code of another release."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stored_entity, "VERSION", stored_entity.VERSION + 1)
        yield


def files(directory: Path) -> list[str]:
    """Return the names of the files in a directory, without locks and stamps."""
    return sorted(
        path.name for path in directory.iterdir() if path.suffix not in (".lock", ".db-stamp")
    )
