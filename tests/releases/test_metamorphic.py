"""Relations between statistics of related records, for every statistic of every result."""

from __future__ import annotations

import inspect
from itertools import pairwise

import numpy as np
import pytest

import dpcore as dp
from dpcore import statistics as of
from dpcore import trust
from dpcore.curves.stored import Stored
from tests.releases.readings import (
    AMOUNTS,
    CASES,
    CURVE,
    DISTANCES,
    EVEN,
    EXACT,
    HERE,
    METHODS,
    NOISY,
    PLACES,
    RNG,
    ROC,
    SCORES,
    SHARES,
    SURVIVAL,
    TIMES,
    UNEVEN,
    WHOLE,
    Cells,
    Line,
    Records,
    assert_same,
    curve_of,
    drawn,
    flat,
    incidence_of,
    of_population,
    pair_of,
    read,
    roc_of,
    scored_of,
    survival_of,
)

by_case = pytest.mark.parametrize("case", CASES)

MOVES = [
    Line(1, 5),
    Line(4, 0),
    Line(0.25, 3),
    Line(1, 19_000, "time"),
    Line(1, 3, "duration"),
    Line(0.5, 3, "duration"),
]
MOVED = [
    (name, line)
    for name, case in CASES.items()
    for line in MOVES
    if case.moves and line.unit in (None, *case.units)
]


@pytest.mark.sample(43)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("case", "line"), MOVED, ids=str)
def test_places_move_with_the_records(case, line, seed):
    make, reads = CASES[case][:2]
    for cells in CASES[case].cells:
        if cells.kind == "whole" and line.scale != 1:  # other numbers would be whole
            continue
        records = drawn(seed, cells)
        first = read(reads, make(records, cells))
        if line.unit:  # no time is infinite
            first = {
                name: np.where(np.isinf(value) & (reads[name][0] != "share"), np.nan, value)
                for name, value in first.items()
            }
        assert_same(first, read(reads, make(records, cells, line), line))


@pytest.mark.parametrize("seed", range(6))
def test_inequality_does_not_depend_on_the_unit(seed):
    for cells in (EVEN, UNEVEN):
        records = drawn(seed, cells)
        scaled = curve_of(records, cells, Line(4, 0))
        assert_same(read(AMOUNTS, curve_of(records, cells)), read(AMOUNTS, scaled, Line(4, 0)))


OF_PAIRS = {  # a cell has no pairs of a record with itself, but some with its copies
    ("scored durations", ""): {"concordance", "concordance_interval"},
    **{("histograms", kind): {"auc_corrected"} for kind in ("whole", "")},
}


@pytest.mark.sample(23)
@pytest.mark.parametrize("seed", range(6))
@by_case
def test_copies_of_all_records(case, seed):
    make, reads = CASES[case][:2]
    reads = reads | (AMOUNTS if case == "curve" else {})
    for cells in CASES[case].cells[:3]:
        records = drawn(seed, cells)
        copies = records[np.repeat(np.arange(len(records.x)), 3)]
        once, more = (read(reads, make(each, cells)) for each in (records, copies))
        for name in once:
            more[name] = more[name] / (3 if reads[name][0] == "count" else 1)
        assert_same(once, more, of_population(reads) | OF_PAIRS.get((case, cells.kind), set()))


# --- more cells


PER_CELL = {
    *("band", "band, of the population", "band_of_deviations", "counts", "whole_counts", "outside"),
    *("standard_error", "thresholds", "histogram", "at_risk", "events", "censored", "survival"),
    *("cumulative_hazard", "times", "incidence", "fpr", "tpr", "precision", "recall"),
    "precision_recall_band",
}


def inside(records, cells, least=0.125):
    """Return the records, moved into the grid, and off its lower end if that is in a cell."""
    low, high = cells.edges[0], cells.edges[-1]
    return records._replace(x=np.clip(records.x, low + (cells.kind != "whole") * least, high))


def without_zero(found):
    """Leave out the quantiles of p = 0, which are where the grid begins."""
    found = dict(found)
    for name in ("quantile", "quantile_interval", "marginal", "conditional_quantiles"):
        if name in found:
            found[name] = found[name].reshape(-1, len(SHARES))[:, 1:].ravel()
    return found


