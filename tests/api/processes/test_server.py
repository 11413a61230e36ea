"""Preparations of a serving process."""

import platform
import re
import subprocess
import sys

import pytest

ALLOCATE = """
import ctypes, os, sys, threading

if sys.argv[1] == "shared":
    from api.processes.server import share_memory
    share_memory()
together = threading.Barrier(8)

def allocate():
    together.wait()
    kept = [bytes(1_000) for _ in range(1_000)]
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
"""


def arenas(how: str) -> int:
    """Arenas that eight threads allocated from."""
    command = [sys.executable, "-c", ALLOCATE, how]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout
    return len(re.findall("<heap nr=", output))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_share_two_arenas() -> None:
    assert arenas("default") > 2
    assert arenas("shared") <= 2


DECODE = """
import gc, json
from api.processes.server import collect_rarely
from domain.patches.json_input import decode

text = json.dumps([{"name": f"c{n}", "tags": [{"tagFQN": "a.b"}]} for n in range(5_000)]).encode()
collected = []
gc.callbacks.append(
    lambda phase, about: phase == "start" and collected.append(about["generation"])
)

def decode_wide_texts():
    collected.clear()
    for _ in range(60):
        decode(text, list, "the body")
    return collected.count(2)

by_default = decode_wide_texts()
collect_rarely()
print(by_default, decode_wide_texts())
"""


def test_wide_texts_cause_no_collection_of_everything() -> None:
    command = [sys.executable, "-c", DECODE]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout
    by_default, rarely = map(int, output.split())

    assert by_default > 0
    assert rarely == 0


FREE = """
import sys
from pathlib import Path

if sys.argv[1] == "shared":
    from api.processes.server import share_memory
    share_memory()

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

before = resident()
texts, between = [bytes(b"x" * 8_000_000)], []
texts.clear()  # from now on glibc takes such memory from its heap by default
for _ in range(20):
    texts.append(b"x" * 8_000_000)
    between.append(bytes(200_000))
texts.clear()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_memory_of_large_texts_is_given_back() -> None:
    def kept(how: str) -> int:
        command = [sys.executable, "-c", FREE, how]
        return int(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)

    assert kept("default") > 100_000_000
    assert kept("shared") < 20_000_000
