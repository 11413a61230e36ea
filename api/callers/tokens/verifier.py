"""Finds the caller of a token, or refuses the token."""

import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

import jwt
import msgspec
from anyio import CapacityLimiter, create_task_group, sleep, to_thread

from api.callers.permissions import Principal
from api.callers.tokens.claims import (
    Claims,
    find_agent,
    find_claim,
    find_roles,
    is_name,
    read_token,
)
from api.callers.tokens.following import FollowedSafe, open_safe
from api.callers.tokens.issuers import Issuer, read_issuers
from api.callers.tokens.key_cache import CachedKeys, start_all
from api.callers.tokens.keys import ASYMMETRIC, SYMMETRIC, KeySet
from api.callers.tokens.register import Register
from api.callers.tokens.safe import SECRET
from api.errors import Unauthorized
from api.refusals import Refusal
from api.settings import Settings

MAX_TOKEN_BYTES = 8_192
"""Longer tokens are refused before they are decoded."""
_HEADERS = 256
"""Number of Authorization headers whose digests are kept."""

log = logging.getLogger("catalog.tokens")

_signatures = jwt.PyJWS(
    algorithms=[*SYMMETRIC, *ASYMMETRIC], options={"enforce_minimum_key_length": True}
)


class _Verified(msgspec.Struct, frozen=True, eq=False):
    """A token that was good, and stays so until its time is over, or keys or register change."""

    principal: Principal
    expires: float
    keys: KeySet
    cache: CachedKeys
    register: Register


