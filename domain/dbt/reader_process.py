"""Reads an artifact of dbt for another process, within a time and an amount of memory.

A manifest is many times as large as its contracts, and decoding it would hold the interpreter of a
server for a second. So a process reads it, with bounds of its own.

The argument of the command is the kind of artifact, which comes on standard input, as JSON or
packed by gzip. To standard output go lines of JSON: the header, each part, and `true` at the end;
or an object with an `error` at the end.
"""

import gzip
import os
import resource
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import msgspec

from domain.dbt.manifest import read_manifest
from domain.dbt.run_results import read_run
from domain.errors import InvalidInput, shown

MOST_BYTES = 100_000_000
"""Bytes of an artifact, unpacked."""
SECONDS = 30
"""Processor time of the process."""
MEMORY = 768 * 1024 * 1024
"""Bytes of address space, those of the interpreter included."""
MOST_PART, MOST_PARTS = 4_000_000, 64_000_000
"""Bytes of a line, as of a document, and of all lines together."""
LAST_LINE = b"true\n"
"""The line that says that all was read."""
_GZIP_MAGIC = b"\x1f\x8b"

READERS: dict[str, Callable[[bytes], tuple[Any, Iterator[Any]]]] = {
    "manifest": read_manifest,
    "results": read_run,
}
"""Kind of artifact -> what reads it."""


class Refusal(msgspec.Struct, forbid_unknown_fields=True):
    """The reason why an artifact is not read."""

    error: str


def unpacked(data: bytes) -> bytes:
    """The artifact as JSON; raises InvalidInput when it is too large, or breaks off."""
    if data.startswith(_GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                data = packed.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"the artifact cannot be unpacked: {error}") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"an artifact of dbt may have {MOST_BYTES} bytes, unpacked")
    return data


def lines(kind: str, data: bytes) -> Iterator[bytes]:
    """The lines that tell of an artifact; a Refusal is the last line where it cannot be read."""
    size = 0
    try:
        header, parts = READERS[kind](unpacked(data))
        yield msgspec.json.encode(header) + b"\n"
        for part in parts:
            line = msgspec.json.encode(part) + b"\n"
            size += len(line)
            if len(line) > MOST_PART:
                name = shown(part.unique_id)
                raise InvalidInput(f"what {name} promises has more than {MOST_PART} bytes")
            if size > MOST_PARTS:
                raise InvalidInput(
                    f"the contracts or results of an artifact may have {MOST_PARTS} bytes"
                )
            yield line
        yield LAST_LINE
    except InvalidInput as error:
        yield _refusal(error.message)
    except RecursionError:
        yield _refusal("the artifact of dbt nests too deep")


def _refusal(why: str) -> bytes:
    return msgspec.json.encode(Refusal(why)) + b"\n"


def main() -> None:
    """Answer what stands on standard input, or end at the bounds."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    for line in lines(sys.argv[1], sys.stdin.buffer.read(MOST_BYTES + 1)):
        sys.stdout.buffer.write(line)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
