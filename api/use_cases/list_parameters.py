"""The query parameters of lists and single reads, from the registry, and the page they ask for."""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal
from uuid import UUID

from api.callers.permissions import Access, Action
from api.declaring.declared_query import Parameters, query
from domain.errors import InvalidInput
from domain.kinds.entity_kind import FORMER_NAMES, EntityKind
from domain.openmetadata.entity_properties import field_aliases, known_properties
from domain.openmetadata.status_names import StatusNames
from domain.openmetadata.verdicts import KEY as VERDICT
from domain.openmetadata.verdicts import VERDICTS
from projections.entities.list_port import Include, ListRequest
from projections.entities.name_filters import MAX_PATTERN, name_filter
from projections.visibility.withholding import Withheld

DEFAULT_LIMIT = 10


def list_request(
    kind: EntityKind, access: Access, given: Mapping[str, Any], shown: tuple[str, ...]
) -> ListRequest:
    """The page that the parameters of a list ask for; raises InvalidInput or FieldWithheld.

    `shown` are optional fields that the page shows unasked, as far as the caller may see them.
    """
    withheld = access.withheld(Action.LIST, kind.name)
    filters = {name: str(given[name]) for name in kind.list_filters if given[name] is not None}
    if kind.agreement and given[VERDICT] is not None:
        filters[VERDICT] = given[VERDICT]
    patterns = {name: given[name] for name in kind.lists.names if given[name]}
    names = None
    if patterns:
        exclude, by_fqn = given["regexMode"] == "exclude", given["regexFilterByFqn"]
        names = name_filter(kind, patterns, exclude=exclude, by_fqn=by_fqn)
    status, strict = given.get("status"), bool(access.statuses)
    request = ListRequest(
        kind=kind,
        limit=given["limit"],
        fields=tuple(
            dict.fromkeys((*parse_fields(kind, given["fields"], withheld, strict=strict), *shown))
        ),
        before=given["before"],
        after=given["after"],
        include=given["include"],
        status=None if status is None else access.statuses.check(kind, "status", status),
        filters=filters,
        names=names,
        cut=_shown(kind, access.statuses, withheld),
    )
    if withheld:
        for name in filters:
            if name == VERDICT:
                withheld.refuse_field(VERDICT, name)
                continue
            if name in kind.common_filters:
                # Labels of parts are found by it too.
                withheld.refuse_searched(kind.common_filters[name], name)
                continue
            for key in (*kind.filter_keys(name), *kind.also_in):
                withheld.refuse_field(key, name)
        for name in patterns:
            withheld.refuse_field(kind.lists.names[name].key, name)
    return request


def _shown(
    kind: EntityKind, statuses: StatusNames, withheld: Withheld | None
) -> Callable[[bytes], bytes] | None:
    """Return a function that cuts an item's JSON to what a caller sees; None to show all."""
    cut = withheld.cut if withheld else None
    if not (statuses and kind.statuses):
        return cut
    named = partial(statuses.shown, kind)
    return named if cut is None else lambda item: named(cut(item))


def list_parameters(kind: EntityKind) -> Parameters:
    """The query parameters of a kind's list, from the registry."""
    limit = "The most items on the page; 0 gives only the total."
    parameters: dict[str, tuple[Any, Any]] = {
        "limit": query(int, limit, DEFAULT_LIMIT, ge=0, le=kind.lists.limit),
        "before": query(str, "Cursor from `paging.before`: the page before it.", schema=_CURSOR),
        "after": query(str, "Cursor from `paging.after`: the page after it.", schema=_CURSOR),
        **single_parameters(kind),
    }
    if kind.statuses:
        schema = {"enum": list(kind.statuses)}
        parameters[VERDICT] = query(
            Literal.__getitem__(VERDICTS),
            "Only those with this verdict, as it was when they were last judged.",
        )
        parameters["status"] = query(str, "Only those in this status.", schema=schema)
    for name in kind.filters:
        if name in kind.common_filters:
            continue
        by_id = name in kind.lists.by_id
        value = "id" if by_id else "qualified name"
        keys = " or ".join(f"`{each}`" for each in kind.filter_keys(name))
        about = f"Only those whose {keys} has this {value}."
        parameters[name] = query(UUID if by_id else str, about)
    for name in kind.common_filters:
        parameters[name] = query(str, _COMMON[name])
    for name, part in kind.lists.names.items():
        about = f"A regular expression of RE2 that matches a part of the name in `{part.key}`."
        parameters[name] = query(str, about, schema=_REGEX)
    if kind.lists.names:
        parameters |= _HOW_NAMES_ARE_MATCHED
    return parameters


