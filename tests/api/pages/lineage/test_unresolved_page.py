"""The page of the datasets that pipelines name and the catalog does not have."""

import re
from html import unescape
from pathlib import Path

from api.pages.lineage.unresolved import SHOWN
from tests.api.conftest import RunFilled
from tests.api.openlineage.captured import POSTGRES, run_event, send, shop
from tests.api.pages.conftest import Browser
from tests.api.pages.frame.test_html import complaints, needs_checker


def datasets(page: str) -> list[str]:
    """The names of the datasets on a page."""
    return [unescape(each) for each in re.findall(r'<th scope="row"><bdi>([^<]*)', page)]


def test_datasets_are_listed_by_namespace_and_page_by_page(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        browser = Browser(client, "reader")
        assert "None." in browser.get("/unresolved").text
        many = tuple(f"more_{number:03}" for number in range(SHOWN))
        send(client, run_event(reads=("orders",), writes=("<b>none", *many)))
        send(client, run_event(reads=("theirs",), writes=("ours",), namespace=POSTGRES))

        first = browser.get("/unresolved").text
        following = unescape(re.findall('rel="next" href="([^"]*)"', first)[0])
        names = datasets(first) + datasets(browser.get(following).text)
        assert len(names) == len({*names}) == SHOWN + 3
        assert "shop.sales.<b>none" in names
        (narrowed,) = re.findall('href="([^"]*)"><bdi>postgres', first)
        assert len(datasets(browser.get(unescape(narrowed)).text)) == 2


def test_wrong_cursor_is_refused(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        answer = Browser(client, "reader").get("/unresolved?after=x")

        assert answer.status_code == 400
        assert "after is no cursor of this list" in answer.text


@needs_checker
def test_page_is_html_by_the_standard(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, run_event(reads=("orders",), writes=("<b>none",)))
        pages = {"/unresolved": Browser(client, "reader").get("/unresolved").text}

        assert complaints(pages, tmp_path) == []
