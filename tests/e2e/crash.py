"""A server under mixed load, killed at random moments, and what must hold after each kill.

`python -m tests.e2e.crash --rounds 1000` runs it for longer than the tests do.
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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec

from domain.event_store.opening import open_event_log
from domain.event_store.port import RecordedEvent
from tests.e2e import forked
from tests.e2e.conftest import NO_AUTHORITIES, catalog, replay
from tests.waiting import until

WRITERS = 32
SCHEMA = "crash.db.public"
_LIFE_SECONDS = (0.05, 0.6)
"""How long a server is under load before it is killed."""


class Write(msgspec.Struct, kw_only=True):
    """One request that changes something."""

    method: str
    path: str
    body: Any
    events: int
    """How many events it stores, when it stores any."""
    request_id: str
    answered: bool = False


class Figures(msgspec.Struct):
    """What the rounds came to."""

    rounds: int = 0
    kills: int = 0
    acknowledged: int = 0
    repeated: int = 0
    """Writes without an answer that were sent again after the restart."""
    lost: int = 0
    doubled: int = 0
    halved: int = 0
    failed_requests: int = 0
    slowest_start: float = 0.0
    """Seconds from the start of a process after a kill until it is ready."""
    unclean: int = 0
    """Rounds after which `verify` found a difference."""


class Harness:
    """A data directory, and the servers that live and die over it."""

    def __init__(
        self,
        directory: Path,
        seed: int,
        say: Callable[[str], None] = print,
        *,
        writers: int = WRITERS,
    ) -> None:
        self.directory = directory
        self.figures = Figures()
        self._random = random.Random(seed)
        self._say = say
        self._writers = writers
        self._headers: dict[str, str] = {}
        self._pending: list[Write] = []
        self._done: list[Write] = []
        self._checked = 0

    def run(self, rounds: int, *, verify_every: int = 1) -> Figures:
        """So many lives of a server, each checked after its death."""
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
        data = f"--data={self.directory}"
        began = time.monotonic()
        with open(os.devnull, "w") as nobody:
            process = forked.serve(self.directory, err=nobody)
        assert process.stdout is not None
        with process.stdout:
            said = process.stdout.readline()
            address = re.search(r"http://\S+(?=,)", said)
            assert address is not None, said
            if not self._headers:  # the first server makes the secret
                token = catalog("token", "--subject=crash", "--role=admin", data)
                self._headers = {"Authorization": f"Bearer {token.stdout.strip()}"}
            self._await(address[0])
            if number:  # the first start may build read models from an import
                seconds = time.monotonic() - began
                self.figures.slowest_start = max(self.figures.slowest_start, seconds)
            threads = self._start_load(address[0], number)
            time.sleep(self._random.uniform(*_LIFE_SECONDS))
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            self.figures.kills += 1
            for thread in threads:
                thread.join(30)

    def _await(self, address: str) -> None:
        with httpx.Client(base_url=address, verify=NO_AUTHORITIES) as http:

            def is_ready() -> bool:
                with suppress(httpx.TransportError):
                    return http.get("/readyz").status_code == 200
                return False

            until(is_ready)

    def _start_load(self, address: str, number: int) -> list[threading.Thread]:
        with httpx.Client(
            base_url=address, headers=self._headers, timeout=30, verify=NO_AUTHORITIES
        ) as http:
            if number == 0:
                self._make_schema(http)
            pending, self._pending = self._pending, []
            for write in pending:
                self.figures.repeated += 1
                self._send(http, write)
        seeds = [self._random.random() for _ in range(self._writers + 1)]
        targets = [
            *(
                (self._write, (address, seeds[place], f"r{number}w{place}"))
                for place in range(self._writers)
            ),
            (self._read, (address, seeds[-1])),
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

    def _write(self, address: str, seed: float, prefix: str) -> None:
        """Create, change, delete and restore until the server is gone."""
        chance = random.Random(seed)
        with httpx.Client(
            base_url=address, headers=self._headers, timeout=30, verify=NO_AUTHORITIES
        ) as http:
            number = 0
            while True:
                number += 1
                columns = [{"name": "id", "dataType": "INT"}]
                body = {"name": f"{prefix}n{number}", "databaseSchema": SCHEMA, "columns": columns}
                table = self._send(http, _write("POST", "/v1/tables", body))
                if table is None:
                    return
                if chance.random() < 0.5:
                    if not self._contract(http, table, chance):
                        return
                    continue
                for write in _life(table, chance):
                    if self._send(http, write) is None:
                        return

    def _contract(self, http: httpx.Client, table: Any, chance: random.Random) -> bool:
        body = {
            "name": f"{table['name']}_contract",
            "entity": {"id": table["id"], "type": "table"},
            "entityStatus": "Draft",
        }
        contract = self._send(http, _write("POST", "/v1/dataContracts", body))
        if contract is None:
            return False
        # Changed and moved on at once: two events that must both be there, or neither.
        patch = [
            {"op": "add", "path": "/description", "value": f"agreed {chance.random()}"},
            {"op": "replace", "path": "/entityStatus", "value": "Active"},
        ]
        path = f"/v1/dataContracts/{contract['id']}"
        return self._send(http, _write("PATCH", path, patch, events=2)) is not None

    def _send(self, http: httpx.Client, write: Write) -> Any:
        """The answer's body; None when there is no answer any more."""
        headers = {"X-Request-Id": write.request_id, "Idempotency-Key": write.request_id}
        if write.method == "PATCH":
            headers["Content-Type"] = "application/json-patch+json"
        content = None if write.body is None else json.dumps(write.body).encode()
        if content is not None and write.method != "PATCH":
            headers["Content-Type"] = "application/json"
        try:
            answer = http.request(write.method, write.path, content=content, headers=headers)
        except (httpx.TransportError, RuntimeError):
            self._pending.append(write)
            return None
        if answer.status_code >= 400:
            self.figures.failed_requests += 1
            self._say(f"{write.method} {write.path}: {answer.status_code} {answer.text[:300]}")
        else:
            write.answered = True
            self.figures.acknowledged += 1
        self._done.append(write)
        return answer.json() if answer.content else {}

    def _read(self, address: str, seed: float) -> None:
        chance = random.Random(seed)
        paths = ("/v1/tables?limit=50", "/v1/dataContracts?status=Active", "/v1/search/query?q=r*")
        with httpx.Client(
            base_url=address, headers=self._headers, timeout=30, verify=NO_AUTHORITIES
        ) as http:
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
        log = open_event_log(self.directory / "events.db")
        try:
            after = 0
            while batch := log.read(after, 10_000):
                after = batch[-1].position
                for recorded in batch:
                    if recorded.position > self._checked:
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
        verified = replay("verify", f"--data={self.directory}")
        if verified.returncode != 0:
            self.figures.unclean += 1
            self._say(f"verify: {verified.returncode} {verified.stdout} {verified.stderr}")


