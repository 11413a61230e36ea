"""Each page, asked for by each role: what the API withholds is on none, and none is forgotten."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from litestar.routes import HTTPRoute

from domain.kinds.registry import KINDS
from projections.visibility.field_paths import field_paths
from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser, fill, hidden

TABLE = "service.database.schema.orders"
CONTRACT = f"{TABLE}.dataContract_orders"
ADDRESSES: dict[str, str] = {
    "/": "/",
    "/search": "/search?q=orders",
    "/search/suggestions": "/search/suggestions?q=ord",
    "/browse/{kind}": "/browse/table",
    "/entity/{kind}/{fqn}": f"/entity/table/{TABLE}",
    "/raw/{kind}/{fqn}": f"/raw/table/{TABLE}",
    "/tree": "/tree",
    "/tree/{kind}/{fqn}": "/tree/databaseSchema/service.database.schema",
    "/lineage/{kind}/{fqn}": f"/lineage/table/{TABLE}",
    "/unresolved": "/unresolved",
    "/history/{kind}/{fqn}": f"/history/table/{TABLE}",
    "/compare/{kind}/{fqn}": f"/compare/table/{TABLE}",
    "/changed/{kind}/{fqn}": "/changed/databaseSchema/service.database.schema?from=0",
    "/results/{kind}/{fqn}": f"/results/dataContract/{CONTRACT}",
    "/impact/{kind}/{fqn}": f"/impact/dataContract/{CONTRACT}",
    "/badge/{kind}/{fqn}": f"/badge/dataContract/{CONTRACT}",
    "/audit": f"/audit?fqn={TABLE}",
    "/audit/{position}": "/audit/8",
    "/activity": "/activity",
    "/operation": "/operation",
}
"""An address of each page that shows anything of the catalog."""
FOR_ADMINS = ("/audit", "/audit/{position}", "/activity", "/operation")
"""Pages of ADDRESSES that a reader may not see at all."""
NAMELESS = ("/", "/tree", "/unresolved", "/activity", "/operation", "/badge/{kind}/{fqn}")
"""Pages that name no table."""
WITH_PAST = (
    "/",
    "/search",
    "/search/suggestions",
    "/browse/{kind}",
    "/entity/{kind}/{fqn}",
    "/raw/{kind}/{fqn}",
    "/lineage/{kind}/{fqn}",
    "/tree",
    "/tree/{kind}/{fqn}",
    "/history/{kind}/{fqn}",
    "/compare/{kind}/{fqn}",
    "/changed/{kind}/{fqn}",
    "/impact/{kind}/{fqn}",
    "/audit",
    "/audit/{position}",
    "/activity",
)
"""Pages of ADDRESSES that are shown as of a date, too."""
CHANGING: dict[str, str] = {
    "/edit/{kind}/{fqn}": f"/edit/table/{TABLE}?field=displayName",
    "/choices/{kind}/{key}": "/choices/table/domains?add=sal",
    "/undo/{kind}/{fqn}": f"/undo/table/{TABLE}",
    "/delete/{kind}/{fqn}": f"/delete/table/{TABLE}",
}
"""The same of pages for those who change what is there."""
OPEN = ("/sign-in", "/sign-in/provider", "/sign-in/return", "/static/{digest}/{name}")
"""Pages for everybody, which show nothing of it."""
SECRETS = ("per order", "annabel", "PII.Email")
"""Texts of a description, an owner and a tag of the table."""
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate", "audit", "sample"]

[[rule]]
role = "reader"
allow = ["list", "view", "search"]

[[rule]]
role = "curator"
allow = ["list", "view", "search", "edit", "delete"]

[[rule]]
role = "curator"
kinds = ["table"]
withhold = ["description", "owners", "tags", "columns.tags"]

[[rule]]
role = "clerk"
allow = ["list", "view", "search"]

[[rule]]
role = "clerk"
kinds = ["table"]
withhold = ["description", "owners", "tags", "columns.tags"]

[[rule]]
role = "editor"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "auditor"
allow = ["list", "view", "audit"]

[[rule]]
role = "auditor"
kinds = ["table"]
withhold = ["description"]

[[rule]]
role = "outsider"
allow = ["list", "view", "search"]
kinds = ["user"]
"""


