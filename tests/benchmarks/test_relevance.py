"""The judged queries hold together, and the measures are those of the literature."""

import math
from collections import Counter

import pytest
from click.testing import CliRunner

from benchmarks import relevance
from benchmarks.judged import FIRST, SET_ASIDE, TYPED, Judged, entities, judged

TABLE, CONTRACT = ("table", "s.d.t"), ("dataContract", "s.d.t.dataContract_c")


@pytest.fixture(scope="module")
def catalog():
    found = list(entities())
    if not found:
        pytest.skip("the shared catalogs are not beside the repository")
    return found


def outcome(found, grades):
    return relevance.outcome(Judged("q", "any", grades), tuple(found))


def test_judged_queries_are_many_and_of_every_category():
    categories = Counter(query.category for query in judged([]) if query.group == FIRST)
    assert categories.total() >= 70
    assert categories["typing slip"] >= 10
    assert {name: count for name, count in categories.items() if count < 5} == {}


def test_half_of_the_typed_queries_is_set_aside():
    groups = Counter(query.group for query in judged([]) if query.group != FIRST)
    assert groups.total() >= 60
    assert set(groups) == {TYPED, SET_ASIDE}
    assert abs(groups[TYPED] - groups[SET_ASIDE]) < 5
    for group in groups:
        about = Counter(query.category for query in judged([]) if query.group == group)
        assert min(about[each] for each in ("unfinished word", "typing slip", "qualified name")) > 5


def test_judged_queries_are_all_different_and_have_something_perfect():
    queries = judged([])
    assert [text for text, n in Counter(q.text for q in queries).items() if n > 1] == []
    assert [q.text for q in queries if 3 not in q.grades.values()] == []


def test_judged_entities_all_exist_in_the_catalogs(catalog):
    known = {(entity["entityType"], entity["fullyQualifiedName"]) for entity in catalog}
    missing = {key for query in judged(catalog) for key in query.grades if key not in known}
    assert missing == set()


def test_contract_on_a_perfect_table_is_acceptable_and_on_a_good_one_is_not(catalog):
    queries = {query.text: query for query in judged(catalog)}
    prefix = "mozilla_bigquery.moz-fx-data-shared-prod."
    of_perfect = f"{prefix}search.acer_cohort.dataContract_acer_cohort_contract"
    of_good = f"{prefix}search_derived.acer_cohort_v1.dataContract_acer_cohort_v1_contract"
    grades = queries["acer"].grades
    assert grades[("dataContract", of_perfect)] == 1
    assert ("dataContract", of_good) not in grades


def test_outcome_is_perfect_when_hits_come_in_the_order_of_their_grades():
    found = outcome([TABLE, CONTRACT], {CONTRACT: 1, TABLE: 3})
    assert (found.reciprocal_rank, found.ndcg) == (1.0, 1.0)


def test_outcome_weighs_grades_by_rank():
    found = outcome([CONTRACT, TABLE], {CONTRACT: 1, TABLE: 3})
    assert found.reciprocal_rank == 0.5
    assert found.ndcg == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))


def test_outcome_is_nothing_when_only_others_are_found():
    found = outcome([("table", "s.d.other")], {TABLE: 3})
    assert (found.reciprocal_rank, found.ndcg) == (0.0, 0.0)


def test_scores_are_means_over_all_over_groups_and_over_their_categories():
    first = relevance.outcome(Judged("a", "x", {TABLE: 3}), (TABLE,))
    second = relevance.outcome(Judged("b", "x", {TABLE: 3}, SET_ASIDE), ())
    assert relevance.scores([first, second]) == {
        "all": relevance.Scores(2, 0.5, 0.5),
        FIRST: relevance.Scores(1, 1.0, 1.0),
        f"{FIRST}: x": relevance.Scores(1, 1.0, 1.0),
        SET_ASIDE: relevance.Scores(1, 0.0, 0.0),
        f"{SET_ASIDE}: x": relevance.Scores(1, 0.0, 0.0),
    }


def test_queries_set_aside_are_not_told_one_by_one(monkeypatch):
    worst = relevance.outcome(Judged("never told", "x", {TABLE: 3}, SET_ASIDE), ())
    tuned = relevance.outcome(Judged("told", "x", {TABLE: 3}, TYPED), ())
    monkeypatch.setattr(relevance, "outcomes_of", lambda workspace: [worst, tuned])
    printed = CliRunner().invoke(relevance.main, ["--worst", "5"]).output
    assert " told " in printed
    assert "never told" not in printed
