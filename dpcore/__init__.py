"""dpcore: a fast numeric core for differentially private distribution curves.

>>> import dpcore as dp
>>> grid = dp.Grid.uniform(0, 100, 256)
>>> curve = dp.cdf(range(100), grid, epsilon=2.0)
>>> curve.n
100
"""

from __future__ import annotations

import os as _os

from . import _start

_start.end_quietly()

if not _os.path.isdir(_os.path.join(__path__[0], "kernels")):
    # Not installed, and without the link to ../kernels: a source distribution, or a checkout where
    # Git makes no symbolic links.
    __path__.append(_os.path.dirname(__path__[0]))

from . import distances, files, mechanisms, noise, privacy, statistics, streams, trust
from ._score_counts import score_counts
from .bounds import Bounds, bounds
from .boxplot import BoxPlot, box_plot
from .classifiers import roc_curve
from .combination import average, combine
from .curve import CDF
from .errors import (
    ConvergenceError,
    DpcoreError,
    DpcoreWarning,
    DtypeError,
    FormatError,
    MissingExtraError,
    MissingValueError,
    ParameterError,
)
from .goodness_of_fit import hosmer_lemeshow
from .grid import Grid
from .planner import Plan, plan
from .privacy import Privacy
from .projecting import project, project_sums
from .projection import Projection
from .quantiles import Quantiles, quantiles
from .release import cdf, cdf_from_counts
from .scores import ScoreCurves
from .scoring import score_curves, score_curves_from_counts
from .smoothing import Smoothing, smooth
from .sums import PolynomialSums, polynomial_sums

__version__ = "0.1.0"

__all__ = [
    "CDF",
    "Bounds",
    "BoxPlot",
    "ConvergenceError",
    "DpcoreError",
    "DpcoreWarning",
    "DtypeError",
    "FormatError",
    "Grid",
    "MissingExtraError",
    "MissingValueError",
    "ParameterError",
    "Plan",
    "PolynomialSums",
    "Privacy",
    "Projection",
    "Quantiles",
    "ScoreCurves",
    "Smoothing",
    "average",
    "bounds",
    "box_plot",
    "cdf",
    "cdf_from_counts",
    "combine",
    "distances",
    "files",
    "hosmer_lemeshow",
    "mechanisms",
    "noise",
    "plan",
    "polynomial_sums",
    "privacy",
    "project",
    "project_sums",
    "quantiles",
    "roc_curve",
    "score_counts",
    "score_curves",
    "score_curves_from_counts",
    "smooth",
    "statistics",
    "streams",
    "trust",
]
