"""Commands and what they decide, as given events, when command, then events."""

from collections.abc import Callable
from typing import Any, Self

import pytest

from domain import events
from domain.aggregate import commands
from domain.aggregate.commands import Command
from domain.aggregate.entity import decide
from domain.errors import (
    CatalogError,
    Conflict,
    InvalidInput,
    InvalidTransition,
    NotFound,
    StaleVersion,
)
from domain.events import Body, Event, encode
from domain.patches.payload_bounds import MAX_MARKS
from tests.domain.folding import fold

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
EARLIER: dict[str, Any] = {"actor": "ann", "at": 1_000, "request_id": "r1"}
NOW: dict[str, Any] = {"actor": "bob", "at": 2_000, "request_id": "r2"}
STATUSES = ("Draft", "Active", "Deprecated")


class History:
    """An entity's past, and what a command makes of it."""

    def __init__(self, past: tuple[Event, ...]) -> None:
        self._past = past
        self._decide: Callable[[], list[Event]] = list

    def when(self, command: Command) -> Self:
        state = fold(ID, self._past)
        self._decide = lambda: decide(command, state)
        return self

    def then(self, *expected: Event) -> None:
        assert self._decide() == list(expected)

    def then_raises(self, error: type[CatalogError], message: str) -> None:
        with pytest.raises(error) as caught:
            self._decide()
        assert (type(caught.value), caught.value.message) == (error, message)


def given(*past: Event) -> History:
    return History(past)


def body(values: dict[str, Any]) -> Body:
    return {key: encode(value) for key, value in values.items()}


def contract(version: int = 1, when: dict[str, Any] = EARLIER, **values: Any) -> Event:
    return events.EntityCreated(
        kind="dataContract",
        version=version,
        name="c",
        fqn="s.d.s.t.dataContract_c",
        parent_id="table-id",
        body=body({"entity": {"id": "table-id"}, "entityStatus": "Draft"} | values),
        **when,
    )


def table(version: int = 1, **values: Any) -> Event:
    return events.EntityCreated(
        kind="table",
        version=version,
        name="t",
        fqn="s.d.s.t",
        body=body({"databaseSchema": {"id": "schema-id"}} | values),
        **EARLIER,
    )


def create(**values: Any) -> Command:
    return commands.CreateEntity(
        kind="dataContract",
        name="c",
        fqn="s.d.s.t.dataContract_c",
        parent_id="table-id",
        body=body({"entity": {"id": "table-id"}} | values),
        **NOW,
    )


def change(values: dict[str, Any], expected_version: int | None = None) -> Command:
    return commands.ChangeEntity(body=body(values), expected_version=expected_version, **NOW)


def change_contract(**values: Any) -> Command:
    return change({"entity": {"id": "table-id"}} | values)


def change_table(**values: Any) -> Command:
    return change({"databaseSchema": {"id": "schema-id"}} | values)


def changed(version: int, *patch: dict[str, Any], kind: str = "dataContract") -> Event:
    return events.EntityChanged(kind=kind, version=version, patch=list(patch), **NOW)


def status(version: int, value: str) -> Event:
    return events.EntityStatusChanged(kind="dataContract", version=version, status=value, **NOW)


def deleted(version: int, when: dict[str, Any] = EARLIER) -> Event:
    return events.EntitySoftDeleted(kind="dataContract", version=version, **when)


def restored(version: int) -> Event:
    return events.EntityRestored(kind="dataContract", version=version, **NOW)


def purged(version: int, when: dict[str, Any] = NOW) -> Event:
    return events.EntityPurged(kind="dataContract", version=version, **when)


def column(name: str, data_type: str = "INT") -> dict[str, Any]:
    return {"name": name, "dataType": data_type}


def test_create_starts_at_version_0_1_as_draft() -> None:
    given().when(create(description="x")).then(contract(1, NOW, description="x"))


@pytest.mark.parametrize("value", STATUSES)
def test_create_keeps_a_given_status(value: str) -> None:
    given().when(create(entityStatus=value)).then(contract(1, NOW, entityStatus=value))


def test_create_of_a_kind_without_statuses_adds_none() -> None:
    team = NOW | {"kind": "team", "name": "t", "fqn": "t", "body": body({"teamType": "Group"})}
    given().when(commands.CreateEntity(**team)).then(events.EntityCreated(**team, version=1))


def test_create_over_an_existing_id_is_a_conflict() -> None:
    given(contract()).when(create()).then_raises(
        Conflict, f"id {ID} is the id of dataContract 's.d.s.t.dataContract_c'"
    )


