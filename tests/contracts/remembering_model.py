"""The sorted read model in a file, as it answers once it knows the ends of a list."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from projections.entities.cursors import Place
from projections.entities.list_port import ListRequest
from projections.entities.port import SortedReadModel
from projections.entities.sqlite.database import EntityDatabase
from projections.entities.sqlite.model import SqliteReadModel
from projections.entities.sqlite.pages import SqliteListReader
from projections.generations.port import ChangeCounter


class RememberingModel(SqliteReadModel):
    """A model that knows the ends of each list whose pages it is asked for."""

    def __init__(self, database: EntityDatabase) -> None:
        super().__init__(database)
        self.changes = ChangeCounter()
        self.share_states(self.changes.number)

    def apply(self, *of: Any, **more: Any) -> None:
        with self.changes.changing():
            super().apply(*of, **more)

    def read_list(self, request: ListRequest, place: Place | None) -> SqliteListReader:
        if request.limit:
            first = msgspec.structs.replace(request, limit=1, before=None, after=None)
            with super().read_list(first, None) as reader:
                reader.passed_over()
                reader.whole(1_000_000)
        return super().read_list(request, place)


@contextmanager
def remembering(directory: Path) -> Iterator[SortedReadModel]:
    database = EntityDatabase(directory / "remembering.db", writable=True)
    database.prepare()
    with closing(RememberingModel(database)) as model:
        yield model
