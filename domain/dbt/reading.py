"""Reads artifacts of dbt in a process with bounds of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

import msgspec

from domain.dbt.manifest import Header, Model
from domain.dbt.reader_process import LAST_LINE, Refusal
from domain.dbt.run_results import NodeResult, Run
from domain.errors import InvalidInput
from domain.machine.modules import command_of, environment

WAITS = 120.0
"""Seconds for which the process is waited for, which has less of the processor."""
_PROCESS = "domain.dbt.reader_process"

decode_model = msgspec.json.Decoder(Model).decode
"""Decodes a line of `read_manifest`."""
_decode_header = msgspec.json.Decoder(Header).decode
_decode_run = msgspec.json.Decoder(Run).decode
_decode_result = msgspec.json.Decoder(NodeResult).decode


def read_manifest(data: bytes) -> tuple[Header, Iterator[bytes]]:
    """The header of a manifest, and a line for each model; see `manifest.read_manifest`.

    The manifest may be packed by gzip. Raises InvalidInput also for one that is too large, or takes
    more than its process may have.
    """
    output = _output("manifest", data)
    return _decode_header(output.readline()), _lines(output)


def read_run(data: bytes) -> tuple[Run, dict[str, str]]:
    """A run of dbt, and unique id -> status of its nodes; raises as `read_manifest` does."""
    output = _output("results", data)
    run = _decode_run(output.readline())
    results = map(_decode_result, _lines(output))
    return run, {each.unique_id: each.status for each in results}


def _lines(output: BytesIO) -> Iterator[bytes]:
    return iter(output.readline, LAST_LINE)


def _output(kind: str, data: bytes) -> BytesIO:
    """All that the process has to tell of an artifact."""
    with subprocess.Popen(
        [*command_of(_PROCESS), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        try:
            output, _ = process.communicate(data, timeout=WAITS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
    if not output.endswith(LAST_LINE):
        last = output[output.rstrip().rfind(b"\n") + 1 :]
        with suppress(msgspec.DecodeError):
            raise InvalidInput(msgspec.json.decode(last, type=Refusal).error)
        raise InvalidInput("the artifact of dbt takes too much time or memory to read")
    return BytesIO(output)
