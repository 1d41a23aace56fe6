"""Budgets that watch: they charge each release before it is drawn, or refuse it over the cap."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from .. import _check
from ..errors import DtypeError, ParameterError
from .composition import Sums
from .file_ledgers import FileLedger
from .filters import Cap, Composition
from .guarantees import Privacy, Relation, implies
from .ledgers import Charge, Ledger, MemoryLedger
from .refusals import BudgetError, shown, text
from .spending import entered, label_of, labelled, left

__all__ = ["Budget", "BudgetError", "Charge"]

_NO_NOISE: Final = "without noise there is no guarantee"
_FORKED: Final = "this budget is in memory, and other processes cannot see it: see Budget.open"
_DEARER: Final = (
    "a budget for replace-one pays twice the epsilon, or four times the rho, of a release for "
    "add-or-remove-one; a budget with neighbours='add-or-remove-one' pays it once"
)


class Budget:
    """A limit on the joint cost of all releases from some records, and a log of the releases.

    Inside ``with budget:`` each release is charged before its noise is drawn. A release that would
    exceed the cap is refused, and the error says what remains. A function that makes several
    releases is charged for all of them at once, so it never stops half way.

    Parameters
    ----------
    epsilon
        The cap on the sum of all epsilons.
    rho
        The cap on the sum of all rhos, for zero-concentrated differential privacy; instead of
        epsilon. A pure epsilon counts with the rho of its release, which is at most epsilon^2 / 2,
        so many small ones cost much less than their sum. ``privacy.zcdp_rho(epsilon, delta)`` is
        the rho that implies (epsilon, delta) at the end.
    delta
        The cap on the sum of all deltas: below 1, and 0 by default.
    neighbours
        The relation that all releases protect; see ``Privacy``. If it is replace-one, a release
        for add-or-remove-one is charged as ``Privacy.implied`` says: with twice its epsilon, and
        the log has its own cost, too. A release for replace-one-within-group is refused, because
        it publishes the sizes of groups, unless the budget is for that relation.
    composition
        How the costs count against epsilon and delta. "basic": epsilons add up, and deltas.
        "zero-concentrated", with a delta above 0: a release is admitted if the epsilons add up to
        at most epsilon, or the rhos to at most ``privacy.zcdp_rho(epsilon, delta)``, whichever
        fits. It holds far more releases, and none that needs a delta of its own.

    Raises
    ------
    DtypeError, ParameterError
        Not exactly one of epsilon and rho is given, or an argument is not as above.

    See Also
    --------
    Budget.open : a budget in a file, for several processes and several days.

    Notes
    -----
    docs/guides/budget.md says what is charged, how costs add up, and what no budget can see (such
    as other processes, and clients of a federation, who make releases on their own). The sums hold
    even if releases depend on the outputs of earlier ones. A conversion that is chosen afterwards
    would not hold (``privacy.composed`` is for releases that are fixed in advance). A cap is kept
    up to one part in 10^12, because numbers such as 0.1 are not exact doubles.

    Threads and tasks: ``with`` watches the thread or task that enters it, and threads that have
    entered no budget themselves, such as those of a pool. ``start`` watches all threads until
    ``stop``. A release is charged once to each budget that watches, and so to all of several nested
    budgets. After a fork, a budget in memory refuses the child's releases. Work that is handed to
    others should enter its budget itself. Once a budget has ended, other threads that have entered
    none are refused, because a pool may begin work late (docs/guides/budget.md, section 5).

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
    dpcore.privacy.refusals.BudgetError: cdf costs epsilon = 0.5 (replace-one); what remains is ...
    """

    __slots__ = ("_cap", "_ledger")

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        *,
        rho: float | Fraction | None = None,
        delta: float | None = None,
        neighbours: Relation = "replace-one",
        composition: Composition = "basic",
    ) -> None:
        self._cap = _checked(epsilon, rho, delta, neighbours, composition)
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
        composition: Composition | None = None,
    ) -> Budget:
        """Return the budget in a file; create the file if there is none.

        Several processes may use the file at once. Each charge waits for the others, and is on the
        disk before the noise is drawn, so a crash loses no charge.

        Parameters
        ----------
        path
            An SQLite file on a disk of this machine; do not rely on the locks of network folders.
            If you restore an earlier copy of the file, the charges since then are forgotten. The
            file must have one name: hard links are refused, symbolic links are followed.
        epsilon, rho, delta, neighbours, composition
            The cap of a new file. For an existing file, leave them out or give the cap that the
            file has.

        Raises
        ------
        FileError
            There is no such file and no cap is given, or the file cannot be read or written, or
            it has several hard links.
        FormatError
            The file does not hold a budget, or it is damaged.
        DtypeError, ParameterError
            The cap is not as in ``Budget``, or it is not the cap of the file.

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
        name = _check.path("path", path, "must be a file's path")
        given = (epsilon, rho, delta, neighbours, composition)
        said = any(parameter is not None for parameter in given)
        relation = "replace-one" if neighbours is None else neighbours
        rule = "basic" if composition is None else composition
        cap = _checked(epsilon, rho, delta, relation, rule) if said else None
        budget = cls.__new__(cls)
        ledger = FileLedger(Path(name), cap)
        budget._cap, budget._ledger = ledger.cap, ledger
        return budget

    @property
    def cap(self) -> Privacy:
        """The limit on the joint cost of all releases."""
        return self._cap.limit

    @property
    def composition(self) -> Composition:
        """How the costs of releases add up against the cap."""
        return self._cap.composition

    @property
    def neighbours(self) -> Relation:
        """The relation that all releases protect."""
        return self._cap.limit.neighbours

    @property
    def spent(self) -> Privacy:
        """The joint cost of the releases so far, rounded up."""
        return self._cap.spent(self._ledger.spent())

    @property
    def remaining(self) -> Privacy:
        """What one more release may cost, rounded down, in the terms of the cap.

        Of an epsilon and a rho, which zero-concentrated composition tells, either one is enough.
        """
        return self._cap.left(self._ledger.spent())

    def affordable(self, releases: int) -> Privacy:
        """Return what each of some further equal releases may cost, rounded down.

        Parameters
        ----------
        releases
            Their number, 1 or more.

        Returns
        -------
        Privacy
            In the terms of the cap, as ``remaining``. Of an epsilon and a rho either one is enough:
            all releases keep to that epsilon, or all to that rho.

        Raises
        ------
        DtypeError, ParameterError
            releases is not such a number.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.Budget(epsilon=1.0).affordable(8)
        Privacy(epsilon=0.125, delta=0.0, neighbours='replace-one', simulated=False)
        >>> budget = dp.Budget(epsilon=1.0, delta=1e-6, composition="zero-concentrated")
        >>> each = budget.affordable(100)
        >>> round(each.epsilon, 4), round(each.rho, 6)  # the epsilon if a release states no rho
        (0.0221, 0.000244)
        """
        count = _check.integer("releases", releases, 1, 2**63)
        return self._cap.left(self._ledger.spent(), count)

    @property
    def log(self) -> tuple[Charge, ...]:
        """All charges, oldest first."""
        return tuple(self._ledger.charges())

    def charge(self, privacy: Privacy, what: str = "release") -> None:
        """Charge a release that dpcore cannot see, by another library or by another process.

        Parameters
        ----------
        privacy
            The cost of the release, a ``Privacy``.
        what
            A name for the log.

        Raises
        ------
        BudgetError
            The cost is more than what remains. Do not make the release then.
        DtypeError, ParameterError
            An argument is not as above, or the guarantee is for another relation.

        Examples
        --------
        >>> import dpcore as dp
        >>> budget = dp.Budget(epsilon=1.0)
        >>> budget.charge(dp.Privacy(0.25), "a histogram by another library")
        >>> budget
        Budget(epsilon=1.0): spent 0.25 in 1 release, remaining 0.75
        """
        if not isinstance(privacy, Privacy):
            what = "must be a Privacy: write dp.Privacy(epsilon=1.0)"
            raise DtypeError("privacy", type(privacy).__name__, what)
        what = _text("what", what)
        with ExitStack() as stack:
            self._asked(privacy, what, stack)()

    def _asked(self, privacy: Privacy, what: str, stack: ExitStack) -> Callable[[], None]:
        """Hold the budget until the stack is left; return a function that charges it, or refuse."""
        cap, given = self._cap, privacy.neighbours
        if not implies(given, self.neighbours):
            wanted = f"must be the relation of the budget, {self.neighbours!r} (in {what})"
            raise ParameterError("neighbours", given, wanted + _instead_of(given))
        own, privacy = privacy, privacy.implied(self.neighbours)
        is_dearer = own != privacy and given == "add-or-remove-one"
        if is_dearer:  # what is charged is twice as much
            what = f"{what} ({text(own)} by {given})"
        if not self._ledger.is_shared:
            raise BudgetError(what, privacy, self.remaining, _FORKED)
        page = stack.enter_context(self._ledger.held())
        before: Sums = page.spent()
        if privacy.epsilon == math.inf:
            raise BudgetError(what, privacy, cap.left(before), _NO_NOISE)
        after = before.plus(privacy)
        if not cap.admits(after):
            why = cap.why_not(privacy, after) or (_DEARER if is_dearer else "")
            raise BudgetError(what, privacy, cap.left(before), why)
        charge = Charge(datetime.now(UTC), what, privacy, label_of(self))
        return lambda: page.add(charge)

    @contextmanager
    def label(self, label: str) -> Iterator[Self]:
        """Do as ``with budget`` does, and write a label beside the charges inside.

        Parameters
        ----------
        label
            What the releases are for: printable, and nothing from records. An inner label takes
            the place of an outer one. Other threads write none, unless their work enters one.

        Raises
        ------
        DtypeError, ParameterError
            label is not such a string, or empty.

        Examples
        --------
        >>> import dpcore as dp
        >>> budget = dp.Budget(epsilon=20.0)
        >>> with budget.label("monthly report"):
        ...     curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=15.0)
        >>> [(charge.label, charge.what, charge.privacy.epsilon) for charge in budget.log]
        [('monthly report', 'cdf', 15.0)]
        """
        label = _text("label", label)
        if not label:
            raise ParameterError("label", label, "must not be empty")
        with labelled(self, label), self:
            yield self

    def start(self) -> Self:
        """Watch all threads of this process until ``stop`` is called; return the budget.

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
        """End the watch that ``start`` began.

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
        """The identity of the budget: two budgets that were opened from one file are the same."""
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
        what = "must not be copied or pickled: use Budget.open(path) in each process"
        raise DtypeError("budget", type(self).__name__, what)

    def __repr__(self) -> str:
        sums = self._ledger.spent()  # only once, because others may charge meanwhile
        releases = "1 release" if sums.releases == 1 else f"{sums.releases:,} releases"
        stated: list[tuple[str, object]] = [*shown(self.cap)]
        if self._cap.has_both:
            stated.append(("composition", self.composition))
        cap = ", ".join(f"{name}={value!r}" for name, value in stated)
        both = self._cap.has_both
        spent, rest = (text(cost, both) for cost in (self._cap.spent(sums), self._cap.left(sums)))
        return f"Budget({cap}): spent {spent} in {releases}, remaining {rest}"


