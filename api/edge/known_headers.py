"""The headers of a request, and what is asked of them for each one."""

import re
from functools import cached_property

_PLAIN_HOST = re.compile(rb"[0-9A-Za-z.:\[\]-]*").fullmatch
"""Tells whether the framework takes a Host header, too."""


API_KEY = b"x-api-key"
"""Name of the header that holds a token for clients which send no Authorization header."""


class KnownHeaders(list[tuple[bytes, bytes]]):
    """Headers whose facts are worked out once for all requests that have the same ones."""

    @cached_property
    def names(self) -> frozenset[bytes]:
        """The names of the headers."""
        return frozenset(name for name, _ in self)

    @cached_property
    def authorization(self) -> bytes | None:
        """The Authorization header; None without one, with several, or with an `X-Api-Key`."""
        if API_KEY in self.names:
            return None
        values = [value for name, value in self if name == b"authorization"]
        return values[0] if len(values) == 1 else None

    @cached_property
    def has_plain_host(self) -> bool:
        """True if the host is spelled as the framework takes it."""
        return all(_PLAIN_HOST(value) for name, value in self if name == b"host")
