"""Bodies of requests, as bytes: their media type and size."""

import re
from typing import Any

from litestar import Request

from api.errors import ClientLeft, TooLarge, UnsupportedMediaType

MAX_BODY = 10_000_000
JSON_TYPES = ("application/json",)
PATCH_TYPES = ("application/json-patch+json", "application/json")

_CHARSET = re.compile(r"charset *= *\"?utf-?8\"?", re.IGNORECASE)


def check_media_type(given: str | None, allowed: tuple[str, ...]) -> None:
    """Raises UnsupportedMediaType unless the Content-Type is allowed; without one it is."""
    if given is None:
        return
    media_type, _, parameters = given.partition(";")
    known = media_type.strip().lower() in allowed
    if not known or (parameters.strip() and not _CHARSET.fullmatch(parameters.strip())):
        raise UnsupportedMediaType(
            f"Content-Type must be {' or '.join(allowed)}, in UTF-8, got {given[:80]!r}"
        )


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """The whole body; raises TooLarge, and ClientLeft when it does not come whole."""
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_BODY:
        raise TooLarge(f"a request body may have {MAX_BODY} bytes")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientLeft("the request did not come whole")
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            raise TooLarge(f"a request body may have {MAX_BODY} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)
