"""The result of a test of distributions, with the statistic and its p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.stored import Stored
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from .differences import Statistic

__all__ = ["DistributionTest"]

_OfHazards = Literal["log-rank", "wilcoxon", "tarone-ware", "peto", "fleming-harrington"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class DistributionTest(Stored):
    """A test of one release against a law, or of two or more releases against each other.

    Made by ``goodness_of_fit``, ``two_sample_test``, ``equivalence_test``, ``chi_square_test`` and
    ``log_rank_test``.

    Parameters
    ----------
    name
        The name of the statistic.
    n
        The numbers of records of the releases.
    statistic
        The statistic, in units of the values for "wasserstein", without a unit otherwise.
    pvalue
        The probability of a statistic at least as extreme, if the null hypothesis is true.
    simulations
        How many releases, or pairs of them, were simulated.
    privacy
        The guarantees of the releases. A test of exact curves is not stored. Equal are tests with
        equal numbers.
    margin
        Of a test of equivalence: the null hypothesis is that populations are at least so far apart.
        None: it is that they do not differ.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 64)
    >>> curve = dp.cdf(rng.random(500), grid, epsilon=1.0, rng=rng)
    >>> dp.goodness_of_fit(curve, lambda t: t**1.5)
    <DistributionTest: kolmogorov-smirnov 0.175, p = 0.001, 500 records>
    """

    _kind = "dpcore.distribution-test"

    name: Statistic | Literal["chi-square"] | _OfHazards = field(metadata=forms.TEXT)
    n: tuple[int, ...] = field(metadata=forms.tuple_of(forms.WHOLE))
    statistic: float = field(metadata=forms.NUMBER)
    pvalue: float = field(metadata=forms.NUMBER)
    simulations: int = field(metadata=forms.WHOLE)
    privacy: tuple[Privacy, ...] = field(compare=False, metadata=forms.tuple_of(forms.PRIVACY))
    margin: float | None = field(default=None, metadata=forms.optional(forms.NUMBER))

    def __post_init__(self) -> None:
        _check.choice("name", self.name, Literal[Statistic, "chi-square", _OfHazards])
        _check.instance("n", self.n, tuple, "must be a tuple")
        if not self.n:
            raise ParameterError("n", self.n, "must be one number of records or more")
        _check.tuple_of("n", self.n, int, len(self.n))
        for name, most in (("statistic", math.inf), ("pvalue", 1.0)):
            _check.held(name, value := getattr(self, name))
            if not 0.0 <= value <= most:  # NaN is not
                raise ParameterError(name, value, f"must be within [0, {most:g}]")
        _check.integer("simulations", self.simulations, 0, 2**63 - 1)
        _check.tuple_of("privacy", self.privacy, Privacy, len(self.n))
        if self.margin is not None:
            _check.held("margin", self.margin)

    def _guarantees(self) -> tuple[Any, ...]:
        return self.privacy

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

    def __repr__(self) -> str:
        records = " and ".join(f"{each:,}" for each in self.n)
        below = "" if self.margin is None else f" of a distance of {self.margin:g} or more"
        return (
            f"<DistributionTest: {self.name} {self.statistic:.3g}, p = {self.pvalue:.2g}{below},"
            f" {records} records>"
        )
