"""The impact of a change of an entity: what the lineage makes of it, and how surely that is hit."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from domain.errors import InvalidInput
from domain.kinds import names


class Tier(StrEnum):
    """The certainty with which a change hits an entity, the surest first."""

    BREAKS = "breaks"
    """The entity is made of a column that changes, or directly of an entity that goes or moves."""
    MAY_BREAK = "mayBreak"
    """The entity is made directly of the one that changes, and nothing says of which columns."""
    LOOK_AGAIN = "lookAgain"
    """The entity is made of other columns, or further down in the lineage."""


class Reach(StrEnum):
    """The part of an entity that a change is about."""

    COLUMNS = "columns"
    ENTITY = "entity"
    """The whole entity: it is removed, replaced by another one, or moved."""
    PROMISE = "promise"
    """A promise about all data of the entity, other than which columns there are."""


class Flow(msgspec.Struct, frozen=True):
    """An edge of the lineage, with the columns that flow over it."""

    from_id: str
    to_id: str
    mappings: Sequence[tuple[Sequence[str], str]] = ()
    """Qualified names of columns, and of the column that is made of them."""


class Hit(msgspec.Struct):
    """An entity that a change hits."""

    steps: int
    """Number of edges on the shortest way from the entity that changes."""
    tier: Tier
    columns: dict[str, None] = msgspec.field(default_factory=dict)
    """Qualified names of its columns that are made of what changes, in the order of the walk."""


def impact_of(
    entity_id: str,
    columns: Iterable[str],
    reaches: Collection[Reach],
    flows: Iterable[Flow],
) -> dict[str, Hit]:
    """The entities that a change of an entity hits, by their ids, the nearest first.

    `columns` are the qualified names of those that change; a column is also hit by a change of what
    it lies in, and of what lies in it. `flows` are the edges downstream of the entity, which may
    have circles. Each column and each edge is followed once.
    """
    if not reaches:
        return {}
    leaving: defaultdict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        leaving[flow.from_id].append(flow)
    hits = _reachable(entity_id, leaving)
    made = _made_columns(entity_id, columns, leaving, whole=Reach.ENTITY in reaches)
    for hit_id, hit in hits.items():
        hit.columns = made.get(hit_id, {})
    for flow in leaving[entity_id]:
        if flow.to_id in hits:
            known = flow.mappings and Reach.PROMISE not in reaches
            hits[flow.to_id].tier = Tier.LOOK_AGAIN if known else Tier.MAY_BREAK
            if Reach.ENTITY in reaches:
                hits[flow.to_id].tier = Tier.BREAKS
    for hit in hits.values():
        if hit.columns:
            hit.tier = Tier.BREAKS
    return hits


def with_parts(entity_id: str, parts: Collection[str], flows: Iterable[Flow]) -> list[Flow]:
    """The flows from and to an entity and its parts, all of them as those of the entity."""

    def whole(each: str) -> str:
        return entity_id if each in parts else each

    return [replace(flow, from_id=whole(flow.from_id), to_id=whole(flow.to_id)) for flow in flows]


def _reachable(entity_id: str, leaving: Mapping[str, Sequence[Flow]]) -> dict[str, Hit]:
    """All that is made of an entity, with the length of the way."""
    hits: dict[str, Hit] = {}
    level, steps = [entity_id], 0
    while level:
        steps += 1
        following = []
        for each in level:
            for flow in leaving.get(each, ()):
                if flow.to_id != entity_id and flow.to_id not in hits:
                    hits[flow.to_id] = Hit(steps, Tier.LOOK_AGAIN)
                    following.append(flow.to_id)
        level = following
    return hits


def _made_columns(
    entity_id: str,
    columns: Iterable[str],
    leaving: Mapping[str, Sequence[Flow]],
    *,
    whole: bool,
) -> dict[str, dict[str, None]]:
    """Id -> the columns that are made of those of an entity; of all of them where it is `whole`."""
    made: defaultdict[str, dict[str, None]] = defaultdict(dict)
    waiting = deque((entity_id, column) for column in dict.fromkeys(columns))
    if whole:
        for flow in leaving.get(entity_id, ()):
            for _, column in flow.mappings:
                _take(made, waiting, flow.to_id, column)
    indexes: dict[str, _Index] = {}
    while waiting:
        holder, column = waiting.popleft()
        if holder not in indexes:
            indexes[holder] = _Index(leaving.get(holder, ()))
        for to_id, to_column in indexes[holder].take(column):
            if to_id != entity_id:
                _take(made, waiting, to_id, to_column)
    return made


def _take(
    made: defaultdict[str, dict[str, None]],
    waiting: deque[tuple[str, str]],
    entity_id: str,
    column: str,
) -> None:
    if column not in made[entity_id]:
        made[entity_id][column] = None
        waiting.append((entity_id, column))


class _Index:
    """The columns that are made of those of an entity, to look them up."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self._at: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        """Column that a mapping names -> the columns made of it."""
        self._below: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        """Column -> the columns made of the columns inside it."""
        for flow in flows:
            for from_columns, to_column in flow.mappings:
                for column in from_columns:
                    self._at[column].append((flow.to_id, to_column))
                    for above in columns_above(column):
                        self._below[above].append((flow.to_id, to_column))

    def take(self, column: str) -> Iterable[tuple[str, str]]:
        """Entity and column of all that is made of a column, of one that it lies in, or in it.

        A column that was given once is not given again: thousands may lie in the same one.
        """
        for name in (column, *columns_above(column)):
            yield from self._at.pop(name, ())
        yield from self._below.pop(column, ())


def columns_above(column: str) -> Iterable[str]:
    """The qualified names above a column's, the nearest first; none for what is no such name."""
    if '"' not in column and "" not in column.split("."):
        end = column.rfind(".")
        while end > 0:
            yield column[:end]
            end = column.rfind(".", 0, end)
        return
    try:
        parts = names.split(column)
    except InvalidInput:
        return
    for length in range(len(parts) - 1, 0, -1):
        yield names.join(parts[:length])
