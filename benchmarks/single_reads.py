"""Single entities and searches over HTTP, beside a bare application that gives such bytes."""

import itertools
import sys
import time
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import msgspec

from benchmarks.bare import bare
from benchmarks.figures import Figure
from benchmarks.generate import lines
from benchmarks.list_pages import against_bare, rounds
from benchmarks.running import answers, running
from benchmarks.search import documents
from benchmarks.search_questions import Sample
from benchmarks.workspace import Workspace, catch_up, load
from projections.wiring.stores import open_stores

ENTITY_BUDGET, SEARCH_BUDGET = 0.5, 0.3
_ENTITIES, _TERMS = 20_000, 200
_PATIENCE = 600.0
_PAGE = "/v1/tables?limit=1000"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Tables by id and by name, one again and again and each once; searches of common terms."""
    return figures_of(workspace, _ENTITIES)


def figures_of(workspace: Workspace, count: int) -> list[Figure]:
    """All figures on a catalog of this size."""
    directory = workspace.fresh()
    terms = _prepare(directory, count)
    command = [sys.executable, "-m", "api.commands", "serve", "--port", "0"]
    with running(directory, [*command, "--data", str(directory)]) as server:
        deadline = time.monotonic() + _PATIENCE
        while not answers(f"http://{server.host}:{server.port}/readyz"):
            assert time.monotonic() < deadline, "the server does not become ready"
            time.sleep(0.05)
        tables = msgspec.json.decode(server.ask(_PAGE))["data"]
        by_id = [f"/v1/tables/{table['id']}" for table in tables]
        by_name = [f"/v1/tables/name/{quote(table['fullyQualifiedName'])}" for table in tables]
        searches = [f"/v1/search/query?size=10&q={quote(term)}" for term in terms]
        asked = {
            "one entity by id again and again": by_id[:1],
            "entities by id, one after the other": by_id,
            "one entity by name again and again": by_name[:1],
            "entities by name, one after the other": by_name,
        }
        bodies = {"entity": server.ask(by_id[0]), "hits": server.ask(searches[0])}
        with bare(workspace.fresh(), bodies, server.token) as yardstick:
            entities = rounds(server, asked, yardstick, "/entity")
            found = {
                "search of one common term again and again": searches[:1],
                "searches of common terms, each another one": _distinct(searches),
            }
            hits = rounds(server, found, yardstick, "/hits")
    return [
        *(against_bare(name, name, entities, ENTITY_BUDGET) for name in asked),
        *(against_bare(name, name, hits, SEARCH_BUDGET) for name in found),
    ]


def _distinct(searches: list[str]) -> list[str]:
    """The searches with other offsets each time, so that no answer is remembered."""
    return [f"{path}&from={start}" for start, path in itertools.product(range(40), searches)]


def _prepare(directory: Path, count: int) -> list[str]:
    """Fill a data directory; returns common terms of its documents."""
    stores = open_stores(directory)
    try:
        load(stores.log, lines(count))
        catch_up(stores)
        shapes = Sample(islice(documents(stores.log), 0, None, max(1, count // 10_000)))
        common = next(s for s in shapes.shapes(_TERMS) if s.name == "common term")
        return [question.text for question in common.questions]
    finally:
        stores.close()
