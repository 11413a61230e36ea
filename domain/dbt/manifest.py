"""The models of a manifest that have an enforced contract, and what they promise.

A manifest is read as raw JSON of any version from 9 on (dbt 1.5): what is not known is passed over
(https://docs.getdbt.com/reference/artifacts/manifest-json).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.contracts.elements import Element, append, elements, mapping, put, text
from domain.dates import with_zone
from domain.dbt.quality import CONSTRAINT, column_of, key_of_test, relationship, rule_of
from domain.errors import InvalidInput, shown
from domain.patches.json_input import MISFITS

OLDEST = 9
"""The oldest version of the manifest that has contracts."""
_VERSION = re.compile(r".*/manifest/v(\d{1,4})(?:\.json)?")
_RELATION_PART = re.compile(r"[\"`\[]?([^\"`\[\].]+)[\"`\]]?")
_ONE_NUMBER = re.compile(r"v?\d{1,9}")
_NO_DATABASE = "default"
"""Name of the database in the catalog where a warehouse has none, as OpenMetadata's dbt has it."""


class Model(msgspec.Struct, kw_only=True):
    """A model with an enforced contract."""

    unique_id: str
    place: list[str]
    """Database, schema and name of its table."""
    promise: Element
    """The schema object of its table: properties, quality and relationships."""
    description: str | None = None
    version: str | None = None
    """The version of its document, if the project says one."""
    ends: str | None = None
    """Moment from which on the model is deprecated, as the contract has it."""
    owners: list[str] = []
    """Names or addresses of owners, those that say most first."""


class Header(msgspec.Struct, kw_only=True):
    """The manifest beside its models."""

    project: str
    invocation: str | None
    """Id of the invocation of dbt that wrote the manifest; None where the manifest has none."""


class _Manifest(msgspec.Struct):
    nodes: dict[str, msgspec.Raw]
    metadata: dict[str, Any] = {}
    sources: dict[str, msgspec.Raw] = {}
    groups: dict[str, msgspec.Raw] = {}


class _Glance(msgspec.Struct):
    """The keys that are read of every node: what the node is, what it is about, and its names."""

    resource_type: Any = None
    attached_node: Any = None
    depends_on: Any = None
    alias: Any = None
    identifier: Any = None
    name: Any = None


_glance = msgspec.json.Decoder(_Glance)


def read_manifest(data: bytes) -> tuple[Header, Iterator[Model]]:
    """The header of a manifest, and its models one after the other.

    Raises InvalidInput for what is no manifest, or one of an older version.
    """
    try:
        manifest = msgspec.json.decode(data, type=_Manifest)
        glances = {key: _glanced(raw) for key, raw in manifest.nodes.items()}
        glances |= {key: _glanced(raw) for key, raw in manifest.sources.items()}
    except MISFITS as error:
        raise InvalidInput(f"this is no manifest.json of dbt: {error}") from None
    given = manifest.metadata.get("dbt_schema_version")
    version = _VERSION.fullmatch(given) if isinstance(given, str) else None
    if version and int(version[1]) < OLDEST:
        raise InvalidInput(
            f"a manifest must be of version {OLDEST} or later (dbt 1.5), got {shown(given)}"
        )
    names = ("project_name", "project_id")
    project = next((each for name in names if (each := text(manifest.metadata, name))), "")
    invocation = text(manifest.metadata, "invocation_id")
    return Header(project=project, invocation=invocation), _models(manifest, glances)


def _glanced(raw: msgspec.Raw) -> _Glance:
    try:
        return _glance.decode(raw)
    except msgspec.ValidationError:
        return _Glance()


def _models(manifest: _Manifest, glances: Mapping[str, _Glance]) -> Iterator[Model]:
    tests: dict[str, list[str]] = {}
    for key, each in glances.items():
        if each.resource_type == "test" and (tested := _tested(each)):
            tests.setdefault(tested, []).append(key)
    for key in sorted(manifest.nodes):
        if glances[key].resource_type != "model":
            continue
        node = _decoded(manifest.nodes[key])
        if not mapping(node, "contract").get("enforced") or not text(node, "schema"):
            continue
        node["unique_id"] = key
        own = []
        for test_id in sorted(tests.get(key, ())):
            test = _decoded(manifest.nodes[test_id])
            test["unique_id"] = test_id
            own.append((test, _target(glances, glances[test_id], key)))
        group = manifest.groups.get(f"group.{node.get('package_name')}.{node.get('group')}")
        yield model_of(node, own, _decoded(group) if group is not None else {})


def _decoded(raw: msgspec.Raw) -> Element:
    value = msgspec.json.decode(raw)
    return value if isinstance(value, dict) else {}


def _depended(each: _Glance) -> list[str]:
    return _texts(each.depends_on.get("nodes") if isinstance(each.depends_on, dict) else None)


def _tested(test: _Glance) -> str | None:
    """Unique id of the node that a test is attached to, or of the only node that the test reads."""
    if isinstance(test.attached_node, str):
        return test.attached_node
    read = _depended(test)
    return read[0] if len(read) == 1 else None