def withholding(role: str, *, deep: bool) -> str:
    """Rules for a role that sees of each kind only what nobody can be denied.

    With `deep` it sees each key, but inside of it only that.
    """
    rules = [f'[[rule]]\nrole = "{role}"\nallow = ["list", "view", "search", "edit", "delete"]\n']
    for kind in KINDS:
        paths = [
            path
            for path, about in field_paths(kind).items()
            if not about.needed and ("." in path or not deep)
        ]
        if paths:
            rules.append(f'[[rule]]\nrole = "{role}"\nkinds = ["{kind}"]\nwithhold = {paths}\n')
    return "\n".join(rules)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("guarded")
    hiding = [withholding("blind", deep=False), withholding("shortsighted", deep=True)]
    with running_under(directory, "\n".join([POLICIES, *hiding])) as client:
        fill(client)
        yield client


def page_routes(client: Client) -> dict[str, set[str]]:
    """Path of each route of a page -> its methods."""
    found: dict[str, set[str]] = {}
    app: Any = client.http.app
    app.mount()
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if handler.opt.get("page"):
                    found.setdefault(route.path_format, set()).add(str(method))
    return found


def test_walk_knows_every_page(guarded: Client) -> None:
    shown = {path for path, methods in page_routes(guarded).items() if "GET" in methods}

    assert shown == {*ADDRESSES, *CHANGING, *OPEN}


@pytest.mark.parametrize("role", ["reader", "editor", "admin"])
@pytest.mark.parametrize("path", ADDRESSES)
def test_page_shows_each_role_what_is_there(guarded: Client, path: str, role: str) -> None:
    answer = Browser(guarded, role).get(ADDRESSES[path])

    refused = role != "admin" and path in FOR_ADMINS
    assert answer.status_code == (403 if refused else 200)
    assert (TABLE in answer.text) is (path not in NAMELESS and not refused)


def test_audit_shows_no_kind_of_which_a_field_is_withheld(guarded: Client) -> None:
    browser = Browser(guarded, "auditor")

    shown = browser.get("/audit").text

    assert "What readers may rely on" in shown
    assert "per order" not in shown
    assert browser.get(ADDRESSES["/audit/{position}"]).status_code == 404
    assert browser.get("/audit?kind=table").status_code == 403


@pytest.mark.parametrize("path", ADDRESSES)
def test_page_shows_nothing_to_who_is_not_signed_in(guarded: Client, path: str) -> None:
    answer = Browser(guarded).get(ADDRESSES[path])

    assert answer.status_code == 401
    assert f'name="to" value="{ADDRESSES[path]}"' in unescape(answer.text)
    assert "Customer" not in answer.text


@pytest.mark.parametrize("path", ADDRESSES)
def test_page_shows_no_withheld_field(guarded: Client, path: str) -> None:
    whole = Browser(guarded, "reader").get(ADDRESSES[path]).text
    answer = Browser(guarded, "clerk").get(ADDRESSES[path])

    assert answer.status_code == (403 if path in FOR_ADMINS else 200)
    assert [secret for secret in SECRETS if secret in answer.text] == []
    if path.startswith(("/entity", "/raw")):
        assert [secret for secret in SECRETS if secret not in whole] == []


