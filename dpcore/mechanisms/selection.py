"""Selection: the exponential mechanism, and the sparse vector technique."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..kernels.selection import selection
from ..noise.laws import DiscreteLaplace
from ..noise.sources import Source, source
from ..noise.windows import fill
from ..privacy.allowance import Allowance, rho_of_choice
from ..privacy.guarantees import Privacy, with_rho
from ..privacy.spending import spending_choice
from ..summaries.grid import MOST_CELLS

__all__ = ["above_threshold", "exponential_mechanism", "last_class"]

_MOST_REPLICATES: Final = 2**40
_MOST_SENSITIVITY: Final = 2**40
_MOST_QUERY: Final = 2**60  # the noise saturates at 2^62, so sums stay within 64 bits
_BLOCK_DRAWS: Final = 2**16


@overload
def exponential_mechanism(
    scores: ArrayLike,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: None = None,
) -> int: ...


@overload
def exponential_mechanism(
    scores: ArrayLike,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int,
) -> NDArray[np.int64]: ...


def exponential_mechanism(
    scores: ArrayLike,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int | None = None,
) -> int | NDArray[np.int64]:
    """Draw a candidate with probability proportional to exp(epsilon score / (2 sensitivity)).

    For monotonic scores the factor 2 is left out.

    Parameters
    ----------
    scores
        (N,) integers that fit int64, 1 <= N <= 2^24. Better candidates have higher scores.
    epsilon
        The budget, a positive number. It is converted to a fraction exactly.
    sensitivity
        The largest change of a score between neighbours, 1 or more.
    monotonic
        Whether between any two neighbours either no score rises or no score falls. If you state
        this and it is not true, the guarantee of epsilon does not hold.
    rng
        None for a release: a cryptographic source. A generator is for studies; the draw advances
        it.
    replicates
        None for one draw, or the number of independent draws. Each of them spends epsilon.

    Returns
    -------
    int or numpy.ndarray
        The index of the candidate; for replicates (replicates,) int64.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or 2 sensitivity / epsilon exceeds 2^40 (without the 2 for
        monotonic scores).

    Notes
    -----
    McSherry & Talwar, *Mechanism design via differential privacy* (2007), Theorem 6: the draw is
    epsilon-differentially private for any relation for which the sensitivity holds
    (docs/proofs/selection.md). It uses integer arithmetic on random bits and no floating point. So
    the law is exact, for an epsilon that is rounded down if 2 sensitivity / epsilon has more than
    31 bits. A draw takes O(N), a few passes over the scores. Each replicate takes as many again.

    With monotonic scores the best candidate's weight and the sum of all weights change in the same
    direction, so one factor exp(epsilon) bounds both (docs/proofs/selection.md).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> votes = [3, 41, 38, 5]
    >>> dp.mechanisms.exponential_mechanism(votes, epsilon=1.0, rng=np.random.default_rng(1))
    1
    >>> rng = np.random.default_rng(1)
    >>> drawn = dp.mechanisms.exponential_mechanism(votes, epsilon=1.0, rng=rng, replicates=1000)
    >>> np.bincount(drawn, minlength=4)
    array([  0, 824, 176,   0])
    """
    own = _integers("scores", scores)
    repeat = _repeat(replicates)
    _check.flag("monotonic", monotonic)
    budget = _budget(epsilon)
    law = budget.law((1 if monotonic else 2) * _sensitivity(sensitivity))
    assert isinstance(law, DiscreteLaplace)
    assert budget.epsilon is not None
    stream, rate = source(rng), 1 / law.scale
    firsts = np.array(
        [-(-c * rate.denominator // rate.numerator) for c in range(last_class(own.size) + 1)],
        np.uint64,
    )
    members = np.empty(firsts.size, np.int64)
    best = selection.classes(own, firsts, members)
    fixed = own, best, firsts, members, np.uint64(rate.numerator), np.uint64(rate.denominator)
    drawn = np.empty(repeat, np.int64)
    each = with_rho(budget.privacy, rho_of_choice(budget.epsilon))
    with spending_choice(_all(each, repeat, stream), "exponential_mechanism"):
        fill(drawn, stream, lambda words, rest: selection.exponential(words, rest, *fixed))
    return drawn if replicates is not None else int(drawn[0])


@overload
def above_threshold(
    queries: ArrayLike,
    threshold: int,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: None = None,
) -> int: ...


@overload
def above_threshold(
    queries: ArrayLike,
    threshold: int,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int,
) -> NDArray[np.int64]: ...


def above_threshold(
    queries: ArrayLike,
    threshold: int,
    *,
    epsilon: float | Fraction,
    sensitivity: int = 1,
    monotonic: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int | None = None,
) -> int | NDArray[np.int64]:
    """Find the first query that reaches a threshold, with noise on both.

    This is the sparse vector technique with one answer. Its cost is the same for any number of
    queries.

    Parameters
    ----------
    queries
        (N,) integers that fit int64, 1 <= N <= 2^24: the exact answers, in the order of the search.
    threshold
        A public integer within +-2^60.
    epsilon
        The budget, a positive number. It is converted to a fraction exactly.
    sensitivity
        The largest change of a query between neighbours, 1 or more.
    monotonic
        Whether between any two neighbours either no query rises or no query falls. Cumulative
        counts have this property if one record is replaced. Queries then get half the noise. If you
        state this and it is not true, the guarantee of epsilon does not hold.
    rng
        None for a release: a cryptographic source. A generator is for studies; the search advances
        it.
    replicates
        None for one search, or the number of independent searches. Each of them spends epsilon.

    Returns
    -------
    int or numpy.ndarray
        The index of the first query that reaches the threshold. It is N - 1 if no query before the
        last one does, so the last query should be one that may always be the answer. For
        replicates (replicates,) int64.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or a noise scale exceeds 2^40.

    Notes
    -----
    Dwork & Roth 2014, Algorithm 1 and Theorem 3.23, and for monotonic queries Lyu, Su & Li,
    *Understanding the sparse vector technique for differential privacy* (2017), Theorem 3. The
    noise is discrete Laplace noise. Its scale is 2 sensitivity / epsilon on the threshold. On
    queries it is twice that, or the same if they are monotonic. docs/proofs/selection.md has the
    proofs for this noise. The search takes O(N). Queries beyond +-2^60 are set to that bound.

    Examples
    --------
    >>> above_threshold([0, 0, 900, 1000], 500, epsilon=1.0)
    2
    """
    own = np.clip(_integers("queries", queries), -_MOST_QUERY, _MOST_QUERY)
    own -= _check.integer("threshold", threshold, -_MOST_QUERY, _MOST_QUERY)
    _check.flag("monotonic", monotonic)
    repeat, moved = _repeat(replicates), _sensitivity(sensitivity)
    half, budget = Fraction(1, 2), _budget(epsilon)
    of_threshold = budget.law(moved, half)
    of_queries = budget.law(moved if monotonic else 2 * moved, half)
    stream = source(rng)
    indices = np.empty(repeat, np.int64)
    rows = max(1, _BLOCK_DRAWS // own.size)
    with spending_choice(_all(budget.privacy, repeat, stream), "above_threshold"):
        for start in range(0, repeat, rows):
            block = indices[start : start + rows]
            least = np.empty(block.size, np.int64)
            of_threshold.fill(least, stream)
            noisy = np.empty((block.size, own.size), np.int64)
            of_queries.fill(noisy.reshape(-1), stream)
            noisy += own
            reached = noisy >= least[:, np.newaxis]
            reached[:, -1] = True
            block[:] = reached.argmax(axis=1)
    return indices if replicates is not None else int(indices[0])


def _budget(epsilon: object) -> Allowance:
    """Return the budget, for the relation for which the sensitivity is stated."""
    return Allowance.checked(epsilon, None, "replace-one")


def _all(each: Privacy, repeat: int, stream: Source) -> Privacy:
    """Return the cost of independent draws."""
    return replace(repeat * each, simulated=stream.simulated)


def _integers(argument: str, value: ArrayLike) -> NDArray[np.int64]:
    array = _check.array(argument, value, "iuf", "must hold integers that fit int64")
    if array.ndim == 1 and array.size == 0:
        raise ParameterError(argument, array.shape, "must not be empty")
    if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64):
        raise DtypeError(argument, f"dtype {array.dtype}", "must hold integers that fit int64")
    if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
        raise ParameterError(
            argument, array.shape, f"must be one-dimensional, with 1 to {MOST_CELLS} entries"
        )
    return np.ascontiguousarray(array, np.int64)


def _sensitivity(value: object) -> int:
    return _check.integer("sensitivity", value, 1, _MOST_SENSITIVITY)


def _repeat(replicates: int | None) -> int:
    return (
        1 if replicates is None else _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
    )


def last_class(size: int) -> int:
    """Return T for ``size`` candidates: the least T >= 1 with 2^T >= size."""
    return max(1, (size - 1).bit_length())
