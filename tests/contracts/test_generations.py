"""Promises of every backend of generations: whole records, generations apart, one builder."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from projections.feeding.port import Overtaken
from projections.generations.folder import FolderGenerations, build_lock
from projections.generations.port import Generation, Generations, Pointer, ProposedGeneration
from projections.generations.postgres.generations import PostgresGenerations
from projections.search.opensearch.address import read_search_address
from projections.search.opensearch.cluster import Cluster
from projections.wiring.cluster_generations import ClusterGenerations

OpenGenerations = Callable[[str], Generations]
Put = Callable[[Generations, int, int], None]
FIRST, SECOND = Generation(1, 1_000, "code"), Generation(2, 2_000, "code")


CLUSTER = pytest.param("opensearch", marks=pytest.mark.xdist_group("opensearch"))


@pytest.fixture(params=["files", "folders", "postgres", CLUSTER])
def open_generations(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenGenerations]:
    """Opens the generations of a projection anew at each call, as another process would."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        with closing(connections_to(server)) as connections:
            catalog = new_schema()
            yield lambda name: PostgresGenerations(connections, catalog, name, "0123456789abcdef")
        return
    if request.param == "opensearch":
        node: OpenSearchServer = request.getfixturevalue("opensearch")
        with closing(Cluster(read_search_address(f"{node.url}/{new_schema()}"))) as cluster:

            def in_cluster(name: str) -> Generations:
                building = partial(build_lock, tmp_path, name)
                return ClusterGenerations(cluster, name, "log", building, look_seconds=0)

            yield in_cluster
        return
    pattern = {"files": "{}-{{}}.db", "folders": "{}-{{}}"}[request.param]
    yield lambda name: FolderGenerations(tmp_path, name, pattern.format(name))


def connections_to(server: PostgresServer) -> Connections:
    return Connections(read_address(server.url("catalog"), writable=True))


