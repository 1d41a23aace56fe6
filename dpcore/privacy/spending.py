"""Which budgets watch, and how a release is charged to them before its noise is drawn.

A budget that is entered by ``with`` watches the thread, or the task of ``asyncio``, that entered
it. A thread that has entered no budget is watched by all budgets that are entered anywhere. So work
that is handed to a pool is charged, too, and rather twice than never. A budget that is started
watches all threads.

When a budget's watch has ended, other threads may still have work that was handed to them while it
watched. Which work that is cannot be known. So from then on, a thread that has entered no budget is
refused, unless the budget watches again. The main thread is not, because work is handed from it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from .guarantees import Privacy, Relation
from .refusals import BudgetError

__all__ = [
    "Account",
    "Watching",
    "called",
    "entered",
    "label_of",
    "labelled",
    "left",
    "releasing",
    "simulating",
    "spending",
    "spending_choice",
    "unwatched",
    "watched_only_by",
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
_LABELS: Final[ContextVar[tuple[tuple[Watching, str], ...]]] = ContextVar(
    "dpcore_labels", default=()
)
_IS_COVERED: Final[ContextVar[bool]] = ContextVar("dpcore_is_covered", default=False)
_IS_DECIDED: Final[ContextVar[bool]] = ContextVar("dpcore_is_decided", default=False)
_IS_STUDY: Final[ContextVar[bool]] = ContextVar("dpcore_is_study", default=False)
_ONLY: Final[ContextVar[Watching | None]] = ContextVar("dpcore_only", default=None)
_lock: Final = threading.Lock()
_all_entered: list[Watching] = []
_all_started: list[Watching] = []

_MOST_ENDED: Final = 2**14  # the number of budgets that are told apart after they have ended
_MAIN: Final = threading.main_thread()  # after a fork another thread may be called so
_threads: Final = threading.local()  # ``token`` stands for a thread; numbers of threads are reused
_ended: dict[tuple[str, str], object] = {}  # a budget's key, and the one thread that ended it
_SEVERAL: Final = object()  # several threads have ended it
_WHY_NOT: Final = (
    "this thread has entered no budget, and a budget of another thread has ended, to which this "
    "release may belong: enter the budget in the work that the thread is given, see "
    "docs/guides/budget.md"
)


def entered(budget: Watching, *, everywhere: bool) -> None:
    """Let a budget watch this thread or task, or all threads.

    What is released from here on is charged, even if an interrupt has left an earlier release open.
    """
    with _lock:
        (_all_started if everywhere else _all_entered).append(budget)
    if not everywhere:
        _IS_COVERED.set(False)
        _OWN.set((*_OWN.get(), budget))


def left(budget: Watching, *, everywhere: bool) -> None:
    """End the watch of a budget; do nothing if it does not watch."""
    watched = _all_started if everywhere else _all_entered
    with _lock:
        # First the note: a thread that asks between both, without the lock, is watched or refused.
        if any(other is budget for other in watched):
            _note_end(budget)
            _remove_last(watched, budget)
    if not everywhere:
        own = list(_OWN.get())
        _remove_last(own, budget)
        _OWN.set(tuple(own))


def _nothing() -> None:
    """Check nothing."""


@contextmanager
def spending(
    privacy: Privacy | Callable[[], Privacy], what: str, check: Callable[[], None] = _nothing
) -> Iterator[None]:
    """Charge a release to all budgets that watch; releases inside of it are not charged again.

    Parameters
    ----------
    privacy
        The cost of the whole release; or a function that returns it, and that is called only if a
        budget watches, or in a study.
    what
        The name of the function that was called.
    check
        A function that may refuse the release by numbers that are public under its relation. It is
        called after all budgets have agreed to the relation, and before any of them is charged.

    Raises
    ------
    BudgetError, ParameterError, FileError
        A budget refuses. Nothing is charged then.
    """
    with _charged(lambda _: privacy if isinstance(privacy, Privacy) else privacy(), what, check):
        yield


@contextmanager
def releasing(
    privacy: Privacy,
    what: str,
    rng: np.random.Generator | None,
    check: Callable[[], None] = _nothing,
) -> Iterator[Privacy]:
    """Do as ``spending`` does, and give the cost, which is simulated if the noise is a generator's.

    Parameters
    ----------
    privacy, what, check
        As in ``spending``.
    rng
        None for a release; a generator for studies.

    Raises
    ------
    BudgetError, ParameterError, FileError
        As from ``spending``.
    """
    cost = replace(privacy, simulated=rng is not None)
    with _charged(lambda _: cost, what, check):
        yield cost


class Account:
    """The charges for one long release, whose answers are read again and again.

    Each budget is charged for the whole release: those that watch where it is made, and any other
    budget that watches where it is used, the first time. A thread that has entered no budget is
    refused if a budget has ended that was not charged, because its work may belong to that one.

    Parameters
    ----------
    privacy
        The cost of the whole release.
    what
        The name of the class, for the log.

    Raises
    ------
    BudgetError, ParameterError, FileError
        As from ``spend``; or the thread may do the work of a budget that has ended.
    """

    __slots__ = ("_charged", "_what")

    def __init__(self, privacy: Privacy, what: str) -> None:
        self._what = what
        self._charged: frozenset[tuple[str, str]] = frozenset()
        self.spend(privacy)

    def spend(self, privacy: Privacy) -> None:
        """Charge the budgets that watch here and were not charged for this release.

        Raises
        ------
        BudgetError, ParameterError, FileError
            A budget refuses, or the thread may do the work of a budget that has ended. Nothing is
            charged then.
        """
        if _is_free(lambda _: privacy):
            return
        watching = _watching()
        if not _IS_DECIDED.get():
            _check_thread(watching, privacy, self._what, self._charged)
        # Two threads that come here at once may both charge: rather twice than never.
        budgets = [budget for budget in watching if budget._key not in self._charged]
        if budgets:
            _charge(budgets, lambda _: privacy, self._what)
            self._charged |= {budget._key for budget in budgets}


@contextmanager
def spending_choice(privacy: Privacy, what: str) -> Iterator[None]:
    """Charge a choice for the relation of the budget, which its sensitivity must be stated for."""
    with _charged(lambda of: replace(privacy, neighbours=of), what):
        yield


@contextmanager
def called(name: str) -> Iterator[None]:
    """Give charges the name of the function that the user called, not of one inside it."""
    before = _NAME.get()
    try:
        _NAME.set(before or name)
        yield
    finally:
        _NAME.set(before)


@contextmanager
def labelled(budget: Watching, label: str) -> Iterator[None]:
    """Let a budget write a label beside its charges."""
    before = _LABELS.get()
    try:
        _LABELS.set((*before, (budget, label)))
        yield
    finally:
        _LABELS.set(before)


def label_of(budget: Watching) -> str:
    """Return the innermost label of a budget, or nothing."""
    labels = _LABELS.get()
    key = budget._key if labels else None
    return next((label for one, label in reversed(labels) if one._key == key), "")


@contextmanager
def unwatched() -> Iterator[None]:
    """Charge nothing inside: no record contributes to these releases."""
    before = _IS_COVERED.get()
    try:  # around the change: an interrupt after it must not leave later releases free
        _IS_COVERED.set(True)
        yield
    finally:
        _IS_COVERED.set(before)


@contextmanager
def simulating() -> Iterator[None]:
    """Charge real noise alone inside: seeded noise measures a method, and shows no records."""
    before = _IS_STUDY.get()
    try:
        _IS_STUDY.set(True)
        yield
    finally:
        _IS_STUDY.set(before)


@contextmanager
def watched_only_by(budget: Watching) -> Iterator[None]:
    """Charge releases inside to this budget alone: no record contributes to them, either."""
    before, decided = _ONLY.get(), _IS_DECIDED.get()
    try:
        _ONLY.set(budget)
        _IS_DECIDED.set(True)
        yield
    finally:
        _ONLY.set(before)
        _IS_DECIDED.set(decided)


@contextmanager
def _charged(
    cost: Callable[[Relation], Privacy], what: str, check: Callable[[], None] = _nothing
) -> Iterator[None]:
    if _is_free(cost):
        check()
        yield
        return
    budgets = _watching()
    if not _IS_DECIDED.get():
        _check_thread(budgets, cost, what)
    if budgets:
        _charge(budgets, cost, what, check)
        with unwatched():
            yield
        return
    check()
    before = _IS_DECIDED.get()
    try:
        _IS_DECIDED.set(True)  # threads that work for this release are not asked again
        yield
    finally:
        _IS_DECIDED.set(before)


def _is_free(cost: Callable[[Relation], Privacy]) -> bool:
    """Return whether a release is part of one that is charged, or seeded in a study."""
    return _IS_COVERED.get() or (_IS_STUDY.get() and cost("replace-one").simulated)


def _charge(
    budgets: Sequence[Watching],
    cost: Callable[[Relation], Privacy],
    what: str,
    check: Callable[[], None] = _nothing,
) -> None:
    """Charge all budgets, or none."""
    with ExitStack() as stack:
        charges = [
            budget._asked(cost(budget.neighbours), _NAME.get() or what, stack) for budget in budgets
        ]
        check()
        for charge in charges:
            charge()


def _check_thread(
    watching: Sequence[Watching],
    cost: Privacy | Callable[[Relation], Privacy],
    what: str,
    paid: Set[tuple[str, str]] = frozenset(),
) -> None:
    """Refuse a thread that has entered no budget, if its work may belong to one that has ended.

    ``paid`` are the keys of budgets that were charged for this release already.
    """
    if not _ended or _OWN.get() or threading.current_thread() is _MAIN:
        return
    here, known = getattr(_threads, "token", None), {budget._key for budget in watching} | paid
    # This has no lock, for the same reason as in ``_watching``.
    if any(by is not here and key not in known for key, by in list(_ended.items())):
        privacy = cost if isinstance(cost, Privacy) else cost("replace-one")
        raise BudgetError(_NAME.get() or what, privacy, None, _WHY_NOT)


def _note_end(budget: Watching) -> None:
    """Remember, under the lock, which thread has ended a budget's watch."""
    here = getattr(_threads, "token", None)
    if here is None:
        here = _threads.token = object()
    if len(_ended) >= _MOST_ENDED:
        _ended["", ""] = _SEVERAL  # stands for all of them, and is there before they are gone
        for other in [*_ended]:
            if other != ("", ""):
                del _ended[other]
    key = budget._key
    _ended[key] = here if _ended.get(key, here) is here else _SEVERAL


def _watching() -> list[Watching]:
    """Return the budgets that watch here, each once, in the same order in all threads."""
    if (only := _ONLY.get()) is not None:
        return [only]
    own = _OWN.get()  # a task may outlive the ``with`` block that created it
    if not (own or _all_entered or _all_started):
        return []
    # This has no lock, because a fork may have copied a lock that another thread held.
    watching = [*(own or _all_entered), *_all_started]
    return [budget for _, budget in sorted({budget._key: budget for budget in watching}.items())]


def _remove_last(budgets: list[Watching], budget: Watching) -> bool:
    """Remove the last entry that is this budget, and return whether there was one."""
    for at in reversed(range(len(budgets))):
        if budgets[at] is budget:
            del budgets[at]
            return True
    return False
