"""The engines that every suite of the search engine port runs over, and documents for them."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from projections.search.documents.documents import Scalar, SearchDocument, SortValue
from projections.search.engine import EngineQuery, SearchEngine, Sort
from projections.search.index.engine import WhooshEngine
from projections.search.index.format.storage import Directory
from projections.search.tree import MatchAll, Node
from tests.commits import commit


class OpenEngine(Protocol):
    """Opens the same index anew at each call, as another process would; the first time empty."""

    def __call__(
        self, *, deadline: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> SearchEngine:
        """An engine of which searches may take `deadline` seconds of the clock."""


class MakeEngine(Protocol):
    """Opens one index."""

    def __call__(self, *, deadline: float, clock: Callable[[], float]) -> SearchEngine:
        """An engine of which searches may take `deadline` seconds of the clock."""


BACKENDS = [
    "numpy in a directory",
    pytest.param("opensearch", marks=pytest.mark.xdist_group("opensearch")),
]


@pytest.fixture(params=BACKENDS)
def open_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenEngine]:
    yield from opening(request, tmp_path)


@pytest.fixture(params=BACKENDS, scope="module")
def lasting_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SearchEngine]:
    """An engine for all tests of a module, none of which writes."""
    directory = tmp_path_factory.mktemp("engine")
    for open_one in opening(request, directory, "lasting_index"):
        yield open_one()


@pytest.fixture(params=BACKENDS, scope="module")
def filled_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SearchEngine]:
    """An empty engine, which a module fills once for all of its tests that only read."""
    for open_one in opening(request, tmp_path_factory.mktemp("engine"), "filled_index"):
        yield open_one()


def opening(
    request: pytest.FixtureRequest, directory: Path, index: str = "shared_index"
) -> Iterator[OpenEngine]:
    """Opens the engine that a fixture asks for, and closes it afterwards.

    `index` is the fixture of the index in a cluster.
    """
    make: MakeEngine
    if request.param == "opensearch":
        make = request.getfixturevalue(index).open
    else:
        make = partial(WhooshEngine, Directory(directory), writable=True)
    opened: list[SearchEngine] = []

    def open_one(
        *, deadline: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> SearchEngine:
        opened.append(make(deadline=deadline, clock=clock))
        if len(opened) == 1:
            opened[0].reset()
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: OpenEngine) -> SearchEngine:
    return open_engine()


def made(
    name: str,
    kind: str = "table",
    *,
    deleted: bool = False,
    digest: int = 1,
    sort: dict[str, SortValue] | None = None,
    **fields: Scalar | tuple[Scalar, ...],
) -> SearchDocument:
    """A document whose id is its name; `__` in the name of a field stands for a dot."""
    values = {
        path.replace("__", "."): each if isinstance(each, tuple) else (each,)
        for path, each in {"name": name, "entityType": kind, **fields}.items()
    }
    return SearchDocument(name, kind, deleted, values, {"name": name, **(sort or {})}, digest)


def apply(engine: SearchEngine, position: int, *documents: SearchDocument) -> None:
    """Commit documents at a position, with its number as the fingerprint."""
    commit(engine, {each.id: each for each in documents}, position, str(position))


def ids(
    engine: SearchEngine, node: Node | None = None, *, deleted: bool = False, **options: Any
) -> set[str]:
    """Return the ids of all kinds that match a node (None: everything)."""
    query = EngineQuery(tree=node or MatchAll(), size=1_000, include_deleted=deleted, **options)
    found = engine.search(query)
    assert (found.total, found.relation) == (len(found.hits), "eq")
    return {hit.id for hit in found.hits}


def in_order(engine: SearchEngine, node: Node, sort: Sort | None = None) -> list[str]:
    """Ids of what matches a node, in order."""
    return [hit.id for hit in engine.search(EngineQuery(tree=node, sort=sort, size=1_000)).hits]
