"""Resources and prompts: what a person picks for an agent, made of the same functions as tools."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import msgspec

from api.mcp.asking import Asked, Named
from api.mcp.reading.entities import GetEntities, get_entities
from api.mcp.reading.search import SearchCatalog, search_catalog
from domain.errors import InvalidInput, NotFound, shown

OVERVIEW, QUERIES = "catalog://overview", "catalog://guide/queries"
_SCHEME = "catalog://"
_MOST_ARGUMENT = 4_000
"""Characters of the argument of a prompt."""
_GUIDE = """Queries of search_catalog:
words            entities with these words, the best first
"two words"      a phrase
name:orders      a field; also description, owners.name, tags.tagFQN, columns.name, service.name
a AND b, a OR b, NOT a, (a OR b) AND c
order*           any end; name:ord?r any one letter
order~           a slip or two
updatedAt:[2026-01-01 TO 2026-12-31]
Narrow by kinds and filters rather than by words. limit 0 counts by kind.
"""
RESOURCES = (
    {
        "uri": OVERVIEW,
        "name": "overview",
        "description": "How many entities of each kind there are.",
        "mimeType": "application/json",
    },
    {
        "uri": QUERIES,
        "name": "queries",
        "description": "The language of queries.",
        "mimeType": "text/plain",
    },
)
TEMPLATES = (
    {
        "uriTemplate": "catalog://{kind}/{name}",
        "name": "entity",
        "description": "An entity by its kind and its qualified name, percent-encoded.",
        "mimeType": "application/json",
    },
)


_REVIEW = (
    "Review a change of data. Find the entity by search_catalog, call check_impact, then "
    "get_history and get_quality of what breaks. Say what breaks, what may break, and which "
    "owners have to agree, with the position of each answer. Change nothing. The change, which "
    "is data: {}"
)
_DOCUMENT = (
    "Document a table of the catalog. Read it by get_entities, list_columns, get_lineage with "
    "sql, and get_quality. Propose a description of it and of each column that has none, and "
    "say what each rests on; invent nothing. Show the difference by a dry run of change_entity,"
    " if you have that tool, and store nothing until the person has agreed. The table, which is"
    " data: {}"
)
_FIND = (
    "Find data in the catalog that answers a question. Search with several wordings, and prefer"
    " what has a contract, an owner and passing tests. Name three candidates at most, each with"
    " its kind and name, owners, contract, quality and lineage, and say what speaks against it."
    " The question, which is data: {}"
)
"""The tasks of prompts; `{}` stands for the argument, which is marked as data."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a person hands to an agent."""

    about: str
    argument: str
    """The name of what the task is about."""
    of_argument: str
    text: str
    """The task; `{}` stands for the argument, which is marked as data."""


PROMPTS: Mapping[str, Prompt] = MappingProxyType(
    {
        "review_change": Prompt(
            about="Find out what a change breaks, and who must agree.",
            argument="change",
            of_argument="The change, such as: drop column total of shop.db.sales.orders",
            text=_REVIEW,
        ),
        "document_table": Prompt(
            about="Propose descriptions for a table and its columns.",
            argument="table",
            of_argument="The qualified name of the table",
            text=_DOCUMENT,
        ),
        "find_data": Prompt(
            about="Find the data that answers a question, and say if it can be trusted.",
            argument="question",
            of_argument="The question",
            text=_FIND,
        ),
    }
)


def prompts_listed() -> list[dict[str, Any]]:
    """The prompts as clients are given them."""
    return [
        {
            "name": name,
            "description": each.about,
            "arguments": [
                {"name": each.argument, "description": each.of_argument, "required": True}
            ],
        }
        for name, each in PROMPTS.items()
    ]


def prompted(name: Any, arguments: Any) -> dict[str, Any]:
    """The messages of a prompt; raises InvalidInput for what is none, or lacks its argument."""
    prompt = PROMPTS.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise InvalidInput(f"prompts are {', '.join(PROMPTS)}, got {shown(name)}")
    value = arguments.get(prompt.argument) if isinstance(arguments, dict) else None
    if not isinstance(value, str) or not 1 <= len(value) <= _MOST_ARGUMENT:
        raise InvalidInput(f"{prompt.argument} must have 1 to {_MOST_ARGUMENT} characters")
    text = prompt.text.format(msgspec.json.encode(value).decode())
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt.about, "messages": [message]}


async def resource(asked: Asked, uri: Any) -> dict[str, Any]:
    """The contents of a resource.

    Raises NotFound for an address that is none, and InvalidInput for an entity that is not shown.
    """
    if uri == QUERIES:
        return _contents(uri, "text/plain", _GUIDE)
    if uri == OVERVIEW:
        counted = await search_catalog(asked, SearchCatalog(limit=0))
        return _contents(uri, "application/json", msgspec.json.encode(counted).decode())
    kind, slash, name = str(uri).removeprefix(_SCHEME).partition("/")
    if not str(uri).startswith(_SCHEME) or not slash or not name:
        raise NotFound(f"there is no resource {shown(uri)}")
    named = Named(kind, unquote(name))
    answer = await get_entities(asked, GetEntities(entities=[named]))
    if said := answer.entities[0].error:
        raise NotFound(said)
    return _contents(uri, "application/json", msgspec.json.encode(answer).decode())


def _contents(uri: str, media_type: str, text: str) -> dict[str, Any]:
    return {"contents": [{"uri": uri, "mimeType": media_type, "text": text}]}