@pytest.mark.sample(31)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("left", "right"), [(0, 1), (2, 0), (1, 3)])
@pytest.mark.parametrize("case", [case for case in CASES if CASES[case].moves])
def test_empty_cells_beyond_the_records(case, left, right, seed):
    make, reads = CASES[case][:2]
    for cells in CASES[case].cells[:3]:
        records = inside(drawn(seed, cells), cells)
        few = cells if cells.kind == "whole" else cells.padded(1, 1)  # end cells are special
        found = [read(reads, make(records, each)) for each in (few, few.padded(left, right))]
        assert_same(
            *map(without_zero, found), PER_CELL | of_population(reads) | {"quantile, cubic", "end"}
        )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", ["curve", "table", "pair", "distances"])
def test_empty_cells_between_whole_numbers(case, seed):
    """The same whole numbers, stated in another way, on cells of a half."""
    make, reads = CASES[case][:2]
    records = inside(drawn(seed, WHOLE), WHOLE)
    halves = Cells(tuple(np.arange(1.0, 11.5, 0.5)))

    def stated(records, cells, line=HERE, mechanism=EXACT):
        grid = cells.on(line)
        if case == "table":
            grid = dp.TableGrid(grid, SCORES)
            return dp.table(records.x, records.y, grid, mechanism, integers=(True, None))
        return dp.cdf(records.x, grid, mechanism, integers=True)

    both = pair_of(stated) if case in ("pair", "distances") else stated
    found = [read(reads, made) for made in (make(records, WHOLE), both(records, halves))]
    assert_same(*map(without_zero, found), PER_CELL | of_population(reads) | {"quantile, cubic"})


EVENLY = "mean", "std", "trimmed_mean", "conditional_mean", "share", "sample"


@pytest.mark.parametrize("seed", range(6))
def test_cells_cut_in_two(seed):
    """Records that lie evenly in both halves of their cells."""
    for cells in (EVEN, UNEVEN):
        rng, halves = RNG(seed), cells.halved()
        at = 2 * rng.integers(0, len(cells.edges) - 1, 12)
        both = np.r_[at, at + 1]
        x = (np.add(halves.edges[:-1], halves.edges[1:]) / 2)[both]
        records = Records(x, np.tile(rng.integers(0, 2, 12), 2), np.tile(rng.random(12), 2))
        records.label[:2] = records.label[12:14] = 0, 1
        first, second = (curve_of(records, each) for each in (cells, halves))
        reads = {name: CURVE[name] for name in EVENLY} | AMOUNTS
        assert_same(*(read(reads, each) for each in (first, second)), {"quantile_ratio_interval"})
        np.testing.assert_allclose(first.quantile(SHARES), second.quantile(SHARES))
        one, two = (roc_of(records, each) for each in (cells, halves))
        assert one.auc == pytest.approx(two.auc)


@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_that_lie_evenly_in_wide_cells(seed):
    """Also in the first cell, which includes its lower end."""
    numbers = np.arange(2, 11)  # three in each cell
    x = np.repeat(numbers, np.repeat(np.add(RNG(seed).integers(0, 3, 3), [seed % 2, 1, 0]), 3))
    each = dp.cdf(x, dp.Grid.integers(2, 10), EXACT)
    wide = dp.cdf(x, dp.Grid([4, 7, 10], lower=2), EXACT, integers=True)
    assert wide(2) == pytest.approx(each(2))
    p = [*SHARES, *np.arange(1, len(x)) / len(x)]
    assert wide.quantile(p).tolist() == each.quantile(p).tolist()
    np.testing.assert_allclose(wide.histogram(PLACES)[0], each.histogram(PLACES)[0])
    reads = {name: CURVE[name] for name in EVENLY} | AMOUNTS
    assert_same(*(read(reads, curve) for curve in (each, wide)), {"quantile_ratio_interval"})


# --- mirrors


