"""Running counts of a stream, and their secret state in a file.

May import ``mechanisms``, ``statistics`` and the rooms below them.
"""

from __future__ import annotations

from .running_count import CounterBusyError, CounterClosedError, RunningCount

__all__ = ["CounterBusyError", "CounterClosedError", "RunningCount"]
