"""Shared by figures of the ECDF paper: data, the published mechanism, and styles of lines."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import dpcore as dp
from dpcore.mechanisms import Dyadic

from ._figure import BLUE, GREEN, GREY, VERMILION

__all__ = [
    "RUNS",
    "SIZE",
    "banded",
    "effects_of_smoothing",
    "falls",
    "legend",
    "numbers",
]

RUNS: Final = 100  # "unless stated otherwise" (section 6.1)
SIZE: Final = 2**15  # N of the synthetic data (section 6.2)
STYLES: Final = {  # colour, marker and dashes of a line
    "norm 1": (VERMILION, "s", "--"),
    "norm 2": (VERMILION, "o", "-"),
    "ours": (BLUE, "^", "-"),
    "norm 1, unbounded": (GREY, "s", ":"),
    "norm 2, unbounded": (GREEN, "D", ":"),
    "raw": (GREY, "v", "-"),
}


def banded(
    axes: Any, x: Any, values: Any, style: str, label: str, middle: Callable[..., Any] = np.mean
) -> None:
    """Draw means of (..., replicates) as a line, and a band that holds 90 % of the values."""
    colour, marker, dashes = STYLES[style]
    low, high = np.quantile(values, (0.05, 0.95), axis=-1)
    line = middle(values, axis=-1)
    axes.plot(x, line, dashes, color=colour, marker=marker, markersize=4, label=label)
    axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def falls(errors: Any) -> bool:
    """Return whether errors, (epsilons, replicates), fall from each epsilon to the next.

    The mean logarithm must fall from the first epsilon to the last. Between two epsilons it may
    rise by at most three standard errors.
    """
    logs = np.log(errors)
    mean, variance = logs.mean(axis=1), logs.var(axis=1, ddof=1) / logs.shape[1]
    allowed = 3 * np.sqrt(variance[1:] + variance[:-1])
    return bool((np.diff(mean) < allowed).all() and mean[-1] < mean[0])


def legend(axes: Any, line: str = "mean", **place: Any) -> None:
    """Draw a legend that names the lines and explains the band."""
    title = f"{line}; band: 90 % of the runs"
    axes.legend(frameon=False, fontsize=8, title=title, title_fontsize=8, **place)


def numbers(values: Any, digits: str = ".3g") -> str:
    """Return numbers as a list."""
    return ", ".join(format(float(value), digits) for value in values)


def effects_of_smoothing(
    size: int, rate: float, epsilon: float, rng: np.random.Generator
) -> Mapping[str, Any]:
    """Return squared errors on X_pois(rate), relative to that of the published curve.

    They are the errors after smoothing by Eq. 3, after smoothing by Eq. 3 without its bounds 0
    and n, and those of ``dp.cdf``.
    """
    counts = rng.poisson(rate, size)
    truth, n = np.cumsum(counts), int(counts.sum())
    raw = Dyadic(epsilon, sensitivity="paper").release(counts, rng=rng)
    far = 8.0 * float(np.abs(raw).max() + n)
    cells = dp.Grid(np.arange(1.0, size + 1))
    ours = dp.cdf_from_counts(counts, cells, epsilon=epsilon, rng=rng)
    curves = {"ours": ours.counts[:-1]}
    for norm in (1, 2):
        curves[f"norm {norm}"] = dp.smooth(raw[:-1], n, norm=norm, workers=1).cumulative
        shifted = dp.smooth(raw[:-1] + far, n + 2 * far, norm=norm, workers=1).cumulative
        curves[f"norm {norm}, unbounded"] = shifted - far
    before = _squares(raw[:-1], truth[:-1])
    return {name: _squares(curve, truth[:-1]) / before for name, curve in curves.items()}


def _squares(curve: Any, truth: Any) -> float:
    return float(np.sum((curve - truth) ** 2.0))
