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
        cost, rest = str(privacy), str(remaining)
        if not why and text(privacy) == text(remaining):  # the two differ only in later digits
            cost, rest = repr(privacy), repr(remaining)
        super().__init__(f"{what} costs {cost}; what remains is {rest}{note}")


def shown(privacy: Privacy) -> list[tuple[str, float]]:
    """Return the names and values of a guarantee's parameters that are not 0."""
    first = ("rho", privacy.rho) if privacy.rho is not None else ("epsilon", privacy.epsilon)
    assert first[1] is not None
    return [(first[0], first[1]), *([("delta", privacy.delta)] if privacy.delta else [])]


def text(privacy: Privacy) -> str:
    """Return these values as a short text."""
    (_, first), *rest = shown(privacy)
    return f"{first:.6g}" + "".join(f" and delta {delta:.3g}" for _, delta in rest)
