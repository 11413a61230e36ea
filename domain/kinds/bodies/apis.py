"""Collections of an API and the endpoints in them."""

from typing import Annotated, ClassVar

from msgspec import field

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import SchemaField, name_parts
from domain.kinds.bodies.components import Part, Ref, Url, refers_to
from domain.kinds.bodies.enumerations import RequestMethod, SchemaType
from domain.kinds.names import child


class ApiCollection(Asset, kw_only=True):
    """Endpoints of an API that belong together, as under one tag of an OpenAPI document."""

    service: Annotated[Ref, refers_to("apiService")]
    endpoint_url: Url | None = field(default=None, name="endpointURL")
    api_endpoints: Annotated[list[Ref] | None, refers_to("apiEndpoint")] = None


class ApiSchema(Part, kw_only=True):
    """The form of the bodies that an endpoint takes, or of those that it answers with."""

    schema_type: SchemaType | None = None
    schema_fields: list[SchemaField] | None = None


class ApiEndpoint(Asset, kw_only=True):
    """An operation of an API.

    Requests of OpenMetadata's client may name a `sourceUrl`, which the client refuses in answers.
    """

    unkept: ClassVar[tuple[str, ...]] = ("source_url",)
    parts = ("requestSchema.schemaFields", "responseSchema.schemaFields")

    api_collection: Annotated[Ref, refers_to("apiCollection")]
    service: Annotated[Ref | None, refers_to("apiService")] = None
    endpoint_url: Url | None = field(default=None, name="endpointURL")
    request_method: RequestMethod | None = None
    request_schema: ApiSchema | None = None
    response_schema: ApiSchema | None = None
    source_url: str | None = None

    def name_parts(self, fqn: str) -> None:
        """Give the fields qualified names below the key of the schema that they are in."""
        for schema, fields in self.part_lists():
            key = "requestSchema" if schema is self.request_schema else "responseSchema"
            name_parts(fields, child(fqn, key))
