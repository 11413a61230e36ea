"""OpenLineage's names of datasets as qualified names: which service, and which parts below it.

The forms of names are those of OpenLineage's naming (`spec/Naming.md`). A name with more dots than
its form has parts is tried in each split; the last part alone never says which table is meant.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from domain.kinds.names import MAX_NAME_LENGTH, join, split

DATABASE, MESSAGING, STORAGE = "databaseService", "messagingService", "storageService"
SERVICE_KINDS = (DATABASE, MESSAGING, STORAGE)
"""The kinds of services that have datasets, the likelier ones first."""
KIND_OF = {DATABASE: "table", MESSAGING: "topic", STORAGE: "container"}
"""Kind of service -> the kind of its entities that a dataset may be."""
_MOST_SPLITS = 30
"""Splits of one name in three parts that are tried: all of a name with up to eight dots."""
Case = Literal["keep", "lower", "upper"]


class Scheme(Struct, frozen=True):
    """The services that the scheme of a namespace may mean."""

    kind: str
    types: tuple[str, ...]
    port: int | None = None
    """The port of a service that names none."""


_SQL_SERVER = ("Mssql", "AzureSQL", "Synapse")
_ADLS = Scheme(STORAGE, ("ADLS",))
_S3 = Scheme(STORAGE, ("S3",))
SCHEMES: Mapping[str, Scheme] = {
    "postgres": Scheme(DATABASE, ("Postgres", "Timescale", "Greenplum", "Cockroach"), 5432),
    "redshift": Scheme(DATABASE, ("Redshift",), 5439),
    "mysql": Scheme(DATABASE, ("Mysql", "MariaDB", "SingleStore", "Doris", "StarRocks"), 3306),
    "mssql": Scheme(DATABASE, _SQL_SERVER, 1433),
    "sqlserver": Scheme(DATABASE, _SQL_SERVER, 1433),
    "azurecosmos": Scheme(DATABASE, ("CustomDatabase",)),
    "oracle": Scheme(DATABASE, ("Oracle",), 1521),
    "snowflake": Scheme(DATABASE, ("Snowflake",)),
    "bigquery": Scheme(DATABASE, ("BigQuery",)),
    "trino": Scheme(DATABASE, ("Trino",), 8080),
    "presto": Scheme(DATABASE, ("Presto",), 8080),
    "hive": Scheme(DATABASE, ("Hive", "Impala"), 9083),
    "awsathena": Scheme(DATABASE, ("Athena",)),
    "databricks": Scheme(DATABASE, ("Databricks", "UnityCatalog"), 443),
    "clickhouse": Scheme(DATABASE, ("Clickhouse",), 8123),
    "db2": Scheme(DATABASE, ("Db2",), 50000),
    "teradata": Scheme(DATABASE, ("Teradata",), 1025),
    "vertica": Scheme(DATABASE, ("Vertica",), 5433),
    "kafka": Scheme(MESSAGING, ("Kafka", "Redpanda"), 9092),
    "s3": _S3,
    "s3a": _S3,
    "s3n": _S3,
    "gs": Scheme(STORAGE, ("GCS",)),
    "abfss": _ADLS,
    "abfs": _ADLS,
    "wasbs": _ADLS,
}
"""Scheme of a namespace -> the services that it may mean."""
IGNORED = "file"
"""The scheme of files, which are no datasets of the catalog unless they are mapped."""
_TWO_LEVELS = frozenset(
    ("Mysql", "MariaDB", "SingleStore", "Doris", "StarRocks", "Hive", "Impala", "Clickhouse")
)
"""Types of services whose databases are schemas here, below a database `default`."""
_DEFAULT = "default"
_authority = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE).match


class Service(Struct, frozen=True):
    """A service as names of datasets lead to it."""

    kind: str
    fqn: str
    type: str
    endpoints: frozenset[str] = frozenset()
    """The addresses in its connection: `host:port`, an account or buckets, in lower case."""


class Container(Struct, frozen=True):
    """A container of a storage service with the path of its files."""

    fqn: str
    service: str
    """Qualified name of its service."""
    full_path: str


def scheme_of(namespace: str) -> str:
    """The scheme of a namespace in lower case: `postgres` of `postgres://host:5432`."""
    return namespace.partition(":")[0].lower()


def endpoint_of(namespace: str, scheme: Scheme) -> str:
    """The place that a namespace names: `host:port`, an account, or a bucket."""
    rest = namespace.partition("://")[2]
    place = rest.partition("/")[0].rpartition("@")[2] if scheme.kind != STORAGE else rest
    if scheme.kind == STORAGE:
        # A container of Azure stands before the @.
        return place.partition("/")[0].lower()
    return normal_endpoint(place, scheme.port)


def normal_endpoint(place: str, port: int | None) -> str:
    """A `hostPort` in lower case, without scheme, user and path, with the usual port."""
    if _authority(place):
        place = urlsplit(place).netloc
    place = place.partition("/")[0].rpartition("@")[2].lower()
    if port is not None and place and not re.search(r":\d+$", place):
        place = f"{place}:{port}"
    return place


def fitting_services(namespace: str, services: Iterable[Service]) -> list[Service]:
    """The services whose type and connection fit a namespace."""
    scheme = SCHEMES.get(scheme_of(namespace))
    if scheme is None:
        return []
    place = endpoint_of(namespace, scheme)
    of_type = [each for each in services if each.kind == scheme.kind and each.type in scheme.types]
    if not place or scheme.kind == STORAGE:
        # There is one BigQuery; a container says itself where its files are.
        return of_type
    return [each for each in of_type if place in each.endpoints]


def candidates(service: Service, name: str, case: Case = "keep") -> Iterator[str]:
    """The qualified names of tables or topics that a dataset of a service may mean."""
    if case != "keep":
        name = name.lower() if case == "lower" else name.upper()
    above = split(service.fqn)
    if service.kind == MESSAGING:
        yield join([*above, name])
        return
    if service.kind != DATABASE:
        return
    pieces = name.split(".")
    if service.type in _TWO_LEVELS and len(pieces) == 2:
        yield join([*above, _DEFAULT, *pieces])
        return
    for parts in _splits(pieces):
        if all(0 < len(part) <= MAX_NAME_LENGTH for part in parts):
            yield join([*above, *parts])


def _splits(pieces: list[str]) -> Iterator[list[str]]:
    """The ways to make three names of pieces between dots, at most 30."""
    for tried, cuts in enumerate(combinations(range(1, len(pieces)), 2)):
        if tried == _MOST_SPLITS:
            return
        ends = (*cuts, len(pieces))
        yield [".".join(pieces[a:b]) for a, b in zip((0, *cuts), ends, strict=True)]


def by_path(containers: Iterable[Container]) -> dict[str, list[Container]]:
    """Path without scheme -> the containers at the path; containers without one are left out."""
    at_path: dict[str, list[Container]] = {}
    for each in containers:
        if path := _path(each.full_path):
            at_path.setdefault(path, []).append(each)
    return at_path


def longest_container(
    namespace: str,
    name: str,
    services: Iterable[Service],
    containers: Mapping[str, Sequence[Container]],
) -> str | None:
    """The qualified name of the container of these services whose path fits a dataset best.

    `containers` is the result of `by_path`. None where no path fits, and where several containers
    have the best one.
    """
    known = {each.fqn for each in services}
    path = _path(f"{namespace.rstrip('/')}/{name.lstrip('/')}")
    while path:
        fitting = [each.fqn for each in containers.get(path, ()) if each.service in known]
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
        path = path.rpartition("/")[0]
    return None


def _path(address: str) -> str:
    """An address of files without its scheme and the slash at its end."""
    _, sign, rest = address.partition("://")
    return (rest if sign else address).rstrip("/")
