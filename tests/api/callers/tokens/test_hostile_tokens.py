"""Attacks 1 to 10 on tokens; 11 to 13 need a socket and are in tests/e2e/test_tokens.py."""

import json
import socket
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from api.callers.tokens.issuers import Issuer
from api.callers.tokens.keys import secret_key_set
from tests.api.callers.tokens.jwks_server import providing
from tests.api.callers.tokens.made import (
    AUDIENCE,
    LEEWAY,
    MAX_LIFETIME,
    NAME,
    Clock,
    cached,
    claims,
    document,
    issuer,
    private_key,
    public_jwk,
    sign,
    sign_raw,
    start,
    verifier,
    verify,
)
from tests.api.callers.tokens.test_key_cache import open_keys

SECRET = "a secret of the test that has more than 32 bytes"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any connection or file that is opened from here on fails the test."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)


def join(head: Any, payload: Any, signature: bytes = b"") -> str:
    parts = [json.dumps(head).encode(), json.dumps(payload).encode(), signature]
    return b".".join(map(base64url_encode, parts)).decode()


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "NONE", "", None])
@pytest.mark.parametrize("signature", [b"", b"x", b"\0" * 256])
def test_hostile_01_unsigned_token_is_refused(algorithm: str | None, signature: bytes) -> None:
    with_secret = verifier((Issuer(), start(secret_key_set(SECRET, "the secret"))))
    for key_id in ("RS256-1", None):
        head = {"alg": algorithm, "typ": "JWT", "kid": key_id}

        assert verify(verifier(), join(head, claims(), signature)) is None
        assert verify(with_secret, join(head, claims(iss=None, aud=None), signature)) is None
    assert verify(verifier(), sign(claims()).rpartition(".")[0] + ".") is None


def forms_of_public_key() -> dict[str, bytes]:
    public = private_key("RS256").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return {
        "pem": pem,
        "pem without newline": pem.rstrip(),
        "pem with newlines": pem + b"\n",
        "pkcs1": public.public_bytes(Encoding.PEM, PublicFormat.PKCS1),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(public_jwk("RS256")).encode(),
        "modulus": public_jwk("RS256")["n"].encode(),
        "nothing": b"",
    }


@pytest.mark.parametrize("form", forms_of_public_key())
def test_hostile_02_public_key_is_no_secret(form: str) -> None:
    key = forms_of_public_key()[form]
    for name in ("HS256", "HS384", "HS512"):
        for key_id in ("RS256-1", None):
            head = json.dumps({"alg": name, "kid": key_id}).encode()
            token = sign_raw(head, json.dumps(claims()).encode(), name, key)

            assert verify(verifier(), token) is None


def test_hostile_03_key_is_good_for_its_own_algorithm_only() -> None:
    keys = cached([public_jwk("RS256"), public_jwk("PS256", number=1, kid="PS256-1")])
    checked = verifier((issuer(), keys))
    body = json.dumps(claims()).encode()
    for bound in ("RS256", "PS256"):
        for said in ("RS256", "PS256", "RS384", "RS512", "HS256"):
            for key_id in (f"{bound}-1", None):
                for truly in ("RS256", "PS256"):
                    head = json.dumps({"alg": said} | ({"kid": key_id} if key_id else {})).encode()
                    token = sign_raw(head, body, truly, private_key(bound))

                    good = said == truly == bound
                    assert (verify(checked, token) is not None) == good, (bound, said, truly)


def test_hostile_03_algorithm_that_the_issuer_does_not_allow_is_refused() -> None:
    keys = cached([public_jwk("RS256"), public_jwk("ES256")])
    checked = verifier((issuer(algorithms=("RS256",)), keys))

    assert verify(checked, sign(claims())) is not None
    assert verify(checked, sign(claims(), "ES256")) is None


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    "key_id",
    [
        "../../etc/passwd",
        "/dev/null",
        "' OR 1=1--",
        "k" * 5_000,
        "k" * 10_000,
        "RS256-1\0",
        "https://evil.example/keys",
        "",
        7,
        ["RS256-1"],
        {"x": 1},
    ],
)
def test_hostile_04_key_id_is_compared_and_nothing_else(key_id: Any) -> None:
    assert verify(verifier(), sign(claims(), kid=key_id)) is None


