"""Pages for people over HTTP, beside a bare application that gives the same bytes."""

import gzip
import http.client
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from urllib.parse import quote, urlencode

import msgspec

from api.pages.frame.addresses import ASSETS, read_asset
from benchmarks.bare import bare
from benchmarks.direct_catalog import DirectCatalog
from benchmarks.figures import Figure
from benchmarks.generate import lines
from benchmarks.running import Server, answers, running
from benchmarks.workspace import Workspace, catch_up, load
from domain.events import EntityCreated
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.lineage import Ends
from projections.wiring.stores import open_stores

BUDGETS = {
    "first page": 15.0,
    "search with facets": 30.0,
    "table of 20 columns": 15.0,
    "table of 13,395 columns": 200.0,
    "history of 200 versions": 15.0,
    "lineage of 2,000 tables": 200.0,
    "audit": 15.0,
    "operation": 15.0,
}
"""Milliseconds that the answer to a page may take, for those that have a budget."""
LOAD_BYTES = 100_000
"""Bytes that the first load may have, compressed: page, style, script and icon."""
_ENTITIES, _WIDE, _VERSIONS, _LINKED, _ROUNDS = 100_000, 13_395, 200, 2_000, 15
_PATIENCE = 900.0
_HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}
_ME = WriteContext(actor="benchmark", request_id="benchmark")


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """The pages that people ask for most, each of them again and again."""
    return figures_of(workspace, _ENTITIES)


def figures_of(workspace: Workspace, count: int) -> list[Figure]:
    """All figures on a catalog of this size."""
    directory = workspace.fresh()
    named = _prepare(directory, count)
    command = [sys.executable, "-m", "api.commands", "serve", "--port", "0"]
    command += ["--data", str(directory)]
    with running(directory, command, role="admin") as server:
        deadline = time.monotonic() + _PATIENCE
        while not answers(f"http://{server.host}:{server.port}/readyz"):
            assert time.monotonic() < deadline, "the server does not become ready"
            time.sleep(0.05)
        addresses = _addresses(server, named)
        cookie = _sign_in(server)
        bodies = {name: _timed(server, path, cookie)[1] for name, path in addresses.items()}
        places = {name: f"page{number}" for number, name in enumerate(addresses)}
        constants = {places[name]: body for name, body in bodies.items()}
        with bare(workspace.fresh(), constants, server.token) as yardstick:
            figures = [
                _figure(server, yardstick, name, path, f"/{places[name]}", cookie)
                for name, path in addresses.items()
            ]
    loaded = [read_asset(name) for name in ASSETS if "LICENSE" not in name]
    size = len(bodies["first page"]) + sum(len(gzip.compress(each)) for each in loaded)
    return [
        *figures,
        Figure(
            what="first load, compressed",
            measured=f"{size / 1000:.1f} kB",
            budget=f"<= {LOAD_BYTES / 1000:.0f} kB",
            met=size <= LOAD_BYTES,
        ),
    ]


def _figure(
    server: Server, yardstick: Server, name: str, path: str, constant: str, cookie: str
) -> Figure:
    """The time to the whole answer, beside that of its bytes, in rounds that alternate."""
    pairs = []
    for _ in range(_ROUNDS):
        ours, body = _timed(server, path, cookie)
        pairs.append((ours, _timed(yardstick, constant, cookie)[0]))
    measured = 1000 * median(ours for ours, _ in pairs)
    budget = BUDGETS.get(name)
    return Figure(
        what=name,
        measured=f"{measured:.1f} ms, {len(body) / 1000:.1f} kB compressed",
        yardstick=f"{1000 * median(theirs for _, theirs in pairs):.1f} ms",
        ratio=median(theirs / ours for ours, theirs in pairs),
        budget="-" if budget is None else f"<= {budget:.0f} ms",
        met=None if budget is None else measured <= budget,
    )


