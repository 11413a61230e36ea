"""The file of policies: what it grants, what is wrong with it, and that its changes count."""

from pathlib import Path

import pytest

from api.callers.permissions import Access, Action, Permission
from api.callers.policies import DEFAULT_RULES, Policies, Rule, combine, read_rules
from domain.errors import InvalidInput
from domain.kinds.registry import KINDS

GOOD = """
[[rule]]
role = "reader"
allow = ["list", "view", "search"]
withhold = ["owners", "columns.tags"]

[[rule]]
role = "steward"
kinds = ["table"]
allow = ["list", "edit"]

[[rule]]
role = "crawler"
allow = ["list", "edit"]
bot = true
"""


def hidden(access: Access, action: Action, kind: str) -> set[str]:
    withheld = access.withheld(action, kind)
    return set(withheld.paths) if withheld else set()


def written(directory: Path, text: str) -> Path:
    path = directory / "policies.toml"
    path.write_text(text)
    return path


def test_rules_are_read(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, GOOD))

    read = (Action.LIST, Action.VIEW, Action.SEARCH)
    assert rules == (
        Rule("reader", read, withhold=("owners", "columns.tags")),
        Rule("steward", (Action.LIST, Action.EDIT), ("table",)),
        Rule("crawler", (Action.LIST, Action.EDIT), bot=True),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[rule]]\nrole = "a"\nallow = ["read"]', "line 1: Invalid enum value 'read'"),
        ('\n[[rule]]\nrole = "a"\nallow = ["list"]\nkind = ["x"]', "line 2: Object contains unkn"),
        ('[[rule]]\nallow = ["list"]', "line 1: Object missing required field `role`"),
        (
            '[[rule]]\nrole = "a"\nallow = ["list"]\n\n[[rule]]\nrole = "b"\nallow = ["list"]\n'
            'kinds = ["tabel"]',
            "line 5: rule 2 ('b'): unknown kind 'tabel'; known are *, team",
        ),
        (
            '[[rule]]\nrole = "a"\nallow = ["list"]\nwithhold = ["owner"]',
            "line 1: rule 1 ('a'): unknown field 'owner'",
        ),
        (
            '[[rule]]\nrole = "a"\nallow = ["list"]\nkinds = ["user"]\nwithhold = ["columns"]',
            "unknown field 'columns'",
        ),
        (
            '[[rule]]\nrole = "a"\nallow = ["list"]\nwithhold = ["columns.name"]',
            "'columns.name' cannot be withheld: every table needs it",
        ),
        ('[[rule]]\nrole = "a"\nallow = ["list"]\nwithhold = ["name"]', "'name' cannot be"),
        (
            '[[rule]]\nrole = "a"\nallow = ["operate"]\nkinds = ["table"]',
            "operate concerns no kind",
        ),
        (
            '[[rule]]\nrole = "a"\nallow = ["metrics"]\nkinds = ["table"]',
            "metrics concerns no kind",
        ),
        ('[[rule]]\nrole = "a"', "it neither allows nor withholds anything"),
        ('[[rule]]\nrole = " "\nallow = ["list"]', "role is empty"),
        ('[[rule]]\nrole = "a"\nallow = ["list"]\nkinds = []', "kinds is empty"),
        ("", "no [[rule]] in it"),
        ("[[rule]\n", "line 1"),
        ("rules = []", "Object contains unknown field `rules`"),
    ],
)
def test_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(InvalidInput) as raised:
        Policies(str(path))

    assert raised.value.message.startswith(f"CATALOG_POLICIES {path}")
    assert message in raised.value.message


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        Policies(str(tmp_path / "none.toml"))


def test_without_a_file_the_roles_are_those_built_in() -> None:
    policies = Policies(None)

    assert policies.roles == ("reader", "editor", "admin", "bot", "scraper")
    for kind in KINDS:
        assert policies.access(("editor",)).may(Permission(Action.EDIT, kind, also=Action.CREATE))
    assert not policies.access(("editor",)).may(Permission(Action.AUDIT, "table"))
    assert policies.access(("admin",)).may(Permission(Action.OPERATE))


