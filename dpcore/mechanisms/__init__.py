"""Mechanisms: each turns exact counts into noisy cumulative counts, and states what that costs."""

from __future__ import annotations

from .base import Mechanism
from .dawa import Dawa
from .dyadic import Dyadic
from .hierarchy import Hierarchy, Histogram
from .toeplitz import ToeplitzGaussian

__all__ = ["Dawa", "Dyadic", "Hierarchy", "Histogram", "Mechanism", "ToeplitzGaussian"]
