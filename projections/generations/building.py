"""Builds a generation of a read model from the log, beside the live one."""

from collections.abc import Hashable

import msgspec

from domain.errors import CatalogError, StoreUnavailable
from domain.event_store.port import EventStore
from domain.machine import clock
from projections.feeding.port import Damaged, Progress
from projections.feeding.projector import Projector
from projections.generations.definition import Definition, M
from projections.generations.port import Generation, ProposedGeneration
from projections.verification.report import ProjectionProof, Verdict
from projections.verification.run import Request, verify


class Differs(CatalogError):
    """A generation that is to become the live one differs from a replay of the log."""


class Built(msgspec.Struct, frozen=True):
    """A new generation, and the proof that it equals a replay of the log."""

    generation: Generation
    proof: ProjectionProof


def build(definition: Definition[M], log: EventStore, progress: Progress) -> Built:
    """Build a generation, verify it against the log, propose it and return it.

    A generation that an earlier, interrupted building left is completed where that is cheaper, and
    removed otherwise. Raises Differs, or StoreUnavailable, also when another process is building,
    and Overtaken when another one has proposed anything since this building began.
    """
    generations = definition.generations
    with generations.building():
        generation, begun = _begin(definition)
        address = generations.address(generation.number)
        try:
            definition.load(address, log, progress)
        except Damaged as damaged:
            # Refuse the generation, so that nobody tries to complete it again.
            generations.propose(
                ProposedGeneration(generation, refused=damaged.message), instead_of=begun
            )
            raise
        model = definition.open(address, True)
        try:
            # The events that were appended during the load.
            projection, head = definition.projection(model), log.head()
            projector = Projector(projection, log, batch_size=definition.batch_size)
            while model.checkpoint() < head and projector.step():
                pass
            proof = prove(definition, generation, model, log)
        except BaseException:
            model.close()
            raise
        definition.shut(model)
        generations.propose(ProposedGeneration(generation, ready=True), instead_of=begun)
        return Built(generation, proof)


def _begin(definition: Definition[M]) -> tuple[Generation, Hashable]:
    """The generation to build, and the revision of its proposal; removes other half-built ones.

    A building that goes on is proposed anew, too: should the earlier process still run, it can
    propose no more.
    """
    generations, code = definition.generations, definition.code()
    revision = generations.revision("proposal")
    proposal, pointer = generations.proposal(), generations.pointer()
    kept = {each.number for each in (pointer.live, pointer.previous) if each is not None}
    if proposal is not None and proposal.ready:
        # The projecting process may be about to switch to it.
        kept.add(proposal.generation.number)
    if (
        definition.resumes
        and proposal is not None
        and not proposal.ready
        and proposal.refused is None
        and proposal.generation.code == code
        and proposal.generation.number not in kept
    ):
        return proposal.generation, generations.propose(proposal, instead_of=revision)
    numbers = generations.numbers()
    # A number that was only proposed is not given again: its proposer may still build it.
    last = pointer.last if proposal is None else max(pointer.last, proposal.generation.number)
    generation = Generation(
        number=max((*numbers, *kept, last)) + 1,
        built_at=clock.now(),
        code=code,
    )
    begun = generations.propose(ProposedGeneration(generation), instead_of=revision)
    generations.remove([number for number in numbers if number not in kept])
    return generation, begun


def prove(
    definition: Definition[M], generation: Generation, model: M, log: EventStore
) -> ProjectionProof:
    """Compare a generation, which `model` reads, with a replay of the log up to its position.

    Raises Differs, and StoreUnavailable when it cannot be compared to its end.
    """
    request = Request(log=False, shown=1, now=clock.now())
    subjects = {definition.name: lambda: definition.source(model, log)}
    (proof,) = verify(log, subjects, request).projections
    if proof.reason is not None:
        # Nothing was compared to its end, so nothing is known to differ: it may be built again.
        raise StoreUnavailable(proof.reason)
    if proof.verdict is not Verdict.EQUAL:
        why = proof.differences[0] if proof.differences else proof.found
        raise Differs(
            f"generation {generation.number} of {definition.name} differs from the log: {why}"
        )
    return proof
