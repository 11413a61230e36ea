"""The rules of a whole body that follow from what is there: groups, columns, what is attached.

Parts that a write leaves as they are are not checked: they may have become wrong without the
writer's doing.
"""

import re
from collections.abc import Callable, Collection, Iterator

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput, NotPermitted, shown
from domain.event_store.stored import Claim
from domain.events import Body
from domain.kinds.bodies.components import Identified, Reference
from domain.kinds.bodies.profiling import PROFILER_CONFIG, read_profiler_config
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS
from domain.patches import json_patch
from domain.requests.property_checks import property_checks
from domain.write_context import WriteContext


class _Column(msgspec.Struct):
    name: str
    children: "list[_Column] | None" = None


_identified = msgspec.json.Decoder(list[Identified])
_columns = msgspec.json.Decoder(list[_Column])
_reference = msgspec.json.Decoder(Reference)
_CONTAINERS: dict[type, str] = {list: "a list", dict: "an object"}
_MOST_ABOVE = 1_000
EXTENSION = "extension"
"""Key of the body that holds the values of custom properties."""


def check_body(
    claim_by_id: Callable[[str], Claim | None],
    kind: EntityKind,
    body: Body,
    before: Entity | None,
    context: WriteContext,
) -> None:
    """Check the whole body that a write of a caller would leave of an entity.

    Raises NotPermitted where the groups change (`Suites.key`) and the caller may not edit
    groups, and InvalidInput for a new group that has a parent, such as the suite of a table: what
    is in it is there by itself; for a profiler configuration that names a column which the entity
    lacks; and for an entity that was run for itself.
    """
    if kind.suites is not None:
        key = kind.suites.key
        old, new = _ids(before.body, key) if before is not None else set(), _ids(body, key)
        for group in kind.refers_to[key] if old != new else ():
            if context.editable is not None and group not in context.editable:
                raise NotPermitted(f"{key} may be changed by who may edit {group}, and you may not")
        for claim in map(claim_by_id, sorted(new - old)):
            if claim is not None and claim.parent_id is not None:
                raise InvalidInput(
                    f"{key}: {claim.fqn!r} is the suite of a table; name one that stands alone"
                )
    if _changes(PROFILER_CONFIG, body, before):
        _check_profiled(kind, body)
    if before is not None:
        for key in kind.own_paths.added_to.values():
            changed = key in kind.refers_to and _changes(key, body, before)
            if changed and before.id in _ids(body, key):
                raise InvalidInput(f"{key} may not have the {kind.name} itself")


def check_extension(
    kind: EntityKind,
    body: Body,
    before: Entity | None,
    type_of: Callable[[str], Entity | None],
) -> None:
    """Hold what a write changes of `extension` to the custom properties that the kind has.

    A key that no property is named after may have any value, and null is none. `type_of` gives the
    entity of `TYPE` with a name. Raises InvalidInput for a value that its property does not take.
    """
    if not _changes(EXTENSION, body, before) or (defined := type_of(kind.name)) is None:
        return
    old = (before.value(EXTENSION) if before is not None else None) or {}
    new = msgspec.json.decode(body[EXTENSION])
    checks = property_checks(defined)
    for name, value in new.items():
        if value is None or json_patch.same(value, old.get(name)):
            continue
        check = checks.of(name)
        if check is not None and not check.fits(value):
            given = _CONTAINERS.get(type(value)) or shown(value)
            raise InvalidInput(
                f"{EXTENSION}.{name} of a {kind.name} must be {check.allowed}, got {given}"
            )


