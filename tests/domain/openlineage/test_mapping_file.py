"""The file of rules for namespaces, which is followed."""

from pathlib import Path

import pytest

from domain.errors import InvalidInput
from domain.openlineage.mapping_file import MappingFile, read_rules

GOOD = """
[[dataset]]
namespace = "postgres://*"
service = "pg"
case = "lower"
unknown = "create"

[[dataset]]
namespace = "file"
unknown = "ignore"

[[job]]
namespace = "prod"
service = "airflow"
"""


def written(directory: Path, text: str) -> Path:
    file = directory / "openlineage.toml"
    file.write_text(text)
    return file


def test_first_rule_that_fits_counts(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, GOOD))
    rule = rules.of_dataset("postgres://db:5432")
    assert rule is not None
    assert (rule.service, rule.case, rule.unknown) == ("pg", "lower", "create")
    assert rules.of_dataset("mysql://db") is None
    job = rules.of_job("prod")
    assert job is not None
    assert job.service == "airflow"
    assert rules.of_job("production") is None


@pytest.mark.parametrize("namespace", ["a[b]", "a?b", "a.b"])
def test_nothing_but_an_asterisk_is_a_pattern(tmp_path: Path, namespace: str) -> None:
    rules = read_rules(
        written(tmp_path, f'[[dataset]]\nnamespace = "{namespace}"\nservice = "s"\n')
    )
    assert rules.of_dataset(namespace) is not None
    assert rules.of_dataset("axb") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[dataset]]\n", "namespace"),
        ('[[dataset]]\nnamespace = ""\n', "length"),
        ('[[dataset]]\nnamespace = "a"\ncase = "Upper"\n', "case"),
        ('[[dataset]]\nnamespace = "a"\nunknown = "create"\n', "needs a `service`"),
        ('[[datasets]]\nnamespace = "a"\n', "datasets"),
        ("[[dataset]\n", "line 1"),
        ('[[job]]\nnamespace = "a"\n', "service"),
    ],
)
def test_mistake_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=f"CATALOG_OPENLINEAGE .*{why}"):
        read_rules(written(tmp_path, text))


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        MappingFile(str(tmp_path / "none.toml"))


def test_edit_takes_effect_and_a_mistake_does_not(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD)
    mapping = MappingFile(str(file))
    before = mapping.rules
    assert mapping.rules is before
    file.write_text("[[dataset]\n")
    assert (mapping.rules, mapping.version) == (before, 0)
    file.write_text('[[job]]\nnamespace = "x"\nservice = "longer than before"\n')
    assert mapping.rules.of_job("x") is not None
    assert mapping.version == 1


def test_without_a_file_there_are_no_rules() -> None:
    assert MappingFile(None).rules.of_dataset("x") is None
