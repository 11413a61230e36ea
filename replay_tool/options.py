"""Options and endings that the commands share."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from domain.errors import CatalogError

EXIT_DIFFERS, EXIT_FAILED = 1, 2

data = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="CATALOG_DATA",
    default="./catalog-data",
    show_default=True,
    help="Data directory.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="For machines.")


def told(command: Callable[..., None]) -> Callable[..., None]:
    """Errors that an operator can mend as one line on standard error and exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (CatalogError, OSError) as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(EXIT_FAILED)

    return run


def check_catalog(directory: Path) -> None:
    """Raise CatalogError unless the directory holds a catalog."""
    if not (directory / "events.db").exists():
        raise CatalogError(f"{directory} holds no catalog: it has no events.db")