def _target(glances: Mapping[str, _Glance], test: _Glance, model: str) -> str | None:
    """Name of the only other table that a test reads; the model's own if it reads no other."""
    read = [node for node in _depended(test) if node != model] or [model]
    if len(read) != 1 or read[0] not in glances:
        return None
    table = glances[read[0]]
    names = (table.alias, table.identifier, table.name)
    return next((each for each in names if isinstance(each, str) and each), None)


def model_of(node: Element, tests: list[tuple[Element, str | None]], group: Element) -> Model:
    """The promises of a model.

    `node` is the model's node, `tests` are those of its tests, each with the name of the other
    table that it reads, and `group` is the model's group.
    """
    table = text(node, "alias") or str(node.get("name"))
    meta = {**mapping(node, "meta"), **mapping(mapping(node, "config"), "meta")}
    return Model(
        unique_id=node["unique_id"],
        place=[text(node, "database") or _NO_DATABASE, str(node["schema"]), table],
        promise=_promise(table, node, tests),
        description=text(node, "description"),
        version=_version(node, meta),
        ends=_moment(node.get("deprecation_date")),
        owners=_owners(meta.get("owner"), mapping(group, "owner")),
    )


def _promise(table: str, node: Element, tests: list[tuple[Element, str | None]]) -> Element:
    given = {"columns": [*mapping(node, "columns").values()]}
    columns = [each for each in elements(given, "columns") if text(each, "name")]
    by_name: dict[str, Element] = {}
    promise: Element = {"properties": []}
    for column in columns:
        name = column["name"]
        made: Element = {"name": name}
        above, _, last = name.rpartition(".")
        if above in by_name:
            # A field of a struct is a column with the names of both.
            made["name"] = last
            append(by_name[above], "properties", made)
        else:
            promise["properties"].append(made)
        put(made, "physicalType", text(column, "data_type"))
        put(made, "description", text(column, "description"))
        by_name[name] = made
        for constraint in elements(column, "constraints"):
            _constrain(promise, by_name, table, constraint, [name])
    for constraint in elements(node, "constraints"):
        named = [each for each in _texts(constraint.get("columns")) if each in by_name]
        _constrain(promise, by_name, table, constraint, named)
    for test, target in tests:
        holder = by_name.get(column_of(test) or "", promise)
        append(holder, "quality", rule_of(test))
        if holder is not promise and (key := key_of_test(test, target)):
            _add_key(holder, key)
    return promise


def _constrain(
    promise: Element,
    by_name: Mapping[str, Element],
    table: str,
    constraint: Element,
    columns: list[str],
) -> None:
    """Set what a constraint promises of columns.

    The standard knows no unique combination of columns, and dbt reports nothing of a `check`.
    """
    kind = constraint.get("type")
    if kind == "not_null":
        for name in columns:
            by_name[name]["required"] = True
    elif kind == "unique" and len(columns) == 1:
        by_name[columns[0]]["unique"] = True
    elif kind == "primary_key":
        for place, name in enumerate(columns, 1):
            by_name[name] |= {"primaryKey": True, "primaryKeyPosition": place}
    elif kind == "foreign_key" and columns:
        _relate(promise, by_name, table, constraint, columns)


def _relate(
    promise: Element,
    by_name: Mapping[str, Element],
    table: str,
    constraint: Element,
    columns: list[str],
) -> None:
    relation = _RELATION_PART.findall(text(constraint, "to") or "")
    to = _texts(constraint.get("to_columns"))
    if not relation or len(to) != len(columns):
        return
    if len(columns) == 1:
        if key := relationship([relation[-1]], to, CONSTRAINT):
            _add_key(by_name[columns[0]], key)
        return
    own = [f"{table}.{name}" for name in columns]
    if key := relationship([relation[-1]] * len(to), to, CONSTRAINT, own):
        _add_key(promise, key)


def _add_key(holder: Element, key: Element) -> None:
    """Add a relationship, unless a constraint or test has said the same."""
    if all(each["to"] != key["to"] for each in elements(holder, "relationships")):
        append(holder, "relationships", key)


def _version(node: Element, meta: Element) -> str | None:
    """The version that the project gives a contract: in `meta`, or that of the model."""
    given = meta.get("contract_version")
    if isinstance(given, str | int | float) and given != "":
        return str(given)
    version = str(node.get("version"))
    return f"{version.removeprefix('v')}.0.0" if _ONE_NUMBER.fullmatch(version) else None


def _moment(given: Any) -> str | None:
    """A date as the contract has it, in UTC; None for what is none."""
    try:
        moment = datetime.fromisoformat(given if isinstance(given, str) else "")
    except ValueError:
        return None
    return with_zone(moment).astimezone(UTC).isoformat().replace("+00:00", "Z")


def _owners(own: Any, of_group: Element) -> list[str]:
    given = own if isinstance(own, list) else [own]
    owners = [
        each
        for one in given
        for each in ((one.get("name"), one.get("email")) if isinstance(one, dict) else (one,))
    ]
    owners += [of_group.get("name"), of_group.get("email")]
    return list(dict.fromkeys(each for each in owners if isinstance(each, str) and each))


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