def dated(address: str, date: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{date}"


@pytest.mark.parametrize("path", [each for each in WITH_PAST if each not in FOR_ADMINS])
def test_page_of_the_past_shows_what_the_caller_may_see_now(guarded: Client, path: str) -> None:
    for date in ("at=now", "asOf=2026-01-01"):
        told = {
            role: Browser(guarded, role).get(dated(ADDRESSES[path], date))
            for role in ("reader", "clerk", "outsider", "nobody")
        }

        then = "2026" in date and path.endswith("/{fqn}")
        assert [told[role].status_code for role in ("reader", "clerk")] == [
            404 if then else 200
        ] * 2
        assert [secret for secret in SECRETS if secret in told["clerk"].text] == []
        of_one = path.endswith("/{fqn}") or path.startswith("/browse")
        assert told["outsider"].status_code == (403 if of_one else 200)
        assert told["nobody"].status_code == (200 if path in ("/", "/tree") else 403)
        for role in ("outsider", "nobody"):
            assert "Customer" not in told[role].text
    if path.startswith(("/entity", "/raw")):
        whole = Browser(guarded, "reader").get(f"{ADDRESSES[path]}?at=now").text
        assert [secret for secret in SECRETS if secret not in whole] == []


@pytest.mark.parametrize("path", [*ADDRESSES, *CHANGING, *OPEN])
def test_page_takes_a_date_or_refuses_it(guarded: Client, path: str) -> None:
    address = (ADDRESSES | CHANGING).get(path, path)
    for date in ("at=now", "asOf=2026-01-01"):
        answer = Browser(guarded, "admin").get(dated(address, date))
        assert (answer.status_code == 400) is (path not in WITH_PAST)


@pytest.mark.parametrize("path", ADDRESSES)
def test_page_shows_nothing_of_kinds_that_the_caller_may_not_see(
    guarded: Client, path: str
) -> None:
    answer = Browser(guarded, "outsider").get(ADDRESSES[path])

    of_one = path.endswith("/{fqn}") or path.startswith(("/browse", "/unresolved"))
    assert answer.status_code == (403 if of_one or path in FOR_ADMINS else 200)
    assert "Customer" not in answer.text
    assert "/browse/table" not in answer.text


@pytest.mark.parametrize("path", ADDRESSES)
def test_page_shows_nothing_to_who_has_no_permission(guarded: Client, path: str) -> None:
    answer = Browser(guarded, "nobody").get(ADDRESSES[path])

    assert answer.status_code == (200 if path in ("/", "/tree") else 403)
    assert "/browse/" not in answer.text
    assert "Customer" not in answer.text


@pytest.mark.parametrize("path", CHANGING)
def test_page_that_changes_is_for_who_may_edit(guarded: Client, path: str) -> None:
    statuses = {
        role: Browser(guarded, role).get(CHANGING[path]).status_code
        for role in (None, "reader", "clerk", "outsider", "nobody")
    }

    assert statuses == {None: 401, "reader": 403, "clerk": 403, "outsider": 403, "nobody": 403}
    # A table has been changed by nobody yet: there is no step to undo.
    expected = 409 if path.startswith("/undo") else 200
    assert Browser(guarded, "admin").get(CHANGING[path]).status_code == expected


@pytest.mark.parametrize("path", CHANGING)
def test_page_that_changes_shows_no_withheld_field(guarded: Client, path: str) -> None:
    answer = Browser(guarded, "curator").get(CHANGING[path])

    # What the last step has changed may be what is withheld.
    assert answer.status_code == (403 if path.startswith("/undo") else 200)
    assert [secret for secret in SECRETS if secret in answer.text] == []


@pytest.mark.parametrize("role", ["blind", "shortsighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_stand_without_all_that_can_be_withheld(
    guarded: Client, kind: str, role: str
) -> None:
    browser = Browser(guarded, role)
    listed = browser.get(f"/browse/{kind}")

    assert listed.status_code == 200
    for address in map(unescape, re.findall(r'<th scope="row"><a href="([^"]*)"', listed.text)):
        for view in ("entity", "history", "compare", "changed", "tree", "delete"):
            answer = browser.get(address.replace("entity", view, 1))
            assert (answer.status_code, view) == (200, view)
        assert browser.get(address.replace("entity", "undo", 1)).status_code == 403


@pytest.mark.parametrize("role", ["blind", "shortsighted"])
def test_results_stand_without_all_that_can_be_withheld(guarded: Client, role: str) -> None:
    browser = Browser(guarded, role)

    assert "orders" in browser.get("/search?q=orders").text
    assert "orders" in browser.get("/search/suggestions?q=ord").text


@pytest.mark.parametrize("key", ["description", "owners", "tags"])
def test_withheld_fields_are_not_edited(guarded: Client, key: str) -> None:
    browser = Browser(guarded, "curator")
    address = f"/edit/table/{TABLE}"
    form = hidden(browser.get(f"{address}?field=displayName").text)

    assert browser.get(f"{address}?field={key}").status_code == 403
    assert browser.post(address, {**form, "field": key, "value": "x"}).status_code == 403
    assert browser.get(f"/choices/table/{key}?add=a").status_code == 403
    page = browser.get(f"/entity/table/{TABLE}").text
    assert 'id="edit-displayName"' in page
    assert f'id="edit-{key}"' not in page


def test_description_that_is_withheld_is_not_said_to_be_missing(guarded: Client) -> None:
    said = Browser(guarded, "clerk").get(f"/entity/table/{TABLE}").text

    assert "The description is withheld from your roles." in said
    assert "No description" not in said


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/entity/{kind}/{fqn}", ["columns.tags", "description", "owners", "tags"]),
        ("/history/{kind}/{fqn}", ["columns.tags", "description", "owners", "tags"]),
        ("/compare/{kind}/{fqn}", ["columns.tags", "description", "owners", "tags"]),
        ("/changed/{kind}/{fqn}", ["columns.tags", "description", "owners", "tags"]),
        ("/search", ["description", "owners", "tags"]),
        ("/browse/{kind}", ["description"]),
        ("/tree/{kind}/{fqn}", ["description"]),
    ],
)
def test_page_says_which_fields_are_withheld(guarded: Client, path: str, fields: list[str]) -> None:
    said = Browser(guarded, "clerk").get(ADDRESSES[path]).text
    listed = said.partition("Withheld from your roles:")[2].partition("</p>")[0]

    assert re.findall("<code>([^<]*)</code>", listed) == fields
    assert "ithheld" not in Browser(guarded, "reader").get(ADDRESSES[path]).text


