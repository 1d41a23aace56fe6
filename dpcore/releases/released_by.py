"""The mechanism that released some score curves, for statistics that simulate its noise."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Releases
from ..errors import ParameterError
from ..mechanisms import Mechanism, from_curve
from ..summaries.grid import Grid
from .score_curves import raw_score_curves

__all__ = ["released_by"]


def released_by(
    curves: ScoreCurves, mechanism: Mechanism | tuple[Mechanism, Mechanism] | None
) -> Releases | None:
    """Return the mechanism that released the curves, given the one of the call (None: the default).

    Return None if the mechanism cannot be made again. This must not be an error, because the
    release is already paid for.
    """
    if isinstance(mechanism, tuple):
        return _ClassByClass(mechanism, curves.grid, curves.joint.mechanism)
    if mechanism is not None:
        return mechanism
    with suppress(ParameterError):
        return from_curve(curves.joint)
    return None


@dataclass(frozen=True, slots=True)
class _ClassByClass:
    """Two mechanisms, each for one class, as one mechanism."""

    mechanisms: tuple[Mechanism, Mechanism]
    grid: Grid
    description: Mapping[str, str | int | float]
    is_additive: ClassVar[bool] = False

    @property
    def loses_records(self) -> bool:
        return any(mechanism.loses_records for mechanism in self.mechanisms)

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        exact = _check.counts("counts", counts)
        if replicates is None:
            what = "ROC.mechanism.release"  # a release of records; simulations are not watched
            curves = raw_score_curves(exact, self.grid, self.mechanisms, rng, what=what)
            return curves.joint.counts
        releases = [self.release(exact, rng=rng) for _ in range(replicates)]
        return np.stack(releases).astype(np.float64)

    def simulated_noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        *,
        knots: NDArray[np.int64] | None = None,
        n: int | None = None,
    ) -> NDArray[np.float64]:
        what = "must be one mechanism: the noise of two, each for one class, is not simulated"
        raise ParameterError("mechanism", self.description["name"], what)

    def describe(self) -> Mapping[str, str | int | float]:
        return self.description