def test_change_stores_what_changed_and_no_more() -> None:
    given(contract(description="old", sla={"a": 1, "b": 2})).when(
        change_contract(description="new", sla={"a": 1, "b": 3}, owners=[])
    ).then(
        changed(
            2,
            {"op": "replace", "path": "/description", "value": "new"},
            {"op": "add", "path": "/owners", "value": []},
            {"op": "replace", "path": "/sla/b", "value": 3},
        )
    )


def test_change_removes_keys_that_are_absent() -> None:
    given(contract(description="old")).when(change_contract()).then(
        changed(2, {"op": "remove", "path": "/description"})
    )


def test_change_escapes_keys_in_paths() -> None:
    given(contract()).when(change_contract(**{"a/b~c": 1})).then(
        changed(2, {"op": "add", "path": "/a~1b~0c", "value": 1})
    )


@pytest.mark.parametrize(
    "command", [change_contract(sla={"a": 1}), change_contract(sla={"a": 1}, entityStatus="Draft")]
)
def test_change_of_nothing_stores_no_event(command: Command) -> None:
    given(contract(sla={"a": 1})).when(command).then()


def test_change_of_spelling_only_stores_no_event() -> None:
    given(contract(sla={"a": 1, "b": 2})).when(change_contract(sla={"b": 2, "a": 1.0})).then()


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("Draft", "Draft", None),
        ("Draft", "Active", None),
        ("Draft", "Deprecated", None),
        ("Active", "Active", None),
        ("Active", "Draft", "Deprecated"),
        ("Active", "Deprecated", None),
        ("Deprecated", "Deprecated", None),
        ("Deprecated", "Active", None),
        ("Deprecated", "Draft", "Active"),
        ("Draft", "Retired", "Active or Deprecated"),
    ],
)
def test_status_transitions(before: str, after: str, allowed: str | None) -> None:
    history = given(contract(entityStatus=before)).when(change_contract(entityStatus=after))
    if allowed is None:
        history.then(*([] if before == after else [status(2, after)]))
        return
    said = f"a contract cannot go from {before} to {after}; from {before} it may go to {allowed}"
    history.then_raises(InvalidTransition, said)


def test_status_and_other_changes_share_one_version() -> None:
    given(contract()).when(change_contract(entityStatus="Active", description="x")).then(
        status(2, "Active"), changed(2, {"op": "add", "path": "/description", "value": "x"})
    )


def test_soft_delete() -> None:
    delete = commands.SoftDeleteEntity(**NOW)
    given(contract()).when(delete).then(deleted(2, NOW))
    given(contract(), deleted(2)).when(delete).then()


def test_restore() -> None:
    restore = commands.RestoreEntity(**NOW)
    given(contract(), deleted(2)).when(restore).then(restored(3))
    given(contract()).when(restore).then()


def test_purge_keeps_the_version() -> None:
    purge = commands.PurgeEntity(**NOW)
    given(contract()).when(purge).then(purged(1))
    given(contract(), deleted(2)).when(purge).then(purged(2))


def test_change_of_a_deleted_entity_restores_it_first() -> None:
    given(contract(), deleted(2)).when(change_contract(entityStatus="Active", owners=[])).then(
        restored(3), status(3, "Active"), changed(3, {"op": "add", "path": "/owners", "value": []})
    )
    given(contract(), deleted(2)).when(change_contract()).then(restored(3))


ANY_COMMAND = (
    change_contract(),
    commands.SoftDeleteEntity(**NOW),
    commands.RestoreEntity(**NOW),
    commands.PurgeEntity(**NOW),
)


@pytest.mark.parametrize("command", ANY_COMMAND, ids=lambda command: type(command).__name__)
def test_nothing_can_be_done_to_an_entity_that_is_not_there(command: Command) -> None:
    for past in ((), (contract(), purged(1, EARLIER))):
        given(*past).when(command).then_raises(NotFound, "there is no such entity")


