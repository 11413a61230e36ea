"""Link that `catalog serve` prints on a terminal: it signs in once."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.e2e.conftest import NO_AUTHORITIES
from tests.waiting import until


def test_serve_on_a_terminal_prints_a_link_that_signs_in_once(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "api.commands", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data", str(tmp_path)], stdout=end, stderr=end, stdin=subprocess.DEVNULL
    )
    os.close(end)
    try:
        said = b""

        def is_told() -> bool:
            nonlocal said
            said += os.read(terminal, 65_536)
            return re.search(rb"/sign-in\?once=[\w-]+\r?\n", said) is not None

        until(is_told)
        found = re.search(rb"http://\S+/sign-in\?once=[\w-]+", said)
        assert found is not None
        link = found[0].decode()
        first, second = (httpx.get(link, verify=NO_AUTHORITIES) for _ in range(2))
    finally:
        process.terminate()
        process.wait()
        os.close(terminal)

    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert second.status_code == 403
