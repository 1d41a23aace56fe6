"""Figure D.4 of the projection paper: new records, several distributions."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import OTHERS, in_parts


def draw(made: Made) -> Outcome:
    """Draw the three distances against epsilon, for each population."""
    rows = pictures.by_population(made.results["in_parts"], which=", again")
    return pictures.over_populations(made, rows, pictures.order_of_rounds)


FIGURE = Figure(
    source="Figure D.4 (appendix D)",
    claim="If new records come in ten rounds, the projection is always the best, because adaptive"
    " quantiles have to ask old records again.",
    runs=(Runs(in_parts.over(population=["normal", *OTHERS]), 50, 1, {"epsilon": pictures.NAMED}),),
    draw=draw,
)
