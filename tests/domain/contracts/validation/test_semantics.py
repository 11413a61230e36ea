"""Rules about metadata in JSON logic, and the work that they may take."""

import json
import subprocess
from typing import Any

import pytest

from domain.contracts.validation.rules import BEYOND, RulesProcess
from domain.contracts.validation.semantics import validate

ENTITY = {
    "description": "Orders.",
    "owners": [{"type": "team", "name": "sales"}],
    "tags": [{"tagFQN": "PII.Sensitive", "source": "Classification"}],
    "numbers": list(range(3_000)),
}


def outcome(*rules: Any, entity: Any = ENTITY) -> list[str | None]:
    """The reasons of the rules that failed, None for those that hold."""
    given = [
        {"name": str(n), "rule": rule if isinstance(rule, str) else json.dumps(rule)}
        for n, rule in enumerate(rules)
    ]
    with RulesProcess() as process:
        found = validate(given, json.dumps(entity).encode(), process)
    assert found.total == len(rules)
    reasons = {each.rule_name: each.reason for each in found.failed_rules or ()}
    return [reasons.get(str(n)) for n in range(len(rules))]


@pytest.mark.parametrize(
    "rule",
    [
        {"!!": {"var": "description"}},
        {"multipleUsersOrSingleTeamOwnership": {"var": "owners"}},
        {"==": [{"length": {"filterReferenceByType": [{"var": "owners"}, "team"]}}, 1]},
        {"==": [{"length": {"filterTagsBySource": [{"var": "tags"}, "Glossary"]}}, 0]},
        {"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "PII.Sensitive"]}]},
    ],
)
def test_rule_holds_when_it_is_true(rule: Any) -> None:
    assert outcome(rule) == [None]


@pytest.mark.parametrize(
    ("owners", "holds"),
    [
        ([], True),
        ([{"type": "user"}, {"type": "user"}], True),
        ([{"type": "team"}], True),
        ([{"type": "team"}, {"type": "user"}], False),
        ([{"type": "team"}, {"type": "team"}], False),
    ],
)
def test_owners_are_users_or_one_team(owners: Any, holds: bool) -> None:
    rule = {"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}
    assert (outcome(rule, entity={"owners": owners}) == [None]) is holds


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"==": [1, 2]}, "not true"),
        ({"var": "description"}, "not true"),
        ({"isOwner": {"var": "owners"}}, "unknown operator `isOwner`"),
        ("{", "no JSON"),
        ({"throw": {"var": "description"}}, "Thrown"),
        ({"/": [1, 0]}, "not evaluated"),
    ],
)
def test_rule_fails_with_a_reason_that_tells_no_value(rule: Any, says: str) -> None:
    (reason,) = outcome(rule)
    assert reason is not None
    assert says in reason
    assert "Orders" not in reason


DOUBLING = {
    "reduce": [
        {"var": "numbers"},
        {"cat": [{"var": "accumulator"}, {"var": "accumulator"}]},
        "xxxxxxxxxx",
    ]
}
OF_EACH = {
    "map": [
        {"var": "numbers"},
        {"filterTagsBySource": [{"val": [[-2], "numbers"]}, "Glossary"]},
    ]
}


PAIR = [{"var": "accumulator"}, {"var": "accumulator"}]
SHARED = {"reduce": [list(range(200)), PAIR, 1]}
"""A list of two lists of two lists, 200 levels deep, which are one another."""


@pytest.mark.parametrize(
    "rule",
    [
        DOUBLING,
        OF_EACH,
        {"!!": {"filterTagsBySource": [{"reduce": [list(range(27)), PAIR, 1]}, "a"]}},
        # Each works until its second is over, as `cat` does below.
        *(
            pytest.param(rule, marks=pytest.mark.deep)
            for rule in (
                {"==": [SHARED, SHARED]},
                {"cat": [SHARED]},
                {"in": [1, SHARED]},
                {"filterReferenceByType": [SHARED, "a"]},
            )
        ),
    ],
)
def test_rule_that_takes_too_much_work_fails(rule: Any) -> None:
    first, *others = outcome(rule, *[rule] * 20)
    assert first is not None
    assert all(others)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the rules of a contract a fifth of their time."""
    monkeypatch.setattr(RulesProcess, "seconds", RulesProcess.seconds / 5)


@pytest.mark.usefixtures("brief")
def test_rules_before_one_that_takes_too_much_keep_what_they_came_to() -> None:
    beyond = {"cat": [SHARED]}
    reasons = outcome({"!!": {"var": "description"}}, {"==": [1, 2]}, beyond, beyond)
    assert reasons[:2] == [None, "its value is not true"]
    assert all(reasons[2:])


def test_deep_rule_fails() -> None:
    (reason,) = outcome('{"!":' * 5_000 + "1" + "}" * 5_000)
    assert reason is not None


def test_disabled_rules_are_not_counted() -> None:
    rules = [{"name": "off", "rule": "{", "enabled": False}]
    with RulesProcess() as process:
        assert validate(rules, b"{}", process).total == 0


@pytest.mark.usefixtures("brief")
def test_contract_beyond_the_bounds_keeps_no_later_one_from_being_evaluated() -> None:
    holds, beyond = json.dumps({"==": [1, 1]}), json.dumps({"cat": [SHARED]})
    with RulesProcess() as process:
        found = [process.evaluate([each], b"{}") for each in (holds, beyond, holds)]
    assert (found[0], found[2]) == ([None], [None])
    assert found[1] != [None]


@pytest.mark.usefixtures("brief")
def test_rules_of_many_contracts_start_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rules work too long, a copy of the process ends, and the process goes on."""
    started = []
    start = subprocess.Popen

    def counted(*given: Any, **more: Any) -> Any:
        started.append(given)
        return start(*given, **more)

    monkeypatch.setattr(subprocess, "Popen", counted)
    with RulesProcess() as process:
        for number in range(20):
            entity = b'{"number":%d}' % number
            rules = [json.dumps({"==": [{"var": "number"}, of]}) for of in (number, -1)]
            assert process.evaluate(rules, entity) == [None, "its value is not true"]
        assert process.evaluate([json.dumps({"cat": [SHARED]})], b"{}") != [None]
        assert process.evaluate(rules, entity) == [None, "its value is not true"]
    assert len(started) == 1


def test_process_that_was_killed_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def kept(*given: Any, **more: Any) -> Any:
        started.append(start(*given, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", kept)
    rule = json.dumps({"==": [1, 1]})
    with RulesProcess() as process:
        assert process.evaluate([rule], b"{}") == [None]
        started[0].kill()
        started[0].wait()
        assert process.evaluate([rule], b"{}") == [BEYOND]
        assert process.evaluate([rule], b"{}") == [None]
    assert [each.poll() is not None for each in started] == [True, True]
