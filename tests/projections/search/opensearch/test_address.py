"""URLs of search clusters: what they mean, what is refused, and that no message repeats them."""

from pathlib import Path

import pytest

from domain.errors import InvalidInput
from projections.search.opensearch.address import (
    SearchAddress,
    read_search_address,
    shows_password,
)


def test_url_says_where_and_who(tmp_path: Path) -> None:
    assert read_search_address("https://search.example:9201/prod?ca=/etc/ca.pem") == SearchAddress(
        "https", "search.example", 9201, "prod", authorities="/etc/ca.pem"
    )
    assert read_search_address("http://127.0.0.1") == SearchAddress(
        "http", "127.0.0.1", 9200, "catalog"
    )
    named = read_search_address("https://u%40x:p%2Fw@search.example")
    assert (named.user, named.password, named.port) == ("u@x", "p/w", 9200)
    (tmp_path / "secret").write_text("from a file\n")
    kept = read_search_address(f"https://u@search.example?password_file={tmp_path}/secret")
    assert (kept.user, kept.password) == ("u", "from a file")
    assert kept.shown == "https://search.example:9200/catalog"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "search.example:9200",
        "ftp://u:secret@search.example",
        "https://",
        "https://u:secret@search.example:port",
        "https://u:secret@search.example/Upper",
        "https://u:secret@search.example/a/b",
        "https://u:secret@search.example/a#b",
        "https://u:secret@search.example?verify=no",
        "https://u:secret@search.example?ca",
        "https://u:secret@search.example?ca=a&ca=b",
        "https://u:secret@search.example?password_file=/secret",
        "https://u@search.example?password_file=/nowhere/secret",
        "https://secret@search.example",
        "https://:secret@search.example",
        "http://u:secret@search.example",
    ],
)
def test_what_is_no_url_of_a_cluster_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_search_address(url)
    assert "secret" not in refused.value.message


def test_password_in_a_url_is_noticed() -> None:
    assert shows_password("https://u:p@search.example")
    assert not shows_password("https://u@search.example?password_file=/run/p")
    assert shows_password("https://u:p@[search.example")
