"""The experiments of scripts/study.py projection: who releases what, and how far off it is."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore import distances
from dpcore.mechanisms import AdaptiveQuantiles, HistogramQueries, PolynomialProjection

Values = NDArray[np.float64]
CELLS, RECORDS, SITES = 2**10, 10**4, 10
BINS, STEPS, PAPER_DEGREE = 30, 50, 6
DISTANCES: dict[str, Callable[[Any, Any], float]] = {
    "Kolmogorov-Smirnov": distances.kolmogorov_smirnov,
    "earth mover's": distances.earth_mover,
    "energy": distances.energy,
}


class Population(NamedTuple):
    """A distribution, and bounds that somebody might know without the data."""

    about: str
    draw: Callable[[np.random.Generator, int], Values]
    lower: float
    upper: float

    @property
    def grid(self) -> dp.Grid:
        """The thresholds of all mechanisms."""
        return dp.Grid.uniform(self.lower, self.upper, CELLS)


def bimodal(rng: np.random.Generator, n: int) -> Values:
    """Two normal humps of unlike weight and width."""
    return np.where(rng.random(n) < 0.4, rng.normal(-2, 0.4, n), rng.normal(1.6, 0.5, n))


def spike(rng: np.random.Generator, n: int) -> Values:
    """Half of the records have the same value."""
    return np.where(rng.random(n) < 0.5, 0.8, rng.normal(0, 1.2, n))


POPULATIONS = {
    "normal": Population("standard normal", lambda rng, n: rng.normal(0, 1, n), -4, 4),
    "beta(2, 5)": Population("Beta(2, 5)", lambda rng, n: rng.beta(2, 5, n), 0, 1),
    "exponential": Population("Exponential(1)", lambda rng, n: rng.exponential(1, n), 0, 8),
    "uniform": Population("uniform on [-1, 1]", lambda rng, n: rng.uniform(-1, 1, n), -2, 2),
    "bimodal": Population("0.4 N(-2, 0.4^2) + 0.6 N(1.6, 0.5^2)", bimodal, -4, 4),
    "spike": Population("0.8 with probability 1/2, else N(0, 1.2^2)", spike, -4, 4),
}


class Budget(NamedTuple):
    """epsilon, and the paper's delta = n^(-3/2)."""

    epsilon: float
    delta: float

    @classmethod
    def of(cls, epsilon: float, n: int = RECORDS) -> "Budget":
        """Return the paper's budget for n records."""
        return cls(epsilon, n**-1.5)


Method = Callable[[Budget], dp.mechanisms.Mechanism | None]
Finish = Callable[[dp.CDF], dp.CDF]


def finished_as_in_the_paper(curve: dp.CDF) -> dp.CDF:
    """Set negative counts to 0."""
    return curve.without_negative_counts()


def isotonic(curve: dp.CDF) -> dp.CDF:
    """Make the curve monotone by least squares."""
    return curve.isotonic()


def unprocessed(curve: dp.CDF) -> dp.CDF:
    """Leave the curve as it was released."""
    return curve


class Contender(NamedTuple):
    """A mechanism for a budget (None: the default of ``dp.cdf``), and what is done to its curve."""

    make: Method
    finish: Finish = isotonic


def moments(budget: Budget) -> PolynomialProjection:
    """Return the published mechanism, to its constants."""
    return PolynomialProjection(*budget, PAPER_DEGREE, "moments", sensitivity="paper")


def default_of(budget: Budget) -> None:
    """Return nothing: ``dp.cdf`` finds the most accurate mechanism for the grid."""
    del budget


CONTENDERS: dict[str, Contender] = {
    "HQ": Contender(
        lambda b: HistogramQueries(b.epsilon, BINS, delta=b.delta), finished_as_in_the_paper
    ),
    "HQ, linear": Contender(
        lambda b: HistogramQueries(b.epsilon, BINS, delta=b.delta, between="linear")
    ),
    "AQ": Contender(lambda b: AdaptiveQuantiles(b.epsilon, STEPS, delta=b.delta)),
    "AQ, linear": Contender(
        lambda b: AdaptiveQuantiles(b.epsilon, STEPS, delta=b.delta, between="linear")
    ),
    "PP, moments": Contender(moments),
    "PP, equal noise, K = 10": Contender(lambda b: PolynomialProjection(*b, 10, budgets="equal")),
    "PP": Contender(lambda b: PolynomialProjection(*b)),
    "dp.cdf": Contender(default_of),
}
PAPERS = ("HQ", "AQ", "PP, moments")


def released(
    contender: Contender, values: Values, grid: dp.Grid, budget: Budget, rng: np.random.Generator
) -> dp.CDF:
    """Return a raw release."""
    mechanism = contender.make(budget)
    if mechanism is None:
        epsilon, delta = budget
        return dp.cdf(values, grid, epsilon=epsilon, delta=delta, isotonic=False, rng=rng)
    return dp.cdf(values, grid, mechanism, isotonic=False, rng=rng)


def truth(values: Values, grid: dp.Grid) -> Values:
    """Return the records as the grid knows them: each at its cell's threshold."""
    return np.repeat(grid.thresholds, grid.count(values))


def distances_of(curve: dp.CDF, true: Values) -> list[float]:
    """Return the three distances."""
    return [distance(curve, true) for distance in DISTANCES.values()]


def errors(name: str, contender: Contender, budget: Budget, runs: int) -> NDArray[np.float64]:
    """Return the distances of releases from their records' own curves, (runs, 3)."""
    population, rng = POPULATIONS[name], np.random.default_rng(1)
    found = []
    for _ in range(runs):  # the same records for every contender
        values = population.draw(rng, RECORDS)
        noise = rng.spawn(1)[0]
        curve = contender.finish(released(contender, values, population.grid, budget, noise))
        found.append(distances_of(curve, truth(values, population.grid)))
    return np.array(found)


def site_errors(
    parts: list[Values], grid: dp.Grid, contender: Contender, budget: Budget, runs: int
) -> NDArray[np.float64]:
    """The same for disjoint parts that release alone, and whose curves are combined: (runs, 3)."""
    true, rng = truth(np.concatenate(parts), grid), np.random.default_rng(2)
    found = []
    for _ in range(runs):
        curves = [released(contender, part, grid, budget, rng) for part in parts]
        found.append(distances_of(contender.finish(dp.combine(curves)), true))
    return np.array(found)


def asked_sites(
    parts: list[Values], grid: dp.Grid, budget: Budget, runs: int
) -> NDArray[np.float64]:
    """Adaptive quantiles, all sites asked the same questions one after the other: (runs, 3)."""
    mechanism = AdaptiveQuantiles(budget.epsilon, STEPS, delta=budget.delta)
    counts = np.stack([grid.count(part) for part in parts])
    true, n = truth(np.concatenate(parts), grid), int(counts.sum())
    rng = np.random.default_rng(3)
    found = []
    for _ in range(runs):
        curve = dp.CDF(
            grid=grid,
            counts=mechanism.release_from_sites(counts, rng=rng),
            n=n,
            privacy=mechanism.privacy,
            mechanism=mechanism.describe(),
            noise_deviation=mechanism.noise_deviation(grid.size),
        )
        found.append(distances_of(curve.isotonic(), true))
    return np.array(found)