def test_owners_and_tags_that_are_withheld_are_not_said_to_be_missing(guarded: Client) -> None:
    said = Browser(guarded, "clerk").get(f"/entity/table/{TABLE}").text

    for title in ("Owners", "Tags"):
        assert f'<dt>{title}</dt><dd class="dim">withheld from your roles</dd>' in said
    assert "<dt>Domains</dt><dd><a" in said


def test_withheld_fields_of_columns_are_not_edited(guarded: Client) -> None:
    browser, address = Browser(guarded, "curator"), f"/edit/table/{TABLE}"
    page = browser.get(f"{address}?field=description&column=customer.email").text
    form = {**hidden(page), "field": "tags", "add": "PII.Email"}

    assert "field=tags" not in page
    assert browser.get(f"{address}?field=tags&column=customer.email").status_code == 403
    assert browser.post(address, form).status_code == 403
    assert browser.get("/choices/table/tags?column=id&add=a").status_code == 403
    assert 'id="column-3" href=' in browser.get(f"/entity/table/{TABLE}").text
    blind = Browser(guarded, "blind")
    assert blind.get(f"{address}?field=description&column=id").status_code == 403
    assert blind.post(address, {"form_token": "x"}).status_code == 403


def test_who_may_not_edit_is_shown_no_form(guarded: Client) -> None:
    for kind, fqn in (("table", TABLE), ("dataContract", f"{TABLE}.dataContract_orders")):
        page = Browser(guarded, "reader").get(f"/entity/{kind}/{fqn}").text
        assert 'class="edit"' not in page
        assert 'action="/status' not in page
        assert 'class="edit"' in Browser(guarded, "admin").get(f"/entity/{kind}/{fqn}").text


@pytest.mark.parametrize("facet", ["owner=annabel", "tag=PII.Email"])
def test_search_by_a_withheld_field_is_refused(guarded: Client, facet: str) -> None:
    assert Browser(guarded, "clerk").get(f"/search?{facet}").status_code == 403
    assert Browser(guarded, "reader").get(f"/search?{facet}").status_code == 200


@pytest.mark.parametrize("path", [*ADDRESSES, *CHANGING])
def test_addresses_on_a_page_hold_wherever_they_are_taken_from(
    guarded: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One of two columns, so that there are more.
    monkeypatch.setattr("api.pages.entities.columns.COLUMNS_SHOWN", 1)

    for query in ("", "&from=1" if "?" in (ADDRESSES | CHANGING)[path] else "?from=1"):
        page = Browser(guarded, "admin").get((ADDRESSES | CHANGING)[path] + query).text
        addresses = re.findall(r' (?:href|action|src|hx-get|hx-post)="([^"]*)"', page)
        assert [each for each in addresses if not re.match("/(?!/)|#|https?://", each)] == []


@pytest.mark.parametrize("path", [*ADDRESSES, *OPEN])
def test_every_answer_tells_browsers_to_load_nothing_elsewhere(guarded: Client, path: str) -> None:
    headers = Browser(guarded, "reader").get(ADDRESSES.get(path, path)).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


FROM_ELSEWHERE: list[Any] = [
    {},
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    # As lists, since a header is there twice.
    [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
    [("Origin", "http://testserver.local"), ("Origin", "https://evil.example")],
]


def test_forms_of_other_sites_are_refused_on_every_route(guarded: Client) -> None:
    changing = {path for path, methods in page_routes(guarded).items() if "POST" in methods}
    browser = Browser(guarded, "admin")
    views = ("delete", "edit", "restore", "status", "undo", "validate")
    of_entities = {f"/{view}/{{kind}}/{{fqn}}" for view in views}
    assert changing == {"/sign-in", "/sign-out", "/operation", *of_entities}

    for route in changing:
        kind, name = (
            ("dataContract", CONTRACT) if route.startswith("/validate") else ("table", TABLE)
        )
        path = route.replace("{kind}", kind).replace("{fqn}", name)
        for headers in FROM_ELSEWHERE:
            assert browser.post(path, {"token": "x"}, headers=headers).status_code == 403
