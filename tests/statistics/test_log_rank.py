"""Log-rank statistics: exactly those of records, of SciPy and of lifelines; and of noisy counts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.statistics.log_rank import LogRank, before_ends, quadratic_form, weights_of
from tests.reference.log_rank import log_rank

ALL = ["log-rank", "wilcoxon", "tarone-ware", "peto", (1.0, 0.0), (0.5, 2.0)]
# Of ``lifelines.statistics.multivariate_logrank_test`` 0.30.3, for ``sample(3)``, with one day more
# for each duration, as its survival curve begins at 0.
OF_LIFELINES = {
    "log-rank": 12.557149031316953,
    "wilcoxon": 8.681531763000772,
    "tarone-ware": 10.606980490263295,
    "peto": 10.042047956610192,
    (1.0, 0.0): 10.046590937891066,
    (0.5, 2.0): 9.674021167308847,
}
SIZE = 40


def sample(k, n=300, seed=1):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, k, n)
    durations = np.minimum(rng.exponential(12 + 3 * groups).astype(int), SIZE - 1)
    return durations, (rng.random(n) < 0.7) & (durations < SIZE - 1), groups


def counted(durations, events, groups, size=SIZE):
    """The events in each cell and the records at risk at its start, (k, size) each."""
    both = []
    for group in range(max(groups) + 1):
        own = np.asarray(durations)[np.equal(groups, group)]
        dead = own[np.asarray(events, bool)[np.equal(groups, group)]]
        ended = np.bincount(own, minlength=size)
        both.append((np.bincount(dead, minlength=size), own.size - np.cumsum(ended) + ended))
    events, at_risk = np.array(both, np.float64).swapaxes(0, 1)
    return events, at_risk


RECORDS = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 2)), min_size=1, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.sampled_from(ALL))
def test_they_are_those_of_the_records(records, weights):
    durations, events, groups = zip(*records, strict=True)
    found = LogRank.of(*counted(durations, events, groups, 6), weights)
    differences, covariances = log_rank(durations, events, groups, 6, weights)
    assert np.allclose(found.differences, differences, 1e-12, 1e-12)
    assert np.allclose(found.covariances, covariances, 1e-12, 1e-12)
    assert np.allclose(found.differences.sum(), 0.0, 0, 1e-9)


@pytest.mark.parametrize("weights", ALL)
def test_they_are_those_of_lifelines(weights):
    statistic = quadratic_form(*LogRank.of(*counted(*sample(3)), weights))
    assert statistic == pytest.approx(OF_LIFELINES[weights], rel=1e-12)


def test_of_two_groups_it_is_that_of_scipy():
    durations, events, groups = sample(2)
    both = (
        scipy.stats.CensoredData.right_censored(durations[groups == g], ~events[groups == g])
        for g in (0, 1)
    )
    statistic = quadratic_form(*LogRank.of(*counted(durations, events, groups)))
    assert statistic == pytest.approx(scipy.stats.logrank(*both).statistic ** 2, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(0, 99), st.sampled_from(ALL))
def test_the_order_of_groups_does_not_matter(k, seed, weights):
    rng = np.random.default_rng(seed)
    counts = counted(*sample(k, 80, seed))
    order = rng.permutation(len(counts[0]))
    statistic = quadratic_form(*LogRank.of(*counts, weights))
    moved = quadratic_form(*LogRank.of(*(each[order] for each in counts), weights))
    assert moved == pytest.approx(statistic, rel=1e-8, abs=1e-10)


def test_strata_add_up_and_many_releases_are_one_call():
    strata = [LogRank.of(*counted(*sample(2, 90, seed))) for seed in range(3)]
    together = strata[0] + strata[1] + strata[2]
    assert np.allclose(together.differences, sum(each.differences for each in strata))
    assert np.allclose(together.covariances, sum(each.covariances for each in strata))
    with pytest.raises(TypeError):
        strata[0] + 1
    counts = [counted(*sample(2, 90, seed)) for seed in range(3)]
    rows = LogRank.of(*(np.stack(each) for each in zip(*counts, strict=True)), (1.0, 1.0))
    for row, own in enumerate(counts):
        alone = LogRank.of(*own, (1.0, 1.0))
        assert np.allclose(rows.differences[row], alone.differences)
        assert np.allclose(rows.covariances[row], alone.covariances)


def test_the_sum_ends_where_fewer_than_two_groups_have_enough_at_risk():
    events, at_risk = np.ones((2, 4)), np.array([[9.0, 5.0, 2.0, 8.0], [9.0, 8.0, 7.0, 6.0]])
    inside = before_ends(at_risk, np.full((2, 4), 3.0))
    kept, left = np.where(inside, events, 0.0), np.where(inside, at_risk, 0.0)
    assert left[0].tolist() == [9.0, 5.0, 0.0, 0.0]  # 8 is after the end
    assert left[1].tolist() == [9.0, 8.0, 7.0, 6.0]
    of_two = LogRank.of(events[:, :2], at_risk[:, :2])
    ended = LogRank.of(kept, left)
    assert np.allclose(ended.differences, of_two.differences)
    assert np.allclose(ended.covariances, of_two.covariances)


def test_noisy_counts_have_finite_statistics():
    rng = np.random.default_rng(1)
    events = rng.normal(0.0, 5.0, (20, 3, 30))
    at_risk = np.maximum(rng.normal(0.0, 5.0, (20, 3, 30)), 0.0)
    for weights in ALL:
        found = LogRank.of(events, at_risk, weights)
        assert np.isfinite(found.differences).all()
        assert np.isfinite(quadratic_form(*found)).all()
        assert (np.diagonal(found.covariances, axis1=1, axis2=2) >= -1e-9).all()
        of_cells = weights_of(events.sum(1), at_risk.sum(1), weights)
        assert (of_cells >= 0.0).all()
