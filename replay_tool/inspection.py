"""`catalog-replay inspect`: the read models beside the log, or one entity in each."""

import click
import msgspec
from rich.table import Table

from domain.errors import InvalidInput, StoreUnavailable
from domain.kinds.registry import ALL_KINDS
from projections.operation.inspection import Inspection, inspect, inspect_entity
from replay_tool import options


@click.command("inspect", short_help="Show log and projections, or one entity.")
@click.option(
    "--entity", nargs=2, metavar="KIND FQN", help="One entity in log and read models, as JSON."
)
@options.as_json
@options.on_catalog
@options.search
def show(catalog: options.CatalogTarget, entity: tuple[str, str] | None, as_json: bool) -> None:
    """Show the log and how far each projection is, or one entity side by side."""
    if entity is not None and entity[0] not in ALL_KINDS:
        raise InvalidInput(f"{entity[0]!r} is not a kind; the kinds are {', '.join(ALL_KINDS)}")
    with catalog.open_stores() as stores:
        if entity is not None:
            kind = ALL_KINDS[entity[0]]
            inspected = inspect_entity(stores, kind, kind.spelled(entity[1]))
            click.echo(msgspec.json.format(msgspec.json.encode(inspected)))
            return
        inspection = inspect(stores, details=True)
    if as_json:
        click.echo(msgspec.json.encode(inspection))
    else:
        _print(inspection)
    if inspection.log_error is not None:
        raise StoreUnavailable(inspection.log_error)


def _of_log(inspection: Inspection) -> str:
    """The line about the log itself."""
    if inspection.head is None or inspection.log_bytes is None:
        return "log: cannot be read"
    read_only = ", takes no writes" if inspection.log_read_only else ""
    size = f"{inspection.log_bytes / 1e6:.1f} MB"
    return f"log {inspection.log_id}: head {inspection.head}, {size}{read_only}"


def _print(inspection: Inspection) -> None:
    console = options.console(markup=False)
    console.print(
        f"{_of_log(inspection)}; projectors {'running' if inspection.projected else 'not running'}",
        highlight=False,
    )
    if inspection.disk is not None and inspection.disk.full:
        console.print(inspection.disk.sentence(), highlight=False, soft_wrap=True)
    table = Table(
        "projection",
        "state",
        "generation",
        "checkpoint",
        "lag",
        "lag (s)",
        "entities",
        "MB",
        "error",
    )
    for report in inspection.projections:
        table.add_row(
            report.name,
            report.state,
            "" if report.generation is None else str(report.generation),
            str(report.checkpoint),
            "" if report.lag is None else str(report.lag),
            "" if report.lag_seconds is None else f"{report.lag_seconds:.1f}",
            str(report.entities),
            f"{report.bytes / 1e6:.1f}",
            report.error or "",
        )
    console.print(table)
    for report in inspection.projections:
        if not report.kinds:
            continue
        kinds = Table(f"{report.name}: kind", "entities", "deleted", "digest")
        for kind, held in report.kinds.items():
            deleted = "" if held.deleted is None else str(held.deleted)
            kinds.add_row(kind, str(held.entities), deleted, held.digest)
        console.print(kinds)
