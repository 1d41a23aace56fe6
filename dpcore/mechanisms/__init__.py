"""Mechanisms: each turns exact counts into noisy cumulative counts, and states what that costs.

``exponential_mechanism`` and ``above_threshold`` choose among candidates instead. This room may
import ``curves``, since a mechanism can be made again from its release, and the rooms below. It
imports no statistic.
"""

from __future__ import annotations

from .adaptive import AdaptiveQuantiles
from .base import Mechanism, Released
from .dawa import Dawa
from .descriptions import from_curve
from .dyadic import Dyadic
from .hierarchy import Hierarchy, Histogram
from .no_noise import NoNoise
from .polynomial import PolynomialProjection
from .queries import HistogramQueries
from .running import AfterSteps as _AfterSteps  # noqa: F401 (enters the registry)
from .selection import above_threshold, exponential_mechanism
from .simulated_deviation import with_simulated_deviation
from .toeplitz import ToeplitzGaussian

__all__ = [
    "AdaptiveQuantiles",
    "Dawa",
    "Dyadic",
    "Hierarchy",
    "Histogram",
    "HistogramQueries",
    "Mechanism",
    "NoNoise",
    "PolynomialProjection",
    "Released",
    "ToeplitzGaussian",
    "above_threshold",
    "exponential_mechanism",
    "from_curve",
    "with_simulated_deviation",
]
