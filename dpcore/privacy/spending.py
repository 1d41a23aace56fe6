"""Which budgets watch, and how a release is charged to them before its noise is drawn.

A budget that is entered by ``with`` watches the thread, or the task of ``asyncio``, that entered
it. A thread that has entered no budget is watched by all budgets that are entered anywhere. So work
that is handed to a pool is charged, too, and rather twice than never. A budget that is started
watches all threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Final, Protocol

from .guarantees import Privacy, Relation, double_above

__all__ = [
    "Watching",
    "called",
    "entered",
    "left",
    "spend",
    "spending",
    "spending_epsilon",
    "unwatched",
]


class Watching(Protocol):
    """The part of a budget that releases use."""

    @property
    def _key(self) -> tuple[str, str]:
        """The identity of the budget, which also orders several budgets."""
        ...

    @property
    def neighbours(self) -> Relation:
        """The relation that the budget protects."""
        ...

    def _asked(self, privacy: Privacy, what: str, stack: ExitStack) -> Callable[[], None]:
        """Hold the budget until the stack is left; return a function that charges it, or refuse."""
        ...


_OWN: Final[ContextVar[tuple[Watching, ...]]] = ContextVar("dpcore_budgets", default=())
_NAME: Final[ContextVar[str | None]] = ContextVar("dpcore_called", default=None)
_IS_COVERED: Final[ContextVar[bool]] = ContextVar("dpcore_is_covered", default=False)
_lock: Final = threading.Lock()
_all_entered: list[Watching] = []
_all_started: list[Watching] = []


def entered(budget: Watching, *, everywhere: bool) -> None:
    """Let a budget watch this thread or task, or all threads."""
    with _lock:
        (_all_started if everywhere else _all_entered).append(budget)
    if not everywhere:
        _OWN.set((*_OWN.get(), budget))


def left(budget: Watching, *, everywhere: bool) -> None:
    """End the watch of a budget; do nothing if it does not watch."""
    with _lock:
        _remove_last(_all_started if everywhere else _all_entered, budget)
    if not everywhere:
        own = list(_OWN.get())
        _remove_last(own, budget)
        _OWN.set(tuple(own))


@contextmanager
def spending(privacy: Privacy | Callable[[], Privacy], what: str) -> Iterator[None]:
    """Charge a release to all budgets that watch; releases inside of it are not charged again.

    Parameters
    ----------
    privacy
        The cost of the whole release; or a function that returns it, and that is called only if a
        budget watches.
    what
        The name of the function that was called.

    Raises
    ------
    BudgetError, ParameterError, FileError
        A budget refuses. Nothing is charged then.
    """
    with _charged(lambda _: privacy if isinstance(privacy, Privacy) else privacy(), what):
        yield


def spend(privacy: Privacy, what: str) -> None:
    """Charge a long release at once: its noise exists now, and its answers are read later."""
    with spending(privacy, what):
        pass


@contextmanager
def spending_epsilon(epsilon: Fraction, simulated: bool, what: str) -> Iterator[None]:
    """Charge a choice for the relation of the budget, which its sensitivity must be stated for."""
    total = double_above(epsilon)
    with _charged(lambda of: Privacy(total, neighbours=of, simulated=simulated), what):
        yield


@contextmanager
def called(name: str) -> Iterator[None]:
    """Give charges the name of the function that the user called, not of one inside it."""
    before = _NAME.set(_NAME.get() or name)
    try:
        yield
    finally:
        _NAME.reset(before)


@contextmanager
def unwatched() -> Iterator[None]:
    """Charge nothing inside: no record contributes to these releases."""
    before = _IS_COVERED.set(True)
    try:
        yield
    finally:
        _IS_COVERED.reset(before)


@contextmanager
def _charged(cost: Callable[[Relation], Privacy], what: str) -> Iterator[None]:
    budgets = [] if _IS_COVERED.get() else _watching()
    if not budgets:
        yield
        return
    with ExitStack() as stack:
        charges = [
            each._asked(cost(each.neighbours), _NAME.get() or what, stack) for each in budgets
        ]
        for charge in charges:
            charge()
    with unwatched():
        yield


def _watching() -> list[Watching]:
    """Return the budgets that watch here, each once, in the same order in all threads."""
    own = _OWN.get()  # a task may outlive the ``with`` block that created it
    if not (own or _all_entered or _all_started):
        return []
    # This has no lock, because a fork may have copied a lock that another thread held.
    found = [*(own or _all_entered), *_all_started]
    return [each for _, each in sorted({each._key: each for each in found}.items())]


def _remove_last(budgets: list[Watching], budget: Watching) -> None:
    for at in reversed(range(len(budgets))):
        if budgets[at] is budget:
            del budgets[at]
            return