def check_described(
    kind: EntityKind,
    body: Body,
    before: Entity | None,
    parent_id: str | None,
    state_of: Callable[[str], Entity],
    seen: Collection[str] | None = None,
) -> None:
    """Raise InvalidInput when a new schema of a contract names columns that its entity lacks.

    `state_of` gives the present state of an entity by its id. A schema that is left as it is may
    name columns that are gone by now. Raises NotPermitted for who does not see the columns, as all
    but the kinds that are `seen`: what is refused would tell of them.
    """
    if kind.agreement is None or parent_id is None:
        return
    if not _changes(kind.agreement.describes, body, before):
        return
    parent = state_of(parent_id)
    if (key := ALL_KINDS[parent.kind].columns) is None:
        return
    if seen is not None and parent.kind not in seen:
        raise NotPermitted(
            f"{kind.agreement.describes} of a {kind.name} is held to the columns of the"
            f" {parent.kind}, which you may not see"
        )
    columns = _columns.decode(parent.body[key]) if key in parent.body else []
    held = {column.name for column in columns}
    described = _columns.decode(body[kind.agreement.describes])
    if missing := [column.name for column in described if column.name not in held]:
        raise InvalidInput(
            "Schema validation failed. The following fields specified in the data contract do"
            f" not exist in the {parent.kind}: {', '.join(missing)}"
        )


def check_rules(
    kind: EntityKind,
    body: Body,
    before: Entity | None,
    parent_id: str | None,
    state_of: Callable[[str], Entity],
    seen_whole: Collection[str] | None,
) -> None:
    """Raise NotPermitted when somebody writes rules about an entity who may not see all of it.

    The verdict, which follows without the writer's doing, would answer them. `state_of` gives the
    present state of an entity by its id, `seen_whole` are the kinds of which all is shown, None for
    all kinds.
    """
    if kind.agreement is None or parent_id is None or seen_whole is None:
        return
    key = kind.agreement.rules
    if _changes(key, body, before) and (about := state_of(parent_id).kind) not in seen_whole:
        raise NotPermitted(
            f"{key} of a {kind.name} ask about all of the {about}, of which you may not see all"
        )


def check_circles(
    kind: EntityKind,
    body: Body,
    before: Entity | None,
    state_of: Callable[[str], Entity | None],
) -> None:
    """Raise InvalidInput when an entity would stand below itself, as a team could by its `parents`.

    `state_of` gives the present state of an entity by its id, None for one that is gone. At most
    `_MOST_ABOVE` ancestors are looked at.
    """
    if before is None:
        return  # Nothing can stand below it yet.
    for field in kind.members.values():
        key = kind.filters.get(field.parameter, field.parameter)
        fixed = field.kind != kind.name or key in kind.parents
        if fixed or not _changes(key, body, before):
            continue
        above, waiting = set[str](), _ids(body, key)
        while waiting and len(above) < _MOST_ABOVE:
            if before.id in waiting:
                raise InvalidInput(f"{key}: the {kind.name} would stand below itself")
            above |= waiting
            states = [state for each in sorted(waiting) if (state := state_of(each)) is not None]
            waiting = set[str]().union(*(_ids(each.body, key) for each in states)) - above


def check_sole(
    kind: EntityKind,
    body: Body,
    parent_id: str | None,
    having_live: Callable[[str, Collection[str]], Collection[str]],
) -> None:
    """Raise InvalidInput when an entity has something live of an attached kind already.

    `body` is of what is to be attached; `having_live` is that of the log, or stands for it.
    """
    if kind.agreement is None or parent_id is None:
        return
    if having_live(kind.name, [parent_id]):
        title = re.sub("([A-Z])", r" \1", kind.name).lower()
        entity = _reference.decode(body[kind.agreement.about])
        raise InvalidInput(
            f"A {title} already exists for entity '{entity.type}' with ID {parent_id}"
        )


def _changes(key: str, body: Body, before: Entity | None) -> bool:
    return key in body and (before is None or before.body.get(key) != body[key])


def _ids(body: Body, key: str) -> set[str]:
    return {each.id for each in _identified.decode(body[key])} if key in body else set()


def _check_profiled(kind: EntityKind, body: Body) -> None:
    named = set(read_profiler_config(msgspec.json.decode(body[PROFILER_CONFIG])).columns())
    if kind.columns is not None and kind.columns in body:
        named.difference_update(_names(_columns.decode(body[kind.columns]), ""))
    if named:
        raise InvalidInput(f"{PROFILER_CONFIG}: the {kind.name} has no column {shown(min(named))}")


def _names(columns: list[_Column], above: str) -> Iterator[str]:
    """The names of columns at all depths, of inner ones also with the names above."""
    for column in columns:
        yield column.name
        yield above + column.name
        yield from _names(column.children or [], f"{above}{column.name}.")
