"""The mechanism that released some score curves, for statistics that simulate its noise."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.own_mechanism import Releases
from ..curves.scores import ScoreCurves
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
        """Return the noise of the joint curve, which is that of both classes' own curves.

        The joint curve does not tell whether the end of one class was a knot: it is taken as one.
        """
        cells = size // 2
        if knots is None:
            own: list[Any] = [None, None]
        else:
            ends = [cells - 1, cells]
            own = [
                np.union1d(knots[knots < cells - 1], ends),
                np.union1d(2 * cells - 2 - knots[(knots >= cells) & (knots < size - 1)], ends),
            ]
        drawn = [
            mechanism.simulated_noise(cells + 1, replicates, each, knots=at, n=n)
            for mechanism, each, at in zip(self.mechanisms, rng.spawn(2), own, strict=True)
        ]
        negatives, positives = drawn[0][:, :-1], -drawn[1][:, -2::-1]
        between = (negatives[:, -1:] + positives[:, :1]) / 2
        nothing = np.zeros((replicates, 1))
        noise = np.hstack([negatives[:, :-1], between, positives[:, 1:], nothing])
        if knots is None or cells - 1 in knots:
            return np.asarray(noise)
        return np.delete(noise, own[0].size - 2, axis=1)

    def describe(self) -> Mapping[str, str | int | float]:
        return self.description
