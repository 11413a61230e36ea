"""The files that run several hosts name settings, ports, commands and folders that there are."""

import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from click.testing import CliRunner

from api.settings import read_settings
from domain.event_store.database_url import holds_password
from domain.event_store.postgres.address import read_address
from domain.release import RELEASE
from projections.search.opensearch.address import (
    SearchAddress,
    read_search_address,
    shows_password,
)
from replay_tool.commands import main as replay
from tests.deploy.dockerfile import ROOT, read_stages

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
COMPOSE_SECURITY = DEPLOY / "opensearch" / "security"
IGNORED = (ROOT / ".gitignore").read_text().splitlines()
TEXT = (DEPLOY / "kubernetes" / "catalog.yaml").read_text()
SEARCH_PASSWORD = COMPOSE["services"]["opensearch"]["environment"]["CATALOG_SEARCH_PASSWORD"]
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
    """The settings of a host of the image; raises for a variable that is not a setting."""
    given = IMAGE.environment | environment
    return read_settings({key: value for key, value in given.items() if key.startswith("CATALOG_")})


def test_compose_runs_two_hosts_that_differ_in_their_volumes_alone() -> None:
    first, second = HOSTS.values()
    assert {**first, "volumes": []} == {**second, "volumes": []}
    assert [each["volumes"][0] for each in (first, second)] == [
        f"{name}:{IMAGE.values['VOLUME']}" for name in HOSTS
    ]
    assert first["volumes"][1:] == second["volumes"][1:]
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
    assert "/deploy/.env" in IGNORED


def mounts_of(service: dict[str, Any]) -> dict[str, str]:
    """Path in the container -> the file beside the compose file, or the volume."""
    return {target: source for source, target, *_ in (m.split(":") for m in service["volumes"])}


def address_of_search() -> SearchAddress:
    """Return the address where the compose file's hosts search, a password in place of its
    variable.
    """
    url = settings_of(HOSTS["one"]["environment"]).search_url
    return read_search_address(url.replace(SEARCH_PASSWORD, "secret"))


def test_search_of_compose_is_reached_by_its_user_and_its_authority() -> None:
    node = COMPOSE["services"]["opensearch"]
    environment = HOSTS["one"]["environment"]
    address = address_of_search()

    assert SEARCH_PASSWORD.startswith("${SEARCH_PASSWORD:?")
    assert SEARCH_PASSWORD in environment["CATALOG_SEARCH_URL"]
    assert (address.scheme, address.host, address.port) == ("https", "opensearch", 9200)
    own = mounts_of(node)
    config = "/usr/share/opensearch/config/"
    files = {target.removeprefix(config): own[target] for target in own if config in target}
    authority = mounts_of(HOSTS["one"])[str(address.authorities)]
    assert files["certificates/authority.pem"] == authority
    settings = yaml.safe_load((DEPLOY / files["opensearch.yml"]).read_text())
    named = {settings[key] for key in settings if key.endswith("_filepath")}
    assert named == {each for each in files if each.startswith("certificates/")}
    assert DEPLOY / files["opensearch-security"] == COMPOSE_SECURITY
    assert f"/deploy/{authority.removeprefix('./').rpartition('/')[0]}/" in IGNORED
    assert "opensearch" in HOSTS["one"]["depends_on"]


def security(name: str) -> Any:
    return yaml.safe_load((COMPOSE_SECURITY / f"{name}.yml").read_text())


