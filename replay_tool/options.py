"""Options, exit codes and error output that all commands of `catalog-replay` share."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from domain.errors import CatalogError, InvalidInput
from domain.event_store import database_url
from domain.event_store.opening import holds_log
from domain.machine.disk import explained
from projections.search.opensearch import address as search_address
from replay_tool.export_target import ReaderLeft

EXIT_DIFFERS, EXIT_FAILED = 1, 2
EXIT_UNREAD = 128 + signal.SIGPIPE
"""Exit code of a program whose output pipe was closed by its reader, as shells report it."""


class NamedPath(click.Path):
    """A path that is not empty: an empty one would be the working directory, which nobody named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; fails for an empty text."""
        if value == "":
            self.fail("must not be empty", param, ctx)
        return super().convert(value, param, ctx)


data = click.option(
    "--data",
    type=NamedPath(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA",
    default="./catalog-data",
    show_default=True,
    help="Data directory (CATALOG_DATA).",
)


def _refusing(
    refuse: Callable[[str], None],
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A callback for an option with a URL, which refuses a command line that shows a password."""

    def check(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
        source = context.get_parameter_source(option.name or "")
        if url and source is ParameterSource.COMMANDLINE:
            try:
                refuse(url)
            except InvalidInput as error:
                raise click.BadParameter(error.message) from None
        return url or None

    return check


database = click.option(
    "--database",
    metavar="URL",
    envvar="CATALOG_DATABASE_URL",
    callback=_refusing(database_url.refuse_shown_password),
    help="PostgreSQL database with the log, without a password (CATALOG_DATABASE_URL).",
)


search = click.option(
    "--search-url",
    "search",
    metavar="URL",
    envvar="CATALOG_SEARCH_URL",
    callback=_refusing(search_address.refuse_shown_password),
    help="OpenSearch cluster with the search index, without a password (CATALOG_SEARCH_URL).",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command print errors that an operator can mend as one line, with exit code 2.

    The line goes to standard error. A command whose output has lost its reader prints nothing.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (ReaderLeft, BrokenPipeError):
            # The interpreter flushes standard output once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(EXIT_UNREAD)
        except (CatalogError, OSError) as error:
            said = explained(error, options["data"]) if "data" in options else str(error)
            with suppress(OSError):  # of a full disk, say: the exit code tells that it failed
                click.echo(f"error: {said}", err=True)
            sys.exit(EXIT_FAILED)

    return run


def check_catalog(directory: Path, database: str | None) -> None:
    """Raise CatalogError unless the directory, or else a database, has a log.

    A database is not looked into: the code that opens it expects a log there.
    """
    if not database and not holds_log(directory):
        raise CatalogError(f"{directory} holds no catalog: it has no log")
