"""Templates filled in, and what every page says to browsers: load and send nothing elsewhere.

Descriptions are Markdown of anybody, and become HTML that can do no harm.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import msgspec
from litestar import Request, Response

from api.answers.responses import Finished
from api.callers.permissions import Action, Permission, Principal
from api.callers.sign_in.sessions import Sessions
from api.errors import Unauthorized
from api.pages.frame import addresses, documents
from api.pages.frame.addresses import asset_address
from api.paths.entity_pages import entity_address
from domain.errors import cut
from domain.reading.utc_times import in_utc

MOST_CHARACTERS = 20_000
"""Longer texts are shown unformatted: rendering takes time for which other requests wait."""
MOST_PLAIN = 100_000
"""Characters that are shown of a text which is unformatted."""
_MOST_CELLS = 10_000
_MOST_DEPTH = 30
_MOST_BRACKETS = 2_000
"""Most opening brackets: for each the parser searches the closing one."""
_MOST_ADDRESSES = 200_000
"""Characters of the addresses of all links."""
_TAGS = (
    "a blockquote br code del em h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul"
)
"""All that is left of the HTML."""


def to_html(text: str) -> str | None:
    """The HTML of a Markdown text: markup in it is text, and links lead out without a referrer.

    Headings are moved below those of the page. Images are shown as their links' texts: nothing of
    another host is loaded. None for what is to be shown as it is: what is too long, too deep, or
    would become a page out of proportion. A table that is too large is left as text.
    """
    if len(text) > MOST_CHARACTERS or text.count("[") > _MOST_BRACKETS:
        return None
    # Each row of a table is filled up to the longest.
    lines = text.split("\n")
    cells = len(lines) * max(line.count("|") for line in lines)
    parser = _parser(tables=cells <= _MOST_CELLS)
    tokens = parser.parse(text)
    # The parser leaves out what is deeper than it goes.
    if any(token.level >= _MOST_DEPTH for token in tokens):
        return None
    # A link that is defined once may be used thousands of times.
    links = (child for token in tokens for child in token.children or () if child.attrs)
    if sum(len(str(link.attrs.get("href", ""))) for link in links) > _MOST_ADDRESSES:
        return None
    # Start-up: only pages need it.
    import nh3  # noqa: PLC0415

    return nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=set(_TAGS.split()),
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@cache
def _parser(*, tables: bool) -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - start-up: only pages need it

    options = {"html": False, "maxNesting": _MOST_DEPTH + 4}
    parser = MarkdownIt("commonmark", options).enable("strikethrough")
    if tables:
        parser.enable("table")
    parser.disable(["image", "html_block", "html_inline"])
    parser.add_render_rule("heading_open", _lower_heading)
    parser.add_render_rule("heading_close", _lower_heading)
    return parser


def _lower_heading(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    """A heading two levels below its own."""
    token = tokens[at]
    token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    rendered: str = renderer.renderToken(tokens, at, options, env)
    return rendered


AnyRequest = Request[Any, Any, Any]

HTML = "text/html; charset=utf-8"
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
            " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
        # A program is told of errors, and of the first page, in JSON.
        "Vary": "Accept, Cookie",
    }
)
"""Headers of each page. No proxy may keep a page, which is shown to one caller."""
_FOR_SOME = (
    ("Audit", "/audit", Action.AUDIT),
    ("Operation", "/operation", Action.OPERATE),
)
"""Pages for some callers only: title, address, and the action that a caller must be allowed."""
CHUNK_CHARACTERS = 64 * 1024
TYPED = "typed"
"""Key of a request's state for the text of its form, for a page that refuses the form."""


