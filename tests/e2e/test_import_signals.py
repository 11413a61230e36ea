"""An import that is stopped or killed leaves whole transactions and no process, and can go on."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.opening import address_in, holds_log, open_event_log
from tests.depth import first_alone
from tests.e2e.conftest import catalog
from tests.waiting import until

COUNT = 20_000
"""Lines, which take an import seconds after the first of them is stored."""


def lines() -> Iterator[bytes]:
    """Services, each with a database, which names it by its qualified name."""
    for number in range(COUNT // 2):
        service = {"entityType": "databaseService", "name": f"s{number}", "serviceType": "Mysql"}
        database = {"entityType": "database", "name": "d", "service": f"s{number}"}
        yield json.dumps(service | {"description": "x" * 500}).encode() + b"\n"
        yield json.dumps(database).encode() + b"\n"


def head(directory: Path) -> int:
    """Position of the newest event; 0 while the log is being made."""
    if not holds_log(directory):
        return 0
    try:
        with closing(open_event_log(address_in(directory), writable=False)) as log:
            return log.head()
    except StoreUnavailable:
        return 0


def has_children(process: int) -> bool:
    """True if a process has started others, as an import does before it opens its first file."""
    return bool(Path(f"/proc/{process}/task/{process}/children").read_text())


def is_gone(group: int) -> bool:
    """True if no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", first_alone(signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
def test_import_that_is_ended_by_a_signal_goes_on_when_it_is_run_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    file, data = tmp_path / "lines.jsonl", tmp_path / "d"
    with file.open("wb") as opened:
        opened.writelines(lines())
    process = subprocess.Popen(
        [sys.executable, "-m", "api.commands", "import", str(file), "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    until(lambda: head(data) > 0, every=0.001)
    # Ctrl-C reaches the whole group, the other signals the one process that is meant.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    said, errors = process.communicate(timeout=60)
    until(lambda: is_gone(process.pid))
    stored = head(data)
    again = catalog("import", str(file), "--data", str(data))

    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert b"Traceback" not in errors
    if number == signal.SIGINT:
        created = re.search(rb"lines: (\d+) created", said)
        assert created is not None, said
        # What was being synced is stored and not counted.
        assert int(created[1]) <= stored
    # Transactions are of a thousand lines each, and every line stores one event.
    assert stored % 1_000 == 0
    left = f"{COUNT} lines: {COUNT - stored} created, 0 changed, {stored} unchanged, 0 bad"
    assert again.stdout.startswith(left)
    assert head(data) == COUNT


@pytest.mark.parametrize("sent", first_alone(20_000, 0, None))
def test_interrupt_ends_an_import_that_waits_for_a_pipe(tmp_path: Path, sent: int | None) -> None:
    """Nobody has opened the pipe, or somebody wrote lines to it and does not go on."""
    pipe, data = tmp_path / "lines.jsonl", tmp_path / "d"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "api.commands", "import", str(pipe), "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    with pipe.open("wb") if sent is not None else nullcontext() as writing:
        if writing is not None:
            writing.writelines(islice(lines(), sent))
            writing.flush()
        until(lambda: head(data) > 0 if sent else has_children(process.pid))
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    # Lines about the progress come before, where the machine is slow.
    assert (process.returncode, errors.splitlines()[-1][:9]) == (130, b"stopped: ")
    until(lambda: is_gone(process.pid))
