"""The URL of a search cluster: its address, the proof that it is the one, and the names of our
indexes there.
"""

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from domain.errors import InvalidInput

PREFIX = "catalog"
"""Beginning of the names of the indexes where the URL names nothing."""
_PREFIX = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_FORM = "the address of the search cluster is not a URL like https://user@host:9200/catalog?ca=FILE"
_PARAMETERS = {"ca", "password_file"}


class SearchAddress(msgspec.Struct, frozen=True):
    """Address of a search cluster; it may hold a password, so never show it."""

    scheme: str
    host: str
    port: int
    prefix: str
    user: str | None = None
    password: str | None = None
    authorities: str | None = None
    """File of the certificates that the cluster's one is verified with; None for the system's."""

    @property
    def shown(self) -> str:
        """The address as messages may show it."""
        return f"{self.scheme}://{self.host}:{self.port}/{self.prefix}"


def read_search_address(url: str) -> SearchAddress:
    """The address in a URL: `https://USER:PASSWORD@HOST:PORT/PREFIX`, with two parameters.

    `ca` is a file with the authorities that signed the cluster's certificate, which is always
    verified, and `password_file` one with the password. `http` is for this machine alone. Raises
    InvalidInput, which does not repeat the URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or 9200
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidInput(_FORM) from None
    parameters = dict(pairs)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        raise InvalidInput(_FORM)
    if len(parameters) < len(pairs) or parameters.keys() - _PARAMETERS:
        raise InvalidInput("the address of the search cluster takes ca and password_file, once")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise InvalidInput("the address of a search cluster on another machine is https://...")
    prefix = parts.path.strip("/") or PREFIX
    if not _PREFIX.fullmatch(prefix):
        raise InvalidInput("the path in the address of the search cluster is a name like catalog")
    password = None if parts.password is None else unquote(parts.password)
    if (file := parameters.get("password_file")) is not None:
        if password is not None:
            raise InvalidInput("the address of the search cluster has a password and a file of one")
        password = _read(file)
    user = None if not parts.username else unquote(parts.username)
    if (user is None) != (password is None):
        raise InvalidInput("the address of the search cluster has a user and a password, or none")
    return SearchAddress(
        parts.scheme, parts.hostname, port, prefix, user, password, parameters.get("ca")
    )


def shows_password(url: str) -> bool:
    """Return True if a URL has a password in it, which others could read on a command line."""
    try:
        return bool(urlsplit(url).password)
    except ValueError:
        return True


def refuse_shown_password(url: str) -> None:
    """Raise InvalidInput for a URL that would show a password to everybody on the machine."""
    if shows_password(url):
        raise InvalidInput(
            "others can read a password there: use CATALOG_SEARCH_URL, or password_file in the URL"
        )


def _read(file: str) -> str:
    try:
        return Path(file).read_text().rstrip("\n")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("the password_file of the search cluster cannot be read") from None