@pytest.mark.parametrize("seed", range(6))
def test_mirrored_records(seed):
    """Statistics of -x on a mirrored grid, for records that are on no end of a cell."""
    for cells in (WHOLE, EVEN, UNEVEN):
        records = inside(drawn(seed, cells), cells)
        if not cells.kind:  # into the middle half of a cell
            cell = np.searchsorted(cells.edges, records.x) - 1
            low, high = np.take(cells.edges, cell), np.take(cells.edges, cell + 1)
            records = records._replace(x=low + (high - low) * (0.25 + records.y / 2))
        mirrored = records._replace(x=-records.x)
        curve, mirror = curve_of(records, cells), curve_of(mirrored, cells.mirrored())
        n, p = curve.n, (np.arange(curve.n) + 1 / np.pi) / curve.n
        places, back = np.array([3.3, 5.7, 8.1]), -np.array([8.1, 5.7, 3.3])
        method = {True: METHODS, False: ("linear", "cubic")}[cells.kind == "whole"]
        ours, theirs = [], []
        for each in method:
            ours.append(curve.quantile(p, method=each))
            theirs.append(-mirror.quantile(1 - p, method=each))
        for name in ("quantile_interval", "population_quantile_interval"):
            ours += getattr(curve, name)(p)
            theirs += [-end for end in getattr(mirror, name)(1 - p)[::-1]]
        for name in ("mean_interval", "population_mean_interval"):
            ours += getattr(curve, name)()
            theirs += [-end for end in getattr(mirror, name)()[::-1]]
        ours += [curve.mean(), curve.std(), of.interquartile_range(curve) if n % 4 else 0]
        theirs += [-mirror.mean(), mirror.std(), of.interquartile_range(mirror) if n % 4 else 0]
        for name in ("share", "share_interval", "population_share_interval"):
            ours += flat([getattr(curve, name)(lower=places[:-1], upper=places[1:])]).tolist()
            found = np.asarray(getattr(mirror, name)(lower=back[:-1], upper=back[1:]))
            theirs += flat(found[..., ::-1]).tolist()
        ours += [of.trimmed_mean(curve, 0.1, 0.65), of.trimmed_mean(curve, 0.0, 0.3)]
        theirs += [-of.trimmed_mean(mirror, 0.35, 0.9), -of.trimmed_mean(mirror, 0.7, 1.0)]
        ours += [of.conditional_mean(curve, lower=3.3, upper=8.1)]
        theirs += [-of.conditional_mean(mirror, lower=-8.1, upper=-3.3)]
        ours += curve.histogram(places)[0].tolist()
        theirs += mirror.histogram(back)[0][::-1].tolist()
        np.testing.assert_allclose(flat(ours), flat(theirs), rtol=1e-9, atol=1e-9)
        first, second = (
            roc_of(*given) for given in ((records, cells), (mirrored, cells.mirrored()))
        )
        exchanged = roc_of(mirrored._replace(label=1 - records.label), cells.mirrored())
        assert first.auc == pytest.approx(1 - second.auc)
        assert first.auc == pytest.approx(exchanged.auc)
        for name in ("auc_interval", "population_auc_interval"):
            ends = [getattr(each, name)() for each in (first, second, exchanged)]
            np.testing.assert_allclose(ends[0], 1 - np.array(ends[1])[::-1])
            np.testing.assert_allclose(ends[0], ends[2])
        scored = [scored_of(records._replace(y=y), cells) for y in (records.y, 1 - records.y)]
        np.testing.assert_allclose(scored[0].concordance, 1 - scored[1].concordance)
        np.testing.assert_allclose(
            [scored[0].auc(t) for t in TIMES], [1 - scored[1].auc(t) for t in TIMES]
        )


# --- limits and levels


def ends_of(value):
    """Return the low ends and the high ends of all intervals in a tree."""
    if isinstance(value, list):
        parts = [ends_of(part) for part in value]
        return [np.concatenate([part[end] for part in parts]) for end in (0, 1)]
    if len(value) == 4:  # of both rates
        return [np.r_[value[0], value[2]], np.r_[value[1], value[3]]]
    return [np.ravel(end) for end in value]


def estimate(case, name):
    """Return the name of the statistic that an interval is of."""
    name = name.removesuffix(", of the population")
    if name in ("band", "interval"):
        return "__call__" if name == "interval" else case
    return name.replace("_interval", "").replace("population_", "")


def within(low, at, high):
    """Whether low <= at <= high, where all are known."""
    known = ~np.isnan(low + at + high) | np.isinf(low) | np.isinf(high)
    return np.all((low <= at + 1e-9)[known] & (at <= high + 1e-9)[known])


