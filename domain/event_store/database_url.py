"""Reads the URL of a database without its driver."""

from urllib.parse import parse_qsl, urlsplit

from domain.errors import InvalidInput

SCHEMES = ("postgresql://", "postgres://")


def is_url(address: str) -> bool:
    """True if an address is the URL of a database; else it is a file."""
    return address.startswith(SCHEMES)


def holds_password(url: str) -> bool:
    """True if the URL of a database has a password in it."""
    try:
        parts = urlsplit(url)
        return bool(parts.password) or "password" in dict(parse_qsl(parts.query))
    except ValueError:
        # Nobody can tell, and it will be refused anyway.
        return True


def refuse_shown_password(url: str) -> None:
    """Raise InvalidInput for a URL whose password everybody on the machine could read."""
    if holds_password(url):
        raise InvalidInput(
            "others can read a password there: use CATALOG_DATABASE_URL, PGPASSWORD or PGPASSFILE"
        )
