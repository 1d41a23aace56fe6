"""One record's neighbours: no public call shows its type, and it moves no other record."""

from __future__ import annotations

import array
import datetime as dt
import gc
import inspect
import pickle
import re
import types
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dpcore as dp
from dpcore import models, streams, trust
from dpcore.command_line import main as cli
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.medians import recursive_medians
from dpcore.papers.priroc import priroc_fix, score_curves_at_medians
from dpcore.papers.quantile_roc import quantile_roc
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.trust.functions import Identity, Step
from tests.privacy.test_everything_is_charged import CHARGED
from tests.project.own_mechanism import EachCell
from tests.project.public_rooms import callables

RNG, N = np.random.default_rng, 40
GRID, UNEVEN = dp.Grid.uniform(0, 1, 8), dp.Grid([0.1, 0.25, 0.5, 0.75, 0.9, 1.0], lower=0)
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))
TIMES = dp.Grid.uniform("2024-01-01", "2024-03-01", 6)
INSTANTS = dp.Grid.uniform("2024-01-01T00:00Z", "2024-03-01T00:00Z", 6)
DAY = dt.timedelta(days=1)
DURATIONS = dp.Grid.uniform(dt.timedelta(0), 60 * DAY, 6)
SCORES = RNG(3).random(N).round(3).tolist()
ONES, IDS = [0, 1, 1, 0] * (N // 4), range(N)
BUDGET, TWO = {"epsilon": 2.0}, {"groups": [0, 1]}
ONE_OF_EACH = trust.Central(2.0, records=1)


class Call(NamedTuple):
    """A public call, and the kinds of its columns of records, in the order of its arguments."""

    function: object
    kinds: str


def rows(*columns):
    """Return a table of some columns, in the container of the first."""
    if isinstance(columns[0], list | tuple):
        return type(columns[0])(map(list, zip(*columns, strict=True)))
    if isinstance(columns[0], pd.Series):
        return pd.DataFrame(dict(enumerate(columns)))
    table = np.empty((N, len(columns)), object)
    for at, column in enumerate(columns):
        table[:, at] = objects(column)
    return table


def fitted(model, one, y, rng):
    fit = model(2.0, x_bounds=([0], [1]), rng=rng).fit(rows(one), y)
    return {name: value for name, value in vars(fit).items() if name != "rng"}


def added(stream, *columns, grid=GRID, rng, **options):
    return stream(grid, 4, epsilon=2.0, rng=rng).add(*columns, **options)


def summed(function, *columns, rng):
    given = columns[0] if len(columns) == 1 else rows(*columns)
    return trust.vector_sum(given, function, ONE_OF_EACH, rng=rng)


def of_clients(function, *columns, rng):
    how = {"clients": N, "isotonic": False, "rng": rng}
    return function(IDS, *columns, GRID, ONE_OF_EACH, **how)


CALLS = {
    "cdf": Call(partial(dp.cdf, grid=GRID, **BUDGET), "n"),
    "cdf, uneven cells": Call(
        partial(dp.cdf, grid=UNEVEN, neighbours="add-or-remove-one", **BUDGET), "n"
    ),
    "cdf, locally": Call(partial(dp.cdf, grid=GRID, mechanism=trust.Local(1.0, clients=N)), "n"),
    "cdf, by groups": Call(lambda v, by, **o: dp.cdf(v, GRID, by=by, **TWO, **BUDGET, **o), "nl"),
    "cdf, by text": Call(
        lambda v, by, **o: dp.cdf(v, GRID, by=by, groups=["a", "b"], **BUDGET, **o), "ns"
    ),
    "cdf, of times": Call(partial(dp.cdf, grid=TIMES, **BUDGET), "t"),
    "cdf, of instants": Call(partial(dp.cdf, grid=INSTANTS, **BUDGET), "i"),
    "cdf, of durations": Call(partial(dp.cdf, grid=DURATIONS, **BUDGET), "d"),
    "score_curves": Call(partial(dp.score_curves, grid=GRID, **BUDGET), "ln"),
    "score_curves, of text": Call(
        partial(dp.score_curves, grid=GRID, pos_label="a", **BUDGET), "sn"
    ),
    "score_curves, by groups": Call(
        lambda y, s, by, **o: dp.score_curves(y, s, GRID, by=by, **TWO, **BUDGET, **o), "lnl"
    ),
    "roc_curve": Call(partial(dp.roc_curve, **BUDGET), "ln"),
    "roc_curve, by groups": Call(
        lambda y, s, by, **o: dp.roc_curve(y, s, grid=GRID, by=by, **TWO, **BUDGET, **o), "lnl"
    ),
    "counts": Call(partial(dp.counts, categories=[0, 1], **BUDGET), "l"),
    "counts, of text": Call(partial(dp.counts, categories=["a", "b"], **BUDGET), "s"),
    "count": Call(partial(dp.count, **BUDGET), "n"),
    "mean": Call(partial(dp.mean, bounds=(0, 1), **BUDGET), "n"),
    "mean, of anybody": Call(
        partial(dp.mean, bounds=(0, 1), neighbours="add-or-remove-one", **BUDGET), "n"
    ),
    "classwise_calibration": Call(
        lambda y, a, b, **o: dp.classwise_calibration(y, rows(a, b), [0, 1], **BUDGET, **o), "lnn"
    ),
    "quantiles": Call(partial(dp.quantiles, probabilities=[0.2, 0.5], grid=GRID, **BUDGET), "n"),
    "bounds": Call(partial(dp.bounds, outside=5, **BUDGET), "n"),
    "symmetric_bounds": Call(partial(dp.symmetric_bounds, **BUDGET), "n"),
    "compact_bounds": Call(partial(dp.compact_bounds, unit=1.0, **BUDGET), "n"),
    "box_plot": Call(partial(dp.box_plot, grid=GRID, **BUDGET), "n"),
    "hosmer_lemeshow": Call(partial(dp.hosmer_lemeshow, groups=3, grid=GRID, **BUDGET), "ln"),
    "residual_plot": Call(partial(dp.residual_plot, **BUDGET), "nn"),
    "survival": Call(partial(dp.survival, grid=GRID, **BUDGET), "nl"),
    "survival, of durations": Call(partial(dp.survival, grid=DURATIONS, **BUDGET), "dl"),
    "survival, between bounds": Call(partial(dp.survival, grid=(0, 1), **BUDGET), "nl"),
    "survival, by groups": Call(
        lambda d, e, by, **o: dp.survival(d, e, GRID, by=by, **TWO, **BUDGET, **o), "nll"
    ),
    "cumulative_incidence": Call(
        partial(dp.cumulative_incidence, grid=GRID, kinds=[1], **BUDGET), "nl"
    ),
    "cumulative_incidence, by groups": Call(
        lambda d, e, by, **o: dp.cumulative_incidence(d, e, GRID, [1], by=by, **TWO, **BUDGET, **o),
        "nll",
    ),
    "survival_scores": Call(
        partial(dp.survival_scores, grid=GRID, score_grid=GRID, **BUDGET), "nln"
    ),
    "table": Call(partial(dp.table, grid=CELLS, **BUDGET), "nn"),
    "project": Call(partial(dp.project, lower=0, upper=1, delta=1e-6, **BUDGET), "n"),
    "score_curves_at_medians": Call(partial(score_curves_at_medians, **BUDGET), "ln"),
    "quantile_roc": Call(partial(quantile_roc, quantiles=4, branching=2, **BUDGET), "ln"),
    "smooth_roc_curve": Call(partial(smooth_roc_curve, **BUDGET), "ln"),
    "hosmer_lemeshow_by_groups": Call(partial(hosmer_lemeshow_by_groups, **BUDGET), "ln"),
    "recursive_medians": Call(partial(recursive_medians, grid=GRID, depth=2, **BUDGET), "n"),
    "priroc_fix": Call(partial(priroc_fix, **BUDGET), "ln"),
    "client_cdf": Call(partial(of_clients, trust.client_cdf), "n"),
    "client_score_curves": Call(partial(of_clients, trust.client_score_curves), "ln"),
    "vector_sum": Call(partial(summed, Identity(0, 1)), "n"),
    "vector_sum, of steps": Call(partial(summed, Step(0.5)), "n"),
    "vector_sum, of rows": Call(partial(summed, Identity(0, 1, at=1)), "nn"),
    "RunningCDF": Call(partial(added, streams.RunningCDF), "n"),
    "RunningCDF, of times": Call(partial(added, streams.RunningCDF, grid=TIMES), "t"),
    "RunningScores": Call(partial(added, streams.RunningScores), "ln"),
    "RunningCount": Call(lambda v, rng: streams.RunningCount(epsilon=2.0, rng=rng).extend(v), "w"),
    "LinearRegression": Call(
        partial(fitted, partial(models.LinearRegression, y_bounds=(0, 1))), "nn"
    ),
    "LogisticRegression": Call(partial(fitted, models.LogisticRegression), "nl"),
}
EXCEPTED = {
    "takes exact counts, of which the user has chosen the type": {
        "cdf_from_counts",
        "score_curves_from_counts",
        "survival_from_counts",
        "table_from_counts",
        "quantiles_from_counts",
        "project_sums",
        "PolynomialProjection.release_totals",
        "RecursiveMedians.choose",
        "Mechanism.release",
        "Mechanism.release_with_deviation",
        "Mechanism.release_rows",
        "Dawa.release_with_deviation",
        "AdaptiveQuantiles.release_from_sites",
        "Local.release",
        "Shuffled.release",
        "SquareWave.release",
        "SmoothS.release",
        "SmoothS.release_pairs",
        "UnaryEncoding.perturbed_totals",
        "UnaryEncoding.simulated_totals",
        "SubsetSelection.perturbed_totals",
        "SubsetSelection.simulated_totals",
        "SquareWaveEncoding.perturbed_totals",
        "SquareWaveEncoding.simulated_totals",
        "exponential_mechanism",
        "above_threshold",
    },
    "makes the private totals of what is released above": {
        "Grid.count",
        "TableGrid.count",
        "group_counts",
        "score_counts",
        "survival_counts",
        "polynomial_sums",
        "top_label",
    },
    "takes one client's own record, or checked ones": {
        "cell_of",
        "gen",
        "RunningCount.add",
        "SubsetSelection.perturb",
        "UnaryEncoding.perturb",
        *(
            f"{name}.values"
            for name in trust.functions.__all__
            if name != "Simplex" and name[0] in "CFGIOPRSTV"
        ),
    },
    "takes numbers that are public, or predicts for the caller": {
        "Grid.points",
        "Budget.label",
        "check_mechanism",
        "subsampled",
        "PolynomialProjection.error_bound",
        "BayesianBinning.predict",
        "HistogramBinning.predict",
        "IsotonicCalibration.predict",
        "LinearRegression.predict",
        "LogisticRegression.decision_function",
        "LogisticRegression.predict",
        "LogisticRegression.predict_log_proba",
        "LogisticRegression.predict_proba",
    },
    "writes a query, and reads no record": {"sql"},
    "reads as priroc_fix does, and is slow": {"priroc"},
}
COLUMNS = {
    *("values", "by", "y_true", "y_score", "y_prob", "durations", "event", "scores", "predicted"),
    *("residuals", "x", "y", "X", "records", "increment", "increments", "score", "label"),
}

# --- groups of records that are equal in all that counts

LONG, AFTER = np.longdouble, np.nextafter
FAR_LONG = [LONG(10) ** 400] if np.finfo(LONG).maxexp > 1024 else []  # not on all machines
FAR = (
    *(10**30, 1e30, Fraction(10**30), Decimal("1e30"), *FAR_LONG, 10**400, Fraction(10**400)),
    *(Decimal("1e400"), 1e308, 2**63, 2**70, np.inf, LONG(np.inf), np.float32(np.inf)),
    *(np.float16(np.inf), Decimal("Infinity"), np.array(2**70, object), np.array(np.inf)),
)
NUMBERS = (
    (
        *(0.5, Fraction(1, 2), Decimal("0.5"), np.float16(0.5), np.float32(0.5), LONG(0.5)),
        np.array(0.5),
    ),
    (1.0, 1, True, np.True_, np.int8(1), np.uint64(1), LONG(1), Fraction(1), np.array(True)),
    (0.0, 0, -0.0, False, np.float32(-0.0), Decimal("-0"), Fraction(0), np.array(0), LONG(-0.0)),
    (
        *(5e-324, Decimal("1e-400"), Fraction(1, 10**400), Decimal("1e-999999")),
        *(1 / one for one in FAR_LONG),
    ),
    (AFTER(0.5, 1), Fraction(1, 2) + Fraction(1, 10**40), Decimal("0.5000000000000000000001")),
    (*FAR, 2**64 - 1, np.uint64(2**64 - 1)),
    (*(-value for value in FAR), np.int64(-(2**63))),
)
NAN = (
    *(np.nan, None, Decimal("nan"), Decimal("snan"), np.float32("nan"), LONG("nan"), pd.NA, pd.NaT),
    *(np.ma.masked, np.array(np.nan), np.array(None)),
)
LABELS = (
    (
        *(1, 1.0, True, np.True_, np.int8(1), np.uint64(1), LONG(1), Fraction(1), Decimal(1)),
        np.array(1),
    ),
    (0, 0.0, -0.0, False, np.False_, np.float32(-0.0), Decimal("-0"), Fraction(0), np.array(0)),
    (7, 0.5, 2**70, np.uint64(2**64 - 1), np.inf, Fraction(1, 3), Decimal("1e999"), 1 + 1e-15),
)
STRINGS = (
    ("a", np.str_("a"), np.array("a"), np.array("a", object)),
    ("zz", "a\0", "", "a" * 999, np.str_("q"), "a ", "\ud800", "A", "é"),
)
DAY_64, HOUR = np.datetime64("2024-01-12"), dt.timedelta(hours=1)
MOMENTS = (
    (
        *(dt.date(2024, 1, 12), dt.datetime(2024, 1, 12, 12), DAY_64, DAY_64.astype("M8[ns]")),
        *(DAY_64 + np.timedelta64(1, "ns"), pd.Timestamp(2024, 1, 12), np.array(DAY_64)),
    ),
    (
        *(dt.date.max, dt.datetime.max, np.datetime64(2**61, "D"), np.datetime64(2**62, "Y")),
        *(np.datetime64("3000", "M"), np.datetime64(2**62, "us"), pd.Timestamp.max),
    ),
    (dt.date.min, dt.datetime.min, np.datetime64(-(2**61), "D"), np.datetime64(-(2**62), "Y")),
)
ZONE, NOON = dt.timezone(5 * HOUR + HOUR / 2), dt.datetime(2024, 1, 12, 12, tzinfo=dt.UTC)
POINTS = (
    (
        *(NOON, NOON.astimezone(ZONE), pd.Timestamp(NOON)),
        pd.Timestamp(NOON).tz_convert("Europe/Berlin"),
    ),
)
SPANS = (
    (12 * DAY, np.timedelta64(12, "D"), np.timedelta64(288, "h"), pd.Timedelta(days=12)),
    (dt.timedelta.max, np.timedelta64(2**62, "D"), np.timedelta64(2**62, "s"), pd.Timedelta.max),
)
WHOLE = ((1, np.int8(1), np.uint64(1), np.int64(1)), (5, np.uint8(5)))
MISSING = (None, pd.NaT, np.ma.masked, pd.NA)
NO_TIME = (np.datetime64("NaT"), np.datetime64("NaT", "ns"))

KINDS = {
    "n": (SCORES, NUMBERS, NAN),
    "l": (ONES, LABELS, NAN),
    "s": (["a", "b"] * (N // 2), STRINGS, (np.nan, None, pd.NA, np.float32("nan"), np.ma.masked)),
    "t": ([dt.date(2024, 1, 2), dt.date(2024, 2, 2)] * (N // 2), MOMENTS, (*MISSING, *NO_TIME)),
    "i": ([NOON - 9 * DAY, NOON + 9 * DAY] * (N // 2), POINTS, MISSING),
    "d": ([2 * DAY, 33 * DAY] * (N // 2), SPANS, (*MISSING, np.timedelta64("NaT", "s"))),
    "w": ([0, 2, 3, 1] * (N // 4), WHOLE, ()),
}


def objects(values):
    found = np.empty(len(values), object)
    for at, value in enumerate(values):
        found[at] = value
    return found


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "objects": objects,
    "objects, not contiguous": lambda v: objects([*v, *v])[::-1][:N][::-1],
    "masked objects": lambda v: np.ma.array(objects(v), mask=[False] * len(v)),
    "pandas": lambda v: pd.Series(list(v)),
    "pandas objects": lambda v: pd.Series(objects(v)),
    "pandas, converted": lambda v: pd.Series(objects(v)).convert_dtypes(),
    "pandas, by Arrow": lambda v: pd.Series(objects(v)).convert_dtypes(dtype_backend="pyarrow"),
    "a pandas index": lambda v: pd.Index(list(v)),
    "an array of pandas": lambda v: pd.array(list(v)),
    "categories": lambda v: pd.Series(list(v)).astype("category"),
}
ROWS = ("classwise_calibration", "vector_sum, of rows", "LinearRegression", "LogisticRegression")
WITHOUT_POLICY = {
    *("count", "client_cdf", "client_score_curves", "vector_sum", "RunningCount"),
    *("LinearRegression", "LogisticRegression", "cdf, locally"),
}
INCREMENTS = "RunningCount"  # of objects they are refused, as one record does not choose it


def held(container, values, call):
    """Return records in a container; None if it cannot hold them, or rounds or wraps them."""
    one_by_one = not container.startswith(("pandas", "a pandas", "an array", "categories"))
    if not one_by_one and any(isinstance(value, np.ndarray | LONG) for value in values):
        return None
    if call in ROWS and container not in ("list", "objects", "pandas", "pandas objects"):
        return None
    if call == INCREMENTS and container not in ("list", "tuple"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CONTAINERS[container](values)
    except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
        return None


def budget_of(call):
    relation = "replace-client" if call.startswith("client") else "replace-one"
    return dp.Budget(99.0, delta=0.1, neighbours=relation)


def shown(call, columns, **options):
    """All that a release shows, with the same noise each time; also warnings, charges, errors."""
    with warnings.catch_warnings(record=True) as warned, budget_of(call) as budget:
        warnings.simplefilter("always")
        try:
            found = CALLS[call].function(*columns, rng=RNG(1), **options)
        except (dp.DpcoreError, TypeError, ValueError) as error:
            found = f"{type(error).__name__}: {error}"
    stored = [found.to_json()] if hasattr(found, "to_json") else []
    charged = [repr((charge.privacy, charge.what)) for charge in budget.log]
    told = [str(one.message) for one in warned]
    return [repr(found), *stored, *charged, *told, pickle.dumps(found)]


def base(call):
    return [list(KINDS[kind][0]) for kind in CALLS[call].kinds]


# Beside these, one float chooses NumPy's type for all; and they are equal to others.
OTHERS = {"n": ONES, "l": [one == 1 for one in ONES]}
WHOLE_FLOATS = {"n": list(map(float, ONES)), "l": list(map(float, ONES))}


def with_one(call, at, place, value, others=None):
    """Return the records with one replaced, perhaps beside others than the usual ones."""
    columns = base(call)
    columns[at] = [*others] if others else columns[at]
    columns[at][place] = value
    return columns


TURNS = [(call, (turn + at) % 12) for at, call in enumerate(CALLS) for turn in range(12)]


@pytest.mark.sample(len(CALLS))
@pytest.mark.parametrize(("call", "turn"), TURNS)
def test_equal_records_of_any_type_in_any_container_give_one_release(call, turn, request):
    container, place = list(CONTAINERS)[turn], (0, N // 2, N - 1)[turn % 3]
    some = slice(None) if request.config.getoption("--full") else slice(turn % 4, None, 4)
    omits = not {call, call.partition(",")[0]} & WITHOUT_POLICY
    for at, kind in enumerate(CALLS[call].kinds):
        _, groups, missing = KINDS[kind]
        for group in (*groups, *([missing] if omits else [])):
            policy = {"nan_policy": "omit"} if group is missing else {}
            if call in ROWS and group is missing:  # masked entries of rows are refused
                group = [value for value in group if value is not np.ma.masked]
            plain = with_one(call, at, place, group[0], turn % 2 and WHOLE_FLOATS.get(kind))
            expected = shown(call, plain, **policy)
            assert "Error: " not in expected[0]
            for value in group[some]:
                columns = with_one(call, at, place, value, turn % 2 and OTHERS.get(kind))
                held_so = held(container, columns[at], call)
                if held_so is not None:
                    columns[at] = held_so
                    assert shown(call, columns, **policy) == expected, (at, repr(value), container)


# --- the same numbers, laid out in other ways


class Odd(np.ndarray):
    """Its methods are not asked, because dpcore reads what lies in memory."""

    def __array_ufunc__(self, *_, **__):
        raise AssertionError

    __array_function__ = __getitem__ = astype = __array_ufunc__


def unaligned(values):
    plain = np.array(values)
    return np.frombuffer(b"x" + plain.tobytes(), np.uint8)[1:].view(plain.dtype)


def read_only(values):
    plain = np.array(values)
    plain.setflags(write=False)
    return plain


LAYOUTS = {
    "the other byte order": lambda v: np.array(v).astype(np.array(v).dtype.newbyteorder()),
    "read-only": read_only,
    "negative strides": lambda v: np.array(v[::-1])[::-1],
    "strides": lambda v: np.repeat(np.array(v), 3)[::3],
    "unaligned": unaligned,
    "a field": lambda v: np.rec.fromarrays([v, v], names="a,b")["a"],
    "a column of a matrix": lambda v: np.array([v, v]).T[:, 0],
    "a memory view": lambda v: memoryview(np.array(v)),
    "an array of Python": lambda v: array.array("d" if isinstance(v[0], float) else "q", v),
    "a subclass": lambda v: np.array(v).view(Odd),
    "long doubles": lambda v: np.array(v, LONG),
    "polars": pl.Series,
    "chunks of polars": lambda v: pl.Series(v[:3]).append(pl.Series(v[3:])),
    "Arrow": pa.array,
    "chunks of Arrow": lambda v: pa.chunked_array([pa.array(v[:3]), pa.array(v[3:])]),
    "a slice of Arrow": lambda v: pa.array([v[0], *v, v[1]])[1:-1],
    "a dictionary": lambda v: pa.array(v).dictionary_encode(),
    "runs": lambda v: pc.run_end_encode(pa.array(v)),
    "sparse": lambda v: pd.Series(pd.arrays.SparseArray(v)),
    "nullable": lambda v: pd.Series(v, dtype="Float64" if isinstance(v[0], float) else "Int64"),
}


@pytest.mark.parametrize("call", [name for name in CALLS if name not in ROWS])
def test_numbers_in_any_layout_give_one_release(call):
    """Typed columns of integers state that they are such; nothing else of a layout shows."""
    expected = unstated(shown(call, base(call)))
    for at, kind in enumerate(CALLS[call].kinds):
        if kind in "nl":
            for name in list(LAYOUTS)[at :: len(CALLS[call].kinds)]:
                columns = base(call)
                columns[at] = LAYOUTS[name](columns[at])
                assert unstated(shown(call, columns)) == expected, (at, name)


def unstated(texts):
    return [re.sub(r'"integers": ?(true|null)', "", text) for text in texts[:-1]]


# --- what a mechanism sees of a record


def noted(monkeypatch):
    """Note the counts that a mechanism sees."""
    seen = []

    def noting(self, counts, out, stream):
        seen.append(counts.copy())
        out[...] = np.cumsum(counts, axis=-1)

    monkeypatch.setattr(EachCell, "_fill", noting)
    return seen


COUNTED = {
    "cdf": {"grid": GRID},
    "score_curves": {"grid": GRID},
    "roc_curve": {"grid": GRID},
    "hosmer_lemeshow": {"grid": GRID},
    "survival": {"grid": GRID},
    "cumulative_incidence": {"grid": GRID, "kinds": [1]},
    "survival_scores": {"grid": GRID, "score_grid": GRID},
    "table": {"grid": CELLS},
}


@pytest.mark.parametrize("call", COUNTED)
def test_a_replaced_record_changes_two_counts_by_one(call, monkeypatch):
    for at, kind in enumerate(CALLS[call].kinds):
        for turn, value in enumerate(one for group in KINDS[kind][1] for one in group[:2]):
            columns = with_one(call, at, (0, N // 2, N - 1)[turn % 3], value)
            change = changed(call, columns, "replace-one", monkeypatch)
            assert change.max() <= 1, (at, repr(value))
            assert change.sum() in (0, 2), (at, repr(value))


@pytest.mark.parametrize("call", ["cdf", "table"])
def test_an_added_record_changes_one_count_by_one(call, monkeypatch):
    for at, kind in enumerate(CALLS[call].kinds):
        for value in (one for group in KINDS[kind][1] for one in group[:2]):
            for place in (0, N // 2, N):
                columns = base(call)
                for own, column in enumerate(columns):
                    column.insert(place, value if own == at else column[0])
                change = changed(call, columns, "add-or-remove-one", monkeypatch)
                assert change.sum() == 1, (at, place, repr(value))


def changed(call, columns, relation, monkeypatch):
    """Return how much the counts that a mechanism sees differ from those of the base."""
    given = COUNTED[call] | {"mechanism": EachCell(2.0, relation)}
    seen = noted(monkeypatch)
    for each in (columns, base(call)):
        getattr(dp, call)(*each, **given, rng=RNG(1))
    one, other = [counts for counts in seen if counts.any()]  # simulated noise is of no records
    return np.abs(one - other)


NOISE_ADDED = {
    "counts": (lambda found: found.values, 2),
    "mean": (lambda found: found.totals[0] / 2**found.bits, 1),
    "client_cdf": (lambda found: np.diff(found.counts, prepend=0), 2),
    "vector_sum": (lambda found: found.total, 1),
    "vector_sum, of steps": (lambda found: found.total, 1),
    "vector_sum, of rows": (lambda found: found.total, 1),
    "RunningCount": (lambda found: found[0], 5),
}


@pytest.mark.parametrize("call", NOISE_ADDED)
def test_a_record_changes_as_much_of_a_sum_as_the_proof_says(call):
    """The noise is the same, so that the difference is that of the exact sums."""
    read, sensitivity = NOISE_ADDED[call]
    function = CALLS[call].function
    before = np.asarray(read(function(*base(call), rng=RNG(1))), float)
    for at, kind in enumerate(CALLS[call].kinds):
        for value in [one for group in KINDS[kind][1] for one in group[:2]]:
            columns = with_one(call, at, 0, value)
            change = np.asarray(read(function(*columns, rng=RNG(1))), float) - before
            assert np.abs(change).sum() <= sensitivity + 1e-6, (at, repr(value))


# --- records that are refused

SECRET = "S3CRET"


class Loud:
    """Whatever one asks of it, its error quotes it."""

    def __init__(self, secret):
        self.secret = secret

    def told(self, *_, **__):
        raise ValueError(self.secret)

    __array__ = __float__ = __index__ = __eq__ = __len__ = __iter__ = __repr__ = __bool__ = told
    __hash__ = None


REFUSED = {
    "text": str,
    "bytes": lambda secret: secret.encode() + b"\xff",
    "a list": lambda secret: [secret],
    "a pair": lambda secret: (secret, 1),
    "a mapping": lambda secret: {secret: 1},
    "an array": lambda secret: np.array([secret] * 2),
    "a buffer": lambda secret: memoryview(secret.encode()),
    "a complex number": lambda secret: complex(0, len(secret)),
    "a column": lambda secret: pd.Series([secret]),
    "a column of polars": lambda secret: pl.Series(secret, [1]),
    "a value of Arrow": pa.scalar,
    "fields": lambda secret: np.array([(secret, 1)], dtype="U9,i4"),
    "an error": ValueError,
    "an object": Loud,
    "a time": lambda secret: dt.datetime(2000 + len(secret), 1, 1),
}
BY_SCIKIT_LEARN = "LinearRegression", "LogisticRegression"


def told(call, columns):
    """Return what an error says and holds, with those that it follows; nothing is charged."""
    refusals = (TypeError, ValueError) if call in BY_SCIKIT_LEARN else dp.DpcoreError
    found, error = [], None
    with budget_of(call) as budget:
        try:
            CALLS[call].function(*columns, rng=RNG(1))
        except refusals as refused:
            error = refused
    assert error is None or budget.log == () or call.startswith("Running")
    while error is not None:
        found += [str(error), repr(error.args), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return found


@pytest.mark.parametrize("call", CALLS)
def test_refusals_hold_no_record_and_depend_on_its_type_alone(call):
    for at in range(len(CALLS[call].kinds)):
        for turn, (name, make) in enumerate(REFUSED.items()):
            if name == "an object" and call in BY_SCIKIT_LEARN:
                continue  # scikit-learn asks it
            both = []
            for secret in (SECRET, SECRET[::-1]):
                columns = with_one(call, at, N // 2, make(secret))
                container = ("list", "objects", "pandas objects")[(turn + at) % 3]
                if (so := held(container, columns[at], call)) is not None:
                    columns[at] = so
                both.append(told(call, columns))
            assert both[0] == both[1], (at, name)
            assert SECRET not in "".join(both[0])


# --- what a release keeps


def reached(found):
    """Return all objects that one can reach from a release, without code."""
    apart = types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType
    todo, seen = [found], {id(found): found}
    while todo:
        new = [one for one in gc.get_referents(todo.pop()) if not isinstance(one, apart)]
        todo += [one for one in new if id(one) not in seen]
        seen |= {id(one): one for one in new}
    return seen.values()


@pytest.mark.parametrize("call", [name for name in CALLS if name not in (*ROWS, INCREMENTS)])
def test_a_release_holds_neither_records_nor_generators(call):
    columns = [np.array(column) for column in base(call)]
    for one in reached(CALLS[call].function(*columns, rng=RNG(1))):
        assert not isinstance(one, np.random.Generator | np.random.BitGenerator)
        if isinstance(one, np.ndarray):
            assert not any(np.shares_memory(one, column) for column in columns)


def shape_of(found):
    """Return what a release says beside its numbers, and of which kinds its arrays are."""
    text = found.to_json() if hasattr(found, "to_json") else repr(type(found))
    text = re.sub(r"-?\d[\d.]*(e[+-]?\d+)?|NaN|-?Infinity", "0", text)
    text = re.sub(r"(\[?0\]?,? ?)+", "0", text)  # released numbers say how many buckets there are
    arrays = [one for one in reached(found) if isinstance(one, np.ndarray)]
    kinds = {(one.dtype.str, one.ndim, one.flags.writeable) for one in arrays}
    return type(found), text, sorted(kinds)


@pytest.mark.parametrize("call", CALLS)
def test_neighbours_releases_differ_in_their_numbers_alone(call):
    expected = shape_of(CALLS[call].function(*base(call), rng=RNG(1)))
    for at, kind in enumerate(CALLS[call].kinds):
        for value, *_ in KINDS[kind][1]:
            found = CALLS[call].function(*with_one(call, at, 0, value), rng=RNG(1))
            assert shape_of(found) == expected, (at, repr(value))


# --- files of the command line

ON_GRID = ["--lower", "0", "--upper", "1", "--size", "8"]
UNTIL = ["--event", "y", "--upper", "1", "--size", "8"]
COMMANDS = {
    "cdf": ["--column", "x", *ON_GRID, "--mechanism", "dyadic"],
    "cdf, by groups": ["--column", "x", *ON_GRID, "--by", "by", "--groups", "a,b"],
    "roc": ["--label", "y", "--score", "x", *ON_GRID],
    "survival": ["--duration", "x", *UNTIL],
    "incidence": ["--duration", "x", "--kinds", "1", *UNTIL],
}  # calibration and hosmer-lemeshow read as roc does, and simulate for seconds
SPELT = {
    "x": (
        ("0.5", "5e-1", ".5", "+0.5", " 0.5", '"0.5"'),
        ("1e308", "inf", "1e999", "2", "9" * 30, "Infinity"),
        ("-1", "-inf", "-1e999"),
        ("0", "-0", "0.0", "1e-999"),
        ("", "NaN", "null"),
        ("abc", "0x1p3", "True", "2024-01-01"),
    ),
    "y": (
        ("1", "1.0", "true", "TRUE", "1e0", "01"),
        ("0", "0.0", "false", "-0"),
        ("7", "0.5", "1e999", "inf"),
        ("", "NaN"),
        ("abc", "yes"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_equal_cells_of_a_file_give_one_output(name, tmp_path, monkeypatch, capsys):
    """The budget is so large that there is no noise."""
    monkeypatch.chdir(tmp_path)
    command = [name.partition(",")[0], "t.csv", *COMMANDS[name], "--epsilon", "1e6"]
    columns = {"x": SCORES, "y": ONES, "by": ["a", "b"] * (N // 2)}
    outputs = []
    for column in {"x", "y"} & set(command):
        for group in SPELT[column]:
            said = set()
            for text in group:
                given = columns | {column: [*columns[column][:-1], text]}
                rows = [",".join(map(str, row)) for row in zip(*given.values(), strict=True)]
                Path("t.csv").write_text("\n".join(["x,y,by", *rows]))
                said.add((cli.main(command), *capsys.readouterr()))
            assert len(said) == 1, group
            outputs += said
    assert {code for code, *_ in outputs} == {0, 2}


# --- what is tried


def test_every_public_call_that_takes_records_is_tried():
    tried = {name.partition(",")[0] for name in CALLS}
    excepted = set().union(*EXCEPTED.values())
    assert not tried & excepted
    releases = {name.partition(",")[0] for name in CHARGED}
    of_records = {
        function.__qualname__
        for function in callables().values()
        if not inspect.isclass(function) and COLUMNS & set(inspect.signature(function).parameters)
    }
    methods = {f"{name}.{verb}" for name in tried for verb in ("add", "extend", "fit")}
    assert (releases | of_records) - excepted - tried - methods == set()
    assert excepted <= releases | of_records
