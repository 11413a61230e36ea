"""Commands about who may ask: tokens, links that sign in, and the keys of both."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from api.command_options import (
    check_texts,
    local_address,
    on_catalog,
    print_line,
)
from api.settings import Settings, check_address
from domain.errors import InvalidInput

if TYPE_CHECKING:
    from api.callers.tokens.safe import Safe

EXIT_UNKNOWN = 1
DAY = 86_400


@click.command()
@click.option("--subject", required=True, help="Name that every event records.")
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
@on_catalog
def token(
    subject: str,
    roles: tuple[str, ...],
    ttl: int | None,
    expires: str | None,
    settings: Settings,
) -> None:
    """Print a bearer token signed with the catalog's secret."""
    from api.callers.tokens import minting, register, safe  # noqa: PLC0415 - start-up: as below

    _check_caller(settings, subject, roles)
    if expires is not None:
        if ttl is not None:
            raise InvalidInput("--ttl and --expires say the same thing: give one of them")
        lifetime = register.parse_lifetime(expires)
        with _opened_safe(settings) as opened:
            minter = minting.find_minter(settings, opened)
            signed, made = minting.mint_long_lived(minter, opened, subject, roles, lifetime)
        end = f"end it earlier with catalog revoke --id {made.id}"
        click.echo(f"made token {made.id}, valid until {_in_utc(made.expires)}; {end}", err=True)
        click.echo(signed)
        return
    if ttl is None:
        ttl = min(DAY, settings.jwt_max_lifetime)
    elif ttl > settings.jwt_max_lifetime:
        most = f"CATALOG_JWT_MAX_LIFETIME ({settings.jwt_max_lifetime})"
        raise InvalidInput(f"--ttl must be at most {most}, got {ttl}")
    if settings.makes_secret and not (settings.directory / safe.SECRET).exists():
        _check_catalog(settings)
    click.echo(minting.mint(minting.find_minter(settings), subject, roles, ttl))


@click.command("sign-in-link", short_help="Print a link that signs in once.")
@click.option("--subject", default="me", help="Name that every event records.")
@click.option("--role", "roles", multiple=True, default=("admin",), help="Role (default admin).")
@click.option("--address", help="Catalog's address for browsers (CATALOG_PUBLIC_URL).")
@on_catalog
def sign_in_link(
    subject: str,
    roles: tuple[str, ...],
    address: str | None,
    settings: Settings,
) -> None:
    """Print a link that signs in to the pages, once and in the next 15 minutes."""
    from api.callers.tokens.minting import make_link  # noqa: PLC0415 - start-up: only this needs it

    _check_caller(settings, subject, roles)
    if address:
        check_address("--address", address)
    at = address or settings.public_url or local_address(settings.host, settings.port)
    with _opened_safe(settings) as safe:
        click.echo(make_link(settings, safe, at.rstrip("/"), subject, roles))


def _check_caller(settings: Settings, subject: str, roles: Iterable[str]) -> None:
    from api.callers.policies import Policies  # noqa: PLC0415 - start-up: import needs no tokens

    known = Policies(settings.policies).roles
    for role in roles:
        if role not in known:
            raise InvalidInput(f"--role must be one of {', '.join(known)}, got {role!r}")
    check_texts("--subject", [subject])


@click.command(short_help="Revoke tokens.")
@click.option("--id", "ids", multiple=True, help="Id (jti) of a token.")
@click.option("--subject", "subjects", multiple=True, help="Caller whose tokens to revoke.")
@click.option("--known", is_flag=True, help="End with exit code 1 when an id is not registered.")
@on_catalog
def revoke(
    ids: tuple[str, ...],
    subjects: tuple[str, ...],
    known: bool,
    settings: Settings,
) -> None:
    """Revoke tokens by id, or all that a subject has now; servers follow within 2 seconds.

    An id that the register of long-lived tokens does not have is revoked as well, as that of a
    short-lived token, and a warning says so.
    """
    from api.callers.tokens import register  # noqa: PLC0415 - start-up: serve needs no command

    if not ids and not subjects:
        raise InvalidInput("name tokens with --id, or whose tokens with --subject")
    check_texts("--id", ids, register.MOST_ID_CHARACTERS)
    check_texts("--subject", subjects)
    with _opened_safe(settings) as safe:
        unknown = register.revoke_tokens(safe, ids, subjects)
    for token_id in ids:
        print_line(f"revoked: token {token_id[:80]}")
        if token_id in unknown:
            print_line(f"warning: no long-lived token has the id {token_id[:80]}", err=True)
    for subject in subjects:
        print_line(f"revoked: all tokens of {subject[:80]!r} that were issued until now")
    if known and unknown:
        sys.exit(EXIT_UNKNOWN)


@click.command(short_help="List the long-lived tokens.")
@on_catalog
def tokens(settings: Settings) -> None:
    """List the long-lived tokens: id, subject, roles, key, and their end or that they are revoked.

    The key is the id of the secret that signed the token, as `catalog rotate` prints it.
    """
    from api.callers.tokens.register import read_register  # noqa: PLC0415 - start-up: as above

    with _opened_safe(settings) as safe:
        register = read_register(safe)
    for each in register.long_lived:
        revoked = register.refuses(each.subject, each.id, each.issued)
        state = "revoked" if revoked else f"until {_in_utc(each.expires)}"
        key = f"key {each.key or 'unknown'}"
        print_line(f"{each.id}  {each.subject}  {','.join(each.roles)}  {key}  {state}")


@click.command(short_help="Replace the key that signs tokens, or seals sessions.")
@click.argument("what", type=click.Choice(["tokens", "sessions"]))
@click.option(
    "--drop", is_flag=True, help="Make no new key; end all that former keys signed or sealed."
)
@on_catalog
def rotate(what: str, drop: bool, settings: Settings) -> None:
    """Replace the catalog's own secret that signs tokens, or the key that seals sessions.

    Tokens and sessions of the former key stay valid until they end, or until --drop. Servers
    follow within 2 seconds.
    """
    from api.callers.tokens import register, safe, secret  # noqa: PLC0415 - start-up: as above

    if what == "tokens" and not settings.makes_secret:
        raise InvalidInput(
            "the settings name the keys of tokens: a secret in a file is replaced by writing the"
            " new one into a line above it (docs/tokens.md)"
        )
    document = safe.SECRET if what == "tokens" else safe.SESSION_KEY
    with _opened_safe(settings) as opened:
        if not drop:
            replaced = secret.key_id(secret.rotate_secret(opened, document, time.time()))
            print_line(f"replaced: key {replaced}, which is kept until {what} of it end")
            return
        dropped = {secret.key_id(each) for each in secret.drop_previous(opened, document)}
        known = register.read_register(opened)
    for key in sorted(dropped):
        print_line(f"dropped: key {key}")
    for each in known.long_lived if what == "tokens" else ():
        if each.key in dropped:
            print_line(f"ended: token {each.id} of {each.subject!r}")


def _in_utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def _opened_safe(settings: Settings) -> Iterator["Safe"]:
    """The safe of a catalog that there is, for a block."""
    from api.callers.tokens.following import open_safe  # noqa: PLC0415 - start-up: serve opens its own

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


TOKEN_COMMANDS = (token, sign_in_link, revoke, tokens, rotate)
