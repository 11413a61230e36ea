"""The fields of a form, after a check that a page of this catalog has sent it."""

from functools import partial
from hmac import compare_digest
from urllib.parse import parse_qsl

from api.answers.bodies import check_media_type, read_body
from api.callers.limits import WorkQueue
from api.callers.sign_in.sessions import Sessions
from api.errors import Forbidden
from api.pages.frame.rendering import TYPED, AnyRequest
from domain.errors import InvalidInput

FORM = "application/x-www-form-urlencoded"
TOKEN_FIELD = "form_token"
_MOST_FIELDS = 200
MOST_BYTES, _MOST_BYTES_OF_ANYBODY = 500_000, 16_384
"""Most bytes of a form, and of one that needs no session; reading its escapes takes 80 times as
many.
"""
_SMALL = 16_384
"""Bytes of a form that is read on the event loop; only signed-in callers may send more."""
turns = WorkQueue(1)
"""Large forms are read one at a time, for the memory that each takes meanwhile."""
_TEXT = "value"
"""The field with the text of a person, which must not be lost."""


async def read_form(request: AnyRequest, sessions: Sessions, *, signed_in: bool) -> dict[str, str]:
    """The fields of a form, each once, without the token that shows where the form comes from.

    Who is not signed in has no such token; what a browser says of where it comes from must do.
    Raises Forbidden for a form of another site, and InvalidInput for what is none.
    """
    refuse_other_sites(request, sessions)
    check_media_type(request.headers.get("content-type"), (FORM,))
    body = await read_body(request, MOST_BYTES if signed_in else _MOST_BYTES_OF_ANYBODY)
    read = partial(_fields, body)
    form = read() if len(body) <= _SMALL else await turns.go_on(request.user.name, read)
    request.scope["state"][TYPED] = form.get(_TEXT)
    given = form.pop(TOKEN_FIELD, "")
    if signed_in:
        wanted = sessions.form_token(request.scope["headers"])
        if not compare_digest(given.encode(), wanted.encode()):
            raise Forbidden("this form is not of your session any more: load its page again")
    return form


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form, each once; raises InvalidInput for a malformed form."""
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise InvalidInput("the body is not a form") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise InvalidInput("the form has a field twice")
    return form


def refuse_other_sites(request: AnyRequest, sessions: Sessions) -> None:
    """Raise Forbidden for a request that no page of ours has made a browser send.

    Browsers say in one header or both where a form comes from, in each once.
    """
    sites = request.headers.getall("sec-fetch-site", [])
    origins = request.headers.getall("origin", [])
    if (
        not (sites or origins)
        or any(site != "same-origin" for site in sites)
        or not all(sessions.is_own_host(origin, request.scope) for origin in origins)
    ):
        raise Forbidden("only pages of this catalog may send this")
