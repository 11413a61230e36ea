"""Makes a finished generation the live one, by whichever process leads."""

import time
from contextlib import closing
from pathlib import Path

from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from projections.feeding.daemon import ProjectorState, State, read_states
from projections.generations.building import prove
from projections.generations.definition import Definition, M
from projections.generations.port import Generation, Leadership, ProposedGeneration
from projections.generations.supervision import GenerationSupervisor

PATIENCE_SECONDS = 30.0
"""Longest time that a command waits for a server without progress towards a switch."""
_PAUSE = 0.02


def pending(definition: Definition[M]) -> Generation | None:
    """The proposed, finished generation of this code that no process took up yet, if any."""
    proposal = definition.generations.proposal()
    if proposal is None or not proposal.ready or proposal.refused is not None:
        return None
    generation = proposal.generation
    fits = generation.code == definition.code()
    return generation if fits and generation != definition.generations.pointer().live else None


def propose_previous(definition: Definition[M], log: EventStore) -> Generation:
    """Verify and propose the generation that was live before the present one, and return it.

    Raises Differs, and StoreUnavailable when there is none, when other code built it, or when it
    cannot be read to its end.
    """
    generations = definition.generations
    previous = generations.pointer().previous
    if previous is None:
        raise StoreUnavailable(f"there is no previous generation of {definition.name}")
    if previous.code != definition.code():
        raise StoreUnavailable(
            f"generation {previous.number} of {definition.name} was built by other code;"
            " go back to the version of the program that built it"
        )
    with generations.building():
        with closing(definition.open(generations.address(previous.number), False)) as model:
            prove(definition, previous, model, log)
        generations.propose(
            ProposedGeneration(previous, ready=True), instead_of=generations.revision("proposal")
        )
    return previous


def switch(
    definition: Definition[M],
    log: EventStore,
    generation: Generation,
    directory: Path,
    leadership: Leadership,
    *,
    patience: float = PATIENCE_SECONDS,
) -> bool:
    """Wait until a proposed generation is live; True when a running server took it up.

    `directory` is the data directory of the server, whose state files are read there. While no
    process leads, this one switches. Raises StoreUnavailable when the generation is refused, when
    another proposal took its place, or when the server has made no progress towards the switch for
    `patience` seconds; the message repeats the state that the server reports.
    """
    generations, began, by_server = definition.generations, time.monotonic(), True
    reached, ends = -1, began + patience
    while generations.pointer().live != generation:
        proposal = generations.proposal()
        if proposal is None or proposal.generation != generation:
            if generations.pointer().live == generation:
                break
            raise StoreUnavailable(f"another generation of {definition.name} took its place")
        if proposal.refused is not None:
            raise StoreUnavailable(
                f"generation {generation.number} of {definition.name} was refused:"
                f" {proposal.refused}"
            )
        if leadership.leader() is None:
            supervisor = GenerationSupervisor(definition, log)
            with leadership.held(), closing(supervisor):
                supervisor.open()
                while (done := supervisor.step()) or _is_awaited(definition, generation):
                    if not done:
                        # A large one is still being checked.
                        time.sleep(_PAUSE)
            by_server = False
            continue
        said = read_states(directory).get(definition.name)
        if said is not None and said.state is State.STOPPED:
            raise StoreUnavailable(
                f"the server has stopped projecting {definition.name}: {said.error}"
            )
        now = time.monotonic()
        if now >= ends:
            # A generation that lies far behind is fed for minutes before the switch.
            is_fed = said is None or said.state is not State.RETRYING
            checkpoint = _reached(definition, generation) if is_fed else reached
            if checkpoint <= reached:
                raise _not_switched(definition.name, generation, now - began, said)
            reached, ends = checkpoint, now + patience
        time.sleep(_PAUSE)
    return by_server


def _is_awaited(definition: Definition[M], generation: Generation) -> bool:
    """True while a generation is proposed, and neither live nor refused."""
    proposal = definition.generations.proposal()
    return (
        proposal is not None
        and (proposal.generation, proposal.refused) == (generation, None)
        and definition.generations.pointer().live != generation
    )


def _not_switched(
    name: str, generation: Generation, seconds: float, said: ProjectorState | None
) -> StoreUnavailable:
    """The error for a server without progress towards a switch; repeats the state it reports."""
    if said is None:
        why = "and reports no state"
    else:
        why = f"and reports that it is {said.state}" + (f": {said.error}" if said.error else "")
    return StoreUnavailable(
        f"the server has not switched to generation {generation.number} of {name} in"
        f" {seconds:.0f} s {why}. The generation stays proposed: the server switches"
        " when it can; or stop the server and run this command again"
    )


def _reached(definition: Definition[M], generation: Generation) -> int:
    """The checkpoint of the proposed generation, 0 while it cannot be read."""
    try:
        model = definition.open(definition.generations.address(generation.number), False)
    except StoreUnavailable:
        return 0
    with closing(model):
        return model.checkpoint()
