"""Asks an identity provider for keys, addresses and tokens, within bounds of time and size."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from urllib.parse import urlsplit

from domain.errors import InvalidInput

MAX_BYTES = 262_144
"""The largest key set that is read."""


class Unreachable(InvalidInput):
    """The provider does not answer, or its answer is no document."""


def check_url(url: str) -> None:
    """Raise InvalidInput unless keys may be fetched from a URL: https, or http on loopback."""
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port
    except ValueError as error:
        raise InvalidInput(f"{url!r} is not a URL: {error}") from None
    if address.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"{url!r} is not a URL with a scheme (https) and a host")
    if address.username is not None or address.password is not None:
        raise InvalidInput("a URL of keys must hold no user name or password")
    if any(not 0x20 < ord(character) < 0x7F for character in url):
        raise InvalidInput(f"{url!r} has characters that a URL cannot have")
    if address.scheme == "http" and not _is_loopback(host):
        raise InvalidInput(f"{url!r} must be https, or anyone on the network could forge tokens")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def fetch(
    url: str,
    form: str | None = None,
    authorization: str | None = None,
    *,
    step_seconds: float = 5.0,
    total_seconds: float = 10.0,
) -> bytes:
    """The document at a URL that `check_url` accepted; redirects are not followed.

    With a form, encoded, it is the answer to a POST of the form; `authorization` is sent as the
    header of that name. Blocks for `total_seconds` at most, once a connection stands, and for
    `step_seconds` to connect and in each read of the answer. Raises Unreachable, saying why.
    """
    address = urlsplit(url)
    connect = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = connect(address.hostname or "", address.port, timeout=step_seconds)
    target = (address.path or "/") + (f"?{address.query}" if address.query else "")
    headers = {"Accept": "application/json"}
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    if authorization is not None:
        headers["Authorization"] = authorization
    try:
        connection.connect()
        with _limited(connection.sock, total_seconds):
            connection.request("GET" if form is None else "POST", target, form, headers)
            with connection.getresponse() as response:
                return _read(response)
    except (OSError, HTTPException, ValueError) as error:
        raise Unreachable(f"no answer: {error or type(error).__name__}") from None
    finally:
        connection.close()


def _read(response: HTTPResponse) -> bytes:
    if 300 <= response.status < 400:
        location = response.headers.get("Location", "")[:200]
        raise Unreachable(f"redirects to {location!r}; redirects are not followed")
    if response.status != 200:
        raise Unreachable(f"answered {response.status}")
    body = response.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise Unreachable(f"answered with more than {MAX_BYTES} bytes")
    if response.length:
        raise Unreachable("ended its answer early")
    return body


@contextmanager
def _limited(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Cut a connection off after so many seconds: a socket only limits each read.

    Raises Unreachable if it did. An answer that is cut off may look like any other failure, or
    like a whole answer if it does not say how long it is.
    """
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            # The socket below TLS is shut down: the shutdown of TLS would wait for the other side.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    watchdog = threading.Timer(seconds, cut)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        if is_cut.is_set():
            raise Unreachable(f"no whole answer within {seconds:g} seconds")
