"""Losses of a linear model for each record, and the constants of them that the proofs need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Logistic", "Loss", "Squares"]

Floats = NDArray[np.float64]


class Loss(Protocol):
    """A convex function of each record's margin m = w . x, with two derivatives."""

    @property
    def curvature(self) -> float:
        """The largest second derivative."""
        ...

    def slopes(self, margins: Floats) -> Floats:
        """Return the first derivatives, (n,)."""
        ...

    def curvatures(self, margins: Floats) -> Floats:
        """Return the second derivatives, (n,)."""
        ...

    def steepest(self, longest: float) -> float:
        """Return the largest absolute first derivative for |w| <= longest, |x| <= 1."""
        ...

    def longest(self, penalty: float) -> float:
        """Return a bound of |w| at the minimum of the mean loss plus (penalty / 2) |w|^2."""
        ...

    def moved(self, penalty: float) -> float:
        """Return n times the most by which a replaced record moves that minimum."""
        ...


@dataclass(frozen=True, slots=True)
class Logistic:
    """log(1 + exp(-m)), for records times their labels, which are -1 and 1."""

    curvature: ClassVar[float] = 0.25

    def slopes(self, margins: Floats) -> Floats:
        """Return the first derivatives, (n,)."""
        slopes: Floats = -expit(-margins)
        return slopes

    def curvatures(self, margins: Floats) -> Floats:
        """Return the second derivatives, (n,)."""
        curvatures: Floats = expit(margins) * expit(-margins)
        return curvatures

    def steepest(self, longest: float) -> float:
        """Return the largest absolute first derivative: 1."""
        return 1.0

    def longest(self, penalty: float) -> float:
        """Return the root of 2 log(2) / penalty: at 0 the mean loss is log(2)."""
        return math.sqrt(2.0 * math.log(2.0) / penalty)

    def moved(self, penalty: float) -> float:
        """Return 2 / penalty (Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8)."""
        return 2.0 / penalty


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """(m - y)^2 / 2, for responses y within [-1, 1].

    Parameters
    ----------
    responses
        (n,).
    """

    responses: Floats
    curvature: ClassVar[float] = 1.0

    def slopes(self, margins: Floats) -> Floats:
        """Return the first derivatives, (n,)."""
        return margins - self.responses

    def curvatures(self, margins: Floats) -> Floats:
        """Return the second derivatives, (n,)."""
        return np.ones(margins.size)

    def steepest(self, longest: float) -> float:
        """Return the largest absolute first derivative."""
        return 1.0 + longest

    def longest(self, penalty: float) -> float:
        """Return 1 / (2 sqrt(penalty)) (docs/proofs/models.md, section 2)."""
        return 0.5 / math.sqrt(penalty)

    def moved(self, penalty: float) -> float:
        """Return 2 (1 + (3 sqrt(3) / 16) / sqrt(penalty)) / penalty (section 2)."""
        return 2.0 * (1.0 + 3.0 * math.sqrt(3.0 / penalty) / 16.0) / penalty
