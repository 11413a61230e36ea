"""Reasons for which tokens are refused: what the log says, and what callers are told."""

from typing import Any

import anyio
import pytest
from jwt.utils import base64url_encode

from api.callers.tokens.issuers import Issuer
from api.callers.tokens.keys import secret_key_set
from api.errors import Unauthorized
from api.refusals import Refusal
from tests.api.callers.tokens.made import (
    LEEWAY,
    MAX_LIFETIME,
    Clock,
    cached,
    claims,
    issuer,
    public_jwk,
    sign,
    start,
    verifier,
)

NOW = Clock()()
INVALID = 'Bearer realm="catalog", error="invalid_token", error_description='
NOT_ACCEPTED = f'{INVALID}"the token is not accepted here"'
TIMES: list[tuple[dict[str, Any], Refusal, str]] = [
    ({"exp": NOW - LEEWAY}, Refusal.EXPIRED, "the token has expired"),
    ({"exp": NOW - 1e9}, Refusal.EXPIRED, "the token has expired"),
    ({"nbf": NOW + LEEWAY + 1}, Refusal.NOT_YET, "the token is not valid yet"),
    ({"iat": NOW + LEEWAY + 1}, Refusal.NOT_YET, "the token is not valid yet"),
    (
        {"exp": NOW + MAX_LIFETIME + LEEWAY + 1},
        Refusal.LIFETIME,
        "the token lives longer than allowed",
    ),
]


def refusal(token: str, scheme: str = "Bearer ") -> Refusal:
    """Return the reason for which a verifier with a key for each algorithm refuses a token."""
    checked = verifier(max_lifetime=MAX_LIFETIME, clock=Clock(NOW))
    with pytest.raises(Unauthorized) as raised:
        anyio.run(checked.verify, f"{scheme}{token}".encode())
    return raised.value.refusal


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("", Refusal.NO_TOKEN),
        ("a" * 9_000, Refusal.MALFORMED),
        ("a.b", Refusal.MALFORMED),
        (sign(claims(exp="1")), Refusal.MALFORMED),
        (sign(claims(), crit=["exp"]), Refusal.MALFORMED),
        (sign(claims(), typ="logout+jwt"), Refusal.TYPE),
        (sign(claims(iss="https://other.example")), Refusal.ISSUER),
        (sign(claims(), alg="HS256"), Refusal.ALGORITHM),
        (sign(claims(aud="other")), Refusal.AUDIENCE),
        (sign(claims(aud=None)), Refusal.AUDIENCE),
        (sign(claims(), kid="gone"), Refusal.KEY),
        (sign(claims())[:-4] + "AAAA", Refusal.SIGNATURE),
        (sign(claims(), number=2, kid="RS256-1"), Refusal.SIGNATURE),
        (sign(claims(sub="")), Refusal.NAME),
        (sign(claims(sub="a\nb")), Refusal.NAME),
        (sign(claims(roles="admin")), Refusal.ROLES),
        (sign(claims(roles=["a\nb"])), Refusal.ROLES),
    ],
    # A token has a time in it, and all processes of a run must name the test alike.
    ids=lambda given: given.name if isinstance(given, Refusal) else "token",
)
def test_refusal_is_told_apart_for_the_log_alone(token: str, expected: Refusal) -> None:
    found = refusal(token)

    assert found == expected
    without = Refusal.NO_TOKEN
    assert found.challenge == ('Bearer realm="catalog"' if found == without else NOT_ACCEPTED)


def test_request_without_a_bearer_token_has_no_error_in_its_challenge() -> None:
    assert refusal(sign(claims()), scheme="Basic ") == Refusal.NO_TOKEN
    assert Refusal.SEVERAL.challenge == Refusal.NO_TOKEN.challenge == 'Bearer realm="catalog"'


@pytest.mark.parametrize(("changes", "expected", "told"), TIMES)
def test_times_are_told_without_regard_to_who_signed(
    changes: dict[str, Any], expected: Refusal, told: str
) -> None:
    changes = {"iat": NOW, "exp": NOW + 600, **changes}
    head, payload, _ = sign(claims(**changes)).split(".")
    tokens = [
        sign(claims(**changes)),
        f"{head}.{payload}.",
        f"{head}.{payload}.{base64url_encode(bytes(256)).decode()}",
        sign(claims(**changes), number=2),
        sign(claims(**changes), kid="gone"),
        sign(claims(**changes), alg="none"),
        sign(claims(**changes, iss="https://other.example")),
        sign(claims(**changes, aud="other", roles="admin")),
    ]

    found = {(refusal(token), refusal(token).challenge) for token in tokens}

    assert found == {(expected, f'{INVALID}"{told}"')}


def test_remembered_token_is_refused_as_a_new_one() -> None:
    clock = Clock()
    token = f"Bearer {sign(claims(clock))}".encode()
    secret = secret_key_set("a secret of the test that has more than 32 bytes", "the secret")
    for trusted in ((), ((issuer(), cached([public_jwk("RS256")])), (Issuer(), start(secret)))):
        checked = verifier(*trusted, clock=clock)
        anyio.run(checked.verify, token)
        clock.now += 601 + LEEWAY
        with pytest.raises(Unauthorized) as raised:
            anyio.run(checked.verify, token)
        assert raised.value.refusal == Refusal.EXPIRED
        clock.now -= 601 + LEEWAY
