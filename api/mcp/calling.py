"""Calls of tools: arguments checked, the tool called, its answer or its refusal in one form."""

import logging
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import fields, replace

from api.callers.permissions import Access
from api.callers.sign_in.sessions import Sessions
from api.declaring.signatures import AnyRequest
from api.errors import ClientLeft, Forbidden, Overloaded, TooManyRequests, denial_of, message_of
from api.mcp.answers import Cursors
from api.mcp.asking import Asked
from api.mcp.cleaning import plain
from api.mcp.resources import RESOURCES, TEMPLATES, prompted, prompts_listed, resource
from api.mcp.tools import TOOLS, Tool, definition
from api.mcp.wire import INTERNAL_ERROR, INVALID_PARAMS, Call, Refused
from api.services import Services
from api.use_cases.searcher import Searcher
from domain.errors import CatalogError, InvalidInput, NotFound, StoreUnavailable, shown
from domain.events import Via

MOST_MESSAGE = 1_000
"""Characters of what a refusal says."""
_AS_THE_API = (StoreUnavailable, TooManyRequests, Overloaded, ClientLeft)
"""Errors of the server, or of how much is asked for, which the API answers by their statuses."""
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")

log = logging.getLogger("catalog.mcp")


class Calls:
    """Lists and calls the tools for callers."""

    def __init__(self, services: Services, searcher: Searcher, sessions: Sessions) -> None:
        self._services = services
        self._searcher = searcher
        self._sessions = sessions
        self._may_write = services.settings.mcp == "write"
        self.lists: Mapping[str, dict[str, Any]] = {
            "resources/list": {"resources": RESOURCES},
            "resources/templates/list": {"resourceTemplates": TEMPLATES},
            "prompts/list": {"prompts": prompts_listed()},
        }
        """Method -> the result that it has for everybody."""
        # Made here, in a thread, so that the first call makes no schemas on the event loop.
        self._definitions = {name: definition(name) for name in TOOLS}

    def listed(self, access: Access) -> list[dict[str, Any]]:
        """The definitions of the tools that a caller may use."""
        return [
            self._definitions[name] for name, tool in TOOLS.items() if self._is_for(tool, access)
        ]

    async def called(self, request: AnyRequest, call: Call) -> dict[str, Any]:
        """The result of a call of a tool; what the caller can mend is told in the result.

        Raises Refused, and the errors that are answered by the API's statuses.
        """
        name, arguments = call.params.get("name"), call.params.get("arguments", {})
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None or not self._is_for(tool, request.auth):
            raise call.refused(INVALID_PARAMS, f"Unknown tool: {shown(name)}")
        if not isinstance(arguments, dict):
            raise call.refused(INVALID_PARAMS, "arguments must be an object", status=400)
        state = request.scope["state"]
        state["tool"] = tool.name
        try:
            given = _converted(tool, arguments)
            alike = replace(given, cursor="") if hasattr(given, "cursor") else given
            answer = await tool.call(self._asked(request, call, tool.name, alike), given)
        except _AS_THE_API:
            raise
        except (CatalogError, Forbidden) as error:
            if (denial := denial_of(error)) is not None:
                state["refusal"] = denial.value
            return _refusal(error, request.auth)
        except Exception as error:
            raise _failed(call, state, error) from None
        encoded = msgspec.json.encode(answer)
        # Clients that know no structured content read the same as a text.
        return {
            "content": [{"type": "text", "text": encoded.decode()}],
            "structuredContent": Raw(encoded),
            "isError": False,
        }

    async def resource(self, request: AnyRequest, call: Call) -> dict[str, Any]:
        """The contents of a resource; raises what `called` raises, and Refused for what is none."""
        state = request.scope["state"]
        state["tool"] = call.method
        uri = call.params.get("uri")
        try:
            return await resource(self._asked(request, call, call.method, uri), uri)
        except _AS_THE_API:
            raise
        except (CatalogError, Forbidden) as error:
            raise call.refused(INVALID_PARAMS, _message(error, request.auth)) from None
        except Exception as error:
            raise _failed(call, state, error) from None

    def prompt(self, call: Call) -> dict[str, Any]:
        """The messages of a prompt; raises Refused for what is none, or lacks its argument."""
        try:
            return prompted(call.params.get("name"), call.params.get("arguments"))
        except InvalidInput as error:
            raise call.refused(INVALID_PARAMS, error.message) from None

    def _is_for(self, tool: Tool, access: Access) -> bool:
        return tool.is_for(access, may_write=self._may_write)

    def _asked(self, request: AnyRequest, call: Call, what: str, alike: Any) -> Asked:
        """The call of a tool or a resource, with what its cursors are bound to."""
        sessions = self._sessions
        return Asked(
            services=self._services,
            searcher=self._searcher,
            request=request,
            cursors=Cursors(sessions.seal, sessions.open, request.user.name, what, alike),
            most=self._services.settings.mcp_answer,
            via=Via(door="mcp", what=what, agent=request.user.agent, client=call.client),
        )


def _converted(tool: Tool, arguments: dict[str, Any]) -> Any:
    """The arguments of a tool; raises InvalidInput that names what is wrong and what is allowed."""
    try:
        return msgspec.convert(arguments, tool.takes)
    except msgspec.ValidationError as error:
        message = str(error)
        unknown = _UNKNOWN.match(message)
        known = [field.encode_name for field in fields(tool.takes)]
        if unknown and message.endswith("`"):
            near = get_close_matches(unknown[1], known, 1)
            message = f"there is no argument {shown(unknown[1])}"
            message += f": did you mean {near[0]}?" if near else ""
        raise InvalidInput(f"{message}; arguments are {', '.join(known)}") from None


def _failed(call: Call, state: Mapping[str, Any], error: Exception) -> Refused:
    """The answer to what is the catalog's own fault, which the log tells in full."""
    request_id = state["request_id"]
    extra = {"request_id": request_id, "tool": state["tool"]}
    log.error("call of an agent failed", extra=extra, exc_info=error)
    message = f"the catalog failed to answer; its log says why, under request {request_id}"
    return call.refused(INTERNAL_ERROR, message)


def _refusal(error: CatalogError | Forbidden, access: Access) -> dict[str, Any]:
    """The result of a call that the caller can mend."""
    return {"content": [{"type": "text", "text": _message(error, access)}], "isError": True}


def _message(error: CatalogError | Forbidden, access: Access) -> str:
    message = str(error)
    if isinstance(error, CatalogError):
        message = message_of(error, access.statuses)
    if isinstance(error, NotFound):
        message += "; search_catalog finds names"
    return plain(message)[:MOST_MESSAGE]
