"""Keys of a key set: those that are taken, for which algorithm, and what is said of the others."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.callers.tokens.keys import read_key_set, secret_key_set
from domain.errors import InvalidInput
from tests.api.callers.tokens.made import ALGORITHMS, document, public_jwk


def read(*jwks: Any, algorithms: tuple[str, ...] = ALGORITHMS) -> tuple[list[Any], list[str]]:
    keys, problems = read_key_set(document(*jwks), algorithms)
    return [(key.key_id, key.algorithm_name) for key in keys.keys], problems


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_key_is_bound_to_the_algorithm_that_it_names(algorithm: str) -> None:
    assert read(public_jwk(algorithm)) == ([(f"{algorithm}-1", algorithm)], [])


def test_key_without_algorithm_is_bound_to_the_first_that_fits() -> None:
    nameless = public_jwk("PS256", alg=None)

    assert read(nameless) == ([("PS256-1", "RS256")], [])
    assert read(nameless, algorithms=("ES256", "PS256")) == ([("PS256-1", "PS256")], [])
    assert read(public_jwk("EdDSA", alg=None)) == ([("EdDSA-1", "EdDSA")], [])
    assert read(public_jwk("ES256", alg=None)) == ([("ES256-1", "ES256")], [])


@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"use": None, "key_ops": ["encrypt"]},
        {"alg": "RSA-OAEP"},
        {"alg": "RS512"},
        {"alg": "HS256"},
        {"alg": None, "kty": "oct"},
        {"alg": None, "kty": "made up"},
    ],
)
def test_keys_for_other_purposes_are_passed_over(members: dict[str, Any]) -> None:
    kept = public_jwk("ES256")

    assert read(public_jwk("RS256", **members), kept) == ([("ES256-1", "ES256")], [])


@pytest.mark.parametrize(
    ("jwk", "problem"),
    [
        (
            public_jwk("RS256", bits=1_024),
            "key 'RS256-1' has 1024 bits; RSA keys need at least 2048",
        ),
        (
            public_jwk("RS256", d="AQAB"),
            "key 'RS256-1' is a private key; publish only its public part and replace it",
        ),
        (
            public_jwk("RS256", n=None),
            "key 'RS256-1' is damaged: no RS256 key can be made of it",
        ),
        (
            public_jwk("ES256", x="AAAA"),
            "key 'ES256-1' is damaged: no ES256 key can be made of it",
        ),
        (
            public_jwk("ES256", crv="P-384"),
            "key 'ES256-1' is of type EC P-384, which does not fit its algorithm ES256",
        ),
        (
            public_jwk("ES256", alg="RS256"),
            "key 'ES256-1' is of type EC P-256, which does not fit its algorithm RS256",
        ),
        (
            public_jwk("RS256", kty=1),
            "key 'RS256-1' is damaged: Expected `str`, got `int` - at `$.kty`",
        ),
        (
            public_jwk("RS256", kid=None, n=""),
            "key number 1 is damaged: no RS256 key can be made of it",
        ),
    ],
)
def test_weak_or_damaged_key_is_left_out_and_named(jwk: Any, problem: str) -> None:
    kept = public_jwk("EdDSA")

    assert read(jwk, kept) == ([("EdDSA-1", "EdDSA")], [problem])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = ("kty", "crv", "alg", "use", "key_ops", "kid", "n", "e", "x", "y")


@settings(deadline=None)  # the first example of an algorithm makes its key, which takes its time
@given(
    st.sampled_from(ALGORITHMS), st.dictionaries(st.sampled_from(MEMBERS), JSON | st.text("Aw_-="))
)
def test_key_of_any_members_is_taken_or_left(algorithm: str, changes: dict[str, Any]) -> None:
    jwk = {**public_jwk(algorithm), **changes}

    keys, problems = read(jwk)

    assert len(keys) + len(problems) <= 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b'{"keys": [1]}',
        b"\xff",
        b'{"keys":' + b"[" * 100_000,
        json.dumps({"keys": [{}] * 65}).encode(),
    ],
)
def test_what_is_no_key_set_is_refused(garbage: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_key_set(garbage, ALGORITHMS)


def test_same_content_is_known_whatever_its_order() -> None:
    one, other = public_jwk("ES256"), public_jwk("EdDSA")
    first, second, third = (
        read_key_set(document(*jwks), ALGORITHMS)[0].content
        for jwks in ((one, other), (other, one), (one,))
    )

    assert first == second != third


def test_secret_must_be_long_and_a_secret() -> None:
    with pytest.raises(InvalidInput, match=r"CATALOG_X must have at least 32 bytes \(256 bits\)"):
        secret_key_set("8 bytes!", "CATALOG_X")
    with pytest.raises(InvalidInput, match="CATALOG_X holds a public or private key, not a secret"):
        secret_key_set(json.dumps(public_jwk("RS256")), "CATALOG_X")
