"""Write and read contracts as documents of the Open Data Contract Standard, and judge documents."""

from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, YAML_TYPES, check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import EntityRead, Operation, Write
from api.declaring.signatures import KIND_NAME, AnyRequest, id_in_path, name_in_path
from api.paths.base_path import DOCUMENT_OF, YAML_OF
from api.services import Services
from api.use_cases.documents import (
    ContractValidation,
    plan_of_document,
    read_document,
    validate_document,
)
from api.use_cases.entity_writes import Asked, answer_write
from api.use_cases.measured import reading
from domain.contracts.canonical import MAX_BYTES, Document, canonical
from domain.contracts.elements import text
from domain.contracts.importing import object_names
from domain.contracts.judging import check_mapping
from domain.contracts.yaml_input import read_yaml
from domain.contracts.yaml_output import write_yaml
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import CONTRACT
from domain.writing.entity_cache import ByName
from domain.writing.plans import Plan

_Mode = Literal["merge", "replace"]
_OBJECT = query(
    str, "Schema object that stands for the entity; by default the one named like it, or the first."
)
OF_ENTITY: Parameters = {
    "entity_id": query(UUID, "Id of the entity that the contract is about.", ...),
    "entity_type": query(KIND_NAME, "Kind of that entity.", ...),
}
_OF_OBJECT: Parameters = {**OF_ENTITY, "object_name": _OBJECT}
STRICT: Parameters = {
    "strict": query(bool, "Refuse a document that the schema of its version refuses.", False)
}
_WRITTEN: Parameters = {**_OF_OBJECT, **STRICT}
_PUT: Parameters = {
    **_WRITTEN,
    "mode": query(
        _Mode, "`replace` removes what documents can say and this one does not.", "merge"
    ),
}


class ParsedDocument(msgspec.Struct, rename="camel"):
    """The names in a document."""

    name: str | None
    version: str | None
    status: str | None
    schema_objects: list[str]
    has_multiple_objects: bool


