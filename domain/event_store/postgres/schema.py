"""Makes and upgrades the tables of the log: numbered steps, forward only.

Each step is a file like `0001.sql`, which never changes once it was released. A database at a
number that this program does not know is refused; one at an older number is, too, until an operator
has it upgraded: hosts of the older release may still use it.
"""

from importlib import resources

from psycopg import sql

from domain.errors import Conflict, StoreUnavailable
from domain.event_store.features import EARLIEST
from domain.event_store.postgres.connections import translated_errors
from domain.event_store.postgres.features import NAME, columns
from domain.event_store.postgres.link import Link

VERSION = 5
"""Number of the last step."""
_WITHOUT_FEATURES = 1
"""Number of the last step that had no table of features."""
_LOCK = 7161
"""Key of the advisory lock under which tables are made."""


def read_version(connection: Link) -> int:
    """Number of the last step that the schema has seen, 0 for one without tables."""
    with translated_errors():
        if connection.one("SELECT to_regclass('schema_version')") == (None,):
            return 0
        return int(connection.one("SELECT max(version) FROM schema_version")[0])


def check_version(version: int, schema: str) -> None:
    """Raise StoreUnavailable unless this program knows the tables of a schema as they are."""
    if version > VERSION:
        raise StoreUnavailable(
            f"the log in schema {schema} is of version {version}, made by a later release: this"
            f" one knows versions up to {VERSION}"
        )
    if version == 0:
        raise StoreUnavailable(f"schema {schema} of the database holds no log")
    if version < VERSION:
        raise StoreUnavailable(
            f"the log in schema {schema} is of version {version}, and this release needs {VERSION}:"
            " end the servers of older releases, then run catalog-replay migrate"
        )


def read_step(number: int) -> bytes:
    """The statements of a step."""
    return resources.files(__package__).joinpath(f"{number:04}.sql").read_bytes()


def migrate(connection: Link, schema: str) -> tuple[int, int]:
    """Create the tables, or upgrade them to this release; returns the versions before and after.

    All steps or none are taken, whoever else migrates at the same time; the caller closes the
    connection. Raises StoreUnavailable, and Conflict when the database cannot hold a log.
    """
    with translated_errors():
        # Before the transaction: what others have made is looked for anew when one begins.
        connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        with connection.transaction():
            before = read_version(connection)
            if before > VERSION:
                check_version(before, schema)
            if before == 0:
                _begin(connection, schema)
            for number in range(before + 1, VERSION + 1):
                connection.execute(read_step(number), prepare=False)
                connection.execute("INSERT INTO schema_version (version) VALUES (%s)", [number])
            if before == _WITHOUT_FEATURES:
                connection.execute(NAME.encode(), columns(EARLIEST))
        connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    return before, VERSION


def _begin(connection: Link, schema: str) -> None:
    """Make an empty schema; its text must be UTF-8, as JSON is."""
    row = connection.execute("SHOW server_encoding").fetchone()
    if row != ("UTF8",):
        raise Conflict(f"the database must have the encoding UTF8, and has {row and row[0]}")
    if connection.execute("SELECT to_regnamespace(%s)", [schema]).fetchone() == (None,):
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    connection.execute(
        "CREATE TABLE schema_version (version integer PRIMARY KEY,"
        " applied_at timestamptz NOT NULL DEFAULT now())"
    )
