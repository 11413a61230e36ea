"""Pages of lists as a caller may see them, for pages and tools with other things beside them."""

from functools import cache
from typing import Any

import msgspec

from api.callers.permissions import Access
from api.services import Services
from api.use_cases.list_parameters import list_parameters, list_request
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.list_pages import list_page
from projections.entities.list_port import ListRequest, PastOfList


def read_list(
    services: Services,
    kind: EntityKind,
    access: Access,
    past: PastOfList | None = None,
    **given: Any,
) -> dict[str, Any]:
    """A page of the list of a kind as the caller may see it: `data` and `paging`.

    `given` are parameters of the kind's list. Blocks. Raises InvalidInput and FieldWithheld.
    """
    page: dict[str, Any] = msgspec.json.decode(list_body(services, kind, access, past, **given))
    return page


def list_body(
    services: Services,
    kind: EntityKind,
    access: Access,
    past: PastOfList | None = None,
    **given: Any,
) -> bytes:
    """The JSON of the page that `read_list` gives decoded."""
    wanted = wanted_list(kind, access, past, **given)
    with services.stores.entities.use() as entities:
        return b"".join(list_page(entities, wanted))


def wanted_list(
    kind: EntityKind, access: Access, past: PastOfList | None, **given: Any
) -> ListRequest:
    """The request for the page that `read_list` reads; raises InvalidInput and FieldWithheld."""
    asked = _defaults(kind.name) | given
    return msgspec.structs.replace(list_request(kind, access, asked, ()), past=past)


@cache
def _defaults(kind: str) -> dict[str, Any]:
    """The defaults of the parameters of a kind's list: declaring these takes longer than a read."""
    return {name: default for name, (_, default) in list_parameters(KINDS[kind]).items()}
