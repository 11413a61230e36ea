"""`python -m benchmarks [name ...] [--large]`: runs benchmarks and prints their tables."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from benchmarks import (
    access,
    bulk,
    bulk_import,
    changes,
    facets,
    hostile,
    hosts,
    list_pages,
    mcp,
    odcs,
    openlineage,
    opensearch,
    pages,
    past,
    postgres,
    process,
    rebuild,
    relevance,
    replay,
    search,
    search_live,
    search_past,
    single_reads,
    stream,
    validation,
    verdicts,
    verify,
    workers,
    writes,
)
from benchmarks.figures import Figure, show
from benchmarks.workspace import Workspace

BENCHMARKS: Mapping[str, Callable[[Workspace, bool], list[Figure]]] = {
    "list": list_pages.measure,
    "reads": single_reads.measure,
    "pages": pages.measure,
    "past": past.measure,
    "workers": workers.measure,
    "hostile": hostile.measure,
    "access": access.measure,
    "mcp": mcp.measure,
    "stream": stream.measure,
    "import": bulk_import.measure,
    "replay": replay.measure,
    "rebuild": rebuild.measure,
    "writes": writes.measure,
    "bulk": bulk.measure,
    "odcs": odcs.measure,
    "openlineage": openlineage.measure,
    "changes": changes.measure,
    "validation": validation.measure,
    "verdicts": verdicts.measure,
    "postgres": postgres.measure,
    "hosts": hosts.measure,
    "verify": verify.measure,
    "process": process.measure,
    "search": search.measure,
    "opensearch": opensearch.measure,
    "facets": facets.measure,
    "live": search_live.measure,
    "past-search": search_past.measure,
    "relevance": relevance.measure,
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--large", is_flag=True, help="Sizes of a million as well: about an hour.")
def main(names: tuple[str, ...], large: bool) -> None:
    """Measure the budgets named (all of them by default)."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as directory:
        workspace = Workspace(Path(directory))
        for name in names or BENCHMARKS:
            show(name, BENCHMARKS[name](workspace, large))


if __name__ == "__main__":
    main()
