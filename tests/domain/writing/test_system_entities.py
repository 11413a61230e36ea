"""Entities that a new catalog has from its start are created once, whoever tries and how often."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from api.processes.first_start import CLASSIFICATIONS
from domain.event_store.opening import open_event_log
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.system_entities import create_system_entities
from tests.domain.conftest import World

REQUESTS = [msgspec.json.decode(line) for line in CLASSIFICATIONS.read_bytes().splitlines()]
TAGS = ["PII.None", "PII.NonSensitive", "PII.Sensitive", *(f"Tier.Tier{n}" for n in range(1, 6))]


def create(world: World) -> None:
    create_system_entities(world.log, REQUESTS, WriteContext(actor="catalog", request_id="r"))


def held(world: World, *names: str) -> list[str]:
    """Those of these tags that are there."""
    claims = world.log.claims(names=[("tag", name) for name in names])
    return sorted(claim.fqn for claim in claims)


def test_classifications_and_their_tags_are_created_once(world: World) -> None:
    create(world)
    assert held(world, *TAGS) == sorted(TAGS)
    assert {event.event.actor for event in world.log.read(0, 100, 100)} == {"catalog"}
    head = world.log.head()
    assert head == len(REQUESTS) == 10
    create(world)
    assert world.log.head() == head


@pytest.mark.parametrize("hard", [False, True])
def test_what_somebody_deleted_is_not_created_again(world: World, hard: bool) -> None:
    create(world)
    claim = world.log.claim("classification", "PII")
    assert claim is not None
    kind = KINDS["classification"]
    world.catalog.delete(kind, claim.id, world.context(), hard=hard, recursive=True)
    head = world.log.head()
    create(world)
    assert world.log.head() == head


def test_classifications_of_the_same_name_are_left_as_they_are(world: World) -> None:
    world.create("classification", "Tier", description="ours")
    create(world)
    assert held(world, *TAGS) == sorted(name for name in TAGS if name.startswith("PII"))
    assert world.log.head() == 1 + 4


def test_many_who_start_at_once_create_one_of_each(world: World) -> None:
    logs = [open_event_log(world.path) for _ in range(4)]

    def start(log: Any) -> None:
        create_system_entities(log, REQUESTS, WriteContext(actor="catalog", request_id="r"))

    with ThreadPoolExecutor(len(logs)) as starting:
        list(starting.map(start, logs))
    for log in logs:
        log.close()
    assert world.log.head() == len(REQUESTS)
