"""Search in a cluster: fed, followed, verified and rebuilt, and what becomes of its faults."""

import ssl
from collections.abc import Iterator
from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.opensearch_server import OpenSearchServer
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from projections.feeding.port import Damaged, Overtaken, Progress
from projections.generations import shared_supervision, supervision
from projections.generations.building import build
from projections.generations.folder import FolderLeadership
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.search.opensearch.engine import OpenSearchEngine
from projections.wiring.shared_search import SharedSearch
from projections.wiring.stores import Stores
from tests.depth import first_alone
from tests.opensearch_relay import Relay
from tests.projections.read_models import (
    ME,
    create,
    difference_of,
    found,
    generations,
    listed,
    opened,
    rebuild,
    step,
)
from tests.waiting import until

pytestmark = pytest.mark.xdist_group("opensearch")


@pytest.fixture(autouse=True)
def watched_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "WATCH_SECONDS", 0.0)
    monkeypatch.setattr(shared_supervision, "TRY_SECONDS", 0.0)


@pytest.fixture
def prefix() -> str:
    return f"p{uuid4().hex}"


@pytest.fixture
def url(opensearch: OpenSearchServer, prefix: str) -> str:
    return f"{opensearch.url}/{prefix}"


@pytest.fixture
def cluster(url: str) -> Iterator[Cluster]:
    with closing(Cluster(read_search_address(url))) as cluster:
        yield cluster


@pytest.fixture
def stores(tmp_path: Path, url: str) -> Iterator[Stores]:
    """A catalog with one entity, which search finds."""
    with opened(tmp_path / "data", search=url) as stores:
        create(stores, "first")
        step(stores)
        assert len(found(stores)) == 1
        yield stores


@pytest.fixture
def relay(opensearch: OpenSearchServer) -> Iterator[Relay]:
    relay = Relay(opensearch.port)
    yield relay
    relay.down()


def difference(stores: Stores) -> str | None:
    """The first difference of the search index from the log."""
    return difference_of(stores.engine, stores.log)


def block(cluster: Cluster, index: str, **settings: Any) -> None:
    cluster.request("PUT", f"/{index}/_settings", {"index": settings})


def test_index_is_fed_followed_verified_and_rebuilt(
    stores: Stores, tmp_path: Path, url: str, prefix: str, cluster: Cluster
) -> None:
    with opened(tmp_path / "data", search=url, writable=False) as reader:
        create(stores, "second", "third")
        step(stores)
        assert found(reader) == found(stores)
        assert (len(found(reader)), difference(reader)) == (3, None)
        rebuild(stores)
        assert (generations(stores), found(stores)) == ([2, 2], found(reader))
    aliases = cluster.request("GET", f"/_alias/{prefix}-search")
    assert list(aliases) == [f"{prefix}-search-2"]
    assert stores.engine.generations.numbers() == [1, 2]


