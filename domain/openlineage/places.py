"""Entities of the catalog for the datasets that events name: by services, rules and claims."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from domain.event_store.entity_reads import EntityReads
from domain.event_store.stored import Claim
from domain.kinds.names import join, split
from domain.openlineage.mapping_file import NO_RULES, Rules
from domain.openlineage.naming import (
    IGNORED,
    KIND_OF,
    SCHEMES,
    STORAGE,
    Container,
    Service,
    candidates,
    fitting_services,
    longest_container,
    normal_endpoint,
    scheme_of,
)
from domain.openlineage.statements import DatasetName

_LISTS = ("bucketNames", "containerName", "bucketName")
_PORTS = {type_: scheme.port for scheme in SCHEMES.values() for type_ in scheme.types}

_REDSHIFT = re.compile(
    r"(?P<cluster>[^./]+)\.[^./]+\.(?P<region>[^./]+)\.redshift\.amazonaws\.com(?P<port>(:\d+)?)",
    re.IGNORECASE,
).fullmatch

Name = tuple[str, str]
"""A kind and a qualified name."""


class Found(Struct, frozen=True):
    """The catalog's entity for a dataset, if there is one."""

    claim: Claim | None = None
    """None for a dataset that the catalog does not have, or that may be several."""
    ignored: bool = False
    """True if the dataset is to be passed over."""
    makes: str | None = None
    """Qualified name of the table that is to be made for the dataset."""


class Places(Struct, frozen=True):
    """The services and containers of the catalog, and the rules for names."""

    services: Sequence[Service] = ()
    containers: Mapping[str, Sequence[Container]] = {}
    """Path without scheme -> the containers that are there."""
    rules: Rules = NO_RULES

    def find(
        self,
        names: Iterable[DatasetName],
        symlinks: Mapping[DatasetName, Sequence[DatasetName]],
        claims: EntityReads,
    ) -> dict[DatasetName, Found]:
        """Find the entities of some datasets; all are looked up together.

        Other names that a dataset has, by its symlinks, come first. A name that may mean several
        entities finds none.
        """
        wanted = [*dict.fromkeys(names)]
        tried = {
            name: [self._names(each) for each in (*symlinks.get(name, ()), name)] for name in wanted
        }
        sought = {each for lists in tried.values() for some in lists for each in some}
        held: dict[Name, Claim] = {}
        for each in claims.claims(names=sought) if sought else ():
            if not each.deleted:
                held.update(((each.kind, fqn), each) for fqn in each.all_names)
        entities = {}
        for name in wanted:
            hits = (
                {held[each].id: held[each] for each in some if each in held} for some in tried[name]
            )
            claim = next((next(iter(hit.values())) for hit in hits if len(hit) == 1), None)
            entities[name] = Found(claim) if claim else self._unknown(name, tried[name][-1], claims)
        return entities

    def _unknown(self, name: DatasetName, tried: Sequence[Name], claims: EntityReads) -> Found:
        rule = self.rules.of_dataset(name.namespace)
        if rule is None or rule.service is None:
            if scheme_of(name.namespace) == IGNORED or (rule and rule.unknown == "ignore"):
                return Found(ignored=True)
            return Found()
        if rule.unknown == "ignore":
            return Found(ignored=True)
        if rule.unknown == "create":
            tables = [fqn for kind, fqn in tried if kind == "table"]
            schemas = {fqn: join(split(fqn)[:-1]) for fqn in tables}
            names = [("databaseSchema", schema) for schema in schemas.values()]
            live = {claim.fqn for claim in claims.claims(names=names) if not claim.deleted}
            tables = [fqn for fqn in tables if schemas[fqn] in live]
            if len(tables) == 1 and claims.claim("table", tables[0]) is None:
                return Found(makes=tables[0])
        return Found()

    def _names(self, dataset: DatasetName) -> list[Name]:
        """The kinds and qualified names that a dataset may have."""
        rule = self.rules.of_dataset(dataset.namespace)
        case = "keep" if rule is None else rule.case
        if rule is not None and rule.service is not None:
            services = [each for each in self.services if each.fqn == rule.service]
        else:
            services = fitting_services(dataset.namespace, self.services)
        stores = [each for each in services if each.kind == STORAGE]
        if stores:
            container = longest_container(dataset.namespace, dataset.name, stores, self.containers)
            return [("container", container)] if container else []
        return [
            (KIND_OF[service.kind], fqn)
            for service in services
            for fqn in candidates(service, dataset.name, case)
        ]


def service_of(kind: str, document: Mapping[str, Any]) -> Service:
    """A service by its document: where its connection says that it is."""
    config = (document.get("connection") or {}).get("config") or {}
    type_ = str(document.get("serviceType") or "")
    given = [config.get(key) for key in ("hostPort", "account", "metastoreHostPort")]
    servers = config.get("bootstrapServers")
    given += servers.split(",") if isinstance(servers, str) else []
    if type_ == "Redshift" and (host := _redshift(str(config.get("hostPort") or ""))):
        given.append(host)
    region = (config.get("awsConfig") or {}).get("awsRegion")
    given += [f"athena.{region}.amazonaws.com"] if type_ == "Athena" and region else []
    endpoints = {
        normal_endpoint(each.strip(), _PORTS.get(type_))
        for each in given
        if isinstance(each, str) and each.strip()
    }
    for key in _LISTS:
        value = config.get(key)
        buckets = value if isinstance(value, list) else [value]
        endpoints.update(each.lower() for each in buckets if isinstance(each, str))
    return Service(kind, document["fullyQualifiedName"], type_, frozenset(endpoints))


def _redshift(host: str) -> str | None:
    """The address of a Redshift cluster in OpenLineage's form: `cluster.region:port`."""
    found = _REDSHIFT(host)
    return f"{found['cluster']}.{found['region']}{found['port']}" if found else None


def container_of(document: Mapping[str, Any]) -> Container | None:
    """A container by its document; None for one without path."""
    path = document.get("fullPath")
    if not isinstance(path, str) or not path:
        return None
    return Container(
        document["fullyQualifiedName"], document["service"]["fullyQualifiedName"], path
    )
