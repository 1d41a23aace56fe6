"""Release how well calibrated a classifier is for each of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.likely_mistakes import SURE, warn
from ..errors import ParameterError, shown
from ..noise.sources import source
from ..privacy.allowance import Allowance, Law, rho_of
from ..privacy.guarantees import with_rho
from ..privacy.lattice import integer_noise
from ..privacy.spending import releasing
from ..records.labels import Label
from ..statistics.classwise_calibration import ClasswiseCalibration
from ..summaries.class_probabilities import classes_of
from ..summaries.class_sums import CLASS_BITS, check_classes_and_cells, class_sums
from ..summaries.grid import Grid
from ..summaries.totals import NanPolicy
from .hosmer_lemeshow import grid_of_probabilities

__all__ = ["ClassNoise", "classwise_calibration", "noise_of_classes"]

_CELLS: Final = 10
_LEAST_BITS: Final = 8
_CHANGES: Final = 4  # of all sums together: in absolute values, and in squares


class ClassNoise(NamedTuple):
    """The noise in each sum.

    Parameters
    ----------
    law
        Its law, in units of 2^-bits.
    bits
        The fixed point of the sums.
    """

    law: Law
    bits: int


@documented
def classwise_calibration(
    y_true: Any,
    y_prob: Any,
    classes: Sequence[Label],
    grid: Grid | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ClasswiseCalibration:
    """Release the class-wise calibration of a classifier with several classes.

    All K classes together cost as much as one, since the probabilities of a record add up to 1.
    Neighbours: one record is replaced, with its label and its probabilities. The number of
    records is public; those of the classes are not. For top-label calibration, use ``top_label``.

    Parameters
    ----------
    y_true
        (n,) labels, n >= 1, in memory. A record whose label is not among ``classes`` counts in
        their expected numbers alone.
    y_prob
        (n, K) array, or what NumPy makes one of, such as a data frame: the probability of each
        class. Those beyond [0, 1] count as its ends. Where a row adds up to more than 1, it is
        divided by its sum.
    classes
        (K,) public labels of the columns, all different, K at least 2: ``classes_`` of
        scikit-learn's estimators.
    grid
        Public thresholds of the probabilities within [0, 1]; the last one must be 1. None: ten
        even cells. With many classes, cells should be narrow near 0.
    epsilon, rho, delta
        {budget}
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    ClasswiseCalibration
        With ``expected_calibration_error``, its interval, ``ratio``, ``to_frame`` and ``plot``.

    Warns
    -----
    DpcoreWarning
        A class that is expected may have no records.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they depend on types and shapes alone.

    Notes
    -----
    The class-wise calibration error is that of Kull et al. (2019) and Nixon et al. (2019): the mean
    over classes of the sum over cells of abs(observed - expected) / n. Each number has Laplace
    noise of scale 4 / epsilon, or Gaussian noise of variance 2 / rho, for any K
    (docs/proofs/vector-sums.md, section 8); with delta, it is the smaller of both kinds.
    Probabilities are rounded down to multiples of 2^-24. The cost is O(n K log N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> y_prob = rng.dirichlet([1, 1, 1], 20_000)
    >>> y_true = (rng.random(20_000)[:, np.newaxis] > y_prob.cumsum(axis=1)).sum(axis=1)
    >>> found = dp.classwise_calibration(y_true, y_prob, [0, 1, 2], epsilon=1.0)
    >>> found.n, found.expected_calibration_error < 0.02
    (20000, True)
    """
    labels = classes_of(classes)
    chosen = Grid.uniform(0.0, 1.0, _CELLS) if grid is None else grid_of_probabilities(grid)
    check_classes_and_cells(len(labels), chosen.size)
    stated = Allowance.checked(epsilon, rho, "replace-one", delta)
    budget, (law, bits) = _least_noise(stated, 2 * len(labels) * chosen.size)
    stream = source(rng)
    _check.choice("nan_policy", nan_policy, NanPolicy)
    sums = class_sums(y_true, y_prob, labels, chosen, bits, nan_policy=nan_policy)
    if sums.n < 1:
        raise ParameterError("y_true", sums.n, "must hold at least one record")
    drawn = np.empty(2 * sums.observed.size, np.int64)
    cost = with_rho(budget.privacy, rho_of(law, _CHANGES * 4**bits))
    with releasing(cost, "classwise_calibration", rng) as privacy:
        law.fill(drawn, stream)
    exact = np.stack([sums.observed << bits, sums.expected])
    observed, expected = np.ldexp((exact + drawn.reshape(exact.shape)).astype(np.float64), -bits)
    found = ClasswiseCalibration(
        classes=labels,
        grid=chosen,
        observed=observed,
        expected=expected,
        n=sums.n,
        noise_deviation=law.variance**0.5 / 2.0**bits,
        privacy=privacy,
        bits=bits,
    )
    _warn_of_empty_class(found)
    return found


def _warn_of_empty_class(found: ClasswiseCalibration) -> None:
    """Warn of the first class that is expected, and that may have no records."""
    observed, expected = found.observed.sum(axis=1), found.expected.sum(axis=1)
    noise = SURE * found.noise_deviation * found.grid.size**0.5
    empty = np.flatnonzero((observed <= noise) & (expected > 2 * noise))
    if empty.size:
        what = "is expected, and the released number of its records is within its noise of 0"
        warn(f"class {shown(found.classes[empty[0]])} {what}: is it a label that records have?")


def _least_noise(stated: Allowance, sums: int) -> tuple[Allowance, ClassNoise]:
    """Return what is spent, and its noise; with delta, it may be less noise to spend none of it."""
    found = []
    for budget in filter(None, (stated, stated.pure)):
        with suppress(ParameterError):
            found.append((budget, noise_of_classes(budget, sums)))
    if not found:
        noise_of_classes(stated, sums)  # raises
    return min(found, key=lambda each: each[1].law.variance / 4.0 ** each[1].bits)


def noise_of_classes(budget: Allowance, sums: int) -> ClassNoise:
    """Return the noise of a budget, with the finest sums that its samplers take.

    Neighbours' observed numbers change by 2 in all, and so do the expected ones
    (docs/proofs/vector-sums.md, section 8).

    Raises
    ------
    ParameterError
        The budget is too small.
    """
    for bits in range(CLASS_BITS, _LEAST_BITS, -1):
        try:
            return _noise(budget, bits, sums)
        except ParameterError:
            continue
    return _noise(budget, _LEAST_BITS, sums)


def _noise(budget: Allowance, bits: int, sums: int) -> ClassNoise:
    if budget.epsilon is not None:
        return ClassNoise(budget.law(_CHANGES * 2**bits), bits)
    return ClassNoise(integer_noise(budget, Fraction(_CHANGES * 4**bits), sums), bits)
