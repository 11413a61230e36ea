"""Laws of decide and evolve over any history that commands can make."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import events
from domain.aggregate import commands
from domain.aggregate.entity import Entity, decide, evolve
from domain.errors import CatalogError
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.mapper import EventMapper
from domain.events import encode
from domain.patches import json_patch
from tests.domain.folding import fold

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
FIXED = {"table": {"databaseSchema": {"id": "p"}}, "dataContract": {"entity": {"id": "p"}}}

texts = st.text(max_size=4)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e300, 1e300) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
columns = st.recursive(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abcd"), "dataType": st.sampled_from(["INT", "BIGINT", "STRUCT"])},
        optional={"dataLength": st.integers(1, 3), "description": texts},
    ),
    lambda inner: st.fixed_dictionaries(
        {"name": st.sampled_from("abcd"), "dataType": st.just("STRUCT")},
        optional={"children": st.lists(inner, max_size=3)},
    ),
    max_leaves=5,
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "entityStatus": st.sampled_from(["Draft", "Active", "Deprecated"]),
        "description": texts,
        "columns": st.lists(columns, max_size=4),
        "schema": st.lists(columns, max_size=4),
        "owners": st.lists(st.fixed_dictionaries({"id": texts}), max_size=3),
        "extension": st.dictionaries(texts, json, max_size=3),
        "a/b~": json,
    },
)
steps = st.one_of(
    st.tuples(st.just(commands.ChangeEntity), bodies),
    st.tuples(st.just(commands.ChangeEntity), bodies),
    st.tuples(st.just(commands.SoftDeleteEntity), st.none()),
    st.tuples(st.just(commands.RestoreEntity), st.none()),
    st.tuples(st.just(commands.PurgeEntity), st.none()),
)


def command(
    command_type: Any, values: dict[str, Any] | None, at: int, *, of: str, **more: Any
) -> Any:
    if values is not None:
        if of == "table":
            values = {key: value for key, value in values.items() if key != "entityStatus"}
        more["body"] = {key: encode(value) for key, value in (FIXED[of] | values).items()}
    return command_type(actor="ann", at=at, request_id=f"r{at}", **more)


def stored(history: list[events.Event]) -> list[events.Event]:
    """The events as they come back from the log."""
    mapper = EventMapper()
    recorded = (RecordedEvent(ID, place, event) for place, event in enumerate(history, start=1))
    return [mapper.decode(*mapper.to_row(event)[2:]) for event in recorded]


@given(st.sampled_from(["table", "dataContract"]), bodies, st.lists(steps, max_size=8))
def test_evolve_over_any_decided_history(kind: str, first: Any, then: list[Any]) -> None:
    creation = command(commands.CreateEntity, first, 0, of=kind, kind=kind, name="n", fqn="p.n")
    history = decide(creation, None)
    state = fold(ID, history)
    assert state is not None
    for at, (command_type, values) in enumerate(then, start=1):
        wanted = command(command_type, values, at, of=kind)
        try:
            decided = decide(wanted, state)
        except CatalogError:
            continue
        before, history = state, history + decided
        for event in decided:
            after = evolve(state, event, ID)
            assert after.version >= state.version
            assert after.stream_version == state.stream_version + 1
            state = after
        assert len({event.version for event in decided}) <= 1
        if values is not None:
            assert_reads_as(state, wanted.body, before)
        if not state.purged:
            assert decide(wanted, state) == []
    assert fold(ID, stored(history)) == state


def assert_reads_as(state: Entity, target: events.Body, before: Entity) -> None:
    """The body is what the command asked for; a status that it left out stays."""
    wanted = {key: target.get(key, before.body.get(key)) for key in {*target, "entityStatus"}}
    for key in wanted.keys() | state.body.keys():
        raw = wanted.get(key)
        assert json_patch.same(state.value(key), None if raw is None else msgspec.json.decode(raw))
    assert not state.deleted


def test_evolve_needs_a_creation_first() -> None:
    event = events.EntityRestored(kind="table", actor="ann", at=1, version=2, request_id="r")
    with pytest.raises(ValueError, match="does not begin with a creation"):
        evolve(None, event, ID)
