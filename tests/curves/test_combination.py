"""One curve from several: sums, weights, means, guarantees, and what is refused."""

from __future__ import annotations

import json
import math
import pickle
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves.combination import average, combine
from dpcore.mechanisms import Dyadic, Hierarchy, PolynomialProjection
from dpcore.privacy.guarantees import within_group
from tests.curves.raw_releases import another, raw, same


@st.composite
def part(draw, size=5):
    """A curve of integer counts with made-up noise."""
    counts = draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size))
    n = draw(st.integers(1, 99))
    deviation = draw(st.lists(st.floats(0, 1e3), min_size=size, max_size=size))
    return dp.CDF(
        dp.Grid(np.arange(1.0, size + 1)),
        np.array([*counts[:-1], n]),
        n,
        dp.Privacy(draw(st.floats(0.1, 4.0))),
        {"name": "dyadic", "base": draw(st.integers(2, 3))},
        np.array(deviation),
    )


parts = st.lists(part(), min_size=1, max_size=6)


# --- disjoint records


@settings(max_examples=50)
@given(parts)
def test_counts_records_and_variances_add_up(curves):
    found = combine(curves)
    assert found.n == found.counts[-1] == sum(curve.n for curve in curves)
    assert found.counts.dtype == np.int64
    assert np.array_equal(found.counts, np.sum([curve.counts for curve in curves], axis=0))
    variance = np.sum([curve.noise_deviation**2 for curve in curves], axis=0)
    assert found.noise_deviation == pytest.approx(np.sqrt(variance))
    assert found.processing == ()
    assert found.privacy.epsilon == max(curve.privacy.epsilon for curve in curves)


@settings(max_examples=50)
@given(parts, st.integers(0, 5), st.booleans())
def test_step_by_step_is_the_same_as_all_at_once(curves, middle, floats):
    if floats:
        curves = [replace(curve, counts=curve.counts / 1.0) for curve in curves]
    one_by_one = combine(curves[:1])
    for curve in curves[1:]:
        one_by_one = combine([one_by_one, curve])
    assert same(one_by_one, combine(curves))
    if 0 < middle < len(curves) and not floats:
        halves = combine([combine(curves[:middle]), combine(curves[middle:])])
        assert np.array_equal(halves.counts, one_by_one.counts)
        assert halves.mechanism == one_by_one.mechanism
        assert halves.privacy == one_by_one.privacy


