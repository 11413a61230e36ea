"""The application over real stores with its projectors running, asked without a socket.

With TEST_DATABASE=postgresql all of it runs over schemas of a PostgreSQL server, but for what a
test has put into a directory before.
"""

import atexit
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import Any, Protocol

import pytest
from anyio import Event
from anyio.from_thread import BlockingPortal
from litestar import Litestar
from litestar.testing import TestClient
from msgspec.structs import replace

from api.app import create_app
from api.callers.limits import Places
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from api.callers.tokens.verifier import TokenVerifier, open_verifier
from api.callers.work_queue import WorkQueue
from api.processes.server import make_daemon
from api.services import Services, make_services, open_measurements
from api.settings import Settings
from api.telemetry.logs import LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from benchmarks.postgres_server import PostgresServer
from domain.openlineage.mapping_file import MappingFile
from projections.feeding.daemon import ProjectorLock
from projections.wiring.reactions import drawing_late, judging
from projections.wiring.stores import open_stores
from tests.waiting import until

SECRET = "a secret for tests that is longer than the sixty-four bytes of a SHA-512 key"

Answer = tuple[int, Any]

IN_DATABASE = os.environ.get("TEST_DATABASE") == "postgresql"
over_files = pytest.mark.skipif(IN_DATABASE, reason="is about logs and lists in files")
_servers: list[PostgresServer] = []
"""The server that has the logs of all applications; none where they are files."""


@pytest.fixture(scope="session", autouse=True)
def database(request: pytest.FixtureRequest) -> None:
    """Puts all logs into a PostgreSQL server where the environment says so."""
    if IN_DATABASE:
        _servers.append(request.getfixturevalue("postgres"))


def database_of(directory: Path) -> str | None:
    """The URL of the log of a data directory, the same one each time; None for a file."""
    if not _servers or (directory / "events.db").exists():
        return None
    return _servers[0].url("s" + blake2b(bytes(directory), digest_size=8).hexdigest())


@cache
def _empty_stores() -> Path:
    """A data directory without events, made once: to build it takes ten times as long as a copy."""
    directory = Path(mkdtemp(prefix="empty-stores-"))
    atexit.register(shutil.rmtree, directory)
    open_stores(directory).close()
    return directory


def environment_of(directory: Path) -> dict[str, str | None]:
    """Settings that commands need beside the data directory."""
    return {"CATALOG_DATABASE_URL": database_of(directory)}


@cache
def token(role: str) -> str:
    """A token of a caller with one role, the same one each time, as clients send it."""
    return mint(Issuer(secret=SECRET), f"the-{role}", (role,), 7_200)


def body_of(response: Any) -> Any:
    """The decoded body; an error's without its request id, which must be that of the header."""
    body = response.json()
    if response.status_code >= 400:
        assert body.pop("requestId") == response.headers["X-Request-Id"]
    return body


class _TestClient(TestClient[Litestar]):
    """Hands a request over to the thread of the application once, and ends in that thread.

    Litestar's own has that thread make an event first, for which both threads take a turn, and
    starts another one with an event loop to close its streams.
    """

    _portal: BlockingPortal | None = None

    def __enter__(self) -> "_TestClient":
        super().__enter__()
        self._portal = self.blocking_portal
        call = self.blocking_portal.call

        def call_or_make(function: Callable[..., Any], *given: Any) -> Any:
            return Event() if function is Event else call(function, *given)

        self.blocking_portal.call = call_or_make  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *given: Any) -> None:
        super().__exit__(*given)
        self._portal = None

    @contextmanager
    def portal(self) -> Iterator[BlockingPortal]:
        """The way to the thread of the application, until that has ended."""
        if self._portal is not None:
            yield self._portal
            return
        with super().portal() as portal:
            yield portal


