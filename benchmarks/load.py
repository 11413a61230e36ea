"""Sends one request again and again over kept connections, with wrk where it is installed."""

import asyncio
import itertools
import math
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.running import Server

CONNECTIONS = 16
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Load(msgspec.Struct, frozen=True):
    """Work that a server did under load."""

    rate: float
    """Requests a second."""
    p50: float
    """Milliseconds."""
    p99: float


def load(server: Server, paths: Sequence[str], duration: int) -> Load:
    """Ask for the paths, one after the other and again, for some seconds; all must be a 200."""
    if shutil.which("wrk"):
        return _wrk(server, paths, duration)
    return asyncio.run(_own(server, paths, duration))


_SCRIPT = """
local paths, place = {}, 0
for line in io.lines("%s") do paths[#paths + 1] = line end
request = function()
  place = place %% #paths + 1
  return wrk.format("GET", paths[place])
end
"""


def _wrk(server: Server, paths: Sequence[str], duration: int) -> Load:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{duration}s", "--latency"]
    command += ["-H", f"Authorization: Bearer {server.token}"]
    address = f"http://{server.host}:{server.port}"
    with tempfile.TemporaryDirectory() as directory:
        if len(paths) > 1:
            listed, script = Path(directory) / "paths", Path(directory) / "paths.lua"
            listed.write_text("\n".join(paths))
            script.write_text(_SCRIPT % listed)
            command += ["-s", str(script), address]
        else:
            command.append(address + paths[0])
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    assert "Socket errors" not in said, said
    rate = re.search(r"Requests/sec: +([\d.]+)", said)
    assert rate is not None, said
    return Load(float(rate[1]), _percentile(said, 50), _percentile(said, 99))


def _percentile(said: str, percent: int) -> float:
    found = re.search(rf" {percent}% +([\d.]+)(us|ms|s)", said)
    assert found is not None, said
    return float(found[1]) * _UNITS[found[2]]


async def _own(server: Server, paths: Sequence[str], duration: int) -> Load:
    until = time.perf_counter() + duration
    endless = itertools.cycle(paths)
    clients = [client(server, endless, until) for _ in range(CONNECTIONS)]
    taken = sorted(each for client in await asyncio.gather(*clients) for each in client)
    at = [math.ceil(share * len(taken)) - 1 for share in (0.5, 0.99)]
    return Load(len(taken) / duration, *(taken[place] * 1e3 for place in at))


async def client(server: Server, paths: Iterable[str], until: float) -> list[float]:
    """Seconds taken by each GET of one connection, path after path until the time is up."""
    return await send(server, map(server.request, paths), until)


async def send(server: Server, requests: Iterable[bytes], until: float) -> list[float]:
    """Seconds taken by each request of one connection, one after the other until the time is up.

    There is one at least, however long the connection takes to be made.
    """
    reader, writer = await asyncio.open_connection(server.host, server.port)
    taken: list[float] = []
    for request in requests:
        if (start := time.perf_counter()) >= until and taken:
            break
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")), head
        assert length is not None, head
        await reader.readexactly(int(length[1]))
        taken.append(time.perf_counter() - start)
    writer.close()
    await writer.wait_closed()
    return taken