@settings(max_examples=50)
@given(parts, st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_weights(curves, weights):
    weights = weights[: len(curves)]
    found = combine(curves, weights)
    t = np.arange(0.0, 7.0)
    expected = np.average([curve(t) for curve in curves], axis=0, weights=weights)
    assert found(t) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.counts.dtype == np.float64
    assert found.counts[-1] == found.n == combine(curves).n
    w = np.array(weights) / math.fsum(weights)
    deviations = [c.noise_deviation / c.n for c in curves]
    errors = np.sqrt(np.sum((w[:, None] * deviations) ** 2, axis=0))
    assert found.standard_error() == pytest.approx(errors, rel=1e-12)
    scaled = combine(iter(curves), np.array(weights) * 1024.0)
    assert np.array_equal(scaled.counts, found.counts)
    pooled = combine(curves, [curve.n for curve in curves])
    assert pooled.counts == pytest.approx(combine(curves).counts, rel=1e-12, abs=1e-12)


def test_intervals_for_a_population_know_weights():
    """A site of 100 records with half of the weight has half of its sampling error."""
    rng, grid = np.random.default_rng(2), dp.Grid.uniform(0, 10, 10)
    sites = [dp.cdf(10 * rng.random(n), grid, dp.mechanisms.NoNoise()) for n in (100, 20_000)]
    error = math.sqrt(0.21 * (1 / 100 + 1 / 20_000)) / 2
    both = combine(sites, [1.0, 1.0])
    assert both.mechanism["effective_n"] == pytest.approx(0.21 / error**2)
    low, high = both.population_share_interval(upper=3)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    low, high = both.population_quantile_interval(0.3)
    assert (low, high) == (2.0, 4.0)
    few = dp.cdf(10 * rng.random(400), grid, dp.mechanisms.NoNoise()).population_mean_interval()
    low, high = both.population_mean_interval()
    assert high - low == pytest.approx(few.high - few.low, rel=0.05)
    # Parts may be such means, and n as weights is the default.
    assert "effective_n" not in combine(sites, [100, 20_000]).mechanism
    three = combine([both, another(sites[0])]).mechanism["effective_n"]
    assert three == pytest.approx(20_200**2 / (20_100**2 / both.mechanism["effective_n"] + 100))
    again = average([both, combine([another(site) for site in sites], [1.0, 1.0])])
    assert again.mechanism["effective_n"] == pytest.approx(both.mechanism["effective_n"])
    for wrong in (0, -1.0, "400"):
        with pytest.raises(dp.ParameterError, match="must have a positive number as effective_n"):
            replace(both, mechanism={**both.mechanism, "effective_n": wrong})


@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
def test_combined_trees_can_be_smoothed(weights):
    rng = np.random.default_rng(4)
    two = [raw(rng.poisson(5, 30), m, rng) for m in (Dyadic(0.5, 3), Dyadic(rho=0.1, base=3))]
    curve = combine(two, weights)
    smoothed = curve.smooth()
    assert smoothed.is_monotone
    expected = dp.smooth(curve.counts[:-1], curve.n, base=3).cumulative
    assert np.array_equal(smoothed.counts[:-1], expected)
    with pytest.raises(dp.ParameterError, match="must have a noise tree, as Dyadic has"):
        combine([*two, raw(np.ones(30, int), Dyadic(1.0))]).smooth()


# --- the same records again


@settings(max_examples=50)
@given(parts)
def test_the_mean_of_releases_of_the_same_records(curves):
    curves = [
        replace(
            curve,
            counts=np.append(curve.counts[:-1], 50),
            n=50,
            noise_deviation=curve.noise_deviation + 0.01,
        )
        for curve in curves
    ]
    found = average(curves)
    variances = np.array([np.mean(curve.noise_deviation**2) for curve in curves])
    expected = np.average([curve.counts for curve in curves], axis=0, weights=1 / variances)
    assert found.counts == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.counts[-1] == found.n == 50
    assert np.mean(found.noise_deviation**2) == pytest.approx(1 / np.sum(1 / variances), rel=1e-9)
    spent = math.fsum(curve.privacy.epsilon for curve in curves)
    assert found.privacy.epsilon == pytest.approx(spent)
    halves = average([average(curves[:2]), *curves[2:]])
    assert halves.counts == pytest.approx(found.counts, rel=1e-9, abs=1e-9)
    assert halves.mechanism == found.mechanism
    weighted = average(curves, [curve.privacy.epsilon for curve in curves])
    assert np.mean(weighted.noise_deviation**2) >= np.mean(found.noise_deviation**2) * 0.999999


def test_a_curve_without_noise_is_the_mean():
    curves = [raw([5], Dyadic(1.0)), raw([5], Dyadic(0.1))]  # one cell: n alone, and that is public
    assert average(curves).counts.tolist() == [5.0]
    assert average(curves).noise_deviation.tolist() == [0.0]


def test_unknown_noise():
    two = [raw(np.full(100, 3), PolynomialProjection(1.0, delta=1e-6)) for _ in range(2)]
    assert np.all(np.isinf(combine(two).noise_deviation[:-1]))
    assert np.all(
        np.isinf(combine([two[0], raw(np.full(100, 3), Dyadic(1.0))]).noise_deviation[:-1])
    )
    assert np.all(np.isinf(combine(two, [1e-9, 1.0]).noise_deviation[:-1]))
    with pytest.raises(dp.ParameterError, match="weights"):
        average(two)
    curve = average(two, [1.0, 1.0])
    assert np.array_equal(curve.counts, (two[0].counts + two[1].counts) / 2)
    assert same(dp.CDF.from_json(curve.to_json()), curve)


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
    two = [another(curve, privacy=privacy) for privacy in (first, second)]
    assert combine(two).privacy == combine(two[::-1]).privacy == within_group(either)
    assert average(two).privacy == average(two[::-1]).privacy == both


@pytest.mark.parametrize("together", [combine, average])
def test_guarantees_that_do_not_go_together(together):
    curve = raw([1, 2, 3], Dyadic(epsilon=1.0, delta=1e-6))
    with pytest.raises(dp.ParameterError, match="neighbours"):
        together([curve, raw([3, 2, 1], Hierarchy(1.0, neighbours="add-or-remove-one"))])
    other = raw([3, 2, 1], Dyadic(rho=0.1))
    found = together([curve, other]).privacy
    both = 0.1 if together is combine else 0.1 + curve.privacy.rho  # which needs no delta
    assert found.rho == pytest.approx(both, abs=1e-15)
    assert found.delta == 0.0
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
    assert combine([a, another(a)]).mechanism == {**Dyadic(1.0).describe(), "parts": 2}
    shared = {"name": "dyadic", "base": 2, "sensitivity": "exact"}
    assert combine([a, b]).mechanism == {**shared, "parts": 2}
    assert combine([a, c]).mechanism == {"name": "combination", "parts": 2}
    assert combine([combine([a, c]), combine([another(a), b])]).mechanism["parts"] == 4
    assert average([a, b]).mechanism == {**shared, "releases": 2}
    assert combine([average([a, another(a)]), average([another(a), another(a)])]).mechanism == {
        **Dyadic(1.0).describe(),
        "releases": 2,
        "parts": 2,
    }


# --- what is refused


def test_different_numbers_of_the_same_records():
    two = [raw([1, 2, 3], Dyadic(1.0)), raw([1, 2, 4], Dyadic(1.0))]
    with pytest.raises(dp.ParameterError, match=r"same n: .* combine for others; got \(6, 7\)"):
        average(two)
    assert combine(two).n == 13


def test_sums_beyond_64_bits():
    curve = raw([1, 2, 3], Dyadic(1.0))
    large = another(curve, counts=np.array([-(2**62), 2**62, 6]))
    assert combine([large, curve]).counts[0] == -(2**62) + curve.counts[0]
    with pytest.raises(dp.ParameterError, match="curves"):
        combine([large, another(large)])


@pytest.mark.parametrize("together", [combine, average])
@pytest.mark.parametrize(
    ("change", "weights", "error", "words"),
    [
        (lambda c: c, None, dp.DtypeError, "curves"),
        (lambda c: [c, c.counts], None, dp.DtypeError, "curves"),
        (lambda c: [], None, dp.ParameterError, "curves"),
        (lambda c: [c, replace(c.isotonic(), raw=None)], None, dp.ParameterError, "isotonic"),
        (lambda c: [c, replace(c, grid=dp.Grid([1, 2, 4]))], None, dp.ParameterError, "got <Grid"),
        (lambda c: [c, another(c), c], None, dp.ParameterError, "got <CDF: n = 6"),
        (lambda c: [c, another(c)], [1.0], dp.ParameterError, r"weights.*2"),
        (lambda c: [c, another(c)], [1.0, 0.0], dp.ParameterError, "weights"),
        (lambda c: [c, another(c)], [1.0, math.inf], dp.ParameterError, "weights"),
        (lambda c: [c, another(c)], [1e-300, 1e300], dp.ParameterError, "weights"),
        (lambda c: [c, another(c)], 2.0, dp.DtypeError, "weights"),
        (lambda c: [c, another(c)], ["a", "b"], dp.DtypeError, "weights"),
    ],
)
def test_bad_arguments(together, change, weights, error, words):
    curve = raw([1, 2, 3], Dyadic(1.0))
    with pytest.raises(error, match=words):
        together(change(curve), weights)


@pytest.mark.parametrize(
    "join",
    [
        dp.average,
        dp.combine,
        lambda pair: dp.compare(*pair),
        lambda pair: dp.interval(pair, lambda first, second: first.mean() - second.mean()),
    ],
)
def test_two_forms_of_one_release_are_refused(join):
    """Their noise is one, and would count as independent."""
    rng = np.random.default_rng(1)
    grid = dp.Grid.uniform(0, 60, 60)
    raw = dp.cdf(np.arange(600) % 60, grid, epsilon=1.0, isotonic=False, rng=rng)
    for pair in ([raw, raw.isotonic()], [raw.isotonic(), raw.isotonic()]):
        with pytest.raises(
            dp.ParameterError, match=r"release of its own|another release|different"
        ):
            join(pair)


def joined(*pair):
    """Return whether anything takes two curves for two releases."""
    taken = 0
    for join in (dp.average, dp.combine, lambda both: dp.compare(*both, simulations=19)):
        with suppress(dp.ParameterError):
            join(pair)
            taken += 1
    return taken > 0


GRID = dp.Grid.uniform(0, 60, 60)


def released(count=6000, **options):
    return dp.cdf(np.arange(count) % 60, GRID, dp.mechanisms.Hierarchy(1.0), **options)


@pytest.mark.parametrize(
    "copy",
    [
        lambda curve: dp.load(curve.to_json()),
        lambda curve: pickle.loads(pickle.dumps(curve)),
        lambda curve: dp.load(curve.as_released().to_json()).isotonic(),
        lambda curve: replace(curve, name="a copy"),
        lambda curve: dp.combine([curve, released()]),
        lambda curve: dp.average([dp.load(curve.to_json()), released()]),
        lambda curve: dp.GroupedCDF(("a",), (curve,))["a"],
    ],
)
@pytest.mark.parametrize("isotonic", [True, False])
def test_copies_of_one_release_are_one_release(copy, isotonic):
    """Their noise is one: it would count as independent, and errors would be stated too small."""
    curve = released(isotonic=isotonic)
    again = copy(curve)
    grouped = again.privacy.neighbours != curve.privacy.neighbours
    if grouped:
        curve = replace(curve, privacy=again.privacy)
    assert not joined(curve, again)
    assert joined(curve, released(isotonic=isotonic)) or grouped


def test_copies_are_equal_and_identifiers_are_random():
    first, second = released(), released()
    assert first.releases != second.releases
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in (*first.releases, *second.releases))
    copied = dp.load(first.to_json())
    assert copied == first
    assert hash(copied) == hash(first)
    assert copied.releases == first.releases == first.as_released().releases


