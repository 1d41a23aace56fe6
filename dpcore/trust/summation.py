"""The sum of a declared function over records that are in one place, under any trust model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from .._threads import checked_workers, on_threads
from ..errors import DtypeError, ParameterError
from ..noise.sources import Source, source
from ..privacy.guarantees import Neighbours, with_rho
from ..privacy.spending import releasing
from .functions.function import Function, check_function, checked_values
from .protocol.released_sums import ReleasedSum
from .protocol.trust_models import Bounded, Summing, names_of

__all__ = ["vector_sum"]

_NUMBERS: Final = 2**17  # values in a block of records, which a thread rounds


@documented
def vector_sum(
    records: Any,
    function: Function,
    trust: Summing,
    *,
    neighbours: Neighbours = "replace-one",
    rng: np.random.Generator | None = None,
    workers: int | None = None,
) -> ReleasedSum:
    """Release the sum of a declared function over records.

    This is for one curator, and for studies of other trust models. It draws the noise of the sum at
    once, by the law that the reports of all clients would give it.

    Parameters
    ----------
    records
        (n,) numbers, or (n, a) for a function of several numbers; none missing.
    function
        The declared function, from ``trust.functions``.
    trust
        Central, SecureAggregation or DistributedNoise. With DistributedNoise, each record is the
        one of a client that reports; with ``records=None``, clients have any number of them.
    neighbours
        "replace-one": n is public. "add-or-remove-one", with Central: it is not, and a record
        changes the sum by at most the bound of the function, instead of its width. The stated
        deviation is then that of the noise alone, as that of rounding depends on n.
    rng
        {rng}
    workers
        The number of threads; None for all processors.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above, or the budget is too small for so many values.

    Notes
    -----
    docs/proofs/vector-sums.md. O(n d).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.trust.functions import Identity, Product, Together
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 10, 10_000)
    >>> first, second = Identity(0, 10), Identity(0, 30, at=1)
    >>> sums = Together([first, second, Product(first, first), Product(first, second)])
    >>> trust = dp.trust.DistributedNoise(rho=0.5, clients=x.size)
    >>> released = dp.trust.vector_sum(np.stack([x, 2 * x + 3], axis=1), sums, trust, rng=rng)
    >>> mean_x, mean_y, xx, xy = released.total / released.n
    >>> round(float((xy - mean_x * mean_y) / (xx - mean_x**2)), 2)  # the slope
    2.0
    """
    check_function("function", function)
    if not isinstance(trust, Summing):
        raise DtypeError("trust", type(trust).__name__, f"must be a {names_of(Summing)}")
    _check.choice("neighbours", neighbours, Neighbours)
    given, threads = function.records(records), checked_workers(workers)
    stream = source(rng)
    noise = trust.sum_noise(function, neighbours)
    _check_number(trust, given.shape[0], neighbours)
    if given.shape[0]:
        checked_values(function, given[:1])  # refuses another shape before the charge
    rows = max(1, _NUMBERS // function.size)
    starts = range(0, given.shape[0], rows)
    own, *streams = stream.spawn(1 + len(starts))
    totals = np.zeros((len(starts), function.size), np.int64)

    def fill(block: tuple[int, Source]) -> None:
        at, source_of_bits = block
        totals[at] = noise.added_up(function, given[at * rows : (at + 1) * rows], source_of_bits)

    of_trust = replace(trust.privacy, neighbours=neighbours)
    of_trust = with_rho(of_trust, noise.rho(neighbours))
    with releasing(of_trust, "vector_sum", rng) as privacy:
        on_threads(fill, list(enumerate(streams)), threads)
        noisy: NDArray[np.int64] = totals.sum(axis=0) + noise.drawn(own)
    n = given.shape[0] if neighbours == "replace-one" else None
    return ReleasedSum(
        # Where n is not public, 0 stands for no value, and nothing is said of rounding.
        total=noise.lattice.values(noisy, n or 0),
        deviation=noise.deviation(n or 0, function.is_whole),
        n=n,
        function=function,
        privacy=privacy,
        mechanism=trust.describe(),
    )


def _check_number(trust: Summing, n: int, neighbours: Neighbours) -> None:
    """Check that there are as many records as the trust model says, if that is public."""
    if n == 0 and neighbours == "replace-one":
        raise ParameterError("records", n, "must be at least one record")
    reporters = trust.reporters if isinstance(trust, Bounded) and trust.records == 1 else None
    if reporters is not None and n != reporters:
        what = f"must be those of the {reporters} clients that report"
        raise ParameterError("records", n, f"{what}; records=None is for clients with any number")
