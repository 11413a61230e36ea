"""A directory and memory hold files alike."""

from pathlib import Path

import pytest

from projections.search.index.format.storage import Directory, Memory, Storage, map_arrays


@pytest.fixture(params=["directory", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return Memory() if request.param == "memory" else Directory(tmp_path)


def test_file_that_is_not_there_is_an_os_error(storage: Storage) -> None:
    file = storage.create_file("there")
    file.write(b"some bytes")
    file.close()
    assert (storage.file_length("there"), storage.read("there")) == (10, b"some bytes")
    storage.delete_file("there")
    askings = storage.file_length, storage.read, storage.crc, storage.open_file, storage.delete_file
    for ask in askings:
        with pytest.raises(FileNotFoundError, match="there"):
            ask("there")
    with pytest.raises(FileNotFoundError, match="there"):
        map_arrays(storage, "there")
