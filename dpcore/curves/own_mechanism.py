"""The mechanism that released a curve: what simulations need of it, and whether it is the one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _instead
from ..errors import DtypeError, ParameterError

__all__ = ["REPLICATES", "Released", "Releases", "SumOfReleases", "check_released"]

REPLICATES: Final = 200  # with so many, a deviation has an error of 5 %, and a level one of 0.5 %
_PROCESSINGS: Final = ((), ("isotonic()",))  # steps that simulated curves also get


@runtime_checkable
class Releases(Protocol):
    """What a simulation needs of a mechanism, or of several that release together."""

    @property
    def is_additive(self) -> bool:
        """Whether a release is the exact counts plus noise whose law does not depend on them."""
        ...

    @property
    def loses_records(self) -> bool:
        """Whether a release loses detail besides noise, which a simulation does not show."""
        ...

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return noisy cumulative counts, (N,) or (replicates, N), from exact counts of cells."""
        ...

    def simulated_noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        *,
        knots: NDArray[np.int64] | None = None,
        n: int | None = None,
    ) -> NDArray[np.float64]:
        """Return noise as in releases of N counts, at the knots, (replicates, K), or (.., N)."""
        ...

    def describe(self) -> Mapping[str, str | int | float]:
        """Return the name and the parameters that a release records."""
        ...


class Released(Protocol):
    """What a curve states of its release."""

    @property
    def mechanism(self) -> Mapping[str, str | int | float]:
        """The name and the parameters of the mechanism."""
        ...

    @property
    def processing(self) -> tuple[str, ...]:
        """The processing steps since the release."""
        ...


@dataclass(frozen=True, slots=True)
class SumOfReleases:
    """The mechanisms of several curves of disjoint records, as that of their sum, for simulations.

    Parameters
    ----------
    parts
        The mechanisms.
    sizes
        The numbers of records of the curves.
    description
        What the sum records of its release.

    Notes
    -----
    Where an error depends on the records, each simulation divides them among the parts at random.
    """

    parts: tuple[Releases, ...]
    sizes: tuple[int, ...]
    description: Mapping[str, str | int | float] = field(hash=False)  # a dictionary has no hash

    @property
    def is_additive(self) -> bool:
        """Whether all parts are."""
        return all(part.is_additive for part in self.parts)

    @property
    def loses_records(self) -> bool:
        """Whether a part does."""
        return any(part.loses_records for part in self.parts)

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return simulated releases. Without a generator there is none: curves have their own."""
        if rng is None:
            what = "must be given, for a simulation: each of several curves has its own release"
            raise ParameterError("rng", None, what)
        if replicates is not None:
            each = [self.release(counts, rng=rng) for _ in range(replicates)]
            return np.asarray(np.stack(each), np.float64)
        if self.is_additive:
            return np.asarray(np.cumsum(counts) + self.simulated_noise(counts.size, 1, rng)[0])
        left, released = np.asarray(counts, np.int64), np.zeros(counts.size)
        for part, size in zip(self.parts, self.sizes, strict=True):
            own = rng.multivariate_hypergeometric(left, size, method="marginals")
            released += part.release(own, rng=rng)
            left = left - own
        return released

    def simulated_noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        *,
        knots: NDArray[np.int64] | None = None,
        n: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of simulated noise of all parts."""
        noise = np.zeros((replicates, size if knots is None else knots.size))
        for part, own in zip(self.parts, self.sizes, strict=True):
            noise += part.simulated_noise(size, replicates, rng, knots=knots, n=own)
        return noise

    def describe(self) -> Mapping[str, str | int | float]:
        """Return what the sum records of its release."""
        return self.description


def check_released(argument: str, curve: Released, mechanism: object) -> Releases:
    """Return the mechanism, if it is the one that the curve, given as ``argument``, names."""
    if isinstance(mechanism, type) or not isinstance(mechanism, Releases):
        raise DtypeError("mechanism", type(mechanism).__name__, _instead.mechanism(mechanism))
    if curve.processing not in _PROCESSINGS:
        given = curve.processing
        raise ParameterError(argument, given, "must be raw, or isotonic(), to be simulated")
    if mechanism.describe() != curve.mechanism:
        own = curve.mechanism
        raise ParameterError("mechanism", mechanism.describe(), f"must be the curves' own, {own}")
    return mechanism