def odcs_routes(services: Services) -> list[HTTPRouteHandler]:
    """The routes of documents of contracts."""
    planner = services.catalog.planner

    def writing(action: Action, media_types: tuple[str, ...]) -> Callable[..., Any]:
        async def write(
            request: AnyRequest,
            entity_id: UUID,
            entity_type: str,
            object_name: str | None,
            strict: bool,
            mode: _Mode = "merge",
        ) -> Finished:
            entity = Reference(type=entity_type, id=str(entity_id))

            def plan_of(asked: Asked) -> Callable[[], Plan]:
                return plan_of_document(
                    planner,
                    action,
                    entity,
                    object_name,
                    asked,
                    strict=strict,
                    replaces=mode == "replace",
                )

            return await answer_write(services, CONTRACT, request, action, plan_of, media_types)

        return write

    def shown(encode: Callable[[Any], bytes], media_type: str) -> Callable[..., Any]:
        def show(request: AnyRequest, **where: str) -> tuple[bytes, dict[str, Any]]:
            which: str | ByName
            if "entity_id" in where:
                which = id_in_path(where["entity_id"])
            else:
                marker = (YAML_OF if media_type == YAML_TYPES[0] else DOCUMENT_OF).encode()
                which = ByName(CONTRACT.spelled(name_in_path(request.scope, marker)))
            body, more = read_document(services, request.auth, which, encode)
            return body, {**more, "media_type": media_type}

        return reading(services, show)

    def judging(work: Callable[..., Any]) -> Callable[..., Any]:
        async def judge(request: AnyRequest, **given: Any) -> Finished:
            check_media_type(request.headers.get("content-type"), YAML_TYPES)
            body = await read_body(request, MAX_BYTES)

            def judged(request: AnyRequest) -> bytes:
                return msgspec.json.encode(work(request, check_mapping(read_yaml(body)), **given))

            return await reading(services, judged)(request)

        return judge

    def validate(
        request: AnyRequest,
        document: Document,
        entity_id: UUID,
        entity_type: str,
        object_name: str | None,
    ) -> ContractValidation:
        entity = Reference(type=entity_type, id=str(entity_id))
        return validate_document(services, request.auth, entity, object_name, document)

    viewing, creating = (Permission(each, CONTRACT.name) for each in (Action.VIEW, Action.CREATE))
    putting = Permission(Action.EDIT, CONTRACT.name, also=Action.CREATE)
    path = f"/v1/{CONTRACT.collection}"
    item = f"{path}/{{entity_id:str}}/odcs"
    as_json = shown(lambda document: canonical(document).encode(), JSON_TYPES[0])
    as_yaml = shown(write_yaml, YAML_TYPES[0])
    routes = []
    for place, types, title in (("", JSON_TYPES, ""), ("/yaml", YAML_TYPES, "Yaml")):
        more: Any = {"body": "OdcsDocument", "body_types": types}
        routes += [
            Write(
                f"create{{Kind}}FromOdcs{title}",
                "Create a {kind} from an ODCS document",
                f"400 when the entity has one. {_TAKEN}",
                statuses=(201,),
                takes=("Idempotency-Key", "X-Request-Id"),
                **more,
            ).at("POST", f"{path}/odcs{place}", creating, writing(Action.CREATE, types), _WRITTEN),
            Write(
                f"createOrUpdate{{Kind}}FromOdcs{title}",
                "Create or update the {kind} of an entity from an ODCS document",
                f"It keeps its name, and what no document says. {_TAKEN}",
                statuses=(200, 201),
                **more,
            ).at("PUT", f"{path}/odcs{place}", putting, writing(Action.EDIT, types), _PUT),
        ]
    reads = (
        ("", as_json, JSON_TYPES[0], DOCUMENT_OF),
        ("/yaml", as_yaml, YAML_TYPES[0], YAML_OF),
    )
    for place, show, media_type, by_name in reads:
        title = place.strip("/").title()
        about: Any = {"answer": "OdcsDocument", "headers": ("ETag",), "media_type": media_type}
        routes += [
            EntityRead(
                f"get{{Kind}}Odcs{title}", f"Get a {{kind}} as {title or 'ODCS'}", _GIVEN, **about
            ).at("GET", item + place, viewing, show),
            EntityRead(
                f"get{{Kind}}Odcs{title}ByName",
                f"Get a {{kind}} as {title or 'ODCS'} by qualified name",
                _GIVEN,
                path=f"{path}/name/{{fqn}}/odcs{place}",
                **about,
            ).at("GET", f"{by_name}{{fqn:path}}", viewing, show),
        ]
    judged: Any = {
        "body": "JudgedDocument",
        "body_types": YAML_TYPES,
        "errors": (400, 404, 408, 413, 415, 503),
    }
    return [
        *routes,
        Operation(
            "parseOdcsYaml", "Tell the names in an ODCS document", answer=ParsedDocument, **judged
        ).at("POST", f"{path}/odcs/parse/yaml", viewing, judging(_parsed)),
        Operation(
            "validateOdcsYaml",
            "Judge an ODCS document",
            "By the official schema of the version that it declares, and by the columns of the"
            " entity. Nothing is stored.",
            answer=ContractValidation,
            **judged,
        ).at("POST", f"{path}/odcs/validate/yaml", viewing, judging(validate), _OF_OBJECT),
    ]


_TAKEN = (
    "Any mapping of the kind `DataContract` with an `id` and an `apiVersion` of v3 is taken, valid"
    " or not, and given back as it is; `docs/contracts.md` tells what of it the catalog reads."
)
_GIVEN = (
    "The document that the contract was given, but for what was edited since; one that the catalog"
    " makes, where none was given."
)


def _parsed(request: AnyRequest, document: Document) -> ParsedDocument:
    names = object_names(document)
    return ParsedDocument(
        name=text(document, "name"),
        version=text(document, "version"),
        status=text(document, "status"),
        schema_objects=names,
        has_multiple_objects=len(names) > 1,
    )
