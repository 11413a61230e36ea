"""Programs that run in a database: stored procedures, and queries as they were run."""

from hashlib import md5
from typing import Annotated, ClassVar

from msgspec import field

from domain.errors import InvalidInput
from domain.kinds.bodies.base import Asset, Owned, Users
from domain.kinds.bodies.components import Integer, Part, Ref, TagLabel, Votes, refers_to
from domain.kinds.bodies.enumerations import ProgramLanguage, StoredProcedureType
from domain.kinds.names import check_name

MAX_OF_QUERY = 10_000
"""How many users, programs or entities a query may name, each for itself."""
_LISTS = {"users": "users", "used_by": "usedBy", "query_used_in": "queryUsedIn"}
"""Attributes of queries to which every run of the usage workflow adds -> their keys."""


class Program(Part, kw_only=True):
    """The text of a program, and the language that it is written in."""

    language: ProgramLanguage | None = None
    code: str | None = None


class StoredProcedure(Asset, kw_only=True):
    """A procedure or function that is kept in a schema; `code` is its older, plain form."""

    database_schema: Annotated[Ref, refers_to("databaseSchema")]
    database: Annotated[Ref | None, refers_to("database")] = None
    service: Annotated[Ref | None, refers_to("databaseService")] = None
    stored_procedure_code: Program | None = None
    stored_procedure_type: StoredProcedureType | None = None
    code: str | None = None
    processed_lineage: bool | None = None
    source_url: str | None = None


class Query(Owned, kw_only=True):
    """The text of a query that was run in a database service, and what it was run for.

    Without a name it is named by the checksum of its text, as OpenMetadata's client expects, so
    that a text that comes again is the same query. Requests of that client may name a `dialect`,
    which it refuses in answers.
    """

    unkept: ClassVar[tuple[str, ...]] = ("dialect",)

    name: str = ""
    query: str
    service: Annotated[Ref, refers_to("databaseService")]
    query_type: str | None = field(default=None, name="query_type")
    exclude_usage: bool | None = field(default=None, name="exclude_usage")
    duration: float | None = None
    query_date: Integer | None = None
    users: Users = None
    used_by: list[str] | None = None
    query_used_in: Annotated[list[Ref] | None, refers_to()] = None
    triggered_by: Annotated[Ref | None, refers_to()] = None
    processed_lineage: bool | None = None
    checksum: str | None = None
    dialect: str | None = None
    tags: list[TagLabel] | None = None
    followers: Users = None
    votes: Votes | None = None

    def __post_init__(self) -> None:
        self.checksum = md5(self.query.encode(), usedforsecurity=False).hexdigest()
        self.name = self.name or self.checksum

    def check(self) -> None:
        """Also refuse lists that are too long, and programs without a fit name."""
        for attribute, key in _LISTS.items():
            if len(getattr(self, attribute) or ()) > MAX_OF_QUERY:
                raise InvalidInput(f"{key} of a query may have {MAX_OF_QUERY} elements")
        for place, name in enumerate(self.used_by or ()):
            check_name(name, f"usedBy[{place}]")
            if name != name.strip():
                raise InvalidInput(f"usedBy[{place}] must not begin or end with blanks")
