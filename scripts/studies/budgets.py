"""How far a budget goes, by the accountant: ``python scripts/study.py budgets``.

Writes docs/measured/budgets.md and budgets.png: how many trees of five levels fit into a cap, and
what a number of them costs, beside other libraries. Takes two minutes. It needs dp-accounting,
opendp and diffprivlib: ``pip install`` them into .venv.
"""

import importlib
import sys
import types
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _pages import parts, save, table, write
from scipy.optimize import brentq
from scipy.stats import binom, norm

import dpcore as dp
from dpcore.privacy import composed, gaussian_delta

DELTA, SIZE, LEVELS = 1e-6, 32, 5
EPSILONS, NUMBERS = (1.0, 0.1), (1, 3, 10, 30, 100, 300)
CAPS = {1.0: (2, 5, 10, 20), 0.1: (0.5, 1, 2, 5)}
MOST = 4096
PEERS = {"dp_accounting": "dp-accounting", "opendp": "opendp", "diffprivlib": "diffprivlib"}


@cache
def tree(epsilon: float) -> dp.mechanisms.Hierarchy:
    """Return a tree over 32 cells, each of whose levels has the same share."""
    return dp.mechanisms.Hierarchy(epsilon, branching=2, budgets="equal")


def basic(epsilon: float, count: int) -> float:
    """Return the sum of epsilons."""
    return count * epsilon


def filtered(epsilon: float, count: int) -> float:
    """Return the least cap of a budget with zero-concentrated composition that holds them."""
    cost = count * tree(epsilon).privacy_for(SIZE)
    return cost.epsilon_at(DELTA)


def of_one_order(epsilon: float, count: int) -> float:
    """Return the least cap of a budget that adds up exact Renyi divergences of its best order.

    A draw that is shifted by one has two losses, each the other's negative.
    """
    x, each = np.geomspace(1e-3, 1e3, 100_001), epsilon / (2 * LEVELS)  # the order is 1 + x
    log_moment = np.logaddexp((1.0 + x) * each, -x * each) - np.logaddexp(each, 0.0)
    divergence = 2 * LEVELS * count * log_moment / x
    slack = np.log(x / (1.0 + x)) - (np.log(DELTA) + np.log1p(x)) / x
    return min(count * epsilon, float((divergence + slack).min()))


@cache
def gaussian_mu(epsilon: float) -> float:
    """Return the least mu such that a tree is mu-Gaussian differentially private.

    Its draws have two losses each, so it is as many randomized responses. Their trade-off function
    is linear between the tests that reject from k large losses on. A Gaussian one is convex, and so
    below it if it is below it there.
    """
    draws = 2 * LEVELS
    wrong, k = 1.0 / (1.0 + np.exp(epsilon / draws)), np.arange(1, draws + 1)
    false_alarms = binom.sf(k - 1, draws, wrong)
    missed = binom.cdf(k - 1, draws, 1.0 - wrong)
    return float((-norm.ppf(false_alarms) - norm.ppf(missed)).max())


def of_one_mu(epsilon: float, count: int) -> float:
    """Return the least cap of a budget that adds up squares of mu, and converts them exactly."""
    sigma = 1.0 / (gaussian_mu(epsilon) * np.sqrt(count))
    gaussian = brentq(lambda cap: np.log(gaussian_delta(sigma, cap) / DELTA), 0.0, 1000.0)
    return min(count * epsilon, float(gaussian))


def planned(epsilon: float, count: int) -> float:
    """Return what a plan costs that is fixed in advance."""
    joint = composed(count * [tree(epsilon).losses_for(SIZE)], DELTA).epsilon
    assert joint is not None
    return joint


@cache
def their_losses(epsilon: float) -> Any:
    """Return dp_accounting's losses of one draw, of which a tree has two on each level."""
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    return pld.from_discrete_laplace_mechanism(epsilon / (2 * LEVELS))


def of_dp_accounting(epsilon: float, count: int) -> float:
    """Return what Google's library tells of the same draws."""
    joint = their_losses(epsilon).self_compose(2 * LEVELS * count)
    return float(joint.get_epsilon_for_delta(DELTA))


