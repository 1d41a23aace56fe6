"""Running counts of a stream, and their secret state in a file.

May import all rooms but ``command_line``, ``releases`` and ``trust``.
"""

from __future__ import annotations

from .running_count import CounterBusyError, CounterClosedError, RunningCount

__all__ = ["CounterBusyError", "CounterClosedError", "RunningCount"]
