"""Which budgets watch, and how a release is charged to them before its noise is drawn.

Budgets that are entered by ``with`` watch the thread, or the task of ``asyncio``, that entered
them. A thread that has entered none is watched by all that are entered anywhere: work that is
handed to a pool is charged, too, and rather twice than never. Those that are started watch all.
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
    """A budget, as far as releases know one."""

    @property
    def _key(self) -> tuple[str, str]:
        """What tells budgets apart, and in which order they are asked."""
        ...

    @property
    def neighbours(self) -> Relation:
        """The relation that it is about."""
        ...

    def _asked(self, privacy: Privacy, what: str, stack: ExitStack) -> Callable[[], None]:
        """Hold the budget until the stack is left; return what charges it, or refuse."""
        ...


_OWN: Final[ContextVar[tuple[Watching, ...]]] = ContextVar("dpcore_budgets", default=())
_NAME: Final[ContextVar[str | None]] = ContextVar("dpcore_called", default=None)
_IS_COVERED: Final[ContextVar[bool]] = ContextVar("dpcore_is_covered", default=False)
_lock: Final = threading.Lock()
_all_entered: list[Watching] = []
_all_started: list[Watching] = []


def entered(budget: Watching, *, everywhere: bool) -> None:
    """Let a budget watch: here, or in all threads."""
    with _lock:
        (_all_started if everywhere else _all_entered).append(budget)
    if not everywhere:
        _OWN.set((*_OWN.get(), budget))


def left(budget: Watching, *, everywhere: bool) -> None:
    """Let it no longer watch; nothing happens if it does not."""
    with _lock:
        _remove_last(_all_started if everywhere else _all_entered, budget)
    if not everywhere:
        own = list(_OWN.get())
        _remove_last(own, budget)
        _OWN.set(tuple(own))


@contextmanager
def spending(privacy: Privacy | Callable[[], Privacy], what: str) -> Iterator[None]:
    """Charge a release to all budgets that watch, and cover what it does inside.

    Parameters
    ----------
    privacy
        What all of it costs; or what returns that, and is called only if a budget watches.
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
    """Charge a release that goes on for long: what has its noise now, and is asked later."""
    with spending(privacy, what):
        pass


@contextmanager
def spending_epsilon(epsilon: Fraction, what: str) -> Iterator[None]:
    """Charge a choice whose relation is the one that its sensitivity was stated for."""
    with _charged(lambda relation: Privacy(double_above(epsilon), neighbours=relation), what):
        yield


@contextmanager
def called(name: str) -> Iterator[None]:
    """Let charges have the name of the function that was called, and not of one that it calls."""
    before = _NAME.set(_NAME.get() or name)
    try:
        yield
    finally:
        _NAME.reset(before)


@contextmanager
def unwatched() -> Iterator[None]:
    """Let nothing be charged: to what is released here no record contributes."""
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
    """Return the budgets that watch here, each once, in one order for all threads."""
    own = _OWN.get()  # a task may go on after the ``with`` that it was made in
    if not (own or _all_entered or _all_started):
        return []
    # no lock: a fork may have copied it while another thread held it
    found = [*(own or _all_entered), *_all_started]
    return [each for _, each in sorted({each._key: each for each in found}.items())]


def _remove_last(budgets: list[Watching], budget: Watching) -> None:
    for at in reversed(range(len(budgets))):
        if budgets[at] is budget:
            del budgets[at]
            return