class Client:
    """Requests with a token of a role; `ask` gives status and decoded body, as `body_of` does."""

    def __init__(self, http: TestClient[Litestar], directory: Path, services: Services) -> None:
        self.http = http
        self.directory = directory
        self.services = services

    def request(
        self,
        method: str,
        path: str,
        *,
        role: str = "admin",
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> Any:
        headers = {"Authorization": f"Bearer {token(role)}", **(headers or {})}
        return self.http.request(method, path, headers=headers, **options)

    def ask(self, method: str, path: str, **options: Any) -> Answer:
        response = self.request(method, path, **options)
        return response.status_code, body_of(response)

    def get(self, path: str, **params: Any) -> Any:
        """The body of a GET that succeeds."""
        response = self.request("GET", path, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def create(self, collection: str, **body: Any) -> Any:
        """The body of a POST that succeeds."""
        response = self.request("POST", f"/v1/{collection}", json=body)
        assert response.status_code == 201, response.text
        return response.json()

    def schema(self) -> str:
        """A service, a database and a schema; returns the schema's qualified name."""
        self.create("services/databaseServices", name="service", serviceType="Mysql")
        self.create("databases", name="database", service="service")
        created = self.create("databaseSchemas", name="schema", database="service.database")
        name: str = created["fullyQualifiedName"]
        return name

    def table(self, name: str = "orders", **body: Any) -> Any:
        """A table with one column in the schema of `schema`."""
        columns = body.pop("columns", [{"name": "id", "dataType": "INT"}])
        schema = "service.database.schema"
        return self.create("tables", name=name, databaseSchema=schema, columns=columns, **body)

    def many(self, count: int) -> None:
        """So many services, by one request."""
        services = [{"name": f"many{n:03}", "serviceType": "Mysql"} for n in range(count)]
        assert self.ask("PUT", "/v1/services/databaseServices/bulk", json=services)[0] == 200

    def search_until(self, found: Callable[[Any], bool], **params: Any) -> Any:
        """The first search answer that satisfies `found`."""
        answer = None

        def is_found() -> bool:
            nonlocal answer
            answer = self.get("/v1/search/query", **params)
            return found(answer)

        until(is_found)
        return answer


@contextmanager
def running(
    directory: Path,
    *,
    verifier: TokenVerifier | None = None,
    patience: float | None = None,
    services: Mapping[str, Any] = MappingProxyType({}),
    judged: bool = False,
    drawn_late: bool = False,
    **options: Any,
) -> Iterator[Client]:
    """A client of an application over stores in a directory, with settings of its own.

    `patience` is how long an answer waits for lists, and for searches, and `services` has some of
    `Services`, to be taken in place of those that settings mean. With `judged` the judge works,
    with `drawn_late` what draws edges of datasets that come late.
    """
    given = {
        "search_refresh": 0.05,
        "jwt_secret": SECRET,
        "access_log": False,
        "database_url": database_of(directory),
        **options,
    }
    settings = Settings(data=str(directory), **given)
    if not (settings.database_url or settings.search_url or (directory / "events.db").exists()):
        shutil.copytree(_empty_stores(), directory, dirs_exist_ok=True)
    with ProjectorLock(directory), ExitStack() as stack:
        stores = open_stores(directory, settings.database_url, settings.search_url)
        stack.callback(stores.close)
        measured = stack.enter_context(closing(open_measurements(settings)))
        reactions = [judging(stores, measured)] if judged else []
        if drawn_late:
            mapping = MappingFile(settings.openlineage)
            reactions.append(drawing_late(stores, measured, mapping))
        daemon = make_daemon(stores, settings, reactions)
        made = replace(make_services(settings, stores, daemon), **services)
        if patience is not None:
            made.listed.seconds = made.searchable.seconds = patience
        opened = verifier or open_verifier(settings)
        app = create_app(
            made,
            opened,
            LogWriter(2, lambda: None),
            Metrics(SharedCounts.made(1)),
        )
        daemon.start()
        try:
            with _TestClient(app) as http:
                yield Client(http, directory, made)
        finally:
            made.close()
            daemon.stop()
            opened.close()


def without_reads() -> dict[str, WorkQueue]:
    """Services that have no place for a read which is not done on the event loop."""
    return {name: WorkQueue(1, Places(0, "reads")) for name in ("heavy_reads", "lookups")}


@contextmanager
def running_under(directory: Path, policies: str, **options: Any) -> Iterator[Client]:
    """The same under policies, which are given as the text of their file."""
    file = directory / "policies.toml"
    file.write_text(policies)
    with running(directory, policies=str(file), **options) as client:
        yield client


Fill = Callable[[Client], object]


class RunFilled(Protocol):
    """Runs an application over a catalog in a directory, as a function fills an empty one.

    The settings are those of `running`; the catalog is filled under none of them.
    """

    def __call__(
        self, directory: Path, fill: Fill, **options: Any
    ) -> AbstractContextManager[Client]: ...


@pytest.fixture(scope="session")
def run_filled(tmp_path_factory: pytest.TempPathFactory) -> RunFilled:
    """Runs an application over a catalog of its own, as a function fills an empty one.

    The function is called once for all tests of a process, which take copies of what it made:
    requests that fill a catalog work for longer than most tests.
    """
    filled: dict[Fill, Path] = {}

    @contextmanager
    def run(directory: Path, fill: Fill, **options: Any) -> Iterator[Client]:
        if IN_DATABASE:
            with running(directory, **options) as client:
                fill(client)
                yield client
            return
        if fill not in filled:
            made = tmp_path_factory.mktemp("filled")
            with running(made) as client:
                fill(client)
            filled[fill] = made
        shutil.copytree(filled[fill], directory, dirs_exist_ok=True)
        with running(directory, **options) as client:
            yield client

    return run


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(tmp_path) as started:
        yield started


def one_table(client: Client) -> None:
    """Fill a catalog with a schema and a table."""
    client.schema()
    client.table()


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """One application with one table in it, for tests that write nothing."""
    with run_filled(tmp_path_factory.mktemp("unchanged"), one_table) as started:
        yield started


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One application with nothing in it, for tests that write nothing."""
    with running(tmp_path_factory.mktemp("empty")) as started:
        yield started
