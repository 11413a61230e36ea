"""Filter JSON (`queryFilter`, `postFilter`) to the query tree.

The JSON is read with its limits first, so that no input is costly; the clauses themselves are in
`filter_clauses`. Every error names the parameter, the clause and its JSON path.
"""

import json
from typing import Any

from domain.errors import InvalidInput
from domain.patches.json_input import is_deeper
from projections.search import tree
from projections.search.language.dates import Now
from projections.search.language.filter_clauses import Clauses
from projections.search.tree import Node

MAX_BYTES = 64 * 1024
MAX_NESTING = 80
"""The most brackets inside each other, enough for MAX_DEPTH clauses."""


def parse(data: bytes, *, where: str = "queryFilter", now: Now | None = None) -> Node:
    """The tree of a filter, bare or under `query`; an empty one is every document.

    `now` is what `now` means in dates that are calculated. Raises InvalidInput
    for anything that is not a filter this catalog carries out entirely.
    """
    if not data.strip():
        return tree.MatchAll()
    value = read(data, where)
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be a JSON object holding one clause")
    path = "$"
    if set(value) == {"query"}:
        value, path = value["query"], "$.query"
    if value == {}:
        return tree.MatchAll()
    return Clauses(where, now).node(value, path)


def read(data: bytes, where: str) -> Any:
    """The JSON value in `data`, within the limits; raises InvalidInput that names `where`."""
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{where} may have {MAX_BYTES} bytes, got {len(data)}")
    too_deep = InvalidInput(f"{where} may be {MAX_NESTING} levels deep")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, value in pairs:
            if key in members:
                raise InvalidInput(f"{where} has the key {key[:80]!r} twice in one object")
            members[key] = value
        return members

    def refuse(constant: str) -> Any:
        raise InvalidInput(f"{where} is not valid JSON: {constant} is no JSON value")

    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        if is_deeper(value, MAX_NESTING):
            raise too_deep
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{where} is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    except UnicodeError as error:
        raise InvalidInput(f"{where} is not valid Unicode: {error}") from None
    except ValueError:
        raise InvalidInput(f"{where} holds a number that is too long") from None
    except RecursionError:
        raise too_deep from None
    return value
