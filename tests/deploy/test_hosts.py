"""The files that run several hosts name settings, ports, commands and folders that there are."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from api.settings import read_settings
from domain.event_store.database_url import holds_password
from domain.event_store.postgres.address import read_address
from replay_tool.commands import main as replay
from tests.deploy.dockerfile import ROOT, read_stages

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
NGINX = (DEPLOY / "nginx.conf").read_text()
_, IMAGE = read_stages()
HOSTS = {name: each for name, each in COMPOSE["services"].items() if "build" in each}
URL = "postgresql://catalog:secret@db.example/catalog"


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


BY_KIND: dict[str, list[dict[str, Any]]] = {}
for manifest in manifests():
    BY_KIND.setdefault(manifest["kind"], []).append(manifest)
(SET,) = BY_KIND["StatefulSet"]
POD = SET["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
(JOB,) = BY_KIND["Job"]
(MIGRATION,) = JOB["spec"]["template"]["spec"]["containers"]


def settings_of(environment: dict[str, str]) -> Any:
    """The settings of a host of the image; raises for a variable that is no setting."""
    given = IMAGE.environment | environment
    return read_settings({key: value for key, value in given.items() if key.startswith("CATALOG_")})


def test_compose_runs_two_hosts_that_differ_in_their_volumes_alone() -> None:
    first, second = HOSTS.values()
    assert {**first, "volumes": []} == {**second, "volumes": []}
    assert [each["volumes"] for each in (first, second)] == [
        [f"{name}:{IMAGE.values['VOLUME']}"] for name in HOSTS
    ]
    assert {*HOSTS} < {*COMPOSE["volumes"]}
    assert (DEPLOY / first["build"]["context"]).resolve() == ROOT
    assert (ROOT / first["build"]["dockerfile"]).is_file()
    assert (first["read_only"], first["cap_drop"]) == (True, ["ALL"])


def test_settings_of_compose_are_accepted_and_hold_no_secret() -> None:
    environment = HOSTS["one"]["environment"]
    settings = settings_of(environment)
    address = read_address(settings.database_url, writable=True)
    database = COMPOSE["services"]["postgres"]

    assert not holds_password(settings.database_url)
    assert not settings.makes_secret
    assert address.parameters["host"] == "postgres"
    assert address.parameters["user"] == database["environment"]["POSTGRES_USER"]
    assert address.parameters["dbname"] == database["environment"]["POSTGRES_DB"]
    assert database["environment"]["POSTGRES_PASSWORD"] == environment["PGPASSWORD"]
    assert environment["PGPASSWORD"].startswith("${PGPASSWORD:?")
    assert environment["CATALOG_JWT_SECRET"].startswith("${CATALOG_JWT_SECRET:?")
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "/deploy/.env" in ignored


def test_proxy_passes_to_every_host_what_the_catalog_takes() -> None:
    proxy = COMPOSE["services"]["proxy"]
    port = settings_of({}).port

    assert proxy["volumes"] == ["./nginx.conf:/etc/nginx/nginx.conf:ro"]
    assert proxy["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert proxy["depends_on"] == list(HOSTS)
    assert re.findall(r"server (\w+):(\d+) ", NGINX) == [(name, str(port)) for name in HOSTS]
    assert f"listen {port};" in NGINX
    assert NGINX.count("{") == NGINX.count("}")
    # A path there would have nginx decode names.
    assert "proxy_pass http://hosts;" in NGINX
    assert "merge_slashes off;" in NGINX


def test_kubernetes_runs_the_image_within_its_rights() -> None:
    user, group = map(int, IMAGE.values["USER"].split(":"))
    for pod in (POD, JOB["spec"]["template"]["spec"]):
        rights = pod["securityContext"]
        assert (rights["runAsUser"], rights["runAsGroup"]) == (user, group)
        assert pod["containers"][0]["image"] == HOSTS["one"]["image"]
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {each["mountPath"]: each["name"] for each in CONTAINER["volumeMounts"]}
    (claim,) = SET["spec"]["volumeClaimTemplates"]
    assert mounts[IMAGE.values["VOLUME"]] == claim["metadata"]["name"]
    assert {*mounts.values()} == {
        claim["metadata"]["name"],
        *(each["name"] for each in POD["volumes"]),
    }


def test_settings_of_kubernetes_are_accepted_and_secrets_are_referred_to() -> None:
    (volume,) = [each["secret"] for each in POD["volumes"] if "secret" in each]
    (item,) = volume["items"]
    values = {}
    for container in (CONTAINER, MIGRATION):
        for variable in container["env"]:
            if "valueFrom" in variable:
                assert variable["valueFrom"]["secretKeyRef"] == {
                    "name": volume["secretName"],
                    "key": "database-url",
                }
            values[variable["name"]] = variable.get("value", URL)
    settings = settings_of(values)

    assert settings.workers == 2
    assert settings.jwt_secret_file == f"/etc/catalog/{item['path']}"
    assert settings.database_url == URL


def test_probes_and_services_ask_what_the_server_answers() -> None:
    (port,) = CONTAINER["ports"]
    assert port["containerPort"] == settings_of({}).port
    probes = {key: each["httpGet"] for key, each in CONTAINER.items() if key.endswith("Probe")}
    assert probes == {
        "startupProbe": {"path": "/readyz", "port": port["name"]},
        "readinessProbe": {"path": "/readyz", "port": port["name"]},
        "livenessProbe": {"path": "/healthz", "port": port["name"]},
    }
    labels = SET["spec"]["template"]["metadata"]["labels"]
    assert SET["spec"]["selector"]["matchLabels"] == labels
    services = {each["metadata"]["name"]: each["spec"] for each in BY_KIND["Service"]}
    assert SET["spec"]["serviceName"] in services
    for service in services.values():
        assert service["selector"] == labels
        assert [each["targetPort"] for each in service["ports"]] == [port["name"]]
    (budget,) = BY_KIND["PodDisruptionBudget"]
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert budget["spec"]["minAvailable"] < SET["spec"]["replicas"]


def test_migration_runs_a_command_that_there_is() -> None:
    name, *words = MIGRATION["command"]
    assert name == "catalog-replay"
    done = CliRunner().invoke(replay, [*words, "--help"])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "Usage: main migrate [OPTIONS]")


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.yaml")), ids=lambda path: path.name)
def test_commands_above_the_files_name_files_that_there_are(path: Any) -> None:
    named = re.findall(r"deploy/[\w./-]+", path.read_text())
    assert named
    missing = [each for each in named if not (ROOT / each).exists()]
    # The one that holds secrets is for whoever deploys.
    assert set(missing) <= {"deploy/.env"}
