"""The `catalog` command: serve, mint tokens, import."""

import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from api.processes.heartbeat import Heart
from api.processes.termination import Termination
from api.settings import Settings, read_settings
from api.telemetry.log_writer import open_log_writer
from domain.errors import CatalogError, InvalidInput
from domain.event_store import database_url
from domain.kinds.names import MAX_NAME_LENGTH
from domain.machine.disk import explained, full_disk
from domain.machine.log_rotation import ignore_rotation_signals
from domain.release import described
from projections.search.opensearch import address as search_address

if TYPE_CHECKING:
    from api.callers.tokens.safe import Safe

EXIT_BAD_LINES, EXIT_USAGE, EXIT_STOPPED = 1, 2, 3
EXIT_UNKNOWN = 1
EXIT_INTERRUPTED = 128 + signal.SIGINT
DAY = 86_400
_TEST_DEFINITIONS = Path(__file__).parent / "static" / "test_definitions.jsonl"

_data = click.option("--data", metavar="DIR", help="Data directory (CATALOG_DATA).")


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


_search = click.option(
    "--search-url",
    "search",
    metavar="URL",
    callback=_refusing(search_address.refuse_shown_password, empty=None),
    help="OpenSearch cluster with the search index, without a password (CATALOG_SEARCH_URL).",
)
_database = click.option(
    "--database",
    metavar="URL",
    callback=_refusing(database_url.refuse_shown_password, empty=""),
    help="PostgreSQL database with the log, without a password (CATALOG_DATABASE_URL).",
)
_counts = click.option("--counts", metavar="DESCRIPTOR", type=int, required=True)
_heartbeat = click.option("--heartbeat", metavar="DESCRIPTOR", type=int, required=True)


def print_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command print what an operator can mend as one line, and end with exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (CatalogError, OSError) as error:
            _print_error(error, options["data"])
            sys.exit(EXIT_USAGE)

    return run


def _print_error(error: Exception, given: str | None) -> None:
    """Print an error of a command; a full disk of its data directory is named as the cause."""
    directory = given or os.environ.get("CATALOG_DATA") or Settings().data
    _print(f"error: {explained(error, Path(directory))}", err=True)


def _print(line: str, *, err: bool = False) -> None:
    """Print a line if it can be written: what a command does, or ends with, must not depend on it.

    A disk may be full, and whoever read a pipe may have left.
    """
    try:
        click.echo(line, err=err)
    except OSError:
        if not err:
            # The interpreter tries once more when it ends, and would end with another exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@click.group()
@click.version_option(described())
def main() -> None:
    """A metadata catalog with an HTTP API compatible with OpenMetadata's."""
    os.umask(0o077)
    ignore_rotation_signals()


@main.command(short_help="Serve the HTTP API.")
@click.option("--host", help="Address to listen on (CATALOG_HOST).")
@click.option("--port", type=int, help="Port to listen on, 0 for a free one (CATALOG_PORT).")
@click.option("--workers", type=int, help="HTTP processes (CATALOG_WORKERS).")
@_data
@_database
@_search
@print_errors
def serve(
    host: str | None,
    port: int | None,
    workers: int | None,
    data: str | None,
    database: str | None,
    search: str | None,
) -> None:
    """Serve the HTTP API until SIGTERM or SIGINT; exit code 0 then."""
    gc.disable()  # see collect_rarely
    termination = Termination()
    termination.install()
    from api.callers.client_address import read_networks  # noqa: PLC0415 - start-up: as above
    from api.callers.policies import open_policies  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.secret import warn_of_readers  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.verifier import open_verifier  # noqa: PLC0415 - start-up: as above
    from api.processes import server, supervisor  # noqa: PLC0415 - start-up: as above
    from api.telemetry import logs  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry.shared_counts import SharedCounts  # noqa: PLC0415 - start-up: as above

    settings = read_settings(
        host=host,
        port=port,
        workers=workers,
        data=data,
        database_url=database,
        search_url=search,
    )
    counts = SharedCounts.made(settings.workers)
    with (
        open_log_writer(counts.own.count_dropped_line, shared=settings.workers > 1) as writer,
        ExitStack() as exits,
    ):
        logs.configure(settings.log_level, writer)
        # What is refused is refused before the verifier makes a directory and a secret in it.
        open_policies(settings.policies)
        read_networks(settings.trusted_proxies)
        try:
            listener = server.bind(settings.host, settings.port)
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            why = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                why = "another program has the port; name a free one with --port or CATALOG_PORT"
            raise InvalidInput(f"cannot listen on {address}: {why}") from None
        verifier = exits.enter_context(closing(open_verifier(settings)))
        if settings.makes_secret and not settings.database_url:
            warn_of_readers(settings.directory)

        def announce() -> None:
            termination.check()
            host, port, *_ = listener.getsockname()
            if (full := full_disk(settings.directory)) is not None:
                _print(f"warning: {full}", err=True)
            _print(f"catalog listens on http://{host}:{port}, data in {settings.data}")
            if settings.makes_secret:
                command = f"catalog token --subject NAME --role reader --data {settings.data}"
                _print(f"tokens: {command}", err=True)
                if sys.stdout.isatty():
                    from api.callers.sign_in.links import make_link  # noqa: PLC0415 - only people need it

                    at = settings.public_url or _local_address(host, port)
                    link = make_link(settings, verifier.safe.safe, at.rstrip("/"), "me", ("admin",))
                    _print(f"pages, signed in once by this link: {link}", err=True)

        if settings.workers == 1:
            server.serve_alone(settings, listener, verifier, writer, counts, termination, announce)
        else:
            gc.enable()
            supervisor.supervise(settings, listener, counts, announce)


