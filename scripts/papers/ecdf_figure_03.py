"""Figure 3 of the ECDF paper, section 6.3: what smoothing does to the error, by records a cell."""

from dpcore import studies

from ._ecdf import RUNS, SIZE, banded, effects_of_smoothing, legend
from ._figure import Figure, Made, Outcome, Runs, panels, verdict
from .ecdf_figure_02 import LABELS

RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
MODERATE = (1.0, 3.0, 10.0)
STUDY = studies.study({"size": SIZE, "rate": RATES, "epsilon": 1.0})(effects_of_smoothing)


def draw(made: Made) -> Outcome:
    """Draw the errors relative to that before smoothing."""
    results = made.results["effects_of_smoothing"]
    picture, axes = panels(width=6.4, height=4.2)
    mean = {}
    for name, label in LABELS.items():
        values = results.array(name)
        mean[name] = dict(zip(RATES, values.mean(axis=1), strict=True))
        banded(axes[0, 0], RATES, values, name, label)
    axes[0, 0].axhline(1, color="0.3", linewidth=0.8)
    axes[0, 0].set(xscale="log", yscale="log", ylim=(0.003, 8))
    axes[0, 0].set(
        xlabel="lambda, records a cell", ylabel="squared error / that of the noisy curve"
    )
    legend(axes[0, 0], loc="lower right")
    made.save(picture)
    two, free, most = mean["norm 2"], mean["norm 2, unbounded"], RATES[-1]
    norms = (mean["norm 1"], two)
    lower = all(norm[rate] < 1 for norm in norms for rate in MODERATE)
    little = all(0.9 < norm[most] < 1.1 for norm in norms)
    return Outcome(
        paper=f"norm 2: {two[3]:.2f} of the error at lambda = 3, {two[most]:.2f} at {most:g};"
        f" norm 1: {mean['norm 1'][3]:.2f} and {mean['norm 1'][most]:.2f}",
        ours=f"dp.cdf: {mean['ours'][3]:.3f} of it at lambda = 3, {mean['ours'][most]:.3f} at"
        f" {most:g}",
        verdict=verdict(lower, little),
        why="The test is an error below 1 at lambda = "
        + ", ".join(f"{rate:g}" for rate in MODERATE)
        + f" and 0.9 to 1.1 at {most:g}, in both norms. We chose the values of lambda. With few"
        f" records the error is also small: {two[RATES[0]]:.2f} at lambda = {RATES[0]:g}, thanks"
        f" to the bounds 0 and n of Eq. 3; without them {free[RATES[0]]:.1f}.",
    )


FIGURE = Figure(
    source="Figure 3 (section 6.3)",
    claim="At epsilon = 1, smoothing lowers the error for moderate lambda. It has little effect if"
    " lambda is large and the noisy curve hardly ever falls.",
    runs=(Runs(STUDY, replicates=RUNS, quick=4, quickly={"size": 2**12}),),
    draw=draw,
)
