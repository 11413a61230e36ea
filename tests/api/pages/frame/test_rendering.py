"""Templates: what they may name, and what they call things."""

import jinja2
import pytest

from api.pages.frame.documents import OPTIONAL, called, complete
from api.pages.frame.rendering import day, environment


@pytest.mark.parametrize(
    "template",
    [
        "{{ entity.nmae }}",
        "{{ entity.nmae or 'x' }}",
        "{% if entity.nmae %}x{% endif %}",
        "{{ a }}",
    ],
)
def test_name_that_is_not_there_is_an_error(template: str) -> None:
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string(template).render(entity=complete({"name": "orders"}))


def test_what_an_entity_need_not_have_is_none_in_a_template() -> None:
    entity = complete({"name": "orders", "owners": [1]})

    assert entity == {**dict.fromkeys(OPTIONAL), "name": "orders", "owners": [1]}
    assert environment().from_string("{{ entity.tags or 'x' }}").render(entity=entity) == "x"


@pytest.mark.parametrize(
    ("entity", "name"),
    [
        ({"displayName": "Orders", "name": "o", "fullyQualifiedName": "s.o"}, "Orders"),
        ({"displayName": None, "name": "o", "fullyQualifiedName": "s.o"}, "o"),
        ({"fullyQualifiedName": "s.o"}, "s.o"),
    ],
)
def test_entity_is_called_by_the_first_name_that_it_has(
    entity: dict[str, str | None], name: str
) -> None:
    assert called(entity) == name


@pytest.mark.parametrize(
    ("at", "shown"), [(1_795_000_000_000, "2026-11-18"), (10**15, "9999-12-31")]
)
def test_time_that_no_calendar_has_is_shown_as_its_end(at: int, shown: str) -> None:
    """A host with a broken clock may have recorded it."""
    assert day(at).startswith(shown)
    assert environment().from_string("{{ at | moment }}").render(at=at).startswith(shown)
