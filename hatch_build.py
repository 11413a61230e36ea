"""Writes into a package the commit that it is built from, which `domain.release` reads."""

import os
import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FILE = Path("domain", "commit.txt")


class CommitHook(BuildHookInterface[Any]):
    """Adds `domain/commit.txt`; a checkout that is installed in place has its repository."""

    _directory = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name BUILD_COMMIT of the environment, else the commit of the checkout, if any."""
        if version == "editable":
            return
        root = Path(self.root)
        release = runpy.run_path(str(root / "domain" / "release.py"))
        commit = os.environ.get("BUILD_COMMIT") or release["read_commit"](root / _FILE, root)
        if commit == release["UNKNOWN"]:
            return
        self._directory = tempfile.mkdtemp()
        file = Path(self._directory, _FILE.name)
        file.write_text(f"{commit}\n")
        build_data["force_include"][str(file)] = str(_FILE)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file of `initialize`, once it is in the package."""
        if self._directory:
            shutil.rmtree(self._directory)
