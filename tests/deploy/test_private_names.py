"""The private names of libraries that the product overrides are what they were when it was tested.

They may change with any release of the library: `pyproject.toml` allows those that were tested.
"""

import importlib
import inspect
import pkgutil
import sys
from types import FunctionType, ModuleType
from typing import Any

import eventsourcing.persistence
import eventsourcing.sqlite
import pytest
import whoosh.codec.base
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import api
import domain
import projections
import replay_tool

PRODUCT: tuple[ModuleType, ...] = (domain, projections, api, replay_tool)

# The class that has the name, its parameters, and the library's own methods that call it.
USED: dict[tuple[type, str], tuple[list[str], list[FunctionType]]] = {
    (HttpToolsProtocol, "_start_asgi_task"): (
        ["self", "cycle", "app"],
        [HttpToolsProtocol.on_headers_complete, HttpToolsProtocol.on_response_complete],
    ),
    (HttpToolsProtocol, "_unsupported_upgrade_warning"): (
        ["self"],
        [HttpToolsProtocol.data_received],
    ),
    (eventsourcing.sqlite.SQLiteConnectionPool, "_create_connection"): (
        ["self"],
        [eventsourcing.persistence.ConnectionPool._get_connection],
    ),
    (eventsourcing.sqlite.SQLiteRecorder, "_create_table"): (
        ["self", "c"],
        [eventsourcing.sqlite.SQLiteRecorder.create_table],
    ),
    (eventsourcing.sqlite.SQLiteApplicationRecorder, "_insert_events"): (
        ["self", "c", "stored_events", "_"],
        [eventsourcing.sqlite.SQLiteApplicationRecorder.insert_events],
    ),
    (whoosh.codec.base.Segment, "_random_id"): (["size"], [whoosh.codec.base.Segment.__init__]),
}


@pytest.mark.parametrize(("owner", "name"), USED, ids=lambda each: getattr(each, "__name__", each))
def test_private_name_is_called_as_it_is_overridden(owner: type, name: str) -> None:
    parameters, callers = USED[owner, name]
    assert [*inspect.signature(getattr(owner, name)).parameters] == parameters
    assert all(name in caller.__code__.co_names for caller in callers)


def of_libraries(kind: type) -> set[tuple[type, str]]:
    """The private names that a class overrides, with the nearest class of a library with each."""
    names = {name for name in vars(kind) if name.startswith("_") and not name.startswith("__")}
    return {
        (next(base for base in kind.__mro__[1:] if name in vars(base)), name)
        for name in names
        if inspect.isfunction(inspect.unwrap(getattr(kind, name)))
        or inspect.ismethod(getattr(kind, name))
        if any(name in vars(base) for base in kind.__mro__[1:])
    }


def test_private_names_that_are_overridden_are_all_held() -> None:
    rooms = {room.__name__ for room in PRODUCT}
    modules: list[Any] = [
        importlib.import_module(each.name)
        for room in PRODUCT
        for each in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    ]
    kinds = {
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__.split(".")[0] in rooms
    }
    overridden = {each for kind in kinds for each in of_libraries(kind)}
    ours = rooms | sys.stdlib_module_names
    assert {each for each in overridden if each[0].__module__.split(".")[0] not in ours} == {*USED}
