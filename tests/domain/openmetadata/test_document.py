"""Patches of the document of an entity, of which only what they touch is decoded."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from domain.aggregate.entity import Entity
from domain.errors import InvalidInput
from domain.kinds.registry import ALL_KINDS
from domain.openmetadata import document
from domain.patches import json_patch

TABLE = ALL_KINDS["table"]
VALUES: dict[str, Any] = {
    "description": "d",
    "columns": [{"name": "a", "dataType": "INT"}],
    "databaseSchema": {"id": "s", "type": "databaseSchema"},
    "extension": {"k": [1, {"l": None}]},
}

paths = st.sampled_from(
    [
        *("", "/description", "/columns/0/name", "/columns/-", "/extension/k/1", "/extension/m"),
        *("/tags/-", "/owners", "/unknown", "/version", "/id", "/deleted", "/name"),
        *("/bad~2", "none", 7),
    ]
)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": paths},
    optional={
        "from": paths,
        "value": st.sampled_from(["d", None, [], {"k": 1}, "new", [{"name": "b"}]]),
    },
)


def table(**values: Any) -> Entity:
    return Entity(
        id="i",
        kind="table",
        name="t",
        fqn="s.t",
        parent_id="s",
        body={key: Raw(msgspec.json.encode(value)) for key, value in values.items()},
        version=1,
        stream_version=1,
        updated_at=1,
        updated_by="ann",
        request_id="r",
    )


def of_all(entity: Entity, patch: list[Any]) -> dict[str, Any]:
    """Return the result of a patch that is applied to the whole document, decoded."""
    shown = {key: msgspec.json.decode(raw) for key, raw in document.fields(entity).items()}
    server = {key: shown.pop(key, None) for key in document.SERVER_KEYS}
    arrays = {key: [] for key in sorted(TABLE.arrays)}
    values = json_patch.apply({**server, **arrays, **shown}, patch)
    if not isinstance(values, dict):
        raise InvalidInput("a patch cannot replace the entity by something else")
    for key, value in server.items():
        if not json_patch.same(values.pop(key, None), value):
            if key == "name":
                raise InvalidInput(
                    "name of a table cannot be patched: it is the one that its source knows it by;"
                    " what may be renamed is classification, dataProduct, domain, glossary,"
                    " glossaryTerm, tag, team"
                )
            raise InvalidInput(f"{key} is set by the catalog and cannot be patched")
    if "columns" not in entity.body and values.get("columns") == []:
        del values["columns"]
    return {"name": entity.name, **values}


@given(patch=st.lists(operations, max_size=4), keys=st.sets(st.sampled_from(list(VALUES))))
def test_patch_gives_the_same_as_when_all_is_decoded(patch: list[Any], keys: set[str]) -> None:
    entity = table(**{key: VALUES[key] for key in sorted(keys)})
    results = []
    for patched in (of_all, document.patched):
        try:
            results.append(msgspec.json.encode(patched(entity, patch)).decode())
        except InvalidInput as error:
            results.append(error.message)
    assert results[0] == results[1]


def test_patch_decodes_what_it_touches_and_what_the_kind_needs() -> None:
    patch = [{"op": "add", "path": "/description", "value": "new"}]
    values = document.patched(table(**VALUES), patch)
    encoded = {key for key, value in values.items() if isinstance(value, Raw)}
    assert encoded == {"columns", "extension"}
