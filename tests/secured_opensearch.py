"""An OpenSearch node with the security plugin: users, rights and TLS as `deploy/opensearch` says.

The plugin is in Maven Central for few versions. A node with it needs twice as much of the processor
to start as another, and 45 MB that must be got, so that it is started only where the environment
asks for it: OPENSEARCH_SECURITY=1.
"""

import os
import shutil
import ssl
import subprocess
import tempfile
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from benchmarks.opensearch_server import (
    NoServer,
    OpenSearchServer,
    cache_directory,
    class_path,
    find_version,
    run_maven,
)

VERSIONS = {17: "2.19.4"}
"""Java from which on a version runs -> the version."""
WHY_NOT = "OpenSearch with users is started where OPENSEARCH_SECURITY=1 asks for it"
FILES = Path(__file__).parents[1] / "deploy" / "opensearch"
PASSWORD = "s3cret-p4ss"
"""That of all users, of whom `catalog` has the rights of the deployment."""
_HASHED = "$2y$04$catalogcatalogcatalogOQXWqaD7LQtlDy3bbCE96wAgh8l3kvoy"
"""The password, hashed to be proven quickly: hashes of the environment take a node long."""
Right = tuple[str, str]
"""`cluster_permissions` or `allowed_actions`, and one of them."""


class SecuredServer(OpenSearchServer):
    """A node that speaks TLS, and to users alone."""

    settings = ()
    plugins = ("org.opensearch.security.OpenSearchSecurityPlugin",)
    environment: Mapping[str, str] = {**os.environ, "CATALOG_SEARCH_PASSWORD": PASSWORD}

    @property
    def authorities(self) -> Path:
        """Certificates of those who signed its certificate."""
        return self.home / "config" / "certificates" / "authority.pem"

    @property
    def url(self) -> str:
        """The address of the node, without a user."""
        return f"https://localhost:{self.port}"

    def url_of(self, user: str, password: str = PASSWORD) -> str:
        """The address of the node and all that is needed to be let in."""
        return f"https://{user}:{password}@localhost:{self.port}/catalog?ca={self.authorities}"

    def configure(self, weaker: Mapping[str, Right]) -> None:
        """Puts the files of the deployment into place, with more users.

        `weaker` are users that lack one of the catalog's rights each.
        """
        config = self.home / "config"
        security = config / "opensearch-security"
        shutil.copytree(FILES / "security", security)
        shutil.copy(FILES / "opensearch.yml", config)
        script = [str(FILES / "certificates.sh"), str(self.authorities.parent)]
        subprocess.run(script, check=True, capture_output=True)
        users, roles, mapping = (
            security / f"{name}.yml" for name in ("internal_users", "roles", "roles_mapping")
        )
        for user, (group, right) in weaker.items():
            role = yaml.safe_load(roles.read_text())["catalog"]
            of_indexes = role["index_permissions"][0]
            rights = role[group] if group in role else of_indexes[group]
            rights.remove(right)
            _add(users, user, {"hash": _HASHED})
            _add(roles, user, role)
            _add(mapping, user, {"users": [user]})

    def answers(self) -> bool:
        """True if the node lets its users in."""
        context = ssl.create_default_context(cafile=self.authorities)
        request = urllib.request.Request(f"{self.url}/_cluster/health")
        known = b64encode(f"catalog:{PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {known}")
        with suppress(OSError), urllib.request.urlopen(request, context=context) as answer:
            return bool(answer.status == 200)
        return False


def _add(file: Path, name: str, value: object) -> None:
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), name: value}))


def _plugin(version: str) -> Path:
    """The archives of the plugin, got from Maven Central unless they are here; raises NoServer."""
    place = cache_directory() / f"opensearch-security-{version}"
    if place.exists():
        return place
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        artifact = f"org.opensearch.plugin:opensearch-security:{version}.0:zip"
        run_maven("copy", f"-Dartifact={artifact}", f"-DoutputDirectory={made}")
        (archive,) = Path(made).glob("*.zip")
        with zipfile.ZipFile(archive) as files:
            files.extractall(Path(made) / "plugin")
        with suppress(OSError):  # another process was first
            (Path(made) / "plugin").rename(place)
    return place


@contextmanager
def running(weaker: Mapping[str, Right]) -> Iterator[SecuredServer]:
    """A node for a block, with users that lack a right each; raises NoServer."""
    if not os.environ.get("OPENSEARCH_SECURITY"):
        raise NoServer(WHY_NOT)
    version = find_version(VERSIONS)
    archives = [class_path(version), *map(str, sorted(_plugin(version).glob("*.jar")))]
    with tempfile.TemporaryDirectory(prefix="opensearch-", ignore_cleanup_errors=True) as directory:
        server = SecuredServer(Path(directory), version, ":".join(archives))
        server.configure(weaker)
        try:
            server.start()
            yield server
        finally:
            server.stop()
