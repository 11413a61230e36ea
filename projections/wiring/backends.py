"""Where each read model is kept: in a data directory, in a database or in a search cluster."""

from typing import Generic

from domain.event_store.port import EventStore
from projections.generations.current_generation import CurrentGeneration
from projections.generations.definition import Definition, M
from projections.generations.leadership import Leadership
from projections.generations.port import ChangeCounter, Generations
from projections.generations.shared_supervision import Supervisor
from projections.generations.supervision import GenerationSupervisor


class Backend(Generic[M]):
    """Where a read model is kept for a data directory, and who feeds it: in the directory itself,
    unless a subclass says otherwise.
    """

    is_shared = False
    """True if hosts share the read model."""
    generations: Generations
    leadership: Leadership

    def __init__(
        self, definition: Definition[M], generations: Generations, leadership: Leadership
    ) -> None:
        self.definition = definition
        self.generations = generations
        self.leadership = leadership

    def reader(self, log: EventStore, changes: ChangeCounter | None) -> CurrentGeneration[M]:
        """Lends the live generation; `changes` are those of the supervisor of this process."""
        # Of what is shared, other processes may make the next change.
        known = None if self.is_shared else changes
        return CurrentGeneration(self.definition, self.generations, log, known)

    def supervisor(self, log: EventStore, changes: ChangeCounter | None = None) -> Supervisor:
        """What feeds the read model; the caller holds the ProjectorLock of the directory."""
        return GenerationSupervisor(self.definition, self.generations, log, changes, alone=True)

    def close(self) -> None:
        """Closes connections; nothing may use the read model afterwards."""
