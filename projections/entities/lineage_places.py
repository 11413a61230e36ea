"""The services and containers that names of datasets lead to, as the sorted read model has them."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from domain.kinds.registry import KINDS
from domain.openlineage.mapping_file import Rules
from domain.openlineage.naming import SERVICE_KINDS, STORAGE, by_path
from domain.openlineage.places import Places, container_of, service_of
from projections.entities.list_port import ListRequest
from projections.entities.port import SortedReadModel
from projections.entities.single_entities import with_all_fields

MOST_READ = 10_000
"""Services of each kind, and containers, that are read: the first by name."""
MOST_BYTES = 64_000_000
_CONTAINER = "container"
_KINDS = (*SERVICE_KINDS, _CONTAINER)


class LineagePlaces:
    """Reads the places anew where any of them has changed; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digests: Any = None
        self._places = Places()

    def read(self, model: SortedReadModel, rules: Callable[[], Rules]) -> Places:
        """The places as they are now; raises StoreUnavailable."""
        held = model.digests()
        digests = [held.get(kind) for kind in _KINDS]
        current = rules()
        with self._lock:
            if digests != self._digests:
                services = [
                    service_of(kind, each) for kind in SERVICE_KINDS for each in _read(model, kind)
                ]
                containers = []
                if any(each.kind == STORAGE for each in services):
                    found = (container_of(each) for each in _read(model, _CONTAINER))
                    containers = [each for each in found if each is not None]
                self._places = Places(services, by_path(containers), current)
                self._digests = digests
            elif self._places.rules is not current:
                self._places = msgspec.structs.replace(self._places, rules=current)
            return self._places


def _read(model: SortedReadModel, kind: str) -> Iterator[dict[str, Any]]:
    """The documents of the live entities of a kind."""
    of_kind = KINDS[kind]
    request = ListRequest(kind=of_kind, limit=MOST_READ, fields=tuple(of_kind.optional))
    with model.read_list(request, None) as reader:
        reader.passed_over()
        page = reader.whole(MOST_BYTES)
    for _, _, *jsons in page.entities if page is not None else ():
        yield msgspec.json.decode(with_all_fields(*jsons))
