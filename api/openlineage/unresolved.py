"""The datasets that events name and the catalog does not have, by namespaces with counts."""

import base64
import binascii
from collections import Counter

import msgspec
from msgspec import Struct

from api.callers.permissions import Access, Action, Permission
from api.errors import Forbidden
from domain.errors import InvalidInput, shown
from domain.openlineage.keeping import MISSING, Keeping
from domain.openlineage.naming import KIND_OF

MOST_LISTED = 1_000
"""Datasets of a page."""
MOST_NAMESPACES = 1_000
"""Namespaces that a page counts."""


class UnresolvedDataset(Struct, rename="camel"):
    """A dataset that the catalog does not have."""

    namespace: str
    name: str
    statements: int
    """Statements that wait for it: edges, or jobs that name it alone."""
    last_seen: int
    """Time of the newest of them, in milliseconds since 1970."""


class NamespaceCount(Struct, rename="camel"):
    """A namespace with the datasets in it that the catalog does not have."""

    namespace: str
    datasets: int


class UnresolvedPaging(Struct, rename="camel", omit_defaults=True):
    """The place of a page in the list."""

    total: int
    after: str | None = None


class UnresolvedPage(Struct, rename="camel"):
    """A page of the datasets that the catalog does not have."""

    data: list[UnresolvedDataset]
    namespaces: list[NamespaceCount]
    """The namespaces with most datasets, 1,000 at most, of the whole list."""
    paging: UnresolvedPaging


_decode = msgspec.msgpack.Decoder(tuple[str, str]).decode


def check_list(access: Access) -> None:
    """Raise Forbidden for a caller who may not view all that a dataset may be.

    Whoever may send events could ask by them which tables there are: the list tells which are not.
    """
    for kind in KIND_OF.values():
        if not access.may(Permission(Action.VIEW, kind)):
            raise Forbidden(f"the list of unresolved datasets needs the permission to view {kind}")


def unresolved_page(
    keeping: Keeping, namespace: str | None, limit: int, after: str | None
) -> bytes:
    """A page in order of namespaces and names; raises InvalidInput for a cursor that is none."""
    last = _place(after) if after else None
    counted = [(_decode(body), number, at) for body, number, at in keeping.counted(MISSING)]
    counts = Counter(place for (place, _), _, _ in counted)
    of_namespace = (each for each in counted if namespace in (None, each[0][0]))
    listed = sorted(of_namespace, key=lambda each: each[0])
    left = [each for each in listed if last is None or each[0] > last]
    page = [UnresolvedDataset(*name, number, at) for name, number, at in left[:limit]]
    paging = UnresolvedPaging(len(listed))
    if len(left) > limit:
        paging.after = _cursor(left[limit - 1][0])
    most = [NamespaceCount(*each) for each in counts.most_common(MOST_NAMESPACES)]
    return msgspec.json.encode(UnresolvedPage(page, most, paging))


def _cursor(name: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(name)).decode()


def _place(cursor: str) -> tuple[str, str]:
    try:
        return _decode(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise InvalidInput(f"after is no cursor of this list: {shown(cursor)}") from None
