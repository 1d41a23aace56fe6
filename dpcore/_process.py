"""Which process an object belongs to. A fork copies all objects, even those for a single use."""

from __future__ import annotations

import os

__all__ = ["Owner"]


class _Forks:
    """The number of forks between this process and the one that imported dpcore."""

    count = 0

    @classmethod
    def happened(cls) -> None:
        cls.count += 1


# Process numbers are reused, but ancestors have other numbers of forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forks.happened)


class Owner:
    """The process in which this object was made.

    Ask before you take a lock: a fork copies locks that other threads hold, and nobody releases
    the copies.
    """

    __slots__ = ("_forks", "process")

    def __init__(self) -> None:
        self.process = os.getpid()
        self._forks = _Forks.count

    @property
    def is_here(self) -> bool:
        """Whether the current process is that process, and not a fork of it."""
        return self.process == os.getpid() and self._forks == _Forks.count
