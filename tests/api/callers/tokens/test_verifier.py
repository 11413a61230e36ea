"""Good tokens, and what of them is remembered."""

import json
from typing import Any

import anyio
import anyio.lowlevel
import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.utils import base64url_encode

from api.callers.permissions import Principal
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.key_cache import CachedKeys
from api.callers.tokens.keys import KeySet, read_key_set, secret_key_set
from tests.api.callers.tokens.made import (
    ALGORITHMS,
    AUDIENCE,
    Clock,
    cached,
    claims,
    document,
    issuer,
    public_jwk,
    sign,
    start,
    verifier,
    verify,
)

ANN = Principal("ann", ("reader",))


class AskedClock(Clock):
    """A clock that knows how often it was asked: a cache asks it each time it looks at its keys."""

    asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return super().__call__()

    async def until_asked(self, times: int) -> None:
        """Wait until the clock has been asked so many times more."""
        until = self.asked + times
        with anyio.fail_after(5):
            while self.asked < until:
                await anyio.lowlevel.checkpoint()


SECRET = "a secret of the test that has more than 32 bytes"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_token_of_every_algorithm_is_good(algorithm: str) -> None:
    checked = verifier()

    assert verify(checked, sign(claims(), algorithm)) == ANN
    assert verify(checked, sign(claims(), algorithm, kid=None)) == ANN
    assert verify(checked, sign(claims(), algorithm, number=2, kid=f"{algorithm}-1")) is None
    assert verify(checked, sign(claims(), algorithm, number=2, kid=None)) is None


def test_token_signed_with_a_shared_secret_is_good() -> None:
    checked = verifier((Issuer(), start(secret_key_set(SECRET, "the secret"))))
    plain = claims(iss=None, aud=None)

    assert verify(checked, jwt.encode(plain, SECRET, "HS256")) == ANN
    assert verify(checked, jwt.encode(plain, SECRET + "!", "HS256")) is None
    assert verify(checked, jwt.encode(claims(iss=None), SECRET, "HS256")) is None
    assert verify(checked, jwt.encode(claims(aud=None), SECRET, "HS256")) is None


def test_issuers_are_told_apart_by_iss_and_trusted_with_their_own_keys_only() -> None:
    other = "https://other.example"
    checked = verifier(
        (issuer(), cached([public_jwk("RS256")])),
        (
            issuer(name=other, audiences=frozenset({"x", "y"}), algorithms=("ES256",)),
            cached([public_jwk("ES256")]),
        ),
    )

    assert verify(checked, sign(claims())) == ANN
    assert verify(checked, sign(claims(iss=other, aud="y"), "ES256")) == ANN
    assert verify(checked, sign(claims(), "ES256")) is None
    assert verify(checked, sign(claims(iss=other, aud="y"))) is None
    assert verify(checked, sign(claims(iss=other), "ES256")) is None


@pytest.mark.parametrize(
    ("path", "extra", "roles"),
    [
        ("roles", {}, ("reader",)),
        ("realm_access.roles", {"realm_access": {"roles": ["a", "b"]}}, ("a", "b")),
        ("https://x.example/roles", {"https://x.example/roles": ["a"]}, ("a",)),
        ("scope", {"scope": "a b"}, ("a", "b")),
        ("scope", {"scope": ["a"]}, ("a",)),
        ("absent", {}, ()),
        ("sub.roles", {}, ()),
        ("groups", {"groups": "admin"}, None),
        ("groups", {"groups": {"admin": True}}, None),
        ("groups", {"groups": ["admin", 1]}, None),
        ("groups", {"groups": ["admin", "\ud800"]}, None),
        ("groups", {"groups": ["admin", "a\nb"]}, None),
        ("scope", {"scope": "admin a\u202eb"}, None),
    ],
)
def test_roles_are_found_where_the_issuer_has_them(
    path: str, extra: dict[str, Any], roles: tuple[str, ...] | None
) -> None:
    checked = verifier((issuer(roles_claim=path), cached([public_jwk("RS256")])))

    found = verify(checked, sign(claims(**extra)))

    assert found == (None if roles is None else Principal("ann", roles))


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"user": {"mail": "ann@x.example"}}, "ann@x.example"),
        ({"user": {"mail": "Ännchen"}}, "Ännchen"),
        ({"user": {"mail": ""}}, None),
        ({"user": {"mail": "a" * 257}}, None),
        ({"user": {"mail": "a\nb"}}, None),
        ({"user": {"mail": "a\ud800"}}, None),
        ({"user": {"mail": ["ann"]}}, None),
        ({"user": {"mail": "ann@x.example"}, "sub": None}, None),
        ({}, None),
    ],
)
def test_name_is_found_where_the_issuer_has_it(extra: dict[str, Any], name: str | None) -> None:
    checked = verifier((issuer(name_claim="user.mail"), cached([public_jwk("RS256")])))

    assert verify(checked, sign(claims(**extra))) == (name and Principal(name, ("reader",)))


