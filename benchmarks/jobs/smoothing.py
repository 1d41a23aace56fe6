"""Eq. 3 by our solvers and by general ones. The floor checks an answer: c + G nu, once.

Ours start from the noisy curve and return the smoothed one. The peers get finished matrices.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

import dpcore as dp
from dpcore.curves.smoothing import Solver

from ..registry import Contender, Job
from . import solvers
from .solvers import Instance

COST, FEASIBLE, CURVE = 1e-5, 1e-4, 1e-3


class Outcome(NamedTuple):
    cost: float
    violation: float  # the largest negative increment before the projection, in units
    curve: np.ndarray  # after it


def noise_tree(thresholds: int) -> sp.csc_matrix:
    """Return G: noise on thresholds a + 1, ..., b adds to increment a and takes from increment b.

    This follows the definition of the tree, so that no matrix of dpcore checks the answers. A few
    nodes at the ragged end cover the same thresholds. Each of them has its own column.
    """
    starts, ends = [], []
    for level in range((thresholds - 1).bit_length() + 1):
        first = np.arange(0, thresholds, 1 << level)
        starts.append(first)
        ends.append(np.minimum(first + (1 << level), thresholds))
    start, end = np.concatenate(starts), np.concatenate(ends)
    signs = np.repeat([1.0, -1.0], start.size)
    places = np.r_[start, end], np.tile(np.arange(start.size), 2)
    return sp.csc_matrix((signs, places), shape=(thresholds + 1, start.size))


def make(norm: int, epsilon: float):
    def instance(cells: int) -> Instance:
        rng = np.random.default_rng(1)
        counts = rng.poisson(3, cells)
        n = int(counts.sum())
        noisy = dp.mechanisms.Dyadic(epsilon).release(counts, rng=rng)[:-1]
        incidence = noise_tree(noisy.size)
        increments = np.diff(noisy, prepend=0, append=n).astype(float)
        unit = float(np.abs(increments).max())
        return Instance(noisy, n, norm, unit, increments / unit, incidence)

    return instance


def ours(solver: str):
    def start(instance: Instance):
        return lambda: dp.smooth(instance.noisy, instance.n, norm=instance.norm, solver=solver)

    return start


def check_of_an_answer(instance: Instance):
    flow = np.ones(instance.incidence.shape[1])
    return lambda: (instance.increments + instance.incidence @ flow).min()


def outcome(instance: Instance, answer) -> Outcome:
    if isinstance(answer, dp.Smoothing):
        violation = float(answer.primal_residual) / instance.unit
        return Outcome(float(answer.objective), violation, answer.cumulative)
    increments = instance.increments * instance.unit + instance.incidence @ answer
    curve = np.maximum.accumulate(np.clip(np.cumsum(increments)[:-1], 0, instance.n))
    cost = float(np.sum(np.abs(answer) ** instance.norm))
    return Outcome(cost, max(0.0, -increments.min()) / instance.unit, curve)


def disagreements(instance: Instance, outcomes):
    best = min(outcomes.values(), key=lambda found: found.violation)
    wrong = {}
    for name, found in outcomes.items():
        if not abs(found.cost - best.cost) <= COST * best.cost:
            wrong[name] = f"cost {found.cost:.9g}, not {best.cost:.9g}"
        elif not found.violation <= FEASIBLE:
            wrong[name] = f"an increment of {-found.violation:.3g} units"
        elif np.any(np.diff(found.curve, prepend=0, append=instance.n) < 0):
            wrong[name] = "not monotone within [0, n]"
        elif instance.norm == 2 and (
            not (off := np.abs(found.curve - best.curve).max()) <= CURVE * instance.unit
        ):
            wrong[name] = f"off by {off:.3g} counts, and the optimum is unique"
    return wrong


def own_solvers(norm: int) -> list[str]:
    """Return the solvers that ``dp.smooth`` accepts for a norm, its default first."""
    default = dp.smooth([0, 1], 1, norm=norm).solver
    accepted = [default]
    for name in get_args(Solver):
        try:
            dp.smooth([0, 1], 1, norm=norm, solver=name)
        except dp.ParameterError:
            continue
        accepted.append(name)
    return list(dict.fromkeys(accepted))


def contenders(norm: int, epsilon: float) -> tuple[Contender, ...]:
    limits = {"osqp": 2**18 if norm == 2 else 2**15 if epsilon == 1 else 2**12}
    mine = [
        Contender(f"dpcore, {name}", "ours", ours(name), largest=limits.get(name))
        for name in own_solvers(norm)
    ]
    if norm == 2:
        others = [
            Contender("PIQP", "peer", solvers.piqp, "piqp"),
            Contender("PIQP, dual", "peer", solvers.piqp_dual, "piqp"),
            Contender("Clarabel", "peer", solvers.clarabel, "clarabel", 2**15),
            Contender("cvxopt", "peer", solvers.cvxopt, "cvxopt", 2**15),
            Contender("OSQP, 1e-6", "peer", solvers.osqp(1e-6), "osqp", 2**15),
            Contender("HiGHS", "peer", solvers.highs_quadratic, "highspy", 2**10),
            Contender("SciPy L-BFGS-B, dual", "numpy", solvers.scipy_lbfgsb, None, 2**12),
        ]
    else:
        others = [
            Contender("PIQP", "peer", solvers.piqp, "piqp"),
            Contender("PIQP, dual", "peer", solvers.piqp_dual, "piqp"),
            Contender("Clarabel", "peer", solvers.clarabel, "clarabel", 2**15),
            Contender("cvxopt, 1e-6", "peer", solvers.cvxopt, "cvxopt", 2**15),
            Contender("OSQP, 1e-6", "peer", solvers.osqp(1e-6), "osqp", 2**12),
            Contender("HiGHS (SciPy), simplex", "peer", solvers.highs("highs-ds"), None, 2**15),
            Contender("HiGHS (SciPy), interior", "peer", solvers.highs("highs-ipm"), None, 2**15),
        ]
    floor = Contender("check of an answer, c + G nu", "floor", check_of_an_answer)
    return (*mine, *others, floor)


def agreement(norm: int) -> str:
    text = f"costs within {COST:g} (relative), increments above -{FEASIBLE:g} units"
    if norm == 2:
        text += f", curves within {CURVE:g} units"
    return f"{text}; the unit is the largest increment put in"


JOBS = tuple(
    Job(
        name=f"smooth-{norm}" + ("" if epsilon == 1 else "-noisy"),
        title=f"Smoothing (Eq. 3), norm {norm}, epsilon = {epsilon:g}",
        unit="cells",
        sizes=(2**10, 2**12, 2**15, 2**18, 2**20) if epsilon == 1 else (2**15,),
        quick=(2**10, 2**12, 2**15) if epsilon == 1 else (2**12,),
        small=2**8,
        memory=2**15,
        make=make(norm, epsilon),
        outcome=outcome,
        disagreements=disagreements,
        agreement=agreement(norm),
        contenders=contenders(norm, epsilon),
    )
    for epsilon in (1.0, 0.02)
    for norm in (2, 1)
)
