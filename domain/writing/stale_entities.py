"""The search for entities below a scope that a connector no longer sees at its source.

A connector tells the names of all that it has seen in a run. An entity of the catalog that was not
seen has gone from the source.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from domain.errors import InvalidInput
from domain.event_store.port import EventStore
from domain.event_store.stored import Claim
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, kinds_above, kinds_right_below

PAGE = 1_000
"""Number of entities that are read from the log at a time."""
_SERVICE = "service"
"""The scope of a service in the words of connectors, whatever its kind."""


_Known = tuple[Claim, tuple[str, ...]]
"""An entity, and the qualified names under which a connector may have seen it."""


class StaleEntity(msgspec.Struct):
    """An entity that was not seen."""

    id: str
    fqn: str
    parent_id: str | None
    kept_for: str | None = None
    """The qualified name of an entity below it that was seen, if there is one."""


def scope_kind(kind: EntityKind, name: str) -> EntityKind:
    """The kind of a scope that a request calls `name`: a kind's name, or `service`.

    `service` is the kind of service that entities of `kind` belong to. Raises InvalidInput for a
    name that is that of no kind, or of a kind that never has one of `kind` below it.
    """
    wanted = name
    if name == _SERVICE:
        wanted = next(iter(kind.refers_to.get(_SERVICE, ())), name)
    if wanted not in kinds_above(kind.name):
        allowed = ", ".join(kinds_above(kind.name))
        raise InvalidInput(
            f"scopeEntityType of {kind.collection} may be {allowed}, got {name[:64]!r}"
        )
    return KINDS[wanted]


class StaleSearch:
    """Looks, in small steps, for the live entities of a kind below a scope that were not seen."""

    page = PAGE
    most = 100_000
    """The most stale entities of one search."""

    def __init__(
        self, log: EventStore, kind: EntityKind, scope: Claim, seen: Iterable[str]
    ) -> None:
        """`seen` are qualified names; quotes that a name does not need make no difference.

        Raises InvalidInput for a name that is none: a run that cannot say what it has seen must not
        have all the rest deleted.
        """
        self._log = log
        self._kind = kind
        self._seen = frozenset(map(_plainly_quoted, seen))
        self._steps = _steps(kind)
        self._pages = self._walk(scope)
        self._stale: dict[str, StaleEntity] = {}

    @property
    def stale(self) -> list[StaleEntity]:
        """The stale entities found so far, those above others first."""
        return [*self._stale.values()]

    def look_on(self, pages: int) -> bool:
        """Read some pages of the log; returns whether there is more to be read.

        Raises InvalidInput as soon as there are more than `most`, and StoreUnavailable.
        """
        for _ in range(pages):
            page = next(self._pages, None)
            if page is None:
                return False
            for claim, known_as in page:
                self._judge(claim, known_as)
        return True

    def _walk(self, scope: Claim) -> Iterator[list[_Known]]:
        """The entities of the kind, page by page, those above others first."""
        waiting, size = deque([(scope, scope.all_names)]), self.page
        while waiting:
            above, known_as = waiting.popleft()
            for below in self._steps[above.kind]:
                after, more = "", True
                while more and (page := self._log.live_children(above.id, below, after, size)):
                    known = [(claim, _names_below(claim, known_as)) for claim in page]
                    if below in self._steps:
                        waiting += known
                    yield known if below == self._kind.name else []
                    after, more = page[-1].fqn, len(page) == size

    def _judge(self, claim: Claim, known_as: tuple[str, ...]) -> None:
        """Count an entity as stale, or keep its ancestors because it was seen."""
        if self._seen.isdisjoint(known_as):
            if len(self._stale) == self.most:
                raise InvalidInput(
                    f"more than {self.most:,} {self._kind.collection} there are not among"
                    " seenFqns: name a narrower scope"
                )
            self._stale[claim.id] = StaleEntity(claim.id, claim.fqn, claim.parent_id)
            return
        above = self._stale.get(claim.parent_id or "")
        while above is not None and above.kept_for is None:
            above.kept_for = claim.fqn
            above = self._stale.get(above.parent_id or "")


def _names_below(claim: Claim, parents: tuple[str, ...]) -> tuple[str, ...]:
    """The names of an entity: its own, and the present one below each former name of its parent.

    A connector that goes on with a former name writes new entities below it, which never had it
    themselves. `parents` are the names of the parent, the present one first.
    """
    present, *former = parents
    if not former or not claim.fqn.startswith(f"{present}."):
        return claim.all_names
    own = claim.fqn[len(present) :]
    return tuple(dict.fromkeys((*claim.all_names, *(f"{name}{own}" for name in former))))


def _steps(kind: EntityKind) -> Mapping[str, tuple[str, ...]]:
    """Kind -> the kinds right below it that are `kind` or may have it below them."""
    ways = kinds_above(kind.name)
    return {
        one: tuple(
            below
            for below in KINDS
            if below in kinds_right_below(one) and (below == kind.name or below in ways)
        )
        for one in ways
    }


def _plainly_quoted(fqn: str) -> str:
    """A qualified name with the quotes that it needs; raises InvalidInput for one that is none."""
    if '"' in fqn:
        return names.join(names.split(fqn))
    if ".." in f".{fqn}.":  # a part is empty
        names.split(fqn)
    return fqn
