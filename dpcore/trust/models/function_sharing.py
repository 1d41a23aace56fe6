"""Function secret sharing: servers evaluate sums of step functions, and learn none of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal

from ... import _check
from ...mechanisms.hierarchy import Hierarchy
from ...privacy.allowance import Allowance
from .tree_of_shares import TreeOfShares

__all__ = ["FunctionSharing"]

_MOST_SERVERS: Final = 2**8


@dataclass(frozen=True, slots=True)
class FunctionSharing(TreeOfShares):
    """Differential privacy for counts that servers open, of functions that clients have shared.

    A client's record is a step function: 1 from its cell on, 0 before. The client shares this
    function among servers once, and is then no longer needed. Servers learn nothing about it unless
    all of them collude. But each server can evaluate its share at any threshold, and add up over
    clients. Each server adds noise on the nodes of a tree. It draws the noise once and remembers
    it, so the budget is spent once, however many thresholds are opened. Neighbours: one client's
    record is replaced.

    Parameters
    ----------
    epsilon
        The guarantee of all counts that are ever opened, for a client: a positive number. A
        Fraction is used exactly.
    servers
        The number of servers, 2 to 256. With two, a client sends keys of some hundred bytes
        (docs/proofs/function-sharing.md). With more, one server gets 8 bytes for each cell, and
        each other one 32 bytes.
    honest
        How many servers keep their noise secret, 1 to ``servers``: the noise of any that many
        servers has the guarantee. With 1, epsilon holds against all servers but one together. With
        ``servers``, it holds only against those who know no server's noise, and there is less
        noise. In any case the functions stay secret as long as one server keeps its keys secret.
    branching, budgets
        As in ``mechanisms.Hierarchy``.

    Attributes
    ----------
    records
        1: a client has one record.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative Distribution Functions*
    (the ECDF paper), section 4.2; docs/proofs/function-sharing.md has the guarantee. As a mechanism
    it releases the whole curve that the servers would open: it draws the noise of the sum exactly,
    and shares nothing. O(N) draws.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.FunctionSharing(epsilon=1.0)
    >>> curve = dp.cdf(rng.beta(2, 5, 10_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction
    servers: int = 2
    honest: int = 1
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    budgets: Literal["auto", "equal"] | Sequence[float] = "auto"
    records: ClassVar[int] = 1

    def __post_init__(self) -> None:
        servers = _check.integer("servers", self.servers, 2, _MOST_SERVERS)
        object.__setattr__(self, "servers", servers)
        object.__setattr__(self, "honest", _check.integer("honest", self.honest, 1, servers))
        object.__setattr__(self, "epsilon", _check.plain("epsilon", self.epsilon))
        tree = self._hierarchy()
        object.__setattr__(self, "branching", tree.branching)
        object.__setattr__(self, "budgets", tree.budgets)

    @property
    def required(self) -> int:
        """How many servers make up the noise that the guarantee needs: the honest ones."""
        return self.honest

    @property
    def reports(self) -> int:
        """How many servers add noise."""
        return self.servers

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import FunctionSharing
        >>> trust = FunctionSharing(epsilon=1.0, servers=3, honest=2)
        >>> {name: trust.describe()[name] for name in ("epsilon", "servers", "honest")}
        {'epsilon': 1.0, 'servers': 3, 'honest': 2}
        """
        of_tree = self._hierarchy().describe()
        return {
            "name": "function-sharing",
            "epsilon": float(self.epsilon),
            "servers": self.servers,
            "honest": self.honest,
            "branching": of_tree["branching"],
            "budgets": of_tree["budgets"],
        }

    def _hierarchy(self) -> Hierarchy:
        return Hierarchy(self.epsilon, self.branching, self.budgets)

    def _budget(self) -> Allowance:
        return Allowance.checked(self.epsilon, None, "replace-one")