class TokenVerifier:
    """Checks tokens of several issuers; a good one is remembered by its digest."""

    most_remembered = 10_000
    """Most verified tokens that are remembered; then the least recently used one is forgotten."""
    tick_seconds = 5.0
    """Time between two looks for issuers whose keys are due to be loaded again."""
    follow_seconds = 0.5
    """Time between two looks into the safe for revocations and new keys."""

    def __init__(
        self,
        trusted: list[tuple[Issuer, CachedKeys]],
        safe: FollowedSafe,
        *,
        leeway: float,
        max_lifetime: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._trusted = {issuer.name: (issuer, cache) for issuer, cache in trusted}
        self.safe = safe
        self._leeway = leeway
        self._max_lifetime = max_lifetime
        self._clock = clock
        # Not one of the threads that everybody shares, for which this would wait with all others.
        self._following = CapacityLimiter(1)
        self._remembered: OrderedDict[bytes, _Verified] = OrderedDict()

    async def verify(self, header: bytes) -> Principal:
        """The caller of an Authorization header; raises Unauthorized.

        Raises StoreUnavailable while revocations are unknown.
        """
        known = self.remembered(header)
        if known is not None:
            return known
        verified = await self._verify(_token(header))
        self._remembered[_digest_in(header)] = verified
        if len(self._remembered) > self.most_remembered:
            self._remembered.popitem(last=False)
        return verified.principal

    def remembered(self, header: bytes) -> Principal | None:
        """The caller of an Authorization header whose token was verified before and is still valid.

        None for any other token, valid or not. Raises Unauthorized for a header without a token.
        """
        digest = _digest_in(header)
        known = self._remembered.get(digest)
        if known is None:
            return None
        if (
            self._clock() < known.expires
            and known.keys is known.cache.current()
            and known.register is self.safe.known_register()
        ):
            self._remembered.move_to_end(digest)
            return known.principal
        del self._remembered[digest]
        return None

    async def _verify(self, token: bytes) -> _Verified:
        """Check a token; its claims come before its keys, so that a bad token causes no request."""
        header, claims, everything = read_token(token)
        register = self.safe.register
        self._check_times(claims, register)
        trusted = self._trusted.get(claims.iss)
        if trusted is None:
            raise Unauthorized(Refusal.ISSUER)
        issuer, cache = trusted
        if header.alg not in issuer.algorithms:
            raise Unauthorized(Refusal.ALGORITHM)
        # A token for nobody is good where the issuer names no audience either.
        if issuer.audiences.isdisjoint(claims.audiences) and (
            issuer.audiences or claims.aud is not None
        ):
            raise Unauthorized(Refusal.AUDIENCE)
        keys = cache.current()
        candidates = keys.find(header.kid, header.alg)
        if not candidates and header.kid is not None:
            await cache.reload_for_unknown()
            keys = cache.current()
            candidates = keys.find(header.kid, header.alg)
        if not any(_is_signed(token, key) for key in candidates):
            raise Unauthorized(Refusal.SIGNATURE if candidates else Refusal.KEY)
        name = find_claim(everything, issuer.name_claim)
        if not is_name(name):
            raise Unauthorized(Refusal.NAME)
        roles = find_roles(everything, issuer.roles_claim)
        principal = Principal(name, roles, find_agent(everything))
        if register.refuses(name, claims.jti, claims.iat):
            raise Unauthorized(Refusal.REVOKED)
        return _Verified(principal, claims.exp + self._leeway, keys, cache, register)

    def _check_times(self, claims: Claims, register: Register) -> None:
        """Raise Unauthorized for wrong times.

        The result depends on the clock and the token's times alone, so that it discloses nothing
        else; except for long-lived tokens, whose ids nobody can guess.
        """
        now = self._clock()
        issued = now if claims.iat is None else min(claims.iat, now)
        if not now < claims.exp + self._leeway:
            raise Unauthorized(Refusal.EXPIRED)
        if not claims.exp <= issued + self._max_lifetime + self._leeway:
            registered = register.expiry(claims.jti)
            if registered is None or not claims.exp <= registered:
                raise Unauthorized(Refusal.LIFETIME)
        for begin in (claims.nbf, claims.iat):
            if begin is not None and not begin <= now + self._leeway:
                raise Unauthorized(Refusal.NOT_YET)

    @property
    def issuers(self) -> list[str]:
        """The names of the issuers that have a key set, at which clients can ask for tokens."""
        return [issuer.name for issuer, _ in self._trusted.values() if issuer.jwks and issuer.name]

    def key_ages(self) -> list[float | None]:
        """Issuer -> age of its keys in seconds; None for one without keys now."""
        return [cache.age() for _, cache in self._trusted.values()]

    @asynccontextmanager
    async def refreshing(self, app: Any) -> AsyncIterator[None]:
        """Keep keys and safe current while the block runs (a lifespan of the application)."""
        async with create_task_group() as tasks:
            for _, cache in self._trusted.values():
                tasks.start_soon(self._keep_current, cache)
            tasks.start_soon(self._keep_following)
            yield
            tasks.cancel_scope.cancel()

    async def follow(self) -> None:
        """Read the changes of the safe, which may take a database seconds."""
        if SECRET in await to_thread.run_sync(self.safe.follow, limiter=self._following):
            for issuer, cache in self._trusted.values():
                if issuer.is_own:
                    await cache.reload()

    async def _keep_current(self, cache: CachedKeys) -> None:
        while True:
            await sleep(self.tick_seconds)
            await cache.reload_if_due()

    async def _keep_following(self) -> None:
        while True:
            await sleep(self.follow_seconds)
            try:
                await self.follow()
            except Exception:
                # Any error: a process that stopped following would never learn of a revocation.
                log.exception("register of tokens not followed")

    def close(self) -> None:
        """Close the safe; nothing may be verified afterwards."""
        self.safe.safe.close()


def _token(header: bytes) -> bytes:
    """The token of an Authorization header; raises Unauthorized without one."""
    scheme, _, token = header.strip(b" \t").partition(b" ")
    if scheme.lower() != b"bearer" or not token:
        raise Unauthorized(Refusal.NO_TOKEN)
    if len(token) > MAX_TOKEN_BYTES:
        raise Unauthorized(Refusal.MALFORMED)
    return token


@lru_cache(_HEADERS)
def _digest_in(header: bytes) -> bytes:
    """The digest of the token of an Authorization header; raises Unauthorized without one."""
    return blake2b(_token(header), digest_size=32).digest()


def open_verifier(settings: Settings) -> TokenVerifier:
    """A verifier with its keys loaded, which the caller closes.

    Where the log is in a database, its tables are made where they are missing. Raises InvalidInput
    for what an operator must mend, and StoreUnavailable.
    """
    opened = open_safe(settings, is_there=False)
    try:
        issuers = read_issuers(settings, opened)
        safe = FollowedSafe(opened)
        own = partial(safe.secrets, SECRET)
        trusted = [(issuer, CachedKeys(issuer.source, issuer.loader(own))) for issuer in issuers]
        start_all([cache for _, cache in trusted])
    except BaseException:
        opened.close()
        raise
    return TokenVerifier(
        trusted, safe, leeway=settings.jwt_leeway, max_lifetime=settings.jwt_max_lifetime
    )


def _is_signed(token: bytes, key: jwt.PyJWK) -> bool:
    """True if a token is signed with a key, by the algorithm that the key is bound to."""
    try:
        _signatures.decode_complete(token, key, algorithms=[key.algorithm_name])
    except (jwt.PyJWTError, ValueError):
        return False
    return True
