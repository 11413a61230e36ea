"""The manifest: what makes the files of a commit one whole.

It names the generation, the log position, the schema, and each file with its checksum, and is
renamed into place last, after those files and the directory are synced. Readers open exactly the
generation that the manifest names, so that what a crash leaves behind is never seen.
"""

import msgspec

from domain.errors import StoreUnavailable
from projections.search.engine import SearchedPaths
from projections.search.index.format.storage import MANIFEST, Directory


class Manifest(msgspec.Struct, frozen=True):
    """One commit."""

    generation: int
    """Number of the commit: one more than that of the commit before."""
    position: int
    """The checkpoint: the log position up to which the documents are current."""
    schema: int
    """Digest of what the index was made for, see `schema_digest`."""
    files: dict[str, int]
    """File name -> CRC-32."""
    fingerprint: str = msgspec.field(default="", name="mark")
    """Text of the writer's that belongs to the position; the index does not read it."""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    """File name -> bytes. Manifests of earlier versions have no sizes."""
    searched: SearchedPaths = SearchedPaths()
    """The paths that are searched though no kind declares them."""

    def after(
        self, position: int, fingerprint: str, searched: SearchedPaths | None = None
    ) -> "Manifest":
        """The beginning of the next commit's manifest; None: the same paths are searched."""
        return Manifest(
            self.generation + 1,
            position,
            self.schema,
            {},
            fingerprint,
            searched=self.searched if searched is None else searched,
        )


def read_manifest(storage: Directory) -> Manifest | None:
    """The last commit's manifest, None before the first; StoreUnavailable when it is damaged."""
    if storage.manifest_stamp() is None:
        return None
    try:
        return msgspec.json.decode(storage.read(MANIFEST), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreUnavailable(f"the search index has no readable manifest: {error}") from error


def write_manifest(storage: Directory, manifest: Manifest) -> None:
    """Make the manifest the current one; its files must be synced before."""
    temporary = f"{MANIFEST}.new"
    stream = storage.create_file(temporary)
    stream.write(msgspec.json.encode(manifest))
    stream.close()
    storage.sync([temporary])
    storage.rename_file(temporary, MANIFEST)
    storage.sync([])
