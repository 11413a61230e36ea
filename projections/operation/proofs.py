"""The last proof of the log and of each read model of a data directory, for all who ask.

Each part has a file of its own, so that commands and operations of the server can end at the same
time.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from domain.event_store.port import EventStore
from domain.machine import clock
from projections.generations.current_generation import CurrentGeneration
from projections.verification.report import LogProof, ProjectionProof, Verdict, Verification
from projections.verification.run import Progress, Request, Source, verify

LOG = "log"
"""Name of the log among the names of the read models."""


class Proof(msgspec.Struct, frozen=True):
    """The result of the last verification of the log, or of a read model."""

    verdict: Verdict
    position: int
    compared: int
    """Number of compared events of the log, or entities of a read model."""
    found: int
    """Number of problems of the log, or differences of the read model."""
    reason: str | None
    """The reason why nothing could be compared; None otherwise."""
    generation: int | None
    """Number of the compared generation; None for the log, and for an unread model."""
    at: int
    """Milliseconds since the Unix epoch."""
    seconds: float
    """Seconds that the verification took, including the building of a new generation."""
    by: str


def read_proofs(directory: Path) -> dict[str, Proof]:
    """`log` or name of a read model -> its last proof; what cannot be read is left out."""
    proofs = {}
    for path in directory.glob("proof-*.json"):
        try:
            proof = msgspec.json.decode(path.read_bytes(), type=Proof)
        except (OSError, msgspec.DecodeError):
            continue
        proofs[path.stem.removeprefix("proof-")] = proof
    return proofs


def keep_proof(directory: Path, name: str, proof: Proof) -> None:
    """Put a proof in the place of the last one. Raises OSError."""
    fresh = directory / f"proof-{name}.{os.getpid()}.new"
    fresh.write_bytes(msgspec.json.encode(proof))
    fresh.replace(directory / f"proof-{name}.json")


def proof_of(
    compared: ProjectionProof | LogProof, seconds: float, by: str, generation: int | None = None
) -> Proof:
    """The proof of a comparison that ends now and took some seconds.

    `generation` is the number of the generation of a read model that was compared.
    """
    if isinstance(compared, LogProof):
        position, number, differences, reason = compared.head, compared.events, compared.found, None
    else:
        position, number, reason = compared.position, compared.entities, compared.reason
        differences = sum(compared.found.values())
    return Proof(
        verdict=compared.verdict,
        position=position,
        compared=number,
        found=differences,
        reason=reason,
        generation=generation,
        at=clock.now(),
        seconds=round(seconds, 3),
        by=by,
    )


def verify_live(
    log: EventStore,
    read_models: Iterable[CurrentGeneration[Any]],
    request: Request,
    progress: Progress,
    by: str,
) -> tuple[Verification, Mapping[str, Proof]]:
    """Compare live generations with a replay of the log; returns the result with its proofs.

    `by` is the caller. A sample gives no proofs, because it does not prove the whole read model.
    Raises StoreUnavailable without a readable log.
    """
    began = time.monotonic()
    generations: dict[str, int] = {}
    subjects = {live.definition.name: _noting(live, generations) for live in read_models}
    result = verify(log, subjects, request, progress)
    result.seconds = round(time.monotonic() - began, 3)
    if request.sample is not None:
        return result, {}
    proofs = {
        each.name: proof_of(each, result.seconds, by, generations.get(each.name))
        for each in result.projections
    }
    if request.log:
        proofs[LOG] = proof_of(result.log, result.seconds, by)
    return result, proofs


def _noting(
    live: CurrentGeneration[Any], generations: dict[str, int]
) -> Callable[[], AbstractContextManager[Source]]:
    """A function that takes a snapshot of a read model and remembers its generation."""

    @contextmanager
    def take() -> Iterator[Source]:
        with live.snapshot() as (source, generation):
            generations[live.definition.name] = generation
            yield source

    return take
