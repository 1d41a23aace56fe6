"""Figure 9 of the ECDF paper, appendix B: one private ROC curve of the Diabetes data."""

from dpcore import studies

from ._ecdf import RUNS
from ._ecdf_roc import distances, draw_release, outcome_of_many
from ._figure import Figure, Made, Outcome, Runs

NAME, EPSILON = "Diabetes", 0.05
STUDY = studies.study(
    [{"name": NAME, "epsilon": EPSILON}, {"name": "Heart disease", "epsilon": 0.5}]
)(distances)


def draw(made: Made) -> Outcome:
    """Draw a release, and compare the mean of many with that of Figure 1."""
    draw_release(made, NAME, EPSILON)
    return outcome_of_many(made.results["distances"], NAME, EPSILON)


FIGURE = Figure(
    source="Figure 9 (appendix B)",
    claim="With more records the noise matters less, and even at epsilon = 0.05 the private curve"
    " gives a good picture of the exact one.",
    runs=(Runs(STUDY, replicates=RUNS, quick=4),),
    draw=draw,
)