def test_remembered_token_still_expires() -> None:
    clock = Clock()
    checked = verifier(clock=clock)
    token = sign(claims(clock, exp=clock.now + 60))

    assert verify(checked, token) == ANN
    clock.now += 60 + 29.9
    assert verify(checked, token) == ANN
    clock.now += 0.1
    assert verify(checked, token) is None


def test_remembered_token_is_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = verifier()
    token = sign(claims())
    assert verify(checked, token) == ANN

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("verified again")

    monkeypatch.setattr(jwt.PyJWS, "decode_complete", fail)

    assert verify(checked, token) == ANN


def test_remembered_token_is_refused_once_its_key_is_removed() -> None:
    both, one = (
        read_key_set(document(*map(public_jwk, names)), ALGORITHMS)
        for names in (("RS256", "ES256"), ("ES256",))
    )
    clock = Clock(0)
    provided = [both]
    keys = CachedKeys("the test", lambda: provided[-1], clock)
    keys.start()
    checked = verifier((issuer(), keys))
    removed, kept = sign(claims()), sign(claims(), "ES256")
    assert verify(checked, removed) == verify(checked, kept) == ANN

    provided.append(one)
    clock.now += 240
    anyio.run(keys.reload_if_due)

    assert verify(checked, removed) is None
    assert verify(checked, kept) == ANN


def test_keys_are_renewed_in_the_background() -> None:
    clock, looks = AskedClock(0), [0]
    keys, _ = read_key_set(document(public_jwk("EdDSA")), ALGORITHMS)

    def load() -> tuple[KeySet, list[str]]:
        looks[0] += 1
        return keys, []

    cache = CachedKeys("the test", load, clock)
    cache.start()

    ticking = verifier((issuer(), cache))
    ticking.tick_seconds = 0.001

    async def live() -> None:
        async with ticking.refreshing(None):
            await clock.until_asked(3)
            assert looks == [1]
            clock.now += 240
            with anyio.fail_after(5):
                while looks == [1]:
                    await anyio.lowlevel.checkpoint()
            await clock.until_asked(3)

    anyio.run(live)

    assert looks == [2]


def test_least_recently_used_tokens_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = verifier()
    checked.most_remembered = 2
    tokens = [sign(claims(sub=name), "EdDSA") for name in ("ann", "bo", "cy")]
    for number in (0, 1, 0, 2):
        assert verify(checked, tokens[number]) is not None
    calls: list[Any] = []
    original = jwt.PyJWS.decode_complete
    monkeypatch.setattr(
        jwt.PyJWS, "decode_complete", lambda *a, **k: (calls.append(a), original(*a, **k))[1]
    )

    for number in (0, 2, 1):
        assert verify(checked, tokens[number]) is not None

    assert len(calls) == 1


def test_audience_of_the_token_may_be_a_list() -> None:
    assert verify(verifier(), sign(claims(aud=["other", AUDIENCE]))) == ANN


@pytest.mark.parametrize(
    ("kind", "good"),
    [("at+jwt", True), ("AT+JWT", True), (None, True), ("logout+jwt", False), ("", False)],
)
def test_tokens_of_other_types_are_refused(kind: str | None, good: bool) -> None:
    assert verify(verifier(), sign(claims(), typ=kind)) == (ANN if good else None)


ANY = settings(deadline=None)  # each example runs an event loop, which waits on a busy machine

CHECKED = verifier()
GOOD = sign(claims(), "EdDSA").encode()


@ANY
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_and_nothing_else(token: bytes) -> None:
    assert verify(CHECKED, token) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@ANY
@given(
    st.sampled_from(["exp", "nbf", "iat", "iss", "aud", "sub", "roles", "alg", "kid", "typ"]), JSON
)
def test_any_value_of_a_claim_or_header_is_good_or_refused(name: str, value: Any) -> None:
    if name in ("alg", "kid", "typ"):
        head = {"alg": "EdDSA", "kid": "EdDSA-1", name: value}
        token = sign(claims(), "EdDSA", **head)
    else:
        token = sign(json.dumps(claims() | {name: value}).encode(), "EdDSA")

    assert verify(CHECKED, token) is None or isinstance(verify(CHECKED, token), Principal)


@ANY
@given(st.sampled_from(ALGORITHMS), st.binary(max_size=600))
def test_any_signature_is_refused(algorithm: str, signature: bytes) -> None:
    unsigned = sign(claims(), algorithm).rpartition(".")[0]

    assert verify(CHECKED, f"{unsigned}.{base64url_encode(signature).decode()}") is None


@ANY
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_one_changed_byte_spoils_a_token(place: int, change: int) -> None:
    spoiled = bytearray(GOOD)
    spoiled[place] ^= change

    assert verify(CHECKED, bytes(spoiled)) is None
