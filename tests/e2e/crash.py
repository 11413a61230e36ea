"""Servers under mixed load, killed at random moments, and what must hold after each kill.

`python -m tests.e2e.crash --rounds 1000` runs it for longer than the tests do; with `--hosts 2`
servers with a directory each share a log in PostgreSQL, in a server of its own or at `--database`.
"""

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec

from benchmarks.postgres_server import find_binaries, new_schema, running
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import address_in, open_event_log
from tests.e2e import forked
from tests.e2e.conftest import NO_AUTHORITIES, admin_token, catalog, replay
from tests.waiting import until

WRITERS = 32
SCHEMA = "crash.db.public"
SECRET = "what signs the tokens of hosts that are killed"
_LIFE_SECONDS = (0.05, 0.6)
"""Seconds that servers are under load before the first of them is killed."""
_GAP_SECONDS = (0.0, 0.3)
"""Seconds that the others go on before the next one is."""
_READ_AGAIN = 0.2
"""Share of the creations that are read at once, on any host, by their position."""


class Write(msgspec.Struct, kw_only=True):
    """One request that changes something."""

    method: str
    path: str
    body: Any
    events: int
    """Number of events it stores, when it stores any."""
    request_id: str
    answered: bool = False
    position: str = ""
    """Position in which its answer says that it is included."""


class Figures(msgspec.Struct):
    """Sums of the rounds."""

    rounds: int = 0
    kills: int = 0
    acknowledged: int = 0
    repeated: int = 0
    """Writes without an answer that were sent again, to another host or after the restart."""
    lost: int = 0
    doubled: int = 0
    halved: int = 0
    unseen: int = 0
    """Creations that a read on some host, at their position, did not find."""
    failed_requests: int = 0
    slowest_start: float = 0.0
    """Seconds from the start of a process after a kill until it is ready."""
    unclean: int = 0
    """Directories and rounds after which `verify` found a difference."""


class Host(msgspec.Struct):
    """A server that lives."""

    process: forked.Forked
    address: str
    began: float
    """Time of its start, by `time.monotonic`."""


