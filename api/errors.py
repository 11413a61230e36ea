"""The one place where an error becomes a response: `{"code", "errorType", "message"}`."""

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from api.comparisons import Comparison
from api.paths.base_path import as_asked
from api.paths.openlineage import RETRY_SECONDS as RETRY_AFTER
from api.paths.openlineage import takes_no_429
from api.refusals import Denial, Refusal
from domain import errors
from domain.machine.disk import is_of_full_disk
from domain.openmetadata.status_names import OWN, StatusNames
from domain.writing.contract_gate import ContractBroken
from projections.generations.current_generation import NotBuilt
from projections.visibility.withholding import FieldWithheld

RETRY_SECONDS = 5
"""Seconds after which a refused caller may ask again."""
_NAMES = {"entities": "lists"}
"""Projection -> name of its answers, where that is not the name of the projection."""


def read_as(name: str) -> str:
    """The use of a projection's read model in one word: `lists` or `search`."""
    return _NAMES.get(name, name)


def preparing(name: str, done: int | None, total: int | None) -> str:
    """The progress of a projection's read model, as `Preparing search: 41,000 of 100,000`."""
    what = f"Preparing {read_as(name)}"
    return what if done is None or total is None else f"{what}: {done:,} of {total:,}"


def progress_of(error: Exception) -> str | None:
    """The progress that caused an error; None for an error that no building read model caused."""
    if not isinstance(error, NotBuilt) or error.building is None:
        return None
    return preparing(error.name, error.building.done, error.building.total)


log = logging.getLogger("catalog.http")


class Unauthorized(Exception):
    """The request has no token or a bad one; the body of the response does not say which."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


class Forbidden(Exception):
    """The caller is known and lacks the permission."""


class TooLarge(Exception):
    """The body of the request is larger than allowed."""


class UnsupportedMediaType(Exception):
    """The body of the request is of a type that the route does not take."""


class ClientLeft(Exception):
    """The client closed the connection before it could be answered."""


class TooManyRequests(Exception):
    """The caller has used up one of its own limits, such as requests a second."""

    def __init__(self, message: str, retry_after: int, reason: Denial = Denial.UNDER_WAY) -> None:
        """`retry_after` is in seconds; `reason` is for the log and the metrics."""
        super().__init__(message)
        self.retry_after = retry_after
        self.reason = reason


class Overloaded(Exception):
    """All callers together have used up what this process can give them now."""

    def __init__(self, message: str, retry_after: int) -> None:
        """`retry_after` is in seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class ContractBreaks(errors.Conflict):
    """A write that breaks a contract was refused to a caller who may see all of the contract."""

    def __init__(self, message: str, changes: Comparison) -> None:
        super().__init__(message)
        self.comparison = changes


class ErrorBody(msgspec.Struct):
    """The body of every error response."""

    code: int
    error_type: str = msgspec.field(name="errorType")
    message: str
    request_id: str = msgspec.field(name="requestId")
    """The request id that the X-Request-Id header and the log have too."""
    comparison: Comparison | msgspec.UnsetType = msgspec.UNSET
    """The changes that break a contract, where that is why its write is refused."""


ERROR_TYPES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "CONFLICT",
    412: "PRECONDITION_FAILED",
    413: "PAYLOAD_TOO_LARGE",
    414: "URI_TOO_LONG",
    415: "UNSUPPORTED_MEDIA_TYPE",
    422: "UNPROCESSABLE_ENTITY",
    429: "LIMITS_EXCEPTION",
    431: "HEADERS_TOO_LARGE",
    500: "INTERNAL_ERROR",
    503: "SERVICE_UNAVAILABLE",
}
"""Status -> error type, for errors that CATALOG_ERRORS does not name."""

_BROKEN = "CONTRACT_BROKEN"
CATALOG_ERRORS: tuple[tuple[type[errors.CatalogError], int, str], ...] = (
    (errors.EntityOverLimit, 413, "PAYLOAD_TOO_LARGE"),
    (errors.Unplaced, 422, "UNPROCESSABLE_ENTITY"),
    (errors.InvalidInput, 400, "BAD_REQUEST"),
    (errors.NotPermitted, 403, "FORBIDDEN"),
    (errors.NotFound, 404, "ENTITY_NOT_FOUND"),
    (errors.Purged, 410, "ENTITY_PURGED"),
    (errors.BeforeHorizon, 410, "BEFORE_HORIZON"),
    (ContractBroken, 409, _BROKEN),
    (ContractBreaks, 409, _BROKEN),
    (errors.AlreadyExists, 409, "ENTITY_ALREADY_EXISTS"),
    (errors.InvalidTransition, 409, "INVALID_TRANSITION"),
    (errors.Conflict, 409, "CONFLICT"),
    (errors.ConcurrentChange, 409, "CONFLICT"),
    (errors.StaleVersion, 412, "PRECONDITION_FAILED"),
    (errors.StoreUnavailable, 503, "SERVICE_UNAVAILABLE"),
    (FieldWithheld, 403, "FORBIDDEN"),
)
"""Errors of the catalog, the narrower before the wider, with status and error type."""

