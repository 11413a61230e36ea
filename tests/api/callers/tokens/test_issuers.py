"""Issuers by settings or in a file, and what is said at start of those that are wrong."""

from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
import pytest

from api.callers.tokens.issuers import Issuer, read_issuers
from api.callers.tokens.minting import find_minter, mint
from api.callers.tokens.secret import warn_of_readers
from api.callers.tokens.verifier import open_verifier
from api.settings import Settings, read_settings
from domain.errors import InvalidInput
from tests.api.callers.tokens.made import document, public_jwk, verify

SECRET = "a secret of the test that has more than 32 bytes"
PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----"
URL = "https://idp.example/jwks"
ONE = {"jwt_issuer": "https://idp.example", "jwt_audience": "catalog"}


def test_catalog_makes_a_secret_of_its_own_if_none_is_named(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path))

    [first], [again] = read_issuers(settings), read_issuers(settings)

    assert first == again
    assert first.secret == (tmp_path / "secret").read_text()
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret", "tokens.lock"]


@pytest.mark.parametrize(("mode", "warnings"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1)])
def test_secret_that_others_can_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warnings: int
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(mode)
    warn_of_readers(tmp_path)

    said = {
        "msg": "others can read the secret: chmod 600",
        "levelname": "WARNING",
        "file": str(tmp_path / "secret"),
        "mode": f"{mode:04o}",
    }
    assert [said.items() <= vars(record).items() for record in caplog.records] == [True] * warnings


def test_damaged_secret_of_its_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")

    with pytest.raises(InvalidInput) as raised:
        open_verifier(Settings(data=str(tmp_path)))

    assert raised.value.message == (
        f"{tmp_path}/secret (remove or mend it) must have at least 32 bytes (256 bits), got 5"
    )


def test_one_issuer_by_settings(tmp_path: Path) -> None:
    settings = read_settings(
        {
            "CATALOG_JWKS": URL,
            "CATALOG_JWT_ISSUER": "https://idp.example",
            "CATALOG_JWT_AUDIENCE": "catalog, other",
            "CATALOG_JWT_ALGORITHMS": "PS256,ES256",
            "CATALOG_JWT_ROLES_CLAIM": "realm_access.roles",
            "CATALOG_JWT_NAME_CLAIM": "email",
        }
    )

    assert read_issuers(settings) == [
        Issuer(
            name="https://idp.example",
            audiences=frozenset({"catalog", "other"}),
            algorithms=("PS256", "ES256"),
            roles_claim="realm_access.roles",
            name_claim="email",
            jwks=URL,
            origin="CATALOG_JWKS",
        )
    ]


def test_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(f"{SECRET}\n")

    [issuer] = read_issuers(Settings(jwt_secret_file=str(tmp_path / "s")))

    assert (issuer.secret, issuer.origin) == (SECRET, "CATALOG_JWT_SECRET_FILE")


