"""The address of the client of a request: that of the connection, or behind a trusted proxy."""

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from litestar.types import HTTPScope

from domain.errors import InvalidInput

_FORWARDED = b"x-forwarded-for"
_BRACKETED = re.compile(r"\[([^\]]*)\](?::\d+)?")
_REMEMBERED = 1_024
MOST_PROXIES = 32
"""Most addresses of an X-Forwarded-For that are read, from its end."""

Networks = tuple[IPv4Network | IPv6Network, ...]


def read_networks(setting: str | None) -> Networks:
    """The networks of a setting, separated by commas; raises InvalidInput naming a wrong one."""
    networks = []
    for text in (setting or "").split(","):
        if text := text.strip():
            try:
                networks.append(ip_network(text))
            except ValueError as error:
                raise InvalidInput(f"CATALOG_TRUSTED_PROXIES: {error}") from None
    return tuple(networks)


def client_addresses(networks: Networks) -> Callable[[HTTPScope], str]:
    """A function from the scope of a request to its client's address; empty where it has none.

    Each proxy adds the address that it was asked from to the end of `X-Forwarded-For`. Addresses
    that a client has sent itself stand before that, so the header is read from its end, and only as
    long as it names trusted proxies. `networks` are those of the trusted proxies.
    """

    @lru_cache(_REMEMBERED)
    def is_trusted(address: str) -> bool:
        parsed = ip_address(address)
        # A socket for both versions of the protocol shows addresses of the older one in the newer.
        mapped = getattr(parsed, "ipv4_mapped", None)
        return any((mapped or parsed) in network for network in networks)

    def address_of(scope: HTTPScope) -> str:
        connected = scope["client"]
        if connected is None:
            return ""
        client = connected[0]
        if not networks:
            return client
        try:
            values = [value for name, value in scope["headers"] if name == _FORWARDED]
            texts = b",".join(values).rsplit(b",", MOST_PROXIES)[-MOST_PROXIES:]
            # The last proxy's address is the last one.
            forwarded = [text.decode("latin-1").strip() for text in texts] if values else []
            while forwarded and is_trusted(client):
                client = _plain(forwarded.pop())
        except ValueError:
            # No proxy writes such an address: whoever stands before it is the last that is known.
            return client
        return client

    return address_of


def _plain(text: str) -> str:
    """An address without the brackets, port or zone that proxies may write with it.

    Raises ValueError for what is no address.
    """
    if bracketed := _BRACKETED.fullmatch(text):
        text = bracketed[1]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    address = ip_address(text.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)
