"""Small uses of the public functions, which together call every kernel as users' calls do.

What ``dpcore warm`` runs. A test holds it beside all kernels, and beside what seeded releases call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

import dpcore as dp

from ..kernels.counting import rows
from ..papers import medians
from ..papers.median_finders import FINDERS
from ..papers.smooth_roc_curve import smooth_roc_curve

__all__ = ["USES"]

_GRID: Final = (0, 1, 40)
_MANY: Final = 40


def _values(dtype: Any = np.float64, writeable: bool = True) -> NDArray[Any]:
    """Return values in the forms that users have: writable arrays, and read-only views."""
    values: NDArray[Any] = (np.arange(_MANY) / _MANY).astype(dtype)
    values.flags.writeable = writeable
    return values


def _labels() -> NDArray[np.bool_]:
    labels: NDArray[np.bool_] = np.arange(_MANY) % 3 == 0
    return labels


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


def _uniform() -> Any:
    return dp.Grid.uniform(*_GRID)


def _searched() -> Any:
    return dp.Grid(np.array([0.1, 0.15, 0.4, 0.9, 1.0]))


def _counting() -> None:
    for grid in (_uniform(), _searched()):
        for dtype in (np.float64, np.float32, np.int64):
            for writeable in (True, False):
                values = _values(dtype, writeable)
                grid.count(values)
                dp.score_counts(_labels(), values, grid)


def _groups() -> None:
    number = np.arange(_MANY) % 4
    text = number.astype(str)
    for by in (number, number + 0.5, text, text.astype("S")):
        for grid in (_uniform(), _searched()):
            for values in (_values(), _values(writeable=False), _values(np.float32)):
                dp.cdf(values, grid, by=by, groups=by[:4].tolist(), epsilon=9.0)


def _mechanisms() -> Mapping[str, Callable[[], Any]]:
    made = dp.mechanisms
    return {
        "dyadic": lambda: made.Dyadic(epsilon=0.5),
        "dyadic, base 3": lambda: made.Dyadic(epsilon=0.5, base=3),
        "dyadic, rho": lambda: made.Dyadic(rho=0.5),
        "hierarchy": lambda: made.Hierarchy(epsilon=0.5),
        "hierarchy, rho": lambda: made.Hierarchy(rho=0.1, neighbours="add-or-remove-one"),
        "histogram": lambda: made.Histogram(epsilon=0.5),
        "square root": lambda: made.ToeplitzGaussian(rho=0.1),
        "dawa": lambda: made.Dawa(epsilon=0.5),
        "polynomial": lambda: made.PolynomialProjection(epsilon=0.5, delta=1e-6),
        "polynomial, moments": lambda: made.PolynomialProjection(
            epsilon=0.5, delta=1e-6, basis="moments", degree=4
        ),
        "queries": lambda: made.HistogramQueries(epsilon=0.5, delta=1e-6),
        "queries, lines": lambda: made.HistogramQueries(epsilon=0.5, delta=1e-6, between="linear"),
        "adaptive quantiles": lambda: made.AdaptiveQuantiles(epsilon=0.5, delta=1e-6),
        "distributed": lambda: dp.trust.DistributedNoise(epsilon=0.5, clients=_MANY, dropout=0.1),
        "functions": lambda: dp.trust.FunctionSharing(epsilon=0.5),
        "local": lambda: dp.trust.Local(2.0, _MANY),
        "shuffled": lambda: dp.trust.Shuffled(1.0, 1e-6, _MANY),
        "square wave": lambda: dp.trust.SquareWave(2.0, _MANY),
        "local, many cells": lambda: dp.trust.Local(5.0, _MANY),
    }


def _released(make: Callable[[], Any]) -> None:
    mechanism, counts = make(), _uniform().count(_values())
    mechanism.release(counts)
    mechanism.release(counts, rng=_rng(), replicates=2)


def _smoothed(norm: Literal[1, 2]) -> None:
    counts = _uniform().count(_values())
    for mechanism in (dp.mechanisms.Dyadic(epsilon=1.0), dp.mechanisms.Dyadic(epsilon=1.0, base=3)):
        curve = dp.cdf_from_counts(counts, _uniform(), mechanism, isotonic=False)
        curve.smooth(norm)


def _streams() -> None:
    count = dp.streams.RunningCount
    for counter in (
        count(20, epsilon=1.0),
        count(20, rho=1.0),
        count(20, rho=1.0, neighbours="add-or-remove-one"),
        count(20, dp.streams.DyadicTree(1.0)),
        count(20, epsilon=1.0, window=3),
        count(20, rho=1.0, window=3),
    ):
        counter.add(1)
        counter.extend([1, 0, 2])
        counter.noise_deviation()
    for mechanism in (dp.streams.ConsistentTree(1.0), dp.streams.BufferedToeplitz(rho=1.0)):
        dp.streams.RunningCDF(_uniform(), 20, mechanism).add([1.0])
        dp.streams.RunningScores(_uniform(), 20, mechanism, window=3).add([True], [1.0])


def _rungs() -> None:
    for dtype in (np.float64, np.float32):
        for writeable in (True, False):
            dp.symmetric_bounds(_values(dtype, writeable), epsilon=50.0)


def _residual_plot() -> None:
    for dtype in (np.float64, np.float32):
        values = _values(dtype)
        dp.residual_plot(values, values, epsilon=50.0)
        dp.residual_plot(values, values, epsilon=50.0, rng=_rng())


def _clients() -> None:
    names = np.arange(_MANY) // 3
    model = dp.trust.Central(epsilon=1.0, records=2)
    dp.trust.client_cdf(names, _values(), _uniform(), model, clients=20)
    dp.trust.client_cdf(names, _values(), _uniform(), model, clients=20, rng=_rng())
    dp.trust.client_cdf(names, _values(), _uniform(), dp.trust.Local(2.0, 20))


def _table() -> None:
    for grid in (_uniform(), _searched()):
        for dtype in (np.float64, np.float32, np.int64):
            for writeable in (True, False):
                values = _values(dtype, writeable)
                dp.table(values, values, dp.TableGrid(grid, grid), epsilon=0.5, rng=_rng())


def _medians() -> None:
    for method in FINDERS:
        medians.recursive_medians(_values(), _uniform(), epsilon=2.0, depth=2, method=method)
    medians.smooth_sensitivity(_values(), 0, 1, beta=0.1)


def _sums() -> None:
    bases: tuple[Literal["legendre", "moments"], ...] = ("legendre", "moments")
    for basis in bases:
        for dtype in (np.float64, np.float32):
            for writeable in (True, False):
                values = _values(dtype, writeable)
                dp.polynomial_sums(values, 0, 1, degree=3, basis=basis)
    made = dp.mechanisms.PolynomialProjection(epsilon=0.5, delta=1e-6)
    dp.cdf(_values(), _uniform(), made)


def _ranked() -> None:
    for dtype in (np.float64, np.float32, np.int64):
        for writeable in (True, False):
            smooth_roc_curve(_labels(), _values(dtype, writeable), epsilon=1.0)


def _files() -> None:
    # Only large files reach this kernel.
    rows.complete_rows(np.frombuffer(b"1,2\n3,4\n", np.uint8), ord(","))


def _comparisons() -> None:
    first, second = dp.trust.comparison.gen([1, 2, 40], bits=6)
    for keys in (first, second):
        dp.trust.comparison.evaluate(keys, [3, 50])
        dp.trust.comparison.evaluate_sum(keys)


def _draws() -> None:
    for rng in (None, _rng()):
        dp.noise.discrete_laplace(3, 5, rng=rng)
        dp.noise.discrete_laplace(2.5, 5000, rng=rng)
        dp.noise.discrete_gaussian(3, 5, rng=rng)
        dp.noise.discrete_gaussian(2.5, 5000, rng=rng)


USES: Final[Mapping[str, Callable[[], object]]] = {
    "cdf": lambda: dp.cdf(_values(), _uniform(), epsilon=1.0),
    "cdf, rho": lambda: dp.cdf(_values(), _uniform(), rho=0.5),
    "counting": _counting,
    "groups": _groups,
    "noise": _draws,
    "roc curve": lambda: dp.roc_curve(_labels(), _values(), epsilon=1.0).auc,
    "quantiles": lambda: dp.quantiles(
        _values(), [0.1, 0.5], _uniform(), epsilon=1.0, method="recursion"
    ),
    **{f"mechanism: {name}": partial(_released, make) for name, make in _mechanisms().items()},
    "smoothing, norm 1": lambda: _smoothed(1),
    "smoothing, norm 2": lambda: _smoothed(2),
    "running count": _streams,
    "bounds": lambda: dp.bounds(_values(), epsilon=50.0),
    "box plot": lambda: dp.box_plot(_values(), _uniform(), epsilon=1.0),
    "count": lambda: dp.count(_values(), epsilon=1.0),
    "counts": lambda: dp.counts(_labels(), [False, True], epsilon=1.0),
    "mean": lambda: dp.mean(_values(), (0, 1), epsilon=1.0),
    "classes": lambda: dp.classwise_calibration(
        _labels(), np.c_[1.0 - _values(), _values()], [False, True], epsilon=1.0
    ),
    "projection": lambda: dp.project(_values(), 0, 1, epsilon=1.0, delta=1e-6),
    "clients": _clients,
    "comparisons": _comparisons,
    "files": _files,
    "medians": _medians,
    "ranked pairs": _ranked,
    "rungs": _rungs,
    "residual plot": _residual_plot,
    "sums": _sums,
    "table": _table,
}
