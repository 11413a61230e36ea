"""The hostile tests 20, 24, 25, 26 and 28: no parameter is too much, and none is ignored.

Longer ones than these are refused with their address: tests/e2e/test_hostile_connections.
"""

import time

import pytest

from tests.api.conftest import Client

QUERY = "/v1/search/query"
DEEP = '{"bool":{"must":' * 700


def refused(client: Client, path: str, **params: object) -> str:
    """The message of a 400 that cost little; the best of three, as the server does more beside.

    The work is bounded, client's included, not the time: other processes share the machine.
    """
    taken = []
    for _ in range(3):
        started = time.process_time()
        status, body = client.ask("GET", path, params=params or None)
        taken.append(time.process_time() - started)
        assert (status, body["errorType"]) == (400, "BAD_REQUEST"), body
    assert min(taken) < 0.05
    message: str = body["message"]
    return message


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ("x" * 10_000, "1024 characters"),
        (" ".join(f"w{n}" for n in range(200)), "64 clauses"),
        ("(" * 500 + "a" + ")" * 500, "8 deep"),
    ],
)
def test_hostile_20_query_text_is_bounded(empty: Client, q: str, said: str) -> None:
    assert said in refused(empty, QUERY, q=q)


@pytest.mark.parametrize("parameter", ["queryFilter", "postFilter"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, ""),
        ('{"script":{"source":"1"}}', "unknown clause 'script'"),
        ('{"term":{"name":"a"},"term":{"name":"b"}}', ""),
        ('{"range":{"version":{"gte":' + "9" * 5_000 + "}}}", ""),
        ("not json", ""),
        ("[]", "must be a JSON object"),
        ('{"bool":{"must":[],"perhaps":[]}}', "unknown key 'perhaps'"),
        ('{"term":{"name":"a"},"size":1}', "exactly one clause"),
    ],
)
def test_hostile_24_filter_is_carried_out_or_refused(
    empty: Client, parameter: str, text: str, said: str
) -> None:
    message = refused(empty, QUERY, q="*", **{parameter: text})

    assert parameter in message
    assert said in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("from", value) for value in ("2147483648", "-1", "1.5", "0x10", "\u0661\u0660", "")),
        *(("size", value) for value in ("1000000000", "-1", "1.5", "ten", "1001", " 1 2")),
    ],
)
def test_hostile_25_window_of_a_search_is_checked(empty: Client, name: str, value: str) -> None:
    assert name in refused(empty, QUERY, q="*", **{name: value})


def test_hostile_25_window_ends_at_ten_thousand(empty: Client) -> None:
    assert "10000" in refused(empty, QUERY, q="*", **{"from": 9_001, "size": 1_000})
    answer = empty.get(QUERY, q="*", size=0)
    assert answer["hits"]["hits"] == []


@pytest.mark.parametrize("value", ["1000001", "-1", "", "1.5", "0x1", "\u0661", "1 000"])
def test_hostile_26_limit_of_contracts_is_checked(empty: Client, value: str) -> None:
    assert "limit" in refused(empty, "/v1/dataContracts", limit=value)


def test_hostile_26_limit_is_the_kinds_own(empty: Client) -> None:
    assert "limit" in refused(empty, "/v1/tables", limit="1001")
    assert empty.get("/v1/tables", limit=0) == {"data": [], "paging": {"total": 0}}
    assert empty.get("/v1/dataContracts", limit=1_000_000) == {"data": [], "paging": {"total": 0}}


ALLOWED = "; allowed are owners, reviewers, extension, latestResult, verdict"


@pytest.mark.parametrize(
    ("fields", "bad", "told"),
    [
        (",".join(f"f{n}" for n in range(2_000)), "f0", ALLOWED),
        ("owners,nonsense,worse", "nonsense", ALLOWED),
        ("Owners", "Owners", ": did you mean owners?"),
        ("owners;extension", "owners;extension", ": did you mean extension?"),
        ("owners,columns", "columns", ALLOWED),
        ("owners,,extension", "", ALLOWED),
    ],
)
def test_hostile_28_first_bad_field_is_named(
    empty: Client, fields: str, bad: str, told: str
) -> None:
    message = refused(empty, "/v1/dataContracts", fields=fields)

    assert message == f"fields: Invalid field name {bad}{told}"


def test_hostile_28_fields_may_be_repeated_and_spaced(empty: Client) -> None:
    assert empty.get("/v1/dataContracts", fields="owners, reviewers,owners ,extension")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/tables?limit=1&limit=2", "limit"),
        ("/v1/tables?databaseSchema=a.b.c&databaseSchema=d.e.f", "databaseSchema"),
        (f"{QUERY}?q=a&q=b", "q"),
        ("/v1/audit/events?kind=table&kind=user", "kind"),
    ],
)
def test_parameter_given_twice_is_refused(empty: Client, path: str, name: str) -> None:
    assert refused(empty, path) == f"{name} may be given once"


def test_errors_repeat_the_beginning_of_long_addresses_only(empty: Client) -> None:
    for path in ("/" + "x" * 5_000, "/v1/tables?limit=" + "x" * 5_000):
        response = empty.request("GET", path)
        assert response.status_code in (400, 404)
        assert len(response.json()["message"]) < 300
