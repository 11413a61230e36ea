"""An OpenSearch node of one's own: got from Maven Central once, made in a directory, and ended.

`python -m benchmarks.opensearch_server [--port 9200]` runs one until it is interrupted. It has no
users and no TLS, and listens on this machine alone.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

VERSIONS = {17: "2.19.6", 21: "3.8.0"}
"""Java from which on a version runs -> the version."""
WHY_NONE = "OpenSearch is not started: it takes Java 17 or newer with its compiler, and Maven"
HEAP = "512m"
START_SECONDS = 300
"""Most seconds until a new node answers, on a machine that does much else at the same time."""
_SOURCE = Path(__file__).parent / "opensearch_node"
_DOWNLOAD_SECONDS = 400
_PLUGINS = {
    "2": ("transport.Netty4Plugin", "index.reindex.ReindexPlugin", "CommonAnalysisPlugin"),
    "3": (
        "transport.Netty4ModulePlugin",
        "index.reindex.ReindexModulePlugin",
        "CommonAnalysisModulePlugin",
    ),
}
_SETTINGS = (
    "cluster.name=catalog",
    "discovery.type=single-node",
    "network.host=127.0.0.1",
    # What is under test is our index, and not how full the disk of this machine is.
    "cluster.routing.allocation.disk.threshold_enabled=false",
)


_PLAIN = ("transport.type=netty4", "http.type=netty4")


class NoServer(Exception):
    """No node can be started on this machine; the message says why."""


class OpenSearchServer:
    """A node in a directory of its own, which its owner ends."""

    settings: Sequence[str] = _PLAIN
    plugins: Sequence[str] = ()
    """Classes beside those that every node has."""
    environment: Mapping[str, str] | None = None

    def __init__(self, directory: Path, version: str, class_path: str) -> None:
        self.directory = directory
        self.version = version
        self._class_path = class_path
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The address of the node."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self) -> Path:
        """Directory of the node's data, and of its `config` if there is one."""
        return self.directory / "node"

    @property
    def pid(self) -> int:
        """The process of the node."""
        assert self._process is not None
        return self._process.pid

    def start(self, port: int | None = None) -> None:
        """Starts the node, on a free port unless one is given, and waits until it answers."""
        self.port = port or self.port or _free_port()
        major = self.version.split(".")[0]
        transport, reindex, analysis = _PLUGINS[major]
        options = ["--enable-native-access=ALL-UNNAMED"] if major != "2" else []
        log = self.directory / "node.log"
        command = [
            "java", f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Xss1m", *options, "-Dlog4j2.disable.jmx=true", "-Dio.netty.noUnsafe=true",
            f"-Dlog4j.configurationFile={_SOURCE / 'log4j2.properties'}",
            "-cp", self._class_path, str(_SOURCE / "Node.java"), str(self.home),
            *_SETTINGS, *self.settings, f"http.port={self.port}", f"transport.port={_free_port()}",
            f"plugin=org.opensearch.{transport}", f"plugin=org.opensearch.{reindex}",
            f"plugin=org.opensearch.analysis.common.{analysis}",
            *(f"plugin={each}" for each in self.plugins),
        ]  # fmt: skip
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self.environment,
            )
        ends = time.monotonic() + START_SECONDS
        while not self.answers():
            has_ended = self._process.poll() is not None
            if has_ended or time.monotonic() > ends:
                self.stop()
                why = (
                    "has ended" if has_ended else f"does not answer within {START_SECONDS} seconds"
                )
                raise NoServer(f"OpenSearch {self.version} {why}: {_end_of(log)}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Ends the node, which may not tidy up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def answers(self) -> bool:
        """True if the node does what it is asked."""
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/_cluster/health") as answer:
            return bool(answer.status == 200)
        return False


def find_version(versions: Mapping[int, str] = VERSIONS) -> str:
    """The newest of some versions that runs on the Java of this machine; raises NoServer."""
    if not all(map(shutil.which, ("java", "javac", "mvn"))):
        raise NoServer(WHY_NONE)
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    known = re.search(r'version "(\d+)', said)
    fitting = [version for java, version in versions.items() if known and int(known[1]) >= java]
    if not fitting:
        raise NoServer(WHY_NONE)
    return fitting[-1]


def class_path(version: str) -> str:
    """The archives of a version, got from Maven Central unless they are here; raises NoServer."""
    cache = cache_directory()
    known = cache / f"opensearch-{version}.classpath"
    with suppress(OSError):
        archives = known.read_text().strip()
        if all(Path(archive).exists() for archive in archives.split(":")):
            return archives
    made = cache / f"{known.name}.{os.getpid()}"
    run_maven(
        "build-classpath", "-f", str(_SOURCE / "pom.xml"), f"-Dopensearch={version}",
        "-DincludeScope=runtime", f"-Dmdep.outputFile={made}",
    )  # fmt: skip
    os.replace(made, known)
    return known.read_text().strip()


def cache_directory() -> Path:
    """Directory in which downloads are kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metadata-catalog"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def run_maven(goal: str, *options: str) -> None:
    """Has Maven get something, by a goal of its dependency plugin; raises NoServer."""
    command = ["mvn", "-B", "-q", f"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:{goal}"]
    try:
        subprocess.run(
            [*command, *options], check=True, capture_output=True, timeout=_DOWNLOAD_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        raise NoServer("OpenSearch is not started: Maven does not get it") from None


@contextmanager
def running(port: int | None = None) -> Iterator[OpenSearchServer]:
    """A node for a block, in a temporary directory; raises NoServer where there can be none."""
    version = os.environ.get("OPENSEARCH_VERSION") or find_version()
    with tempfile.TemporaryDirectory(prefix="opensearch-", ignore_cleanup_errors=True) as directory:
        server = OpenSearchServer(Path(directory), version, class_path(version))
        try:
            server.start(port)
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def _end_of(log: Path) -> str:
    return " ".join(log.read_text(errors="replace").split()[-60:])


def main() -> None:
    """Runs a node until it is interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9200)
    with running(parser.parse_args().port) as server:
        print(f"OpenSearch {server.version} on {server.url}", flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(3_600)


if __name__ == "__main__":
    main()
