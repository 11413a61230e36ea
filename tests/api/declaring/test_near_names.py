"""Query parameters that differ from known ones by case or one slip are refused.

Others are let pass, but for lists: one that is passed over might have narrowed or ordered them.
"""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.declaring.near_names import meant_name
from tests.api.conftest import Client

TABLES = "/v1/tables"
SEARCH = "/v1/search/query"
NOBODY = "01a200ad-b3c6-78ec-80bd-630934bbbf07"
SLIPS = [
    ("GET", "/v1/dataContracts", "statsu", "status"),
    ("GET", "/v1/dataContracts", "Limit", "limit"),
    ("GET", "/v1/dataContracts", "limti", "limit"),
    ("GET", TABLES, "datbaseSchema", "databaseSchema"),
    ("GET", TABLES, "database_schema", "databaseSchema"),
    ("GET", TABLES, "field", "fields"),
    ("GET", f"{TABLES}/{NOBODY}", "includes", "include"),
    ("GET", f"{TABLES}/name/a.b", "FIELDS", "fields"),
    ("DELETE", f"{TABLES}/{NOBODY}", "harddelete", "hardDelete"),
    ("DELETE", f"{TABLES}/name/a.b", "hard_delete", "hardDelete"),
    ("DELETE", f"{TABLES}/{NOBODY}", "recursvie", "recursive"),
    ("GET", SEARCH, "sortfield", "sortField"),
    ("GET", SEARCH, "Q", "q"),
    ("GET", SEARCH, "form", "from"),
    ("GET", SEARCH, "queryfilter", "queryFilter"),
    ("GET", SEARCH, "track_total_hit", "track_total_hits"),
    ("GET", "/v1/audit/events", "actro", "actor"),
]


@pytest.mark.parametrize(("method", "path", "slip", "meant"), SLIPS)
def test_slip_is_400_and_names_what_was_meant(
    empty: Client, method: str, path: str, slip: str, meant: str
) -> None:
    status, body = empty.ask(method, f"{path}?{slip}=x")

    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert body["message"] == f"unknown parameter {slip!r}: did you mean {meant!r}?"


@pytest.mark.parametrize(
    "query",
    [
        "bogus=1",
        "x=1&y=2",  # as near to `q` as any letter is
        "entity_id=x",  # an argument of the handler, and no parameter of a query
        "request=x",
        "sort=name&order=asc",
        "=&%00=%ff",
        "&".join(f"p{number}=x" for number in range(2_000)),
    ],
)
def test_unknown_parameters_are_let_pass_but_for_lists(empty: Client, query: str) -> None:
    status, body = empty.ask("GET", f"{TABLES}?{query}")
    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert body["message"].startswith("unknown parameter ")
    assert empty.ask("GET", f"{SEARCH}?q=*&{query}")[0] == 200
    assert empty.ask("GET", f"{TABLES}/{NOBODY}?{query}")[0] == 404


@pytest.mark.parametrize(
    "given_name",
    [
        "offset",
        "page",
        "sort",
        "sortBy",
        "sortOrder",
        "orderBy",
        "orderByLastExecutionDate",
        "q",
        "tags",
        "displayName",
        "certification",
        "ownerId",
        "domainId",
    ],
)
def test_list_names_what_it_takes_in_place_of_what_would_narrow_or_order_it(
    empty: Client, given_name: str
) -> None:
    for value in ("x", "1", ""):
        status, body = empty.ask("GET", f"/v1/users?{given_name}={value}")
        assert (status, body["message"]) == (
            400,
            f"unknown parameter {given_name!r}: this list takes limit, before, after, fields,"
            " include, team, domain, at, asOf",
        )
    assert empty.ask("GET", f"/v1/users?limit=5&{given_name}=x&domain=y")[0] == 400


def test_other_lists_refuse_what_they_do_not_take(empty: Client) -> None:
    for path in ("/v1/audit/events", f"{TABLES}/{NOBODY}/columns", f"{TABLES}/name/a.b/columns"):
        status, body = empty.ask("GET", f"{path}?owner=ann")
        assert (status, body["message"].partition(":")[0]) == (400, "unknown parameter 'owner'")
        assert ": this list takes " in body["message"]


def edits(name: str, alphabet: str) -> set[str]:
    """Everything that one slip makes of a name, built edit by edit."""
    splits = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    made = {a + b[1:] for a, b in splits if b}
    made |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    made |= {a + c + b[1:] for (a, b), c in product(splits, alphabet) if b}
    made |= {a + c + b for (a, b), c in product(splits, alphabet)}
    return made


@given(st.text("abcd", min_size=4, max_size=6), st.text("abcd", max_size=7))
def test_meant_name_is_one_edit_away(known: str, given_name: str) -> None:
    near = given_name in edits(known, "abcd") or given_name == known

    assert meant_name(given_name, [known]) == (known if near else None)
    assert meant_name(given_name.upper(), [known]) == (known if near else None)


def test_meant_name_prefers_the_same_letters() -> None:
    known: Any = ["databases", "DataBase"]

    assert meant_name("database", known) == "DataBase"
    assert meant_name("databasse", known) == "databases"
