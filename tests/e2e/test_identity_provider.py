"""The catalog with a real OpenID provider (the npm package oidc-provider) on loopback.

`make test` installs it where it finds node 20 and npm; skipped without.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.conftest import running
from tests.api.pages.conftest import HTML
from tests.depth import first_alone
from tests.e2e.conftest import NO_AUTHORITIES, serving

ROOM = Path(__file__).parent / "identity_provider"
CLIENT, SECRET = "ingestion", "the secret of a client that exists in this test only"
AUDIENCE = "urn:catalog"

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    pytest.mark.skipif(
        not (ROOM / "node_modules" / "oidc-provider").exists(),
        reason="oidc-provider is not installed: npm ci --prefix tests/e2e/identity_provider",
    ),
]


class IdentityProvider:
    """A running provider."""

    def __init__(self, process: subprocess.Popen[str], issuer: str) -> None:
        self.process = process
        self.issuer = issuer

    def get(self, path: str) -> Any:
        """A document of the provider."""
        return httpx.get(self.issuer + path, verify=NO_AUTHORITIES).raise_for_status().json()

    def token(self, resource: str = AUDIENCE, scope: str = "reader") -> str:
        """An access token by the client credentials grant (RFC 6749, 4.4)."""
        form = {"grant_type": "client_credentials", "resource": resource, "scope": scope}
        address = self.get("/.well-known/openid-configuration")["token_endpoint"]
        answer = (
            httpx.post(address, data=form, auth=(CLIENT, SECRET), verify=NO_AUTHORITIES)
            .raise_for_status()
            .json()
        )
        assert answer["token_type"] == "Bearer"
        return str(answer["access_token"])

    def settings(self, **changes: str) -> dict[str, str]:
        """The catalog's settings for this provider, by its own discovery document."""
        found = self.get("/.well-known/openid-configuration")
        return {
            "CATALOG_JWKS": found["jwks_uri"],
            "CATALOG_JWT_ISSUER": found["issuer"],
            "CATALOG_JWT_AUDIENCE": AUDIENCE,
            "CATALOG_JWT_ROLES_CLAIM": "realm_access.roles",
            **changes,
        }


@contextmanager
def providing(algorithm: str) -> Iterator[IdentityProvider]:
    """A provider that signs with an algorithm, until the block ends."""
    command = ["node", str(ROOM / "provider.js"), algorithm, AUDIENCE, SECRET]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            issuer = process.stdout.readline().strip()
            assert issuer.startswith("http://127.0.0.1:"), "the provider did not start"
            yield IdentityProvider(process, issuer)
        finally:
            process.terminate()


def status(server: Any, token: str, path: str = "/v1/tables") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    answered: int = server.http.get(path, headers=headers).status_code
    return answered


@pytest.mark.parametrize("algorithm", first_alone("RS256", "ES256", "PS256", "EdDSA"))
def test_client_of_the_provider_works_with_the_catalog(tmp_path: Path, algorithm: str) -> None:
    with providing(algorithm) as provider:
        token = provider.token()
        environment = provider.settings()
        own = {"CATALOG_JWT_ALGORITHMS": algorithm}
        with serving(tmp_path, token=token, **environment, **own) as server:
            service = server.post(
                "/v1/services/databaseServices", name="service", serviceType="Mysql"
            )

            assert service["updatedBy"] == CLIENT
            assert status(server, token, "/metrics") == 403  # the token says editor, not admin
            assert status(server, provider.token(resource="urn:other")) == 401
            assert status(server, token[:-4] + "AAAA") == 401

            provider.process.terminate()
            provider.process.wait(10)
            assert status(server, token) == 200


def test_scope_may_hold_the_roles(tmp_path: Path) -> None:
    with providing("RS256") as provider:
        token = provider.token(scope="reader")
        environment = provider.settings(CATALOG_JWT_ROLES_CLAIM="scope")
        with serving(tmp_path, token=token, **environment) as server:
            body = {"name": "service", "serviceType": "Mysql"}

            refused = server.http.post("/v1/services/databaseServices", json=body)

            assert (status(server, token), refused.status_code) == (200, 403)


def test_other_provider_is_not_believed(tmp_path: Path) -> None:
    with providing("ES256") as provider, providing("ES256") as other:
        token = provider.token()
        with serving(tmp_path, token=token, **provider.settings()) as server:
            assert status(server, token) == 200
            assert status(server, other.token()) == 401


PUBLIC = "https://catalog.example"


def come_back(client: httpx.Client, address: str) -> str:
    """Sign in and consent at the provider, as a person does; the address that it leads back to."""
    answer = client.get(address)
    while not answer.headers.get("location", "").startswith(PUBLIC):
        if answer.is_redirect:
            answer = client.send(answer.next_request)  # type: ignore[arg-type]
            continue
        assert answer.status_code == 200, answer.text
        action = re.search(r'action="([^"]*)"', answer.text)
        prompt = re.search(r'name="prompt" value="([^"]*)"', answer.text)
        assert action is not None
        assert prompt is not None
        form = {"prompt": prompt[1], "login": "ada", "password": "any"}
        answer = client.post(action[1], data=form)
    return answer.headers["location"]


def test_person_signs_in_to_the_pages_at_the_provider(tmp_path: Path) -> None:
    with providing("ES256") as provider:
        own = {
            name.removeprefix("CATALOG_").lower(): value
            for name, value in provider.settings().items()
        }
        settings = {
            **own,
            "jwt_secret": None,
            "public_url": PUBLIC,
            "oidc_issuer": provider.issuer,
            "oidc_client_id": "pages",
            "oidc_scope": "openid reader",
        }
        with (
            running(tmp_path, **settings) as catalog,
            httpx.Client(verify=NO_AUTHORITIES) as person,
        ):

            def get(address: str, cookie: str = "") -> Any:
                headers = {**HTML, "Cookie": cookie}
                return catalog.http.get(address, headers=headers, follow_redirects=False)

            assert 'href="/sign-in/provider?to=%2Fbrowse%2Ftable"' in get("/browse/table").text
            started = get("/sign-in/provider?to=/browse/table")
            kept = started.headers["set-cookie"].partition(";")[0]
            back = come_back(person, started.headers["location"]).removeprefix(PUBLIC)

            assert get(back).status_code == 400  # not the browser that has started it
            assert get(re.sub("state=[^&]*", "state=x", back), kept).status_code == 400
            assert get(re.sub("iss=[^&]*", "iss=x", back), kept).status_code == 400
            signed_in = get(back, kept)
            assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/browse/table")
            assert signed_in.headers["set-cookie"].endswith("; Secure")
            session = signed_in.headers["set-cookie"].partition(";")[0]
            assert ">ada</span>" in get("/browse/table", session).text
            assert get(back, kept).status_code == 400  # a code is good once
