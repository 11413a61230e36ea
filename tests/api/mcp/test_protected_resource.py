"""Clients that come without a token learn who issues some, where an issuer is configured."""

from pathlib import Path

from domain.events import Via
from tests.api.callers.tokens.made import (
    AUDIENCE,
    NAME,
    claims,
    document,
    public_jwk,
    sign,
)
from tests.api.conftest import Client, running
from tests.api.mcp.agent import headers, message

ADDRESS = "https://catalog.example.org"
PLACE = "/.well-known/oauth-protected-resource"


def guarded(tmp_path: Path, **more: str) -> dict[str, str | None]:
    keys = tmp_path / "keys.json"
    keys.write_bytes(document(public_jwk("RS256")))
    return {
        "jwt_secret": None,
        "jwks": str(keys),
        "jwt_issuer": NAME,
        "jwt_audience": AUDIENCE,
        **more,
    }


def test_metadata_and_challenge_name_each_other(tmp_path: Path) -> None:
    with running(tmp_path, **guarded(tmp_path, public_url=f"{ADDRESS}/")) as client:
        refused = client.http.post("/mcp", json={})
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"] == (
            f'Bearer realm="catalog", resource_metadata="{ADDRESS}{PLACE}/mcp"'
        )
        for path in (PLACE, f"{PLACE}/mcp"):
            assert client.http.get(path).json() == {
                "resource": f"{ADDRESS}/mcp",
                "authorization_servers": [NAME],
                "bearer_methods_supported": ["header"],
            }
        # Other paths are no resource of this metadata.
        refused = client.http.get("/v1/tables")
        assert refused.headers["WWW-Authenticate"] == 'Bearer realm="catalog"'


def test_nothing_is_told_without_a_public_address(tmp_path: Path) -> None:
    with running(tmp_path, **guarded(tmp_path)) as client:
        assert client.http.get(PLACE).status_code == 404


def test_nothing_is_told_where_no_issuer_has_keys(empty: Client) -> None:
    assert empty.http.get(PLACE).status_code == 404
    refused = empty.http.post("/mcp", json={})
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="catalog"'


def test_door_that_is_off_is_no_resource(tmp_path: Path) -> None:
    given = guarded(tmp_path, public_url=ADDRESS)
    with running(tmp_path, mcp="off", **given) as client:
        assert client.http.get(PLACE).status_code == 404


def test_agent_that_a_token_proves_is_recorded_beside_the_person(tmp_path: Path) -> None:
    with running(tmp_path, mcp="write", **guarded(tmp_path)) as client:
        token = sign(claims(sub="ann", roles=["admin"], azp="client", act={"sub": "helper"}))
        given = {"Authorization": f"Bearer {token}"}
        made = {"name": "shop", "serviceType": "Mysql"}
        response = client.http.post("/v1/services/databaseServices", json=made, headers=given)
        assert response.status_code == 201
        arguments = {
            "entity": {"kind": "databaseService", "name": "shop"},
            "version": 0.1,
            "changes": [{"act": "append_description", "text": "A shop."}],
            "dry_run": False,
        }
        call = {"name": "change_entity", "arguments": arguments}
        response = client.http.post(
            "/mcp",
            json=message("tools/call", call, modern=True),
            headers={**given, **headers("tools/call", "change_entity", modern=True)},
        )
        assert response.json()["result"]["structuredContent"]["stored"] is True
        created, changed = client.services.stores.log.read(0, 10, 10)
        assert created.event.via is None
        assert (changed.event.actor, changed.event.via) == (
            "ann",
            Via(door="mcp", what="change_entity", agent="helper", client="tests 1"),
        )
