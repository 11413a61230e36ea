"""The sorted read model of several hosts: one of them feeds it, and nothing is applied twice."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from socket import gethostname

import pytest

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.postgres.connections import Link
from domain.kinds.registry import KINDS
from projections.entities.list_pages import small_page
from projections.entities.list_port import ListRequest
from projections.feeding.port import Overtaken
from projections.generations.building import build
from projections.generations.postgres import generations as postgres_generations
from projections.generations.shared_supervision import SharedSupervisor
from projections.generations.supervision import GenerationSupervisor
from projections.wiring.stores import Stores
from tests.projections.read_models import (
    ME,
    create,
    difference_of,
    listed,
    opened,
    other_code,
    rebuild,
    step,
)
from tests.waiting import until

SERVICES = ListRequest(kind=KINDS["databaseService"], limit=100)
Hosts = Callable[[str], Stores]
TAKEOVER_SECONDS = 5.0
_LEADER = """
import sys, time
from pathlib import Path
from projections.wiring.stores import open_stores
supervisor = open_stores(Path(sys.argv[1]), sys.argv[2]).supervisors[0]
print(supervisor.leads, flush=True)
while True:
    supervisor.step() or time.sleep(0.002)
"""


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def url(postgres: PostgresServer, schema: str) -> str:
    return postgres.url(schema)


@pytest.fixture
def host(url: str, tmp_path: Path) -> Iterator[Hosts]:
    """Opens the stores of a host, in a data directory of its own."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(opened(tmp_path / name, url))


def leads(stores: Stores) -> bool:
    supervisor = stores.supervisors[0]
    assert isinstance(supervisor, SharedSupervisor)
    return supervisor.leads


def feed(stores: Stores) -> bool:
    """Let a host do what it has to do for the lists; whether it leads then."""
    while stores.supervisors[0].step():
        pass
    return leads(stores)


def number(stores: Stores) -> int:
    """The generation of the lists that a host reads."""
    return stores.entities.generation().number


def difference(stores: Stores) -> str | None:
    """Return what distinguishes the lists from the log."""
    return difference_of(stores.entities, stores.log)


def test_one_host_feeds_the_lists_of_all(host: Hosts) -> None:
    one, two = host("one"), host("two")
    assert (leads(one), leads(two)) == (True, False)
    create(two, "a")
    assert (feed(two), b'"a"' in listed(one)) == (False, False)
    assert feed(one)
    assert b'"name":"a"' in listed(one)
    assert listed(one) == listed(two)
    assert [backend.leadership.leader() for backend in one.backends] == [gethostname(), None]


def test_host_that_ends_leaves_the_lead_to_another(host: Hosts, url: str, tmp_path: Path) -> None:
    with opened(tmp_path / "first", url) as first:
        two = host("two")
        create(first, "a")
        assert feed(first)
        assert not feed(two)
    until(lambda: feed(two), seconds=TAKEOVER_SECONDS)
    create(two, "b")
    feed(two)
    assert (b'"b"' in listed(two), number(two), difference(two)) == (True, 1, None)


def test_host_that_is_killed_is_replaced_and_nothing_is_applied_twice(
    host: Hosts, url: str, tmp_path: Path
) -> None:
    script = [sys.executable, "-c", _LEADER, str(tmp_path / "killed"), url]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == "True\n"
        two = host("two")
        create(two, *(f"before-{n}" for n in range(5)))
        until(lambda: b"before-4" in listed(two))
        assert not feed(two)
        create(two, *(f"meanwhile-{n}" for n in range(20)))
        leader.kill()
        killed_at = time.monotonic()
        until(lambda: feed(two), every=0.01)
        assert time.monotonic() - killed_at < TAKEOVER_SECONDS
    create(two, "after")
    feed(two)
    assert listed(two).count(b'"name":"') == 26
    assert difference(two) is None


