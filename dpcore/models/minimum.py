"""The minimum of a penalised loss, by damped Newton steps, with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ConvergenceError
from .losses import Loss
from .scaling import RECORD_BITS

__all__ = ["LEAST_PENALTY", "Objective"]

LEAST_PENALTY: Final = 2.0**-24  # with at least this penalty, steps are exact to many digits
_FEW_STEPS: Final = 50  # ten steps are usual
_MOST_STEPS: Final = 2000
_MOST_HALVINGS: Final = 60
_UNIT: Final = 2.0**-53

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The mean loss of the records, plus (penalty / 2) |w|^2, plus w . tilt.

    Parameters
    ----------
    records
        (D, n) contiguous multiples of 2^-20, with a column for each record, no longer than 1.
    loss
        The loss of their margins.
    penalty
        At least ``LEAST_PENALTY``.
    tilt
        (D,), or None for zeros.
    most_tilt
        A public bound of |tilt|.
    """

    records: Floats
    loss: Loss
    penalty: float
    tilt: Floats | None = None
    most_tilt: float = 0.0

    @property
    def longest(self) -> float:
        """A public bound of |w| at the minimum, from the bound without a tilt."""
        plain, aside = self.loss.longest(self.penalty), self.most_tilt / self.penalty
        return 2.0 * aside + plain

    @property
    def rounding(self) -> float:
        """A public bound of the error of ``gradient`` near the minimum.

        docs/proofs/models.md, section 4.
        """
        size, longest = len(self.records), self.longest
        margins = self.loss.curvature * (size + 1) * math.sqrt(size) / self._steps
        sums = 128.0 * self.loss.steepest(longest)
        sums += 8.0 * (self.most_tilt + self.penalty * longest)
        return float(_UNIT * (margins + sums))

    @property
    def enough(self) -> float:
        """The largest length of the gradient at which steps end, for w has few digits, too."""
        return 4.0 * (self.rounding + _UNIT * self.loss.curvature * self.longest)

    @property
    def distance(self) -> float:
        """A public bound of the Euclidean distance of ``minimum`` from the exact minimum."""
        return 2.0 * self.enough / self.penalty

    @property
    def _steps(self) -> float:
        """The steps of coarse weights in a unit for which products and sums fit 53 bits."""
        return math.ldexp(1.0, 53 - RECORD_BITS - math.frexp(4.0 * self.longest)[1])

    def margins(self, w: Floats) -> Floats:
        """Return w . x for each record, (n,).

        For weights that are rounded to some thirty bits, margins are exact near the minimum. The
        rest of the weights is small, and so are the errors of its products.
        """
        coarse = np.rint(w * self._steps) / self._steps
        margins, rest = (np.zeros(self.records.shape[1]) for _ in range(2))
        for weight, small, feature in zip(coarse, w - coarse, self.records, strict=True):
            margins += weight * feature
            rest += small * feature
        margins += rest
        return margins

    def gradient(self, w: Floats, margins: Floats) -> Floats:
        """Return the gradient, (D,). NumPy sums in pairs, so errors do not grow with n."""
        slopes = self.loss.slopes(margins)
        sums = np.array([np.sum(slopes * feature) for feature in self.records])
        gradient: Floats = sums / margins.size + self.penalty * w
        return gradient if self.tilt is None else gradient + self.tilt

    def hessian(self, margins: Floats) -> Floats:
        """Return the second derivatives, (D, D). They need not be exact."""
        weighted = self.records * self.loss.curvatures(margins)
        products = np.einsum("in,jn->ij", weighted, self.records)
        hessian: Floats = products / margins.size + self.penalty * np.eye(len(products))
        return hessian

    def minimum(self) -> Floats:
        """Return a point within ``distance`` of the minimum.

        Returns
        -------
        numpy.ndarray
            (D,) a point where the computed gradient is at most ``enough`` long.

        Raises
        ------
        ConvergenceError
            2000 steps do not reach such a point. No input is known for which that happens.

        Notes
        -----
        The method takes Newton steps. It shortens each step so that the slope along the step falls
        to a half. The objective is convex, so bisection finds this length. Each step is O(n D^2),
        and about ten steps are usual. For long w the losses practically have kinks, and with many
        features steps would go from one kink to the next. Then the method follows the minimum from
        a larger penalty to this one.
        """
        w, has_arrived = self._descended(np.zeros(len(self.records)), _FEW_STEPS)
        if not has_arrived:
            w, penalty = np.zeros(len(self.records)), max(1.0, self.penalty)
            while penalty > self.penalty:
                w, _ = replace(self, penalty=penalty)._descended(w, _FEW_STEPS)
                penalty /= 4.0
            w, has_arrived = self._descended(w, _MOST_STEPS)
        if not has_arrived:
            raise ConvergenceError(f"the gradient is not small after {_MOST_STEPS} steps")
        return w

    def _descended(self, w: Floats, most_steps: int) -> tuple[Floats, bool]:
        """Return the end of Newton steps from w, and whether the gradient is small there."""
        enough = self.enough
        for _ in range(most_steps):
            margins = self.margins(w)
            gradient = self.gradient(w, margins)
            if math.hypot(*gradient) <= enough:
                return w, True
            step: Floats = np.linalg.solve(self.hessian(margins), -gradient).astype(np.float64)
            w = w + self._length(w, margins, step, float(np.sum(gradient * step))) * step
        return w, False

    def _length(self, w: Floats, margins: Floats, step: Floats, slope: float) -> float:
        """Return t within (0, 1] so that w + t step has half the slope along the step, or none.

        A slope that rounding errors could explain counts as none.
        """
        along = self.margins(step)
        fixed = self.penalty * float(np.sum(w * step))
        fixed += 0.0 if self.tilt is None else float(np.sum(self.tilt * step))
        curved = self.penalty * float(np.sum(step * step))
        small = max(abs(slope), self.enough * math.hypot(*step)) / 2.0
        low, t, high = 0.0, 1.0, 1.0
        for _ in range(_MOST_HALVINGS):
            loss = np.sum(self.loss.slopes(margins + t * along) * along) / margins.size
            derivative = float(loss) + fixed + t * curved
            if abs(derivative) <= small:
                break
            low, high = (t, high) if derivative < 0.0 else (low, t)
            if low == 1.0:
                break
            t = (low + high) / 2.0
        return t