def _timed(server: Server, path: str, cookie: str) -> tuple[float, bytes]:
    """The seconds from a request to the end of its answer, over a new connection; the body."""
    connection = http.client.HTTPConnection(server.host, server.port)
    try:
        connection.connect()
        began = time.perf_counter()
        connection.request("GET", path, headers={**_HTML, "Cookie": cookie})
        answer = connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - began
        assert answer.status == 200, (path, answer.status, body[:300])
        return seconds, body
    finally:
        connection.close()


def _sign_in(server: Server) -> str:
    """The cookie of a session."""
    connection = http.client.HTTPConnection(server.host, server.port)
    try:
        form = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
        }
        connection.request("POST", "/sign-in", urlencode({"token": server.token}), form)
        given = connection.getresponse().getheader("Set-Cookie")
        assert given is not None, "the token is not taken"
        return given.partition(";")[0]
    finally:
        connection.close()


def _addresses(server: Server, named: tuple[str, str, str]) -> dict[str, str]:
    """Addresses of the pages; `named` are the tables that `_prepare` makes."""
    wide, changed, linked = map(quote, named)
    tables = msgspec.json.decode(server.ask("/v1/tables?limit=200&fields=columns"))["data"]
    usual = min(tables, key=lambda table: abs(len(table.get("columns", ())) - 20))
    return {
        "first page": "/",
        "search with facets": "/search?q=customer",
        f"table of {len(usual['columns'])} columns": f"/entity/table/"
        f"{quote(usual['fullyQualifiedName'])}",
        f"table of {_WIDE:,} columns": f"/entity/table/{wide}",
        f"history of {_VERSIONS} versions": f"/history/table/{changed}",
        f"lineage of {_LINKED:,} tables": f"/lineage/table/{linked}?up=50&down=50",
        "audit": "/audit",
        "operation": "/operation",
    }


def _prepare(directory: Path, count: int) -> tuple[str, str, str]:
    """Fill a data directory.

    Returns the names of a wide table, of one with many versions and of one with much lineage.
    """
    stores = open_stores(directory)
    try:
        load(stores.log, lines(count))
        catalog, kind = DirectCatalog(stores.log), KINDS["table"]
        schemas = [
            event.fqn
            for recorded in stores.log.read(0, count)
            if isinstance(event := recorded.event, EntityCreated) and event.kind == "databaseSchema"
        ]
        schema = schemas[0]
        columns = [{"name": f"column_{number}", "dataType": "INT"} for number in range(_WIDE)]
        made = {"databaseSchema": schema, "columns": columns}
        wide = catalog.create(kind, {"name": "wide", **made}, _ME).entity.fqn
        given = {"name": "changed", **made, "columns": columns[:20]}
        for number in range(_VERSIONS):
            catalog.put(kind, {**given, "description": f"In its version {number}"}, _ME)
        linked = _link(catalog, schemas)
        catch_up(stores)
        return wide, f"{schema}.changed", linked
    finally:
        stores.close()


def _link(catalog: DirectCatalog, schemas: Sequence[str]) -> str:
    """Draw the lineage of a table over four steps and many schemas; returns the table's name."""
    made = [
        catalog.create(
            KINDS["table"],
            {
                "name": f"linked_{number}",
                "databaseSchema": schemas[number % len(schemas)],
                "columns": [{"name": "id", "dataType": "INT"}],
            },
            _ME,
        ).entity
        for number in range(_LINKED)
    ]
    for number, entity in enumerate(made[1:], 1):
        # The last tenth is what the first table is made of, the others are made of it.
        ends = [made[(number - 1) // 12], entity]
        if number >= _LINKED * 9 // 10:
            ends = [entity, made[0]]
        columns = [f"{each.fqn}.id" for each in ends]
        details = {"columnsLineage": [{"fromColumns": columns[:1], "toColumn": columns[1]}]}
        named = Ends(*(Reference(type="table", id=each.id) for each in ends))
        catalog.write(_ME, partial(catalog.lineage.put, named, details, _ME))
    return made[0].fqn