def test_two_who_believe_they_lead_apply_nothing_twice(host: Hosts, url: str) -> None:
    """Each has a supervisor that was never told to lead, as one that lost the leadership has."""
    stores, other = host("one"), host("two")
    feed(stores)
    supervisors = [
        GenerationSupervisor(each.backends[0].definition, each.log) for each in (stores, other)
    ]
    for supervisor in supervisors:
        supervisor.open()
        supervisor.step()
    create(stores, "a")
    first, second = supervisors
    assert first.step() == 1
    # What it believes to go on from is not there any more, and the batch not applied.
    with pytest.raises(StoreUnavailable, match="another process feeds"):
        second.step()
    assert (second.step(), difference(stores)) == (0, None)

    done = threading.Event()

    def go_on(supervisor: GenerationSupervisor[object]) -> None:
        while not done.is_set():
            try:
                supervisor.step()
            except StoreUnavailable:
                refused.append(supervisor)

    refused: list[object] = []
    threads = [threading.Thread(target=go_on, args=(each,)) for each in supervisors]
    for thread in threads:
        thread.start()
    create(stores, *(f"n{n}" for n in range(30)))
    until(lambda: stores.entities.checkpoint() == stores.log.head())
    done.set()
    for thread in threads:
        thread.join()
    assert (listed(stores).count(b'"name":"'), difference(stores)) == (31, None)


def cut_leaders(postgres: PostgresServer) -> None:
    """Ends the sessions of all who lead, who are told at their next statement."""
    postgres.run(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name LIKE 'catalog leader%'"
    )


def before(
    monkeypatch: pytest.MonkeyPatch, generations: object, method: str, do: Callable[[], object]
) -> None:
    """Has something happen before the first call of a method of generations."""
    call = getattr(generations, method)

    def do_and_call(*values: object, **named: object) -> object:
        monkeypatch.setattr(generations, method, call)
        do()
        return call(*values, **named)

    monkeypatch.setattr(generations, method, do_and_call)


@pytest.mark.parametrize("other_switches", [False, True])
def test_pointer_of_a_host_that_has_lost_the_lead_is_not_written(
    host: Hosts,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    other_switches: bool,
) -> None:
    """It stands still between the reading and the writing of the pointer."""
    one, two = host("one"), host("two")
    create(one, "a")
    assert feed(one)
    live, generations = one.read_models[0], one.backends[0].definition.generations
    build(live.definition, one.log, lambda done, total: None)

    def lose() -> None:
        if not other_switches:
            proposed = two.backends[0].definition.generations.revision("proposal")
            assert proposed is not None
            two.backends[0].definition.generations.withdraw(instead_of=proposed)
        cut_leaders(postgres)
        until(lambda: feed(two))

    before(monkeypatch, generations, "point", lose)
    with pytest.raises(StoreUnavailable):
        feed(one)
    assert generations.pointer() == two.backends[0].definition.generations.pointer()
    create(two, "b")
    assert (feed(two), feed(one)) == (True, False)
    fed = 2 if other_switches else 1
    assert [number(each) for each in (one, two)] == [fed, fed]
    assert [b'"b"' in listed(each) for each in (one, two)] == [True, True]


