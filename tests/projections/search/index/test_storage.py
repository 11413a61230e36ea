"""The directory of an index."""

from pathlib import Path

import pytest

from projections.search.index.format.storage import Directory, map_arrays


def test_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    storage = Directory(tmp_path)
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