def test_scraper_may_read_the_metrics_and_nothing_else() -> None:
    scraper = Policies(None).access(("scraper",))

    allowed = [action for action in Action if scraper.may(Permission(action))]
    assert allowed == [Action.METRICS]
    for role, may in (("reader", False), ("editor", False), ("bot", False), ("admin", True)):
        assert Policies(None).access((role,)).may(Permission(Action.METRICS)) is may


def test_who_may_operate_may_read_the_metrics() -> None:
    access = combine((Rule("operator", (Action.OPERATE,)),), ["operator"])

    assert access.may(Permission(Action.METRICS))


def test_caller_is_a_bot_by_any_of_its_roles() -> None:
    rules = (Rule("a", (Action.EDIT,), bot=True), Rule("a", (Action.LIST,)), Rule("b"))

    assert [combine(rules, roles).bot for roles in [("a",), ("b", "a"), ("b",), ("bot",)]] == [
        True,
        True,
        False,
        False,
    ]
    own = Policies(None)
    assert [role for role in own.roles if own.access((role,)).bot] == ["bot"]


def test_several_roles_see_what_any_of_them_sees() -> None:
    rules = (
        Rule("a", (Action.LIST,), withhold=("owners", "columns")),
        Rule("b", (Action.LIST,), withhold=("tags", "columns.tags")),
        Rule("c", (Action.CREATE,)),
    )

    assert hidden(combine(rules, ("a",)), Action.LIST, "table") == {"owners", "columns"}
    assert hidden(combine(rules, ("a", "b")), Action.LIST, "table") == {"columns.tags"}
    # What a role withholds under an action does not depend on roles without that action.
    assert hidden(combine(rules, ("a", "c")), Action.LIST, "table") == {"owners", "columns"}
    assert hidden(combine(rules, ("a", "c")), Action.CREATE, "table") == set()
    assert hidden(combine(rules, ("a",)), Action.LIST, "user") == set()


def test_permission_with_a_second_action_needs_both() -> None:
    access = combine((Rule("a", (Action.EDIT,)),), ("a",))

    assert access.may(Permission(Action.EDIT, "table"))
    assert not access.may(Permission(Action.EDIT, "table", also=Action.CREATE))


def test_change_of_the_file_counts_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    policies = Policies(str(path))
    listing = Permission(Action.LIST, "table")
    assert policies.access(("reader",)).may(listing)

    path.write_text(GOOD.replace('"list", "view"', '"view"'))
    assert not policies.access(("reader",)).may(listing)

    path.write_text("[[rule]] broken")
    assert not policies.access(("reader",)).may(listing)
    assert policies.access(("steward",)).may(listing)

    path.unlink()
    assert policies.access(("steward",)).may(listing)

    path.write_text(GOOD)
    assert policies.access(("reader",)).may(listing)


def test_unknown_role_is_granted_nothing() -> None:
    access = combine(DEFAULT_RULES, ("Reader", "reader ", ""))

    assert (access.allowed, access.hidden) == ({}, {})


def test_edges_of_the_lineage_and_types_are_kinds_in_no_list_and_no_index() -> None:
    access = combine((Rule("all", tuple(Action), withhold=("description",)),), ["all"])
    entities = frozenset(KINDS)
    for action in (Action.LIST, Action.SEARCH):
        assert access.kinds(action) == entities
        for kind in ("lineageEdge", "type"):
            assert access.withheld(action, kind) is None
    for action in (Action.VIEW, Action.CREATE, Action.EDIT, Action.DELETE, Action.AUDIT):
        assert access.kinds(action) == entities | {"lineageEdge", "type"}
        for kind in ("lineageEdge", "type"):
            assert hidden(access, action, kind) == {"description"}
