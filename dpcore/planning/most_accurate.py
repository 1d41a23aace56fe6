"""The mechanism of a release if none is given: it is chosen quickly, from public numbers."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache
from typing import Final

from .. import _check
from ..errors import ParameterError
from ..mechanisms import Dawa, Dyadic, Hierarchy, Histogram, Mechanism, ToeplitzGaussian
from ..mechanisms.dawa import counting_error, signal_of
from ..privacy.allowance import Allowance
from ..summaries.grid import MOST_CELLS

__all__ = ["candidates", "data_aware", "error_of", "most_accurate", "pays", "rank"]

_FEW_CELLS: Final = 16  # with at most so many cells, buckets have few cells to join


def most_accurate(size: int, budget: Allowance, n: int | None = None) -> Mechanism:
    """Return the first option of ``dpcore.plan``, without computing the other options. Cached."""
    size = _check.integer("size", size, 1, MOST_CELLS)
    if n is not None:
        buckets = data_aware(size, budget, n)
        if buckets and pays(buckets, size, n):
            return buckets
    return _best(size, budget)


def data_aware(size: int, budget: Allowance, n: int) -> Dawa | None:
    """Return DAWA for the budget, with the kind of noise that counts its buckets best.

    Return None if there are few cells, if n is private, or if the budget is too small for two
    stages.
    """
    possible = _possible(size, budget)
    return min(possible, key=lambda dawa: counting_error(dawa, size, n), default=None)


def pays(buckets: Dawa, size: int, n: int) -> bool:
    """Return whether buckets are usually better for this number of records and their budget.

    This holds for n epsilon up to N^1.5. For rho it holds for n sqrt(8 rho) up to N / 4, since
    trees with Gaussian noise are better. The rule was measured (docs/measured/regret.md). n must be
    public, as it is where ``data_aware`` returns buckets.
    """
    most = size / 4 if buckets.rho is not None else float(size) ** 1.5
    return signal_of(buckets, n) <= most


@lru_cache(maxsize=256)
def _possible(size: int, budget: Allowance) -> tuple[Dawa, ...]:
    possible: list[Dawa] = []
    if size > _FEW_CELLS and budget.total_is_public:
        pure = budget.pure
        for dawa in (*([] if pure is None else [Dawa(**pure.arguments)]), Dawa(**budget.arguments)):
            with suppress(ParameterError):  # the budget is too small for two stages
                dawa.noise_deviation(size)
                possible.append(dawa)
    return tuple(possible)


@lru_cache(maxsize=256)
def _best(size: int, budget: Allowance) -> Mechanism:
    best: Mechanism | None = None
    least = math.inf
    refusal = None
    for mechanism in candidates(budget).values():
        try:
            if math.sqrt(mechanism.least_mean_squared_error(size)) >= least:
                continue
            mean = error_of(mechanism, size)
        except ParameterError as error:
            refusal = refusal or error
            continue
        if best is None or rank(mean) < rank(least):
            best, least = mechanism, mean
    if best is None:
        assert refusal is not None
        raise refusal
    return best


def candidates(budget: Allowance) -> dict[str, Mechanism]:
    """Return all mechanisms with their names. Of mechanisms with equal error, the first is taken.

    An epsilon-differentially private mechanism is also (epsilon, delta)-differentially private for
    any delta, and spends no delta. For rho, Laplace noise never wins (docs/measured/plan.md).
    """
    options = _of_one_kind(budget)
    if budget.pure is None:
        return options
    pure = _of_one_kind(budget.pure)
    return {f"{name}, delta = 0": mechanism for name, mechanism in pure.items()} | options


def _of_one_kind(budget: Allowance) -> dict[str, Mechanism]:
    """Return the mechanisms with Laplace noise, for epsilon alone, or with Gaussian noise."""
    common, is_gaussian = budget.arguments, budget.rho is not None
    mechanisms: dict[str, Mechanism] = {
        "hierarchy": Hierarchy(**common),
        "hierarchy, HB's rule": Hierarchy(branching="hb", budgets="equal", **common),
        "hierarchy, binary, equal budgets": Hierarchy(branching=2, budgets="equal", **common),
        "histogram": Histogram(**common),
    }
    if is_gaussian:
        mechanisms["square root (Toeplitz)"] = ToeplitzGaussian(**common)
    if budget.total_is_public:
        public = {name: value for name, value in common.items() if name != "neighbours"}
        mechanisms["dyadic tree"] = Dyadic(**public)
        if not is_gaussian:
            mechanisms["dyadic tree, the paper's scale"] = Dyadic(sensitivity="paper", **public)
    return mechanisms


def error_of(mechanism: Mechanism, size: int) -> float:
    """Return the root mean square of the noise over the thresholds, in counts."""
    return math.sqrt(mechanism.mean_squared_error(size))


def rank(error: float) -> float:
    """Return the key that options are sorted by: on small grids, many options are one mechanism."""
    return round(error, 9)
