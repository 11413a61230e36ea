"""Options that commands have in common, how they print, and what they refuse."""

import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from api.settings import Settings, read_settings
from domain.errors import CatalogError, InvalidInput
from domain.event_store import database_url
from domain.kinds.names import MAX_NAME_LENGTH
from domain.machine.disk import explained
from projections.search.opensearch import address as search_address

EXIT_USAGE = 2

data_option = click.option("--data", metavar="DIR", help="Data directory (CATALOG_DATA).")


def _refusing(
    refuse: Callable[[str], None], *, empty: str | None
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A callback for an option with a URL, which refuses one that shows a password.

    `empty` is what an empty URL is taken for.
    """

    def check(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            refuse(url)
        except InvalidInput as error:
            raise click.BadParameter(error.message) from None
        return url or empty

    return check


search_option = click.option(
    "--search-url",
    "search",
    metavar="URL",
    callback=_refusing(search_address.refuse_shown_password, empty=None),
    help="OpenSearch cluster with the search index, without a password (CATALOG_SEARCH_URL).",
)
database_option = click.option(
    "--database",
    metavar="URL",
    callback=_refusing(database_url.refuse_shown_password, empty=""),
    help="PostgreSQL database with the log, without a password (CATALOG_DATABASE_URL).",
)


def print_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command print what an operator can mend as one line, and end with exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (CatalogError, OSError) as error:
            print_error(error, options["data"])
            sys.exit(EXIT_USAGE)

    return run


def on_catalog(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the `settings` of the catalog that its options name, and print its errors."""

    @wraps(command)
    def run(data: str | None, database: str | None, **options: Any) -> None:
        command(settings=read_settings(data=data, database_url=database), **options)

    return data_option(database_option(print_errors(run)))


def print_error(error: Exception, given: str | None) -> None:
    """Print an error of a command; a full disk of its data directory is named as the cause."""
    directory = given or os.environ.get("CATALOG_DATA") or Settings().data
    print_line(f"error: {explained(error, Path(directory))}", err=True)


def print_line(line: str, *, err: bool = False) -> None:
    """Print a line if it can be written: what a command does, or ends with, must not depend on it.

    A disk may be full, and whoever read a pipe may have left.
    """
    try:
        click.echo(line, err=err)
    except OSError:
        if not err:
            # The interpreter tries once more when it ends, and would end with another exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def check_texts(option: str, texts: Iterable[str], most: int = MAX_NAME_LENGTH) -> None:
    """Refuse what can be no name of a caller, or no id: both stand in events, lists and logs."""
    for text in texts:
        if not (1 <= len(text) <= most and text.isprintable()):
            limits = f"1 to {most:,} printable characters"
            raise InvalidInput(f"{option} must have {limits}, got {text[:80]!r}")


def local_address(host: str, port: int) -> str:
    """Where a browser on this machine finds what listens on a host and a port."""
    here = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"
