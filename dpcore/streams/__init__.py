"""Counts that are released while they grow. Imports ``privacy``, ``noise`` and files."""

from __future__ import annotations

from .running_count import CounterBusyError, CounterClosedError, RunningCount

__all__ = ["CounterBusyError", "CounterClosedError", "RunningCount"]
