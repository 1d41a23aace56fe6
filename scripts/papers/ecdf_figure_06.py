"""Figure 6 of the ECDF paper, section 6.6: private goodness of fit, unbalanced classes."""

from dpcore import studies

from ._ecdf import RUNS, falls, numbers
from ._ecdf_fit import EPSILONS, draw_errors, fit_errors, grid_in_words, in_words, of, spread
from ._figure import Figure, Made, Outcome, Runs, verdict

NAME = "Bank"
STUDY = studies.study({"name": (NAME, "Diabetes"), "epsilon": EPSILONS})(fit_errors)


def draw(made: Made) -> Outcome:
    """Draw the errors, and see where they come from."""
    draw_errors(made, NAME)
    results = made.results["fit_errors"]
    published, ours = (of(results, each, NAME) for each in ("published", "ours"))
    here, there = spread(results, NAME), spread(results, "Diabetes")
    varies = float((here > there).mean())
    lowest, others = (of(results, each, NAME).mean(axis=1) for each in ("lowest", "positives"))
    from_few = bool((lowest + others > 0.5).all())
    claims = {
        "errors fall with epsilon": falls(published),
        "runs vary more than those of the Diabetes data": varies > 0.5,
        "the positives of the lower groups are to blame": from_few,
    }
    failed = [claim for claim, holds in claims.items() if not holds]
    return Outcome(
        paper=in_words(published),
        ours=in_words(ours),
        verdict=verdict(*claims.values()),
        why=(f"Not confirmed: {'; '.join(failed)}. " if failed else "")
        + f"The mean is {numbers(here, '.2g')} times the median at epsilon ="
        f" {numbers(EPSILONS, 'g')}, and {numbers(there, '.2g')} times for the Diabetes data. The"
        " term of Eq. 5 with the largest error belongs to the positives in the lowest group in"
        f" {numbers(lowest, '.0%')} of the runs, and to the positives in the next four groups in"
        f" {numbers(others, '.0%')}. The model is fitted to a fifth of the records and tested on"
        f" the others. {grid_in_words(NAME)} Groups are half open, because the paper's theorem"
        " does not hold otherwise (docs/proofs/hosmer-lemeshow.md).",
    )


FIGURE = Figure(
    source="Figure 6 (section 6.6)",
    claim="The relative mean squared error of the Hosmer-Lemeshow statistic falls with epsilon,"
    " and varies much from run to run, because the small expected numbers of positives in the"
    " lowest groups are denominators.",
    runs=(Runs(STUDY, replicates=RUNS, quick=4),),
    draw=draw,
)