@pytest.mark.parametrize("failing", [False, True])
def test_hostile_05_random_key_ids_cause_one_look_a_minute(failing: bool) -> None:
    clock = Clock(0)
    with providing(document(public_jwk("EdDSA"))) as provider:
        keys = open_keys(provider, clock)
        checked = verifier((issuer(), keys))
        if failing:
            provider.status = 500
        for number in range(1_000):
            clock.now += 0.1
            assert verify(checked, sign(claims(), "EdDSA", kid=f"random-{number}")) is None

        assert provider.asked == 1 + 2  # the start, and two looks in 100 seconds
        assert verify(checked, sign(claims(), "EdDSA")) is not None


def test_hostile_05_bad_tokens_cause_no_look_at_all() -> None:
    with providing(document(public_jwk("EdDSA"))) as provider:
        checked = verifier((issuer(), open_keys(provider, Clock(0))))
        for changes in ({"exp": 1}, {"aud": "other"}, {"iss": "other"}, {"nbf": 1e12}):
            assert verify(checked, sign(claims(**changes), "EdDSA", kid="unknown")) is None
        assert verify(checked, sign(claims(), "EdDSA", kid="unknown", alg="HS256")) is None

        assert provider.asked == 1


def test_hostile_06_keys_rotate_and_outlive_an_outage() -> None:
    clock = Clock(0)
    with providing(document(public_jwk("EdDSA", 1))) as provider:
        keys = open_keys(provider, clock)
        checked = verifier((issuer(), keys))
        old, new = (sign(claims(), "EdDSA", number) for number in (1, 2))
        assert (verify(checked, old) is None, verify(checked, new) is None) == (False, True)

        # The look that the new token caused came too early; the next one may come a minute later.
        provider.body = document(public_jwk("EdDSA", 1), public_jwk("EdDSA", 2))
        clock.now += 59
        assert verify(checked, new) is None
        clock.now += 1
        assert verify(checked, new) is not None

        provider.body = document(public_jwk("EdDSA", 2))
        provider.status = 503
        clock.now += 240
        anyio.run(keys.reload_if_due)
        assert verify(checked, old) is not None
        assert verify(checked, new) is not None

        provider.status = 200
        clock.now += 30
        anyio.run(keys.reload_if_due)
        assert verify(checked, old) is None
        assert verify(checked, new) is not None


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("known", [True, False])
def test_hostile_07_keys_that_a_token_brings_are_ignored(known: bool) -> None:
    own = public_jwk("RS256", number=9, kid="RS256-1" if known else "mine")
    url = "https://evil.example/keys"
    for brought in ({"jwk": own}, {"jku": url}, {"x5u": url}, {"x5c": ["AAAA"]}):
        token = sign(claims(), number=9, kid=own["kid"], **brought)

        assert verify(verifier(), token) is None
        assert verify(verifier(), sign(claims(), **brought)) is not None


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["unknown"], "unknown": 1},
        {"crit": ["b64"], "b64": True},
        {"crit": []},
        {"crit": None},
        {"b64": False},
        {"b64": False, "crit": ["b64"]},
        {"zip": "DEF"},
        {"enc": "A256GCM"},
        {"typ": "secevent+jwt"},
    ],
)
def test_hostile_08_what_changes_the_meaning_of_a_token_is_refused(header: dict[str, Any]) -> None:
    head = {"alg": "RS256", "kid": "RS256-1", **header}
    body = json.dumps(claims()).encode()

    token = sign_raw(json.dumps(head).encode(), body, "RS256", private_key("RS256"))

    assert verify(verifier(), token) is None