def test_simulated_releases_have_no_identifier_so_that_seeds_repeat_files():
    files = [released(rng=np.random.default_rng(1)).to_json() for _ in range(2)]
    assert files[0] == files[1]
    assert "releases" not in files[0]


@pytest.mark.parametrize("isotonic", [True, False])
def test_a_group_that_is_asked_for_twice_is_one_release_if_simulated_too(isotonic):
    rng, by = np.random.default_rng(1), np.arange(600) % 2
    budget = {"epsilon": 1.0, "isotonic": isotonic, "rng": rng}
    curves = dp.cdf(by, GRID, by=by, groups=[0, 1], **budget)
    assert not joined(curves[1], curves[1])
    assert joined(curves[0], curves[1])


def test_files_without_identifiers_are_read():
    text = json.loads(released().to_json())
    del text["releases"]
    assert len(dp.load(json.dumps(text)).releases) == 1
    for wrong in ("a", [1], [None], {}):
        with pytest.raises(dp.FormatError):
            dp.load(json.dumps(text | {"releases": wrong}))


def test_a_result_that_is_made_twice_of_one_release_is_one_release():
    x, cells = np.arange(600) % 60, dp.TableGrid(GRID, GRID)
    table = dp.table(x, x, cells, dp.mechanisms.Histogram(1.0), isotonic=False)
    moments = dp.project(x, 0, 60, epsilon=1.0, delta=1e-6)
    again = dp.load(moments.to_json())
    scores = dp.score_curves(x % 2, x, GRID, epsilon=1.0, isotonic=False)
    for first, second in [
        (table.marginal("x"), dp.load(table.to_json()).marginal("x")),
        (table.conditional("y", 3, 9), table.conditional("y", 3, 9)),
        (moments.curve(GRID), again.curve(GRID)),
        (scores.joint, dp.load(scores.to_json()).joint),
    ]:
        assert not joined(first, second)
    assert joined(table.conditional("y", 0, 30), table.conditional("y", 30, 60))