def _text(argument: str, text: str) -> str:
    """Return a plain string; refuse what does not fit one line, or what a file could not store."""
    _check.instance(argument, text, str, "must be a string")
    plain = str.__str__(text)
    if not plain.isprintable():
        raise ParameterError(argument, plain, "must be printable")
    return plain


def _checked(
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    delta: float | None,
    neighbours: Relation,
    composition: Composition,
) -> Cap:
    """Return a cap that is above 0 and finite."""
    for name, value in (("epsilon", epsilon), ("rho", rho)):
        if value is not None:
            _check.positive(name, value)
    exact = 0.0 if delta is None else delta
    if epsilon is not None and rho is not None:
        raise ParameterError("epsilon", epsilon, "or rho must be given, and not both")
    limit = Privacy(epsilon, exact, neighbours, rho=rho)  # type: ignore[arg-type]  # rounded up
    _check.choice("composition", composition, Composition)
    if composition == "zero-concentrated" and (rho is not None or not limit.delta):
        what = "needs epsilon and a delta above 0; a cap on rho is zero-concentrated by itself"
        raise ParameterError("composition", composition, what)
    return Cap(limit, composition)


def _instead_of(given: Relation) -> str:
    """Return what to write instead of a release that publishes the sizes of groups."""
    if given != "replace-one-within-group":
        return ""
    return (
        ": it publishes the sizes of groups. Write neighbours='add-or-remove-one' to protect them,"
        f" or Budget(neighbours={given!r}) if they are public"
    )
