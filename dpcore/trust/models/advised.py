"""What a trust model says about itself to those who choose the number of cells and clients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal, Self

from ...errors import ParameterError
from ..protocol.trust_models import TrustModel

__all__ = ["Advised", "Errors", "Purpose", "Sizes"]

Purpose = Literal["auc", "metrics", "calibration"]
Sizes = Mapping[Purpose, int]
Errors = dict[Purpose, float]


class Advised(TrustModel):
    """A trust model about which ``advise`` and ``enough`` can say something.

    Attributes
    ----------
    advised
        Its name there, and in descriptions.
    noisy_reports
        Whether each report has noise of its own. Then the variance of a count grows with the number
        of clients; otherwise it does not depend on it.
    """

    __slots__ = ()

    advised: ClassVar[str]
    noisy_reports: ClassVar[bool] = False

    @classmethod
    def for_advice(cls, epsilon: float | Fraction | None, clients: int) -> Self:
        """Return the trust model for clients with one record each, which checks epsilon.

        Its ``mean_squared_error`` says how large the noise is.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local.for_advice(2.0, 10_000).clients
        10000
        """
        if epsilon is None:
            raise ParameterError("epsilon", epsilon, f"must be a number for {cls.advised!r}")
        return cls(epsilon, clients)  # type: ignore[call-arg]  # as most trust models are made

    @classmethod
    @abstractmethod
    def theorem_errors(
        cls, epsilon: float, clients: float, heights: Sizes, buckets: Sizes
    ) -> Errors:
        """Return the errors by the federated paper's theorems with all constants 1.

        Parameters
        ----------
        epsilon, clients
            As in ``advise``.
        heights, buckets
            The advised heights and numbers of buckets, by purpose.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> sizes = {"auc": 8, "metrics": 8, "calibration": 8}
        >>> round(Local.theorem_errors(1.0, 10_000, sizes, sizes)["auc"], 2)
        0.08
        """
