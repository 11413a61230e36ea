"""`catalog-replay inspect` and `history`: log and read models, and the versions of an entity."""

from typing import Any

import click
import msgspec
from rich.table import Table

from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput, NotFound, StoreUnavailable, cut
from domain.event_store.port import EventStore
from domain.events import Via
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS
from domain.openmetadata import document
from domain.reading import history as streams
from domain.reading.changes import ChangeDescription
from domain.reading.history import Revision
from domain.reading.utc_times import in_utc
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
        _print_inspection(inspection)
    if inspection.log_error is not None:
        raise StoreUnavailable(inspection.log_error)


def _of_log(inspection: Inspection) -> str:
    """The line about the log itself."""
    if inspection.head is None or inspection.log_bytes is None:
        return "log: cannot be read"
    read_only = ", takes no writes" if inspection.log_read_only or inspection.clock_fault else ""
    size = f"{inspection.log_bytes / 1e6:.1f} MB"
    return f"log {inspection.log_id}: head {inspection.head}, {size}{read_only}"


def _print_inspection(inspection: Inspection) -> None:
    console = options.console(markup=False)
    running = "running" if inspection.projected else "not running"
    console.print(f"{_of_log(inspection)}; projectors {running}", highlight=False)
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
        cells = options.cells(
            report.name,
            report.state,
            report.generation,
            report.checkpoint,
            report.lag,
            None if report.lag_seconds is None else f"{report.lag_seconds:.1f}",
            report.entities,
            f"{report.bytes / 1e6:.1f}",
            report.error,
        )
        table.add_row(*cells)
    console.print(table)
    for report in inspection.projections:
        if not report.kinds:
            continue
        kinds = Table(f"{report.name}: kind", "entities", "deleted", "digest")
        for kind, held in report.kinds.items():
            kinds.add_row(*options.cells(kind, held.entities, held.deleted, held.digest))
        console.print(kinds)


_SHOWN = 60
"""Most characters of a value on a terminal."""


class Entry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One version of an entity, as `--json` prints it."""

    entity_id: str
    version: msgspec.Raw
    stream_version: int
    time: int
    """Milliseconds since the Unix epoch."""
    actor: str
    request_id: str
    event_types: tuple[str, ...]
    via: Via | None = None
    change_description: ChangeDescription | None = None


@click.command(short_help="Show the versions of an entity.")
@click.argument("kind", type=click.Choice(list(ALL_KINDS)), metavar="KIND")
@click.argument("fqn")
@click.option("--at", "version", metavar="VERSION", help="The entity as it was, e.g. at 0.2.")
@options.as_json
@options.on_catalog
def history(
    catalog: options.CatalogTarget, kind: str, fqn: str, version: str | None, as_json: bool
) -> None:
    """Show the versions of the entity of a KIND that holds the qualified name FQN.

    When none holds it now, show those that held it before they were purged.
    """
    with catalog.open_log() as log:
        revisions = _find(log, ALL_KINDS[kind], fqn)
    if version is not None:
        click.echo(document.encode(_at(revisions, version).document()))
    elif as_json:
        click.echo(msgspec.json.encode([_entry(revision) for revision in revisions]))
    else:
        _print_history(revisions)


def _find(log: EventStore, kind: EntityKind, fqn: str) -> list[Revision]:
    """The revisions of the holder of a name, or else of its former holders, oldest first."""
    fqn = kind.spelled(fqn)
    claim = log.claim(kind.name, fqn)
    ids = [claim.id] if claim else log.former_holders(kind.name, fqn)
    if not ids:
        raise NotFound(f"no {kind.name} holds the name {fqn!r}, or ever held it")
    return [revision for entity_id in ids for revision in streams.revisions(log, entity_id)]


def _at(revisions: list[Revision], version: str) -> Revision:
    """The last revision of a decimal version."""
    for revision in reversed(revisions):
        if format_version(revision.entity.version) == version and not revision.entity.purged:
            return revision
    known = dict.fromkeys(format_version(revision.entity.version) for revision in revisions)
    raise InvalidInput(f"--at must be one of {', '.join(known)}, got {version[:64]!r}")


def _entry(revision: Revision) -> Entry:
    entity = revision.entity
    return Entry(
        entity.id,
        msgspec.Raw(format_version(entity.version).encode()),
        entity.stream_version,
        entity.updated_at,
        entity.updated_by,
        revision.request_id,
        revision.event_types,
        revision.via,
        None if entity.purged else revision.description,
    )


def _print_history(revisions: list[Revision]) -> None:
    table = Table("version", "when (UTC)", "who", "request", "what", show_lines=True)
    for revision in revisions:
        entity = revision.entity
        when = in_utc(entity.updated_at)
        cells = options.cells(
            format_version(entity.version),
            f"{when:%Y-%m-%d %H:%M:%S}",
            "\n".join((entity.updated_by, *_door_lines(revision.via))),
            revision.request_id,
            "\n".join(_change_lines(revision)),
        )
        table.add_row(*cells)
    options.console().print(table)


def _door_lines(via: Via | None) -> list[str]:
    """Lines that say through which door a request came, and who acted there."""
    if via is None:
        return []
    told = (
        ("over", via.door),
        ("by", via.what),
        ("run", via.run),
        ("agent", via.agent),
        ("calls itself", via.client),
    )
    return [f"{word} {_cut(value)}" for word, value in told if value is not None]


def _change_lines(revision: Revision) -> list[str]:
    """A line for each field that a revision changed."""
    if revision.entity.purged:
        return ["purged"]
    description = revision.description
    if description is None:
        return ["created"]
    return [
        *(f"+ {each.name}: {_cut(each.new_value)}" for each in description.fields_added),
        *(
            f"~ {each.name}: {_cut(each.old_value)} -> {_cut(each.new_value)}"
            for each in description.fields_updated
        ),
        *(f"- {each.name}: {_cut(each.old_value)}" for each in description.fields_deleted),
    ]


def _cut(value: Any) -> str:
    return cut(str(value).replace("\n", " "), _SHOWN)
