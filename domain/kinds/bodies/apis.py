"""Collections of an API and the endpoints in them."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import field

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import SchemaField, name_parts, part_tags
from domain.kinds.bodies.components import Part, Ref, TagLabel, Url, refers_to
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

    def _schemas(self) -> Iterator[tuple[str, ApiSchema]]:
        """The schemas that are given, each with the key that it stands under."""
        if self.request_schema is not None:
            yield "requestSchema", self.request_schema
        if self.response_schema is not None:
            yield "responseSchema", self.response_schema

    def tag_labels(self) -> Iterator[TagLabel]:
        """The labels of the endpoint and of the fields of its requests and responses."""
        yield from super().tag_labels()
        for _, schema in self._schemas():
            yield from part_tags(schema.schema_fields)

    def complete(self, fqn: str) -> None:
        """Also give the fields qualified names below the key of the schema that they are in."""
        super().complete(fqn)
        for key, schema in self._schemas():
            name_parts(schema.schema_fields, child(fqn, key))