@pytest.fixture
def put(request: pytest.FixtureRequest) -> Put:
    """Fills a generation with so many bytes, about."""
    if request.node.callspec.params["open_generations"] == "opensearch":
        node: OpenSearchServer = request.getfixturevalue("opensearch")
        return partial(put_index, node)
    if request.node.callspec.params["open_generations"] != "postgres":
        return put_files
    server: PostgresServer = request.getfixturevalue("postgres")

    def put_tables(generations: Generations, number: int, size: int) -> None:
        schema = generations.address(number)
        rows = f"SELECT repeat('x', 100) FROM generate_series(1, {size // 100})"
        server.run(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.entities AS {rows}")

    return put_tables


def put_index(node: OpenSearchServer, generations: Generations, number: int, size: int) -> None:
    with closing(Cluster(read_search_address(node.url))) as cluster:
        index = generations.address(number)
        cluster.request("PUT", f"/{index}", wait_for_active_shards="1")
        document = {"text": " ".join(map(str, range(size // 5)))}
        cluster.request("PUT", f"/{index}/_doc/1", document)
        cluster.request("POST", f"/{index}/_flush")


def put_files(generations: Generations, number: int, size: int) -> None:
    path = Path(generations.address(number))
    if path.suffix != ".db":
        path.mkdir()
        path /= "data"
    path.write_bytes(bytes(size))


def test_shelf_is_empty_at_first(open_generations: OpenGenerations) -> None:
    generations = open_generations("model")

    assert (generations.name, generations.numbers(), generations.size(1)) == ("model", [], 0)
    assert (generations.pointer(), generations.revision("pointer")) == (Pointer(), None)
    assert (generations.proposal(), generations.revision("proposal")) == (None, None)


def test_pointer_is_seen_whole_by_others_and_its_revision_tells(
    open_generations: OpenGenerations,
) -> None:
    writer, reader = open_generations("model"), open_generations("model")
    revisions = []
    for pointer in (
        Pointer(live=FIRST),
        Pointer(live=SECOND, previous=FIRST),
        Pointer(previous=FIRST, refused="damaged"),
    ):
        revision = writer.point(pointer, instead_of=writer.revision("pointer"))
        assert (reader.pointer(), revision) == (pointer, writer.revision("pointer"))
        assert reader.revision("pointer") == writer.revision("pointer")
        revisions.append(reader.revision("pointer"))

    assert len({None, *revisions}) == 4


def test_proposal_is_replaced_and_withdrawn(open_generations: OpenGenerations) -> None:
    writer, reader = open_generations("model"), open_generations("model")
    revisions = []
    for proposal in (
        ProposedGeneration(SECOND),
        ProposedGeneration(SECOND, ready=True),
        ProposedGeneration(SECOND, ready=True, refused="too old"),
    ):
        revision = writer.propose(proposal, instead_of=writer.revision("proposal"))
        assert (reader.proposal(), revision) == (proposal, writer.revision("proposal"))
        revisions.append(reader.revision("proposal"))
    assert len({None, *revisions}) == 4

    for _ in range(2):
        writer.withdraw(instead_of=revision)
        assert (reader.proposal(), reader.revision("proposal")) == (None, None)


def test_pointer_that_another_process_has_replaced_is_not_replaced(
    open_generations: OpenGenerations,
) -> None:
    one, other = open_generations("model"), open_generations("model")
    first = one.point(Pointer(live=FIRST), instead_of=None)
    for decided_on in (None, first):
        if decided_on == first:
            other.point(Pointer(live=SECOND, previous=FIRST), instead_of=first)
        before = other.pointer(), other.revision("pointer")
        with pytest.raises(Overtaken, match="another process has replaced"):
            one.point(Pointer(refused="damaged"), instead_of=decided_on)
        assert (other.pointer(), other.revision("pointer")) == before


def test_pointer_that_was_replaced_by_an_equal_one_is_not_replaced(
    open_generations: OpenGenerations,
) -> None:
    one, other = open_generations("model"), open_generations("model")
    first = one.point(Pointer(live=FIRST), instead_of=None)
    other.point(Pointer(live=FIRST), instead_of=first)
    with pytest.raises(Overtaken):
        one.point(Pointer(live=SECOND), instead_of=first)
    assert other.pointer() == Pointer(live=FIRST)


def test_proposal_that_another_process_has_replaced_stays(
    open_generations: OpenGenerations,
) -> None:
    one, other = open_generations("model"), open_generations("model")
    first = one.propose(ProposedGeneration(FIRST), instead_of=None)
    for decided_on in (None, first):
        if decided_on == first:
            other.propose(ProposedGeneration(SECOND), instead_of=first)
        before = other.proposal(), other.revision("proposal")
        with pytest.raises(Overtaken, match="another process has replaced"):
            one.propose(ProposedGeneration(FIRST, ready=True), instead_of=decided_on)
        assert (other.proposal(), other.revision("proposal")) == before
    one.withdraw(instead_of=first)
    assert (other.proposal(), other.revision("proposal")) == before

    second = before[1]
    assert second is not None
    other.withdraw(instead_of=second)
    with pytest.raises(Overtaken):
        one.propose(ProposedGeneration(FIRST, ready=True), instead_of=second)
    assert other.proposal() is None


def test_generations_are_counted_measured_and_removed(
    open_generations: OpenGenerations, put: Put
) -> None:
    generations, other = open_generations("model"), open_generations("other")
    for number, size in ((1, 100), (2, 2_000), (10, 30_000)):
        put(generations, number, size)
    put(other, 3, 1)

    assert generations.numbers() == [1, 2, 10]
    sizes = [generations.size(number) for number in (1, 2, 10)]
    assert all(size >= least for size, least in zip(sizes, (100, 2_000, 30_000), strict=True))
    assert (sizes, generations.size(3)) == (sorted(sizes), 0)
    assert [generations.holds(number) for number in (1, 2, 3, 10)] == [True, True, False, True]
    generations.remove([1, 10, 11])
    assert (generations.numbers(), other.numbers()) == ([2], [3])


def test_shelves_and_generations_have_addresses_of_their_own(
    open_generations: OpenGenerations,
) -> None:
    addresses = [
        open_generations(name).address(n) for name in ("model", "other") for n in (1, 2, 11)
    ]

    assert len(set(addresses)) == 6
    assert open_generations("model").address(1) == addresses[0]


def test_one_builder_at_a_time(open_generations: OpenGenerations) -> None:
    first, second = open_generations("model"), open_generations("model")
    with first.building():
        with (
            pytest.raises(StoreUnavailable, match="another process is building"),
            second.building(),
        ):
            pass
        with open_generations("other").building():
            pass
    with second.building():
        pass
