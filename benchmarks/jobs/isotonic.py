"""Isotonic regression of a raw curve. The floor is one pass over it."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

import dpcore as dp

from ..registry import Contender, Job

TOLERANCE = 1e-9


def raw_curve(cells: int) -> dp.CDF:
    rng = np.random.default_rng(1)
    counts = rng.poisson(3, cells)
    grid, mechanism = dp.Grid.uniform(0, 1, cells), dp.mechanisms.Dyadic(1.0)
    return dp.cdf_from_counts(counts, grid, mechanism, isotonic=False, rng=rng)


def sklearn(curve: dp.CDF):
    from sklearn.isotonic import isotonic_regression

    counts = curve.counts.astype(float)
    return lambda: isotonic_regression(counts, y_min=0, y_max=curve.n)


def disagreements(curve: dp.CDF, outcomes):
    expected = np.clip(isotonic_regression(curve.counts).x, 0, curve.n)
    off = {name: np.abs(counts - expected).max() for name, counts in outcomes.items()}
    return {name: f"off by {o:g} counts" for name, o in off.items() if o > TOLERANCE * curve.n}


JOBS = (
    Job(
        name="isotonic",
        title="Isotonic regression of a raw curve",
        unit="cells",
        sizes=(2**15, 2**20),
        quick=(2**15,),
        small=2**8,
        memory=2**20,
        make=raw_curve,
        outcome=lambda curve, answer: np.clip(answer, 0, curve.n),
        disagreements=disagreements,
        agreement=f"counts, clipped to [0, n], differ from SciPy's by at most {TOLERANCE:g} n",
        contenders=(
            Contender("dpcore", "ours", lambda c: lambda: c.isotonic().counts),
            Contender("SciPy", "numpy", lambda c: lambda: isotonic_regression(c.counts).x),
            Contender("scikit-learn", "peer", sklearn, "sklearn.isotonic"),
            Contender("memory pass", "floor", lambda c: lambda: np.maximum.accumulate(c.counts)),
        ),
    ),
)
