"""A writer killed at any moment leaves an index that opens at a whole commit."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from projections.search.documents.documents import HOLDS_STILL, SearchDocument
from projections.search.index.engine import WhooshEngine
from tests.commits import commit
from tests.depth import first_alone

IDS = 40
"""Documents that are written again and again, one more with every commit until all are there."""

_WRITER = """
import sys
from pathlib import Path
from projections.search.index.engine import WhooshEngine
from {module} import changes, commit, replaced
engine = WhooshEngine.open(Path(sys.argv[1]))
position = engine.checkpoint()
while True:
    position += 1
    commit(engine, changes(position), position, "", replaced(position))
    print(engine.rebuild_reason, flush=True)
"""


def changes(position):
    """Return the changes that a commit writes: document `position % IDS`, and others at times."""
    made = {f"id{position % IDS}": _document(position % IDS, position)}
    if position % 7 == 0:
        made |= {f"id{n}": _document(n, position) for n in range(min(position, IDS))}
    return made


def replaced(position):
    """Return the documents that a commit replaces."""
    before = expected(position - 1)
    return [
        _document(int(i.removeprefix("id")), before[i], position)
        for i in changes(position)
        if i in before
    ]


def _document(number, position, until=HOLDS_STILL):
    fields = {"name": (f"n{number}",), "description": (f"written at {position}",)}
    span = position, until
    sort = {"name": f"n{number}"}
    return SearchDocument(f"id{number}", "table", False, fields, sort, position, *span)


def expected(checkpoint):
    """Id -> digest after all commits up to the checkpoint."""
    found = {}
    for position in range(1, checkpoint + 1):
        found |= {i: document.digest for i, document in changes(position).items()}
    return found


def expected_past(checkpoint):
    """Id, since and until of all that was replaced by commits up to the checkpoint."""
    documents = (each for n in range(1, checkpoint + 1) for each in replaced(n))
    return sorted((each.id, each.since, each.until) for each in documents)


@pytest.mark.parametrize("kills", first_alone(2, 15))
def test_index_is_whole_after_every_kill(tmp_path, kills):
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "index"
    root, here = Path(__file__).parents[4], Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{here}"}
    script = _WRITER.format(module=Path(__file__).stem)
    checkpoint = 0
    for kill in range(kills):
        command = [sys.executable, "-W", "ignore", "-c", script, str(path)]
        with subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "None\n"
            time.sleep(chance.random() * 0.3)
            writer.kill()
        engine = WhooshEngine.open(path)
        assert engine.rebuild_reason is None, f"seed {seed}, kill {kill}"
        assert engine.checkpoint() >= checkpoint
        checkpoint = engine.checkpoint()
        with engine.snapshot() as snapshot:
            found = {i: digest for i, _, digest in snapshot.entries()}
            past = [s for s in snapshot.states() if s.until != HOLDS_STILL]
        assert sorted((s.id, s.since, s.until) for s in past) == expected_past(checkpoint)
        assert found == expected(checkpoint), f"seed {seed}, kill {kill}"
        assert engine.count() == len(found)
        engine.close()
    assert checkpoint >= kills
    _assert_no_orphans(path, checkpoint)


def _assert_no_orphans(path, checkpoint):
    engine = WhooshEngine.open(path)
    engine.compact()
    commit(engine, changes(checkpoint + 1), checkpoint + 1)
    engine.close()
    named = (path / "manifest.json").read_text()
    left = {file.name for file in path.iterdir()} - {"LOCK", "search_WRITELOCK", "manifest.json"}
    assert {name for name in left if name not in named} == set()
