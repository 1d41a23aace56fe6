"""What a curve from several says of itself: guarantees, descriptions, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.combination import average, combine
from dpcore.mechanisms import Dyadic, Hierarchy, ToeplitzGaussian
from dpcore.privacy.guarantees import within_group
from tests.curves.raw_releases import raw, same

RELATIONS = ["replace-one", "add-or-remove-one"]


# --- guarantees


@pytest.mark.parametrize(
    ("first", "second", "either", "both"),
    [
        (dp.Privacy(0.5), dp.Privacy(0.25), dp.Privacy(0.5), dp.Privacy(0.75)),
        (dp.Privacy(rho=0.5), dp.Privacy(1.0), dp.Privacy(rho=0.5), dp.Privacy(rho=1.0)),
        (
            dp.Privacy(0.5, 1e-6),
            dp.Privacy(0.25, simulated=True),
            dp.Privacy(0.5, 1e-6, simulated=True),
            dp.Privacy(0.75, 1e-6, simulated=True),
        ),
    ],
)
def test_disjoint_records_cost_the_maximum_and_the_same_records_the_sum(
    first, second, either, both
):
    curve = raw([1, 2, 3], Dyadic(1.0))
    two = [replace(curve, privacy=privacy) for privacy in (first, second)]
    assert combine(two).privacy == combine(two[::-1]).privacy == within_group(either)
    assert average(two).privacy == average(two[::-1]).privacy == both


@pytest.mark.parametrize("together", [combine, average])
def test_guarantees_that_do_not_go_together(together):
    curve = raw([1, 2, 3], Dyadic(epsilon=1.0, delta=1e-6))
    with pytest.raises(dp.ParameterError, match="neighbours must be 'replace-one' in both"):
        together([curve, raw([3, 2, 1], Hierarchy(1.0, neighbours="add-or-remove-one"))])
    other = raw([3, 2, 1], Dyadic(rho=0.1))
    found = together([curve, other]).privacy
    assert found.rho == pytest.approx(0.5 if together is combine else 0.6, abs=1e-15)
    assert found.delta == 1e-6
    restated = replace(other, privacy=dp.Privacy(other.privacy.epsilon_at(1e-6), 1e-6))
    assert together([curve, restated]).privacy.delta == pytest.approx(
        1e-6 if together is combine else 2e-6
    )


@pytest.mark.parametrize("together", [combine, average])
def test_a_released_number_of_records(together):
    rng = np.random.default_rng(6)
    mechanism = Hierarchy(0.2, neighbours="add-or-remove-one")
    several = [raw(rng.poisson(5, 20), mechanism, rng) for _ in range(4)]
    curve = together(several)
    ns = [each.n for each in several]
    assert len(set(ns)) > 1
    assert curve.n == curve.counts[-1] == (sum(ns) if together is combine else round(sum(ns) / 4))
    assert type(curve.n) is int
    assert curve.noise_deviation[-1] > 0
    assert curve.privacy.neighbours == "add-or-remove-one"
    assert same(dp.CDF.from_json(curve.to_json()), curve)
    assert curve.isotonic().is_monotone


# --- what a result says of itself


def test_descriptions():
    a, b = raw([1, 2], Dyadic(1.0)), raw([1, 2], Dyadic(0.5))
    c = raw([1, 2], Hierarchy(0.5))
    assert combine([a, replace(a)]).mechanism == {**Dyadic(1.0).describe(), "parts": 2}
    shared = {"name": "dyadic", "base": 2, "sensitivity": "exact"}
    assert combine([a, b]).mechanism == {**shared, "parts": 2}
    assert combine([a, c]).mechanism == {"name": "combination", "parts": 2}
    assert combine([combine([a, c]), combine([a, b])]).mechanism["parts"] == 4
    assert average([a, b]).mechanism == {**shared, "releases": 2}
    assert combine([average([a, replace(a)]), average([a, replace(a)])]).mechanism == {
        **Dyadic(1.0).describe(),
        "releases": 2,
        "parts": 2,
    }


@pytest.mark.parametrize("together", [combine, average])
@pytest.mark.parametrize("mechanism", [Dyadic(1.0), Hierarchy(1.0), ToeplitzGaussian(rho=0.5)])
def test_json_and_plots_and_summaries(together, mechanism):
    from dpcore.command_line.reports import summary

    curve = together([raw(np.arange(1, 20), mechanism) for _ in range(3)])
    again = dp.CDF.from_json(json.loads(json.dumps(curve.to_json())))
    assert same(again, curve)
    assert ("parts 3" if together is combine else "releases 3") in summary(curve, "column")
    assert same(together([again]), together([curve]))


@pytest.mark.parametrize("together", [combine, average])
def test_curves_are_left_as_they_are(together):
    curve = raw(np.arange(1, 20), Dyadic(1.0))
    before = curve.to_json()
    for result in (together([curve]), together([curve, replace(curve)])):
        for array in (result.counts, result.noise_deviation):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 7
        assert curve.to_json() == before


# --- what is refused


@pytest.mark.parametrize("together", [combine, average])
@pytest.mark.parametrize(
    ("change", "weights", "error", "words"),
    [
        (
            lambda c: c,
            None,
            dp.DtypeError,
            r"must be a list of curves \(CDF\): write \[first, second\]; got CDF",
        ),
        (lambda c: [c, c.counts], None, dp.DtypeError, "curves must all be curves .* a ndarray"),
        (lambda c: [], None, dp.ParameterError, "curves must hold at least one"),
        (
            lambda c: [c, replace(c.isotonic(), raw=None)],
            None,
            dp.ParameterError,
            r"must be raw, or .* \('isotonic\(\)'",
        ),
        (
            lambda c: [c, replace(c, grid=dp.Grid([1.0, 2.0, 3.5]))],
            None,
            dp.ParameterError,
            "curves must all be over <Grid of 3 thresholds from 1 to 3>; got <Grid",
        ),
        (
            lambda c: [c, replace(c), c],
            None,
            dp.ParameterError,
            "curves must each be a release of its own; got <CDF: n = 6",
        ),
        (lambda c: [c, replace(c)], [1.0], dp.ParameterError, "weights must be 2, one for each"),
        (lambda c: [c, replace(c)], [1.0, 0.0], dp.ParameterError, "weights must be positive"),
        (lambda c: [c, replace(c)], [1.0, math.inf], dp.ParameterError, "weights must be finite"),
        (
            lambda c: [c, replace(c)],
            [1e-300, 1e300],
            dp.ParameterError,
            "weights must not be negligible",
        ),
        (lambda c: [c, replace(c)], 2.0, dp.DtypeError, "weights must hold numbers; got float"),
        (lambda c: [c, replace(c)], ["a", "b"], dp.DtypeError, "weights must be a real number"),
    ],
)
def test_bad_arguments(together, change, weights, error, words):
    curve = raw([1, 2, 3], Dyadic(1.0))
    with pytest.raises(error, match=words):
        together(change(curve), weights)


def test_different_numbers_of_the_same_records():
    two = [raw([1, 2, 3], Dyadic(1.0)), raw([1, 2, 4], Dyadic(1.0))]
    with pytest.raises(dp.ParameterError, match=r"same n: .* combine for others; got \(6, 7\)"):
        average(two)
    assert combine(two).n == 13


def test_sums_beyond_64_bits():
    curve = raw([1, 2, 3], Dyadic(1.0))
    large = replace(curve, counts=np.array([-(2**62), 2**62, 6]))
    assert combine([large, curve]).counts[0] == -(2**62) + curve.counts[0]
    with pytest.raises(dp.ParameterError, match="curves must have counts of up to"):
        combine([large, replace(large)])