def test_index_that_differs_from_the_log_is_told(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    query = {"query": {"exists": {"field": "kind"}}}
    cluster.request("POST", f"/{prefix}-search-1/_delete_by_query", query, refresh="true")
    assert found(stores) == []
    assert "missing" in str(difference(stores))


def test_past_that_differs_from_the_log_is_told(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    described = {"name": "first", "serviceType": "Mysql", "description": "the first"}
    DirectCatalog(stores.log).put(KINDS["databaseService"], described, ME)
    step(stores)
    assert difference(stores) is None
    query = {"query": {"exists": {"field": "until"}}}
    cluster.request("POST", f"/{prefix}-search-1/_delete_by_query", query, refresh="true")
    assert len(found(stores)) == 1
    assert "past" in str(difference(stores))
    rebuild(stores)
    assert difference(stores) is None


def test_index_that_was_deleted_is_built_anew(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    before = found(stores)
    cluster.request("DELETE", f"/{prefix}-search-1")
    with pytest.raises(StoreUnavailable, match="the search index is gone"):
        found(stores)
    create(stores, "second")
    step(stores)
    assert b"second" in listed(stores)
    assert (len(found(stores)), set(before) < set(found(stores))) == (2, True)
    assert (generations(stores), difference(stores)) == ([1, 2], None)


def test_write_to_an_index_that_was_deleted_makes_no_other_one(
    stores: Stores, prefix: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "WATCH_SECONDS", 1e9)
    cluster.request("DELETE", f"/{prefix}-search-1")
    create(stores, "second")
    step(stores)
    step(stores)
    assert (stores.engine.generations.numbers(), len(found(stores))) == ([2], 2)


@pytest.mark.parametrize(
    "change",
    first_alone({"properties": {"more": {"type": "keyword"}}}, {"dynamic": "true"}, {"_meta": {}}),
)
def test_index_whose_mapping_was_changed_is_built_anew(
    stores: Stores, prefix: str, cluster: Cluster, change: dict[str, Any]
) -> None:
    cluster.request("PUT", f"/{prefix}-search-1/_mapping", change)
    step(stores)
    assert (generations(stores), len(found(stores))) == ([1, 2], 1)


def test_index_that_is_read_only_falls_behind_and_recovers(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    """As all are once the disk of a node is nearly full, until there is room again."""
    block(cluster, f"{prefix}-search-1", **{"blocks.read_only_allow_delete": True})
    create(stores, "second")
    with pytest.raises(StoreUnavailable, match="read-only"):
        step(stores)
    assert b"second" in listed(stores)
    assert len(found(stores)) == 1
    block(cluster, f"{prefix}-search-1", **{"blocks.read_only_allow_delete": None})
    step(stores)
    assert (len(found(stores)), generations(stores)) == (2, [1, 1])


def test_index_without_its_shards_is_told_and_comes_back(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    index = f"{prefix}-search-1"
    cluster.request("POST", f"/{index}/_close")
    block(cluster, index, **{"routing.allocation.require._name": "nobody"})
    cluster.request("POST", f"/{index}/_open", wait_for_active_shards="0")
    health = cluster.request("GET", f"/_cluster/health/{index}")
    assert health["status"] == "red"
    with pytest.raises(StoreUnavailable, match="cannot"):
        found(stores)

    def is_told() -> bool:
        try:
            step(stores)
        except StoreUnavailable as error:
            return "cannot" in error.message
        # The node may have kept the shards of the closed index, and opened them where they were.
        cluster.request("POST", f"/{index}/_close")
        cluster.request("POST", f"/{index}/_open", wait_for_active_shards="0")
        return False

    until(is_told)
    assert b"first" in listed(stores)
    block(cluster, index, **{"routing.allocation.require._name": None})
    cluster.request("GET", f"/_cluster/health/{index}", wait_for_status="green")
    create(stores, "second")
    step(stores)
    assert (len(found(stores)), generations(stores)) == (2, [1, 1])


def test_cluster_may_stop_and_start(relay: Relay, prefix: str, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{relay.port}/{prefix}"
    relay.down()
    with opened(tmp_path / "data", search=url) as stores:
        create(stores, "first")
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            step(stores)
        assert b"first" in listed(stores)
        with pytest.raises(StoreUnavailable):
            found(stores)
        relay.up()
        step(stores)
        assert len(found(stores)) == 1
        relay.down()
        create(stores, "second")
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            found(stores)
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            step(stores)
        relay.up()
        step(stores)
        assert (len(found(stores)), generations(stores)) == (2, [1, 1])


def test_search_does_not_wait_for_a_cluster_that_is_silent(
    relay: Relay, prefix: str, tmp_path: Path
) -> None:
    with opened(tmp_path / "data", search=f"http://127.0.0.1:{relay.port}/{prefix}") as stores:
        create(stores, "first")
        step(stores)
        found(stores)
        with stores.engine.use() as engine:
            assert isinstance(engine, OpenSearchEngine)
            usual, engine.grace = engine.grace, -1.8
        relay.be_silent()
        # The pointer is asked for at most twice a second, and was a moment ago.
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.2 s"):
            found(stores)
        relay.speak()
        engine.grace = usual
        assert len(found(stores)) == 1


def test_indexes_of_another_catalog_are_left_alone(
    stores: Stores, tmp_path: Path, url: str
) -> None:
    with opened(tmp_path / "other", search=url) as other:
        create(other, "elsewhere")
        with pytest.raises(StoreUnavailable, match="of another catalog"):
            step(other)
        with pytest.raises(StoreUnavailable, match="of another catalog"):
            found(other)
        assert b"elsewhere" in listed(other)
    assert (len(found(stores)), generations(stores)) == (1, [1, 1])


def test_one_of_the_hosts_that_share_a_database_feeds_the_index(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    database = postgres.url(new_schema())
    with (
        opened(tmp_path / "two", database, url) as two,
        opened(tmp_path / "one", database, url) as one,
    ):
        leads = [host.supervisors[1].leads for host in (two, one)]
        assert leads == [True, False]
        create(one, "first")
        step(one)
        step(two)
        assert (len(found(one)), found(one)) == (1, found(two))
        for supervisor in two.supervisors:
            supervisor.close()
        create(two, "second")
        step(one)
        assert (one.supervisors[1].leads, len(found(one))) == (True, 2)
        assert (generations(one), found(two)) == ([1, 1], found(one))


def test_one_of_the_hosts_that_share_a_database_builds(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    """Each has a data directory of its own, so no file of one is seen by the other."""
    database = postgres.url(new_schema())
    with (
        opened(tmp_path / "one", database, url) as one,
        opened(tmp_path / "two", database, url) as two,
    ):
        for builder, other in ((one, two), (two, one)):
            for read_model in (0, 1):
                with (
                    builder.backends[read_model].definition.generations.building(),
                    pytest.raises(StoreUnavailable, match="another process is building"),
                    other.backends[read_model].definition.generations.building(),
                ):
                    pass


@pytest.mark.parametrize("stands_still", first_alone("apply", "reset"))
def test_rebuild_that_stands_still_changes_nothing_of_what_is_served_by_then(
    url: str,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stands_still: str,
) -> None:
    """Another host goes on with its building meanwhile, as if its lock was lost."""
    database = postgres.url(new_schema())
    with (
        opened(tmp_path / "one", database, url) as one,
        opened(tmp_path / "two", database, url) as two,
    ):
        create(two, "a")
        step(one)
        step(two)
        method = getattr(OpenSearchEngine, stands_still)

        def serve_and_go_on(self: OpenSearchEngine, *values: Any, **options: Any) -> None:
            monkeypatch.setattr(OpenSearchEngine, stands_still, method)
            live = two.read_models[1]
            assert build(live.definition, two.log, quiet).generation.number == 2

            def is_served() -> bool:
                step(one)
                return generations(one) == [1, 2]

            # A host looks only now and then whether the pointer was replaced.
            until(is_served)
            create(two, "b", "c", "d", "e", "f")
            step(one)
            step(two)
            assert (generations(one), len(found(one))) == ([1, 2], 6)
            method(self, *values, **options)

        monkeypatch.setattr(OpenSearchEngine, stands_still, serve_and_go_on)
        mine = SharedSearch(url, one.log.identity(), FolderLeadership(tmp_path), nullcontext)
        with closing(mine), pytest.raises(Overtaken, match=r"another process (writes to|feeds)"):
            build(mine.definition, one.log, quiet)
        step(one)
        step(two)
        for stores in (one, two):
            assert (listed(stores).count(b'"name":"'), len(found(stores))) == (6, 6)
        assert generations(one) == [1, 2]
        assert difference(one) is None
        create(two, "g")
        step(one)
        assert len(found(one)) == 7


def test_rebuild_that_stands_still_before_it_verifies_takes_no_index_from_its_leader(
    url: str, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is loaded; another host proposes it, and it is served and fed."""
    database = postgres.url(new_schema())
    with opened(tmp_path / "one", database, url) as one:
        create(one, "a")
        step(one)
        mine = SharedSearch(url, one.log.identity(), FolderLeadership(tmp_path), nullcontext)
        load = mine.definition.load

        def load_and_wait(address: str, log: EventStore, progress: Progress) -> None:
            load(address, log, progress)
            live = one.read_models[1]
            build(live.definition, one.log, quiet)
            step(one)
            assert generations(one) == [1, 2]

        definition = msgspec.structs.replace(mine.definition, load=load_and_wait)
        with closing(mine), pytest.raises(Overtaken, match="another process writes to"):
            build(definition, one.log, quiet)
        create(one, "b")
        step(one)
        assert (generations(one), len(found(one)), difference(one)) == ([1, 2], 2, None)


def test_index_that_a_building_has_left_changed_is_not_gone_on_with(
    stores: Stores, prefix: str, cluster: Cluster
) -> None:
    live = stores.read_models[1]

    def stop(done: int, total: int) -> None:
        raise StoreUnavailable("stopped")

    with pytest.raises(StoreUnavailable, match="stopped"):
        build(live.definition, stores.log, stop)
    cluster.request("PUT", f"/{prefix}-search-2/_mapping", {"dynamic": "true"})
    with pytest.raises(Damaged, match="mapping"):
        build(live.definition, stores.log, quiet)
    assert build(live.definition, stores.log, quiet).generation.number == 3
    step(stores)
    assert (generations(stores), len(found(stores))) == ([1, 3], 1)
    assert stores.engine.generations.numbers() == [1, 3]


def quiet(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def test_certificate_of_the_cluster_is_verified(
    opensearch: OpenSearchServer, prefix: str, tmp_path: Path
) -> None:
    context, authority = certified(tmp_path)
    relay = Relay(opensearch.port, context)
    url = f"https://me:pass%2Fword@localhost:{relay.port}/{prefix}"
    try:
        with opened(tmp_path / "data", search=f"{url}?ca={authority}") as stores:
            create(stores, "first")
            step(stores)
            assert len(found(stores)) == 1
        # The relay has taken the TLS off: "me:pass/word".
        assert b"authorization: Basic bWU6cGFzcy93b3Jk" in bytes(relay.seen)
        with opened(tmp_path / "data", search=url, writable=False) as stores:
            with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED") as refused:
                found(stores)
            assert "word" not in refused.value.message
    finally:
        relay.down()


def certified(directory: Path) -> tuple[ssl.SSLContext, Path]:
    """The context of a server that has a certificate for localhost, and who signed it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, own = directory / "authority.pem", directory / "key.pem"
    authority.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    own.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, own)
    return context, authority
