"""Attacks 11 to 13 on tokens, against a server on a socket, and keys that rotate under it."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import httpx
import jwt
import pytest
from anyio import create_task_group

from tests.api.callers.tokens.jwks_server import Provider, providing
from tests.api.callers.tokens.made import (
    AUDIENCE,
    NAME,
    claims,
    document,
    private_key,
    public_jwk,
    sign,
    sign_raw,
)
from tests.e2e.conftest import NO_AUTHORITIES, Server, catalog, serving
from tests.waiting import until

REFUSAL = {
    "code": 401,
    "errorType": "UNAUTHORIZED",
    "message": "a valid bearer token is needed",
}


def settings(provider: Provider) -> dict[str, str]:
    return {
        "CATALOG_JWKS": provider.url,
        "CATALOG_JWT_ISSUER": NAME,
        "CATALOG_JWT_AUDIENCE": AUDIENCE,
    }


class Guarded:
    """A server that trusts a provider, and its log."""

    def __init__(self, server: Server, log: Path) -> None:
        self.server = server
        self.log = log

    def ask(self, *authorization: bytes, path: str = "/v1/tables") -> httpx.Response:
        """A GET with these Authorization headers and no other."""
        headers = [(b"authorization", value) for value in authorization]
        return httpx.get(
            str(self.server.http.base_url) + path, headers=headers, verify=NO_AUTHORITIES
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    directory = tmp_path_factory.mktemp("guarded")
    with providing(document(public_jwk("EdDSA"))) as provider, (directory / "log").open("w") as log:
        token = sign(claims(roles=["admin"]), "EdDSA")
        environment = settings(provider)
        with serving(directory / "data", token=token, log=log, **environment) as server:
            yield Guarded(server, directory / "log")


def refused(response: httpx.Response) -> bool:
    body = {key: response.json()[key] for key in REFUSAL}
    challenge = response.headers["WWW-Authenticate"].startswith("Bearer")
    return response.status_code == 401 and body == REFUSAL and challenge


def segments(head: bytes, payload: bytes) -> bytes:
    return sign_raw(head, payload, "EdDSA", private_key("EdDSA")).encode()


HEAD = b'{"alg":"EdDSA","kid":"EdDSA-1"}'
MALFORMED: dict[str, Callable[[bytes, bytes], bytes]] = {
    "more than 8 kB": lambda body, good: segments(HEAD, body[:-1] + b',"x":"%b"}' % (b"x" * 6_200)),
    "2,000 claims": lambda body, good: segments(
        HEAD, body[:-1] + b"".join(b',"%x":1' % number for number in range(2_000)) + b"}"
    ),
    "claim twice": lambda body, good: segments(HEAD, body[:-1] + b',"sub":"root"}'),
    "inner claim twice": lambda body, good: segments(HEAD, body[:-1] + b',"x":{"a":1,"a":2}}'),
    "algorithm twice": lambda body, good: segments(HEAD[:-1] + b',"alg":"none"}', body),
    "header no UTF-8": lambda body, good: segments(HEAD[:-1] + b',"x":"\xff"}', body),
    "claims no UTF-8": lambda body, good: segments(HEAD, body[:-1] + b',"x":"\xc3\x28"}'),
    "bytes above ASCII": lambda body, good: b"\xff\xfe" + good,
    "emoji": lambda body, good: "🔑.🔑.🔑".encode(),
    "deep": lambda body, good: segments(HEAD, b'{"x":' + b"[" * 5_500 + b"]" * 500 + b"}"),
    "claims a list": lambda body, good: segments(HEAD, b"[1]"),
    "no JSON": lambda body, good: segments(HEAD, b"x"),
    "no dot": lambda body, good: good.replace(b".", b""),
    "one dot": lambda body, good: good.rpartition(b".")[0],
    "three dots": lambda body, good: good + b".AAAA",
    "five dots": lambda body, good: good + b".AAAA.AAAA.AAAA",
    "only dots": lambda body, good: b"..",
    "padded": lambda body, good: segments(HEAD, body + b" ") + b"==",
    "plain base64": lambda body, good: good.replace(b"-", b"+").replace(b"_", b"/") + b"+/",
    "space inside": lambda body, good: good[:20] + b" " + good[20:],
    "signature cut": lambda body, good: good[:-2],
    "signature longer": lambda body, good: good + b"AA",
}
"""Malformed tokens, made of the claims of a good one and of that token itself."""


def good_claims() -> bytes:
    return json.dumps(claims(roles=["admin"])).encode()


def good_token() -> bytes:
    """A token that is good for ten minutes from now."""
    return segments(HEAD, good_claims())


def malformed(how: str) -> bytes:
    """A malformed token whose claims, as far as it has any, are good now."""
    body = good_claims()
    return MALFORMED[how](body, segments(HEAD, body))


@pytest.mark.parametrize("how", MALFORMED)
def test_hostile_11_malformed_token_is_refused_at_once(guarded: Guarded, how: str) -> None:
    assert guarded.ask(b"Bearer " + good_token()).status_code == 200
    headers, requests = [(b"authorization", b"Bearer " + malformed(how))], 20
    with httpx.Client(base_url=guarded.server.http.base_url, verify=NO_AUTHORITIES) as client:
        before = guarded.server.cpu_seconds()
        for _ in range(requests):
            response = client.get("/v1/tables", headers=headers)
            assert refused(response), response.text
        spent = guarded.server.cpu_seconds() - before

    assert spent / requests < 0.005


def test_hostile_11_nothing_of_a_token_is_logged(guarded: Guarded) -> None:
    tokens = [
        *map(malformed, MALFORMED),
        good_token(),
        sign(claims(), "EdDSA", kid="unknown-kid").encode(),
    ]
    for token in tokens:
        guarded.ask(b"Bearer " + token)
        guarded.ask(b"Basic " + token, path="/v1/tables/name/x")

    logged = guarded.log.read_bytes()
    for token in tokens:
        for part in token.split(b"."):
            assert len(part) < 8 or part not in logged
    assert b"unknown-kid" not in logged
    assert b"Traceback" not in logged


def test_hostile_12_scheme_is_bearer_in_any_case(guarded: Guarded) -> None:
    good = good_token()
    for scheme in (b"Bearer", b"bearer", b"BEARER", b"bEaReR"):
        assert guarded.ask(scheme + b" " + good).status_code == 200
    for header in (
        b"Basic " + good,
        b"Basic YW5uOnNlY3JldA==",
        b"Digest " + good,
        b"Bearer",
        b"Bearer  " + good,
        b"Bearer," + good,
        b"Bearer: " + good,
        b"Token " + good,
        good,
        b"Bearer " + good + b", Bearer " + good,
        b"Bearer " + good + b" " + good,
        b"",
    ):
        assert refused(guarded.ask(header)), header


def test_access_log_tells_why_a_token_was_refused(guarded: Guarded) -> None:
    good = good_token()
    given = {
        "token has expired": [b"Bearer " + sign(claims(exp=1), "EdDSA").encode()],
        "token is for another audience": [b"Bearer " + sign(claims(aud="x"), "EdDSA").encode()],
        "unknown key": [b"Bearer " + sign(claims(), "ES256").encode()],
        "more than one Authorization header": [b"Bearer " + good, b"Bearer " + good],
        "no bearer token": [],
    }
    ids = {guarded.ask(*headers).headers["X-Request-Id"]: why for why, headers in given.items()}

    def logged() -> dict[str, str]:
        lines = map(json.loads, guarded.log.read_text().splitlines())
        return {
            line["request_id"]: line["reason"] for line in lines if line.get("request_id") in ids
        }

    until(lambda: len(logged()) == len(ids))
    assert logged() == ids


def test_hostile_12_two_authorization_headers_are_refused(guarded: Guarded) -> None:
    good = b"Bearer " + good_token()

    assert refused(guarded.ask(good, good))
    assert refused(guarded.ask(b"Basic x", good))
    assert refused(guarded.ask(good, b""))
    assert refused(guarded.ask())


def test_hostile_12_token_in_the_query_is_refused(guarded: Guarded) -> None:
    for name in ("access_token", "token", "authorization", "Authorization", "bearer"):
        assert refused(guarded.ask(path=f"/v1/tables?{name}={good_token().decode()}"))


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tables;x=/v1/system/version",
        "/v1/tables;/v1/system/version",
        "/v1/tables/;x=/healthz",
        "/v1/system/version/../../tables",
        "/v1/system/version/..;/..;/tables",
        "/v1/system/version/%2e%2e/%2e%2e/tables",
        "/v1/system/version%2f..%2f..%2ftables",
        "/docs/%2e%2e/v1/tables",
        "/docs/../v1/tables",
        "/docs//v1/tables",
        "/healthz/../v1/tables",
        "//v1/tables",
        "/v1//tables",
        "/v1/tables/",
        "/v1/tables//",
        "/v1/tables?x=/v1/system/version",
        "/v1/tables#/v1/system/version",
        "/v1/tables%00/v1/system/version",
        "/v1/tables%3b/v1/system/version",
        "/V1/TABLES",
        "http://x/v1/system/version/../../tables",
        "/v1/tables/name/%2e%2e%2f%2e%2e%2fsystem%2fversion",
        "/v1/system/projections;x=/v1/system/version",
        "/metrics/../healthz/../metrics",
    ],
)
def test_hostile_12_path_that_imitates_a_public_route_opens_nothing(
    guarded: Guarded, path: str
) -> None:
    status, body = raw_get(guarded.server, path)

    assert status in (400, 401, 404)
    assert b'"data"' not in body
    assert b'"paging"' not in body
    assert b'"projections"' not in body


@pytest.mark.parametrize("path", ["/v1/tables", "/v1/tables/name/a;x=/v1/system/version"])
def test_hostile_12_protected_route_is_401_however_it_goes_on(guarded: Guarded, path: str) -> None:
    assert raw_get(guarded.server, path)[0] == 401


def raw_get(server: Server, path: str) -> tuple[int, bytes]:
    """Status and body of a GET whose path nobody has tidied up."""
    address = server.http.base_url
    with socket.create_connection((address.host, address.port or 80), timeout=10) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {address.host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = b""
        while received := connection.recv(65_536):
            answer += received
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


WEAK = json.dumps({"keys": [public_jwk("RS256", bits=1_024)]})


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"CATALOG_JWT_SECRET": ""}, "CATALOG_JWT_SECRET must have at least 32 bytes"),
        ({"CATALOG_JWT_SECRET": "8 bytes!"}, "CATALOG_JWT_SECRET must have at least 32 bytes"),
        ({"CATALOG_JWT_SECRET_FILE": "{}/none"}, "CATALOG_JWT_SECRET_FILE: cannot read a secret"),
        ({"CATALOG_JWKS": "{}/weak.json"}, "CATALOG_JWKS: {}/weak.json: key 'RS256-1' has 1024"),
        ({"CATALOG_JWKS": "{}/empty.json"}, "CATALOG_JWKS: {}/empty.json: no key there is for"),
        ({"CATALOG_JWKS": "{}/none.json"}, "CATALOG_JWKS: {}/none.json: cannot be read"),
        ({"CATALOG_JWKS": "http://idp.example/x"}, "CATALOG_JWKS: 'http://idp.example/x' must be"),
        ({"CATALOG_JWKS": "http://127.0.0.1:1/x"}, "CATALOG_JWKS: http://127.0.0.1:1/x: "),
        ({"CATALOG_ISSUERS": "{}/none.toml"}, "CATALOG_ISSUERS: {}/none.toml: cannot be read"),
        ({"CATALOG_JWT_LEEWAY": "61"}, "CATALOG_JWT_LEEWAY"),
        ({"CATALOG_JWT_MAX_LIFETIME": "0"}, "CATALOG_JWT_MAX_LIFETIME"),
    ],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_hostile_13_catalog_does_not_start_without_good_keys(
    tmp_path: Path, environment: dict[str, str], reason: str, workers: str
) -> None:
    (tmp_path / "weak.json").write_text(WEAK)
    (tmp_path / "empty.json").write_text('{"keys": []}')
    environment = {name: value.format(tmp_path) for name, value in environment.items()}
    if "CATALOG_JWKS" in environment:
        environment |= {"CATALOG_JWT_ISSUER": NAME, "CATALOG_JWT_AUDIENCE": AUDIENCE}
    directory = f"--data={tmp_path / 'data'}"

    done = catalog("serve", "--port=0", "--workers", workers, directory, **environment)

    assert (done.returncode, done.stdout) == (2, "")
    assert reason.format(tmp_path) in done.stderr
    assert "8 bytes!" not in done.stderr


def test_keys_rotate_under_a_running_server(tmp_path: Path) -> None:
    with providing(document(public_jwk("ES256", 1))) as provider:
        old, new = (sign(claims(roles=["admin"]), "ES256", number) for number in (1, 2))
        with serving(tmp_path, token=old, **settings(provider)) as server:
            provider.body = document(public_jwk("ES256", 1), public_jwk("ES256", 2))
            provider.delay = 0.3
            statuses = ask_at_once(server, new, 20)
            provider.status = 500
            unknown = sign(claims(), "ES256", kid="unknown")

            assert statuses == [200] * 20
            assert provider.asked == 2
            assert set(ask_at_once(server, unknown, 20)) == {401}
            assert provider.asked == 2
            assert server.http.get("/v1/tables").status_code == 200


def ask_at_once(server: Server, token: str, requests: int) -> list[int]:
    """Statuses of requests that are under way at the same time."""
    statuses: list[int] = []

    async def ask(client: httpx.AsyncClient) -> None:
        statuses.append((await client.get("/v1/tables")).status_code)

    async def ask_all() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        address = server.http.base_url
        async with (
            httpx.AsyncClient(
                base_url=address, headers=headers, timeout=30, verify=NO_AUTHORITIES
            ) as client,
            create_task_group() as tasks,
        ):
            for _ in range(requests):
                tasks.start_soon(ask, client)

    anyio.run(ask_all)
    return statuses


def test_catalog_signs_for_the_issuer_that_has_a_secret(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret of the test that has more than 32 bytes\n")
    (tmp_path / "keys.json").write_bytes(document(public_jwk("EdDSA")))
    (tmp_path / "issuers.toml").write_text(
        f"""
        [[issuer]]
        issuer = "{NAME}"
        audience = "{AUDIENCE}"
        jwks = "keys.json"

        [[issuer]]
        issuer = "own"
        audience = ["{AUDIENCE}", "other"]
        secret_file = "secret.txt"
        roles_claim = "access.roles"
        """
    )
    environment = {"CATALOG_ISSUERS": str(tmp_path / "issuers.toml")}
    with serving(tmp_path / "data", **environment) as server:
        theirs = {"Authorization": f"Bearer {sign(claims(), 'EdDSA')}"}

        assert server.http.get("/v1/tables").status_code == 200
        assert server.http.get("/v1/tables", headers=theirs).status_code == 200
        assert not (tmp_path / "data" / "secret").exists()


def test_token_lasts_no_longer_than_allowed(tmp_path: Path) -> None:
    command = ["token", "--subject=ann", "--role=reader", f"--data={tmp_path}"]
    for environment, seconds in (({}, 86_400), ({"CATALOG_JWT_MAX_LIFETIME": "600"}, 600)):
        done = catalog(*command, CATALOG_JWT_SECRET="s" * 32, **environment)
        made = jwt.decode(done.stdout.strip(), options={"verify_signature": False})

        assert made["exp"] - made["iat"] == seconds


@pytest.mark.parametrize(
    ("arguments", "environment", "reason"),
    [
        (
            ["--ttl=86401"],
            {},
            "--ttl must be at most CATALOG_JWT_MAX_LIFETIME (86400), got 86401",
        ),
        (
            [],
            {
                "CATALOG_JWKS": "https://idp.example/jwks",
                "CATALOG_JWT_ISSUER": NAME,
                "CATALOG_JWT_AUDIENCE": AUDIENCE,
            },
            "no issuer has a secret to sign with: tokens come from the identity provider",
        ),
    ],
)
def test_token_that_would_not_be_good_is_not_made(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], reason: str
) -> None:
    command = ["token", "--subject=ann", "--role=reader", f"--data={tmp_path}", *arguments]

    done = catalog(*command, **environment)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {reason}\n")
