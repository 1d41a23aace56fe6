"""Figure 10 of the ECDF paper, appendix B: private goodness of fit, balanced classes."""

from dpcore import studies

from ._ecdf import RUNS, falls
from ._ecdf_fit import EPSILONS, draw_errors, fit_errors, grid_in_words, in_words, of
from ._figure import Figure, Made, Outcome, Runs, verdict

NAME = "Diabetes"
STUDY = studies.study({"name": NAME, "epsilon": EPSILONS})(fit_errors)


def draw(made: Made) -> Outcome:
    """Draw the errors."""
    draw_errors(made, NAME)
    published, ours = (of(made.results["fit_errors"], each, NAME) for each in ("published", "ours"))
    return Outcome(
        paper=in_words(published),
        ours=in_words(ours),
        verdict=verdict(falls(published)),
        why="The test is that the mean logarithm of the errors falls from each epsilon to the"
        " next, to within three standard errors. The model is a logistic regression that has"
        f" converged. {grid_in_words(NAME)} Everything else is as in Figure 6.",
    )


FIGURE = Figure(
    source="Figure 10 (appendix B)",
    claim="The relative mean squared error of the Hosmer-Lemeshow statistic falls with epsilon.",
    runs=(Runs(STUDY, replicates=RUNS, quick=4),),
    draw=draw,
)
