"""Mechanisms: each turns exact counts into noisy cumulative counts, and states what that costs."""

from __future__ import annotations

from .base import Mechanism
from .dyadic import Dyadic

__all__ = ["Dyadic", "Mechanism"]