_MOST_SHOWN = 80
"""Characters of a path that a message repeats."""
_OF_REQUESTS = {Forbidden: 403, ClientLeft: 408, TooLarge: 413, UnsupportedMediaType: 415}
_RETRY = {"Retry-After": "1"}


def status_of(error: errors.CatalogError) -> tuple[int, str]:
    """The status and the error type that an error of the catalog is answered with."""
    return next(
        (status, error_type)
        for error_class, status, error_type in CATALOG_ERRORS
        if isinstance(error, error_class)
    )


def message_of(error: errors.CatalogError, statuses: StatusNames) -> str:
    """The message of an error, with statuses under the names that its caller knows."""
    if isinstance(error, errors.InvalidTransition):
        return error.told(statuses.name)
    return error.message


def render(request: Request[Any, Any, Any], error: Exception, instead: str = "") -> Response[bytes]:
    """The response to any exception; an unforeseen one is logged, and its text is never shown.

    `instead` is a sentence, for a path that has no route, about the routes that there are.
    """
    state = request.scope["state"]
    request_id: str = state.get("request_id", "")
    if (denial := denial_of(error)) is not None:
        state["refusal"] = denial.value

    def respond(
        status: int, error_type: str, message: str, headers: dict[str, str] | None = None
    ) -> Response[bytes]:
        changes = error.comparison if isinstance(error, ContractBreaks) else msgspec.UNSET
        return Response(
            msgspec.json.encode(ErrorBody(status, error_type, message, request_id, changes)),
            status_code=status,
            media_type="application/json",
            headers=headers,
        )

    if (progress := progress_of(error)) is not None:
        headers = {"Retry-After": str(RETRY_SECONDS)}
        return respond(503, ERROR_TYPES[503], progress, headers)
    if isinstance(error, errors.CatalogError):
        status, error_type = status_of(error)
        message = message_of(error, getattr(request.scope.get("auth"), "statuses", OWN))
        if instead:
            asked = as_asked(request.scope, request.url.path[:_MOST_SHOWN])
            message = f"there is no route {request.method} {asked}, and {message}; {instead}"
        return respond(status, error_type, message, _RETRY if status == 503 else None)
    if isinstance(error, Unauthorized):
        challenge = error.refusal.challenge + state.get("challenge", "")
        headers = {"WWW-Authenticate": challenge}
        return respond(401, ERROR_TYPES[401], "a valid bearer token is needed", headers)
    if isinstance(error, TooManyRequests | Overloaded):
        status = 429 if isinstance(error, TooManyRequests) else 503
        headers = {"Retry-After": str(error.retry_after)}
        if takes_no_429(request.scope):
            status, headers = 503, {"Retry-After": str(RETRY_AFTER)}
        return respond(status, ERROR_TYPES[status], str(error), headers)
    if (refused := _OF_REQUESTS.get(type(error))) is not None:
        return respond(refused, ERROR_TYPES[refused], str(error))
    if isinstance(error, HTTPException) and error.status_code < 500:
        status = error.status_code
        phrase = HTTPStatus(status).phrase
        error_type = ERROR_TYPES.get(status, phrase.upper().replace(" ", "_"))
        message = error.detail
        if status in (404, 405):
            asked = as_asked(request.scope, request.url.path[:_MOST_SHOWN])
            message = f"{phrase}: {request.method} {asked}" + (f"; {instead}" if instead else "")
        return respond(status, error_type, message or phrase, dict(error.headers or {}))
    route = request.scope.get("path_template")
    if is_of_full_disk(error):
        log.error("request refused: the disk is full", extra={"route": route, "error": str(error)})
        return respond(503, ERROR_TYPES[503], "nothing can be stored: the disk is full", _RETRY)
    log.error("request failed", extra={"request_id": request_id, "route": route}, exc_info=error)
    return respond(500, "INTERNAL_ERROR", "the catalog failed to answer; the log says why")


def denial_of(error: Exception) -> Denial | None:
    """The reason of a refusal to a known caller: its permissions, or the amount it asks for."""
    if isinstance(error, TooManyRequests):
        return error.reason
    if isinstance(error, FieldWithheld):
        return Denial.WITHHELD
    return Denial.PERMISSION if isinstance(error, Forbidden | errors.NotPermitted) else None