@pytest.mark.sample(19)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mechanism", [EXACT, NOISY], ids=["exact", "noisy"])
@by_case
def test_intervals_are_nested_and_hold_the_estimate(case, mechanism, seed):
    make, reads = CASES[case][:2]
    reads = reads | (AMOUNTS if case == "curve" else {})
    for cells in CASES[case].cells[:3]:
        result = make(drawn(seed, cells), cells, HERE, mechanism)
        for name, (_, function) in reads.items():
            if not ("interval" in name or "band" in name) or name == "band_of_deviations":
                continue
            levels = 0.01, 0.5, 0.9, 0.99, 0.99999
            found = [ends_of(function(result, HERE, level)) for level in levels]
            for inner, outer in pairwise(found):
                assert within(outer[0], inner[0], outer[1]), name
                assert within(outer[0], inner[1], outer[1]), name
            if estimate(case, name) in reads:
                at = flat(reads[estimate(case, name)][1](result, HERE, 0.95))
                if at.shape == found[0][0].shape:
                    assert within(found[0][0], at, found[0][1]), name


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mechanism", [EXACT, NOISY], ids=["exact", "noisy"])
def test_readings_rise(mechanism, seed):
    p = np.sort(np.r_[SHARES, 1e-300, RNG(seed).random(9), 1 - 2.0**-53])
    for cells in (WHOLE, EVEN, UNEVEN):
        records = drawn(seed, cells)
        places = np.linspace(cells.edges[0], cells.edges[-1], 60)
        curve, survival, incidence, roc, scored = (
            make(records, cells, HERE, mechanism)
            for make in (curve_of, survival_of, incidence_of, roc_of, scored_of)
        )
        rising = [curve(places), curve.share(upper=places), 1 - curve.share(lower=places)]
        if mechanism is EXACT:  # the noise of each threshold has a deviation of its own
            rising += curve.share_interval(upper=places)
        rising += [1 - survival(places), survival.quantile(p), survival.cumulative_hazard]
        rising += [*incidence(places), *incidence.incidence, roc.tpr, roc.fpr, 1 - roc.thresholds]
        rising += [np.array([survival.restricted_mean(place) for place in places])]
        rising += [of.lorenz_curve(curve, p), *scored.roc(places[30])[:2]]
        for method in (*METHODS, "cubic"):
            rising.append(curve.quantile(p, method=method))
        for method in METHODS:
            rising += curve.quantile_interval(p, method=method)
        rising += curve.population_quantile_interval(p)[1:]
        rising += survival.quantile_interval(p)
        for values in rising:
            known = values[~np.isnan(values)]
            assert np.all(np.diff(known) >= -1e-12), values
            assert np.all(np.isnan(values[known.size :]))  # what is not known is the end
        for ends in (
            curve.band(),
            curve.share_interval(upper=places),
            roc.precision_recall_band(),
        ):
            assert np.all((np.array(ends) >= 0) & (np.array(ends) <= 1))


@pytest.mark.parametrize("seed", range(6))
def test_shares_near_0_and_1(seed):
    for cells in (WHOLE, EVEN, UNEVEN):
        records = drawn(seed, cells)[: seed + 1]
        x = np.clip(records.x, *cells.edges[:: len(cells.edges) - 1])
        curve = curve_of(records, cells)
        ends = np.array(cells.edges[0 if cells.kind == "whole" else 1 :])
        first, last = ends[np.searchsorted(ends, [x.min(), x.max()])]
        for method in (*METHODS, "cubic"):
            low, least, most, high = curve.quantile([0, 1e-300, 1 - 2.0**-53, 1], method=method)
            assert high == last == pytest.approx(most)
            assert low == (ends[0] if method == "inverted_cdf" else curve.grid.lower)
            width = 0.0 if cells.kind == "whole" or method == "inverted_cdf" else 4.0
            assert first - width <= least <= first
        for method in METHODS:  # values of the population may be anywhere beyond those of records
            lows, highs = curve.population_quantile_interval([0, 1], method=method)
            assert lows[0] == curve.grid.lower
            assert highs[1] == ends[-1]
        assert of.lorenz_curve(curve, [0, 1]).tolist() == [0, 1]
        assert of.trimmed_mean(curve, 0, 1) == pytest.approx(curve.mean())
        assert of.conditional_mean(curve) == pytest.approx(curve.mean())
        assert curve.share() == curve.share(upper=np.inf) == curve.share(lower=-np.inf) == 1
        survival = survival_of(records, cells)
        assert np.isnan(survival.quantile_interval(1.0, of="population").high)
        assert survival.quantile(0) == curve.grid.lower
        assert survival.restricted_mean(curve.grid.lower) == curve.grid.lower


