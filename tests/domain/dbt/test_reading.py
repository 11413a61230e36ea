"""Artifacts read in a process of their own."""

import gzip
import json
from typing import Any

import msgspec
import pytest

from domain.dbt import manifest
from domain.dbt.reader_process import LAST_LINE, MOST_PART, MOST_PARTS, lines, unpacked
from domain.dbt.reading import decode_model, read_manifest, read_run
from domain.errors import InvalidInput
from tests.domain.dbt.recorded import artifact, packed


def with_descriptions(count: int, size: int) -> bytes:
    """A manifest of models with long descriptions."""
    found = artifact("manifest")
    model = {**found["nodes"]["model.shop.notes"], "contract": {"enforced": True}}
    nodes = {f"model.shop.m{n}": {**model, "description": "x" * size} for n in range(count)}
    return packed({"nodes": nodes})


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_process_tells_the_same_as_the_reader(pack: Any) -> None:
    data = packed(artifact("manifest"))

    header, found = read_manifest(pack(data))

    assert header.project == "shop"
    assert [decode_model(line) for line in found] == [*manifest.read_manifest(data)[1]]


def test_run_is_read_with_the_status_of_each_node() -> None:
    run, statuses = read_run(packed(artifact("failed_build")))

    assert run.invocation == artifact("failed_build")["metadata"]["invocation_id"]
    assert statuses["model.shop.orders.v2"] == "error"
    assert sorted({*statuses.values()}) == ["error", "pass", "skipped", "success"]


def test_manifest_that_nests_too_deep_is_refused() -> None:
    data = b'{"nodes": {"model.shop.a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    with pytest.raises(InvalidInput, match="this is no manifest"):
        read_manifest(data)


def test_column_inside_a_thousand_others_is_refused() -> None:
    found = artifact("manifest")
    model = {**found["nodes"]["model.shop.notes"], "contract": {"enforced": True}}
    names = [".".join("a" * depth) for depth in range(1, 1_500)]
    model["columns"] = {name: {"name": name} for name in names}

    with pytest.raises(InvalidInput, match="nests too deep"):
        read_manifest(packed({"nodes": {"model.shop.notes": model}}))


def test_process_that_takes_too_much_memory_ends() -> None:
    # Each of the small objects takes many times its bytes once it is decoded.
    data = b'{"metadata": {"a": [' + b"{}," * 15_000_000 + b'{}]}, "nodes": {}}'

    with pytest.raises(InvalidInput, match="takes too much time or memory"):
        read_manifest(gzip.compress(data, 1))


def test_archive_that_breaks_off_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        unpacked(gzip.compress(packed(artifact("manifest")))[:-100])


@pytest.mark.parametrize(
    ("count", "size", "message"),
    [
        (1, MOST_PART, f"has more than {MOST_PART} bytes"),
        (MOST_PARTS // 3_000_000 + 1, 3_000_000, f"may have {MOST_PARTS} bytes"),
    ],
)
def test_more_than_is_told_is_refused(count: int, size: int, message: str) -> None:
    told = [*lines("manifest", with_descriptions(count, size))]

    assert message in msgspec.json.decode(told[-1])["error"]
    assert LAST_LINE not in told
    assert json.loads(told[0]) == {"project": "", "invocation": None}
