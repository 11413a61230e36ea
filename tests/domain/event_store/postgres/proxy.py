"""A proxy on loopback between a log and its server, which cuts a connection where it is told to."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from urllib.parse import quote

_COMMITS = re.compile(rb"COMMIT\0|CALL append_alone_2")
"""Texts by which a client commits, by itself or within a call, as long as it is not prepared."""
_COMMITTED = re.compile(rb"COMMIT\0|CALL\0")


class Cut(Enum):
    """Moment at which a connection ends, of which the other side hears nothing more."""

    BEFORE = "before the commit: the server gets all but that"
    DURING = "during the commit: the server gets it, and the client nothing"
    AFTER = "after the commit: the server has answered, which the client does not get"


class Proxy:
    """Passes bytes on; `cut_next` ends the next connection that commits."""

    def __init__(self, server: str) -> None:
        """`server` is the path of the server's socket."""
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cut: Cut | None = None
        self._lock = threading.Lock()
        self.cuts = 0
        """Number of connections that were cut."""
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters of a URL that leads here."""
        port = str(self._listener.getsockname()[1])
        return {"host": quote("127.0.0.1"), "port": port, "sslmode": "disable"}

    def cut_next(self, cut: Cut) -> None:
        """Have the next connection that commits end so."""
        self._cut = cut

    def lead_to(self, server: str) -> None:
        """Have connections that are made from now on come to another server's socket."""
        self._server = server

    def cut_all(self) -> None:
        """End all connections as far as their clients see; the server goes on with what it has."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for client, _ in pairs:
            self.cuts += 1
            _end(client)

    def close(self) -> None:
        """End everything."""
        _end(self._listener)
        with self._lock:
            for pair in self._pairs:
                for each in pair:
                    _end(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                _end(client)
                continue
            with self._lock:
                self._pairs.append((client, server))
            for pump in (self._to_server, self._to_client):
                threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 20):
                found = _COMMITS.search(data)
                if found and self._takes(Cut.BEFORE):
                    server.sendall(data[: found.start()])
                    _end(client)
                    break
                if found and self._takes(Cut.DURING):
                    # First, or the answer could be there already.
                    _end(client)
                    server.sendall(data)
                    break
                server.sendall(data)
        with suppress(OSError):
            # What the server has got it works off.
            server.shutdown(socket.SHUT_WR)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 20):
                if _COMMITTED.search(data) and self._takes(Cut.AFTER):
                    _end(client)
                with suppress(OSError):
                    client.sendall(data)
        _end(client)
        _end(server)

    def _takes(self, cut: Cut) -> bool:
        """True if a connection is to be cut here and now, which then is done."""
        with self._lock:
            if self._cut is not cut:
                return False
            self._cut = None
            self.cuts += 1
            return True


@contextmanager
def proxying(server: str) -> Iterator[Proxy]:
    """A proxy to the server with a socket at a path, for a block."""
    proxy = Proxy(server)
    try:
        yield proxy
    finally:
        proxy.close()


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
