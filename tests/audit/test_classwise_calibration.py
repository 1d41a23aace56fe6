"""Class-wise calibration: the exact cost of all neighbours of small data sets, for any K."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.privacy.allowance import Allowance
from dpcore.releases import classwise_calibration as release
from dpcore.releases.classwise_calibration import noise_of_classes
from dpcore.summaries.class_sums import class_sums
from tests.audit.harness import cost, epsilon_lower_bound, thinner

GRID = dp.Grid([0.3, 0.7, 1.0])
BUDGETS = [{"epsilon": Fraction(1, 2)}, {"rho": Fraction(1, 50)}, {"epsilon": Fraction(1, 10**9)}]


def rows(classes):
    """Probabilities of a record: extreme ones, even ones, and some that add up to 1 or not."""
    units = np.eye(classes)
    even = np.full(classes, 1 / classes)
    mixed = 0.71 * units[0] + 0.29 * units[1]
    return [*units, even, mixed, mixed[::-1], 3 * even, np.zeros(classes), 9 * units[0] - 2]


def dearest(classes, noise):
    """The largest exact cost of replacing one record by another, with a label of any class."""
    every = [
        class_sums([label], [row], tuple(range(classes)), GRID, noise.bits)
        for label, row in itertools.product(range(classes + 1), rows(classes))
    ]
    flat = [np.r_[one.observed.ravel() << noise.bits, one.expected.ravel()] for one in every]
    return max(cost(noise.law, a - b) for a, b in itertools.combinations(flat, 2))


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_neighbours_cost_more_than_is_stated_and_some_cost_it(classes, budget):
    (stated,) = budget.values()
    own = Allowance.checked(budget.get("epsilon"), budget.get("rho"), "replace-one")
    noise = noise_of_classes(own, 2 * classes * GRID.size)
    spent = dearest(classes, noise)
    assert Fraction(99, 100) * stated < spent <= stated
    broken = noise._replace(law=thinner(noise.law))
    assert dearest(classes, broken) > Fraction(118, 100) * stated


def test_records_are_independent_so_other_records_change_no_cost():
    """What a record adds to the sums does not depend on the records beside it."""
    rng = np.random.default_rng(1)
    prob, labels = rng.dirichlet([1, 1, 1], 8), rng.integers(0, 3, 8)
    whole = class_sums(labels, prob, (0, 1, 2), GRID, 24)
    for at in range(8):
        rest = class_sums(np.delete(labels, at), np.delete(prob, at, 0), (0, 1, 2), GRID, 24)
        own = class_sums(labels[[at]], prob[[at]], (0, 1, 2), GRID, 24)
        assert np.array_equal(whole.observed, rest.observed + own.observed)
        assert np.array_equal(whole.expected, rest.expected + own.expected)


def test_the_layout_of_the_columns_changes_no_cell():
    """A value of another type in one record changes how NumPy lays all records out."""
    prob = np.random.default_rng(1).random((400, 16))
    shares = [each[:, 0] / each.sum(axis=1) for each in (prob, np.asfortranarray(prob))]
    moved = np.flatnonzero(shares[0] != shares[1])
    for at in moved[:20]:
        rows = np.stack([prob[at]] * 3)
        grid = dp.Grid([min(each[at] for each in shares), 1.0])
        plain, turned, typed = (
            class_sums([0] * 3, given, tuple(range(16)), grid, 24)
            for given in (rows, np.asfortranarray(rows), pd.DataFrame(rows).astype({3: object}))
        )
        assert np.array_equal(plain.observed, turned.observed)
        assert np.array_equal(plain.observed, typed.observed)
    assert moved.size


def test_a_record_of_another_type_rounds_no_long_double_of_another():
    rows = np.array([[0.3, 0.5]] * 4, np.longdouble) + np.longdouble(1e-18)
    typed = rows.astype(object)
    typed[3, 0] = Fraction(3, 10)
    own, neighbours = (class_sums([0] * 4, each, (0, 1), GRID, 24) for each in (rows, typed))
    assert np.abs(own.observed - neighbours.observed).sum() <= 2


def found_in_releases(epsilon, rng, size=4000):
    """A lower bound of what releases of one record or another show."""

    def likelihoods(label, row):
        grid, how = dp.Grid([1.0]), {"epsilon": epsilon, "rng": rng}
        every = [dp.classwise_calibration([label], [row], [0, 1], grid, **how) for _ in range(size)]
        sums = np.array([np.r_[one.observed.ravel(), one.expected.ravel()] for one in every])
        # Laplace noise tells nothing more of two shifts than which is nearer, up to the distance.
        return (np.clip(sums, 0.0, 1.0) @ [1.0, -1.0, 1.0, -1.0]).round(1)[:, np.newaxis]

    return epsilon_lower_bound(likelihoods(0, [1, 0]), likelihoods(1, [0, 1]), failure=1e-4)


@pytest.mark.needs_jit
def test_releases_show_no_more_than_is_stated_and_those_of_a_broken_copy_do(monkeypatch):
    assert 1.0 < found_in_releases(2.0, np.random.default_rng(1)) <= 2.0
    monkeypatch.setattr(release, "_CHANGES", 2)  # as if expected numbers cost nothing
    assert found_in_releases(2.0, np.random.default_rng(2)) > 2.0
