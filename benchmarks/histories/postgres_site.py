"""A PostgreSQL server that crashes, restarts, is put back and is followed by a standby.

Its process that writes the log to disk unasked is stopped, so that what nobody has waited for is in
memory alone, and a crash takes it away. Files are not synced: no power is lost here.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.postgres_server import PostgresServer

_WRITER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
_SECONDS = 30.0


class PostgresSite:
    """The server that hosts connect to by one address, whichever it is at the moment."""

    def __init__(self, binaries: Path, place: Path) -> None:
        """Everything is kept in the directory `place`, which other users may enter."""
        self._binaries = binaries
        self._place = place
        self._made = 0
        self._writer = 0
        self._standby: PostgresServer | None = None
        self.server = self._new_server()
        self.server.make(fsync=False)
        _set(self.server, "autovacuum = off", "max_wal_size = 4GB", "checkpoint_timeout = 1h")
        self.address = place / "current"
        """A directory with the socket of the server that is the primary now."""
        self._point_to(self.server)
        self._start()

    def url(self, schema: str, host: str) -> str:
        """The address of a log for a host, by whose name its sessions are known."""
        return (
            f"postgresql:///postgres?host={self.address}&user=postgres"
            f"&application_name={host}&schema={schema}"
        )

    def ask(self, statement: str) -> list[Any]:
        """The rows that a statement gives, in a transaction that sees one state."""
        with self.server.connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def close(self) -> None:
        """End the servers."""
        for server in (self.server, self._standby):
            if server is not None and server.is_running:
                _release(self._writer)
                server.stop("immediate")

    def crash(self) -> None:
        """End all sessions, and lose what was not on disk; the server goes on by itself."""
        os.kill(self._writer, signal.SIGKILL)
        _until(lambda: not Path(f"/proc/{self._writer}").exists())
        _until(self._answers)
        self._hold()

    def restart(self) -> None:
        """Stop the server in order, and start it."""
        self._stop()
        self._start()

    def stop_at_once(self) -> None:
        """Have the machine of the server fail, and begin again."""
        self._fail()
        self._start()

    def keep(self) -> None:
        """Put a copy of the files aside."""
        self._stop()
        _copy(self.server.data, self.server.directory / "kept")
        self._start()

    def put_back(self) -> None:
        """Go on from the copy that was put aside."""
        self._fail()
        shutil.rmtree(self.server.data)
        (self.server.directory / "kept").rename(self.server.data)
        self._start()

    def add_standby(self, *, is_synchronous: bool) -> None:
        """Have another server follow this one; commits wait for it if it is synchronous."""
        self._stop()
        standby = self._new_server()
        _copy(self.server.data, standby.data)
        (standby.data / "standby.signal").touch()
        _set(
            standby,
            f"unix_socket_directories = '{standby.directory}'",
            f"primary_conninfo = 'host={self.server.directory} user=postgres'",
        )
        names = "*" if is_synchronous else ""
        _set(self.server, f"synchronous_standby_names = '{names}'")
        self.server.start()
        standby.start()
        self._standby = standby
        _until(lambda: self.ask("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"))
        self._hold()

    def part(self) -> None:
        """Cut the standby off: what is stored from now on, it does not get."""
        standby = self._standby
        assert standby is not None
        flushed = "SELECT pg_current_wal_flush_lsn()"
        ((position,),) = self.ask(flushed)
        received = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        _until(lambda: _asked(standby, received) == [(True,)])
        _set(standby, "primary_conninfo = ''")
        os.kill(_postmaster(standby), signal.SIGHUP)
        _until(lambda: not _asked(standby, "SELECT 1 FROM pg_stat_wal_receiver"))

    def fail_over(self) -> None:
        """Have the machine of the primary fail, and its standby take its place."""
        standby, left = self._standby, self.server
        assert standby is not None
        self._fail()
        standby.take_over()
        self.server, self._standby = standby, None
        self._point_to(standby)
        self._hold()
        shutil.rmtree(left.directory)

    def _start(self) -> None:
        self.server.start()
        self._hold()

    def _stop(self) -> None:
        _release(self._writer)
        self.server.stop()

    def _fail(self) -> None:
        """End the server without a chance to write anything."""
        os.kill(_postmaster(self.server), signal.SIGQUIT)
        # Stopped as it is, the server would wait for it.
        os.kill(self._writer, signal.SIGKILL)
        _until(lambda: not self.server.is_running)

    def _hold(self) -> None:
        """Stop the process that writes the log to disk unasked."""
        _until(lambda: self.ask(_WRITER))
        ((self._writer,),) = self.ask(_WRITER)
        os.kill(self._writer, signal.SIGSTOP)

    def _answers(self) -> bool:
        try:
            return bool(self.ask(_WRITER))
        except psycopg.OperationalError:
            return False

    def _new_server(self) -> PostgresServer:
        self._made += 1
        directory = self._place / f"server{self._made}"
        directory.mkdir(mode=0o755)
        return PostgresServer(self._binaries, directory)

    def _point_to(self, server: PostgresServer) -> None:
        self.address.unlink(missing_ok=True)
        self.address.symlink_to(server.directory)


def _asked(server: PostgresServer, statement: str) -> list[Any]:
    with server.connect() as connection:
        return connection.execute(statement.encode()).fetchall()


def _set(server: PostgresServer, *settings: str) -> None:
    with (server.data / "postgresql.conf").open("a") as file:
        file.write("".join(f"{setting}\n" for setting in settings))


def _postmaster(server: PostgresServer) -> int:
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)


def _release(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


def _until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < ends, f"not within {_SECONDS} seconds"
        time.sleep(0.005)
