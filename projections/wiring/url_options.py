"""The options by which commands name the database of a log, and a search cluster."""

from collections.abc import Callable
from typing import TypeVar

import click
from click.core import ParameterSource

from domain.errors import InvalidInput
from domain.event_store import database_url
from projections.search.opensearch import address as search_address

F = TypeVar("F", bound=Callable[..., None])


def search_option(command: F) -> F:
    """Give a command the option `search_url`, that of an OpenSearch cluster; None without one."""
    return click.option(
        "--search-url",
        metavar="URL",
        envvar="CATALOG_SEARCH_URL",
        callback=_refusing(search_address.refuse_shown_password, empty=None),
        help="OpenSearch cluster with the search index, without a password (CATALOG_SEARCH_URL).",
    )(command)


def database_option(*, empty: str | None) -> Callable[[F], F]:
    """The option `database_url`, that of a PostgreSQL database; `empty` stands for an empty one."""
    return click.option(
        "--database",
        "database_url",
        metavar="URL",
        envvar="CATALOG_DATABASE_URL",
        callback=_refusing(database_url.refuse_shown_password, empty=empty),
        help="PostgreSQL database with the log, without a password (CATALOG_DATABASE_URL).",
    )


def _refusing(
    refuse: Callable[[str], None], *, empty: str | None
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """A callback for an option with a URL, which refuses a command line that shows a password."""

    def check(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
        source = context.get_parameter_source(option.name or "")
        if url and source is ParameterSource.COMMANDLINE:
            try:
                refuse(url)
            except InvalidInput as error:
                raise click.BadParameter(error.message) from None
        return url if url is None else url or empty

    return check
