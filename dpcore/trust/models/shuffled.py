"""Local reports behind a shuffler: their senders are hidden, so each may have less noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...mechanisms.base import Mechanism, Work
from ...privacy.concentrated import probability
from ...privacy.guarantees import Privacy, double_above
from ...privacy.shuffling import central_delta, largest_local, mixed, of_two_values
from ...summaries.grid import MOST_CELLS
from .local import Local

__all__ = ["Shuffled"]

_MOST_GAIN: Final = 2.0  # of the local epsilon, by knowing the tree
_HALVINGS: Final = 12  # of that interval
_STEPS: Final = 2**10  # a local epsilon is a multiple of 1 / _STEPS


@dataclass(frozen=True, slots=True)
class Shuffled(Mechanism):
    """Differential privacy for all reports together, which a shuffler has mixed.

    Clients report as in ``Local``, with a larger local epsilon. A shuffler takes off who sent
    which, and passes the reports on in a random order. So they hide each other, and all together
    have the central guarantee (epsilon, delta). The shuffler is trusted with that, and need not see
    what it passes on. If it tells who sent what, the local guarantee is left.

    Parameters
    ----------
    epsilon, delta
        The central guarantee. delta is the probability with which it may fail; take far less than
        1 / clients.
    clients
        M, the number of clients that report, which is public. All must be honest: reports that an
        observer knows hide nobody.
    branching
        The branching of the tree, as in ``Local``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/privacy.md, section 10, after Feldman, McMillan & Talwar 2021 and Balle, Bell,
    Gascon & Nissim 2019. Neighbours: one client's record is replaced. The local epsilon depends on
    the grid, as reports about more nodes hide each other better. A release is made as by ``Local``.
    There is no round: clients take part in one of ``local(size)``, which states the local
    guarantee, as no server can check the shuffler. Its reports must not carry addresses, tickets
    (``Enrolment``) or times of arrival.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.Shuffled(epsilon=1.0, delta=1e-6, clients=100_000)
    >>> curve = dp.cdf(rng.beta(2, 5, 100_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2), curve.privacy.epsilon, curve.privacy.delta
    (0.26, 1.0, 1e-06)
    >>> round(trust.local(256).privacy.epsilon, 2)
    7.81
    """

    epsilon: float | Fraction
    delta: float
    clients: int
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    advised: ClassVar[str] = "shuffled"
    trusted: ClassVar[str] = "a shuffler"

    def __post_init__(self) -> None:
        reports = Local(self.epsilon, self.clients, self.branching)  # checks, and pure epsilon
        for name in ("epsilon", "clients", "branching"):
            object.__setattr__(self, name, getattr(reports, name))
        object.__setattr__(self, "delta", probability("delta", self.delta))

    @property
    def privacy(self) -> Privacy:
        """The central guarantee."""
        return Privacy(double_above(Fraction(self.epsilon)), self.delta)

    def local(self, size: int) -> Local:
        """Return how clients report over N cells: ``Local`` with the local epsilon.

        Raises
        ------
        ParameterError
            There are fewer clients than levels.

        Notes
        -----
        It takes up to some seconds, once for each size.

        Examples
        --------
        >>> from dpcore.trust import Shuffled
        >>> for clients in (1_000, 1_000_000):
        ...     print(round(Shuffled(0.5, 1e-6, clients).local(64).epsilon, 2))
        2.7
        8.91
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        tree = self.branching if isinstance(self.branching, str | int) else tuple(self.branching)
        return _local(Fraction(self.epsilon), self.delta, self.clients, tree, size)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return a bound on the standard deviation of the error in each cumulative count, (N,).

        Examples
        --------
        >>> from dpcore.trust import Shuffled
        >>> Shuffled(epsilon=1.0, delta=1e-6, clients=10_000).noise_deviation(4).round()
        array([11.,  9., 11.,  0.])
        """
        return self.local(size).noise_deviation(size)

    def estimated_deviation(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of the error in each count of a release, (N,).

        It is an estimate, for many clients, as in ``Local``.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import Shuffled
        >>> trust, rng = Shuffled(1.0, 1e-6, clients=10_000), np.random.default_rng(1)
        >>> released = trust.release(np.array([9000, 600, 300, 100]), rng=rng)
        >>> trust.estimated_deviation(released).round()
        array([11.,  9.,  7.,  0.])
        """
        released = _check.cumulative_counts("released", released)
        return self.local(released.shape[-1]).estimated_deviation(released)

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        It is in closed form, for records that are spread over the cells. It is not a bound.

        Examples
        --------
        >>> from dpcore.trust import Local, Shuffled
        >>> for trust in (Local(1.0, 100_000), Shuffled(1.0, 1e-6, 100_000)):
        ...     print(round(trust.mean_squared_error(256) ** 0.5))  # in counts
        1476
        47
        """
        return self.local(size).mean_squared_error(size)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import Shuffled
        >>> description = Shuffled(epsilon=1.0, delta=1e-6, clients=1000).describe()
        >>> description["name"], description["delta"], description["clients"]
        ('shuffled', 1e-06, 1000)
        """
        own = Local(self.epsilon, self.clients, self.branching).describe()
        return {
            "name": self.advised,
            "epsilon": own["epsilon"],
            "delta": self.delta,
            "clients": self.clients,
            "branching": own["branching"],
        }

    def _check_total(self, total: int, size: int) -> None:
        if total != self.clients:
            raise ParameterError("counts", total, f"must sum to the {self.clients} clients")

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        return self.local(exact.size)._prepared(exact)


@lru_cache(maxsize=64)
def _local(epsilon: Fraction, delta: float, clients: int, branching: Any, size: int) -> Local:
    """Return reports with nearly the largest local epsilon that implies the central guarantee.

    One that is enough for any tree chooses the tree, for which a larger one may be enough.
    """
    wanted = -double_above(-epsilon)  # rounded down

    def is_enough(own: float) -> bool:
        return central_delta([(clients, of_two_values(own))], wanted) <= delta

    first = _rounded(wanted, largest_local(wanted, is_enough))
    tree = Local(first, clients, branching).levels(size)[0]

    def is_enough_for_tree(own: float) -> bool:
        """Whether levels are dealt out, as in a release, or drawn by clients, as in a round."""
        reports = Local(own, clients, tree)
        encodings, asked = reports.encodings(size), reports.levels(size)[1].tolist()
        dealt = [(one, way._blanket) for one, way in zip(asked, encodings, strict=True)]
        each = (dealt, [(clients, mixed(dealt))])
        return all(central_delta(groups, wanted) <= delta for groups in each)

    if not tree:
        return Local(first, clients, tree)
    own = largest_local(first, is_enough_for_tree, first + _MOST_GAIN, _HALVINGS)
    own = _rounded(first, own)  # where other numbers of clients are asked for the levels
    return Local(own if is_enough_for_tree(own) else first, clients, tree)


def _rounded(least: float, epsilon: float) -> float:
    """Round a local epsilon down, so that machines agree on it."""
    return max(least, math.floor(epsilon * _STEPS) / _STEPS)