# --- parts


JOINED = ["curve", "survival", "incidence"]


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", JOINED)
def test_parts_make_the_whole(case, seed):
    make, reads = CASES[case][:2]
    for cells in CASES[case].cells[:3]:
        records = drawn(seed, cells)
        half = len(records.x) // 2
        parts = [make(records[some], cells) for some in (slice(half), slice(half, None))]
        whole = make(records, cells)
        assert_same(read(reads, whole), read(reads, dp.combine(parts)), of_simulation(case, reads))
        if case == "curve":
            of_parts = [part.as_released() for part in (whole, make(records, cells))]
            weighted = dp.average(of_parts, weights=np.array([1, 2 + seed]) / 10)
            assert_same(read(reads, whole), read(reads, weighted))
            shares = np.arange(1, whole.n + 1) / whole.n
            for method in METHODS:
                both = [one.quantile(shares, method=method) for one in (whole, weighted)]
                np.testing.assert_allclose(*both)


def of_simulation(case, reads):
    """Return the intervals that simulate the sampling of each part on its own."""
    return set() if case == "curve" else {name for name in reads if "population" in name}


@pytest.mark.sample(11)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", [*JOINED, "roc"])
def test_groups_are_releases_of_their_own(case, seed):
    make, reads = CASES[case][:2]
    for cells in CASES[case].cells[:3]:
        records = drawn(seed, cells)
        records = records[np.resize(np.arange(len(records.x)), len(records.x) + 4)]
        group = np.where(np.arange(len(records.x)) % 3, "b", "a")
        records.label[[0, 3, 1, 2]] = 0, 1, 0, 1  # both classes in both groups
        grouped = make(records, cells, by=group, groups=["a", "b"])
        found = [read(reads, grouped[name]) for name in "ab"]
        for name, own in zip("ab", found, strict=True):
            alone = read(reads, make(records[group == name], cells))
            assert_same(own, alone, of_simulation(case, reads))
        if case == "curve":
            alike = {name: reads[name] for name in ("mean", "mean_interval")}
            for name, (_, function) in alike.items():
                both = np.asarray(function(grouped, HERE, 0.95)).reshape(-1, 2)
                np.testing.assert_allclose(both, np.array([own[name] for own in found]).T)
            own = grouped["a"], grouped["b"]
            for method in METHODS:
                both = [curve.quantile(SHARES, method=method) for curve in own]
                assert np.array_equal(grouped.quantile(SHARES, method=method), both)
                both = [curve.quantile_interval(SHARES, method=method) for curve in own]
                found = grouped.quantile_interval(SHARES, method=method)
                assert np.array_equal(np.stack(found, axis=1), both)
            both = [curve.histogram(PLACES)[0] for curve in own]
            np.testing.assert_allclose(grouped.histogram(PLACES)[0], both)
            np.testing.assert_allclose(np.stack(grouped.band(), 1), [one.band() for one in own])
            for name in DISTANCES:
                both = [getattr(dp.distances, name)(one, own[0]) for one in own]
                np.testing.assert_allclose(getattr(grouped, name)(own[0]), both, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
@by_case
def test_stored_results_read_the_same(case, seed):
    make, reads = CASES[case][:2]
    for cells in CASES[case].cells[:3]:
        result = make(drawn(seed, cells), cells, HERE, NOISY)
        parts = result if isinstance(result, list) else [result]
        again = [dp.load(part.to_json()) for part in parts]
        again = again if isinstance(result, list) else again[0]
        assert_same(read(reads, result), read(reads, again))


@pytest.mark.parametrize("seed", range(2))
def test_rounds_of_clients_are_the_central_route(seed):
    for cells in (WHOLE, EVEN, UNEVEN):
        records, grid = drawn(seed, cells), cells.on(HERE)
        x, label = records.x, records.label == 1

        def summed(size, cells_of_records):
            protocol = trust.Protocol(trust.SecureAggregation(), size, bytes(16))
            servers = [trust.Server(protocol), trust.Server(protocol)]
            for cell in cells_of_records:
                for server, report in zip(
                    servers, trust.Client(protocol).report(cell), strict=True
                ):
                    server.add(report)
            trust.agree(servers)
            return [server.close() for server in servers]

        curve = trust.release(summed(grid.size, trust.cell_of(x, grid).tolist()), grid)
        assert_same(read(CURVE, curve), read(CURVE, curve_of(records, cells)))
        scored = summed(2 * grid.size, trust.cell_of(x, grid, label).tolist())
        roc = of.ROC.from_curves(trust.release_scores(scored, grid))
        central = of.ROC.from_curves(roc_of(records, cells).curves)
        assert_same(read(ROC, roc), read(ROC, central))
        ended = summed(2 * grid.size, trust.cell_of(x, grid, event=label).tolist())
        survival = trust.release_survival(ended, grid)
        reads = {name: SURVIVAL[name] for name in SURVIVAL if "population" not in name}
        assert_same(read(reads, survival), read(reads, survival_of(records, cells)))


# --- every statistic is here

SHARED = {  # what is no statistic
    *("to_json", "from_json", "to_frame", "plot", "display", "plot_precision_recall"),
    *("privacy", "n", "name", "mechanism", "curves", "grid", "processing", "releases", "row"),
}
ELSEWHERE = {
    dp.CDF: {
        *("as_released", "isotonic", "smooth", "without_negative_counts"),  # process curves
        *("is_monotone", "integers", "knots", "raw", "counts", "noise_deviation"),  # parts
    },
    dp.Survival: {"at_risk_deviation", "least_at_risk"},  # of the noise
    dp.CumulativeIncidence: {"at_risk_deviation", "least_at_risk", "kinds"},
    of.ROC: {"from_curves", "precision_recall"},  # the same numbers as another object
    of.ScoreHistogram: {"uniform", "quantile", "bins"},  # make it
    of.SurvivalScores: {"table", "score_grid"},
    of.Reliability: {"bins", "table", "noise_deviation", "sampling_deviation", "standard_error"},
    dp.Table: {"isotonic", "integers", "names", "sample"},  # draws
    dp.Comparison: {"level", "probabilities", "simulations"},
    dp.RestrictedMeanDifference: {"level", "until", "pvalue"},  # of the interval
}
FUNCTIONS = {
    *("equi_depth_bins", "uniform_bins", "reliability"),  # read by the fields of the last
    "residual_plot_distance",  # of plots, which need bounds with a budget
}
NOT_READ = {
    # have no release without noise
    *("Bounds", "BoxPlot", "ClasswiseCalibration", "Count", "Counts", "Mean", "Projection"),
    *("Quantiles", "ReleasedSum", "ResidualPlot", "BinormalROC"),
    *("DistributionTest", "PairwiseTests"),  # p-values are simulated; statistics are of pairs
    *("Advice", "Plan", "Suggestion"),  # are about no records
    *("Bins", "HosmerLemeshow", "ScoreCurves"),  # are read with the calibration
    # test_groups_are_releases_of_their_own
    *("GroupedCDF", "GroupedCumulativeIncidence", "GroupedROC", "GroupedScores"),
    "GroupedSurvival",
}


def test_every_result_is_here():
    rooms = dp, of, trust
    public = {getattr(room, name) for room in rooms for name in room.__all__}
    results = {
        kind.__name__ for kind in public if isinstance(kind, type) and issubclass(kind, Stored)
    }
    here = {case.result.__name__ for case in CASES.values() if case.result}
    assert results == here | NOT_READ


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case].result])
def test_every_statistic_is_here(case):
    kind, reads = CASES[case].result, CASES[case].reads
    public = {name for name in dir(kind) if name == "__call__" or not name.startswith("_")}
    names = {name.partition(",")[0].partition(" ")[0] for name in reads}
    assert not public - names - SHARED - ELSEWHERE.get(kind, set())


def test_every_function_of_curves_is_here():
    functions = {name for name in of.__all__ if inspect.isfunction(getattr(of, name))}
    here = {name for case in CASES.values() for name in case.reads}
    assert not functions - here - set(AMOUNTS) - FUNCTIONS
    assert set(dp.distances.__all__) <= here
