"""Access to routes: tokens, roles, and a declared permission on every one of them."""

import asyncio
import time
from typing import Any

import jwt
import pytest
from litestar.handlers import HTTPRouteHandler

from api.callers.permissions import PUBLIC, SIGNED_IN, Action, Permission
from api.callers.policies import DEFAULT_RULES, combine
from tests.api.conftest import SECRET, Client, body_of

PUBLIC_PATHS = {"/healthz", "/readyz", "/v1/system/version"}


def handlers(client: Client) -> list[tuple[str, HTTPRouteHandler]]:
    app: Any = client.http.app
    asyncio.run(app.register_rest())
    return [
        (route.path, handler)
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        if isinstance(handler, HTTPRouteHandler)
    ]


SEARCHING = Permission(Action.SEARCH)


def test_every_route_declares_its_permission(empty: Client) -> None:
    for path, handler in handlers(empty):
        if handler.http_methods == {"OPTIONS"}:
            continue
        needed = handler.opt.get("permission")
        if handler.opt.get("page"):  # tests/api/pages/test_every_page.py asks for each
            assert callable(needed) or isinstance(needed, Permission | str), path
            assert not isinstance(needed, str) or needed in (PUBLIC, SIGNED_IN), path
            continue
        public = path in PUBLIC_PATHS or path.startswith("/docs")
        assert (needed == PUBLIC) == public, path
        assert public or isinstance(needed, Permission), path


def bearer(claims: dict[str, Any], secret: str = SECRET, algorithm: str = "HS256") -> str:
    return "Bearer " + jwt.encode(claims, secret, algorithm=algorithm)


def good(**changes: Any) -> dict[str, Any]:
    claims = {"sub": "ann", "roles": ["reader"], "exp": time.time() + 7_200, **changes}
    return {key: value for key, value in claims.items() if value is not None}


BAD_HEADERS = {
    "none": None,
    "empty": "",
    "scheme": "Basic abc",
    "no token": "Bearer",
    "garbage": "Bearer x.y.z",
    "other secret": bearer(good(), "b" * 40),
    "unsigned": "Bearer " + jwt.encode(good(), None, algorithm="none"),
    "expired": bearer(good(exp=time.time() - 100)),
    "no expiry": bearer(good(exp=None)),
    "no subject": bearer(good(sub=None)),
    "roles not a list": bearer(good(roles="admin")),
    "not yet": bearer(good(nbf=time.time() + 1000)),
    "other algorithm": bearer(good(), algorithm="HS512"),
    "too long": "Bearer " + "a" * 9_000,
}


INVALID = 'Bearer realm="catalog", error="invalid_token", error_description='
NOT_ACCEPTED = f'{INVALID}"the token is not accepted here"'
CHALLENGES = {
    **dict.fromkeys(["", "Basic abc", "Bearer"], 'Bearer realm="catalog"'),
    BAD_HEADERS["expired"]: f'{INVALID}"the token has expired"',
    BAD_HEADERS["not yet"]: f'{INVALID}"the token is not valid yet"',
}
"""Header -> what is answered to it, but for NOT_ACCEPTED."""


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_request_without_a_good_token_is_401(empty: Client, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for path in ("/v1/dataContracts", "/v1/search/query?q=x", "/v1/tables?limit=bad"):
        response = empty.http.get(path, headers=headers)

        assert response.status_code == 401
        assert body_of(response) == {
            "code": 401,
            "errorType": "UNAUTHORIZED",
            "message": "a valid bearer token is needed",
        }
        assert response.headers["WWW-Authenticate"] == CHALLENGES.get(header or "", NOT_ACCEPTED)


def test_token_may_stand_in_the_header_that_datacontract_cli_sends(empty: Client) -> None:
    token = bearer(good())
    key = {"X-Api-Key": token.removeprefix("Bearer ")}
    for _ in range(2):  # the second time the token is known
        assert empty.http.get("/v1/tables", headers=key).status_code == 200
        assert empty.http.get("/v1/tables", headers={"Authorization": token}).status_code == 200
        both = {**key, "Authorization": token}
        assert empty.http.get("/v1/tables", headers=both).status_code == 401
    assert empty.http.get("/v1/tables", headers={"X-Api-Key": token}).status_code == 401


def test_scheme_is_matched_in_any_case(empty: Client) -> None:
    header = bearer(good()).replace("Bearer", "bEARER")

    assert empty.http.get("/v1/tables", headers={"Authorization": header}).status_code == 200


@pytest.mark.parametrize(
    ("role", "method", "path", "status"),
    [
        ("reader", "GET", "/v1/dataContracts", 200),
        ("reader", "GET", "/v1/search/query?q=x", 200),
        ("reader", "POST", "/v1/tables", 403),
        ("reader", "PUT", "/v1/tables", 403),
        ("reader", "GET", "/v1/system/projections", 403),
        ("reader", "GET", "/metrics", 403),
        ("editor", "POST", "/v1/tables", 400),
        ("editor", "GET", "/v1/system/projections", 403),
        ("admin", "GET", "/v1/system/projections", 200),
        ("nobody", "GET", "/v1/dataContracts", 403),
        ("nobody", "GET", "/v1/dataContracts?limit=bad", 403),
        ("nobody", "GET", "/v1/search/query?q=(", 403),
    ],
)
def test_role_decides(empty: Client, role: str, method: str, path: str, status: int) -> None:
    response = empty.request(method, path, role=role)

    assert response.status_code == status, response.text
    if status == 403:
        assert response.json()["errorType"] == "FORBIDDEN"


def test_access_is_what_a_role_grants() -> None:
    reader = combine(DEFAULT_RULES, ("reader",))

    assert reader.may(Permission(Action.LIST, "table"))
    assert not reader.may(Permission(Action.CREATE, "table"))
    assert not reader.may(Permission(Action.OPERATE))
    assert combine(DEFAULT_RULES, ("reader", "editor")).may(Permission(Action.CREATE, "table"))
    assert not combine(DEFAULT_RULES, ()).may(Permission(Action.LIST, "table"))
    assert not combine(DEFAULT_RULES, ("nobody",)).may(Permission(Action.SEARCH))
