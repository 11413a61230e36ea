"""The `catalog` command: serve and import; `api.token_commands` has those about tokens."""

import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from api.command_options import (
    EXIT_USAGE,
    check_texts,
    data_option,
    database_option,
    local_address,
    on_catalog,
    print_error,
    print_errors,
    print_line,
)
from api.processes.termination import Termination
from api.settings import Settings, read_settings
from api.telemetry import logs
from api.token_commands import TOKEN_COMMANDS
from domain.errors import InvalidInput
from domain.machine.disk import full_disk
from domain.machine.log_rotation import ignore_rotation_signals
from domain.machine.unread_output import drop_output
from domain.release import described
from projections.wiring.url_options import search_option

EXIT_BAD_LINES, EXIT_STOPPED = 1, 3
EXIT_INTERRUPTED = 128 + signal.SIGINT


@click.group()
@click.version_option(described())
def main() -> None:
    """A metadata catalog with an HTTP API compatible with OpenMetadata's."""
    os.umask(0o077)
    ignore_rotation_signals()


for each in TOKEN_COMMANDS:
    main.add_command(each)


@main.command(short_help="Serve the HTTP API.")
@click.option("--host", help="Address to listen on (CATALOG_HOST).")
@click.option("--port", type=int, help="Port to listen on, 0 for a free one (CATALOG_PORT).")
@click.option("--workers", type=int, help="HTTP processes (CATALOG_WORKERS).")
@data_option
@database_option
@search_option
@print_errors
def serve(**flags: Any) -> None:
    """Serve the HTTP API until SIGTERM or SIGINT; exit code 0 then."""
    gc.disable()  # see collect_rarely
    termination = Termination()
    termination.install()
    from api.callers import client_address, policies  # noqa: PLC0415 - start-up: as above
    from api.callers.sign_in import provider  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens import secret, verifier  # noqa: PLC0415 - start-up: as above
    from api.processes import server, supervisor  # noqa: PLC0415 - start-up: as above
    from api.telemetry.shared_counts import SharedCounts  # noqa: PLC0415 - start-up: as above

    settings = read_settings(**flags)
    counts = SharedCounts.made(settings.workers)
    with (
        logs.open_log_writer(counts.own.count_dropped_line, shared=settings.workers > 1) as writer,
        ExitStack() as exits,
    ):
        logs.configure(settings.log_level, writer)
        # Wrong settings are refused before the verifier makes a directory and a secret in it.
        policies.Policies(settings.policies)
        client_address.read_networks(settings.trusted_proxies)
        provider.check_settings(settings)
        try:
            listener = server.bind(settings.host, settings.port)
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            why = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                why = "another program has the port; name a free one with --port or CATALOG_PORT"
            raise InvalidInput(f"cannot listen on {address}: {why}") from None
        checks = exits.enter_context(closing(verifier.open_verifier(settings)))
        if settings.makes_secret and not settings.database_url:
            secret.warn_of_readers(settings.directory)

        def announce() -> None:
            termination.check()
            host, port, *_ = listener.getsockname()
            if (full := full_disk(settings.directory)) is not None:
                print_line(f"warning: {full}", err=True)
            print_line(f"catalog listens on http://{host}:{port}, data in {settings.data}")
            if settings.makes_secret:
                command = f"catalog token --subject NAME --role reader --data {settings.data}"
                print_line(f"tokens: {command}", err=True)
                if sys.stdout is not None and sys.stdout.isatty():
                    from api.callers.tokens.minting import make_link  # noqa: PLC0415 - only people need it

                    at = settings.public_url or local_address(host, port)
                    link = make_link(settings, checks.safe.safe, at.rstrip("/"), "me", ("admin",))
                    print_line(f"pages, signed in once by this link: {link}", err=True)

        if settings.workers == 1:
            server.serve_alone(settings, listener, checks, writer, counts, termination, announce)
        else:
            gc.enable()
            supervisor.supervise(settings, listener, counts, announce)


@main.command(hidden=True)
@click.argument("role", type=click.Choice(["worker", "project"]))
@click.option("--counts", metavar="DESCRIPTOR", type=int, required=True)
@click.option("--place", type=int, required=True)
@click.option("--socket", "listener", metavar="DESCRIPTOR", type=int)
@data_option
@print_errors
def process(role: str, counts: int, place: int, listener: int | None, data: str | None) -> None:
    """Serve on an inherited socket, or keep the projections current for `serve --workers`."""
    if role == "worker":
        gc.disable()  # see collect_rarely
    termination = Termination()
    termination.install()
    from api.processes import server  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry.shared_counts import SharedCounts  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data)
    shared = SharedCounts(counts, place)
    with logs.open_log_writer(shared.own.count_dropped_line) as writer:
        logs.configure(settings.log_level, writer)
        if listener is None:
            server.project(settings, shared, termination)
        else:
            accepting = socket.socket(fileno=listener)
            server.serve_worker(settings, accepting, writer, shared, termination)


