"""Assets that are offered as one: many entities added to a data product, or removed from it."""

from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import WriteOfMany
from api.declaring.signatures import AnyRequest
from api.errors import status_of
from api.routes.entities.bulk import BulkItem, BulkResult, bulk_result
from api.services import Services
from api.use_cases.entity_writes import read_asked, refuse_headers_of_one
from domain.errors import InvalidInput, NotPermitted, RequestRefused
from domain.event_store.stored import Claim
from domain.kinds.bodies.components import Reference, as_reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.patches.json_input import decode
from domain.requests.references import find
from domain.writing.bulk_put import MAX_REQUESTS
from domain.writing.catalog import NOTHING, Proposal
from domain.writing.plans import Change, Step, check_joined

_Operation = Literal["add", "remove"]


class BulkAssets(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Entities that are to be added or removed."""

    assets: Annotated[list[Reference], msgspec.Meta(max_length=MAX_REQUESTS)]
    dry_run: bool = False
    """Tell what would be done, and do nothing."""


def offered_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The routes that add entities to one that offers them, and remove them."""
    if not (key := kind.own_paths.offers):
        return []
    planner, log = services.catalog.planner, services.stores.log

    async def change(operation: _Operation, request: AnyRequest, name: str) -> Finished:
        refuse_headers_of_one(request, "a request about many assets")
        asked = await read_asked(request, JSON_TYPES)
        wanted = as_reference(name, kind.name)

        def changed(product: Claim, asset: Claim) -> list[Step]:
            """The steps that change one asset, which the caller must be allowed to change."""
            other = KINDS[asset.kind]
            _check_access(asked.access, other, key)
            if operation == "add":
                own = [Reference(type=kind.name, id=product.id)]
                return planner.put_into(other, asset.id, key, own, asked.context).steps
            return planner.take_from(
                other, asset.id, key, product.id, asked.context, insist=False
            ).steps

        def propose() -> tuple[Proposal, bytes]:
            body = decode(asked.body, BulkAssets, "the body")
            items: list[BulkItem] = []

            def plan() -> list[Step]:
                product = find(log, wanted, (kind.name,), "the path")
                items.clear()
                steps: dict[str, list[Step]] = {}
                size = 0
                for ref in body.assets:
                    try:
                        asset = find(log, ref, (), "assets")
                        change = Change.NO_CHANGE
                        if asset.id not in steps:
                            check_joined(size)
                            done = changed(product, asset)
                            size += done[0].size
                            check_joined(size)
                            steps[asset.id] = done
                            if done[0].events:
                                change = Change.UPDATED
                    except RequestRefused as error:
                        shown = ref.fully_qualified_name or ref.id or ""
                        items.append(BulkItem(shown[:256], status_of(error)[0], error.message))
                    else:
                        items.append(BulkItem(asset.fqn, 200, change.value))
                return [step for each in steps.values() for step in each]

            proposal, _ = services.catalog.propose_steps(plan)
            shown = msgspec.json.encode(bulk_result(items, dry_run=body.dry_run))
            return NOTHING if body.dry_run else proposal, shown

        written, shown = await services.write(request, propose)
        return Finished(shown, headers=written.headers)

    path = f"/v1/{kind.collection}/{{name:str}}/assets"
    editing = Permission(Action.EDIT, kind.name)
    operations: Any = (("add", "Add", "to"), ("remove", "Remove", "from"))
    return [
        WriteOfMany(
            f"{word}{{Kind}}Assets",
            f"{title} assets {preposition} a {{kind}}",
            f"By `{key}` of each asset, whose kind the caller has to have the permission to edit."
            " What is good is stored in one transaction; what is not is told item by item.",
            answer=BulkResult,
            body=BulkAssets,
            errors=(400, 404, 408, 409, 413, 415, 503),
        ).at("PUT", f"{path}/{word}", editing, partial(change, word))
        for word, title, preposition in operations
    ]


def _check_access(access: Access, kind: EntityKind, key: str) -> None:
    """Raise what keeps a caller from changing a key of entities of a kind, if anything does."""
    if key not in kind.keys:
        raise InvalidInput(f"a {kind.name} has no {key}")
    if not access.may(Permission(Action.EDIT, kind.name)):
        raise NotPermitted(f"you have no permission to edit {kind.name}")
    if withheld := access.withheld(Action.EDIT, kind.name):
        withheld.refuse_field(key, "assets")