def test_several_issuers_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "keys.json").write_bytes(document(public_jwk("ES256")))
    file = tmp_path / "issuers.toml"
    file.write_text(
        """
        [[issuer]]
        issuer = "https://idp.example"
        audience = ["catalog", "other"]
        jwks = "keys.json"
        algorithms = ["ES256"]
        roles_claim = "realm_access.roles"
        name_claim = "email"

        [[issuer]]
        issuer = "own"
        secret_file = "secret.txt"
        """
    )
    settings = Settings(issuers=str(file))

    first, second = read_issuers(settings)
    checked = open_verifier(settings)

    assert first == Issuer(
        name="https://idp.example",
        audiences=frozenset({"catalog", "other"}),
        algorithms=("ES256",),
        roles_claim="realm_access.roles",
        name_claim="email",
        jwks=str(tmp_path / "keys.json"),
        origin=f"CATALOG_ISSUERS: {file}: issuer 'https://idp.example': jwks",
    )
    assert second.name == "own"
    assert find_minter(settings) == second
    caller = verify(checked, mint(second, "ann", ("reader",), 60))
    assert caller is not None
    assert (caller.name, caller.roles) == ("ann", ("reader",))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"jwt_secret": "8 bytes!"},
            "CATALOG_JWT_SECRET must have at least 32 bytes (256 bits), got 8",
        ),
        (
            {"jwt_secret": PEM},
            "CATALOG_JWT_SECRET holds a public or private key, not a secret",
        ),
        (
            {"jwt_secret_file": "/nowhere/secret"},
            "CATALOG_JWT_SECRET_FILE: cannot read a secret from /nowhere/secret",
        ),
        (
            {"jwt_secret": SECRET, "jwks": URL},
            "CATALOG_JWT_SECRET and CATALOG_JWKS are both given;"
            " for several issuers there is CATALOG_ISSUERS",
        ),
        (
            {"jwt_secret": SECRET, "jwt_algorithms": "HS256,RS256"},
            "CATALOG_JWT_ALGORITHMS: 'RS256' does not fit a secret; allowed: HS256",
        ),
        (
            {**ONE, "jwks": URL, "jwt_algorithms": "HS256"},
            "CATALOG_JWT_ALGORITHMS: 'HS256' does not fit a key set; allowed:"
            " RS256, ES256, PS256, EdDSA",
        ),
        (
            {**ONE, "jwks": URL, "jwt_algorithms": "none"},
            "CATALOG_JWT_ALGORITHMS: 'none' does not fit a key set; allowed:"
            " RS256, ES256, PS256, EdDSA",
        ),
        (
            {"jwt_secret": SECRET, "jwt_algorithms": ""},
            "CATALOG_JWT_ALGORITHMS: '' does not fit a secret; allowed: HS256",
        ),
        (
            {"jwks": URL, "jwt_audience": "catalog"},
            "CATALOG_JWT_ISSUER must be given with a key set",
        ),
        (
            {"jwks": URL, "jwt_issuer": "https://idp.example"},
            "CATALOG_JWT_AUDIENCE must be given with a key set",
        ),
        (
            {"jwt_secret": SECRET, "jwt_audience": ""},
            "CATALOG_JWT_AUDIENCE must not be empty",
        ),
        (
            {"jwt_secret": SECRET, "jwt_issuer": ""},
            "CATALOG_JWT_ISSUER must not be empty",
        ),
        (
            {"jwt_secret": SECRET, "jwt_roles_claim": "a..b"},
            "CATALOG_JWT_ROLES_CLAIM must be a claim's name or a dotted path",
        ),
        (
            {**ONE, "jwks": "http://idp.example/jwks"},
            "CATALOG_JWKS: 'http://idp.example/jwks' must be https, or anyone on the network could"
            " forge tokens",
        ),
        (
            {**ONE, "jwks": "/nowhere/keys.json"},
            "CATALOG_JWKS: /nowhere/keys.json: cannot be read: No such file or directory",
        ),
        (
            {"issuers": "/nowhere/issuers.toml"},
            "CATALOG_ISSUERS: /nowhere/issuers.toml: cannot be read: No such file or directory",
        ),
        (
            {"issuers": "/nowhere/issuers.toml", "jwt_audience": "x"},
            "CATALOG_JWT_AUDIENCE is for a single issuer; beside CATALOG_ISSUERS it has no meaning:"
            " say it in that file",
        ),
    ],
)
def test_wrong_setting_is_named_at_start(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        open_verifier(Settings(**settings))

    assert raised.value.message == reason


ENTRY = """[[issuer]]
issuer = "x"
audience = "catalog"
jwks = "keys.json"
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Object missing required field `issuer`"),
        ("issuer = []", " names no issuer"),
        ("[[issuer", "Expected ']]' at the end of an array declaration"),
        ("[[issuer]]\naudience = 'x'", "Object missing required field `issuer` - at `$.issuer[0]`"),
        (ENTRY + "sercet = 1", "Object contains unknown field `sercet` - at `$.issuer[0]`"),
        (ENTRY + "secret_file = 's'", "issuer 'x' needs a name and either jwks or secret_file"),
        (ENTRY.replace("jwks", "#"), "issuer 'x' needs a name and either jwks or secret_file"),
        (ENTRY.replace("audience", "#"), "issuer 'x': audience must be given with a key set"),
        (ENTRY + "algorithms = []", "issuer 'x': algorithms: '' does not fit a key set"),
        (ENTRY + "algorithms = ['RS1']", "issuer 'x': algorithms: 'RS1' does not fit a key set"),
        (ENTRY + ENTRY, "issuer 'x' is there twice"),
        (ENTRY, "keys.json: cannot be read: No such file"),
        (
            ENTRY.replace("keys.json", "http://a.example"),
            "issuer 'x': jwks: 'http://a.example' must",
        ),
        (ENTRY.replace("keys.json", "empty.json"), "empty.json: no key there is for"),
        (
            ENTRY.replace("keys.json", "weak.json"),
            "weak.json: key 'RS256-1' has 1024 bits; RSA keys need at least 2048",
        ),
        (
            ENTRY.replace("jwks", "secret_file").replace("keys.json", "weak.txt"),
            "issuer 'x': secret_file must have at least 32 bytes (256 bits), got 4",
        ),
    ],
)
def test_wrong_issuer_in_the_file_is_named_at_start(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "issuers.toml").write_text(text)
    (tmp_path / "empty.json").write_bytes(document())
    (tmp_path / "weak.json").write_bytes(document(public_jwk("RS256", bits=1_024)))
    (tmp_path / "weak.txt").write_text("weak")

    with pytest.raises(InvalidInput) as raised:
        open_verifier(Settings(issuers=str(tmp_path / "issuers.toml")))

    assert raised.value.message.startswith(f"CATALOG_ISSUERS: {tmp_path}/issuers.toml")
    assert reason in raised.value.message


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, {"sub": "ann", "roles": ["a", "b"]}),
        (
            {"name": "own", "audiences": frozenset({"x"})},
            {"sub": "ann", "roles": ["a", "b"], "iss": "own", "aud": ["x"]},
        ),
        (
            {"roles_claim": "realm_access.roles", "name_claim": "email"},
            {"sub": "ann", "email": "ann", "realm_access": {"roles": ["a", "b"]}},
        ),
        ({"roles_claim": "scope"}, {"sub": "ann", "scope": "a b"}),
    ],
)
def test_minted_token_is_what_its_issuer_accepts(
    parts: dict[str, Any], expected: dict[str, Any]
) -> None:
    token = mint(Issuer(secret=SECRET, **parts), "ann", ("a", "b"), 60)

    made = jwt.decode(token, SECRET, ["HS256"], options={"verify_aud": False})
    assert made.pop("exp") - made.pop("iat") == 60
    assert UUID(made.pop("jti")).version == 4
    assert made == expected


def test_minting_needs_a_secret() -> None:
    with pytest.raises(InvalidInput, match="no issuer has a secret to sign with"):
        find_minter(Settings(**ONE, jwks=URL))