def _write(method: str, path: str, body: Any = None, *, events: int = 1) -> Write:
    request_id = str(uuid.uuid4())
    return Write(method=method, path=path, body=body, events=events, request_id=request_id)


def _life(table: Any, chance: random.Random) -> list[Write]:
    """What happens to a table after its creation."""
    path = f"/v1/tables/{table['id']}"
    patch = [{"op": "add", "path": "/description", "value": f"described {chance.random()}"}]
    lives = (
        [_write("PATCH", path, patch)],
        [_write("DELETE", path)],
        [_write("DELETE", path), _write("PUT", "/v1/tables/restore", {"id": table["id"]})],
        [_write("PATCH", path, patch), _write("DELETE", f"{path}?hardDelete=true")],
    )
    return chance.choice(lives)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--writers", type=int, default=WRITERS)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--lines", type=Path, help="a catalog to begin with, as JSON lines")
    parser.add_argument("--verify-every", type=int, default=1)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    with tempfile.TemporaryDirectory() as directory:
        if given.lines is not None:
            catalog("import", f"--data={directory}", str(given.lines))
        harness = Harness(Path(directory), given.seed, writers=given.writers)
        figures = harness.run(given.rounds, verify_every=given.verify_every)
    print(figures)
    sys.exit(any((figures.lost, figures.doubled, figures.halved, figures.unclean)))


if __name__ == "__main__":
    main()
