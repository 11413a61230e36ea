"""Documents judged by the official JSON Schema of the version of ODCS that they declare."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

import msgspec
from jsonschema_rs import Draft201909Validator, RegexOptions

from domain.contracts.canonical import Document
from domain.errors import InvalidInput, shown

KIND = "DataContract"
SCHEMAS = {"v3.0": "3.0.2", "v3.1": "3.1.0", "v3.2": "3.2.0"}
"""Beginning of an `apiVersion` -> the schema that judges it, the newest of its series."""
NEWEST = SCHEMAS["v3.2"]
WRITTEN = "v3.1.0"
"""The `apiVersion` of documents that the catalog makes itself."""
MOST_FAULTS = 100
REFUSED_WITH = 5
"""Faults that the refusal of a strict import names."""
_VERSION = re.compile(r"(v3\.\d{1,4})\.\d{1,4}")
_PLAIN_STEP = re.compile(r"\w+")
_LONGEST = 300
_LARGE = 500
"""The most values of a document, or of a part of it, that is not taken apart to be judged."""
MOST_JUDGED = 5_000
"""The most values that are judged in one piece, in some milliseconds; a larger piece is a fault."""
_PARTS = {"properties": "SchemaProperty", "quality": "DataQuality"}
"""Key of a schema object or property -> definition of the elements of its list."""


class Fault(msgspec.Struct, frozen=True):
    """A place of a document that the schema refuses."""

    path: str
    """JSON path, such as `$.schema[0].name`."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def check_mapping(value: Any) -> Document:
    """The value, if it is a mapping; raises InvalidInput for what is no document at all."""
    if not isinstance(value, dict):
        raise InvalidInput("an ODCS document is a mapping at its top")
    return value


def check_shape(value: Any) -> Document:
    """The value, if it is a document that is taken at all; raises InvalidInput otherwise.

    However lenient an import is, a document is a mapping with an `id`, and of no other `kind` and
    of no other major version of the standard than 3.
    """
    document = check_mapping(value)
    if document.get("kind") != KIND:
        raise InvalidInput(f"kind of an ODCS document is {KIND}, got {shown(document.get('kind'))}")
    version = document.get("apiVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise InvalidInput(f"apiVersion of an ODCS document is v3.x.y, got {shown(version)}")
    if type(document.get("id")) not in (str, int, float) or document["id"] == "":
        raise InvalidInput("an ODCS document needs an id")
    return document


def faults(document: Document, most: int = MOST_FAULTS) -> list[Fault]:
    """The first faults of a document by the schema of its version.

    A version of the standard that is not known is a fault, and the newest schema judges the rest.
    """
    series = _VERSION.fullmatch(str(document.get("apiVersion")))
    schema = SCHEMAS.get(series[1]) if series else None
    first_faults: list[Fault] = []
    if schema is None:
        known = ", ".join(f"{each}.x" for each in SCHEMAS)
        given = shown(document.get("apiVersion"))
        first_faults.append(Fault("$.apiVersion", f"{given} is not known, which are {known}"))
    first_faults += islice(_errors(schema or NEWEST, document), most - len(first_faults))
    return first_faults


def refuse_faults(document: Document) -> None:
    """Raise InvalidInput naming the first faults of a document, if it has any."""
    if found := faults(document, REFUSED_WITH):
        said = "; ".join(map(str, found))
        raise InvalidInput(f"the document is not valid by the schema of its apiVersion: {said}")


def is_quality_rule(rule: dict[str, Any]) -> bool:
    """Return True if the schema of what the catalog writes takes this as a quality rule."""
    return _validator(SCHEMAS[WRITTEN.rpartition(".")[0]], "DataQuality").is_valid(rule)


def _errors(schema: str, document: Document) -> Iterator[Fault]:
    """The faults of a document, which is judged in pieces: the validator holds the interpreter."""
    for path, definition, piece in _pieces(document):
        if _is_larger(piece, MOST_JUDGED):
            yield Fault(_json_path(path), f"more than {MOST_JUDGED} values cannot be judged")
            continue
        for error in _validator(schema, definition).iter_errors(piece):
            message = error.message
            cut = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
            yield Fault(_json_path([*path, *error.instance_path]), cut)


_Piece = tuple[list[str | int], str, Any]
"""A path in a document, the definition of the schema that is about it, and the value there."""


def _pieces(document: Document) -> Iterator[_Piece]:
    """The whole document; of a larger one the parts of its schema by themselves."""
    schema = document.get("schema")
    if not isinstance(schema, list) or not _is_larger(document, _LARGE):
        yield [], "", document
        return
    yield [], "", {**document, "schema": []}
    for place, each in enumerate(schema):
        yield from _pieces_of_element(["schema", place], "SchemaObject", each)


def _pieces_of_element(path: list[str | int], definition: str, element: Any) -> Iterator[_Piece]:
    """A schema object or property; of a larger one its properties and rules by themselves."""
    if not isinstance(element, dict) or not _is_larger(element, _LARGE):
        yield path, definition, element
        return
    lists = {key: each for key in _PARTS if isinstance(each := element.get(key), list)}
    yield path, definition, {**element, **{key: [] for key in lists}}
    for key, parts in lists.items():
        for place, each in enumerate(parts):
            yield from _pieces_of_element([*path, key, place], _PARTS[key], each)


def _is_larger(value: Any, bound: int) -> bool:
    """Return True if a value consists of more than so many values."""
    count, left = 0, [value]
    while left and count <= bound:
        each = left.pop()
        count += 1
        if isinstance(each, dict | list):
            count += len(each) if len(each) > bound else 0
            left += each.values() if isinstance(each, dict) else each
    return count > bound


@cache
def _validator(schema: str, definition: str) -> Draft201909Validator:
    """The validator of a schema, or of one of its definitions if that is not empty."""
    judged = _read(schema)
    if definition:
        judged = {"$defs": judged["$defs"], "$ref": f"#/$defs/{definition}"}
    # The mask keeps values out of the messages: that of each level would repeat all that is below
    # it. The options have patterns matched in linear time.
    return Draft201909Validator(judged, mask="the value", pattern_options=RegexOptions())


def _read(schema: str) -> Any:
    text = files(__package__).joinpath("schemas", f"odcs-{schema}.schema.json").read_bytes()
    return msgspec.json.decode(text)


def _json_path(steps: Sequence[str | int]) -> str:
    """A path as `$.schema[0].name`; keys that are no words stand in brackets."""
    return "$" + "".join(
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if _PLAIN_STEP.fullmatch(step)
        else f"[{shown(step)}]"
        for step in steps
    )
