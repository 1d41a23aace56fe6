"""The noise of a release that neighbours shift, for exact composition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .. import _check
from ..noise.laws import DiscreteGaussian, DiscreteLaplace
from .allowance import Law
from .guarantees import Privacy
from .loss_distributions import Gaussian, Laplace, Part

__all__ = ["Losses", "ShiftedNoise", "parts_of"]


@dataclass(frozen=True, slots=True)
class ShiftedNoise:
    """Independent draws of noise on integers that a neighbour changes.

    Parameters
    ----------
    law
        The law of each draw: a ``DiscreteLaplace`` or ``DiscreteGaussian`` of ``dpcore.noise``.
    shift
        By how much each integer changes at most, 1 or more.
    count
        The number of draws, 1 or more.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.noise import DiscreteLaplace
    >>> from dpcore.privacy import ShiftedNoise
    >>> ShiftedNoise(DiscreteLaplace(2), shift=1, count=2)
    ShiftedNoise(law=DiscreteLaplace(scale=Fraction(2, 1)), shift=1, count=2)
    """

    law: Law
    shift: int
    count: int = 1

    def __post_init__(self) -> None:
        laws = DiscreteLaplace | DiscreteGaussian
        _check.instance("law", self.law, laws, "must be a law of dpcore.noise")
        object.__setattr__(self, "shift", _check.integer("shift", self.shift, 1, 2**53))
        object.__setattr__(self, "count", _check.integer("count", self.count, 1, 2**53))


@dataclass(frozen=True, slots=True)
class Losses:
    """What is known of the privacy losses of one release, for ``composed``.

    Parameters
    ----------
    privacy
        The guarantee of the release.
    noise
        The draws of noise that a neighbour changes: all else in the release follows from noisy
        integers whose exact values are the same, or from public numbers. A later draw may be of an
        integer that was chosen by earlier ones. None: only the guarantee is known.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    A release of two counts, of which a replaced record changes both, with noise of scale 4:

    >>> import dpcore as dp
    >>> from dpcore.privacy import Losses, ShiftedNoise, composed
    >>> law = dp.noise.DiscreteLaplace(4)
    >>> losses = Losses(dp.Privacy(0.5), (ShiftedNoise(law, shift=1, count=2),))
    >>> round(composed(100 * [losses], 1e-6).epsilon, 2)
    21.91
    """

    privacy: Privacy
    noise: tuple[ShiftedNoise, ...] | None = None

    def __post_init__(self) -> None:
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        if self.noise is None:
            return
        _check.instance("noise", self.noise, tuple, "must be a tuple of ShiftedNoise")
        for shifted in self.noise:
            _check.instance("noise", shifted, ShiftedNoise, "must be a tuple of ShiftedNoise")


def parts_of(noise: Iterable[ShiftedNoise]) -> Iterator[tuple[Part, int]]:
    """Yield the losses of a draw of each noise, and the number of draws."""
    for one in noise:
        if isinstance(one.law, DiscreteLaplace):
            yield Laplace(one.law.scale, one.shift), one.count
        else:
            yield Gaussian(one.law.sigma_squared, one.shift), one.count
