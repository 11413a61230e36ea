"""A relay on loopback between us and a search node, which can be away, silent, or speak TLS."""

import socket
import ssl
import threading
from contextlib import suppress

_PIECE = 1 << 16


class Relay:
    """Passes on what comes to its port, for as long as it is up."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        """`port` is that of the node; with a `context` its own clients must speak TLS."""
        self._node = port
        self._context = context
        self._ends: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._passing = threading.Event()
        self._passing.set()
        self._held_from: bytes | None = None
        self.seen = bytearray()
        """Bytes that the clients have sent."""
        self.port = 0
        self.up()

    def up(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def down(self) -> None:
        """Cut all connections, and take none."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self._passing.set()
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def be_silent(self) -> None:
        """Pass nothing on from now on, without saying so."""
        self._passing.clear()

    def be_silent_from(self, sign: bytes) -> None:
        """Pass on nothing any more from a piece on that has a sign in it, of what clients send."""
        self._held_from = sign

    @property
    def is_silent(self) -> bool:
        """True if nothing is passed on."""
        return not self._passing.is_set()

    def speak(self) -> None:
        """Pass on again, also what was held back."""
        self._passing.set()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                if self._context is not None:
                    client = self._context.wrap_socket(client, server_side=True)
            except ssl.SSLError:
                continue
            except OSError:
                return
            node = socket.create_connection(("127.0.0.1", self._node))
            self._ends |= {client, node}
            for pair in ((client, node), (node, client)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                if target.getpeername()[1] == self._node:
                    self.seen += data
                    if self._held_from is not None and self._held_from in data:
                        self._held_from = None
                        self.be_silent()
                self._passing.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._ends.discard(end)