def test_hostile_08_encrypted_and_nested_tokens_are_refused() -> None:
    inner = sign(claims())
    encrypted = join({"alg": "dir", "enc": "A256GCM"}, {}) + ".AAAA.AAAA"

    assert verify(verifier(), encrypted) is None
    assert verify(verifier(), sign(inner.encode(), cty="JWT")) is None
    assert verify(verifier(), sign(json.dumps(inner).encode(), cty="JWT")) is None


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({"exp": None}, False),
        ({"exp": 1 - LEEWAY}, True),
        ({"exp": -LEEWAY}, False),
        ({"exp": -LEEWAY - 1}, False),
        ({"exp": "600"}, False),
        ({"exp": True}, False),
        ({"exp": [600]}, False),
        ({"iat": None, "exp": MAX_LIFETIME + LEEWAY}, True),
        ({"iat": None, "exp": MAX_LIFETIME + LEEWAY + 1}, False),
        ({"iat": -600, "exp": MAX_LIFETIME - 600 + LEEWAY}, True),
        ({"iat": -600, "exp": MAX_LIFETIME - 600 + LEEWAY + 1}, False),
        ({"iat": LEEWAY}, True),
        ({"iat": LEEWAY + 1}, False),
        ({"iat": "0"}, False),
        ({"nbf": LEEWAY}, True),
        ({"nbf": LEEWAY + 1}, False),
        ({"nbf": "0"}, False),
    ],
)
def test_hostile_09_times_are_held_to_the_leeway(changes: dict[str, Any], good: bool) -> None:
    clock = Clock(1_800_000_000)
    moved = {
        name: clock.now + value if isinstance(value, int | float) and value is not True else value
        for name, value in changes.items()
    }

    token = sign(claims(clock, **moved), "EdDSA")

    assert (verify(verifier(clock=clock), token) is not None) == good


@pytest.mark.parametrize("number", ["-1", "0", "1e308", "1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("name", ["exp", "iat", "nbf"])
def test_hostile_09_absurd_times_are_refused(name: str, number: str) -> None:
    made = claims() | {name: 0}
    body = json.dumps(made).replace(f'"{name}": 0', f'"{name}": {number}').encode()

    found = verify(verifier(), sign(body, "EdDSA"))

    # A start long ago is no reason to refuse; an issue is, as the lifetime is counted from it.
    assert (found is not None) == (name == "nbf" and number in ("-1", "0", "-1e999"))


def test_hostile_09_huge_integers_are_refused() -> None:
    for digits in (400, 5_000):
        body = json.dumps(claims() | {"exp": 0}).replace('"exp": 0', '"exp": ' + "9" * digits)
        assert verify(verifier(), sign(body.encode(), "EdDSA")) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": None},
        {"aud": "other"},
        {"aud": ["other", "another"]},
        {"aud": []},
        {"aud": AUDIENCE.upper()},
        {"aud": AUDIENCE[:-1]},
        {"aud": AUDIENCE + "2"},
        {"aud": "*"},
        {"aud": [AUDIENCE, 7]},
        {"aud": {AUDIENCE: 1}},
        {"iss": None},
        {"iss": "https://idp"},
        {"iss": NAME + "/"},
        {"iss": NAME + ".evil.example"},
        {"iss": "https://evil.example/" + NAME},
        {"iss": [NAME]},
        {"iss": ""},
        {"iss": "*"},
    ],
)
def test_hostile_10_token_of_or_for_somebody_else_is_refused(changes: dict[str, Any]) -> None:
    assert verify(verifier(), sign(claims(**changes))) is None


def test_hostile_10_there_is_no_wildcard() -> None:
    checked = verifier(
        (issuer(name="*", audiences=frozenset({"*"})), cached([public_jwk("RS256")]))
    )

    assert verify(checked, sign(claims())) is None
    assert verify(checked, sign(claims(iss="*"))) is None
    assert verify(checked, sign(claims(aud="*"))) is None
