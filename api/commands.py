"""The `catalog` command: serve, mint tokens, import."""

import os
import socket
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from api.settings import Settings, read_settings
from domain.errors import CatalogError, InvalidInput

EXIT_BAD_LINES, EXIT_USAGE = 1, 2

_data = click.option("--data", metavar="DIR", help="Data directory (CATALOG_DATA).")


def told(command: Callable[..., None]) -> Callable[..., None]:
    """Errors that an operator can mend as one line on standard error and exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (CatalogError, OSError) as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(EXIT_USAGE)

    return run


@click.group()
@click.version_option(package_name="metadata-catalog")
def main() -> None:
    """A metadata catalog with an HTTP API compatible with OpenMetadata's."""
    os.umask(0o077)


@main.command()
@click.option("--host", help="Address to listen on (CATALOG_HOST).")
@click.option("--port", type=int, help="Port to listen on, 0 for a free one (CATALOG_PORT).")
@click.option("--workers", type=int, help="HTTP processes (CATALOG_WORKERS).")
@_data
@told
def serve(host: str | None, port: int | None, workers: int | None, data: str | None) -> None:
    """Serve the HTTP API until stopped."""
    from api import server, supervisor  # noqa: PLC0415 - start-up: tokens and import need no server

    settings = read_settings(host=host, port=port, workers=workers, data=data)
    configure_logging(settings)
    try:
        listener = server.bind(settings.host, settings.port)
    except OSError as error:
        raise InvalidInput(f"cannot listen on {settings.host}:{settings.port}: {error}") from None
    address = listener.getsockname()
    click.echo(f"catalog listens on http://{address[0]}:{address[1]}, data in {settings.data}")
    if settings.jwt_secret is None:
        click.echo(
            f"tokens: catalog token --subject NAME --role reader --data {settings.data}", err=True
        )
    if settings.workers == 1:
        server.serve_alone(settings, listener)
    else:
        supervisor.supervise(settings, listener)


@main.command(hidden=True)
@click.option("--socket", "descriptor", type=int, required=True)
@_data
@told
def worker(descriptor: int, data: str | None) -> None:
    """Serve on an inherited socket; started by `serve --workers`."""
    from api import server  # noqa: PLC0415 - start-up: tokens and import need no server

    settings = read_settings(data=data)
    configure_logging(settings)
    server.serve_worker(settings, socket.socket(fileno=descriptor))


@main.command(hidden=True)
@_data
@told
def project(data: str | None) -> None:
    """Keep the projections current; started by `serve --workers`."""
    from api import server  # noqa: PLC0415 - start-up: tokens and import need no server

    settings = read_settings(data=data)
    configure_logging(settings)
    server.project(settings)


@main.command()
@click.option("--subject", required=True, help="Who the token is for; stands in every event.")
@click.option("--role", "roles", multiple=True, required=True, help="reader, editor or admin.")
@click.option("--ttl", type=click.IntRange(min=1), default=86_400, help="Lifetime in seconds.")
@_data
@told
def token(subject: str, roles: tuple[str, ...], ttl: int, data: str | None) -> None:
    """Print a bearer token signed with the catalog's secret."""
    from api import auth, permissions  # noqa: PLC0415 - start-up: import needs no token library

    for role in roles:
        if role not in permissions.ROLES:
            allowed = ", ".join(permissions.ROLES)
            raise InvalidInput(f"--role must be one of {allowed}, got {role!r}")
    settings = read_settings(data=data)
    secret = auth.read_secret(settings.directory, settings.jwt_secret)
    click.echo(auth.mint(secret, subject, roles, ttl))


@main.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--actor", default="import", show_default=True, help="Who stands in the events.")
@_data
@told
def import_files(files: tuple[str, ...], actor: str, data: str | None) -> None:
    """Load JSON lines (.gz too) into the log; bad lines are named, good ones kept."""
    from api.import_files import ImportRun  # noqa: PLC0415 - start-up: only this command needs it

    settings = read_settings(data=data)
    run = ImportRun(settings.directory, actor)
    try:
        with run:
            for file in files:
                run.load(Path(file))
    finally:
        click.echo(run.summary())
    if run.failed:
        sys.exit(EXIT_BAD_LINES)


def configure_logging(settings: Settings) -> None:
    """JSON lines on standard error from the configured level on."""
    import logging  # noqa: PLC0415 - start-up: only serving logs

    import structlog  # noqa: PLC0415 - start-up: only serving logs

    level = logging.getLevelNamesMapping().get(settings.log_level.upper())
    if level is None:
        raise InvalidInput("CATALOG_LOG_LEVEL must be a level such as INFO or WARNING")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


if __name__ == "__main__":
    main()
