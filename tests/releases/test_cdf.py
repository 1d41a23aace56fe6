"""The way from records to a release, and what is refused before anything is spent."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp

GRID = dp.Grid.uniform(0, 10, 20)
VALUES = np.linspace(0, 10, 500)
COUNTS = GRID.count(VALUES)


def test_default_is_the_best_mechanism_made_monotone():
    curve = dp.cdf(VALUES, GRID, epsilon=0.5)
    assert curve.mechanism == dp.plan(GRID.size, epsilon=0.5).best.describe()
    assert curve.privacy == dp.Privacy(0.5)
    assert curve.n == 500
    assert curve.is_monotone
    assert curve.processing == ("isotonic()",)


def test_a_raw_release_is_as_the_mechanism_made_it():
    curve = dp.cdf(VALUES, GRID, dp.mechanisms.Dyadic(0.5), isotonic=False)
    assert curve.mechanism == dp.mechanisms.Dyadic(0.5).describe()
    assert curve.counts.dtype == np.int64
    assert curve.processing == ()


def test_seeds_repeat_and_say_so_and_releases_do_not():
    seeded = [dp.cdf(VALUES, GRID, epsilon=0.1, rng=np.random.default_rng(1)) for _ in range(2)]
    fresh = [dp.cdf(VALUES, GRID, epsilon=0.1) for _ in range(2)]
    assert seeded[0] == seeded[1]
    assert fresh[0] != fresh[1]
    assert seeded[0].privacy.simulated
    assert not fresh[0].privacy.simulated


def test_counted_chunks_make_the_same_release():
    counts = GRID.count(VALUES[:123]) + GRID.count(VALUES[123:])
    whole = dp.cdf(VALUES, GRID, epsilon=0.1, rng=np.random.default_rng(1))
    parts = dp.cdf_from_counts(counts, GRID, epsilon=0.1, rng=np.random.default_rng(1))
    assert np.array_equal(whole.counts, parts.counts)


def test_one_record_and_clamped_records():
    assert dp.cdf([3], GRID, epsilon=1.0).n == 1
    assert dp.cdf([1.0, np.nan, 3.0], GRID, epsilon=1.0, nan_policy="omit").n == 2
    exact = dp.cdf([-99, 99, np.inf, -np.inf], GRID, epsilon=1e9)
    assert exact(0.5) == 0.5
    assert exact(9.99) == 0.5


MISSING = {"values": [np.nan]}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": None}, dp.ParameterError, "epsilon"),
        ({"epsilon": 0}, dp.ParameterError, "epsilon"),
        ({"epsilon": np.inf}, dp.ParameterError, "epsilon"),
        ({"epsilon": "1"}, dp.DtypeError, "epsilon"),
        ({"epsilon": 1e-15}, dp.ParameterError, "epsilon is too small"),
        ({"rho": 1}, dp.ParameterError, "rho"),
        ({"isotonic": 1}, dp.DtypeError, "isotonic"),
        ({"grid": [1, 2]}, dp.DtypeError, "grid"),
        ({"epsilon": None, "mechanism": "dyadic"}, dp.DtypeError, "mechanism"),
        ({"mechanism": dp.mechanisms.Dyadic(1.0)}, dp.ParameterError, "epsilon"),
        ({"rng": 5}, dp.DtypeError, "rng"),
        ({"values": []}, dp.ParameterError, "values"),
        (MISSING, dp.MissingValueError, "values"),
        ({**MISSING, "nan_policy": "omit"}, dp.ParameterError, "at least one record"),
        ({"values": ["a"]}, dp.DtypeError, "values"),
    ],
)
def test_nothing_is_drawn_for_a_call_that_is_refused(change, error, words, monkeypatch):
    def spent(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("dpcore.noise.DiscreteLaplace.fill", spent)
    good = {"values": VALUES, "grid": GRID, "epsilon": 1.0}
    with pytest.raises(error, match=words):
        dp.cdf(**{**good, **change})
    with pytest.raises(AssertionError, match="noise was drawn"):
        dp.cdf(**good)


@pytest.mark.parametrize("neighbours", ["", False, 0, (), "replace-client"])
def test_none_alone_stands_for_the_default_relation(neighbours):
    for release in (dp.cdf, lambda _, *rest, **given: dp.cdf_from_counts(COUNTS, *rest, **given)):
        with pytest.raises(dp.ParameterError, match="neighbours"):
            release(VALUES, GRID, epsilon=1.0, neighbours=neighbours)
        assert release(VALUES, GRID, epsilon=1.0, neighbours=None).privacy == dp.Privacy(1.0)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.ones(20), "counts"),
        (np.ones(19, int), r"counts must have shape \(20,\)"),
        (np.r_[np.ones(19, int), -1], "counts"),
        (np.zeros(20, int), "counts"),
    ],
)
def test_bad_counts(counts, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        dp.cdf_from_counts(counts, GRID, epsilon=1.0)


WRAPPING = [
    np.array([2**62] * 4 + [5]),
    np.array([2**64 - 5, 10, 0, 0, 0], np.uint64),
    np.array([2**63, 2**63, 7, 0, 0], np.uint64),
]


@pytest.mark.parametrize("counts", WRAPPING)
def test_counts_that_would_wrap_around_are_refused(counts):
    grid = dp.Grid.uniform(0, 1, 5)
    for release in (
        dp.mechanisms.Hierarchy(1.0).release,
        lambda c: dp.cdf_from_counts(c, grid, epsilon=1.0),
        lambda c: dp.mechanisms.AdaptiveQuantiles(1.0).release_from_sites(c[:, None]),
        lambda c: dp.table_from_counts(c[None, :], dp.TableGrid(dp.Grid([1]), grid), epsilon=1.0),
    ):
        with pytest.raises(dp.ParameterError, match=r"counts.*2"):
            release(counts)


def test_counts_that_are_large_but_do_not_wrap_around_are_taken():
    counts = np.array([2**61, 0, 2**60, 0, 0])  # five times the largest would wrap
    mechanism = dp.mechanisms.Hierarchy(1e6, neighbours="add-or-remove-one")
    assert mechanism.release(counts)[-1] == pytest.approx(counts.sum(), rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [dp.mechanisms.Dyadic(1.0, np.int64(2)), dp.mechanisms.AdaptiveQuantiles(1.0, np.int8(3))],
)
def test_numpy_integers_are_parameters_like_others(mechanism):
    curve = dp.cdf([0.1, 0.9], dp.Grid.uniform(0, 1, 8), mechanism)
    assert dp.CDF.from_json(curve.to_json()) == curve


class Own(dp.mechanisms.Mechanism):
    """A user's mechanism: no noise, and whatever it says of itself."""

    privacy = dp.Privacy(1.0)

    def __init__(self, description, deviations, dtype=np.float64):
        self.description, self.deviations, self.dtype = description, deviations, dtype
        self.spent = 0

    def describe(self):
        return self.description

    def noise_deviation(self, size):
        return self.deviations

    def release(self, counts, *, rng=None, replicates=None, workers=None):
        self.spent += 1
        return np.cumsum(counts).astype(self.dtype)


@pytest.mark.parametrize(
    ("description", "deviations"),
    [
        ({"epsilon": 1.0}, np.zeros(20)),
        ("own", np.zeros(20)),
        ({"name": "own"}, np.zeros(19)),
        ({"name": "own"}, np.full(20, -1.0)),
        ({"name": "own"}, np.full(20, np.nan)),
    ],
)
def test_what_a_mechanism_says_wrongly_is_refused_before_it_spends(description, deviations):
    mechanism = Own(description, deviations)
    with pytest.raises((dp.ParameterError, dp.DtypeError)):
        dp.cdf(VALUES, GRID, mechanism)
    assert mechanism.spent == 0


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.float64])
def test_a_mechanism_may_release_any_real_dtype(dtype):
    curve = dp.cdf(VALUES, GRID, Own({"name": "own"}, [0] * 20, dtype))
    assert np.array_equal(curve.counts, np.cumsum(COUNTS))
