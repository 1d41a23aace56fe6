"""The error of a release that is refused, and short texts of what it costs."""

from __future__ import annotations

from ..errors import DpcoreError
from .guarantees import Privacy

__all__ = ["BudgetError", "shown", "text"]


class BudgetError(DpcoreError, RuntimeError):
    """A release is refused: it costs more than a budget has left, or no budget can see it.

    Nothing was drawn or charged.

    Parameters
    ----------
    what
        The function that was called.
    privacy
        What the release would have cost.
    remaining
        What the budget has left; None if a budget of another thread has ended, to which the release
        may belong.
    why
        Another reason for the refusal; or empty.
    """

    def __init__(
        self, what: str, privacy: Privacy, remaining: Privacy | None, why: str = ""
    ) -> None:
        self.what = what
        self.privacy = privacy
        self.remaining = remaining
        if remaining is None:
            super().__init__(f"{what} is refused: {why}")
            return
        note = why and f" ({why})"
        cost, rest = str(privacy), _either(remaining, "or")
        if remaining.rho is not None:
            cost = _either(privacy, "and")
        if not why and text(privacy) == text(remaining):  # the two differ only in later digits
            cost, rest = repr(privacy), repr(remaining)
        super().__init__(f"{what} costs {cost}; what remains is {rest}{note}")


def shown(privacy: Privacy) -> list[tuple[str, float]]:
    """Return the names and values of a guarantee's parameters that are not 0."""
    first = ("rho", privacy.rho) if privacy.epsilon is None else ("epsilon", privacy.epsilon)
    assert first[1] is not None
    return [(first[0], first[1]), *([("delta", privacy.delta)] if privacy.delta else [])]


def text(privacy: Privacy, has_both: bool = False) -> str:
    """Return these values as a short text; where a cap has both units, also rho."""
    (name, first), *rest = shown(privacy)
    rho = f" or rho {privacy.rho or 0.0:.6g}" if has_both and name == "epsilon" else ""
    unit = "rho " if has_both and name == "rho" else ""
    return unit + f"{first:.6g}" + rho + "".join(f" and delta {delta:.3g}" for _, delta in rest)


def _either(privacy: Privacy, word: str) -> str:
    """Return a guarantee as a text, with its rho if it has epsilon and rho."""
    if privacy.epsilon is None or privacy.rho is None:
        return str(privacy)
    return str(privacy).replace(" (", f" {word} rho = {privacy.rho:g} of zCDP (", 1)
