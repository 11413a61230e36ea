"""The calls that OpenMetadata's Python client is documented with."""

import subprocess
from pathlib import Path

import msgspec

from tests.e2e.conftest import admin_token
from tests.e2e.openmetadata.conftest import COMMAND, catalog_for_connectors, needs_metadata

CALLS = Path(__file__).with_name("client_calls.py")


@needs_metadata
def test_client_makes_its_documented_calls(tmp_path: Path) -> None:
    python = Path(COMMAND).with_name("python")
    with catalog_for_connectors(tmp_path) as catalog:
        done = subprocess.run(
            [python, CALLS, catalog.host_port, admin_token(tmp_path)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        # The client logs to standard output too.
        outcome = msgspec.json.decode(done.stdout.splitlines()[-1])
        assert outcome["failed"] == {}
        assert outcome["made"] >= 60
        catalog.verify()
