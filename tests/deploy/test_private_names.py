"""The private names of libraries that the product overrides are what they were when it was tested.

They may change with any release of the library: `pyproject.toml` allows those that were tested.
"""

import importlib
import inspect
import pkgutil
import sys
from types import ModuleType
from typing import Any

import pytest
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnectionPool, SQLiteRecorder
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from whoosh.codec.base import Segment

import api
import domain
import projections
import replay_tool

PRODUCT: tuple[ModuleType, ...] = (domain, projections, api, replay_tool)

# The class that has the name: its parameters, and the methods of that class and of those above it
# that call it.
USED: dict[tuple[type, str], tuple[list[str], set[str]]] = {
    (HttpToolsProtocol, "_start_asgi_task"): (
        ["self", "cycle", "app"],
        {"on_headers_complete", "on_response_complete"},
    ),
    (HttpToolsProtocol, "_unsupported_upgrade_warning"): (["self"], {"data_received"}),
    (SQLiteConnectionPool, "_create_connection"): (["self"], {"_get_connection"}),
    (SQLiteRecorder, "_create_table"): (["self", "c"], {"create_table"}),
    (SQLiteApplicationRecorder, "_insert_events"): (
        ["self", "c", "stored_events", "_"],
        {"insert_events"},
    ),
    (Segment, "_random_id"): (["size"], {"__init__"}),
}


@pytest.mark.parametrize(("owner", "name"), USED, ids=lambda each: getattr(each, "__name__", each))
def test_private_name_is_called_as_it_is_overridden(owner: type, name: str) -> None:
    parameters, callers = USED[owner, name]
    assert [*inspect.signature(getattr(owner, name)).parameters] == parameters
    methods = [each for base in owner.__mro__ for each in vars(base).values()]
    assert callers == {
        method.__name__
        for method in methods
        if inspect.isfunction(method) and name in method.__code__.co_names
    }


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
