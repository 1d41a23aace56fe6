"""Figure 2 of the projection paper: distances from the truth, normal records."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import alone
from ._projection_pictures import AQ, AQ_EVENLY, DEFAULT, HQ, HQ_EVENLY, OURS, PP, Found


def draw(made: Made) -> Outcome:
    """Draw the three distances against epsilon."""
    found = Found.of(made.results["alone"])
    population = Found.of(made.results["alone"], which=", population")
    pictures.against_epsilon(made, {"normal": found})
    plain = pictures.order(found)
    evenly = pictures.order(found, HQ_EVENLY, AQ_EVENLY)
    return Outcome(
        f"Kolmogorov-Smirnov distance {found.said(HQ, AQ, PP)} {pictures.WITH_N}.",
        f"{found.said(OURS, DEFAULT)}.",
        pictures.verdict(plain.values(), evenly.values()),
        f"Parts of the claim, and whether each holds: {pictures.spelled(plain)}. The paper does not"
        " say how the budget is split among bins and steps. Here the counts of all bins are one"
        " query, and the steps compose as Gaussian mechanisms do. With even shares of epsilon and"
        f" delta instead (dotted lines), distances are {found.said(HQ_EVENLY, AQ_EVENLY)}. Then"
        f" the parts of the claim are: {pictures.spelled(evenly)}. All these are distances to the"
        " curve of the records. Distances to the curve of the population are"
        f" {population.said(HQ, AQ, PP)}. With these, the parts of the claim are:"
        f" {pictures.spelled(pictures.order(population))}. {pictures.PUBLIC_N}",
    )


FIGURE = Figure(
    source="Figure 2 (section IV.A)",
    claim="Histogram queries are the worst. The projection is about as good as adaptive quantiles"
    " at epsilon = 0.1. Adaptive quantiles are slightly better at epsilon = 1.",
    runs=(Runs(alone, replicates=50, quick=3, quickly={"epsilon": pictures.NAMED}),),
    draw=draw,
)