def test_user_of_search_has_the_rights_on_its_indexes_alone() -> None:
    address = address_of_search()
    (user,) = security("internal_users").keys() - {"_meta"}
    (role,) = security("roles").keys() - {"_meta"}
    rights = security("roles")[role]
    (of_indexes,) = rights["index_permissions"]

    assert user == address.user
    assert security("internal_users")[user] == {"hash": "${envbc.CATALOG_SEARCH_PASSWORD}"}
    assert security("roles_mapping")[role] == {"users": [user]}
    assert of_indexes["index_patterns"] == [f"{address.prefix}-*"]
    told = [*rights["cluster_permissions"], *of_indexes["allowed_actions"]]
    assert len(told) == len(set(told))
    assert not [right for right in told if "*" in right]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_certificates_of_search_prove_the_name_that_hosts_ask_for(tmp_path: Path) -> None:
    address = address_of_search()
    made = tmp_path / "made"
    script = [str(DEPLOY / "opensearch" / "certificates.sh"), str(made)]
    subprocess.run(script, check=True, capture_output=True)
    again = subprocess.run(script, check=False, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (
        1,
        f"there are certificates in {made} already\n",
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made / "node.pem", made / "node.key")
    client = ssl.create_default_context(cafile=made / "authority.pem")
    assert shaken_hands(server, client, address.host)
    assert not shaken_hands(server, client, "elsewhere")
    assert (made / "authority.key").stat().st_mode & 0o077 == 0
    assert made.stat().st_mode & 0o077 == 0


def shaken_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bool:
    """True if a client takes a server for the one of that name."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server.wrap_bio(to_server, to_client, server_side=True),
        client.wrap_bio(to_client, to_server, server_hostname=name),
    ]
    done: set[ssl.SSLObject] = set()
    while len(done) < len(ends):
        for end in ends:
            try:
                end.do_handshake()
                done.add(end)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_proxy_passes_to_every_host_what_the_catalog_takes() -> None:
    proxy = COMPOSE["services"]["proxy"]
    port = settings_of({}).port

    assert proxy["volumes"] == ["./nginx.conf:/etc/nginx/nginx.conf:ro"]
    assert proxy["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert proxy["depends_on"] == list(HOSTS)
    assert re.findall(r"server (\w+):(\d+) resolve max_fails=0;", NGINX) == [
        (name, str(port)) for name in HOSTS
    ]
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
    assert {item["path"] for item in volume["items"]} == {"jwt-secret", "search-password"}
    (trusted,) = [each for each in POD["volumes"] if "configMap" in each]
    places = {each["name"]: each["mountPath"] for each in CONTAINER["volumeMounts"]}
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
    assert settings.jwt_secret_file == f"{places['secret']}/jwt-secret"
    assert settings.database_url == URL
    search = dict(parse_qsl(urlsplit(settings.search_url).query))
    assert search == {
        "ca": f"{places[trusted['name']]}/authority.pem",
        "password_file": f"{places['secret']}/search-password",
    }
    assert not shows_password(settings.search_url)
    assert f"create configmap {trusted['configMap']['name']} --from-file=authority.pem" in TEXT
    assert {f"--from-file={item['path']}" for item in volume["items"]} < {*TEXT.split()}


def test_address_of_search_in_kubernetes_is_accepted(tmp_path: Path) -> None:
    (url,) = [each["value"] for each in CONTAINER["env"] if each["name"] == "CATALOG_SEARCH_URL"]
    password = tmp_path / "search-password"
    password.write_text("secret\n")
    here = url.replace("/etc/catalog/search-password", str(password))
    address = read_search_address(here)
    (user,) = security("internal_users").keys() - {"_meta"}
    (role,) = security("roles").keys() - {"_meta"}
    (of_indexes,) = security("roles")[role]["index_permissions"]
    assert (address.user, address.password) == (user, "secret")
    assert [f"{address.prefix}-*"] == of_indexes["index_patterns"]


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


def test_images_are_full_releases_of_this_version_or_of_others() -> None:
    one_host = yaml.safe_load((DEPLOY / "compose-one-host.yaml").read_text())
    services = [*COMPOSE["services"].values(), *one_host["services"].values()]
    images = {each["image"] for each in services} | {CONTAINER["image"], MIGRATION["image"]}

    assert [image for image in images if not re.search(r":\d+\.\d+", image)] == []
    assert {image for image in images if "build" not in image and "catalog" in image} == {
        f"metadata-catalog:{RELEASE}"
    }


def test_entrance_of_kubernetes_leads_to_the_hosts_and_passes_over_503() -> None:
    (entrance,) = BY_KIND["Ingress"]
    (rule,) = entrance["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    to = path["backend"]["service"]
    (service,) = [each for each in BY_KIND["Service"] if each["metadata"]["name"] == to["name"]]
    annotations = entrance["metadata"]["annotations"]

    assert to["port"]["name"] in {each["name"] for each in service["spec"]["ports"]}
    assert [rule["host"]] == entrance["spec"]["tls"][0]["hosts"]
    name = "nginx.ingress.kubernetes.io/{}".format
    for key, directive in (
        (name("upstream-hash-by"), "hash"),
        (name("proxy-next-upstream"), "proxy_next_upstream"),
        (name("proxy-body-size"), "client_max_body_size"),
    ):
        assert f"{directive} {annotations[key]}" in NGINX


def test_network_policy_is_of_the_hosts_and_lets_them_reach_what_they_need() -> None:
    (policy,) = BY_KIND["NetworkPolicy"]
    labels = SET["spec"]["template"]["metadata"]["labels"]
    (coming,) = policy["spec"]["ingress"]
    going = [port["port"] for each in policy["spec"]["egress"] for port in each["ports"]]

    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert [each["port"] for each in coming["ports"]] == [CONTAINER["ports"][0]["name"]]
    assert all(coming["from"])
    (search,) = [each["value"] for each in CONTAINER["env"] if each["name"] == "CATALOG_SEARCH_URL"]
    assert {5432, urlsplit(search).port, 443, 53} == {*going}


def test_monitor_scrapes_each_host_where_metrics_are() -> None:
    (monitor,) = BY_KIND["ServiceMonitor"]
    (endpoint,) = monitor["spec"]["endpoints"]
    selected = monitor["spec"]["selector"]["matchLabels"]
    services = [
        each["metadata"]["name"]
        for each in BY_KIND["Service"]
        if selected.items() <= each["metadata"].get("labels", {}).items()
    ]

    assert services == [SET["spec"]["serviceName"]]
    assert endpoint["port"] == CONTAINER["ports"][0]["name"]
    assert endpoint["path"] == "/metrics"


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
    # What holds secrets is for whoever deploys.
    assert set(missing) <= {"deploy/.env"}
