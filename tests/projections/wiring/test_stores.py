"""What a data directory holds is opened together, or not at all."""

from pathlib import Path

import pytest

from domain.errors import Conflict
from projections.wiring.stores import open_stores, read_models_in


@pytest.mark.parametrize("is_empty", [True, False])
def test_log_that_is_gone_is_not_begun_anew(tmp_path: Path, is_empty: bool) -> None:
    open_stores(tmp_path).close()
    log = tmp_path / "events.db"
    log.unlink()
    if is_empty:
        log.touch()
    left = {path.name: path.stat().st_size for path in tmp_path.iterdir()}

    for writable in (True, False):
        with pytest.raises(
            Conflict, match=r"no log .* read models .*entities-1\.db.* put the log back"
        ):
            open_stores(tmp_path, writable=writable)

    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == left


def test_catalog_begins_anew_where_its_read_models_are_removed_with_its_log(tmp_path: Path) -> None:
    open_stores(tmp_path).close()
    (tmp_path / "events.db").unlink()
    for name in read_models_in(tmp_path):
        path = tmp_path / name
        if path.is_file():
            path.unlink()
        else:
            for part in path.iterdir():
                part.unlink()
            path.rmdir()

    open_stores(tmp_path).close()

    assert (tmp_path / "events.db").stat().st_size > 0
