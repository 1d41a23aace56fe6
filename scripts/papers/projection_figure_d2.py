"""Figure D.2 of the projection paper: distances from the truth, other distributions."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import OTHERS, alone


def draw(made: Made) -> Outcome:
    """Draw the three distances against epsilon, for each population."""
    rows = pictures.by_population(made.results["alone"])
    return pictures.over_populations(made, rows, pictures.order, pictures.better_for_beta)


FIGURE = Figure(
    source="Figure D.2 (appendix D)",
    claim="Histogram queries are the worst. At epsilon = 0.1 the projection is about as good as"
    " adaptive quantiles, and better for a beta distribution. At epsilon = 1 adaptive quantiles are"
    " better.",
    runs=(Runs(alone.over(population=OTHERS), 50, 2, {"epsilon": pictures.NAMED}),),
    draw=draw,
)
