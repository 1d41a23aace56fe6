"""Function secret sharing: servers that evaluate sums of step functions, and know none."""

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
    """Differential privacy for what servers open, of functions that clients have shared with them.

    A client's record is a step function: 1 from its cell on, 0 before. The client shares this
    function among servers once, and goes home. Servers that do not all collude learn nothing of it,
    but each can evaluate its share at any threshold and add up over clients. Each server adds noise
    on the nodes of a tree, drawn once and remembered, so that the budget is spent once, however
    many thresholds are opened. Neighbours: one client's record replaced.

    Parameters
    ----------
    epsilon
        Of all that is ever opened, for a client: a positive number (a Fraction is taken exactly).
    servers
        How many, 2 to 256. Two: keys of some hundred bytes (docs/function-sharing.md). More: one
        server gets 8 bytes for each cell, all others 32 bytes.
    honest
        How many servers keep their noise to themselves, 1 to ``servers``: the noise of any so many
        has the guarantee. 1: epsilon holds against all servers but one together. As many as there
        are: only against those who know no server's noise, with less noise. Whatever it is, the
        functions stay secret as long as one server does not share what it has.
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
    ECDF paper (Barczewski, Mawass & Ramon), section 4.2; docs/pointwise.md has the guarantee. As a
    mechanism it releases the whole curve that the servers would open: the law of the sum is drawn
    exactly, and nothing is shared. O(N) draws.

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
        """How many servers' noise is what it takes: of the honest ones."""
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
