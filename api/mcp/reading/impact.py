"""`check_impact`: what breaks, or may, by a change of an entity, and who is to be asked."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from api.callers.permissions import Action
from api.comparisons import HitEntity
from api.mcp.answers import Answer, fill, short
from api.mcp.asking import Asked, Cursor, Named, Shown, viewed
from api.mcp.cleaning import plain
from api.mcp.facts import exact_or_id
from api.mcp.reading.columns import column_rows, fields_of_columns
from api.use_cases.data_tests import may_list_tests, suite_of, tests_in
from api.use_cases.edge_sight import check_sees_lineage, sight_of
from api.use_cases.impact import Reached, contracts_of, impact_on, owners_of
from domain.contracts.named_columns import mentions_of, places_of
from domain.errors import InvalidInput, NotFound, shown
from domain.impact import Reach, Tier
from domain.kinds import names
from domain.kinds.bodies.components import Reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import CONTRACT
from projections.entities.lineage import Node

MOST_COLUMNS, MOST_REASONS, MOST_ASKED, MOST_NAME = 10, 5, 20, 500
"""Columns of an entity, things of an owner, and owners that are named; characters of a column."""
Change = Literal["drop_column", "rename_column", "retype_column", "delete"]


class CheckImpact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    change: Change
    column: Annotated[str, Meta(max_length=3_072, description="Dotted; none for delete.")] = ""
    cursor: Cursor = ""


class Broken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that breaks, or may break."""

    kind: str
    name: str
    why: str
    steps: int = 0
    """Length of the way from the entity; 0 for what is about the entity itself."""
    columns: list[str] = []
    more_columns: int = 0
    contracts: list[str] = []


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody to be asked, and for what."""

    kind: str
    name: str
    owns: list[Shown]
    more: int = 0


class ImpactShown(Answer, kw_only=True, omit_defaults=True):
    """The answer: a page of what breaks, then of what may break, then of what to look at again."""

    breaks: list[Broken]
    may_break: list[Broken]
    look_again: list[Broken] = msgspec.field(default_factory=list)
    """Things further down, to which no lineage of columns leads."""
    total: int
    ask: list[Owner] = msgspec.field(default_factory=list)
    """On the first page."""
    more_ask: int = 0
    omitted: int = 0
    """Number of entities that the answer leaves out, none of which is hit more surely."""
    truncated: bool = False
    """True if the lineage is larger than what was looked at."""


Row = tuple[Tier, Broken]
"""The tier in which an entity or a place is hit, and the hit itself."""
_TIERS = tuple(Tier)


async def check_impact(asked: Asked, given: CheckImpact) -> ImpactShown:
    """Entities made of an entity or a column, with the contracts and tests that name it."""
    if (given.change == "delete") is bool(given.column):
        raise InvalidInput("delete takes no column, and every other change needs one")
    check_sees_lineage(asked.access)
    _, start = asked.place(given.cursor)
    return await asked.services.heavy_read(asked.request, partial(_checked, asked, given, start))


def _checked(asked: Asked, given: CheckImpact, start: int) -> ImpactShown:
    kind = viewed(asked.access, given.entity)
    position = asked.services.stores.entities.checkpoint()
    withheld = asked.access.withheld(Action.VIEW, kind.name)
    if withheld and given.column:
        withheld.refuse_field("columns", "column")
    body, _ = asked.read(given.entity, fields_of_columns(kind), None)
    entity = msgspec.json.decode(body)
    whole = entity["fullyQualifiedName"]
    column = given.column.removeprefix(f"{whole}.")
    if column and all(row.path != column for row in column_rows(kind, body)):
        raise NotFound(f"{kind.name} {whole} has no column {shown(column)}")

    def reached(fqn: str) -> Reached:
        return ([f"{fqn}.{column}"], {Reach.COLUMNS}) if column else ([], {Reach.ENTITY})

    reference = Reference(type=kind.name, id=entity["id"])
    sight = sight_of(asked.access, Action.VIEW)
    impact = impact_on(asked.services, asked.access, reference, reached, sight)
    if isinstance(impact, msgspec.UnsetType):
        raise NotFound(f"{kind.name} {whole} is not in the lists any more, or not yet: ask again")
    # Readers of a column may cope with another type of it, but not with its removal.
    surely = given.change != "retype_column"
    own = Node(kind.name, entity["id"], entity["name"], whole)
    named = [
        *_contracts(asked, entity["id"], column, surely=surely),
        *_tests(asked, kind, entity, column, surely=surely),
    ]
    tiers = {True: Tier.BREAKS, False: Tier.MAY_BREAK}
    rows: list[Row] = [(tiers[is_sure], broken) for is_sure, broken, _ in named]
    rows += [(tiers[surely], _hit(each)) for each in impact.breaks]
    rows += [(Tier.MAY_BREAK, _hit(each)) for each in impact.may_break]
    rows += [(Tier.LOOK_AGAIN, _hit(each)) for each in impact.look_again]
    rows.sort(key=lambda row: _TIERS.index(row[0]))
    room = asked.room()
    ask: list[Owner] = []
    more_ask = 0
    if not start:
        with asked.services.stores.entities.use() as entities:
            nodes = [own, *(node for _, _, node in named)]
            owners = owners_of(entities, asked.access, nodes)
        by_node = [(node, owners.get(node.id, [])) for node in nodes]
        hits = [*impact.breaks, *impact.may_break, *impact.look_again]
        people = _owners((*by_node, *map(_owned, hits)))
        half = asked.room()
        half.left //= 2
        ask, _ = fill(half, people[:MOST_ASKED])
        more_ask = len(people) - len(ask)
        room.spend(msgspec.json.encode(ask))
    page, more = fill(room, rows[start:], start)
    return ImpactShown(
        position=position,
        request_id=asked.request_id,
        breaks=[broken for tier, broken in page if tier is Tier.BREAKS],
        may_break=[broken for tier, broken in page if tier is Tier.MAY_BREAK],
        look_again=[broken for tier, broken in page if tier is Tier.LOOK_AGAIN],
        total=len(rows),
        ask=ask,
        more_ask=more_ask,
        omitted=impact.omitted,
        truncated=impact.truncated,
        cursor=asked.cursors.made(position, more),
    )


def _contracts(
    asked: Asked, entity_id: str, column: str, *, surely: bool
) -> Iterator[tuple[bool, Broken, Node]]:
    """The contracts of the entity that name the column; without a column, all of them."""
    found = contracts_of(asked.services, asked.access, [entity_id]) or {}
    for each in found.get(entity_id, []):
        node = Node(CONTRACT.name, each["id"], each["name"], each["fullyQualifiedName"])
        made = partial(Broken, kind=node.type, name=exact_or_id(node.fully_qualified_name, node.id))
        if not column:
            yield True, made(why="it is about the entity"), node
            continue
        body, _ = asked.read(Named(node.type, node.id), (), None)
        contract, path = msgspec.json.decode(body), names.split(column)
        if places := places_of(contract, path):
            yield surely, made(why=_listed("names the column", places)), node
        if mentions := mentions_of(contract, path):
            yield False, made(why=_listed("mentions the name", mentions)), node


def _listed(what: str, places: list[str]) -> str:
    named = ", ".join(plain(each) for each in places[:MOST_REASONS])
    more = len(places) - MOST_REASONS
    return f"{what} in {named}" + (f" and {more} more" if more > 0 else "")


def _tests(
    asked: Asked, kind: EntityKind, entity: dict[str, Any], column: str, *, surely: bool
) -> Iterator[tuple[bool, Broken, Node]]:
    """The tests of the column; without a column, all tests of the table."""
    if kind.name != "table" or not may_list_tests(asked.access):
        return
    suite = suite_of(asked.services, kind, entity)
    rows, _ = tests_in(asked.services, asked.access, suite, entity, seen=False)
    for row in rows:
        if row["of"] == column or not column:
            case = row["reference"]
            name = case["fullyQualifiedName"]
            broken = Broken(kind="testCase", name=plain(name), why="it tests it")
            yield surely, broken, Node("testCase", row["id"], case["name"], name)


def _hit(each: HitEntity) -> Broken:
    contracts = [] if each.contracts is UNSET else each.contracts
    if each.columns:
        made_of = "it is made of it"
    elif each.steps == 1:
        made_of = "it is made of the entity"
    else:
        made_of = "it is made of what is hit"
    return Broken(
        kind=each.type,
        name=exact_or_id(each.fully_qualified_name, each.id),
        why=made_of,
        steps=each.steps,
        columns=[short("name", column, MOST_NAME) for column in each.columns[:MOST_COLUMNS]],
        more_columns=max(0, each.column_count - MOST_COLUMNS),
        contracts=[exact_or_id(one["fullyQualifiedName"], one["id"]) for one in contracts],
    )


def _owned(each: HitEntity) -> tuple[Node, list[dict[str, Any]]]:
    node = Node(each.type, each.id, each.name, each.fully_qualified_name)
    return node, [] if each.owners is UNSET else each.owners


def _owners(owned: Iterable[tuple[Node, list[dict[str, Any]]]]) -> list[Owner]:
    """Owners with their entities, the owners of most entities first."""
    by_owner: dict[str, tuple[dict[str, Any], list[Shown]]] = {}
    for node, owners in owned:
        for owner in owners:
            _, things = by_owner.setdefault(owner["id"], (owner, []))
            things.append(Shown(node.type, exact_or_id(node.fully_qualified_name, node.id)))
    ranked = sorted(by_owner.values(), key=lambda each: -len(each[1]))
    return [
        Owner(
            kind=owner["type"],
            name=exact_or_id(owner["fullyQualifiedName"], owner["id"]),
            owns=things[:MOST_REASONS],
            more=max(0, len(things) - MOST_REASONS),
        )
        for owner, things in ranked
    ]
