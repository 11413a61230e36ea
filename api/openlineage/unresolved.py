"""The datasets that events name and the catalog does not have, by namespaces with counts."""

import base64
import binascii

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from api.callers.permissions import Access, Action, Permission
from api.errors import Forbidden
from domain.errors import InvalidInput, shown
from domain.measurements.port import Measurements
from domain.openlineage.missing_datasets import missing_page
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
    """Latest time of a statement that waits or waited for it, in milliseconds since 1970."""


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

    A sender of events could use this list to find out which tables exist, since it names those that
    do not.
    """
    for kind in KIND_OF.values():
        if not access.may(Permission(Action.VIEW, kind)):
            raise Forbidden(f"the list of unresolved datasets needs the permission to view {kind}")


def unresolved_page(
    measurements: Measurements, namespace: str | None, limit: int, after: str | None
) -> UnresolvedPage:
    """A page in order of namespaces and names; raises InvalidInput for a cursor that is none."""
    page = missing_page(
        measurements,
        namespace=namespace,
        after=_place(after) if after else None,
        limit=limit,
        namespaces=MOST_NAMESPACES,
    )
    paging = UnresolvedPaging(page.total)
    if page.more:
        last = page.datasets[-1]
        paging.after = _cursor((last.namespace, last.name))
    datasets = [UnresolvedDataset(*astuple(each)) for each in page.datasets]
    most = [NamespaceCount(*astuple(each)) for each in page.namespaces]
    return UnresolvedPage(datasets, most, paging)


def _cursor(name: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(name)).decode()


def _place(cursor: str) -> tuple[str, str]:
    try:
        return _decode(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise InvalidInput(f"after is no cursor of this list: {shown(cursor)}") from None