CELLS = dp.TableGrid(GRID, GRID)
NUMBERS = np.arange(600) % 60.0  # not stated to be whole


APART = dp.mechanisms.Histogram(1.0)


def tabled(mechanism, **options):
    return dp.table(NUMBERS, NUMBERS, CELLS, mechanism, **{"isotonic": False, **options})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("x",), ("y",)),
        (("x", 0, 10), ("y", 40, 50)),
        (("y",), ("y", 0, 30)),
        (("y", 0, 30), ("y", 29, 60)),
        (("y", 0, 29.5), ("y", 29.5, 60)),  # both have a part of one cell
    ],
)
def test_curves_of_one_table_share_the_noise_of_common_cells(first, second):
    """Errors would be stated too small, or records counted twice."""
    table = tabled(APART)
    copied = dp.load(dp.load(table.to_json()).conditional(*second).to_json())
    assert not joined(table.conditional(*first), copied)
    assert joined(table.conditional(*first), tabled(APART).conditional(*second))
    apart = table.conditional("y", 0, 20), pickle.loads(pickle.dumps(table)).conditional("y", 40)
    both = dp.combine(apart)
    assert not joined(both, table.conditional("y", 39, 41))
    assert joined(both, table.conditional("y", 20, 40))


@pytest.mark.parametrize("mechanism", [dp.mechanisms.Dyadic(1.0), dp.mechanisms.Dawa(1.0)])
def test_curves_of_a_table_with_common_noise_are_one_release(mechanism):
    """One noise of a tree, or of a bucket, is in many cells."""
    table = tabled(mechanism)
    assert not joined(table.conditional("y", 0, 30), table.conditional("y", 30, 60))


