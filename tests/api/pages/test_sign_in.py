"""Signing in with a token or by a link, what a session lets in, and signing out."""

import secrets
import time
from contextlib import closing
from typing import Any

import pytest
from click.testing import CliRunner

from api.callers.tokens.following import open_safe
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import make_link, mint
from api.callers.tokens.safe import SESSION_KEY
from api.callers.tokens.secret import make_secrets
from api.commands import main
from api.pages.frame.addresses import is_local
from api.settings import Settings
from tests.api.conftest import SECRET, Client, database_of, environment_of, over_files, token
from tests.api.pages.conftest import Browser
from tests.e2e.conftest import catalog
from tests.waiting import until


def settings_of(client: Client) -> Settings:
    directory = client.directory
    return Settings(data=str(directory), jwt_secret=SECRET, database_url=database_of(directory))


def link(client: Client, **given: Any) -> str:
    settings = settings_of(client)
    with closing(open_safe(settings)) as safe:
        return make_link(settings, safe, "", given.get("subject", "me"), ("admin",))


def test_token_signs_in_for_as_long_as_it_is_good(shop: Client) -> None:
    browser = Browser(shop)
    given = mint(Issuer(secret=SECRET), "eve", ("reader",), 300)

    answer = browser.sign_in(given)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly; SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert int(cookie.partition("Max-Age=")[2].partition(";")[0]) in range(290, 301)
    assert given not in cookie
    assert "eve" in browser.get("/").text


def test_sign_in_leads_back_to_what_was_asked_for(shop: Client) -> None:
    form = {"token": token("reader"), "to": "/browse/table?limit=1"}

    assert Browser(shop).post("/sign-in", form).headers["location"] == "/browse/table?limit=1"


@pytest.mark.parametrize(
    "to", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/e"]
)
def test_sign_in_leads_nowhere_else(shop: Client, to: str) -> None:
    assert not is_local(to)
    form = {"token": token("reader"), "to": to}

    assert Browser(shop).post("/sign-in", form).headers["location"] == "/"


def test_bad_token_is_refused_on_the_page(shop: Client) -> None:
    answer = Browser(shop).post("/sign-in", {"token": "nonsense"})

    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
    assert "The token is not accepted here." in answer.text


def test_session_ends_with_its_token(shop: Client) -> None:
    browser = Browser(shop)
    issuer = Issuer(secret=SECRET)
    # Expired for all but the leeway of the clocks.
    browser.sign_in(mint(issuer, "eve", ("reader",), -29))
    assert browser.get("/").status_code == 200
    browser.sign_in(token("reader"))
    good = browser.cookie
    assert good is not None
    browser.cookie = good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB")

    assert browser.get("/").status_code == 401


def test_cookie_is_no_credential_of_the_api(shop: Client) -> None:
    browser = Browser(shop, "admin")

    assert browser.get("/v1/tables").status_code == 401
    assert "text/html" not in browser.get("/v1/tables").headers["content-type"]


def test_bearer_token_is_no_session(shop: Client) -> None:
    headers = {"Authorization": f"Bearer {token('admin')}"}

    assert Browser(shop).get("/", headers=headers).status_code == 401


def test_signing_out_takes_the_session_away(shop: Client) -> None:
    browser = Browser(shop, "reader")

    answer = browser.submit("/sign-out")
    browser.take(answer)

    assert (answer.status_code, browser.cookie) == (303, None)


def test_form_without_the_token_of_its_session_is_refused(shop: Client) -> None:
    browser, other = Browser(shop, "reader"), Browser(shop, "admin")
    of_other = other.get("/").text.partition('name="form_token" value="')[2].partition('"')[0]

    assert browser.post("/sign-out", {"form_token": of_other}).status_code == 403
    assert browser.post("/sign-out", {"a": "b"}).status_code == 403


def test_link_signs_in_once(shop: Client) -> None:
    address = link(shop, subject="ada")
    first, second = Browser(shop), Browser(shop)

    # As scanners of links ask, whom nothing is given.
    asked = second.head(address)
    assert (asked.status_code, asked.headers.get("set-cookie")) == (200, None)
    first.take(first.get(address))

    assert "ada" in first.get("/").text
    assert second.get(address).status_code == 403
    assert second.get("/sign-in?once=made-up").status_code == 403


@over_files
def test_command_prints_a_link(shop: Client) -> None:
    made = catalog(
        "sign-in-link",
        *("--subject", "eve", "--role", "reader", "--address", "http://catalog.example/"),
        *("--data", str(shop.directory)),
        CATALOG_JWT_SECRET=SECRET,
    )
    browser = Browser(shop)

    browser.take(browser.get(made.stdout.strip().removeprefix("http://catalog.example")))

    assert '<span title="reader">eve</span>' in browser.get("/").text


def test_token_that_no_cookie_can_hold_is_refused(shop: Client) -> None:
    roles = tuple(secrets.token_hex(20) for _ in range(120))

    answer = Browser(shop).post(
        "/sign-in", {"token": mint(Issuer(secret=SECRET), "eve", roles, 300)}
    )

    assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
    assert "too large for a cookie" in answer.text


def test_old_link_signs_nobody_in(shop: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago = time.time() - 16 * 60
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: long_ago)
        address = link(shop)

    assert Browser(shop).get(address).status_code == 403


def test_program_at_the_root_gets_a_pointer(shop: Client) -> None:
    answer = shop.http.get("/", headers={"Accept": "*/*"})

    assert (answer.status_code, answer.json()["documentation"]) == (200, "/docs")


def test_page_of_an_error_says_once_how_it_is_encoded(shop: Client) -> None:
    answer = Browser(shop, "reader").get("/no/such/page")

    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_unknown_address_is_a_page_for_people_and_json_for_programs(shop: Client) -> None:
    assert Browser(shop).get("/nowhere").headers["content-type"].startswith("text/html")
    assert shop.http.get("/nowhere").json()["errorType"] == "NOT_FOUND"
    assert Browser(shop).get("/v1/nowhere").json()["errorType"] == "NOT_FOUND"


def test_session_and_its_forms_outlive_the_key_that_sealed_them(shop: Client) -> None:
    browser = Browser(shop, "reader")
    form_token = browser.get("/").text.partition('name="form_token" value="')[2].partition('"')[0]
    environment = {**environment_of(shop.directory), "CATALOG_DATA": str(shop.directory)}

    def rotate(*more: str) -> None:
        done = CliRunner().invoke(main, ["rotate", "sessions", *more], env=environment)
        assert done.exit_code == 0, done.output

    rotate()
    with closing(open_safe(settings_of(shop))) as safe:
        fresh, former = make_secrets(safe, SESSION_KEY)
    assert fresh != former
    # Once the new key is followed, a new session is of that.
    until(
        lambda: (
            Browser(shop, "reader").post("/sign-out", {"form_token": form_token}).status_code == 403
        )
    )
    assert browser.get("/").status_code == 200
    assert browser.post("/sign-out", {"form_token": form_token}).status_code == 303
    rotate("--drop")
    until(lambda: browser.get("/").status_code == 401)
