"""Where the index lies: a directory or memory, with a manifest that makes each commit whole.

The manifest names the generation, the log position, the schema and a checksum for every file. It
is renamed into place last, after files and directory are synced, and readers open exactly the
generation it names: what a crash leaves behind is never seen. Whoosh syncs and sums nothing.
"""

import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray
from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.index import TOC

from domain.errors import StoreUnavailable
from projections.search.index.format.arrays import unpack

INDEX = "search"
MANIFEST = "manifest.json"
_CHUNK = 1 << 20
LOCK = "LOCK"


def map_arrays(storage: Any, name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file, mapped into memory; any of Whoosh's storages will do."""
    if isinstance(storage, RamStorage):
        return unpack(storage.files[name])
    with open(storage._fpath(name), "rb") as file:
        return unpack(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class Manifest(msgspec.Struct, frozen=True):
    """One commit."""

    generation: int
    position: int
    schema: int
    files: dict[str, int]
    """File name -> CRC-32."""
    mark: str = ""
    """What the writer wants to know of the position, or of how far it came."""

    def after(self, position: int, mark: str) -> "Manifest":
        """The beginning of the next commit's manifest."""
        return Manifest(self.generation + 1, position, self.schema, {}, mark)


class Directory(FileStorage):  # type: ignore[misc]
    """Files of a directory that only its owner may read, as they hold pickles."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._manifest = self._fpath(MANIFEST)

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        os.replace(self._fpath(oldname), self._fpath(newname))

    def sync(self, names: list[str]) -> None:
        """Have the files and their names survive a power loss."""
        for name in (*names, ""):
            descriptor = os.open(self._fpath(name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def mark(self) -> object:
        """Something that differs when the manifest was replaced; None when there is none."""
        try:
            status = os.stat(self._manifest)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def read(self, name: str) -> bytes:
        return Path(self._fpath(name)).read_bytes()

    def crc(self, name: str) -> int:
        total = 0
        with open(self._fpath(name), "rb") as file:
            while block := file.read(_CHUNK):
                total = zlib.crc32(block, total)
        return total


class Memory(RamStorage):  # type: ignore[misc]
    """The same in memory, for tests and trials."""

    def temp_storage(self, name: str | None = None) -> "Memory":
        return Memory()

    def sync(self, names: list[str]) -> None:
        pass

    def mark(self) -> object:
        return self.files.get(MANIFEST)

    def read(self, name: str) -> bytes:
        return bytes(self.files[name])

    def crc(self, name: str) -> int:
        return zlib.crc32(self.files[name])


Storage = Directory | Memory


def read_manifest(storage: Storage) -> Manifest | None:
    """The last commit's manifest, None before the first; StoreUnavailable when it is damaged."""
    if storage.mark() is None:
        return None
    try:
        return msgspec.json.decode(storage.read(MANIFEST), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreUnavailable(f"the search index has no readable manifest: {error}") from error


def write_manifest(storage: Storage, manifest: Manifest) -> None:
    """Make the manifest the current one; its files must be synced before."""
    temporary = f"{MANIFEST}.new"
    stream = storage.create_file(temporary)
    stream.write(msgspec.json.encode(manifest))
    stream.close()
    storage.sync([temporary])
    storage.rename_file(temporary, MANIFEST)
    storage.sync([])


def verify(storage: Storage, manifest: Manifest, verified: dict[str, int]) -> None:
    """Check the manifest's files but those verified before; StoreUnavailable names a bad one."""
    for name in verified.keys() - manifest.files.keys():
        verified.pop(name, None)
    for name, crc in manifest.files.items():
        if verified.get(name) == crc:
            continue
        if storage.crc(name) != crc:
            raise StoreUnavailable(f"the search index is damaged: checksum of {name} is wrong")
        verified[name] = crc


def read_toc(storage: Storage, manifest: Manifest, schema: Any) -> TOC:
    """Whoosh's table of contents of the manifest's generation."""
    return TOC.read(storage, INDEX, gen=manifest.generation, schema=schema)
