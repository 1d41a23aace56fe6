"""Running counts and curves of a stream, their mechanisms, and their secret state in a file.

May import ``mechanisms``, ``statistics`` and the rooms below them.
"""

from __future__ import annotations

from .area_changes import AreaChange
from .base import StreamMechanism
from .buffered_toeplitz import BufferedToeplitz
from .consistent_tree import ConsistentTree
from .dyadic_tree import DyadicTree
from .running_cdf import RunningCDF
from .running_count import RunningCount
from .running_scores import RunningScores
from .stream import CounterBusyError, CounterClosedError

__all__ = [
    "AreaChange",
    "BufferedToeplitz",
    "ConsistentTree",
    "CounterBusyError",
    "CounterClosedError",
    "DyadicTree",
    "RunningCDF",
    "RunningCount",
    "RunningScores",
    "StreamMechanism",
]
