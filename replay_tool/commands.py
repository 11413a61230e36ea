"""The `catalog-replay` command: inspect, verify and rebuild the read models; move the log."""

import logging
import os
import time

import click

from domain.event_store.opening import migrate_log
from domain.machine.log_rotation import ignore_rotation_signals
from domain.release import described
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import make_directory, note_before_serving
from replay_tool import options
from replay_tool.inspection import history, show
from replay_tool.rebuild import rebuild, rollback
from replay_tool.transfer import export_log, import_log, restore_log
from replay_tool.verify import verify


@click.group()
@click.version_option(described())
def main() -> None:
    """Operate the read models of a catalog from its log."""
    os.umask(0o077)
    ignore_rotation_signals()
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


class _Lines(logging.Formatter):
    """Ends a log line with the `extra` of its call, as `name=value`."""

    _of_every_record = frozenset(vars(logging.makeLogRecord({}))) | {"message"}

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        given = vars(record).items()
        extra = [f"{name}={value}" for name, value in given if name not in self._of_every_record]
        return " ".join([super().formatMessage(record), *extra])


@main.command("catch-up", short_help="Apply the events that the read models lack.")
@options.on_catalog
@options.search
def catch_up(catalog: options.CatalogTarget) -> None:
    """Apply the events of the log that the read models lack; no server may be running."""
    make_directory(catalog.data)
    with ProjectorLock(catalog.data):
        note_before_serving(catalog.data)
        with catalog.open_stores(writable=True) as stores:
            head = stores.log.head()
            for supervisor, live in zip(stores.supervisors, stores.read_models, strict=True):
                began = time.monotonic()
                with options.Meter(supervisor.name) as meter:
                    while supervisor.step():
                        meter.report(live.checkpoint() if supervisor.current else 0, head)
                seconds = time.monotonic() - began
                click.echo(f"{supervisor.name}: at position {live.checkpoint()} in {seconds:.1f} s")


@main.command(short_help="Make or upgrade the tables of a log in PostgreSQL.")
@options.database
@options.print_errors
def migrate(database_url: str | None) -> None:
    """Make the tables of a log in the database, or bring those of an older release to this one.

    An upgrade cannot be taken back, and servers of older releases do not open the log afterwards.
    """
    if database_url is None:
        raise click.UsageError("name the database with --database or CATALOG_DATABASE_URL.")
    before, after = migrate_log(database_url)
    click.echo(f"log: version {after}" + (f", was {before}" if before != after else ""))


for command in (show, rebuild, rollback, verify, history, export_log, import_log, restore_log):
    main.add_command(command)


if __name__ == "__main__":
    main()