def test_processing_a_table_spreads_noise_over_its_cells():
    table = tabled(APART, isotonic=True)
    assert table.conditional("y", 0, 30).releases == table.row.releases


def test_classes_of_one_release_are_refused():
    curve, other = released(), released()
    grid = dp.Grid.uniform(0, 1, 59)
    with pytest.raises(dp.ParameterError, match="positives"):
        dp.ScoreCurves.from_classes(grid, curve, dp.load(curve.to_json()))
    assert dp.ScoreCurves.from_classes(grid, curve, other).joint.releases


@pytest.mark.parametrize("seed", range(20))
def test_rounded_weights_and_parts_of_tables_move_no_quantile(seed):
    """Medians were one value late, and the largest value was the end of the grid."""
    rng, grid, exact = np.random.default_rng(seed), dp.Grid.integers(1, 20), dp.mechanisms.NoNoise()
    n, weights = int(rng.integers(2, 12)), rng.integers(1, 9, 2) / 10
    values, shares = np.sort(rng.integers(3, 9, n)), np.arange(1, n + 1) / n
    release = partial(dp.cdf, values, grid, exact, isotonic=False)
    beside = dp.TableGrid(grid, dp.Grid.uniform(0, 1, 3))
    for curve in (
        dp.average([release(), release()], weights=weights),
        dp.combine([release(), release()], weights=weights),
        dp.table(values, np.full(n, 0.3), beside, exact).conditional("x", 0.1, 0.6),
    ):
        expected = values if curve.n == n else np.repeat(values, 2)[1::2]
        assert curve.quantile(shares).tolist() == expected.tolist()
        low, high = curve.quantile_interval(shares)
        assert low.tolist() == high.tolist() == expected.tolist()