def test_commands_cannot_add_tags_to_an_entity_for_ever() -> None:
    def tags(count: int, first: int = 0) -> list[dict[str, str]]:
        return [{"tagFQN": f"c.t{number}"} for number in range(first, first + count)]

    def refused(history: History, values: dict[str, Any]) -> None:
        message = "an entity may have 5000 different tags, those of its parts included, got {}"
        of_parts = [tag for part in values.get("columns", ()) for tag in part["tags"]]
        message = message.format(len(values["tags"]) + len(of_parts))
        history.then_raises(InvalidInput, message)

    many = {"tags": tags(MAX_MARKS + 1)}
    refused(given().when(create(**many)), many)
    past = table(tags=tags(MAX_MARKS))
    refused(given(past).when(change_table(**many)), many)
    with_parts = {"tags": tags(MAX_MARKS), "columns": [{"name": "c", "tags": tags(1, MAX_MARKS)}]}
    refused(given(past).when(change_table(**with_parts)), with_parts)
    assert decide(change_table(tags=tags(MAX_MARKS, 1)), fold(ID, [past]))
    # One that gets smaller all the same gets no more tags.
    long = table(tags=tags(MAX_MARKS), description="x" * 9_000)
    refused(given(long).when(change_table(**many)), many)
    # What has more already may lose some, and gets no more.
    more = fold(ID, [table(tags=tags(MAX_MARKS + 3))])
    assert decide(change_table(tags=tags(MAX_MARKS + 2)), more)
    beyond = {"tags": tags(MAX_MARKS + 4)}
    refused(given(table(tags=tags(MAX_MARKS + 3))).when(change_table(**beyond)), beyond)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (9, 10), (19, 20), (99, 100)])
def test_minor_change_adds_a_tenth(before: int, after: int) -> None:
    given(contract(before)).when(change_contract(owners=[])).then(
        changed(after, {"op": "add", "path": "/owners", "value": []})
    )


def test_removed_column_adds_one_to_the_version() -> None:
    given(table(columns=[column("a"), column("b")])).when(change_table(columns=[column("a")])).then(
        changed(11, {"op": "remove", "path": "/columns/1"}, kind="table")
    )
    given(table(9, columns=[column("a")])).when(change_table()).then(
        changed(19, {"op": "remove", "path": "/columns"}, kind="table")
    )


def test_narrowed_column_adds_one_to_the_version() -> None:
    given(table(columns=[column("a", "BIGINT")])).when(
        change_table(columns=[column("a", "INT")], description="x")
    ).then(
        changed(
            11,
            {"op": "replace", "path": "/columns/0/dataType", "value": "INT"},
            {"op": "add", "path": "/description", "value": "x"},
            kind="table",
        )
    )


def test_removed_column_of_a_contract_is_a_minor_change() -> None:
    given(contract(schema=[column("a"), column("b")])).when(
        change_contract(schema=[column("a")])
    ).then(changed(2, {"op": "remove", "path": "/schema/1"}))


@pytest.mark.parametrize("target", [{}, {"entity": {"id": "other"}}])
def test_keys_under_the_qualified_name_cannot_change(target: dict[str, Any]) -> None:
    given(contract()).when(change(target)).then_raises(
        InvalidInput,
        "entity of a dataContract cannot be changed: its qualified name stands on it",
    )


def test_expected_version_must_be_the_current_one() -> None:
    same = {"entity": {"id": "table-id"}}
    given(contract(10)).when(change(same, 10)).then()
    given(contract(10)).when(change(same, 9)).then_raises(
        StaleVersion, "dataContract 's.d.s.t.dataContract_c' is at version 1.0, not 0.9"
    )


ANOTHER_LAST_EVENT: dict[str, tuple[str, list[Event]]] = {
    "id": (ID.replace("0", "1"), [contract()]),
    "stream version": (ID, [contract(), deleted(1)]),
    "time": (ID, [contract(when=EARLIER | {"at": 1_001})]),
    "actor": (ID, [contract(when=EARLIER | {"actor": "bob"})]),
    "request": (ID, [contract(when=EARLIER | {"request_id": "r2"})]),
}


@pytest.mark.parametrize("what", ANOTHER_LAST_EVENT)
def test_states_of_one_version_are_told_apart_by_their_last_events(what: str) -> None:
    entity_id, past = ANOTHER_LAST_EVENT[what]
    state, another = fold(ID, [contract()]), fold(entity_id, past)
    assert state is not None
    assert another is not None
    # Clients keep digests: they stay what they are.
    assert state.last_event == "fb6aa1d4"
    assert (another.version, another.last_event == state.last_event) == (1, False)

    expected = commands.RestoreEntity(expected_version=1, expected_event=state.last_event, **NOW)
    assert decide(expected, state) == []
    with pytest.raises(StaleVersion) as raised:
        decide(expected, another)
    assert raised.value.message == (
        "dataContract 's.d.s.t.dataContract_c' is at version 0.1, but at another one than the"
        " entity tag is of: that one is gone"
    )
