"""Keys of every algorithm, tokens signed with them, and a verifier whose clock the test holds."""

import json
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.utils import base64url_encode

from api.callers.permissions import Principal
from api.callers.tokens.following import FollowedSafe
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.key_cache import CachedKeys
from api.callers.tokens.keys import KeySet, read_key_set
from api.callers.tokens.safe import DirectorySafe
from api.callers.tokens.verifier import TokenVerifier
from api.errors import Unauthorized

NAME, AUDIENCE = "https://idp.example/realm", "catalog"
LEEWAY, MAX_LIFETIME = 30.0, 3_600.0
ALGORITHMS = ("RS256", "ES256", "PS256", "EdDSA")
_EMPTY = TemporaryDirectory()
NO_REGISTER = FollowedSafe(DirectorySafe(Path(_EMPTY.name)))


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float | None = None) -> None:
        self.now = time.time() if now is None else now

    def __call__(self) -> float:
        return self.now


def private_key(algorithm: str, number: int = 1, bits: int = 2_048) -> Any:
    """A private key that fits an algorithm; another for each number."""
    return _make_key(algorithm, number, bits)


@cache
def _make_key(algorithm: str, number: int, bits: int) -> Any:
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65_537, bits)


def public_jwk(algorithm: str, number: int = 1, bits: int = 2_048, **members: Any) -> Any:
    """The JWK of a key, with its algorithm and the id `<algorithm>-<number>`."""
    to_jwk = jwt.get_algorithm_by_name(algorithm).to_jwk
    made = to_jwk(private_key(algorithm, number, bits).public_key(), as_dict=True)
    made.pop("key_ops", None)
    made |= {"kid": f"{algorithm}-{number}", "alg": algorithm, "use": "sig", **members}
    return {name: value for name, value in made.items() if value is not None}


def document(*jwks: Any) -> bytes:
    """A JSON Web Key Set."""
    return json.dumps({"keys": jwks}).encode()


def claims(clock: Clock | None = None, **changes: Any) -> dict[str, Any]:
    """Claims of a good token; a change to None leaves a claim out."""
    now = (clock or Clock())()
    made = {"iss": NAME, "aud": AUDIENCE, "sub": "ann", "roles": ["reader"], "exp": now + 600}
    made |= {"iat": now, **changes}
    return {name: value for name, value in made.items() if value is not None}


def sign(
    payload: dict[str, Any] | bytes,
    algorithm: str = "RS256",
    number: int = 1,
    **header: Any,
) -> str:
    """A token signed with a made key; header members of value None are left out."""
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    head = {"alg": algorithm, "typ": "JWT", "kid": f"{algorithm}-{number}", **header}
    head = {name: value for name, value in head.items() if value is not None}
    return sign_raw(json.dumps(head).encode(), content, algorithm, private_key(algorithm, number))


def sign_raw(head: bytes, payload: bytes, algorithm: str, key: Any) -> str:
    """A token of any bytes, truly signed: what a library would refuse to make."""
    signing_input = base64url_encode(head) + b"." + base64url_encode(payload)
    signature = jwt.get_algorithm_by_name(algorithm).sign(signing_input, key)
    return (signing_input + b"." + base64url_encode(signature)).decode()


def cached(keys: Iterable[Any], algorithms: tuple[str, ...] = ALGORITHMS) -> CachedKeys:
    """Started keys of JWKs."""
    return start(read_key_set(document(*keys), algorithms)[0])


def start(keys: KeySet) -> CachedKeys:
    """A cache that holds some keys."""
    made = CachedKeys("the test", lambda: (keys, []))
    made.start()
    return made


def verifier(
    *trusted: tuple[Issuer, CachedKeys],
    clock: Clock | None = None,
    max_lifetime: float = 3_600.0,
    register: FollowedSafe = NO_REGISTER,
) -> TokenVerifier:
    """A verifier; without arguments of one issuer with a key for each algorithm."""
    default = (issuer(), cached(public_jwk(algorithm) for algorithm in ALGORITHMS))
    return TokenVerifier(
        list(trusted) or [default],
        register,
        leeway=LEEWAY,
        max_lifetime=max_lifetime,
        clock=clock or Clock(),
    )


def issuer(**parts: Any) -> Issuer:
    """The issuer of the made tokens."""
    given = {"name": NAME, "audiences": frozenset({AUDIENCE}), "algorithms": ALGORITHMS, **parts}
    return Issuer(**given)


def verify(checked: TokenVerifier, token: str | bytes) -> Principal | None:
    """Return the principal of a token, None if it is refused; other exceptions fail the test."""
    header = b"Bearer " + (token if isinstance(token, bytes) else token.encode())
    try:
        return anyio.run(checked.verify, header)
    except Unauthorized:
        return None
