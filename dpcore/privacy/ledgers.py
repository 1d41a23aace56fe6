"""Ledgers, which record charges, and the ledger of one process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from .._process import Owner
from .composition import Sums
from .guarantees import Privacy

__all__ = ["Charge", "Ledger", "MemoryLedger", "Page"]


_numbers: Final = itertools.count()


class Charge(NamedTuple):
    """One charge to a budget.

    Parameters
    ----------
    time
        The time of the charge, in UTC.
    what
        The function that was called, or the name that ``Budget.charge`` was given.
    privacy
        The cost.
    label
        What ``Budget.label`` said there; or empty.

    Examples
    --------
    >>> import dpcore as dp
    >>> budget = dp.Budget(epsilon=1.0)
    >>> budget.charge(dp.Privacy(0.25), "a histogram by another library")
    >>> [(charge.what, charge.privacy.epsilon) for charge in budget.log]
    [('a histogram by another library', 0.25)]
    """

    time: datetime
    what: str
    privacy: Privacy
    label: str = ""


class Page(Protocol):
    """A ledger that is held: nobody else writes until it is released."""

    def spent(self) -> Sums:
        """Return what has been charged."""
        ...

    def add(self, charge: Charge) -> None:
        """Charge once more."""
        ...


class Ledger(Protocol):
    """All charges to one budget, oldest first."""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the ledger, which also orders several ledgers."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether this process charges what others see."""
        ...

    def held(self) -> Any:
        """Return a context with a ``Page``, which is kept if the context ends without an error."""
        ...

    def spent(self) -> Sums:
        """Return what has been charged, and hold nobody up."""
        ...

    def charges(self) -> list[Charge]:
        """Return all charges."""
        ...


class MemoryLedger:
    """Charges of this process."""

    __slots__ = ("_charges", "_lock", "_number", "_owner", "_spent")

    def __init__(self) -> None:
        self._number = next(_numbers)  # unlike an address, it is never used again
        self._owner = Owner()
        self._charges: list[Charge] = []
        self._spent = Sums()
        self._lock = threading.Lock()

    @property
    def key(self) -> tuple[str, str]:
        """The identity of this object."""
        return "memory", str(self._number)

    @property
    def is_shared(self) -> bool:
        """Whether others see the charges of this process: not after a fork."""
        return self._owner.is_here

    @contextmanager
    def held(self) -> Iterator[MemoryLedger]:
        """Hold the ledger."""
        with self._lock:
            yield self

    def spent(self) -> Sums:
        """Return what has been charged."""
        return self._spent

    def add(self, charge: Charge) -> None:
        """Charge once more."""
        self._spent = self._spent.plus(charge.privacy)
        self._charges.append(charge)

    def charges(self) -> list[Charge]:
        """Return all charges."""
        return list(self._charges)
