"""Lists in PostgreSQL: pages beside the bare SQL of the same pages, a build beside bare COPY."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from benchmarks.figures import Figure, rates, seconds
from benchmarks.list_pages import places
from benchmarks.postgres_server import PostgresServer, new_schema
from benchmarks.workspace import ENTITIES, Workspace
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from projections.entities.cursors import Place, encode
from projections.entities.list_pages import MOST_BYTES, small_page
from projections.entities.list_port import ListRequest
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.pages import PostgresListSql
from projections.entities.postgres.tables import INDEXES, TABLES
from projections.entities.sqlite.model import open_read_model
from projections.generations.current_generation import CurrentGeneration
from projections.generations.port import Generation, Pointer
from projections.wiring.shared_entities import SharedEntities

BARE, COPIED = 0.7, 0.5
_COUNT, _LARGE = 100_000, 1_000_000
_PAGES, _ROUNDS, _BUILDS = 200, 9, 3
_LIST = ListRequest(kind=KINDS["dataContract"], limit=10)
_SETTINGS = ("plan_cache_mode = force_generic_plan", "jit = off", "enable_seqscan = off")
_FILLED = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = %b::regnamespace"
    " AND relname <> 'checkpoint' ORDER BY relname"
)
"""Tables of a generation that a build fills; that of its checkpoint is made with its row."""


def measure(workspace: Workspace, server: PostgresServer, large: bool) -> list[Figure]:
    """Figures of contracts without schemas, loaded from a log in a file."""
    count = _LARGE if large else _COUNT
    directory = workspace.contracts(count, plain=True)
    with (
        closing(open_event_log(directory / "events.db")) as log,
        _built(server, log) as (shared, number),
        closing(CurrentGeneration(shared.definition, log)) as live,
        closing(open_read_model(directory / ENTITIES, writable=False)) as file,
        server.connect() as bare,
    ):
        tables = _tables(shared, number)
        asked = [
            (ListRequest(kind=_LIST.kind, limit=10, after=_cursor(place)), place)
            for place in places(directory, _PAGES)
        ]
        ways = {
            "ours": lambda request, _: live.read(lambda model: small_page(model, request)),
            "bare": _bare(bare, tables),
            "file": lambda request, _: small_page(file, request),
        }
        pages = _pages(count, asked, ways)
        return [*pages, _build(count, shared, log, bare, tables)]


@contextmanager
def _built(server: PostgresServer, log: EventStore) -> Iterator[tuple[SharedEntities, int]]:
    """A live generation of the log, and its number."""
    url = server.url(new_schema())
    with closing(SharedEntities(url)) as shared:
        definition, generations = shared.definition, shared.definition.generations
        definition.load(generations.address(1), log, lambda done, total: None)
        generations.point(Pointer(live=Generation(1, 0, definition.code())), instead_of=None)
        yield shared, 1


def _tables(shared: SharedEntities, number: int) -> EntityTables:
    return shared.definition.open(shared.definition.generations.address(number), False).tables


def _cursor(place: Place) -> str:
    return encode(place, _LIST.identity, backward=False).decode()


Way = Callable[[ListRequest, Place], object]
"""Reads a page, given as a request and as the place that its cursor stands for."""


def _bare(connection: psycopg.Connection[Any], tables: EntityTables) -> Way:
    """The statement of a page on a connection of its own, prepared, with all rows fetched."""
    for setting in _SETTINGS:
        connection.execute(f"SET {setting}".encode())
    cursor = connection.cursor(binary=True)
    list_sql = PostgresListSql()
    selection = list_sql.select(_LIST)

    def read(_: ListRequest, place: Place) -> list[Any]:
        sql, values = list_sql.page(
            selection, place, 11, MOST_BYTES, backward=False, optional=False
        )
        return cursor.execute(tables.within(sql).encode(), values, prepare=True).fetchall()

    return read


def _pages(
    count: int, asked: list[tuple[ListRequest, Place]], ways: dict[str, Way]
) -> list[Figure]:
    """All pages by each of the ways, round after round, in one thread."""
    rounds = []
    for _ in range(_ROUNDS):
        spent = {}
        for name, way in ways.items():
            each = []
            for request, place in asked:
                began = time.perf_counter()
                way(request, place)
                each.append(time.perf_counter() - began)
            spent[name] = statistics.median(each)
        rounds.append(spent)

    def told(name: str) -> str:
        return f"{statistics.median(each[name] for each in rounds) * 1e6:,.0f} us"

    ratios = {
        name: statistics.median(each[name] / each["ours"] for each in rounds)
        for name in ("bare", "file")
    }
    what = f"pages of ten of {count:,} contracts in PostgreSQL, through its socket, median"
    return [
        Figure(
            what=what,
            measured=told("ours"),
            yardstick=f"{told('bare')} for the bare SQL of the page",
            ratio=ratios["bare"],
            budget=f">= {BARE}",
            met=ratios["bare"] >= BARE,
        ),
        Figure(
            what="the same pages, beside those of a file",
            measured=told("ours"),
            yardstick=f"{told('file')} from SQLite in the process",
            ratio=ratios["file"],
        ),
    ]


def _build(
    count: int,
    shared: SharedEntities,
    log: EventStore,
    link: psycopg.Connection[Any],
    built: EntityTables,
) -> Figure:
    """Building a generation from the log, beside copying its finished rows into such tables."""
    finished = {}
    for (table,) in link.execute(_FILLED, (built.schema,)).fetchall():
        cursor = link.cursor(binary=True)
        rows = cursor.execute(built.within(f"SELECT * FROM {{}}.{table}").encode()).fetchall()
        finished[table] = [column.type_code for column in cursor.description or ()], rows
    numbers = iter(range(2, 100))

    def ours() -> None:
        number = next(numbers)
        shared.definition.load(
            shared.definition.generations.address(number), log, lambda done, total: None
        )
        shared.definition.generations.remove([number])

    def copied() -> None:
        schema = new_schema()
        with link.transaction():
            link.execute(f"CREATE SCHEMA {schema}".encode())
            link.execute(TABLES.replace("{schema}", schema).encode())
            for table, (types, rows) in finished.items():
                statement = f"COPY {schema}.{table} FROM STDIN (FORMAT binary, FREEZE)"
                with link.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                    copy.set_types(types)
                    for row in rows:
                        copy.write_row(row)
            link.execute(INDEXES.replace("{schema}", schema).encode())
        link.execute(f"DROP SCHEMA {schema} CASCADE".encode())

    seconds(copied)
    measured, yardstick, ratio = rates(count, ours, copied, rounds=_BUILDS)
    return Figure(
        what=f"build of the lists of {count:,} contracts in PostgreSQL from the log",
        measured=f"{measured:,.0f} entities/s",
        yardstick=f"{yardstick:,.0f}/s for COPY of the finished rows",
        ratio=ratio,
        budget=f">= {COPIED}",
        met=ratio >= COPIED,
    )
