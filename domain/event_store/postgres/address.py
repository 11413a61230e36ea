"""Reads the URL of a log in PostgreSQL: the server, how to connect, and the schema."""

import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from domain.errors import InvalidInput
from domain.event_store.database_url import is_url

SCHEMA = "catalog"
_SCHEMA = "schema"
"""The one parameter of the URL that is ours and not the driver's."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}")
"""A schema's name; the other characters of the 63 of PostgreSQL are for schemas named after it."""
_PORTS = re.compile(r"[0-9,]*")
_NO_URL = (
    "the address of the log is not a URL like postgresql://user@host:5432/database?schema=name"
)
_CONNECT_SECONDS = "3"
_LIVENESS = {
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""A server that loses power is given up after about ten seconds."""
_SETTINGS = {
    # A generic plan for each statement: LIMIT with a parameter makes it look dear, and planning
    # each time takes twice as long as running.
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    # Everything but reading the whole log goes by an index. A plan made while the tables were empty
    # must say so too, since it is kept when they have grown.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "lock_timeout": "10s",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",
    "client_encoding": "UTF8",
    # Each statement of an append reads what the append before it has left, which it waited for.
    "default_transaction_isolation": r"read\ committed",
}
_BALANCES_FROM = 160_000
"""The version of libpq from which on it knows the parameter `load_balance_hosts`."""
_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
"""Paths at which systems keep the certificates that they trust."""


class Address(msgspec.Struct, frozen=True):
    """A log's address in the form of the driver; it may hold a password, so never show it."""

    parameters: Mapping[str, str]
    """The parameters for libpq, with defaults where the URL sets none."""
    schema: str


def read_address(url: str, *, writable: bool) -> Address:
    """The address in a URL: libpq's parameters, and `schema`, the schema of the tables.

    Unless the URL or PGSSLMODE says otherwise, the certificate of a server is verified; connections
    through a local socket have none. Raises InvalidInput, which does not repeat the URL.
    """
    if not is_url(url):
        # libpq takes a list of keywords too, of which nobody would know a password.
        raise InvalidInput(_NO_URL)
    try:
        place, _, query = url.partition("?")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        names = [value for key, _, value in pairs if key == _SCHEMA] or [SCHEMA]
        parameters_of_libpq = "&".join("".join(pair) for pair in pairs if pair[0] != _SCHEMA)
        read = conninfo_to_dict(f"{place}?{parameters_of_libpq}")
    except psycopg.ProgrammingError:
        raise InvalidInput(_NO_URL) from None
    if "@" in str(read.get("host", "")) or not _PORTS.fullmatch(str(read.get("port", ""))):
        raise InvalidInput(f"{_NO_URL}; in a user or password, @ is %40, / is %2F and : is %3A")
    if len(names) > 1 or not _NAME.fullmatch(names[0]):
        raise InvalidInput("schema in the address of the log must be one name like catalog")
    parameters = {key: str(value) for key, value in read.items() if value is not None}
    settings = _SETTINGS | {"search_path": names[0]}
    if not writable:
        settings["default_transaction_read_only"] = "on"
    ours = " ".join(f"-c {key}={value}" for key, value in settings.items())
    parameters["options"] = f"{parameters.get('options', '')} {ours}".strip()
    defaults = {"connect_timeout": _CONNECT_SECONDS, "application_name": "catalog", **_LIVENESS}
    defaults |= _verification(parameters)
    if "," in parameters.get("host", ""):
        defaults["target_session_attrs"] = "read-write"
        if psycopg.pq.version() >= _BALANCES_FROM:
            # In their order the first one that takes writes would be asked again and again, also
            # a primary that was overtaken, and that is refused.
            defaults["load_balance_hosts"] = "random"
    return Address(defaults | parameters, names[0])


def _verification(parameters: Mapping[str, str]) -> dict[str, str]:
    """The settings that verify a server's certificate, unless the URL sets its own."""
    if "sslmode" in parameters or "PGSSLMODE" in os.environ:
        return {}
    if "sslrootcert" in parameters or "PGSSLROOTCERT" in os.environ:
        return {"sslmode": "verify-full"}
    known = (ssl.get_default_verify_paths().cafile, *_AUTHORITIES)
    authorities = next((path for path in known if path and Path(path).exists()), "system")
    return {"sslmode": "verify-full", "sslrootcert": authorities}
