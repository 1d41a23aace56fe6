"""Statistics of all results, each with the kind of number that it is, and few records for them.

Records have ties and lie at ends of cells, and some are outside of the grid.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import dpcore as dp
from dpcore import statistics as of
from dpcore.mechanisms import Hierarchy, NoNoise

EXACT = NoNoise()
RNG = np.random.default_rng
NOISY = Hierarchy(20.0)
DAY = 86_400_000_000  # microseconds


class Line(NamedTuple):
    """Where a number lies: at scale x + shift, as a number, or as so many days."""

    scale: float = 1.0
    shift: float = 0.0
    unit: str | None = None

    def __call__(self, numbers):
        places = np.asarray(numbers, float) * self.scale + self.shift
        if self.unit is None:
            return places
        return np.rint(places * DAY).astype("M8[us]" if self.unit == "time" else "m8[us]")

    def back(self, kind, value):
        """Return a statistic of this kind as it would be on the line of the numbers."""
        value = np.asarray(value)
        if value.dtype.kind in "mM":
            micro = value.astype(value.dtype.kind + "8[us]")
            value = np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / DAY)
        if kind == "place":
            return (value - self.shift) / self.scale
        return value / {"length": self.scale, "root": math.sqrt(self.scale)}.get(kind, 1.0)


HERE = Line()


class Cells(NamedTuple):
    """The cells of a grid on the line of numbers."""

    edges: tuple[float, ...]
    kind: str = ""  # "whole": of Grid.integers; "open": the lower end is not known

    def on(self, line):
        edges = line(self.edges)
        if self.kind == "whole":
            make = dp.Grid.integers if line.unit is None else dp.Grid.days
            return make(edges[0], edges[-1])
        return dp.Grid(edges[1:], lower=None if self.kind == "open" else edges[0])

    def padded(self, left, right):
        """Return more cells of another width."""
        step = 1.0 if self.kind == "whole" else 1.75
        before = [self.edges[0] - step * i for i in range(left, 0, -1)]
        after = [self.edges[-1] + step * i for i in range(1, right + 1)]
        return self._replace(edges=(*before, *self.edges, *after))

    def halved(self):
        middles = np.add(self.edges[1:], self.edges[:-1]) / 2
        return self._replace(edges=tuple(np.sort([*self.edges, *middles])))

    def mirrored(self):
        return self._replace(edges=tuple(-edge for edge in reversed(self.edges)))


class Records(NamedTuple):
    """Numbers, and for each a class and a number within [0, 1]."""

    x: Any
    label: Any
    y: Any

    def __getitem__(self, some):
        return Records(*(column[some] for column in (self.x, self.label, self.y)))


WHOLE = Cells(tuple(np.arange(2.0, 12.0)), "whole")
EVEN = Cells(tuple(np.arange(2.0, 11.5, 1.5)))
UNEVEN = Cells((1.0, 2.0, 2.5, 5.0, 9.0, 10.0))
OPEN = UNEVEN._replace(kind="open")
SCORES = dp.Grid.uniform(0, 1, 4)
SHARES = np.array([0.0, 1e-9, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0])
PLACES = np.array([1.0, 2.0, 2.5, 3.0, 4.25, 5.0, 6.75, 8.0, 9.0, 10.0])
TIMES = np.array([2.5, 4.25, 8.0])
LOW, HIGH = np.array([2.25, 3.25, 5.0]), np.array([2.5, 8.0, 9.5])
METHODS = ("linear", "inverted_cdf")


def drawn(seed, cells):
    """Return few records: with ties, at ends of cells, outside of the grid, or all at one value."""
    rng = RNG(seed)
    n = int(rng.integers(3, 41))
    x = np.rint(rng.uniform(cells.edges[0] - 1.5, cells.edges[-1] + 1.5, n) * 4) / 4
    x = np.where(rng.random(n) < 0.4, rng.choice(cells.edges, n), x)
    x = np.full(n, x[0]) if seed % 5 == 4 else x
    x = np.rint(x) if cells.kind == "whole" else x
    label = rng.integers(0, 2, n)
    label[:2] = 0, 1
    return Records(x, label, rng.random(n))


# --- what is read off each result: {name: (kind, function of the result, the line and the level)}
# Kinds are "place", "length", its "root", "share" and "count".


def of_kinds(**kinds):
    return {name: (kind, read) for kind, reads in kinds.items() for name, read in reads.items()}


def each(reader, *names):
    return {name: reader(name) for name in names}


def own(name, *given, **named):
    """Read an attribute, or call a method."""

    def read(result, line, level):
        found = getattr(result, name)
        return found(*given, **named) if callable(found) else found

    return read


def at_level(name, **named):
    return lambda result, line, level: getattr(result, name)(level=level, **named)


def at(name, places, by_one=False, **named):
    """Call a method with places."""

    def read(result, line, level):
        method = partial(getattr(result, name), **named)
        if name.endswith("interval"):
            method = partial(method, level=level)
        return [method(place) for place in line(places)] if by_one else method(line(places))

    return read


def between(name):
    def read(curve, line, level):
        low, high, method = line(LOW), line(HIGH), getattr(curve, name)
        method = partial(method, level) if name.endswith("interval") else method
        return [method(lower=low, upper=high), method(upper=high), method(lower=low)]

    return read


def of_methods(name):
    def read(curve, line, level):
        given = (SHARES, level) if name.endswith("interval") else (SHARES,)
        return [getattr(curve, name)(*given, method=method) for method in METHODS]

    return read


def of_both(name, reads):
    """Read an interval for the records, and one for their population."""
    return {
        name: reads(of="records"),
        f"{name}, of the population": reads(of="population"),
    }


def functions(*of_results, given=()):
    """Call functions of a result, or of a pair."""

    def reader(function):
        has_level = "level" in inspect.signature(function).parameters

        def read(result, line, level):
            results = result if isinstance(result, list) else [result]
            return function(*results, *given, **({"level": level} if has_level else {}))

        return read

    return {function.__name__: reader(function) for function in of_results}


def histograms(curve, line, level):
    known = np.isfinite(curve.grid.start)
    return [curve.histogram(bins)[0] for bins in (None, line(PLACES), *([3] if known else []))]


def conditional_means(curve, line, level):
    low, high = line([2.5, 6.75])
    ends = {"lower": low, "upper": high}, {"upper": high}, {"lower": low}
    return [of.conditional_mean(curve, **end) for end in ends]


CURVE = of_kinds(
    share={
        "__call__": at("__call__", PLACES),
        **each(between, "share", "share_interval", "population_share_interval"),
        "standard_error": own("standard_error"),
        "band": at_level("band"),
        "band_of_deviations": own("band_of_deviations", 2.0, 1.0),
    },
    place={
        **each(of_methods, "quantile", "quantile_interval", "population_quantile_interval"),
        "quantile, cubic": own("quantile", SHARES, method="cubic"),
        **each(own, "mean", "thresholds"),
        **each(at_level, "mean_interval", "population_mean_interval"),
        "sample": lambda curve, line, level: curve.sample(9, RNG(1)),
        **functions(of.trimmed_mean, given=(0.1, 0.65)),
        "conditional_mean": conditional_means,
    },
    length={
        "std": own("std"),
        **functions(of.interquartile_range, of.interquartile_range_interval),
    },
    count={"histogram": histograms},
)
AMOUNTS = of_kinds(
    share={
        **functions(of.gini, of.quantile_ratio, of.quantile_ratio_interval),
        **functions(of.lorenz_curve, given=(SHARES,)),
    },
)
EVENTS = of_kinds(
    count=each(own, "at_risk", "events", "censored"),
    share={
        "__call__": at("__call__", PLACES),
        "survival": own("survival"),
        **of_both("band", partial(at_level, "band")),
    },
    place=each(own, "times", "end"),
)
SURVIVAL = EVENTS | of_kinds(
    share={
        "cumulative_hazard": own("cumulative_hazard"),
        **of_both("interval", partial(at, "interval", PLACES)),
    },
    place={
        "median": own("median"),
        "quantile": own("quantile", SHARES),
        **of_both("quantile_interval", partial(at_level, "quantile_interval", p=SHARES)),
        "restricted_mean": at("restricted_mean", TIMES, by_one=True),
        **of_both(
            "restricted_mean_interval",
            partial(at, "restricted_mean_interval", TIMES, by_one=True),
        ),
    },
)
INCIDENCE = EVENTS | of_kinds(share=each(own, "incidence"))
ROC = of_kinds(
    share={
        **each(own, "auc", "average_precision", "fpr", "tpr", "precision", "recall"),
        **each(at_level, "auc_interval", "population_auc_interval"),
        **each(at_level, "band", "precision_recall_band"),
        "band_of_deviations": own("band_of_deviations", 2.0, 1.0),
    },
    place=each(own, "thresholds"),
)


def of_histograms(name, *given):
    """Read both histograms of scores, of equal widths and of equal counts."""

    def read(pair, line, level):
        found = []
        for histogram in pair:
            value = getattr(histogram, name)
            if name in ("auc_interval", "auc_discretisation"):
                value = partial(value, level=level)
            found.append(value(*given) if callable(value) else value)
        return found

    return read


OF_LABELS = "auc_discretisation", "auc_interval"
HISTOGRAM = of_kinds(
    share={
        **each(of_histograms, "auc", "auc_corrected", "auc_noise_deviation", *OF_LABELS),
        **{
            f"{name} if labels are drawn, of the population": of_histograms(name, "well-behaved")
            for name in OF_LABELS
        },
        "nearest": of_histograms("nearest", SHARES),
    }
)
SCORED = of_kinds(
    count=each(own, "events", "censored"),
    share={
        "auc": at("auc", TIMES, by_one=True),
        **of_both("auc_interval", partial(at, "auc_interval", TIMES[1:2], by_one=True)),
        "roc": at("roc", TIMES[1:2], by_one=True),
        "calibration": lambda result, line, level: [
            list(result.calibration(line([time])[0], 2)[:2]) for time in TIMES
        ],
        "concordance": own("concordance"),
        **of_both("concordance_interval", partial(at_level, "concordance_interval")),
    },
)


def of_reliability(name):
    return lambda curves, line, level: [
        getattr(of.reliability(curves, bins), name)
        for bins in (3, of.equi_depth_bins(curves, 3), of.uniform_bins(curves, 3))
    ]


def hosmer_lemeshow(curves, line, level):
    return of.HosmerLemeshow.from_curves(curves, 3, minimum_expected=0.0).statistic


CALIBRATION = of_kinds(
    share={
        **each(of_reliability, "mean_score", "positive_rate"),
        **functions(
            of.expected_calibration_error,
            of.maximum_calibration_error,
            of.expected_calibration_error_interval,
            of.population_expected_calibration_error_interval,
            given=(3,),
        ),
    },
    count={"counts": of_reliability("counts"), "hosmer_lemeshow": hosmer_lemeshow},
)


def of_conditional(read):
    return lambda table, line, level: [
        read(curve) for curve in (table.marginal("x"), table.conditional("x", 0.25, 0.6))
    ]


TABLE = of_kinds(
    place={
        "marginal": of_conditional(lambda curve: curve.quantile(SHARES)),
        "conditional": of_conditional(lambda curve: curve.mean()),
        "conditional_quantiles": own("conditional_quantiles", "x", SHARES),
    },
    count=each(own, "counts", "whole_counts", "outside", "n"),
)


def two_sample_test(pair, line, level):
    return dp.two_sample_test(*pair, simulations=19).statistic


def of_comparison(name):
    return lambda pair, line, level: getattr(
        dp.compare(*pair, level=level, simulations=19, rng=RNG(1)), name
    )


PAIR = of_kinds(
    share={
        **each(of_comparison, "statistic", "p_value", "p_values"),
        "two_sample_test": two_sample_test,
    },
    length=each(of_comparison, "differences", "population_interval"),
)
DISTANCES = of_kinds(
    share=functions(dp.distances.kolmogorov_smirnov),
    length=functions(dp.distances.earth_mover),
    root=functions(dp.distances.energy),
)


def of_means(name):
    def read(pair, line, level):
        until = min(line([8.0])[0], *(curve.end for curve in pair))
        return getattr(dp.restricted_mean_difference(*pair, until, level), name)

    return read


def log_rank(pair, line, level):
    return dp.log_rank_test(*pair, simulations=19, rng=RNG(1)).statistic


PAIR_OF_SURVIVAL = of_kinds(
    share={"log_rank_test": log_rank},
    length={
        "difference": of_means("difference"),
        "interval, of the population": of_means("interval"),
    },
)
RATES = of_kinds(
    share=functions(
        of.symmetric_difference,
        of.auc_difference_interval,
        of.population_auc_difference_interval,
    )
)


# --- how each result is made


def curve_of(records, cells, line=HERE, mechanism=EXACT, **by):
    return dp.cdf(line(records.x), cells.on(line), mechanism, rng=seeded(mechanism), **by)


def seeded(mechanism):
    return None if mechanism is EXACT else RNG(1)


def survival_of(records, cells, line=HERE, mechanism=EXACT, **by):
    given = line(records.x), records.label, cells.on(line), mechanism
    return dp.survival(*given, event_label=1, rng=seeded(mechanism), **by)


def kinds_of(records):
    return np.where(records.y < 0.4, 2, records.label)


def incidence_of(records, cells, line=HERE, mechanism=EXACT, **by):
    given = line(records.x), kinds_of(records), cells.on(line), [1, 2], mechanism
    return dp.cumulative_incidence(*given, rng=seeded(mechanism), **by)


def roc_of(records, cells, line=HERE, mechanism=EXACT, **by):
    given = records.label, line(records.x), cells.on(line), mechanism
    return dp.roc_curve(*given, pos_label=1, rng=seeded(mechanism), **by)


def histograms_of(records, cells, line=HERE, mechanism=EXACT):
    curves = calibrated_of(records, cells, line, mechanism)
    return [make(curves, 4) for make in (of.ScoreHistogram.uniform, of.ScoreHistogram.quantile)]


def scored_of(records, cells, line=HERE, mechanism=EXACT):
    given = line(records.x), records.label, records.y, cells.on(line), SCORES, mechanism
    return dp.survival_scores(*given, event_label=1, rng=seeded(mechanism))


def calibrated_of(records, cells, line=HERE, mechanism=EXACT):
    given = records.label, records.y, SCORES, mechanism
    return dp.score_curves(*given, pos_label=1, rng=seeded(mechanism))


def table_of(records, cells, line=HERE, mechanism=EXACT):
    grid = dp.TableGrid(cells.on(line), SCORES)
    return dp.table(line(records.x), records.y, grid, mechanism, rng=seeded(mechanism))


def pair_of(make):
    """Return results of the records of each class."""
    return lambda records, cells, line=HERE, mechanism=EXACT: [
        make(records[records.label == label], cells, line, mechanism) for label in (0, 1)
    ]


def durations_of_pair(records, cells, line=HERE, mechanism=EXACT):
    low = records.y < np.median(records.y)
    return [survival_of(records[part], cells, line, mechanism) for part in (low, ~low)]


def rates_of_pair(records, cells, line=HERE, mechanism=EXACT):
    """Return the ROC curves of two labels of the same records."""
    other = records._replace(label=np.where(records.y < 0.7, records.label, 1 - records.label))
    if len(set(other.label.tolist())) < 2:
        other = records
    return [roc_of(each, cells, line, mechanism) for each in (records, other)]


class Case(NamedTuple):
    make: Callable[..., Any]
    reads: dict[str, Any]
    result: type | None = None  # the class whose statistics are all read
    units: tuple[str, ...] = ()
    moves: bool = True
    durations: bool = False

    @property
    def cells(self):
        return [WHOLE, EVEN, UNEVEN, *([] if self.durations or self.make is table_of else [OPEN])]


LENGTHS = {"units": ("duration",), "durations": True}
CASES = {
    "curve": Case(curve_of, CURVE, dp.CDF, ("time", "duration")),
    "survival": Case(survival_of, SURVIVAL, dp.Survival, **LENGTHS),
    "incidence": Case(incidence_of, INCIDENCE, dp.CumulativeIncidence, **LENGTHS),
    "roc": Case(roc_of, ROC, of.ROC),
    "histograms": Case(histograms_of, HISTOGRAM, of.ScoreHistogram, moves=False),
    "scored durations": Case(scored_of, SCORED, of.SurvivalScores, **LENGTHS),
    "calibration": Case(calibrated_of, CALIBRATION, of.Reliability, moves=False),
    "table": Case(table_of, TABLE, dp.Table),
    "pair": Case(pair_of(curve_of), PAIR, dp.Comparison, ("time", "duration")),
    "distances": Case(pair_of(curve_of), DISTANCES),
    "pair of rates": Case(rates_of_pair, RATES),
    "pair of durations": Case(
        durations_of_pair, PAIR_OF_SURVIVAL, dp.RestrictedMeanDifference, **LENGTHS
    ),
}


def flat(value):
    """Return all numbers of a tree of them in a row."""
    if isinstance(value, list | tuple):
        return np.concatenate([flat(part) for part in value])
    return np.ravel(value)


def read(reads, result, line=HERE, level=0.95):
    found = {}
    for name, (kind, function) in reads.items():
        value = function(result, line, level)
        parts = value if isinstance(value, list) else [value]
        found[name] = np.concatenate([np.ravel(line.back(kind, flat(part))) for part in parts])
    return found


def assert_same(first, second, but=()):
    differ = [
        (name, first[name], second[name])
        for name in first
        if name not in but
        and not (
            first[name].shape == second[name].shape
            and np.allclose(first[name], second[name], rtol=1e-9, atol=1e-9, equal_nan=True)
        )
    ]
    assert not differ


def of_population(reads):
    """Return the statistics that tell of sampling, so that they depend on n."""
    others = {"band_of_deviations", "statistic", "p_value", "p_values"}
    others |= {"two_sample_test", "log_rank_test"}
    return {name for name in reads if "population" in name} | others