class Harness:
    """Data directories, and the servers that live and die over them."""

    def __init__(
        self,
        directories: Sequence[Path],
        seed: int,
        say: Callable[[str], None] = print,
        *,
        writers: int = WRITERS,
        database: str | None = None,
    ) -> None:
        """A server for each directory; several directories need the URL of their database."""
        self.directories = directories
        self.figures = Figures()
        self._random = random.Random(seed)
        self._say = say
        self._writers = writers
        self._environment = (
            {"CATALOG_DATABASE_URL": database, "CATALOG_JWT_SECRET": SECRET} if database else {}
        )
        self._log = address_in(directories[0], database)
        self._headers: dict[str, str] = {}
        self._pending: list[Write] = []
        self._done: list[Write] = []
        self._checked = 0

    def run(self, rounds: int, *, verify_every: int = 1) -> Figures:
        """So many lives of the servers, each checked after their death."""
        for number in range(rounds):
            self._live_and_die(number)
            self._check_log()
            if number % verify_every == 0 or number == rounds - 1:
                self._verify()
            self.figures.rounds += 1
            if (number + 1) % 50 == 0:
                self._say(f"round {number + 1}: {self.figures}")
        return self.figures

    def _live_and_die(self, number: int) -> None:
        with ExitStack() as stack:
            hosts = [stack.enter_context(self._living(each)) for each in self.directories]
            if not self._headers:  # the first server makes the secret
                token = admin_token(self.directories[0], **self._environment)
                self._headers = {"Authorization": f"Bearer {token}"}
            for host in hosts:
                self._await(host.address)
                if number:  # the first start may build read models from an import
                    seconds = time.monotonic() - host.began
                    self.figures.slowest_start = max(self.figures.slowest_start, seconds)
            threads = self._start_load([host.address for host in hosts], number)
            if number == 0:  # so that few lives too have something to lose, on any machine
                until(lambda: self.figures.acknowledged > self._writers)
            time.sleep(self._random.uniform(*_LIFE_SECONDS))
            for place in self._random.sample(range(len(hosts)), len(hosts)):
                hosts[place].process.send_signal(signal.SIGKILL)
                hosts[place].process.wait(300)
                self.figures.kills += 1
                if len(hosts) > 1:
                    time.sleep(self._random.uniform(*_GAP_SECONDS))
            for thread in threads:
                thread.join(300)

    @contextmanager
    def _living(self, directory: Path) -> Iterator[Host]:
        """A server that has begun to listen; it ends with the block."""
        began = time.monotonic()
        with open(os.devnull, "w") as nobody:
            process = forked.serve(directory, err=nobody, **self._environment)
        assert process.stdout is not None
        try:
            with process.stdout:
                said = process.stdout.readline()
                address = re.search(r"http://\S+(?=,)", said)
                assert address is not None, said
                yield Host(process, address[0], began)
        finally:
            process.kill()
            process.wait(300)

    def _await(self, address: str) -> None:
        with self._asking(address) as http:

            def is_ready() -> bool:
                with suppress(httpx.TransportError):
                    return http.get("/readyz").status_code == 200
                return False

            until(is_ready)

    def _asking(self, address: str) -> httpx.Client:
        return httpx.Client(
            base_url=address, headers=self._headers, timeout=300, verify=NO_AUTHORITIES
        )

    def _start_load(self, addresses: Sequence[str], number: int) -> list[threading.Thread]:
        with self._asking(addresses[0]) as http:
            if number == 0:
                self._make_schema(http)
            pending, self._pending = self._pending, []
            for write in pending:
                self.figures.repeated += 1
                self._send([http], write)
        targets = [
            *(
                (self._write, (addresses, self._random.random(), f"r{number}w{place}"))
                for place in range(self._writers)
            ),
            *((self._read, (address, self._random.random())) for address in addresses),
        ]
        threads = [threading.Thread(target=target, args=given) for target, given in targets]
        for thread in threads:
            thread.start()
        return threads

    def _make_schema(self, http: httpx.Client) -> None:
        for path, body in (
            ("/v1/services/databaseServices", {"name": "crash", "serviceType": "Mysql"}),
            ("/v1/databases", {"name": "db", "service": "crash"}),
            ("/v1/databaseSchemas", {"name": "public", "database": "crash.db"}),
        ):
            assert http.put(path, json=body).status_code in (200, 201)

    def _write(self, addresses: Sequence[str], seed: float, prefix: str) -> None:
        """Create, change, delete and restore until the servers are gone."""
        chance = random.Random(seed)
        with ExitStack() as stack:
            hosts = [stack.enter_context(self._asking(address)) for address in addresses]

            def send(write: Write) -> Any:
                chance.shuffle(hosts)
                return self._send(hosts, write)

            number = 0
            while True:
                number += 1
                columns = [{"name": "id", "dataType": "INT"}]
                body = {"name": f"{prefix}n{number}", "databaseSchema": SCHEMA, "columns": columns}
                creation = _write("POST", "/v1/tables", body)
                table = send(creation)
                if table is None:
                    return
                if chance.random() < _READ_AGAIN:
                    self._look(chance.choice(hosts), table["id"], creation.position)
                if chance.random() < 0.5:
                    if not self._contract(send, table, chance):
                        return
                    continue
                for write in _life(table, chance):
                    if send(write) is None:
                        return

    def _look(self, http: httpx.Client, table_id: str, position: str) -> None:
        """Read what was created a moment ago, perhaps on another host."""
        headers = {"X-Catalog-Position": position}
        with suppress(httpx.TransportError, RuntimeError):
            answer = http.get(f"/v1/tables/{table_id}", headers=headers)
            if answer.status_code == 404:
                self.figures.unseen += 1
                self._say(f"unseen: {table_id} at {position}")

    def _contract(self, send: Callable[[Write], Any], table: Any, chance: random.Random) -> bool:
        body = {
            "name": f"{table['name']}_contract",
            "entity": {"id": table["id"], "type": "table"},
            "entityStatus": "Draft",
        }
        contract = send(_write("POST", "/v1/dataContracts", body))
        if contract is None:
            return False
        # Changed and moved on at once: two events that must both be there, or neither.
        patch = [
            {"op": "add", "path": "/description", "value": f"agreed {chance.random()}"},
            {"op": "replace", "path": "/entityStatus", "value": "Active"},
        ]
        path = f"/v1/dataContracts/{contract['id']}"
        return send(_write("PATCH", path, patch, events=2)) is not None

    def _send(self, hosts: Sequence[httpx.Client], write: Write) -> Any:
        """The answer's body, of the first host that gives one; None when none of them lives."""
        headers = {"X-Request-Id": write.request_id, "Idempotency-Key": write.request_id}
        if write.method == "PATCH":
            headers["Content-Type"] = "application/json-patch+json"
        content = None if write.body is None else json.dumps(write.body).encode()
        if content is not None and write.method != "PATCH":
            headers["Content-Type"] = "application/json"
        for tried, http in enumerate(hosts):
            self.figures.repeated += bool(tried)
            try:
                answer = http.request(write.method, write.path, content=content, headers=headers)
            except (httpx.TransportError, RuntimeError):
                continue
            return self._answered(write, answer)
        self._pending.append(write)
        return None

    def _answered(self, write: Write, answer: httpx.Response) -> Any:
        """Note what a write came to; returns the body of the answer."""
        if answer.status_code >= 400:
            self.figures.failed_requests += 1
            self._say(f"{write.method} {write.path}: {answer.status_code} {answer.text[:300]}")
        else:
            write.answered = True
            write.position = answer.headers["X-Catalog-Position"]
            self.figures.acknowledged += 1
        self._done.append(write)
        return answer.json() if answer.content else {}

    def _read(self, address: str, seed: float) -> None:
        chance = random.Random(seed)
        paths = ("/v1/tables?limit=50", "/v1/dataContracts?status=Active", "/v1/search/query?q=r*")
        with self._asking(address) as http:
            while True:
                try:
                    answer = http.get(chance.choice(paths))
                except (httpx.TransportError, RuntimeError):
                    return
                if answer.status_code != 200:
                    self.figures.failed_requests += 1
                    self._say(f"{answer.url}: {answer.status_code} {answer.text[:300]}")

    def _check_log(self) -> None:
        """Every answered write is there once and whole, every other one whole or not at all."""
        found: defaultdict[str, list[RecordedEvent]] = defaultdict(list)
        log = open_event_log(self._log)
        try:
            after = self._checked
            while batch := log.read(after, 10_000):
                after = batch[-1].position
                for recorded in batch:
                    found[recorded.event.request_id].append(recorded)
        finally:
            log.close()
        # A write without an answer may be stored, and is then only repeated in the next life.
        waiting = {write.request_id for write in self._pending}
        for write in self._done:
            events = found.pop(write.request_id, [])
            if write.answered and not events:
                self._report("lost", write)
            elif len(events) > write.events:
                self._report("doubled", write)
            elif write.answered and len(events) < write.events:
                self._report("halved", write)
        for write in self._pending:
            if len(found.get(write.request_id, ())) not in (0, write.events):
                self._report("halved", write)
        self._done.clear()
        if not waiting:
            self._checked = after

    def _report(self, what: str, write: Write) -> None:
        setattr(self.figures, what, getattr(self.figures, what) + 1)
        self._say(f"{what}: {write}")

    def _verify(self) -> None:
        for directory in self.directories:
            verified = replay("verify", f"--data={directory}", **self._environment)
            if verified.returncode != 0:
                self.figures.unclean += 1
                self._say(f"verify: {verified.returncode} {verified.stdout} {verified.stderr}")


