"""Members of teams and definitions of custom properties, while others write the same entities."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from domain.errors import NotFound
from domain.kinds.bodies.custom_properties import PROPERTIES
from domain.kinds.registry import TYPE
from domain.writing.entity_cache import EntityCache


def racing(world: Any, rival: Callable[[], object]) -> None:
    """Let the rival write once between the catalog's reading of the log and its append."""

    def once() -> None:
        world.on_clock = int
        rival()

    world.on_clock = once


@pytest.fixture
def other(open_world: Callable[[], Any], world: Any) -> Any:
    """Another process on the same file."""
    return open_world()


def teams_of(world: Any, user: Any) -> list[str]:
    state = EntityCache(world.log).known(user.id)
    return [each["name"] for each in state.value("teams") or []]


def test_user_whom_two_teams_take_at_once_is_in_both(world: Any, other: Any) -> None:
    ann = world.create("user", "ann")
    racing(world, lambda: other.create("team", "first", teamType="Group", users=["ann"]))
    world.create("team", "second", teamType="Group", users=["ann"])
    assert teams_of(world, ann) == ["first", "second"]
    assert world.events()[1:] == [
        ("entity.created", "first"),
        ("entity.changed", "ann"),
        ("entity.created", "second"),
        ("entity.changed", "ann"),
    ]


def test_team_is_not_made_with_a_user_who_goes_meanwhile(world: Any, other: Any) -> None:
    ann = world.create("user", "ann")
    racing(world, lambda: other.delete(ann))
    with pytest.raises(NotFound, match="users: user instance for 'ann' not found"):
        world.create("team", "crew", teamType="Group", users=["ann"])
    assert world.lives() == {"ann": False}


def test_bot_adds_members_and_a_restored_team_keeps_them(world: Any) -> None:
    ann = world.create("user", "ann")
    crew = world.create("team", "crew", teamType="Group")
    world.delete(crew)
    bot = world.context(by_bot=True)
    outcome = world.put("team", "crew", bot, teamType="Group", users=[ann.id])
    assert (outcome.entity.deleted, teams_of(world, ann)) == (False, ["crew"])


@pytest.mark.parametrize("before", [(), ("zero",)])
def test_properties_that_are_defined_at_once_are_both_kept(
    world: Any, other: Any, before: tuple[str, ...]
) -> None:
    def define(one: Any, name: str) -> Any:
        given = {"name": name, "propertyType": "string"}
        context = one.context()
        plan = partial(one.catalog.planner.define, "table", given, context)
        return one.catalog.write(context, plan)

    for name in before:
        define(world, name)
    racing(world, lambda: define(other, "first"))
    entity = define(world, "second").entity
    names = [each["name"] for each in entity.value(PROPERTIES)]
    assert names == sorted(("first", "second", *before))
    assert (entity.kind, entity.fqn) == (TYPE.name, "table")
