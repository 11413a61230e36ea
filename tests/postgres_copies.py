"""Older and newer copies of the files of a PostgreSQL server."""

import shutil
import subprocess

from benchmarks.postgres_server import PostgresServer


class Copies:
    """The files of a server, put aside and back."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._names: list[str] = []

    def keep(self, name: str) -> None:
        """Copy the files as they are now; the server is stopped meanwhile."""
        self._names.append(name)
        self._server.stop()
        self._copy(str(self._server.data), str(self._server.directory / name))
        self._server.start()

    def put_back(self, name: str) -> None:
        """Have the server go on from a copy."""
        self._server.stop()
        shutil.rmtree(self._server.data)
        self._copy(str(self._server.directory / name), str(self._server.data))
        self._server.start()

    def _copy(self, source: str, target: str) -> None:
        subprocess.run(["cp", "-a", source, target], check=True)

    def forget(self) -> None:
        """Delete all copies."""
        for name in self._names:
            shutil.rmtree(self._server.directory / name)