@main.command(hidden=True)
@click.option("--socket", "descriptor", type=int, required=True)
@click.option("--number", type=int, required=True)
@_counts
@_heartbeat
@_data
@print_errors
def worker(descriptor: int, number: int, counts: int, heartbeat: int, data: str | None) -> None:
    """Serve on an inherited socket; started by `serve --workers`."""
    gc.disable()  # see collect_rarely
    termination = Termination()
    termination.install()
    from api.processes import server  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry import logs  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry.shared_counts import SharedCounts  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data)
    shared = SharedCounts(counts, number - 1)
    with open_log_writer(shared.own.count_dropped_line) as writer:
        logs.configure(settings.log_level, writer)
        listener = socket.socket(fileno=descriptor)
        server.serve_worker(settings, listener, writer, shared, termination, Heart(heartbeat))


@main.command(hidden=True)
@_counts
@_heartbeat
@_data
@print_errors
def project(counts: int, heartbeat: int, data: str | None) -> None:
    """Keep the projections current; started by `serve --workers`."""
    termination = Termination()
    termination.install()
    from api.processes import server  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry import logs  # noqa: PLC0415 - start-up: tokens and import need no server
    from api.telemetry.shared_counts import PROJECTING, SharedCounts  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data)
    shared = SharedCounts(counts, PROJECTING)
    with open_log_writer(shared.own.count_dropped_line) as writer:
        logs.configure(settings.log_level, writer)
        server.project(settings, termination, Heart(heartbeat))


@main.command()
@click.option("--subject", required=True, help="Name of the caller, for every event.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    help="reader, editor, admin, bot, scraper, or a role of CATALOG_POLICIES.",
)
@click.option(
    "--ttl",
    type=click.IntRange(min=1),
    help="Lifetime in seconds; a day if that is allowed (CATALOG_JWT_MAX_LIFETIME).",
)
@click.option(
    "--expires",
    metavar="TIME",
    help="Lifetime such as 90d or 12h, up to 365d: the token is registered, and can be revoked.",
)
@_data
@_database
@print_errors
def token(
    subject: str,
    roles: tuple[str, ...],
    ttl: int | None,
    expires: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Print a bearer token signed with the catalog's secret."""
    from api.callers.policies import open_policies  # noqa: PLC0415 - start-up: import needs no tokens
    from api.callers.tokens.minting import find_minter, mint, mint_long_lived  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.register import parse_lifetime  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.safe import SECRET  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data, database_url=database)
    _check_roles(roles, open_policies(settings.policies).roles)
    _check_texts("--subject", [subject])
    if expires is not None:
        if ttl is not None:
            raise InvalidInput("--ttl and --expires say the same thing: give one of them")
        lifetime = parse_lifetime(expires)
        with _opened_safe(settings) as safe:
            minter = find_minter(settings, safe)
            signed, token_id = mint_long_lived(minter, safe, subject, roles, lifetime)
        click.echo(f"token {token_id}, until catalog revoke --id {token_id}", err=True)
        click.echo(signed)
        return
    if ttl is None:
        ttl = min(DAY, settings.jwt_max_lifetime)
    elif ttl > settings.jwt_max_lifetime:
        most = f"CATALOG_JWT_MAX_LIFETIME ({settings.jwt_max_lifetime})"
        raise InvalidInput(f"--ttl must be at most {most}, got {ttl}")
    if settings.makes_secret and not (settings.directory / SECRET).exists():
        _check_catalog(settings)
    click.echo(mint(find_minter(settings), subject, roles, ttl))


