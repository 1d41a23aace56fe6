"""Figure 3 of the projection paper: weights, at ten sites and in ten rounds."""

import numpy as np

from dpcore import Grid, studies

from . import _projection_pictures as pictures
from ._data import weights
from ._figure import Figure, Made, Outcome, Runs
from ._projection import CELLS, EPSILONS, PARTS, far_off
from ._projection_methods import AGAIN, EVENLY, METHODS, Task
from ._projection_pictures import AQ, AQ_EVENLY, DEFAULT, HQ, HQ_EVENLY, OURS, PP, Found

BOUNDS = (75.0, 180.0)  # pounds; public


def dealt_out(epsilon: float, rng: np.random.Generator) -> Task:
    """Return the weights, dealt out to ten parts."""
    grid = Grid.uniform(*BOUNDS, CELLS)
    parts = np.array_split(rng.permutation(weights()[0]), PARTS)
    return Task(np.stack([grid.count(part) for part in parts]), grid, epsilon, rng)


@studies.study({"epsilon": EPSILONS})
def weights_in_parts(epsilon: float, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the distances from the curve of all weights, of ten sites and after ten rounds."""
    return far_off(METHODS | EVENLY | AGAIN, dealt_out(epsilon, rng))


def draw(made: Made) -> Outcome:
    """Draw both settings, a row each."""
    made.uses(weights()[1])
    results = made.results["weights_in_parts"]
    sites, rounds = Found.of(results), Found.of(results, which=", again")
    pictures.against_epsilon(made, {"10 sites": sites, "10 rounds": rounds})
    plain = pictures.order_of_sites(sites), pictures.order_of_rounds(rounds)
    evenly = (
        pictures.order_of_sites(sites, HQ_EVENLY, AQ_EVENLY),
        pictures.order_of_rounds(rounds, HQ_EVENLY, AQ_EVENLY),
    )
    return Outcome(
        f"Kolmogorov-Smirnov distance for sites, {sites.said(HQ, AQ, PP)}. For rounds, "
        f"{rounds.said(HQ, AQ, PP)} {pictures.WITH_N}.",
        f"For sites, {sites.said(OURS, DEFAULT)}. For rounds, {rounds.said(OURS, DEFAULT)}.",
        pictures.verdict(pictures.every(plain), pictures.every(evenly)),
        "In each round, adaptive quantiles ask all records again, for a tenth of the budget. Parts "
        f"of the claim about sites, and whether each holds: {pictures.spelled(plain[0])}. Parts of "
        f"the claim about rounds: {pictures.spelled(plain[1])}. {pictures.EVEN_SHARES}, distances "
        f"for sites are {sites.said(HQ_EVENLY, AQ_EVENLY)}. Those for rounds are "
        f"{rounds.said(HQ_EVENLY, AQ_EVENLY)}. Then the parts about sites are: "
        f"{pictures.spelled(evenly[0])}. The parts about rounds are: "
        f"{pictures.spelled(evenly[1])}. {pictures.PUBLIC_N}",
    )


FIGURE = Figure(
    source="Figure 3 (section IV.A)",
    claim="If ten sites hold the records, the projection is the best for small epsilon, and"
    " competitive for large epsilon. If new records come in ten rounds, it is always the best.",
    runs=(Runs(weights_in_parts, 50, 2, {"epsilon": pictures.NAMED}),),
    draw=draw,
)
