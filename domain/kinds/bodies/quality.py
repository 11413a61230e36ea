"""Tests of data: what they check, on what, and the suites that hold them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from domain.errors import InvalidInput
from domain.kinds.bodies.base import Owned, Owners, ParentToBring, Tagged, Users
from domain.kinds.bodies.columns import MAX_PART_FQN
from domain.kinds.bodies.components import Part, Ref, Reference, refers_to
from domain.kinds.bodies.enumerations import Provider
from domain.kinds.names import TABLE_PARTS, child, split

SUITE = "testSuite"
"""The last part of the qualified name of the suite that belongs to a table."""
_LINK = re.compile(r"<#E::table::(?P<table>[^<>]+?)(::columns::(?P<column>[^<>]+))?>", re.DOTALL)
_LINK_CHARACTERS = MAX_PART_FQN + 100
TestPlatform = Literal["OpenMetadata", "GreatExpectations", "dbt", "Deequ", "Soda", "Other"]
TestDataType = Literal[
    "NUMBER", "INT", "FLOAT", "DOUBLE", "DECIMAL", "TIMESTAMP", "TIME", "DATE", "DATETIME",
    "ARRAY", "MAP", "SET", "STRING", "BOOLEAN",
]  # fmt: skip
Dimension = Literal[
    "Completeness", "Accuracy", "Consistency", "Validity", "Uniqueness", "Integrity", "SQL",
    "NoDimension",
]  # fmt: skip
Rule = Literal["EQUALS", "NOT_EQUALS", "GREATER_THAN_OR_EQUALS", "LESS_THAN_OR_EQUALS"]


class ValidationRule(Part, kw_only=True):
    """The relation between the value of a parameter and that of another one."""

    parameter_field: str | None = None
    rule: Rule | None = None


class TestParameter(Part, kw_only=True):
    """A parameter that a test takes."""

    name: str
    display_name: str | None = None
    data_type: TestDataType | None = None
    description: str | None = None
    required: bool | None = None
    option_values: list[Any] | None = None
    validation_rule: ValidationRule | None = None


class TestDefinition(Owned, kw_only=True):
    """A kind of test: what it checks, of what, and by which parameters."""

    # Documents of searches say under this key which kind an entity is.
    unsearched: ClassVar[tuple[str, ...]] = ("entityType",)

    entity_type: Literal["TABLE", "COLUMN"]
    test_platforms: Annotated[list[TestPlatform], Meta(min_length=1)]
    supported_data_types: list[str] | None = None
    parameter_definition: list[TestParameter] | None = None
    data_quality_dimension: Dimension | None = None
    provider: Provider | None = None
    supported_services: list[str] | None = None
    sql_expression: str | None = None
    validator_class: str | None = None
    enabled: bool | None = None
    supports_row_level_passed_failed: bool | None = None
    supports_dynamic_assertion: bool | None = None


def _read_link(given: str) -> re.Match[str] | None:
    """The groups `table` and `column` of a link; None for one to anything else."""
    link = _LINK.fullmatch(given)
    return link if link is not None and len(split(link["table"])) == TABLE_PARTS else None


def suite_to_bring(values: Mapping[str, Any]) -> ParentToBring | None:
    """The suite of the table that a request for a test case names; None where it names none."""
    given = values.get("entityLink")
    if not isinstance(given, str) or len(given) > _LINK_CHARACTERS:
        return None
    if (link := _read_link(given)) is None:
        return None
    suite = {"name": SUITE, "basicEntityReference": link["table"]}
    return ParentToBring(kind="testSuite", fqn=child(link["table"], SUITE), values=suite)


class TestSuite(Tagged, kw_only=True):
    """A set of tests: those of a table, or any that are run together."""

    basic_entity_reference: Annotated[Ref | None, refers_to("table")] = None
    basic: bool | None = None
    reviewers: Owners = None

    def complete(self, fqn: str) -> None:
        """Bring the payload into the form that is recorded; a second call changes nothing."""
        super().complete(fqn)
        self.basic = self.basic_entity_reference is not None


class ParameterValue(Part, kw_only=True):
    """The value that a test is given for a parameter."""

    name: str | None = None
    value: str | None = None


class TestCase(Tagged, kw_only=True):
    """A test of a table or of one of its columns, which `entityLink` names."""

    entity_link: Annotated[str, Meta(max_length=_LINK_CHARACTERS)]
    test_definition: Annotated[Ref, refers_to("testDefinition")]
    test_suite: Annotated[Ref | None, refers_to("testSuite")] = None
    test_suites: Annotated[list[Ref] | None, refers_to("testSuite")] = None
    """The logical suites that it was added to, beside the suite of the table."""
    entity_fqn: str | None = field(default=None, name="entityFQN")
    parameter_values: list[ParameterValue] | None = None
    compute_passed_failed_row_count: bool | None = None
    use_dynamic_assertion: bool | None = None
    inspection_query: str | None = None
    dimension_columns: list[str] | None = None
    top_dimensions: Annotated[int, Meta(ge=1, le=50)] | None = None
    followers: Users = None
    reviewers: Owners = None

    def __post_init__(self) -> None:
        """Take suite and name of what is tested from `entityLink`, from which they follow.

        Raises InvalidInput for a link to anything but a table or a column, and for another suite.
        """
        if (link := _read_link(self.entity_link)) is None:
            raise InvalidInput(
                "entityLink must be <#E::table::name> or <#E::table::name::columns::column> with"
                f" the qualified name of a table, got {self.entity_link[:80]!r}"
            )
        table = link["table"]
        self.entity_fqn = child(table, link["column"]) if link["column"] else table
        suite = child(table, SUITE)
        given = self.test_suite
        if given is None:
            self.test_suite = Reference(type="testSuite", fully_qualified_name=suite)
        elif suite != (given if isinstance(given, str) else given.fully_qualified_name):
            raise InvalidInput(f"testSuite follows from entityLink and is {suite!r}; leave it out")

    def own_name(self) -> str:
        """The qualified name, which is below what is tested and not below the suite."""
        assert self.entity_fqn is not None
        return child(self.entity_fqn, self.name)
