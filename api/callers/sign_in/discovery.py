"""The identity provider's own description (OpenID Connect Discovery), remembered for a while."""

import time
from collections.abc import Callable

import msgspec
from anyio import CapacityLimiter, Lock, to_thread

from api.callers.tokens.fetching import check_url, fetch
from domain.errors import InvalidInput

REMEMBERED_SECONDS = 900.0
"""Time for which the provider's description is used before it is requested again."""
RETRY_SECONDS = 5.0
"""Time for which a failure answers everybody before the provider is asked again."""


class Addresses(msgspec.Struct):
    """The provider's addresses (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class Discovery:
    """The addresses of one provider.

    Anybody may trigger a request for them, because people who sign in have no identity yet: so one
    request runs at a time, in a thread of its own, and all waiting callers share its result.
    """

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._known: Addresses | InvalidInput | None = None
        self._until = 0.0
        """Time until which the known addresses, or the known failure, are the answer."""
        self._asking = Lock()
        self._threads = CapacityLimiter(1)

    async def addresses(self) -> Addresses:
        """The addresses; raises InvalidInput when the provider does not give them."""
        async with self._asking:
            if self._known is None or self._clock() >= self._until:
                try:
                    self._known = await to_thread.run_sync(self._ask, limiter=self._threads)
                    self._until = self._clock() + REMEMBERED_SECONDS
                except InvalidInput as error:
                    self._known = error
                    self._until = self._clock() + RETRY_SECONDS
            known = self._known
        if isinstance(known, InvalidInput):
            raise type(known)(known.message)
        return known

    def _ask(self) -> Addresses:
        document = fetch(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            addresses = msgspec.json.decode(document, type=Addresses)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"the provider's own description cannot be read: {error}") from None
        if addresses.issuer != self._issuer:
            raise InvalidInput(
                f"the provider calls itself {addresses.issuer!r}, not {self._issuer!r}"
            )
        for address in (addresses.authorization_endpoint, addresses.token_endpoint):
            check_url(address)
        return addresses
