"""The keys that signatures are checked with, each bound to one algorithm."""

from collections.abc import Sequence
from typing import Any

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from jwt.utils import base64url_encode

from api.callers.tokens.secret import check_secret, key_id
from domain.errors import InvalidInput

SYMMETRIC = ("HS256",)
ASYMMETRIC = ("RS256", "ES256", "PS256", "EdDSA")
_MIN_RSA_BITS = 2_048
_MAX_KEYS = 64
_FITTING = {
    "RS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "PS256": ("RSA", None),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Algorithm -> the key type and curve that it works with."""
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


_UNUSABLE = (
    jwt.PyJWTError,
    UnsupportedAlgorithm,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""The errors that libraries raise for members of a wrong type or value."""


class KeySet(msgspec.Struct, frozen=True, eq=False):
    """The keys of an issuer at one moment, each good for one algorithm; compared by identity."""

    keys: tuple[jwt.PyJWK, ...] = ()
    content: frozenset[bytes] = frozenset()
    """The bytes that the keys were made from: equal content means equal keys."""

    def find(self, key_id: str | None, algorithm: str) -> list[jwt.PyJWK]:
        """The keys of an algorithm that have the id, or all of them for a token without one."""
        return [
            key
            for key in self.keys
            if key.algorithm_name == algorithm and key_id in (None, key.key_id)
        ]


def secret_key_set(secret: str, origin: str, previous: Sequence[str] = ()) -> KeySet:
    """The keys of a shared secret (HS256) and of those that it replaces; `origin` names them."""
    keys = []
    for each in (secret, *previous):
        check_secret(each, origin)
        encoded = base64url_encode(each.encode()).decode()
        keys.append(jwt.PyJWK({"kty": "oct", "k": encoded}, *SYMMETRIC))
    return KeySet(tuple(keys), frozenset(key_id(each).encode() for each in (secret, *previous)))


class _Fields(msgspec.Struct):
    """The members of a JWK that give its purpose."""

    kty: str
    kid: str | None = None
    alg: str | None = None
    use: str | None = None
    key_ops: list[str] | None = None
    crv: str | None = None


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


def read_key_set(document: bytes, algorithms: Sequence[str]) -> tuple[KeySet, list[str]]:
    """The keys of a JSON Web Key Set for one of `algorithms`, and the problems of other keys.

    Keys for other purposes are ignored; a weak or damaged key is a problem, described by a
    sentence. Raises InvalidInput for a malformed key set.
    """
    try:
        members = msgspec.json.decode(document, type=_Document).keys
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InvalidInput(f"no JSON Web Key Set: {error}") from None
    if len(members) > _MAX_KEYS:
        raise InvalidInput(f"a key set of {len(members)} keys; at most {_MAX_KEYS} are read")
    keys: dict[tuple[str, bytes], jwt.PyJWK] = {}
    problems: list[str] = []
    for number, member in enumerate(members, start=1):
        try:
            key = _read_key(member, algorithms)
        except InvalidInput as error:
            name = f"key {member['kid']!r}" if member.get("kid") else f"key number {number}"
            problems.append(f"{name} {error.message}")
            continue
        if key is not None:
            encoded = msgspec.json.encode(member, order="deterministic")
            keys[key.algorithm_name, encoded] = key
    content = frozenset(encoded for _, encoded in keys)
    return KeySet(tuple(keys.values()), content), problems


def _read_key(member: dict[str, Any], algorithms: Sequence[str]) -> jwt.PyJWK | None:
    """The key of a JWK, or None if the JWK is for other signatures or purposes."""
    try:
        fields = msgspec.convert(member, _Fields)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"is damaged: {error}") from None
    if fields.use not in (None, "sig") or "verify" not in (fields.key_ops or ["verify"]):
        return None
    fitting = [name for name in algorithms if _FITTING[name] == (fields.kty, fields.crv)]
    if fields.alg is None:
        # A key is bound to one algorithm: the first, where it could be used with two.
        if not fitting:
            return None
        algorithm = fitting[0]
    elif fields.alg not in algorithms:
        return None
    elif fields.alg not in fitting:
        kind = " ".join(filter(None, (fields.kty, fields.crv)))
        raise InvalidInput(f"is of type {kind}, which does not fit its algorithm {fields.alg}")
    else:
        algorithm = fields.alg
    if _PRIVATE & member.keys():
        raise InvalidInput("is a private key; publish only its public part and replace it")
    try:
        jwk = jwt.PyJWK(member, algorithm)
    except _UNUSABLE:
        raise InvalidInput(f"is damaged: no {algorithm} key can be made of it") from None
    if fields.kty == "RSA" and jwk.key.key_size < _MIN_RSA_BITS:
        raise InvalidInput(f"has {jwk.key.key_size} bits; RSA keys need at least {_MIN_RSA_BITS}")
    return jwk