class Renderer:
    """Makes pages of templates, in the frame that all of them share."""

    def __init__(self, sessions: Sessions, *, has_provider: bool) -> None:
        """`has_provider` is whether people sign in at an identity provider."""
        self._sessions = sessions
        self._has_provider = has_provider

    def page(self, request: AnyRequest, template: str, **values: Any) -> bytes:
        """The HTML of a page; `values` are what its template names."""
        text: str = environment().get_template(template).render(self._frame(request) | values)
        return text.encode()

    def chunks(self, request: AnyRequest, template: str, **values: Any) -> Generator[bytes]:
        """The HTML of a page in pieces, so that a long one is never whole in memory."""
        pieces: list[str] = []
        size = 0
        for piece in environment().get_template(template).generate(self._frame(request) | values):
            pieces.append(piece)
            size += len(piece)
            if size >= CHUNK_CHARACTERS:
                yield "".join(pieces).encode()
                pieces, size = [], 0
        if pieces:
            yield "".join(pieces).encode()

    def error(
        self, request: AnyRequest, refused: Response[bytes], *, goes_on: bool = False
    ) -> Response[bytes]:
        """The page for an error of `api.errors`.

        With `goes_on` the page reloads by itself until the request succeeds. Without a caller it is
        the sign-in page, which leads back to the requested address.
        """
        said = msgspec.json.decode(refused.content)
        status = refused.status_code
        if status == 401:
            body = self.page(request, "sign_in.html", to=_back_to(request), problem=None)
        else:
            typed = request.scope.get("state", {}).get(TYPED)
            again = here(request) if goes_on and request.method == "GET" else None
            body = self.page(
                request,
                "error.html",
                status=status,
                said=said,
                typed=typed,
                again=again,
                today=addresses.without_date(here(request)),
            )
            # The page that looks again takes no failure for an answer.
            status = 200 if again and is_part(request) else status
        return Response(
            body,
            status_code=status,
            # Litestar adds the character set.
            media_type="text/html",
            headers={**refused.headers, **HEADERS},
        )

    def _frame(self, request: AnyRequest) -> dict[str, Any]:
        """The values that the template of every page may use."""
        caller, access = request.scope.get("user"), request.scope.get("auth")
        known = isinstance(caller, Principal)
        try:
            form_token = self._sessions.form_token(request.scope["headers"]) if known else ""
        except Unauthorized:
            form_token = ""
        return {
            "caller": caller if known else None,
            "date": None,
            "form_token": form_token,
            "has_provider": self._has_provider,
            "hidden_fields": (),
            "moment": None,
            "origin": self._sessions.origin(request.scope),
            "q": "",
            "views": [
                (title, address)
                for title, address, action in _FOR_SOME
                if known and access is not None and access.may(Permission(action))
            ],
        }


def html(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Finished:
    """The answer with a page."""
    return Finished(
        body, status_code=status, media_type=HTML, headers={**HEADERS, **(headers or {})}
    )


def redirect(address: str, headers: Mapping[str, str] | None = None) -> Finished:
    """The answer that has a browser go on to another page, by GET."""
    return html(b"", status=303, headers={"Location": address, **(headers or {})})


def is_part(request: AnyRequest) -> bool:
    """True if a page asks, by htmx, for a part that takes the place of one which it shows."""
    return bool(request.headers.get("hx-request") == "true")


def here(request: AnyRequest) -> str:
    """The requested address of a page, without the host."""
    path = request.scope["raw_path"].partition(b"?")[0].decode("latin-1")
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _back_to(request: AnyRequest) -> str:
    """The address to return to after a sign-in.

    After a form was sent, whose own address may have no page, that is the page the browser came
    from.
    """
    address = ""
    if request.method == "POST":
        with suppress(ValueError):
            path, query = urlsplit(request.headers.get("referer", ""))[2:4]
            address = f"{path}?{query}" if query else path
    return address if addresses.is_local(address) else here(request)


@cache
def environment() -> Any:
    """The templates; every value in them is escaped."""
    # Start-up: only pages need it.
    import jinja2  # noqa: PLC0415

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(
        static=asset_address,
        # Pages of the past replace `dated` and `entity_address` with functions that keep the date.
        dated=str,
        entity_address=entity_address,
        with_query=addresses.with_query,
    )
    made.filters.update(
        called=documents.called,
        markdown=_markdown,
        day=day,
        moment=_in_utc("%Y-%m-%d %H:%M UTC"),
        second=_in_utc("%Y-%m-%d %H:%M:%S"),
        cut=cut,
        facts=documents.facts,
        words=documents.words,
        number="{:,}".format,
    )
    return made


def _markdown(text: str) -> Any:
    from markupsafe import Markup, escape  # noqa: PLC0415 - start-up: comes with the templates

    if (rendered := to_html(text)) is not None:
        return Markup(rendered)
    shown = cut(text, MOST_PLAIN)
    return Markup('<pre class="plain">') + escape(shown) + Markup("</pre>")


def _in_utc(form: str) -> Callable[[int], str]:
    """A function that writes a time in milliseconds, in UTC, by a format of `strftime`."""
    return lambda milliseconds: f"{in_utc(milliseconds):{form}}"


day = _in_utc("%Y-%m-%d")
"""A day as `2026-11-22`."""
