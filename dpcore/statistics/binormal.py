"""The symmetric binormal ROC curve, which an area alone determines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line
from ..curves.stored import Stored
from ..errors import ParameterError
from ..privacy.guarantees import Privacy

__all__ = ["BinormalROC"]

_POINTS: Final = 2**12
_TAIL: Final = 9.0  # standard deviations; doubles cannot represent anything beyond


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BinormalROC(Stored):
    """The ROC curve of normal scores with one variance in both classes, and a given area.

    The curve is TPR = Phi(a + Phi^-1(FPR)) with a = sqrt(2) Phi^-1(area). Made by
    ``dpcore.papers.smooth_roc_curve.smooth_roc_curve``. Only the area comes from the records.

    Parameters
    ----------
    auc
        The area, within [0, 1].
    n
        The public number of records.
    privacy
        The cost of the release.
    mechanism
        The name and the parameters of the mechanism that released the area.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import dpcore as dp
    >>> roc = dp.statistics.BinormalROC(0.8, 1000, dp.Privacy(1.0), {"name": "smooth-auc"})
    >>> roc([0.1, 0.5]).round(3)
    array([0.464, 0.883])
    """

    _kind = "dpcore.binormal-roc"

    auc: float
    n: int
    privacy: Privacy = field(metadata=forms.PRIVACY)
    mechanism: Mapping[str, str | int | float] = field(metadata=forms.DESCRIPTION)

    def __post_init__(self) -> None:
        auc = _check.finite("auc", self.auc)
        if not 0.0 <= auc <= 1.0:
            raise ParameterError("auc", self.auc, "must be within [0, 1]")
        object.__setattr__(self, "auc", auc)
        _check.integer("n", self.n, 1, 2**63)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        _check.instance("mechanism", self.mechanism, Mapping, "must be a mapping")

    def __repr__(self) -> str:
        return line("BinormalROC", f"area {self.auc:.4g}, n = {self.n}, {cost(self.privacy)}")

    def _columns(self) -> Mapping[str, Any]:
        return {"fpr": self.fpr, "tpr": self.tpr}

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n, "mechanism": self.mechanism}

    def __call__(self, fpr: ArrayLike) -> Any:
        """Return the true positive rates at some false positive rates, of any shape.

        The result is a float if a number is given. If the area is 1 or 0, the curve jumps at 0 or
        at 1, and the result there is the value after the jump.
        """
        rates = _check.probabilities("fpr", fpr)
        if self.auc in (0.0, 1.0):
            return float_or_array(np.where(rates < 1.0 - self.auc, 0.0, 1.0))
        from scipy.special import ndtr, ndtri  # a tenth of a second, on first use

        return float_or_array(np.asarray(ndtr(self._distance + ndtri(rates))))

    @property
    def fpr(self) -> NDArray[np.float64]:
        """The abscissae of points of the curve, from 0 to 1, to be joined by straight lines."""
        return self._points(-1.0)

    @property
    def tpr(self) -> NDArray[np.float64]:
        """The ordinates of these points."""
        return self._points(1.0)

    @property
    def _distance(self) -> float:
        """The distance between the means of the classes, in standard deviations."""
        return math.sqrt(2.0) * NormalDist().inv_cdf(self.auc)

    def _points(self, side: float) -> NDArray[np.float64]:
        if self.auc in (0.0, 1.0):
            middle = 0.5 + side * (self.auc - 0.5)
            return np.array([0.0, middle, 1.0])
        from scipy.special import ndtr

        half = self._distance / 2
        reach = _TAIL + abs(half)
        at = np.linspace(-reach, reach, _POINTS + 1)
        return np.concatenate([[0.0], ndtr(at + side * half), [1.0]])