@main.command("sign-in-link", short_help="Print a link that signs in once.")
@click.option("--subject", default="me", help="Name of the person, for every event.")
@click.option("--role", "roles", multiple=True, default=("admin",), help="Role, as in token.")
@click.option("--address", help="Catalog's address for browsers (CATALOG_PUBLIC_URL).")
@_data
@_database
@print_errors
def sign_in_link(
    subject: str,
    roles: tuple[str, ...],
    address: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Print a link that signs in to the pages, once and in the next 15 minutes."""
    from api.callers.policies import open_policies  # noqa: PLC0415 - start-up: as above
    from api.callers.sign_in.links import make_link  # noqa: PLC0415 - start-up: only this needs it

    settings = read_settings(data=data, database_url=database)
    _check_roles(roles, open_policies(settings.policies).roles)
    _check_texts("--subject", [subject])
    at = address or settings.public_url or _local_address(settings.host, settings.port)
    with _opened_safe(settings) as safe:
        click.echo(make_link(settings, safe, at.rstrip("/"), subject, roles))


def _check_roles(roles: Iterable[str], known: Sequence[str]) -> None:
    for role in roles:
        if role not in known:
            raise InvalidInput(f"--role must be one of {', '.join(known)}, got {role!r}")


def _local_address(host: str, port: int) -> str:
    """Where a browser on this machine finds what listens on a host and a port."""
    here = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"


@main.command(short_help="Revoke tokens.")
@click.option("--id", "ids", multiple=True, help="Id (jti) of a token.")
@click.option("--subject", "subjects", multiple=True, help="Caller whose tokens to revoke.")
@click.option("--known", is_flag=True, help="End with exit code 1 when an id is not registered.")
@_data
@_database
@print_errors
def revoke(
    ids: tuple[str, ...],
    subjects: tuple[str, ...],
    known: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Revoke tokens by id, or all that a subject has now; servers follow within 2 seconds.

    An id that the register of long-lived tokens does not have is revoked as well, as that of a
    short-lived token, and a warning says so.
    """
    from api.callers.tokens.register import MOST_ID_CHARACTERS, revoke_tokens  # noqa: PLC0415 - start-up: serve needs no command

    settings = read_settings(data=data, database_url=database)
    if not ids and not subjects:
        raise InvalidInput("name tokens with --id, or whose tokens with --subject")
    _check_texts("--id", ids, MOST_ID_CHARACTERS)
    _check_texts("--subject", subjects)
    with _opened_safe(settings) as safe:
        unknown = revoke_tokens(safe, ids, subjects)
    for token_id in ids:
        _print(f"revoked: token {token_id[:80]}")
        if token_id in unknown:
            _print(f"warning: no long-lived token has the id {token_id[:80]}", err=True)
    for subject in subjects:
        _print(f"revoked: all tokens of {subject[:80]!r} that were issued until now")
    if known and unknown:
        sys.exit(EXIT_UNKNOWN)


@main.command(short_help="List the long-lived tokens.")
@_data
@_database
@print_errors
def tokens(data: str | None, database: str | None) -> None:
    """List the long-lived tokens: id, subject, roles, key, and their end or that they are revoked.

    The key is the id of the secret that signed the token, as `catalog rotate` prints it.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - start-up: as in revoke

    from api.callers.tokens.register import read_register  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data, database_url=database)
    with _opened_safe(settings) as safe:
        register = read_register(safe)
    for each in register.long_lived:
        end = datetime.fromtimestamp(each.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        revoked = register.refuses(each.subject, each.id, each.issued)
        state = "revoked" if revoked else f"until {end}"
        key = f"key {each.key or 'unknown'}"
        _print(f"{each.id}  {each.subject}  {','.join(each.roles)}  {key}  {state}")


@main.command(short_help="Replace the key that signs tokens, or seals sessions.")
@click.argument("what", type=click.Choice(["tokens", "sessions"]))
@click.option("--drop", is_flag=True, help="Instead, end what former keys signed or sealed.")
@_data
@_database
@print_errors
def rotate(what: str, drop: bool, data: str | None, database: str | None) -> None:
    """Replace the catalog's own secret that signs tokens, or the key that seals sessions.

    Tokens and sessions of the former key stay valid until they end, or until --drop. Servers
    follow within 2 seconds.
    """
    import time  # noqa: PLC0415 - start-up: as above

    from api.callers.tokens.register import read_register  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.safe import SECRET, SESSION_KEY  # noqa: PLC0415 - start-up: as above
    from api.callers.tokens.secret import drop_previous, key_id, rotate_secret  # noqa: PLC0415 - as above

    settings = read_settings(data=data, database_url=database)
    if what == "tokens" and not settings.makes_secret:
        raise InvalidInput(
            "the settings name the keys of tokens: a secret in a file is replaced by writing the"
            " new one into a line above it (docs/tokens.md)"
        )
    document = SECRET if what == "tokens" else SESSION_KEY
    with _opened_safe(settings) as safe:
        if not drop:
            replaced = rotate_secret(safe, document, time.time())
            _print(f"replaced: key {key_id(replaced)}, which is kept until {what} of it end")
            return
        dropped = {key_id(secret) for secret in drop_previous(safe, document)}
        register = read_register(safe)
    for key in sorted(dropped):
        _print(f"dropped: key {key}")
    for each in register.long_lived if what == "tokens" else ():
        if each.key in dropped:
            _print(f"ended: token {each.id} of {each.subject!r}")


def _check_texts(option: str, texts: Iterable[str], most: int = MAX_NAME_LENGTH) -> None:
    """Refuse what can be no name of a caller, or no id: both stand in events, lists and logs."""
    for text in texts:
        if not (1 <= len(text) <= most and text.isprintable()):
            limits = f"1 to {most:,} printable characters"
            raise InvalidInput(f"{option} must have {limits}, got {text[:80]!r}")


@contextmanager
def _opened_safe(settings: Settings) -> Iterator["Safe"]:
    """The safe of a catalog that there is, for a block."""
    from api.callers.tokens.opening import open_safe  # noqa: PLC0415 - start-up: serve opens its own

    _check_catalog(settings)
    with closing(open_safe(settings)) as safe:
        yield safe


def _check_catalog(settings: Settings) -> None:
    """Refuse a mistyped directory: a secret made there would sign a token that no server takes."""
    from domain.event_store.opening import holds_log  # noqa: PLC0415 - start-up: only this needs it

    # Whether a database holds a catalog is seen when its safe is opened.
    if not settings.database_url and not holds_log(settings.directory):
        raise InvalidInput(
            f"{settings.directory} holds neither a secret nor a catalog: name the data directory of"
            " a catalog with --data or CATALOG_DATA, or start one there with catalog serve"
        )


@main.command("import", short_help="Load files of JSON lines into the log.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("--actor", default="import", show_default=True, help="Actor to record in events.")
@click.option("--as-bot", is_flag=True, help="Keep what people wrote, as a bot's PUTs do.")
@_data
@_database
@print_errors
def import_files(
    files: tuple[str, ...], actor: str, as_bot: bool, data: str | None, database: str | None
) -> None:
    """Load JSON lines (.gz too) into the log; bad lines are named, good ones kept.

    A FILE - is standard input.

    Exit code 1: there were bad lines; 2: a file breaks off, and was imported up to there; 3: the
    log could not be read or written, and the import stopped at a line that is named; 130: Ctrl-C.
    It is safe to run again: what is there already stores no event.
    """
    _check_texts("--actor", [actor])
    settings = read_settings(data=data, database_url=database)
    _load([Path(file) for file in files], actor, settings, as_bot=as_bot)


@main.command(short_help="Create the classifications Tier and PII.")
@_data
@_database
@print_errors
def classifications(data: str | None, database: str | None) -> None:
    """Create the classifications Tier and PII, to which OpenMetadata's connectors refer.

    What people wrote on them stays. Exit codes are those of import.
    """
    from api.processes.first_start import ACTOR, CLASSIFICATIONS  # noqa: PLC0415 - start-up: tokens need no log

    settings = read_settings(data=data, database_url=database)
    _load([CLASSIFICATIONS], ACTOR, settings, as_bot=True)


@main.command("test-definitions", short_help="Create the definitions of tests.")
@_data
@_database
@print_errors
def test_definitions(data: str | None, database: str | None) -> None:
    """Create the definitions of the tests that OpenMetadata's test workflow runs.

    What people wrote on them stays. Exit codes are those of import.
    """
    from api.processes.first_start import ACTOR  # noqa: PLC0415 - start-up: as above

    settings = read_settings(data=data, database_url=database)
    _load([_TEST_DEFINITIONS], ACTOR, settings, as_bot=True)


def _load(files: Sequence[Path], actor: str, settings: Settings, *, as_bot: bool) -> None:
    """Import files, print what became of their lines, and exit unless all of them are good."""
    from api.import_files import ImportRun  # noqa: PLC0415 - start-up: tokens need no log
    from domain.importing.bulk_import import ImportStopped  # noqa: PLC0415 - start-up: as above

    run = ImportRun(settings.directory, settings.database_url, actor, as_bot=as_bot)
    try:
        with run:
            for file in files:
                run.load(file)
    except ImportStopped as stopped:
        _print_error(stopped, settings.data)
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