def test_proposal_of_a_host_that_has_lost_the_lead_is_not_written(
    host: Hosts, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses what is proposed, as it does not see it, and the next leader does."""
    one, two = host("one"), host("two")
    create(one, "a")
    assert feed(one)
    live, generations = one.read_models[0], one.backends[0].definition.generations
    build(live.definition, one.log, lambda done, total: None)
    with monkeypatch.context() as patch:
        patch.setattr(generations, "holds", lambda number: False)
        before(patch, generations, "propose", lambda: cut_leaders(postgres))
        with pytest.raises(StoreUnavailable):
            feed(one)
    until(lambda: feed(two))
    assert (number(two), number(one)) == (2, 2)


def test_leader_whose_pointer_another_host_has_replaced_leads_no_more(host: Hosts) -> None:
    one, two = host("one"), host("two")
    create(one, "a")
    assert feed(one)
    generations = two.backends[0].definition.generations
    pointer = generations.pointer()
    generations.point(pointer, instead_of=generations.revision("pointer"))
    with pytest.raises(Overtaken, match="another process has replaced the pointer"):
        one.supervisors[0].step()
    assert not leads(one)
    until(lambda: feed(two))


def test_readers_see_whole_generations_while_they_are_switched(host: Hosts) -> None:
    one, two = host("one"), host("two")
    create(one, "a", "b")
    feed(one)
    whole = listed(two)
    done = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(two.entities.read(lambda model: small_page(model, SERVICES) or b""))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        live = one.read_models[0]
        build(live.definition, one.log, lambda done, total: None)
        feed(one)
    done.set()
    for thread in threads:
        thread.join()
    assert seen == {whole}
    assert (number(one), number(two)) == (5, 5)
    assert one.backends[0].definition.generations.numbers() == [4, 5]


def test_list_of_two_filters_shows_what_only_the_new_generation_has(host: Hosts) -> None:
    """Nothing else has this host look at the pointer between the two reads."""
    one, two = host("one"), host("two")
    create(one, "s")
    catalog = DirectCatalog(one.log)
    catalog.create(KINDS["database"], {"name": "d", "service": "s"}, ME)
    schema = catalog.create(KINDS["databaseSchema"], {"name": "x", "database": "s.d"}, ME)
    feed(one)
    narrowed = {"database": "s.d", "databaseSchema": schema.entity.fqn}
    tables = ListRequest(kind=KINDS["table"], limit=10, filters=narrowed)

    def names() -> bytes | None:
        return two.entities.read(lambda model: small_page(model, tables))

    assert names() == b'{"data":[],"paging":{"total":0}}'
    rebuild(one)
    columns = [{"name": "id", "dataType": "INT"}]
    catalog.create(
        KINDS["table"], {"name": "t", "databaseSchema": schema.entity.fqn, "columns": columns}, ME
    )
    feed(one)
    assert b'"total":1' in (names() or b"")


def test_generation_that_somebody_reads_is_removed_later(host: Hosts) -> None:
    stores = host("one")
    create(stores, "a")
    feed(stores)
    with stores.entities.use() as old, old.snapshot() as snapshot:
        for _ in range(2):
            rebuild(stores)
        assert [*snapshot.ids()] != []
        assert stores.backends[0].definition.generations.numbers() == [1, 2, 3]
    rebuild(stores)
    assert stores.backends[0].definition.generations.numbers() == [3, 4]


def test_hosts_of_two_releases_are_served_side_by_side(host: Hosts) -> None:
    old = host("old")
    create(old, "a")
    feed(old)
    with other_code():
        new = host("new")
    feed(new)
    assert (leads(old), leads(new)) == (True, True)
    create(new, "b")
    for stores in (old, new):
        feed(stores)
        assert (b'"b"' in listed(stores), number(stores)) == (True, 1)
        assert stores.backends[0].definition.generations.numbers() == [1]


def test_what_no_host_uses_any_more_is_removed(
    host: Hosts, url: str, tmp_path: Path, postgres: PostgresServer, schema: str
) -> None:
    with opened(tmp_path / "old", url) as old:
        create(old, "a")
        feed(old)
        generations = old.backends[0].definition.generations
        with other_code():
            new = host("new")
        keeper = new.supervisors[0]
        assert isinstance(keeper, SharedSupervisor)
        feed(new)
        keeper.keep()
        assert generations.numbers() == [1]
        age = f"UPDATE {schema}_read_models.shelves SET used_at = now() - interval '11 minutes'"
        postgres.run(age)
        keeper.keep()
        assert (generations.numbers(), generations.revision("pointer")) == ([], None)
        assert (b'"a"' in listed(new), new.backends[0].definition.generations.numbers()) == (
            True,
            [1],
        )


def test_lists_of_another_log_are_built_anew(
    url: str, schema: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """As of one that was restored alone, from a dump of its schema."""
    with opened(tmp_path, url) as stores:
        create(stores, "a", "b")
        feed(stores)
    postgres.run(f"DROP SCHEMA {schema} CASCADE")
    with opened(tmp_path, url) as restored:
        create(restored, "c")
        step(restored)
        assert (b'"c"' in listed(restored), b'"a"' in listed(restored)) == (True, False)
        assert (number(restored), difference(restored)) == (2, None)


def test_builder_whose_session_is_cut_may_try_again(
    postgres: PostgresServer, host: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its session ends between its begin and the statement that takes the lock of builders."""
    take = postgres_generations.try_lock

    def cut(link: Link, name: str) -> bool:
        postgres.run(f"SELECT pg_terminate_backend({link.info.backend_pid}, 5000)")
        return take(link, name)

    stores = host("one")
    monkeypatch.setattr(postgres_generations, "try_lock", cut)
    with pytest.raises(StoreUnavailable, match="terminating connection"):
        rebuild(stores)
    monkeypatch.setattr(postgres_generations, "try_lock", take)
    rebuild(stores)
