"""The files for Prometheus name metrics, labels and values that a catalog serves."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from prometheus_client.metrics_core import Metric

from api.callers.policies import Policies
from projections.feeding.daemon import State
from tests.api.conftest import Client
from tests.api.served_metrics import families, measured
from tests.deploy.dockerfile import ROOT

FILES = ROOT / "deploy" / "prometheus"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
_SELECTOR = re.compile(r"\b(catalog_\w+)(?:\{([^}]*)\})?")
_SUFFIXES = ("_bucket", "_count", "_sum", "")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with measured(tmp_path_factory.mktemp("measured")) as started:
        yield started


@pytest.fixture(scope="module")
def served(client: Client) -> dict[str, Metric]:
    """Name of a sample -> its family."""
    return {
        f"{family.name}{suffix}": family
        for family in families(client)
        for suffix in (*_SUFFIXES, "_total")
    }


def test_rules_name_metrics_and_labels_that_are_served(served: dict[str, Metric]) -> None:
    assert len(RULES) > 10
    for rule in RULES:
        selectors = _SELECTOR.findall(rule["expr"])
        assert selectors or rule["alert"] == "CatalogDown", rule
        for name, matchers in selectors:
            samples = [each for each in served[name].samples if each.name == name]
            assert samples, (rule["alert"], name)
            wanted = set(re.findall(r'(\w+)=~?"', matchers))
            assert wanted <= samples[0].labels.keys(), rule


def test_states_that_rules_look_for_exist() -> None:
    looked_for = {
        state for rule in RULES for state in re.findall(r'[{,]state="([^"]*)"', rule["expr"])
    }

    assert looked_for == {State.STOPPED.value}


def test_rules_show_labels_that_their_series_have(served: dict[str, Metric]) -> None:
    for rule in RULES:
        shown = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        grouped = re.findall(r"sum by \(([^)]*)\)", rule["expr"])
        if grouped:
            had = set(grouped[0].split(", "))
        else:
            names = [name for name, _ in _SELECTOR.findall(rule["expr"])]
            had = {
                "instance",
                *(label for name in names for label in served[name].samples[0].labels),
            }
        assert shown <= had, rule


def test_alert_has_a_name_a_severity_and_balanced_brackets() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning")
        for opening, closing in ("()", "{}", "[]"):
            assert rule["expr"].count(opening) == rule["expr"].count(closing), rule


def test_scraper_asks_the_route_of_the_metrics_with_a_role_that_there_is(client: Client) -> None:
    text = (FILES / "scrape.yaml").read_text()
    (job,) = yaml.safe_load(text)["scrape_configs"]
    (role,) = re.findall(r"--role (\w+)", text)

    assert role in Policies(None).roles
    assert f'up{{job="{job["job_name"]}"}}' in RULES[0]["expr"]
    assert client.request("GET", job["metrics_path"], role=role).status_code == 200
