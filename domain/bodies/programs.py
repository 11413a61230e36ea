"""Programs that run in a database."""

from typing import Annotated

from domain.bodies.base import Asset
from domain.bodies.components import Part, Ref, refers_to
from domain.bodies.enumerations import ProgramLanguage, StoredProcedureType


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
