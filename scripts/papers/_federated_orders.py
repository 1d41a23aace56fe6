"""Table 1 of the federated paper: its orders, the sizes of its theorems, and fitted exponents."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from ._federated import LOCAL, MODELS, Reals, slope

STEPS = (0, 1, 2, 3)
ORDERS = {  # Table 1, and the exponent of what is varied
    "metrics": (("1 / B", -1), ("1 / (ε M)^(2/3)", -2 / 3), ("1 / (ε^(2/3) M^(1/3))", -1 / 3)),
    "area": (("1 / B^2", -2), ("(1 / ε + 1 / B) / M", -1), ("h / (ε M^(1/2))", -1 / 2)),
    "calibration": (
        ("1 / M^(1/3)", -1 / 3),
        ("1 / M^(1/3)", -1 / 3),
        ("1 / (ε^(1/2) M^(1/4))", -1 / 4),
    ),
}


TREE = (
    "The proof of Theorem 2 gives each of B buckets noise of its own. This noise adds up to "
    "sqrt(B), and the proof balances it with 1 / B. Counts from our trees have noise that grows "
    "only with log B, so errors of metrics fall faster "
    "([clients.md](../guides/clients.md), section 5)."
)
GROWING = (
    "With the advised heights, errors of areas fall more slowly, because they are smaller for few "
    "clients: the advised heights grow with M, noise grows with the height, and curves are made "
    "monotone. From raw curves of one height the exponents are {} for DistDP and {} for LocalDP."
)
WHY = {
    **{("metrics", model, "ours", "faster"): TREE for model in MODELS[1:]},
    ("area", MODELS[0], "ours", "slower"): "`auc_corrected` removes the error of the order "
    "1 / B^2. The remaining error is much smaller. It comes from the random order of labels within "
    "buckets, and falls as 1 / (B sqrt(M)).",
    **{("area", model, "ours", "slower"): GROWING for model in MODELS[1:]},
}


def clients_of(step: int) -> int:
    """Return M: 2^12, 2^15, 2^18, 2^21."""
    return 1 << (12 + 3 * step)


def theorem(what: str, model: str, step: int) -> int:
    """Return the number of buckets that a theorem takes, with the constant 1."""
    clients = clients_of(step)
    if model == "Federated" and what != "calibration":  # any: what is varied
        return 64 << 2 * step if what == "metrics" else 16 << step
    if what == "area":
        return 400  # so that their own error, which does not fall with M, is small
    found: float = clients ** (1 / 3)
    if what == "metrics":
        found = (LOCAL**2 * clients) ** (1 / 3) if model == "LocalDP" else clients ** (2 / 3)
    elif model == "LocalDP":
        found = LOCAL**0.5 * clients**0.25
    return round(found)


class Slope(NamedTuple):
    """The exponent of a power law, fitted, and its standard deviation."""

    value: float
    deviation: float

    @classmethod
    def of(cls, at: Sequence[float], errors: Reals) -> Self:
        """Fit mean errors, (S, replicates); the deviation is the bootstrap's."""
        picked = np.random.default_rng(1).integers(errors.shape[1], size=(200, errors.shape[1]))
        again = [slope(at, errors[:, each].mean(axis=1)) for each in picked]
        return cls(slope(at, errors.mean(axis=1)), float(np.std(again)))

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.deviation:.2f}"

    def beside(self, stated: float) -> str:
        """Return how fast errors fall, in words."""
        if abs(self.value - stated) <= max(2 * self.deviation, 0.05):
            return "as stated"
        return "faster" if self.value < stated else "slower"
