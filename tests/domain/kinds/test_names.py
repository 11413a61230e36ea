"""Qualified names: joining and splitting are each other's inverse for every legal name."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.kinds import names
from tests.domain.conftest import World

legal = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=256)
awkward = st.text(".\"/ '[]Жё\U0001f600", min_size=1, max_size=12)


@given(st.lists(legal | awkward, min_size=1, max_size=5))
@example(["a.b", 'say "hi"', "x/y", "Таблица", "."])
@example(["n" * 256, '"' * 256])
def test_join_and_split_are_inverse(parts: list[str]) -> None:
    assert [names.check_name(part) for part in parts] == parts
    assert names.split(names.join(parts)) == parts


@given(st.lists(legal | awkward, min_size=1, max_size=4), legal | awkward)
def test_child_extends_the_joined_name(parts: list[str], name: str) -> None:
    assert names.child(names.join(parts), name) == names.join([*parts, name])
    assert names.child(None, name) == names.join([name])


@given(st.text('."ab', max_size=12) | st.text(max_size=40))
def test_split_of_any_text_gives_nonempty_parts_or_invalid_input(text: str) -> None:
    try:
        parts = names.split(text)
    except InvalidInput:
        return
    assert all(parts)
    assert names.split(names.join(parts)) == parts


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("orders", "orders"),
        ("a.b", '"a.b"'),
        ('a"b', '"a""b"'),
        ('"', '""""'),
        ("a/b", "a/b"),
        ("it's [x]", "it's [x]"),
        ("Заказы", "Заказы"),
    ],
)
def test_quote_quotes_dots_and_quotes_only(name: str, quoted: str) -> None:
    assert names.quote(name) == quoted


@pytest.mark.parametrize(
    ("fqn", "why"),
    [
        ("", "a part is empty at character 1"),
        ("a..b", "a part is empty at character 3"),
        ("a.", "a part is empty at character 3"),
        ('a.b"c', "a part with quotes is quoted at character 4"),
        ('a."b', "the quote is never closed at character 3"),
        ('"a"b', "a dot is expected at character 4"),
        ('""', "a part is empty at character 3"),
    ],
)
def test_split_names_the_place_that_breaks_the_rules(fqn: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        names.split(fqn)
    assert caught.value.message == f"{fqn!r} is not a qualified name: {why}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "name must have 1 to 256 characters, got 0"),
        ("n" * 257, "name must have 1 to 256 characters, got 257"),
        ("a\nb", "name must not hold control characters, got '\\n' at character 2"),
        ("\x7f", "name must not hold control characters, got '\\x7f' at character 1"),
        ("a\x80", "name must not hold control characters, got '\\x80' at character 2"),
        ("\x85", "name must not hold control characters, got '\\x85' at character 1"),
        ("\x9f", "name must not hold control characters, got '\\x9f' at character 1"),
        ("ab\ud800", "name must not hold control characters, got '\\ud800' at character 3"),
    ],
)
def test_check_name_says_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        names.check_name(name)
    assert caught.value.message == message


def test_check_name_says_where() -> None:
    with pytest.raises(InvalidInput) as caught:
        names.check_name("", "columns[0].name")
    assert caught.value.message == "columns[0].name must have 1 to 256 characters, got 0"


@pytest.mark.parametrize("name", ["n" * 256, "Ж" * 256, "\U0001f600" * 256])
def test_check_name_counts_characters_not_bytes(name: str) -> None:
    assert names.check_name(name) == name


def test_an_entity_of_an_older_log_with_a_control_character_can_be_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(names, "check_name", lambda name, where="name": name)
        entity = world.create("databaseService", "a\x85b", serviceType="Mysql")
    with pytest.raises(InvalidInput, match="control characters"):
        world.patch(entity, {"op": "add", "path": "/description", "value": "x"})
    assert world.delete(entity, hard=True).entity.purged
