"""``plan``: the least predicted error first; and ``dp.cdf`` takes it, by a rule in n epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, Histogram, NoNoise, ToeplitzGaussian
from dpcore.mechanisms.dawa import counting_error
from dpcore.planning.most_accurate import most_accurate
from dpcore.planning.plan_shapes import REFERENCE_SHAPES, expected_largest
from dpcore.privacy.allowance import Allowance

BOTH_KINDS = [{"epsilon": 1.0}, {"rho": 0.5}]


@pytest.mark.parametrize("budget", BOTH_KINDS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 100, 1023, 2**12])
def test_options_are_by_increasing_error(size, budget, neighbours):
    plan = dp.plan(size, **budget, neighbours=neighbours)
    errors = [option.error for option in plan]
    assert errors == pytest.approx(sorted(errors))
    assert plan.best is plan.options[0].mechanism
    for option in plan:
        each = option.mechanism.noise_deviation(size)
        assert option.error == pytest.approx(np.sqrt(np.mean(each**2)))
        assert option.largest_error == each.max()
        assert option.error / np.sqrt(3) <= option.expected_largest <= 6 * option.largest_error
        assert option.mechanism.privacy.neighbours == neighbours
    lines = str(plan).splitlines()
    assert len(lines) == len(plan.options) + 2
    assert lines[-1] == "first: the least error"


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_the_expected_largest_error_of_noise_on_each_cell_is_that_of_a_random_walk(neighbours):
    """sigma sqrt(N pi / 2), and for a bridge, whose end is known, times log(2)."""
    size, mechanism = 4_096, Histogram(rho=1e-4, neighbours=neighbours)
    (option,) = (
        each for each in dp.plan(size, rho=1e-4, neighbours=neighbours) if each.name == "histogram"
    )
    assert option.mechanism == mechanism
    sigma = np.sqrt(mechanism.tree(size).variances[-1])
    known = sigma * np.sqrt(size * np.pi / 2) * (1 if "add" in neighbours else np.log(2))
    assert option.expected_largest == pytest.approx(known, rel=0.15)


@pytest.mark.needs_jit
def test_the_largest_error_on_a_large_grid_grows_as_the_root_mean_square_does():
    for mechanism in (Histogram(1.0), Hierarchy(1.0)):
        small, large = 2**16, 2**17
        ratio = expected_largest(mechanism, large) / expected_largest(mechanism, small)
        growth = mechanism.mean_squared_error(large) / mechanism.mean_squared_error(small)
        assert ratio == pytest.approx(np.sqrt(growth))
        rng = np.random.default_rng(1)
        noise = mechanism.release(np.zeros(large, np.int64), rng=rng, replicates=60)
        drawn = np.abs(noise).max(axis=1).mean()
        assert expected_largest(mechanism, large) == pytest.approx(drawn, rel=0.2)


def test_what_depends_on_the_records_has_no_expected_largest_error():
    assert expected_largest(Dawa(1.0), 64) == np.inf
    assert expected_largest(NoNoise(), 64) == 0.0
    plan = dp.plan(64, epsilon=1.0, n=100, also=[Dawa(0.5), Hierarchy(0.5)])
    most = {str(each.mechanism.describe()): each.expected_largest for each in plan}
    assert most[str(Dawa(0.5).describe())] == most[str(plan.best.describe())] == np.inf
    assert most[str(Hierarchy(0.5).describe())] > most[str(Hierarchy(1.0).describe())] > 0.0


def test_the_winners():
    assert dp.plan(2**15, epsilon=1.0).best == Hierarchy(1.0)
    assert dp.plan(2**15, rho=0.5).best == ToeplitzGaussian(rho=0.5)
    closed = {"neighbours": "add-or-remove-one"}
    assert dp.plan(17, epsilon=4.0, **closed).best == Histogram(4.0, **closed)
    assert dp.plan(1, epsilon=1.0, delta=0.1).best == Hierarchy(1.0)


@pytest.mark.parametrize(("size", "delta"), [(5, 0.2), (300, 1e-2)])
def test_epsilon_with_delta_compares_noise_of_both_kinds(size, delta):
    budget = {"epsilon": 0.7, "delta": delta}
    grid = dp.Grid.uniform(0, 1, size)
    curve = dp.cdf([0.5], grid, **budget)
    assert curve.privacy == dp.Privacy(0.7, delta)
    assert curve.mechanism["delta"] == delta
    errors = {option.name: option.error for option in dp.plan(size, **budget)}
    pure = {f"{option.name}, delta = 0": option.error for option in dp.plan(size, epsilon=0.7)}
    assert pure.items() <= errors.items()
    by_rho = dp.plan(size, rho=dp.privacy.zcdp_rho(0.7, delta))
    gaussian = {option.name: option.error for option in by_rho}
    assert pure.keys() | gaussian.keys() == errors.keys()
    less = 0.95 if delta < 0.1 else 1.0
    assert all(errors[name] <= less * gaussian[name] + 1e-9 for name in gaussian)
    assert dp.CDF.from_json(curve.to_json()).privacy == curve.privacy
    with pytest.raises(dp.ParameterError, match="delta"):
        dp.cdf([0.5], grid, dp.mechanisms.Histogram(1.0), delta=1e-6)


@pytest.mark.needs_jit
def test_a_budget_that_only_some_mechanisms_can_meet():
    assert dp.plan(2**16, rho=1e-8).options
    assert dp.cdf([0.5], dp.Grid.uniform(0, 1, 2**12), epsilon=0.03, delta=1e-9).n == 1
    with pytest.raises(dp.ParameterError, match=r"rho is too small: sigma\^2 exceeds"):
        dp.plan(2**12, rho=1e-16)
    assert {
        option.mechanism.privacy.delta for option in dp.plan(9, epsilon=1e-9, delta=1e-300)
    } == {0}
    with pytest.raises(dp.ParameterError, match="epsilon"):
        dp.plan(2**12, epsilon=1e-13, delta=1e-300)


def test_a_simulated_mechanism_stays_simulated():
    class Seeded(Hierarchy):
        @property
        def privacy(self):
            return dp.Privacy(1.0, simulated=True)

    assert dp.cdf([0.5], dp.Grid.uniform(0, 1, 20), Seeded(1.0)).privacy.simulated


def test_the_number_of_records_is_released_where_it_is_private():
    grid = dp.Grid.uniform(0, 1, 30)
    found = {
        dp.cdf(np.full(40, 0.5), grid, epsilon=0.2, neighbours="add-or-remove-one").n
        for _ in range(20)
    }
    assert len(found) > 1
    empty = dp.cdf_from_counts(np.zeros(30, int), grid, epsilon=0.2, neighbours="add-or-remove-one")
    assert empty.n >= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 0, "epsilon": 1}, "size"),
        ({"size": 5}, "epsilon or rho must be given"),
        ({"size": 5, "epsilon": 1, "rho": 1}, "rho"),
        ({"size": 5, "epsilon": 1, "neighbours": "x"}, "neighbours"),
        ({"size": 64, "epsilon": 1, "n": 0}, r"\bn\b"),
    ],
)
def test_bad_parameters(arguments, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.plan(**arguments)


# --- what ``dp.cdf`` takes is what ``dp.plan`` puts first, and follows a rule in n epsilon


SIZES = [*range(1, 24), 33, 64, 100, 300, 1000]
BUDGETS = [
    *({"epsilon": epsilon} for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 10.0, 30.0)),
    *({"rho": rho} for rho in (1e-4, 0.5, 2.0, 8.0, 50.0)),
    *({"epsilon": epsilon, "delta": delta} for epsilon in (0.1, 1, 4) for delta in (1e-9, 0.01)),
]
BOTH = ["replace-one", "add-or-remove-one"]


@pytest.mark.sample(6)
@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_default_is_the_first_of_the_plan(budget, neighbours):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    for size in SIZES:
        best = dp.plan(size, **budget, neighbours=neighbours).best
        chosen = most_accurate(size, Allowance.checked(**given, neighbours=neighbours))
        assert chosen == best
        assert type(chosen) is type(best)


def test_what_spends_no_delta_says_so():
    grid = dp.Grid.uniform(0, 1, 17)
    values = [0.5] * 1000
    pure = dp.cdf(values, grid, epsilon=1.0, delta=1e-9)
    assert pure.privacy == dp.Privacy(1.0)
    assert pure.mechanism == dp.cdf(values, grid, epsilon=1.0).mechanism
    gaussian = dp.cdf(values, grid, epsilon=1.0, delta=1e-2)
    assert gaussian.privacy == dp.Privacy(1.0, 1e-2)


def test_a_dyadic_tree_is_never_better_than_its_bound():
    for size in [*range(1, 34), 100, 127, 128, 129, 1000, 2**12 + 1]:
        for budget in BUDGETS:
            tree = Dyadic(**budget)
            assert 0.0 <= tree.least_variance(size) <= tree.variance(size)
            assert 0.0 <= tree.least_mean_squared_error(size) <= tree.mean_squared_error(size)
    assert Dyadic(1.0, base=3).least_variance(100) == 0.0


# --- where n is public, the default follows a rule in n epsilon and the size of the grid


KINDS = [
    {"epsilon": 0.5},
    {"epsilon": 4.0},
    {"rho": 0.02},
    {"epsilon": 0.5, "delta": 1e-6},
    {"epsilon": 1.0, "delta": 0.01},
]


def signal(dawa, n):
    """n epsilon, or n sqrt(8 rho) where noise is Gaussian."""
    if dawa.delta is not None:
        return n * np.sqrt(8 * dp.privacy.zcdp_rho(dawa.epsilon, dawa.delta))
    return n * (dawa.epsilon if dawa.epsilon is not None else np.sqrt(8 * dawa.rho))


@pytest.mark.parametrize("budget", KINDS, ids=str)
@pytest.mark.parametrize("size", [16, 17, 100, 1000])
def test_dawa_is_taken_up_to_a_power_of_the_cells(size, budget):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    kinds = [Dawa(**budget)]
    if "delta" in budget:  # what spends none of it keeps within it
        kinds.insert(0, Dawa(budget["epsilon"]))
    for kind in kinds:
        most = size / 4 if "rho" in budget else size**1.5
        edge = int(most / signal(kind, 1))
        for n in (1, max(1, edge - 1), edge + 2, 100 * edge + 100):
            chosen = most_accurate(size, Allowance.checked(**given, neighbours="replace-one"), n)
            dawa = min(kinds, key=lambda each: counting_error(each, size, n))
            scarce = size > 16 and signal(dawa, n) <= most
            best = dp.plan(size, **budget).best
            assert chosen == (dawa if scarce else best)
            assert chosen.privacy == (dawa if scarce else best).privacy


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", KINDS, ids=str)
def test_what_the_plan_says_is_what_is_taken(budget):
    grid, rng = dp.Grid.uniform(0, 1, 128), np.random.default_rng(1)
    names = set()
    for n in (10, 1000, 10**6):
        plan = dp.plan(grid.size, **budget, n=n)
        curve = dp.cdf_from_counts(rng.multinomial(n, np.full(128, 1 / 128)), grid, **budget)
        assert curve.mechanism == plan.best.describe()
        assert curve.privacy == plan.best.privacy
        told = [option for option in plan if option.on_shapes]
        assert len(told) == 2
        assert plan.options[0] in told
        for option in told:
            assert tuple(option.on_shapes) == REFERENCE_SHAPES
            assert tuple(option.largest_on_shapes) == REFERENCE_SHAPES
            for shape, error in option.on_shapes.items():
                assert 0 <= error <= option.largest_on_shapes[shape] <= n
        assert ("size / 4" if "rho" in budget else "size^1.5") in plan.why
        assert str(plan).splitlines()[-1] == f"first: {plan.why}"
        names.add(curve.mechanism["name"] == "dawa")
    assert names == {True, False}


@pytest.mark.parametrize("budget", KINDS, ids=str)
def test_a_number_of_records_that_is_private_makes_no_difference(budget):
    given = {"epsilon": None, "rho": None, "delta": None, **budget}
    for size in (17, 1000):
        relation = "add-or-remove-one"
        plans = [dp.plan(size, **budget, neighbours=relation, n=n) for n in (1, 10**4, 10**9)]
        assert all(each == dp.plan(size, **budget, neighbours=relation) for each in plans)
        allowed = Allowance.checked(**given, neighbours=relation)
        taken = {str(most_accurate(size, allowed, n)) for n in (1, 10**4, 10**9)}
        assert len(taken) == 1


def test_classes_and_their_curves_follow_the_same_rule():
    labels, scores = np.arange(400) % 2, np.linspace(0, 1, 400)
    grid = dp.Grid.uniform(0, 1, 64)
    best = dp.plan(128, epsilon=1.0, n=400).best
    assert isinstance(best, Dawa)
    for curves in (
        dp.score_curves(labels, scores, grid, epsilon=1.0),
        dp.roc_curve(labels, scores, grid=grid, epsilon=1.0).curves,
    ):
        assert curves.joint.mechanism == best.describe()
        assert np.all(np.isfinite(curves.joint.noise_deviation))


# --- the default does not lose where its rules meet: classes in one row, delta beside epsilon


RNG = np.random.default_rng


@pytest.mark.needs_jit
@pytest.mark.parametrize("size", [100, 101, 128, 1000])
def test_positives_with_the_highest_scores_stay_positives(size):
    """The classes meet in the row at their highest scores: no bucket may join them."""
    negatives, positives = np.zeros(size, int), np.zeros(size, int)
    negatives[: size // 2] = 7000 // (size // 2)
    positives[size // 2 :] = 1500 // (size - size // 2)
    positives[-1] += 1500
    joint = np.concatenate([negatives, positives[::-1]])
    grid, rng = dp.Grid.uniform(0, 1, size), RNG(1)
    found = [dp.score_curves_from_counts(joint, grid, epsilon=0.03, rng=rng) for _ in range(100)]
    assert {each.joint.mechanism["name"] for each in found} == {"dawa"}
    total = positives.sum()
    errors = np.array([each.positives[-1] - total for each in found])
    stated = np.array([each.deviations[1][-1] for each in found])
    assert abs(errors.mean()) < 0.1 * total
    assert np.mean(np.abs(errors) <= 1.96 * stated) > 0.85


def test_budgets_without_bounds_are_told_of_by_name():
    """No OverflowError, whatever finite epsilon and n are given."""
    counts = np.full(64, 10**6)
    for budget in ({"epsilon": 1e306}, {"epsilon": 1.7e308}, {"rho": 1.7e308}):
        assert Dawa(**budget).release(counts) == pytest.approx(np.cumsum(counts), abs=1)
        dp.plan(64, n=int(counts.sum()), **budget)
