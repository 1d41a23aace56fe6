"""Classes of candidates for the exponential mechanism (docs/proofs/selection.md)."""

from __future__ import annotations

__all__ = ["last_class"]


def last_class(size: int) -> int:
    """Return T for ``size`` candidates: the least T >= 1 with 2^T >= size."""
    return max(1, (size - 1).bit_length())
