"""The file of `CATALOG_OPENLINEAGE`: which namespaces of OpenLineage mean which services.

It is followed: an edit takes effect with the next event. A file that cannot be read is logged, and
what it said before stays in force.
"""

import logging
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from domain.errors import InvalidInput
from domain.machine import durable_files
from domain.machine.toml_files import read_toml
from domain.openlineage.naming import Case

Unknown = Literal["report", "create", "ignore"]
_Text = Annotated[str, Meta(min_length=1)]

log = logging.getLogger("catalog.openlineage")


class DatasetRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The service that has the datasets of a namespace."""

    namespace: _Text
    """A namespace, or a pattern with `*`."""
    service: str | None = None
    """Qualified name of the service; None for what the namespace says itself."""
    case: Case = "keep"
    unknown: Unknown = "report"
    """The treatment of a dataset that the catalog does not have."""


class JobRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The service that has the pipelines of a namespace."""

    namespace: _Text
    service: _Text


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of a file; the first that fits a namespace counts."""

    dataset: tuple[DatasetRule, ...] = ()
    job: tuple[JobRule, ...] = ()

    def of_dataset(self, namespace: str) -> DatasetRule | None:
        """The rule for the datasets of a namespace."""
        return next((each for each in self.dataset if _fits(namespace, each.namespace)), None)

    def of_job(self, namespace: str) -> JobRule | None:
        """The rule for the jobs of a namespace."""
        return next((each for each in self.job if _fits(namespace, each.namespace)), None)


def _fits(namespace: str, pattern: str) -> bool:
    # Nothing but * means anything else than itself.
    return fnmatchcase(namespace, pattern.replace("[", "[[]").replace("?", "[?]"))


NO_RULES = Rules()


class MappingFile:
    """The rules in force; each event looks at the times of their file, in about a microsecond."""

    def __init__(self, file: str | None) -> None:
        """Read the file, None for no rules; raises InvalidInput that names a mistake."""
        self._path = None if file is None else Path(file)
        self._stamp = None if self._path is None else durable_files.stamp(self._path)
        self._rules = NO_RULES if self._path is None else read_rules(self._path)
        self.version = 0
        """A number that differs once the rules do; `rules` looks at the file."""

    @property
    def rules(self) -> Rules:
        """The rules as the file has them now; the same object until it changes."""
        if self._path is not None and (stamp := durable_files.stamp(self._path)) != self._stamp:
            self._stamp = stamp
            try:
                self._rules = read_rules(self._path)
                self.version += 1
            except InvalidInput as error:
                log.error("mapping of OpenLineage not changed", extra={"reason": error.message})
            else:
                log.warning("mapping of OpenLineage changed", extra={"file": str(self._path)})
        return self._rules


def read_rules(path: Path) -> Rules:
    """The rules of a TOML file; raises InvalidInput with the file and the mistake."""
    where = f"CATALOG_OPENLINEAGE {path}"
    _, document = read_toml(path, where)
    try:
        rules = msgspec.convert(document, type=Rules)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{where}: {error}") from None
    for number, rule in enumerate(rules.dataset, 1):
        if rule.unknown == "create" and rule.service is None:
            raise InvalidInput(f"{where}: dataset {number}: `create` needs a `service`")
    return rules
