"""Smoothing straight from its definition, and distances between step functions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog, nnls

from .mechanisms import tree_matrix

# --- smoothing, straight from Eq. 3: one nu for every node, one constraint for every pair


def smoothing_constraints(cumulative, n, base, at):
    """A nu >= b: the corrected curve starts at 0 or more, never decreases, ends at n or less."""
    z = tree_matrix(len(cumulative), base)[at]
    curve = np.asarray(cumulative, float)[at]
    a = np.vstack([z[0], np.diff(z, axis=0), -z[-1]])
    return a, np.r_[-curve[0], -np.diff(curve), curve[-1] - n]


def smooth_objective(cumulative, n, norm, base, at, constraints=None):
    """The least sum of |nu|^norm: least distance programming for 2, linear programming for 1.

    ``constraints`` are (A, lower, upper), dense: lower <= A F <= upper for the corrected curve F.
    """
    a, b = smoothing_constraints(cumulative, n, base, at)
    if constraints is not None:
        matrix, lower, upper = (np.asarray(part, float) for part in constraints)
        reach = matrix @ tree_matrix(len(cumulative), base)[at]
        now = matrix @ np.asarray(cumulative, float)[at]
        for sign, bounds in ((1, lower), (-1, upper)):
            some = np.isfinite(bounds)
            a = np.vstack([a, sign * reach[some]])
            b = np.r_[b, sign * (bounds - now)[some]]
    count = a.shape[1]
    if norm == 1:
        found = linprog(np.ones(2 * count), A_ub=np.hstack([-a, a]), b_ub=-b, bounds=(0, None))
        assert found.status == 0
        return found.fun
    # Lawson & Hanson (1974), chapter 23: min |nu| s.t. A nu >= b by non-negative least squares
    unit = max(1.0, np.abs(b).max())
    u, _ = nnls(np.vstack([a.T, b / unit]), np.r_[np.zeros(count), 1.0], maxiter=100 * count)
    r = np.vstack([a.T, b / unit]) @ u - np.r_[np.zeros(count), 1.0]
    return float(np.sum((-r[:count] / r[count] * unit) ** 2))


# --- distances between step functions


def step_distances(first, second):
    """Supremum, area, and energy distance squared, exactly, of F - G.

    F and G are functions on exact fractions that jump at some points, and agree beyond them all:
    each argument is (function, points).
    """
    (f, ours), (g, theirs) = first, second
    points = sorted({Fraction(t) for t in [*ours, *theirs]})
    apart = [abs(f(t) - g(t)) for t in points]
    widths = [points[i + 1] - points[i] for i in range(len(points) - 1)]
    inner = list(zip(apart, widths, strict=False))
    area, square = sum(d * w for d, w in inner), 2 * sum(d * d * w for d, w in inner)
    return max(apart), Fraction(area), Fraction(square)


def empirical(sample):
    """The empirical distribution function of a sample, and where it jumps."""
    exact = [Fraction(x) for x in sample]
    return (lambda t: Fraction(sum(x <= t for x in exact), len(exact))), exact


def curve_steps(curve):
    """What a curve is evaluated to, in fractions, and where it jumps."""
    thresholds = [Fraction(t) for t in curve.thresholds.tolist()]
    levels = [Fraction(c) / curve.n for c in curve.counts.tolist()]

    def level(t):
        passed = sum(tau <= t for tau in thresholds)
        return levels[passed - 1] if passed else Fraction(0)

    return level, thresholds
