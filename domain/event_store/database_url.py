"""What can be told of the URL of a database without its driver."""

from urllib.parse import parse_qsl, urlsplit

from domain.errors import InvalidInput

SCHEMES = ("postgresql://", "postgres://")


def is_url(address: str) -> bool:
    """Whether an address is the URL of a database, and not a file."""
    return address.startswith(SCHEMES)


def holds_password(url: str) -> bool:
    """Whether the URL of a database has a password in it."""
    try:
        parts = urlsplit(url)
        return bool(parts.password) or "password" in dict(parse_qsl(parts.query))
    except ValueError:
        # Nobody can tell, and it will be refused anyway.
        return True


def refuse_shown_password(url: str) -> None:
    """Raises InvalidInput for a URL that would show a password to everybody on the machine."""
    if holds_password(url):
        raise InvalidInput(
            "others can read a password there: use CATALOG_DATABASE_URL, PGPASSWORD or PGPASSFILE"
        )
