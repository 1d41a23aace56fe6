"""Many curves as arrays: row for row what each curve says by itself, in all bits."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves import distances, likely_mistakes
from dpcore.curves.rows import CurveRows

RNG = np.random.default_rng(3)
GRIDS = {
    "uniform": dp.Grid.uniform(0, 10, 20),
    "whole": dp.Grid.integers(-3, 16),
    "no lower": dp.Grid(np.arange(20) ** 1.5),
    "times": dp.Grid.uniform("2024-01-01", "2024-01-21", 20),
}
MECHANISMS = {
    "hierarchy": {"epsilon": 0.5},
    "rho": {"rho": 0.05},
    "dyadic": {"mechanism": dp.mechanisms.Dyadic(1.0)},
    "dawa": {"mechanism": dp.mechanisms.Dawa(0.3)},
    "within": {"epsilon": 0.5, "neighbours": "replace-one-within-group"},
}
GROUPS = tuple(range(17))
DISTANCES = "kolmogorov_smirnov", "earth_mover", "energy"


def released(grid="uniform", how="hierarchy", isotonic=True):
    counts = RNG.integers(0, 30, (17, 20)) * (np.arange(17)[:, np.newaxis] % 5)
    counts[:, 3] += 1
    rng = np.random.default_rng(5)
    given = {"groups": GROUPS, "rng": rng, "isotonic": isotonic}
    with pytest.warns(dp.DpcoreWarning):
        return dp.cdf_from_counts(counts, GRIDS[grid], **given, **MECHANISMS[how])


def same(rows, own):
    np.testing.assert_array_equal(np.asarray(rows), np.array(own))


@pytest.mark.parametrize("isotonic", [True, False])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("how", MECHANISMS)
def test_each_row_is_what_its_curve_says(grid, how, isotonic):
    found = released(grid, how, isotonic)
    curves = list(found.values())
    same(found.n, [curve.n for curve in curves])
    same(found.counts, [curve.counts for curve in curves])
    same(found.mean(), [curve.mean() for curve in curves])
    for method in ("linear", "inverted_cdf"):
        for p in (0.5, [0.0, 0.1, 0.9, 1.0], [[0.25], [0.75]]):
            same(found.quantile(p, method=method), [c.quantile(p, method=method) for c in curves])
            for level in (0.5, 0.99):
                ends = [c.quantile_interval(p, level, method=method) for c in curves]
                low, high = found.quantile_interval(p, level, method=method)
                same(low, [end.low for end in ends])
                same(high, [end.high for end in ends])
    for i in range(2):
        same(found.band(0.9)[i], [curve.band(0.9)[i] for curve in curves])
        same(found.mean_interval(0.9)[i], [curve.mean_interval(0.9)[i] for curve in curves])
    same(found.isotonic().counts, [curve.isotonic().counts for curve in curves])
    reference = curves[4]
    for distance in DISTANCES:
        if grid != "times" or distance == "kolmogorov_smirnov":
            own = [getattr(distances, distance)(curve, reference) for curve in curves]
            same(getattr(found, distance)(reference), own)
        else:
            with pytest.raises(dp.DtypeError, match="reference"):
                getattr(found, distance)(reference)


def test_rows_are_made_of_curves_and_curves_of_rows():
    found = released()
    by_hand = dp.GroupedCDF(GROUPS, tuple(found.values()))
    assert found == by_hand == pickle.loads(pickle.dumps(found))
    assert dp.GroupedCDF.from_json(found.to_json()) == found
    same(by_hand.quantile(0.3), found.quantile(0.3))
    assert by_hand.privacy == found.privacy
    assert not found.counts.flags.writeable
    assert isinstance(found.curves, CurveRows)
    assert found.curves[2:4] == (found[2], found[3])
    frame = found.to_frame()
    assert frame["group"].tolist() == np.repeat(GROUPS, 20).tolist()
    own = frame[frame["group"] == 3].drop(columns="group").reset_index(drop=True)
    assert own.equals(found[3].to_frame().astype(own.dtypes))


def test_curves_on_several_grids_are_asked_one_by_one():
    one, other = released("uniform")[1], released("no lower")[1]
    found = dp.GroupedCDF((1, 2), (one, other))
    assert found[2].quantile(0.5) == other.quantile(0.5)
    with pytest.raises(dp.ParameterError, match="one grid"):
        found.quantile(0.5)
    with pytest.raises(dp.ParameterError, match="grid"):
        released().kolmogorov_smirnov(other)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("isotonic", [True, False])
def test_smoothing_is_that_of_each_curve(norm, isotonic):
    found = released(how="dyadic", isotonic=isotonic)
    smooth = found.smooth(norm)
    assert isinstance(smooth.curves, CurveRows)
    assert smooth == dp.GroupedCDF(GROUPS, tuple(c.smooth(norm) for c in found.values()))
    same(smooth.curves.raw, [curve.smooth(norm).raw for curve in found.values()])


def test_smoothing_of_several_trees_and_of_none():
    two, four = (
        dp.cdf([1.0, 3.0] * 40, GRIDS["uniform"], dp.mechanisms.Dyadic(1.0, base=base))
        for base in (2, 4)
    )
    found = dp.GroupedCDF(("a", "b", "c"), (two, four, two))
    same(found.smooth().counts, [curve.smooth().counts for curve in (two, four, two)])
    with pytest.raises(dp.ParameterError, match="noise tree"):
        released().smooth()
    with pytest.raises(dp.ParameterError, match="norm"):
        released(how="dyadic").smooth(3)


def test_a_few_warnings_stand_for_many_groups():
    counts = np.ones((300, 32), np.int64)
    grid = dp.Grid.uniform(0, 1, 32)
    with pytest.warns(dp.DpcoreWarning) as found:
        dp.cdf_from_counts(counts, grid, groups=range(300), epsilon=0.1)
    assert len(found) == 9
    assert "more groups of 300" in str(found[-1].message)


def test_a_curve_of_a_group_is_the_same_release_whenever_it_is_asked_for():
    values, by = np.arange(40) % 4 + 0.5, np.repeat(["a", "b"], 20)
    found = dp.cdf(values, dp.Grid.uniform(0, 4, 4), by=by, groups=["a", "b"], epsilon=1.0)
    again = dp.GroupedCDF.from_json(found.to_json())
    for other in (found["a"], found.isotonic()["a"], again["a"]):
        assert other.releases == found["a"].releases
        with pytest.raises(dp.ParameterError, match="curves"):
            dp.combine([found["a"], other])
    assert found["a"].releases != found["b"].releases
    assert dp.combine(found).n == found["a"].n + found["b"].n


# Shares of records in the first cell and in the last one, around the limits of warnings.
ENDS = [(0, 0), (0.02, 0), (0.04, 0), (0.12, 0), (0, 0.45), (0, 0.6), (0.5, 0.5)]


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("grid", [dp.Grid.uniform(0, 20, 20), dp.Grid.integers(0, 19)], ids=str)
def test_no_group_that_deserves_a_warning_is_passed_over(grid, relation):
    rng, curves = np.random.default_rng(5), []
    for records in (1, 3, 20, 100, 1000):
        for first, last in [
            (0, 0),
            (0.02, 0),
            (0.04, 0),
            (0.12, 0),
            (0, 0.45),
            (0, 0.6),
            (0.5, 0.5),
        ]:
            shares = np.full(20, (1 - first - last) / 20)
            shares[[0, -1]] += first, last
            for epsilon in (0.05, 1.0, 50.0):
                how = {"epsilon": epsilon, "neighbours": relation, "rng": rng, "isotonic": False}
                counts = rng.multinomial(records, shares)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    curves.append(dp.cdf_from_counts(counts, grid, **how))
    kept = likely_mistakes._may_be_mistaken(CurveRows.of(curves))
    warned = []
    for curve in curves:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            likely_mistakes.warn_of_group("a", curve)
        warned.append(bool(caught))
    assert not np.any(np.array(warned) & ~kept)
    assert 0 < np.mean(warned) < np.mean(kept) < 1
