"""Figure 7 of the regression-diagnostics paper: errors of the area under the ROC curve."""

from ._figure import Figure, Runs
from ._regression_roc import by_epsilon, errors

FIGURE = Figure(
    source="Figure 7 (section IV.C)",
    claim="The areas of PriROC and PriROC-fix have significantly lower errors than those of"
    " SmoothS, for both data sets and every epsilon. The errors of PriROC are lower than those of"
    " PriROC-fix.",
    runs=(Runs(by_epsilon, replicates=20, quick=5),),
    draw=errors("error of the area", "error of the area under the curve"),
)
