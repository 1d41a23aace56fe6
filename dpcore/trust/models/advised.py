"""What a trust model says about itself to those who choose the number of cells and clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, Self, cast, get_args

from ...errors import ParameterError
from ..protocol.trust_models import TrustModel, trust_models

__all__ = ["PURPOSES", "Advised", "Errors", "Purpose", "Sizes", "advised_models"]

Purpose = Literal["auc", "metrics", "calibration", "cdf"]
PURPOSES: Final[tuple[Purpose, ...]] = get_args(Purpose)
Sizes = Mapping[Purpose, int]
Errors = dict[Purpose, float]


class Advised(TrustModel):
    """A trust model about which ``advise``, ``enough`` and ``overview`` can say something.

    Attributes
    ----------
    advised
        Its name there, and in descriptions.
    trusted
        Who has to be trusted, in a few words.
    purposes
        What releases of it are good for.
    noisy_reports
        Whether each report has noise of its own. Then the variance of a count grows with the number
        of clients; otherwise it does not depend on it.
    """

    __slots__ = ()

    advised: ClassVar[str]
    trusted: ClassVar[str]
    purposes: ClassVar[tuple[Purpose, ...]] = PURPOSES
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
        stated: dict[str, Any] = {"epsilon": cls._needed(epsilon), "clients": clients}
        own = {parameter.name for parameter in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in stated.items() if name in own})

    @classmethod
    def _needed(cls, epsilon: float | Fraction | None) -> float | Fraction:
        if epsilon is None:
            raise ParameterError("epsilon", epsilon, f"must be a number for {cls.advised!r}")
        return epsilon

    @classmethod
    def theorem_errors(
        cls, epsilon: float, clients: float, heights: Sizes, buckets: Sizes
    ) -> Errors:
        """Return the errors by the federated paper's theorems with all constants 1.

        They are those of sums whose noise does not grow with the number of clients.

        Parameters
        ----------
        epsilon, clients
            As in ``advise``.
        heights, buckets
            The advised heights and numbers of buckets, by purpose.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> sizes = {"auc": 8, "metrics": 8, "calibration": 8}
        >>> errors = DistributedNoise.theorem_errors(1.0, 10_000, sizes, sizes)
        >>> {purpose: round(error, 4) for purpose, error in errors.items()}
        {'auc': 0.0001, 'metrics': 0.0022, 'calibration': 0.0486}
        """
        return {
            "auc": (1.0 / epsilon + 1.0 / buckets["auc"]) / clients,
            "metrics": (epsilon * clients) ** (-2 / 3),
            "calibration": clients ** (-1 / 3) + clients ** (-2 / 3) / epsilon,
        }


def advised_models() -> dict[str, type[Advised]]:
    """Return all trust models with a name of their own for advice."""
    models = cast("list[type[Advised]]", trust_models(Advised))
    return {model.advised: model for model in models if "advised" in vars(model)}