def _write(method: str, path: str, body: Any = None, *, events: int = 1) -> Write:
    request_id = str(uuid.uuid4())
    return Write(method=method, path=path, body=body, events=events, request_id=request_id)


def _life(table: Any, chance: random.Random) -> list[Write]:
    """Return the writes to a table after its creation."""
    path = f"/v1/tables/{table['id']}"
    patch = [{"op": "add", "path": "/description", "value": f"described {chance.random()}"}]
    lives = (
        [_write("PATCH", path, patch)],
        [_write("DELETE", path)],
        [_write("DELETE", path), _write("PUT", "/v1/tables/restore", {"id": table["id"]})],
        [_write("PATCH", path, patch), _write("DELETE", f"{path}?hardDelete=true")],
    )
    return chance.choice(lives)


@contextmanager
def _database(given: str | None, hosts: int) -> Iterator[str | None]:
    """The URL of a database for several hosts, in a server that ends with the block if need be."""
    if given or hosts == 1:
        yield given
        return
    binaries = find_binaries()
    assert binaries is not None, "there is no server to start: name a database"
    with running(binaries) as server:
        yield server.url(new_schema())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--writers", type=int, default=WRITERS)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--database", help="URL of a database for the log")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--lines", type=Path, help="a catalog to begin with, as JSON lines")
    parser.add_argument("--verify-every", type=int, default=1)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    with tempfile.TemporaryDirectory() as directory, _database(given.database, given.hosts) as url:
        directories = [Path(directory, f"host-{number}") for number in range(given.hosts)]
        if given.lines is not None:
            known = {"CATALOG_DATABASE_URL": url} if url else {}
            catalog("import", f"--data={directories[0]}", str(given.lines), **known)
        harness = Harness(directories, given.seed, writers=given.writers, database=url)
        figures = harness.run(given.rounds, verify_every=given.verify_every)
    print(figures)
    wrong = (figures.lost, figures.doubled, figures.halved, figures.unseen, figures.unclean)
    sys.exit(any(wrong))


if __name__ == "__main__":
    main()
