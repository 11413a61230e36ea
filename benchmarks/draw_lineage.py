"""Draws the lineage of a made-up catalog that was imported, without a server.

python -m benchmarks.draw_lineage --data DATA sample.jsonl
"""

import itertools
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import click

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.sample.lineage import Edge, edges
from benchmarks.sample.lines import Line
from domain.event_store.opening import open_event_log
from domain.kinds.bodies.components import Reference
from domain.kinds.ids import new_id
from domain.write_context import WriteContext
from domain.writing.lineage import Ends
from domain.writing.staged_plans import StagedPlans

_AT_ONCE = 500
"""Edges of a transaction."""


def draw(catalog: DirectCatalog, drawn: Sequence[Edge]) -> None:
    """Draw edges as a bot does, in a transaction; raises NotFound where an end is not there."""
    context = WriteContext(actor="lineage-bot", request_id=new_id(), by_bot=True)

    def decide(plans: StagedPlans) -> None:
        for each in drawn:
            ends = Ends(_reference(each.beginning), _reference(each.end))
            plans.stage(plans.lineage.put(ends, each.details, context))

    catalog.until_stored(lambda: catalog.propose_staged(decide))


def _reference(line: Line) -> Reference:
    return Reference(type=line["type"], fully_qualified_name=line["fullyQualifiedName"])


@click.command()
@click.argument("sample", type=click.File("rb"))
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), required=True)
def main(sample: BinaryIO, data: Path) -> None:
    """Draw the edges between the entities of the lines in SAMPLE, which were imported into DATA."""
    with closing(open_event_log(data / "events.db")) as log:
        catalog, drawn = DirectCatalog(log), edges(map(json.loads, sample))
        while some := [*itertools.islice(drawn, _AT_ONCE)]:
            draw(catalog, some)


if __name__ == "__main__":
    main()
