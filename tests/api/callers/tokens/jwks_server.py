"""A provider of key sets on loopback that behaves as the test says."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext


class Provider:
    """Answer of the server, and the number of requests for it."""

    def __init__(self) -> None:
        self.body = b""
        self.status = 200
        self.headers: dict[str, str] = {}
        self.delay = 0.0
        self.drip = 0.0
        """Seconds between single bytes of the body."""
        self.says_length = True
        self.may_answer = threading.Event()
        """Not set: requests are read, and answered at the end of the block."""
        self.may_answer.set()
        self.asked = 0
        self.url = ""


@contextmanager
def providing(body: bytes = b"", tls: SSLContext | None = None) -> Iterator[Provider]:
    """A provider with this body, until the block ends; over TLS as `localhost`."""
    provider = Provider()
    provider.body = body

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked += 1
            time.sleep(provider.delay)
            provider.may_answer.wait()
            with suppress(OSError):
                self.send_response(provider.status)
                for name, value in provider.headers.items():
                    self.send_header(name, value)
                if provider.says_length:
                    self.send_header("Content-Length", str(len(provider.body)))
                self.end_headers()
                if not provider.drip:
                    self.wfile.write(provider.body)
                    return
                for byte in provider.body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(provider.drip)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that turns away from our certificate

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    port = server.server_address[1]
    provider.url = f"http://127.0.0.1:{port}/jwks"
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        provider.url = f"https://localhost:{port}/jwks"
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield provider
    finally:
        provider.may_answer.set()
        server.shutdown()
        thread.join()
        server.server_close()
