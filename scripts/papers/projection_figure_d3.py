"""Figure D.3 of the projection paper: ten sites, several distributions."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import OTHERS, in_parts


def draw(made: Made) -> Outcome:
    """Draw the three distances against epsilon, for each population."""
    rows = pictures.by_population(made.results["in_parts"])
    return pictures.over_populations(made, rows, pictures.order_of_sites)


FIGURE = Figure(
    source="Figure D.3 (appendix D)",
    claim="If ten sites hold the records, different methods suit different distributions. In"
    " general the projection is the best for small epsilon, and competitive for large epsilon.",
    runs=(Runs(in_parts.over(population=["normal", *OTHERS]), 50, 1, {"epsilon": pictures.NAMED}),),
    draw=draw,
)
