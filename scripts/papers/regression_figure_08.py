"""Figure 8 of the regression-diagnostics paper: areas between released and true ROC curves."""

from ._figure import Figure, Runs
from ._regression_roc import by_epsilon, errors

FIGURE = Figure(
    source="Figure 8 (section IV.C)",
    claim="The curves of PriROC and PriROC-fix are much nearer to the true ones than those of"
    " SmoothS, and PriROC is slightly nearer than PriROC-fix.",
    runs=(Runs(by_epsilon, replicates=20, quick=5),),
    draw=errors("area between", "area between released and true curve"),
)