@main.command(short_help="Forward an agent's messages to a catalog.")
@click.option(
    "--url",
    envvar="CATALOG_URL",
    default=f"http://127.0.0.1:{Settings().port}",
    show_default=True,
    help="Address of the catalog (CATALOG_URL).",
)
def mcp(url: str) -> None:
    """Forward messages of the Model Context Protocol between standard input and a catalog.

    The token of the agent is CATALOG_TOKEN. No data directory is opened. Ends with its input.
    """
    from api.mcp.stdio import Forwarder  # noqa: PLC0415 - start-up: no other command needs HTTP

    def write(line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    try:
        Forwarder(url, os.environ.get("CATALOG_TOKEN", "")).run(sys.stdin.buffer, write)
    except InvalidInput as error:
        print_line(f"error: {error.message}", err=True)
        sys.exit(EXIT_USAGE)
    except (BrokenPipeError, KeyboardInterrupt):
        # The program that started this one has ended.
        drop_output()


@main.command("import", short_help="Load files of JSON lines into the log.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("--actor", default="import", show_default=True, help="Actor to record in events.")
@click.option("--as-bot", is_flag=True, help="Keep what people wrote, as a bot's PUTs do.")
@on_catalog
def import_files(files: tuple[str, ...], actor: str, as_bot: bool, settings: Settings) -> None:
    """Load JSON lines (.gz too) into the log; bad lines are named, good ones kept.

    A FILE - is standard input.

    Exit code 1: there were bad lines; 2: a file breaks off, and was imported up to there; 3: the
    log could not be read or written, and the import stopped at a line that is named; 130: Ctrl-C.
    It is safe to run again: what is there already stores no event.
    """
    check_texts("--actor", [actor])
    _load([Path(file) for file in files], actor, settings, as_bot=as_bot)


@main.command("import-dbt", short_help="Load the contracts of a dbt project into the log.")
@click.argument("target", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--service", required=True, help="Database service that has the tables.")
@click.option("--actor", default="dbt", show_default=True, help="Actor to record in events.")
@click.option("--as-bot", is_flag=True, help="Keep what people wrote, as a bot's PUTs do.")
@on_catalog
def import_dbt(target: Path, service: str, actor: str, as_bot: bool, settings: Settings) -> None:
    """Load the contracts of a manifest.json, and the results of a run_results.json beside it.

    TARGET is the directory in which dbt leaves them.

    Exit code 1: contracts were skipped, which are named; 2: nothing could be read, or the log could
    not be used; 130: Ctrl-C. It is safe to run again: what is there already stores no event.
    """
    from api.import_target import TargetImport  # noqa: PLC0415 - start-up: tokens need no log

    check_texts("--actor", [actor])
    run = TargetImport(settings, service, actor, as_bot=as_bot)
    try:
        run.load(target)
    except KeyboardInterrupt:
        click.echo("stopped: what is named here is stored, import again for the rest", err=True)
        sys.exit(EXIT_INTERRUPTED)
    click.echo(run.summary())
    if run.skipped:
        sys.exit(EXIT_BAD_LINES)


@main.command(short_help="Create the classifications Tier and PII.")
@on_catalog
def classifications(settings: Settings) -> None:
    """Create the classifications Tier and PII, to which OpenMetadata's connectors refer.

    What people wrote on them stays. Exit codes are those of import.
    """
    from api.processes.first_start import ACTOR, CLASSIFICATIONS  # noqa: PLC0415 - start-up: tokens need no log

    _load([CLASSIFICATIONS], ACTOR, settings, as_bot=True)


@main.command("test-definitions", short_help="Create the definitions of tests.")
@on_catalog
def test_definitions(settings: Settings) -> None:
    """Create the definitions of the tests that OpenMetadata's test workflow runs.

    What people wrote on them stays. Exit codes are those of import.
    """
    from api.processes.first_start import ACTOR, TEST_DEFINITIONS  # noqa: PLC0415 - start-up: as above

    _load([TEST_DEFINITIONS], ACTOR, settings, as_bot=True)


def _load(files: Sequence[Path], actor: str, settings: Settings, *, as_bot: bool) -> None:
    """Import files, print what became of their lines, and exit unless all of them are good."""
    from api.import_files import ImportRun  # noqa: PLC0415 - start-up: tokens need no log
    from domain.importing.bulk_import import ImportStopped  # noqa: PLC0415 - start-up: as above

    run = ImportRun(settings, actor, as_bot=as_bot)
    try:
        with run.opened():
            for file in files:
                run.load(file)
    except ImportStopped as stopped:
        print_error(stopped, settings.data)
        sys.exit(EXIT_STOPPED)
    except KeyboardInterrupt:
        click.echo("stopped: what is counted here is stored, import again for the rest", err=True)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        click.echo(run.summary())
    if run.failed:
        sys.exit(EXIT_BAD_LINES)


if __name__ == "__main__":
    main()
