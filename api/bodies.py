"""Reads the bodies of requests as bytes, and checks their media type and size."""

import re
from typing import Any

from litestar import Request
from litestar.types import Receive

from api.errors import ClientLeft, TooLarge, UnsupportedMediaType

MAX_BODY = 10_000_000
JSON_TYPES = ("application/json",)
PATCH_TYPES = ("application/json-patch+json", "application/json")

_CHARSET = re.compile(r"charset *= *\"?utf-?8\"?", re.IGNORECASE)


def check_media_type(given: str | None, allowed: tuple[str, ...]) -> None:
    """Raise UnsupportedMediaType for a Content-Type that is not allowed; none at all is allowed."""
    if given is None:
        return
    media_type, _, parameters = given.partition(";")
    known = media_type.strip().lower() in allowed
    if not known or (parameters.strip() and not _CHARSET.fullmatch(parameters.strip())):
        raise UnsupportedMediaType(
            f"Content-Type must be {' or '.join(allowed)}, in UTF-8, got {given[:80]!r}"
        )


async def read_body(request: Request[Any, Any, Any], most: int = MAX_BODY) -> bytes:
    """The whole body of a request, of at most so many bytes.

    Raises TooLarge, or ClientLeft when a part of it never comes.
    """
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > most:
        raise TooLarge(f"a request body may have {most} bytes")
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientLeft("the request did not come whole")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise TooLarge(f"a request body may have {most} bytes")
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def has_left(receive: Receive) -> bool:
    """Whether the client of a request has closed its connection; drops the rest of its body.

    Each message is asked for without waiting for it, which a task with a timeout would take twenty
    times as long for.
    """
    while True:
        receiving = receive().__await__()
        try:
            next(receiving)
        except StopIteration as received:
            if received.value["type"] == "http.disconnect":
                return True
        else:
            receiving.close()
            return False