def of_opendp(epsilon: float, count: int) -> float:
    """Return the smaller of OpenDP's two compositions of pure measurements."""
    opendp = importlib.import_module("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    changes = 2 * LEVELS
    one = opendp.m.make_laplace(*space, scale=changes / epsilon)
    pure = opendp.c.make_composition(count * [one]).map(changes)
    concentrated = opendp.c.make_composition(count * [opendp.c.make_pureDP_to_zCDP(one)])
    curve = opendp.c.make_zCDP_to_approxDP(concentrated).map(changes)
    return float(min(pure, curve.epsilon(DELTA)))


def of_diffprivlib(epsilon: float, count: int) -> float:
    """Return what the accountant of diffprivlib tells, with a slack of delta."""
    accountant = their_accountant()(slack=DELTA)
    for _ in range(count):
        accountant.spend(epsilon, 0)
    return float(accountant.total()[0])


@cache
def their_accountant() -> Any:
    """Return the class alone: the package as a whole asks for an older scikit-learn."""
    spec = find_spec("diffprivlib")
    assert spec is not None
    assert spec.origin is not None
    bare = types.ModuleType("diffprivlib")
    bare.__path__ = [str(Path(spec.origin).parent)]
    sys.modules["diffprivlib"] = bare
    return importlib.import_module("diffprivlib.accountant").BudgetAccountant


WAYS: dict[str, Callable[[float, int], float]] = {
    "basic composition": basic,
    "OpenDP": of_opendp,
    "diffprivlib": of_diffprivlib,
    "Tumult Analytics, by its rule": basic,
    "a budget, zero-concentrated": filtered,
    "one Renyi order, not offered": of_one_order,
    "Gaussian privacy, not offered": of_one_mu,
    "a fixed plan": planned,
    "dp_accounting, the same plan": of_dp_accounting,
}


def fitting(way: Callable[[float, int], float], epsilon: float, cap: float) -> int:
    """Return how many trees cost at most a cap: invariant: low fit, and high do not."""
    low, high = 0, 1
    while high <= MOST and way(epsilon, high) <= cap * (1 + 1e-12):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if way(epsilon, middle) <= cap * (1 + 1e-12) else (low, middle)
    return low


def main() -> None:
    """Compute, and write the page and its picture."""
    missing = [name for module, name in PEERS.items() if find_spec(module) is None]
    if missing:
        raise SystemExit(f"not installed in .venv: {', '.join(missing)}")
    versions = ", ".join(f"{name} {version(name)}" for name in PEERS.values())
    costs = {
        epsilon: {name: [way(epsilon, k) for k in NUMBERS] for name, way in WAYS.items()}
        for epsilon in EPSILONS
    }
    mus = ", ".join(f"{gaussian_mu(epsilon):.5f} for {epsilon:g}" for epsilon in EPSILONS)
    told = []
    for epsilon in EPSILONS:
        fit = [
            [name, *(f"{fitting(way, epsilon, cap):,}" for cap in CAPS[epsilon])]
            for name, way in WAYS.items()
        ]
        each = [[name, *(f"{cost:.4g}" for cost in row)] for name, row in costs[epsilon].items()]
        told += [
            f"## Trees of epsilon = {epsilon:g}",
            f"How many fit into a cap on epsilon at delta = {DELTA:g}:",
            table(["", *(f"epsilon = {cap:g}" for cap in CAPS[epsilon])], fit),
            "What a number of them costs:",
            table(["", *(f"{k} trees" if k > 1 else "1 tree" for k in NUMBERS)], each),
        ]
    write(
        "measured/budgets.md",
        parts(
            "# How far a budget goes",
            f"Each release is a tree over {SIZE} cells with {LEVELS} noisy levels of equal shares."
            f" A replaced record changes two counts on each level, so the release is {2 * LEVELS}"
            " draws of discrete Laplace noise that are shifted by one, and pure."
            f" `python scripts/study.py budgets` writes this page, with {versions}.",
            "![Epsilon against the number of trees](budgets.png)",
            *told,
            "A *budget* admits releases that are chosen by outputs of earlier ones; a *fixed plan*"
            " does not ([How costs add up](../guides/budget.md)). OpenDP composes the pure"
            " guarantees, or each of them as epsilon^2 / 2 of zCDP, and the smaller result is"
            " shown; diffprivlib has the bound of Kairouz, Oh & Viswanath (2015). Both know no"
            " more of a tree than its epsilon. Tumult Analytics was not run: its documentation says"
            " that a query's epsilon and delta are subtracted from the session's. *One Renyi order*"
            " is the least bound of a budget that would fix one before its first release. *Gaussian"
            " privacy* is a budget that would add up the squares of mu (Koskela, Tobaben & Honkela"
            " 2023): a tree is ten randomized responses, and its mu is the least whose"
            " trade-off function lies below theirs"
            f" ({mus}).",
        ),
    )
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
    for ax, epsilon in zip(panels, EPSILONS, strict=True):
        for place, (name, row) in enumerate(costs[epsilon].items()):
            style = "k--" if name.startswith("dp_accounting") else f"C{place}.-"
            ax.loglog(NUMBERS, row, style, label=name, alpha=0.8)
        ax.set_title(f"trees of epsilon = {epsilon:g}")
        ax.set_xlabel("number of releases")
        ax.set_ylabel(f"epsilon at delta = {DELTA:g}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    save(figure, "measured/budgets.png")
