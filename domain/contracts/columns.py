"""Properties of a schema object, and the columns of a contract."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_args

from domain.contracts.elements import Element, append, elements, is_name, put, remove, text
from domain.kinds.bodies.enumerations import WAREHOUSE_TYPES, ColumnType

Column = dict[str, Any]
"""A column as JSON has it."""

_TYPES = frozenset(get_args(ColumnType))
_OF_LOGICAL: Mapping[str, str] = MappingProxyType(
    {
        "string": "STRING",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
        "time": "TIME",
        "number": "NUMERIC",
        "integer": "INT",
        "object": "STRUCT",
        "array": "ARRAY",
        "boolean": "BOOLEAN",
        "map": "MAP",
        "vector": "ARRAY",
    }
)
"""Logical type of the standard -> the type of a column of which nothing more is known."""
_LOGICAL: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("DATE",), "date"),
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMPZ", "DATETIME"), "timestamp"),
        **dict.fromkeys(("TIME",), "time"),
        **dict.fromkeys(("NUMBER", "NUMERIC", "DECIMAL", "FLOAT", "DOUBLE", "MONEY"), "number"),
        **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "BYTEINT"), "integer"),
        **dict.fromkeys(("LONG", "LARGEINT", "UINT", "YEAR"), "integer"),
        **dict.fromkeys(("STRUCT", "RECORD", "MAP", "JSON", "TUPLE", "VARIANT"), "object"),
        **dict.fromkeys(("ARRAY", "SET"), "array"),
        "BOOLEAN": "boolean",
    }
)
"""Type of a column -> logical type, one of those of ODCS 3.1; `string` for all others."""
_SIZED = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_PRECISE = ("DECIMAL", "NUMERIC", "NUMBER")
_PHYSICAL = re.compile(r"([A-Za-z][A-Za-z0-9_ ]{0,60}?) ?\((\d{1,9})(?: ?, ?(\d{1,9}))?\)")
_TYPE_KEYS = ("dataType", "dataTypeDisplay", "dataLength", "precision", "scale", "arrayDataType")
_SAID = ("name", *_TYPE_KEYS, "displayName", "description", "constraint", "children")
"""Keys of a column that the standard can say."""
_FLAGS = (("PRIMARY_KEY", "primaryKey"), ("UNIQUE", "unique"), ("NOT_NULL", "required"))
"""Constraint -> flag of a property; the first counts where several are set."""


def read_columns(holder: Element) -> list[Column]:
    """The columns of the properties of an object."""
    return [_read(each) for each in _named(holder).values()]


def column_names(holder: Element) -> list[str]:
    """The names of all properties, in order, also of those that come twice."""
    return [name for each in elements(holder, "properties") if (name := text(each, "name"))]


def write_columns(holder: Element, old: list[Column], new: list[Column]) -> None:
    """Change the properties of an object to say `new`, of columns where they said `old`.

    Properties of columns that are the same are not touched.
    """
    before = {column["name"]: column for column in old}
    after = {column["name"]: column for column in new}
    properties = _named(holder)
    for name in before.keys() - after.keys():
        remove(holder, "properties", properties[name])
    for name, column in after.items():
        if name not in before:
            made: Element = {"name": name}
            _write(made, {"name": name}, column)
            append(holder, "properties", made)
        elif column != before[name]:
            _write(properties[name], before[name], column)


def comparable(columns: list[Column]) -> list[Column]:
    """Columns reduced to the keys that the standard can say, as `read_columns` gives them."""
    return [_comparable(column) for column in columns]


def kept_columns(held: list[Column], said: list[Column]) -> list[Column]:
    """Columns of a document, with the keys of held columns that no document has, such as tags."""
    before = {column["name"]: column for column in held}
    kept: list[Column] = []
    for column in said:
        old = before.get(column["name"], {})
        others = {key: value for key, value in old.items() if key not in _SAID}
        column = {**others, **column}
        if children := column.get("children"):
            column["children"] = kept_columns(old.get("children") or [], children)
        kept.append(column)
    return kept


def properties_by_path(holder: Element, above: str = "") -> Iterator[tuple[str, Element]]:
    """The properties of an object at all levels, each with the names above and its own, dotted."""
    for name, each in _named(holder).items():
        yield above + name, each
        yield from properties_by_path(_inner(each), f"{above}{name}.")


def _named(holder: Element) -> dict[str, Element]:
    """The properties that a column can stand for, by name."""
    named: dict[str, Element] = {}
    for each in elements(holder, "properties"):
        name = each.get("name")
        if is_name(name) and name not in named:
            named[name] = each
    return named


def _inner(each: Element) -> Element:
    """The element that has the properties inside a property: itself, or that of its items."""
    items = each.get("items")
    return items if isinstance(items, dict) and "properties" not in each else each


def _read(each: Element) -> Column:
    column: Column = {"name": each["name"], **_read_type(each)}
    put(column, "displayName", text(each, "businessName"))
    put(column, "description", text(each, "description"))
    for constraint, flag in _FLAGS:
        if each.get(flag) is True:
            column["constraint"] = constraint
            break
    put(column, "children", read_columns(_inner(each)))
    return column


def _read_type(each: Element) -> Column:
    """The keys of a column that its type consists of."""
    physical = text(each, "physicalType")
    sized = _PHYSICAL.fullmatch(physical) if physical else None
    base = (sized[1] if sized else physical or "").upper()
    known = WAREHOUSE_TYPES.get(base, base)
    logical = each.get("logicalType")
    if known not in _TYPES:
        known = _OF_LOGICAL.get(logical, "UNKNOWN") if isinstance(logical, str) else "UNKNOWN"
    column: Column = {"dataType": known}
    if sized and known in _SIZED:
        column["dataLength"] = int(sized[2])
    elif sized and known in _PRECISE:
        column["precision"] = int(sized[2])
        if sized[3]:
            column["scale"] = int(sized[3])
    elif known in ("STRING", "TEXT", *_SIZED) and isinstance(
        options := each.get("logicalTypeOptions"), dict
    ):
        length = options.get("maxLength")
        if type(length) is int and 0 <= length < 2**63:
            column["dataLength"] = length
    if known == "ARRAY" and isinstance(items := each.get("items"), dict):
        column["arrayDataType"] = _read_type(items)["dataType"]
    if physical and physical != _spelled(column):
        column["dataTypeDisplay"] = physical
    return column


def _comparable(column: Column) -> Column:
    kept = {key: column[key] for key in _SAID if column.get(key) not in (None, "")}
    if kept.get("constraint") not in dict(_FLAGS):
        kept.pop("constraint", None)
    put(kept, "children", comparable(column.get("children") or []))
    return kept


def _write(each: Element, old: Column, new: Column) -> None:
    """Change a property where a column differs from `old`."""
    if any(old.get(key) != new.get(key) for key in _TYPE_KEYS):
        _write_type(each, new)
    for key, said in (("displayName", "businessName"), ("description", "description")):
        if old.get(key) != new.get(key):
            put(each, said, new.get(key))
    if old.get("constraint") != new.get("constraint"):
        _write_constraint(each, old.get("constraint"), new.get("constraint"))
    children = old.get("children") or [], new.get("children") or []
    if children[0] != children[1]:
        if _logical(new) == "array" and "properties" not in each:
            items = each.get("items")
            each["items"] = items if isinstance(items, dict) else {}
        holder = _inner(each)
        write_columns(holder, *children)
        if children[1]:
            # Nothing else may have properties.
            _set_logical(holder, "object")


def _write_type(each: Element, column: Column) -> None:
    data_type = column["dataType"]
    logical = _logical(column)
    _set_logical(each, logical)
    each["physicalType"] = _physical(column)
    length = column.get("dataLength")
    if logical == "string" and length is not None and length >= 0:
        options = each.get("logicalTypeOptions")
        each["logicalTypeOptions"] = {
            **(options if isinstance(options, dict) else {}),
            "maxLength": length,
        }
    if data_type == "ARRAY" and (item := column.get("arrayDataType")):
        items = each.get("items")
        each["items"] = items = dict(items) if isinstance(items, dict) else {}
        _set_logical(items, _LOGICAL.get(item, "string"))
        items["physicalType"] = item


def _logical(column: Column) -> str:
    return _LOGICAL.get(column["dataType"], "string")


def _set_logical(each: Element, logical: str) -> None:
    """Set the logical type, without options that are of another one."""
    if each.get("logicalType") != logical:
        each.pop("logicalTypeOptions", None)
        each["logicalType"] = logical


def _physical(column: Column) -> str:
    """The type with its sizes; as it was spelled, unless the sizes have changed since."""
    data_type, shown = column["dataType"], column.get("dataTypeDisplay")
    if shown:
        said = _read_type({"physicalType": shown})
        sizes = ("dataLength", "precision", "scale")
        if said["dataType"] == data_type and all(said.get(k) == column.get(k) for k in sizes):
            return str(shown)
        if said["dataType"] == "UNKNOWN":
            return str(shown)
    return _spelled(column)


def _spelled(column: Column) -> str:
    """The type as the catalog writes it."""
    data_type = column["dataType"]
    if data_type in _SIZED and column.get("dataLength") is not None:
        return f"{data_type}({column['dataLength']})"
    if data_type in _PRECISE and column.get("precision") is not None:
        scale = column.get("scale")
        return f"{data_type}({column['precision']}{'' if scale is None else f',{scale}'})"
    return str(data_type)


def _write_constraint(each: Element, old: str | None, new: str | None) -> None:
    flags = dict(_FLAGS)
    if old in flags:
        each[flags[old]] = False
    if new in flags:
        # The first flag that is set counts, so those before it are taken back.
        for constraint, flag in _FLAGS:
            if constraint == new:
                each[flag] = True
                return
            if each.get(flag) is True:
                each[flag] = False
