"""Pages that are short whatever is stored wait for none that are long."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.callers.work_queue import WorkQueue
from api.pages.entities import entity_routes
from api.pages.frame import routing
from tests.api.conftest import Client
from tests.api.pages.conftest import Browser

TABLE = "service.database.schema.orders"


@pytest.mark.parametrize("path", ["/", "/search?q=orders", "/tree"])
def test_short_page_waits_for_no_long_one(
    shop: Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    done, begun = threading.Event(), threading.Semaphore(0)
    usual = entity_routes.read_entity

    def slow(*given: Any, **named: Any) -> Any:
        begun.release()
        assert done.wait(30)
        return usual(*given, **named)

    monkeypatch.setattr(entity_routes, "read_entity", slow)
    roles = ("admin", "editor", "reader")
    with ThreadPoolExecutor(len(roles)) as asking:
        waiting = [
            asking.submit(Browser(shop, role).get, f"/history/table/{TABLE}") for role in roles
        ]
        try:
            # Two are read at once, and the third waits for its turn.
            for _ in range(2):
                assert begun.acquire(timeout=30)
            answer = Browser(shop, "admin").get(path)
        finally:
            done.set()
        assert answer.status_code == 200
        assert [each.result().status_code for each in waiting] == [200] * 3


def test_large_forms_are_read_in_the_turns_of_their_callers(
    shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers: list[str] = []

    class Noted(WorkQueue):
        async def go_on(self, caller: str, *given: Any) -> Any:
            callers.append(caller)
            return await super().go_on(caller, *given)

    monkeypatch.setattr(routing, "turns", Noted(1))
    for size, read in ((100, []), (20_000, ["the-editor"])):
        answer = Browser(shop, "editor").post("/sign-out", {"padding": "x" * size})
        # No form without its token is taken.
        assert answer.status_code == 403
        assert callers == read
