"""Lines that call things as they were called before they were renamed."""

import pytest

from domain.importing.bulk_import import LineReport
from domain.importing.readers import LineReaders
from tests.domain.conftest import World
from tests.domain.folding import newest
from tests.domain.imported_lines import chunks, importer, line, load_all, outcome


@pytest.mark.parametrize("read_elsewhere", [False, True])
def test_lines_may_use_former_names(
    world: World, readers: LineReaders, read_elsewhere: bool
) -> None:
    glossary = world.create("glossary", "old", description="")
    term = world.create("glossaryTerm", "t", glossary="old", description="")
    for entity, name in ((term, "u"), (glossary, "new")):
        world.patch(entity, {"op": "replace", "path": "/name", "value": name})
    above = {"type": "glossary", "fullyQualifiedName": "old"}
    label = {"tagFQN": "old.t", "source": "Glossary"}
    file = chunks(
        line("glossary", "old", description="a"),
        line("glossaryTerm", "t", "old.t", glossary=above, description="b"),
        line("glossaryTerm", "v", "old.v", glossary=above, description="c"),
        line("databaseService", "s", serviceType="Mysql", tags=[label]),
        line("glossaryTerm", "w", "old.x", glossary=above, description="d"),
        size=10,
    )

    read = (readers if read_elsewhere else LineReaders([])).read(file)
    ((_, batch),) = load_all(importer(world), read)

    said = "fullyQualifiedName is 'old.x', but name and parent make it 'new.w'"
    assert outcome(batch)[2:] == (2, 2, 0, [LineReport(5, said)])
    assert world.lives().keys() == {"new", "new.u", "new.v", "s"}
    made = world.log.claim("databaseService", "s")
    assert made is not None
    state = newest(world.log, made.id)
    assert state is not None
    assert state.value("tags")[0]["tagFQN"] == "new.u"
