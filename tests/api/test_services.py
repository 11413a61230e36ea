"""Writes take turns to be decided, and share the transactions in which they are stored."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from api.callers.limits import Places
from api.errors import TooManyRequests
from api.processes.server import make_daemon
from api.services import MAX_WRITES, Services, Written, make_services
from api.settings import Settings
from domain.errors import ConcurrentChange, KeyReused
from domain.event_store.appends import prepared
from domain.event_store.committer import Committer
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Refusal
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.catalog import EntityProposal, Proposal
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import open_stores
from tests.api.conftest import SECRET

PATIENCE = 60
PROPOSED = Proposal(append=prepared([]), position=0)
"""A proposal of which nothing needs to be stored, or waited for."""
NOWHERE = Written(position=0, listed=True)
"""Result of the action."""


def asks(caller: str) -> Any:
    """A request of a caller, who stays."""
    return SimpleNamespace(user=SimpleNamespace(name=caller), receive=asyncio.Event().wait)


class HeldStore:
    """A store whose appends wait until they are let go, or are refused as often as told."""

    def __init__(self, store: EventStore, refusals: int = 0) -> None:
        self.store = store
        self.refusals = refusals
        self.groups: list[int] = []
        self.let_go = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        self.groups.append(len(appends))
        assert self.let_go.wait(PATIENCE)
        if self.refusals:
            self.refusals -= 1
            return [ConcurrentChange("another writer was first; try again")] * len(appends)
        return self.store.append_group(appends)


def proposing(work: Callable[[], object]) -> Callable[[], tuple[Proposal, object]]:
    """Proposes nothing, after some work that it gives the result of."""
    return lambda: (PROPOSED, work())


def putting(
    services: Services, name: str, key: str | None = None, **body: Any
) -> Callable[[], tuple[EntityProposal, EntityProposal]]:
    """Proposes a database service."""
    context = WriteContext(actor="ann", request_id="r", idempotency_key=key, digest=b"d")
    values = {"name": name, "serviceType": "Mysql", **body}

    def propose() -> tuple[EntityProposal, EntityProposal]:
        catalog = services.catalog
        plan = partial(catalog.planner.put, KINDS["databaseService"], values, context)
        proposal = catalog.propose(plan, context)
        return proposal, proposal

    return propose


def test_writes_of_one_caller_leave_threads_to_others(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        held, order = threading.Event(), []

        def work(name: str, wait: Callable[[], object] = lambda: None) -> Callable[[], None]:
            def write() -> None:
                wait()
                order.append(name)

            return write

        def write(caller: str, work: Callable[[], None]) -> Coroutine[Any, Any, Any]:
            return services.write(asks(caller), proposing(work))

        greedy = [
            asyncio.create_task(write("greedy", work(f"greedy {n}", wait)))
            for n, wait in enumerate([held.wait, int, int])
        ]
        await asyncio.sleep(0)
        for name in ("ann", "bo"):
            await asyncio.wait_for(write(name, work(name)), PATIENCE)
        held.set()
        await asyncio.wait_for(asyncio.gather(*greedy), PATIENCE)
        assert order == ["ann", "bo", "greedy 0", "greedy 1", "greedy 2"]

    run(test, tmp_path)


def test_writes_that_wait_are_bounded_in_number(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        held = threading.Event()
        waiting = [
            asyncio.create_task(services.write(asks("greedy"), proposing(held.wait)))
            for _ in range(MAX_WRITES)
        ]
        await asyncio.sleep(0)
        try:
            with pytest.raises(TooManyRequests) as raised:
                await services.write(asks("greedy"), proposing(int))
            assert str(raised.value) == f"you have {MAX_WRITES} writes under way: wait for some"
            assert await services.write(asks("ann"), proposing(int)) == (NOWHERE, 0)
        finally:
            held.set()
        await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
        assert await services.write(asks("greedy"), proposing(int)) == (NOWHERE, 0)

    run(test, tmp_path)


def test_write_that_waits_for_its_append_keeps_its_places_and_no_turn(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        held = HeldStore(services.stores.log)
        services = replace(
            services,
            committer=Committer(held),  # type: ignore[arg-type]
            write_places=Places(9, "writes"),
        )
        names = [f"s{n}" for n in range(8)]
        others_wait = threading.Event()

        def after_the_others(propose: Callable[[], Any]) -> Callable[[], Any]:
            return lambda: others_wait.wait(PATIENCE) and propose()

        waiting = [
            asyncio.create_task(
                services.write(asks("ann"), after_the_others(putting(services, name)))
            )
            for name in names
        ]
        await asyncio.sleep(0)
        others_wait.set()
        # All have been decided, although not even the first is stored.
        await asyncio.wait_for(services.write(asks("ann"), proposing(int)), PATIENCE)
        with services.write_places.held("ann"), pytest.raises(TooManyRequests):
            await services.write(asks("ann"), proposing(int))
        assert not any(task.done() for task in waiting)
        held.let_go.set()
        stored = await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
        assert sorted(written.position for written, _ in stored) == [*range(1, 9)]
        # Those that came while the first transaction was open share the next.
        assert held.groups == [1, 7]
        services.close()

    run(test, tmp_path)


def test_many_changes_of_one_entity_at_once_are_all_stored(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        writes = [
            services.write(asks(f"caller {n % 5}"), putting(services, "s", description=f"d{n}"))
            for n in range(100)
        ]
        stored = await asyncio.wait_for(asyncio.gather(*writes), 6 * PATIENCE)
        versions = sorted(proposal.entity.stream_version for _, proposal in stored)
        assert versions == [*range(1, 101)]
        log = services.stores.log.read(0, 1_000)
        assert [recorded.stream_version for recorded in log] == versions

    run(test, tmp_path)


def test_repetitions_at_the_same_time_are_answered_as_the_first(tmp_path: Path) -> None:
    async def test(services: Services) -> None:
        writes = [
            services.write(asks(f"caller {n % 3}"), putting(services, f"s{n % 2}", "key"))
            for n in range(20)
        ]
        stored = await asyncio.wait_for(
            asyncio.gather(*writes, return_exceptions=True), 6 * PATIENCE
        )
        (recorded,) = services.stores.log.read(0, 1_000)
        assert not [one for one in stored if isinstance(one, KeyReused)]
        answered = [one for one in stored if not isinstance(one, BaseException)]
        assert {proposal.entity.id for _, proposal in answered} == {recorded.entity_id}
        assert len(answered) == 20

    run(test, tmp_path)


@pytest.mark.parametrize(("refusals", "stored"), [(3, True), (10, True), (100, False)])
def test_write_that_loses_again_and_again_is_tried_alone(
    tmp_path: Path, refusals: int, stored: bool
) -> None:
    async def test(services: Services) -> None:
        store = HeldStore(services.stores.log, refusals)
        store.let_go.set()
        services.catalog.store = store  # type: ignore[assignment]
        services = replace(services, committer=Committer(store))  # type: ignore[arg-type]
        writing = services.write(asks("ann"), putting(services, "s"))
        if stored:
            written, proposal = await asyncio.wait_for(writing, PATIENCE)
            assert (written, proposal.entity.name) == (Written(position=1, listed=True), "s")
        else:
            with pytest.raises(ConcurrentChange):
                await asyncio.wait_for(writing, PATIENCE)
            assert services.stores.log.head() == 0
        services.close()

    run(test, tmp_path)


def run(test: Callable[[Services], Coroutine[object, object, None]], directory: Path) -> None:
    """Run a test on services over new stores, whose projectors run."""
    settings = Settings(data=str(directory), jwt_secret=SECRET)
    with ProjectorLock(directory), closing(open_stores(directory)) as stores:
        daemon = make_daemon(stores, settings)
        daemon.start()
        try:
            with closing(make_services(settings, stores, daemon)) as services:
                asyncio.run(test(services))
        finally:
            daemon.stop()
