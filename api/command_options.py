"""Options that commands have in common, how they print, and what they refuse."""

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from api.settings import Settings, read_settings
from domain.errors import CatalogError, InvalidInput
from domain.kinds.names import MAX_NAME_LENGTH
from domain.machine.disk import explained
from domain.machine.unread_output import drop_output, end_unread
from projections.wiring.url_options import database_option as _database_option

EXIT_USAGE = 2

data_option = click.option(
    "--data", metavar="DIR", envvar="CATALOG_DATA", help="Data directory (CATALOG_DATA)."
)
database_option = _database_option(empty="")


def print_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command print what an operator can mend as one line, and end with exit code 2.

    A command whose output has lost its reader prints nothing.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except BrokenPipeError:
            end_unread()
        except (CatalogError, OSError) as error:
            print_error(error, options["data"])
            sys.exit(EXIT_USAGE)

    return run


def on_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the `settings` of the catalog that its options name, and print its errors."""

    @wraps(command)
    def run(data: str | None, database_url: str | None, **options: Any) -> None:
        command(settings=read_settings(data=data, database_url=database_url), **options)

    return data_option(database_option(print_errors(run)))


def print_error(error: Exception, given: str | None) -> None:
    """Print an error of a command; a full disk of its data directory is named as the cause."""
    print_line(f"error: {explained(error, Path(given or Settings().data))}", err=True)


def print_line(line: str, *, err: bool = False) -> None:
    """Print a line if it can be written: what a command does, or ends with, must not depend on it.

    A disk may be full, whoever read a pipe may have left, and a stream may have been closed before.
    """
    if (sys.stderr if err else sys.stdout) is None:
        return
    try:
        click.echo(line, err=err)
    except OSError:
        if not err:
            drop_output()


def check_texts(option: str, texts: Iterable[str], most: int = MAX_NAME_LENGTH) -> None:
    """Refuse what can be no name of a caller, or no id: both stand in events, lists and logs."""
    for text in texts:
        if not (1 <= len(text) <= most and text.isprintable()):
            limits = f"1 to {most:,} printable characters"
            raise InvalidInput(f"{option} must have {limits}, got {text[:80]!r}")


def local_address(host: str, port: int) -> str:
    """Return the address at which a browser on this machine reaches a server of a host and port."""
    here = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"
