"""Builds a generation of a read model from the log, beside the live one."""

import time

import msgspec

from domain.errors import CatalogError
from domain.event_store.port import EventStore
from projections.feeding.port import Progress
from projections.feeding.projector import Projector
from projections.generations.definition import Definition, M
from projections.generations.shelf import Generation, Proposal, Shelf
from projections.verification.report import ProjectionProof, Verdict
from projections.verification.run import Request, verify


class Differs(CatalogError):
    """A generation that was built is not what a replay of the log gives."""


class Built(msgspec.Struct, frozen=True):
    """A generation that was built, and the proof that it is what a replay of the log gives."""

    generation: Generation
    proof: ProjectionProof


def build(definition: Definition[M], shelf: Shelf, log: EventStore, progress: Progress) -> Built:
    """Builds a generation, verifies it against the log, proposes it and returns it.

    What an earlier, interrupted building left is gone on with where that is cheaper, and removed
    otherwise. Raises Differs, or StoreUnavailable, also when another process is building.
    """
    with shelf.building():
        generation = _begin(definition, shelf)
        address = shelf.address(generation.number)
        definition.load(address, log, progress)
        model = definition.open(address, True)
        try:
            _catch_up(definition, model, log)
            proof = _prove(definition, model, log)
        except BaseException:
            model.close()
            raise
        definition.shut(model)
        shelf.propose(Proposal(generation, ready=True))
        return Built(generation, proof)


def _begin(definition: Definition[M], shelf: Shelf) -> Generation:
    """The generation to build; removes whatever else is half built."""
    code, proposal = definition.code(), shelf.proposal()
    pointer = shelf.pointer()
    kept = {each.number for each in (pointer.live, pointer.previous) if each is not None}
    if proposal is not None and proposal.ready:
        # The projecting process may be about to switch to it.
        kept.add(proposal.generation.number)
    if (
        definition.resumes
        and proposal is not None
        and not proposal.ready
        and proposal.generation.code == code
        and proposal.generation.number not in kept
    ):
        return proposal.generation
    numbers = shelf.numbers()
    generation = Generation(
        number=max((*numbers, *kept, pointer.last)) + 1,
        built_at=time.time_ns() // 1_000_000,
        code=code,
    )
    shelf.propose(Proposal(generation))
    shelf.remove([number for number in numbers if number not in kept])
    return generation


def _catch_up(definition: Definition[M], model: M, log: EventStore) -> None:
    """Applies what was appended during the load."""
    projector = Projector(definition.projection(model), log, batch_size=definition.batch_size)
    head = log.head()
    while model.checkpoint() < head and projector.step():
        pass


def _prove(definition: Definition[M], model: M, log: EventStore) -> ProjectionProof:
    """Compares the generation with a replay of the log; raises Differs."""
    request = Request(log=False, shown=1, now=time.time_ns() // 1_000_000)
    subjects = {definition.name: lambda: definition.source(model, log)}
    (proof,) = verify(log, subjects, request).projections
    if proof.verdict is not Verdict.EQUAL:
        why = proof.differences[0] if proof.differences else proof.reason
        raise Differs(f"the new generation of {definition.name} differs from the log: {why}")
    return proof
