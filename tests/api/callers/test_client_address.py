"""The client's address is that of the connection, or what trusted proxies have added."""

from typing import Any, cast

import pytest

from api.callers.client_address import MOST_PROXIES, client_addresses, read_networks
from domain.errors import InvalidInput

TRUSTED = read_networks("10.0.0.1, 192.168.7.0/24,2001:db8::/64")


def asked(peer: str | None, *forwarded: str, trusted: Any = TRUSTED) -> str:
    """The address that is told of a request from a peer, with X-Forwarded-For headers."""
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    scope = {"client": peer and (peer, 1), "headers": [(b"host", b"x"), *headers]}
    return client_addresses(trusted)(cast("Any", scope))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", (), "203.0.113.9"),
        ("203.0.113.9", ("198.51.100.1",), "203.0.113.9"),
        ("10.0.0.1", (), "10.0.0.1"),
        ("10.0.0.1", ("198.51.100.1",), "198.51.100.1"),
        ("::ffff:10.0.0.1", ("198.51.100.1",), "198.51.100.1"),
        ("10.0.0.1", ("2001:DB8:1::7",), "2001:db8:1::7"),
        # What the client has made up stands before the address that the proxy has seen.
        ("10.0.0.1", ("1.1.1.1, 198.51.100.1",), "198.51.100.1"),
        ("10.0.0.1", ("1.1.1.1", "198.51.100.1"), "198.51.100.1"),
        ("10.0.0.1", ("10.0.0.1, 198.51.100.1",), "198.51.100.1"),
        # Two proxies, one behind the other.
        ("10.0.0.1", ("1.1.1.1, 198.51.100.1, 192.168.7.3",), "198.51.100.1"),
        ("10.0.0.1", ("192.168.7.3, 192.168.7.4",), "192.168.7.3"),
        # Some proxies write a port, or brackets, with it.
        ("10.0.0.1", ("198.51.100.1:5678",), "198.51.100.1"),
        ("10.0.0.1", ("[2001:db8:1::7]:443",), "2001:db8:1::7"),
        ("10.0.0.1", ("[2001:db8:1::7]",), "2001:db8:1::7"),
        ("10.0.0.1", ("::ffff:198.51.100.1",), "198.51.100.1"),
        ("10.0.0.1", ('fe80::1%"x',), "fe80::1"),
        # What is no address ends the reading.
        ("10.0.0.1", ("1.1.1.1, <script>, 192.168.7.3",), "192.168.7.3"),
        ("10.0.0.1", ("",), "10.0.0.1"),
        ("10.0.0.1", ("\xff\xfe",), "10.0.0.1"),
        ("10.0.0.1", ("198.51.100.1, ",), "10.0.0.1"),
        ("10.0.0.1", (", ".join(["1.1.1.1"] + ["10.0.0.1"] * MOST_PROXIES),), "10.0.0.1"),
        (None, ("198.51.100.1",), ""),
    ],
)
def test_address_is_the_last_one_that_is_no_trusted_proxy(
    peer: str | None, forwarded: tuple[str, ...], client: str
) -> None:
    assert asked(peer, *forwarded) == client


def test_header_says_nothing_where_no_proxy_is_trusted() -> None:
    assert asked("127.0.0.1", "198.51.100.1", trusted=()) == "127.0.0.1"


@pytest.mark.parametrize("setting", ["10.0.0.1/8", "proxy.example", "10.0.0.1;10.0.0.2"])
def test_setting_that_names_no_network_is_refused(setting: str) -> None:
    with pytest.raises(InvalidInput, match="CATALOG_TRUSTED_PROXIES"):
        read_networks(setting)
