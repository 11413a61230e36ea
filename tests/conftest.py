"""Rules for all tests."""

import gc
import itertools
import re
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from benchmarks.opensearch_server import NoServer, OpenSearchServer
from benchmarks.opensearch_server import running as running_opensearch
from benchmarks.postgres_server import PostgresServer
from tests import depth
from tests.handfuls import Handfuls, place_of
from tests.opensearch_indexes import patience, warm_up
from tests.postgres_copies import Copies
from tests.postgres_servers import running_or_skipped

# Hypothesis holds each example to 200 ms of wall-clock time, which a busy machine takes of any of
# them. Tests that are about speed hold the time that their thread worked.
hypothesis.settings.register_profile(
    depth.QUICK, deadline=None, max_examples=depth.EXAMPLES, print_blob=True
)
hypothesis.settings.register_profile(depth.DEEP, deadline=None, max_examples=100, print_blob=True)
hypothesis.settings.load_profile(depth.QUICK)

# As in the processes of the server. A test that commits beside threads that search hands the
# interpreter back at each call of the system, and would wait 5 ms for each while they work.
sys.setswitchinterval(0.001)

_COLLECT_AFTER = 50_000, 20, 20
"""New objects, and rounds of the younger generations, until garbage is collected."""

gc.disable()  # until all is imported


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test-deep` asks for."""
    parser.addoption(
        "--deep",
        choices=["all", *map(str, range(depth.QUARTERS))],
        help="run what `make test` leaves out: all of it, or one of its quarters",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Have a deep run draw more examples, before any module of tests asks how many."""
    if config.getoption("deep") is not None:
        hypothesis.settings.load_profile(depth.DEEP)


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection, a third of the work of some tests."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the reports of all tests out of what pytest looks through at the end.

    The process that only hands tests out has run none that could have left anything.
    """
    if config.getoption("numprocesses", None):
        gc.freeze()


_TESTS = Path(__file__).parent
_MADE_ONCE = re.compile(r'^@pytest.fixture\(.*scope="module".*\)\ndef (\w+)', re.MULTILINE)


@cache
def _made_once(file: Path) -> frozenset[str]:
    """The fixtures that are made once for all tests of a module, there or in a conftest above."""
    return _made_in(file) | _made_above(file.parent)


def _made_in(file: Path) -> frozenset[str]:
    return frozenset(_MADE_ONCE.findall(file.read_text()) if file.exists() else ())


@cache
def _made_above(room: Path) -> frozenset[str]:
    """Those of the conftest of a room, and of the rooms that it is in."""
    if not room.is_relative_to(_TESTS):
        return frozenset()
    return _made_above(room.parent) | _made_in(room / "conftest.py")


_LONGEST_ID = 80
"""Characters of a parameter that the name of a test has in it."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test by the beginning of a long parameter, and a digest of all of it.

    Processes send each other all names: one of ten million characters takes them seconds.
    """
    if not isinstance(val, str | bytes) or len(val) <= _LONGEST_ID:
        return None
    whole = val if isinstance(val, bytes) else val.encode(errors="surrogatepass")
    return f"{val[: _LONGEST_ID // 2]!a}... {blake2b(whole, digest_size=4).hexdigest()}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run does not try.

    Keep tests that share what their module made in one process, which makes it once.
    """
    config.hook.pytest_deselected(items=depth.choose(items, config.getoption("deep")))
    for item in items:
        is_free = item.get_closest_marker("xdist_group") is None and isinstance(
            item, pytest.Function
        )
        if is_free and not _made_once(item.path).isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> bytes:
    """Return the place of a test: before those that share nothing, or among them."""
    is_shared = item.get_closest_marker("xdist_group") is not None
    return b"" if is_shared else place_of(item.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Handfuls | None:
    """Have what `--dist loadgroup` hands out one by one handed out by the handful."""
    return Handfuls(config, log) if config.getoption("dist") == "loadgroup" else None


_numbers = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of the test alone, whose name begins with that of the test.

    To number it, pytest's own fixture looks through the directories of all tests before.
    """
    name = re.sub(r"\W", "_", request.node.name)[:26]
    return tmp_path_factory.mktemp(f"{name}-{next(_numbers)}", numbered=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that the tests of a process share; each takes a schema of its own."""
    with running_or_skipped() as server:
        yield server


@pytest.fixture
def copies(postgres: PostgresServer) -> Iterator[Copies]:
    """Copies of the server's files, which end with the test."""
    copies = Copies(postgres)
    yield copies
    copies.forget()


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    """A node that the tests of one worker share; each takes indexes of its own."""
    try:
        with running_opensearch() as server, patience():
            warm_up(server)
            yield server
    except NoServer as error:
        pytest.skip(str(error))
