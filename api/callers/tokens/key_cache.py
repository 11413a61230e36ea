"""An issuer's keys, kept current while requests are answered."""

import logging
import time
from collections.abc import Callable

from anyio import Lock, to_thread

from api.callers.tokens.fetching import Unreachable
from api.callers.tokens.keys import KeySet
from domain.errors import InvalidInput

REFRESH_SECONDS = 240.0
"""Age at which keys are loaded again: a removed key is refused within 5 minutes."""
RETRY_SECONDS = 30.0
"""Time until a provider that failed is asked again."""
UNKNOWN_SECONDS = 60.0
"""Time in which tokens with unknown key ids cause at most one request for keys."""
STALE_SECONDS = 86_400.0
"""Longest time for which keys are used while their provider is down."""
OVERDUE_SECONDS = 900.0
"""Age from which keys are reported as old: three renewals have failed, and retries between them."""

_NO_KEYS = KeySet()

Load = Callable[[], tuple[KeySet, list[str]]]
"""A function that loads keys, and the problems of keys that are left out.

The function blocks, and raises InvalidInput for a malformed key set.
"""

log = logging.getLogger("catalog.keys")


class CachedKeys:
    """The keys of one source; `start` blocks, all other methods run on the event loop."""

    def __init__(
        self, source: str, load: Load, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source = source
        self._load = load
        self._clock = clock
        self._keys = _NO_KEYS
        self._due = self._stale_from = self._unknown_from = self._renewed = clock()
        self._attempts = 0
        self._loading = Lock()

    def start(self) -> None:
        """Load the keys for the first time; raises InvalidInput for anything wrong with them."""
        try:
            keys, problems = self._load()
        except InvalidInput as error:
            raise type(error)(f"{self.source}: {error.message}") from None
        if problems:
            raise InvalidInput(f"{self.source}: {'; '.join(problems)}")
        if not keys.keys:
            raise InvalidInput(f"{self.source}: no key there is for the algorithms allowed")
        self._publish(keys)

    def current(self) -> KeySet:
        """The keys that count now; equal keys stay one object, so that a change can be seen."""
        return self._keys if self._clock() < self._stale_from else _NO_KEYS

    def age(self) -> float | None:
        """Seconds since the keys that count now were got; None when there are none."""
        return self._clock() - self._renewed if self.current().keys else None

    async def reload_for_unknown(self) -> None:
        """Load the keys for an unknown key id, once a minute at most, or join a load under way."""
        if not self._loading.locked():
            now = self._clock()
            if now < self._unknown_from:
                return
            self._unknown_from = now + UNKNOWN_SECONDS
        await self._join()

    async def reload_if_due(self) -> None:
        """Load the keys again when they have become old."""
        if self._clock() >= self._due:
            await self._join()

    async def reload(self) -> None:
        """Load the keys again, after a known change."""
        async with self._loading:
            await self._load_again()

    async def _join(self) -> None:
        attempt = self._attempts
        async with self._loading:
            # Otherwise whoever held the lock has just loaded them.
            if self._attempts == attempt:
                await self._load_again()

    async def _load_again(self) -> None:
        """Load the keys, for a caller that has the lock; if that fails, the present keys stay."""
        try:
            keys, problems = await to_thread.run_sync(self._load)
        except InvalidInput as error:
            self._due = self._clock() + RETRY_SECONDS
            usable = max(0, round(self._stale_from - self._clock()))
            log.error(
                "keys not renewed",
                extra={"source": self.source, "reason": error.message, "usable_seconds": usable},
            )
        else:
            for problem in problems:
                log.error("key left out", extra={"source": self.source, "reason": problem})
            self._publish(keys)
        finally:
            self._attempts += 1

    def _publish(self, keys: KeySet) -> None:
        now = self._clock()
        if keys.content != self._keys.content:
            if self._keys is not _NO_KEYS:
                log.info(
                    "keys changed",
                    extra={"source": self.source, "keys": [key.key_id for key in keys.keys]},
                )
            self._keys = keys
        self._renewed = now
        self._due = now + REFRESH_SECONDS
        self._stale_from = now + STALE_SECONDS


def start_all(caches: list[CachedKeys]) -> None:
    """Start all caches; a provider that is down is tolerated while another issuer has keys."""
    failures: list[Unreachable] = []
    for cache in caches:
        try:
            cache.start()
        except Unreachable as error:
            failures.append(error)
    if len(failures) == len(caches):
        raise InvalidInput("no issuer has keys: " + "; ".join(error.message for error in failures))
    for failure in failures:
        log.error("issuer without keys", extra={"reason": failure.message})
