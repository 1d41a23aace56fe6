"""Budgets that watch: each release is charged before it is drawn, and refused beyond the cap."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from .. import _check
from ..errors import DpcoreError, DtypeError, ParameterError
from .composition import Sums
from .file_ledgers import FileLedger
from .guarantees import Privacy, Relation
from .ledgers import Charge, Ledger, MemoryLedger
from .spending import entered, left

__all__ = ["Budget", "BudgetError", "Charge"]

_TOLERANCE: Final = 1 + Fraction(1, 10**12)  # ten times 0.1, which is no double, fit into 1

_FORKED: Final = "in memory, where no other process sees what this one spends: see Budget.open"


class BudgetError(DpcoreError, RuntimeError):
    """A release would cost more than is left of a budget: nothing was drawn, nothing charged.

    Parameters
    ----------
    what
        The function that was called.
    privacy
        What it would have cost.
    remaining
        What is left.
    why
        What is wrong besides; or empty.
    """

    def __init__(self, what: str, privacy: Privacy, remaining: Privacy, why: str = "") -> None:
        self.what = what
        self.privacy = privacy
        self.remaining = remaining
        note = why and f" ({why})"
        cost, rest = str(privacy), str(remaining)
        if not why and _text(privacy) == _text(remaining):  # they differ in later digits
            cost, rest = repr(privacy), repr(remaining)
        super().__init__(f"{what} costs {cost}; what remains is {rest}{note}")


class Budget:
    """A cap on what all releases from some records cost together, and a log of them.

    Releases inside of ``with budget:`` are charged before their noise is drawn, and those that
    would pass the cap are refused with what remains. Of functions that make several releases the
    whole is charged, at once, so that none stops half way.

    Parameters
    ----------
    epsilon
        The cap: epsilons add up.
    rho
        Or of zero-concentrated differential privacy: rhos add up, and a pure epsilon counts as
        epsilon^2 / 2, so that many small ones cost much less than their sum.
        ``privacy.zcdp_rho(epsilon, delta)`` is the rho that implies (epsilon, delta) at the end.
    delta
        Below 1, and 0 by default: what the deltas of releases may add up to.
    neighbours
        The relation that all releases are to protect; see ``Privacy``. For replace-one, a release
        for add-or-remove-one is charged what ``Privacy.implied`` says: twice its epsilon.

    Raises
    ------
    DtypeError, ParameterError
        Not exactly one of epsilon and rho is given, or an argument is not as above.

    See Also
    --------
    Budget.open : a budget in a file, for several processes, and for tomorrow.

    Notes
    -----
    docs/budget.md: what is charged, how costs add up, and what no budget can see (other processes;
    clients of a federation, who release on their own). The sums hold whatever releases owe to the
    outputs of earlier ones; a conversion that is chosen afterwards would not (``privacy.composed``
    is for releases that are fixed in advance). A cap is met up to one part in 10^12, for numbers
    such as 0.1, which are no doubles.

    Threads and tasks: ``with`` watches the one that enters it, and threads that have entered no
    budget themselves, as in a pool. ``start`` watches all until ``stop``. A release is charged once
    to each budget that watches: of budgets inside of each other, to all. After a fork, the child's
    releases are refused by a budget in memory.

    Examples
    --------
    >>> import dpcore as dp
    >>> ages, grid = [*range(100)] * 50, dp.Grid.uniform(0, 100, 50)
    >>> with dp.Budget(epsilon=1.0) as budget:
    ...     curve = dp.cdf(ages, grid, epsilon=0.75)
    >>> budget
    Budget(epsilon=1.0): spent 0.75 in 1 release, remaining 0.25
    >>> with budget:
    ...     dp.cdf(ages, grid, epsilon=0.5)
    Traceback (most recent call last):
    ...
    dpcore.privacy.budgets.BudgetError: cdf costs epsilon = 0.5 (replace-one); what remains is ...
    """

    __slots__ = ("_cap", "_ledger")

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        *,
        rho: float | Fraction | None = None,
        delta: float | None = None,
        neighbours: Relation = "replace-one",
    ) -> None:
        self._cap = _checked(epsilon, rho, delta, neighbours)
        self._ledger: Ledger = MemoryLedger()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        epsilon: float | Fraction | None = None,
        *,
        rho: float | Fraction | None = None,
        delta: float | None = None,
        neighbours: Relation | None = None,
    ) -> Budget:
        """Return the budget in a file, which is made if there is none.

        Several processes may use it at once: each charge waits for the others, and is on the disk
        before the noise is drawn, so that a crash loses none.

        Parameters
        ----------
        path
            An SQLite file, on a disk of this machine: locks of network folders are not to be relied
            on. Who copies it back to an earlier state forgets what was spent since.
        epsilon, rho, delta, neighbours
            The cap of a new file. Of one that is there, they may be left out, or are the same.

        Raises
        ------
        FileError
            There is no such file and no cap is given, or it cannot be read or written.
        FormatError
            The file is not that of a budget.
        DtypeError, ParameterError
            The cap is not as in ``Budget``, or not that of the file.

        Examples
        --------
        >>> import tempfile
        >>> import dpcore as dp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/survey.budget"
        ...     with dp.Budget.open(path, epsilon=20.0):
        ...         curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=15.0)
        ...     dp.Budget.open(path)  # tomorrow, or in another process
        Budget(epsilon=20.0): spent 15 in 1 release, remaining 5
        """
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
        if not isinstance(name, str) or not name:
            raise DtypeError("path", type(path).__name__, "must be a file's path")
        if "\0" in name:
            raise ParameterError("path", name, "must have no null character")
        said = any(each is not None for each in (epsilon, rho, delta, neighbours))
        cap = _checked(epsilon, rho, delta, neighbours or "replace-one") if said else None
        found = cls.__new__(cls)
        ledger = FileLedger(Path(name), cap)
        found._cap, found._ledger = ledger.cap, ledger
        return found

    @property
    def cap(self) -> Privacy:
        """What all releases may cost together."""
        return self._cap

    @property
    def neighbours(self) -> Relation:
        """The relation that all releases protect."""
        return self._cap.neighbours

    @property
    def spent(self) -> Privacy:
        """What the releases so far cost together, rounded up."""
        return self._ledger.spent().guarantee(self._cap)

    @property
    def remaining(self) -> Privacy:
        """What one more release may cost, rounded down, in the terms of the cap."""
        return self._ledger.spent().left(self._cap)

    @property
    def log(self) -> tuple[Charge, ...]:
        """What was charged, oldest first."""
        return tuple(self._ledger.charges())

    def charge(self, privacy: Privacy, what: str = "release") -> None:
        """Charge what dpcore cannot see: a release by another library, or by another process.

        Parameters
        ----------
        privacy
            What it costs; a ``Privacy``.
        what
            A name for the log.

        Raises
        ------
        BudgetError
            It is more than what remains. Do not release then.
        DtypeError, ParameterError
            An argument is not as above, or the relation is another one.

        Examples
        --------
        >>> import dpcore as dp
        >>> budget = dp.Budget(epsilon=1.0)
        >>> budget.charge(dp.Privacy(0.25), "a histogram by another library")
        >>> budget
        Budget(epsilon=1.0): spent 0.25 in 1 release, remaining 0.75
        """
        if not isinstance(privacy, Privacy):
            what = "must be a Privacy, as of a release: write dp.Privacy(epsilon=1.0)"
            raise DtypeError("privacy", type(privacy).__name__, what)
        if not isinstance(what, str):
            raise DtypeError("what", type(what).__name__, "must be a string")
        if not what.isprintable():  # a line of the log; and what no file can hold
            raise ParameterError("what", what, "must be printable")
        with ExitStack() as stack:
            self._asked(privacy, what, stack)()

    def _asked(self, privacy: Privacy, what: str, stack: ExitStack) -> Callable[[], None]:
        """Hold the budget until the stack is left; return what charges it, or refuse."""
        cap, given = self._cap, privacy.neighbours
        if (given, cap.neighbours) == ("add-or-remove-one", "replace-one"):
            privacy = privacy.implied("replace-one")
        elif given != cap.neighbours:
            wanted = f"must be that of the budget, {cap.neighbours!r} (of {what})"
            raise ParameterError("neighbours", given, wanted)
        if not self._ledger.is_shared:
            raise BudgetError(what, privacy, self.remaining, _FORKED)
        page = stack.enter_context(self._ledger.held())
        before: Sums = page.spent()
        if privacy.epsilon == math.inf or not before.plus(privacy).fit(cap, _TOLERANCE):
            raise BudgetError(what, privacy, before.left(cap), _why(privacy, cap))
        charge = Charge(datetime.now(UTC), what, privacy)
        return lambda: page.add(charge)

    def start(self) -> Self:
        """Watch all threads of this process from now on, until ``stop``; return the budget.

        Examples
        --------
        >>> import dpcore as dp
        >>> budget = dp.Budget(epsilon=20.0).start()
        >>> curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=15.0)
        >>> budget.stop()
        >>> budget
        Budget(epsilon=20.0): spent 15 in 1 release, remaining 5
        """
        entered(self, everywhere=True)
        return self

    def stop(self) -> None:
        """Watch no longer, if ``start`` was called.

        Examples
        --------
        >>> import dpcore as dp
        >>> budget, grid = dp.Budget(epsilon=20.0).start(), dp.Grid([20, 40, 60])
        >>> charged = dp.cdf([21, 34, 55], grid, epsilon=15.0)
        >>> budget.stop()
        >>> not_charged = dp.cdf([21, 34, 55], grid, epsilon=15.0)
        >>> budget.spent.epsilon
        15.0
        """
        left(self, everywhere=True)

    @property
    def _key(self) -> tuple[str, str]:
        """What tells budgets apart: two that were opened in one file are one."""
        return self._ledger.key

    def __enter__(self) -> Self:
        entered(self, everywhere=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left(self, everywhere=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Budget is not copied or pickled: use Budget.open(path) in each process")

    def __repr__(self) -> str:
        sums = self._ledger.spent()  # once, as others may charge meanwhile
        releases = "1 release" if sums.releases == 1 else f"{sums.releases:,} releases"
        cap = ", ".join(f"{name}={value!r}" for name, value in _shown(self._cap))
        spent, rest = (_text(each) for each in (sums.guarantee(self._cap), sums.left(self._cap)))
        return f"Budget({cap}): spent {spent} in {releases}, remaining {rest}"


def _checked(
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    delta: float | None,
    neighbours: Relation,
) -> Privacy:
    """Return a cap: above 0, and finite."""
    for name, value in (("epsilon", epsilon), ("rho", rho)):
        if value is not None:
            _check.positive(name, value)
    exact = 0.0 if delta is None else delta
    return Privacy(epsilon, exact, neighbours, rho=rho)  # type: ignore[arg-type]  # rounded up


def _why(privacy: Privacy, cap: Privacy) -> str:
    """Return what a cap would have to be, where it admits no release of this kind at all."""
    if privacy.epsilon == math.inf:
        return "without noise there is no guarantee"
    if privacy.rho is not None and cap.rho is None:
        return "zero-concentrated costs need a cap of rho: see docs/budget.md"
    if privacy.delta > cap.delta:
        return "a release with a delta needs a cap with one that is no smaller"
    return ""


def _shown(privacy: Privacy) -> list[tuple[str, float]]:
    first = ("rho", privacy.rho) if privacy.rho is not None else ("epsilon", privacy.epsilon)
    assert first[1] is not None
    return [(first[0], first[1]), *([("delta", privacy.delta)] if privacy.delta else [])]


def _text(privacy: Privacy) -> str:
    (_, first), *rest = _shown(privacy)
    return f"{first:.6g}" + "".join(f" and delta {delta:.3g}" for _, delta in rest)
