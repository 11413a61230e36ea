"""The answer that tells the changes of a contract."""

from typing import Any, Literal

import msgspec

from domain.contracts.changes.rules import Bump, Change, Level, Perspective, bump_of

MOST_CHANGES = 5_000
"""Changes that an answer names, the worst first."""
PerspectiveName = Literal["consumer", "producer", "full"]
"""The type of a parameter that names a Perspective."""
_WORST_FIRST = tuple(Level)


class ContractChange(msgspec.Struct, rename="camel"):
    """A difference of two versions of a contract; `docs/contracts.md` has the rules."""

    rule: str
    path: str
    level: Level
    """The grade in the perspective that was asked for."""
    consumer: Level
    producer: Level
    before: Any
    after: Any
    message: str


class HitEntity(msgspec.Struct, rename="camel"):
    """An entity that is made of one that changes."""

    type: str
    id: str
    name: str
    fully_qualified_name: str
    steps: int
    """Number of edges on the shortest way to the entity."""
    columns: list[str]
    """The first of the entity's columns that are made of changed columns."""
    column_count: int
    owners: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    """The entity's owners; unset if they are withheld, or were not looked at."""
    contracts: list[dict[str, str]] | msgspec.UnsetType = msgspec.UNSET
    """The entity's contract, if it has one; unset if contracts are withheld."""


class Impact(msgspec.Struct, rename="camel"):
    """The entities downstream that a change hits, by how surely they are hit."""

    breaks: list[HitEntity]
    """Entities to which column lineage leads from what changes, or made of an entity that goes."""
    may_break: list[HitEntity]
    """Entities made directly of the changed one, while nothing says of which columns."""
    look_again: list[HitEntity]
    """Entities made of other columns, or further down in the lineage."""
    omitted: int
    """Number of entities that are not named, none of which is hit more surely."""
    truncated: bool
    """True if the lineage is larger than what was looked at."""


class Comparison(msgspec.Struct, rename="camel"):
    """The changes from one version of a contract to another."""

    compatible: bool
    """True if no change is breaking in the perspective that was asked for."""
    bump: Bump
    """The part of the version that has to rise for these changes."""
    changes: list[ContractChange]
    omitted: int
    """Number of changes that are not named, none of which is worse than those that are."""
    impact: Impact | msgspec.UnsetType = msgspec.UNSET
    """The impact of changes of a stored contract, for callers who may view the lineage."""


def comparison(changes: list[Change], perspective: Perspective) -> Comparison:
    """The answer that tells changes, the worst first."""
    levels = [change.rule.level(perspective) for change in changes]
    graded = sorted(zip(levels, changes, strict=True), key=lambda each: _WORST_FIRST.index(each[0]))
    return Comparison(
        compatible=Level.BREAKING not in levels,
        bump=bump_of(changes),
        changes=[
            ContractChange(
                rule=change.rule.word,
                path=change.path,
                level=level,
                consumer=change.rule.consumer,
                producer=change.rule.producer,
                before=change.before,
                after=change.after,
                message=change.message,
            )
            for level, change in graded[:MOST_CHANGES]
        ],
        omitted=max(len(changes) - MOST_CHANGES, 0),
    )
