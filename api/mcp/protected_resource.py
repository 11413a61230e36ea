"""The agents' door as an OAuth resource: where its clients learn who issues tokens for it.

RFC 9728, as the Model Context Protocol asks for it. Clients are registered at the issuer, not here.
"""

from collections.abc import Mapping, Sequence

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC
from api.declaring.operation import Operation
from api.declaring.signatures import AnyRequest
from api.settings import Settings

DOOR = "/mcp"
_PLACE = "/.well-known/oauth-protected-resource"


class ProtectedResource(msgspec.Struct, frozen=True):
    """The metadata of the resource, with the names of RFC 9728."""

    resource: str
    authorization_servers: list[str]
    bearer_methods_supported: tuple[str, ...] = ("header",)


def protected_resource(settings: Settings, issuers: Sequence[str]) -> ProtectedResource | None:
    """The metadata; None without an issuer that has a key set, or without a public address.

    `issuers` are the addresses of those that have one.
    """
    if settings.mcp == "off" or settings.public_url is None or not issuers:
        return None
    return ProtectedResource(f"{settings.public_url.rstrip('/')}{DOOR}", [*issuers])


def challenges(resource: ProtectedResource | None) -> Mapping[str, str]:
    """Path -> what a refusal for want of a token says there besides, as RFC 9728 (5.1) has it."""
    if resource is None:
        return {}
    address = f"{resource.resource.removesuffix(DOOR)}{_PLACE}{DOOR}"
    return {DOOR: f', resource_metadata="{address}"'}


def protected_resource_routes(resource: ProtectedResource | None) -> list[HTTPRouteHandler]:
    """The routes of the metadata, at both places where clients look for it."""
    if resource is None:
        return []
    body = msgspec.json.encode(resource)

    def shown(_: AnyRequest) -> Finished:
        return Finished(body)

    return [
        Operation(id, "Learn who issues tokens for the agents' door", answer=ProtectedResource).at(
            "GET", f"{_PLACE}{path}", PUBLIC, shown
        )
        for id, path in (("getProtectedResource", ""), ("getProtectedResourceOfAgents", DOOR))
    ]
