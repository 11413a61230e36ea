"""Every form of the pages, sent by those who may not: refused before anything is done."""

from pathlib import Path
from typing import Any, NamedTuple

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser, fill
from tests.api.pages.test_every_page import POLICIES, TABLE, page_routes

CONTRACT = f"{TABLE}.dataContract_orders"
REFUSED = ("reader", "clerk", "outsider", "nobody", "auditor")
"""Roles that change nothing; a clerk and an auditor do not even see all fields of a table."""


class Form(NamedTuple):
    """A form that is in order, and what becomes of it when somebody sends it who may."""

    route: str
    kind: str
    name: str
    fields: dict[str, str]
    withheld: bool = False
    """True if it is refused to a curator, who may edit a table and does not see all of it."""
    done: int = 303


FORMS = (
    Form("edit", "table", TABLE, {"field": "description", "value": "new"}, withheld=True),
    Form("edit", "table", TABLE, {"field": "tags"}, withheld=True),
    Form("edit", "table", TABLE, {"field": "tags", "column": "id", "add": "PII.Email"}, True),
    Form("undo", "table", TABLE, {}, withheld=True),
    Form("status", "dataContract", CONTRACT, {"to": "Active"}),
    Form("validate", "dataContract", CONTRACT, {}, withheld=True),
    Form("delete", "table", TABLE, {}),
    Form("restore", "table", TABLE, {}),
    # The one that would start a process is not sent by anybody who may.
    Form("operation", "", "", {"work": "nothing", "what": "all"}, withheld=True, done=400),
)
"""In an order in which each can be done after those before it."""
OF_SESSIONS = {"/sign-in", "/sign-out"}


def test_forms_are_refused_to_who_may_not_and_taken_from_who_may(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        fill(client)
        taken = {path for path, methods in page_routes(client).items() if "POST" in methods}
        assert taken - OF_SESSIONS == set(map(route_of, FORMS))
        for form in FORMS:
            before = state(client, form)
            refused = (*REFUSED, "curator") if form.withheld else REFUSED
            answers = {role: send(client, role, form) for role in refused}
            assert (form, answers) == (form, dict.fromkeys(refused, 403))
            assert send(client, None, form) == 401
            assert state(client, form) == before
            assert (form, send(client, "admin", form)) == (form, form.done)


def route_of(form: Form) -> str:
    """The route of a form, as the application names it."""
    return f"/{form.route}/{{kind}}/{{fqn}}" if form.kind else f"/{form.route}"


def state(client: Client, form: Form) -> Any:
    """Return the state that a form would change."""
    if not form.kind:
        return None
    collection = {"table": "tables", "dataContract": "dataContracts"}[form.kind]
    return client.get(f"/v1/{collection}/name/{form.name}", fields="*", include="all")


def send(client: Client, role: str | None, form: Form) -> int:
    """The status of the answer to a form with all that belongs in it, sent by a role."""
    entity = state(client, form)
    about = {"id": entity["id"], "etag": f'W/"{entity["version"]}"'} if entity else {}
    address = f"/{form.route}/{form.kind}/{form.name}".rstrip("/")
    answer = Browser(client, role).submit(address, {**about, **form.fields})
    return int(answer.status_code)