_OTHERS = "Other properties that the kind has in OpenMetadata may be named and add nothing."
_CURSOR = {"type": "string", "format": "page-cursor"}
_REGEX = {"type": "string", "format": "name-regex", "maxLength": MAX_PATTERN}


def single_parameters(kind: EntityKind) -> Parameters:
    """The query parameters of reading one entity."""
    names = ", ".join((*kind.optional, *field_aliases(kind.name)))
    members = f" Of one entity also {', '.join(kind.members)}." if kind.members else ""
    field = f"({'|'.join(map(re.escape, ('*', *field_names(kind))))})"
    return {
        "fields": query(
            str,
            f"Comma-separated optional fields: {names}.{members} {_OTHERS}",
            schema={"type": "string", "pattern": f"^({field}(,{field})*)?$"},
        ),
        "include": query(Include, "By deletion state.", Include.NON_DELETED),
    }


_COMMON = {
    "owner": "Only those that this user or team owns, by name, qualified name or id.",
    "domain": "Only those in this domain, by name, qualified name or id; not those in domains"
    " below it.",
    "tag": "Only those with this tag or glossary term, by name, qualified name or id, or with one"
    " of this classification or glossary. Tags of columns and other parts count too.",
    "tier": "Only those of this tier: `Tier1`, `Tier.Tier1`, or the id of the tag.",
}
"""Descriptions of the filters that kinds have in common, by parameter."""

_HOW_NAMES_ARE_MATCHED: Parameters = {
    "regexMode": query(
        Literal["include", "exclude"],
        "Whether the list shows what matches or what does not.",
        "include",
    ),
    "regexFilterByFqn": query(bool, "Match qualified names rather than names.", False),
}
"""The parameters that say how the regular expressions of a list are meant."""


_MOST_SHOWN = 64
"""Number of characters of a wrong name that the answer repeats."""


def parse_fields(
    kind: EntityKind, text: str | None, withheld: Withheld | None, *, strict: bool
) -> tuple[str, ...]:
    """The optional fields named in a comma-separated list; `*` names all that may be seen.

    With `strict` that is not the verdict, and former names are never among them: OpenMetadata's
    client refuses keys of others.

    Properties that every answer shows, and those that OpenMetadata has and this catalog does not
    hold, may be named too and add nothing. Raises InvalidInput naming the first field that the
    kind does not have, or FieldWithheld.
    """
    fields: dict[str, None] = {}
    for name in named_in(text):
        if name == "*":
            fields.update(dict.fromkeys(kind.optional))
            if strict:
                fields.pop(VERDICT, None)
                fields.pop(FORMER_NAMES, None)
            continue
        field = field_aliases(kind.name).get(name, name)
        if field not in known_properties(kind.name):
            said = f"fields: Invalid field name {name[:_MOST_SHOWN]}"
            if near := get_close_matches(name[:_MOST_SHOWN], field_names(kind)):
                raise InvalidInput(f"{said}: did you mean {', '.join(near)}?")
            allowed = ", ".join((*kind.optional, *field_aliases(kind.name)))
            raise InvalidInput(f"{said}; allowed are {allowed}")
        if withheld:
            withheld.refuse_field(field, "fields")
        if field in kind.optional and not (strict and field == FORMER_NAMES):
            fields[field] = None
    return tuple(fields)


def named_in(text: str | None) -> list[str]:
    """The names in a comma-separated list."""
    return [name.strip() for name in text.split(",")] if text else []


def field_names(kind: EntityKind) -> list[str]:
    """Every name that `fields` accepts for a kind, but for `*`."""
    return sorted(known_properties(kind.name).union(field_aliases(kind.name)))
