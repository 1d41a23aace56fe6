"""Running counts: a noisy count of a stream's records, released after every step."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._process import Owner
from ..errors import DpcoreError, DtypeError, FormatError, ParameterError
from ..kernels.trees import dyadic
from ..noise.laws import DiscreteLaplace
from ..privacy.allowance import Allowance, Law
from ..privacy.guarantees import Privacy
from ..privacy.spending import Account, unwatched
from ..records.column import Column
from ..records.files import FileError
from ..summaries.grid import MOST_CELLS
from . import saved_count
from .open_nodes import Held, OpenNodes, level_count

__all__ = ["CounterBusyError", "CounterClosedError", "RunningCount"]

Sensitivity = Literal["exact", "paper"]

_MOST_STEPS: Final = 2**32
# Noise is larger than 2^56 with probability exp(-500), so 64 bits are enough.
_MOST_COUNT: Final = 2**60


class CounterClosedError(DpcoreError, RuntimeError):
    """A running count was saved, or belongs to another process, and takes no more steps."""


class CounterBusyError(DpcoreError, RuntimeError):
    """A signal handler called a running count whose call it had interrupted, in the same thread.

    To wait would take forever, and a step within a step would use the same noise twice.
    """


class _State(NamedTuple):
    """The whole changing state, so that a step is taken or not. All but ``step`` is secret."""

    step: int
    arrived: int
    held: Held


class RunningCount:
    """A noisy running count of a stream's records, after every step.

    The noise of a step is that of the nodes of the dyadic tree that cover it (Barczewski, Mawass &
    Ramon, *Differentially private empirical cumulative distribution functions*, Eq. 2 and Theorem
    3). The outputs of all steps together are one release. docs/proofs/streams.md has the proof, the
    limits, and the format of saved counts.

    Parameters
    ----------
    horizon
        The largest number of steps, 1 to 2^32. Public.
    epsilon, rho
        The budget of all steps together, one of the two. epsilon is pure differential privacy with
        discrete Laplace noise. rho is zero-concentrated differential privacy with discrete Gaussian
        noise. Neighbours: one record comes at another step, or not at all, or in addition.
    base
        Children per tree node, 2 or more.
    sensitivity
        "exact": the largest distance in the dyadic graph over ``horizon`` thresholds. "paper": the
        bound L + 1, L = ceil(log2 horizon), of Theorem 1; base 2 only.
    rng
        None for a release, with a cryptographic source. A generator is for studies. The count uses
        a child of it.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or epsilon or rho is so small that the noise scale exceeds
        2^40.

    Notes
    -----
    Increments may depend on earlier outputs. With rho there is one exception: the guarantee is
    proven for a record whose own steps do not depend on them (docs/proofs/streams.md, section 3).

    The count keeps O(log horizon) numbers, and up to 1024 draws for nodes to come. Draws depend on
    the generator alone, not on how calls divide the steps. Calls from several threads take turns. A
    call from a signal handler is refused if it has interrupted another call. After a fork, the
    child's copy is closed, because it would use the same noise again.

    A budget is charged for all steps when the count is made. A budget that watches only where a
    step is taken is charged for all steps at the first of these (``BudgetError`` if it refuses).
    The same holds for a count that was resumed, because its file does not name budgets.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.streams import RunningCount
    >>> visitors = RunningCount(horizon=365, epsilon=1.0, rng=np.random.default_rng(1))
    >>> visitors.add(112)
    71
    >>> visitors.extend([98, 120, 131])  # the exact counts are 210, 330 and 461
    array([183, 285, 415])
    >>> visitors.step, visitors.noise_scale
    (4, Fraction(9, 1))
    """

    __slots__ = (
        "_account",
        "_budget",
        "_is_busy",
        "_lock",
        "_owner",
        "_saved_to",
        "_sensitivity",
        "_state",
        "_tree",
    )

    def __init__(
        self,
        horizon: int,
        *,
        epsilon: float | Fraction | None = None,
        rho: float | Fraction | None = None,
        base: int = 2,
        sensitivity: Sensitivity = "exact",
        rng: np.random.Generator | None = None,
    ) -> None:
        horizon = _check.integer("horizon", horizon, 1, _MOST_STEPS)
        base = _check.integer("base", base, 2, MOST_CELLS)
        self._budget = Allowance.checked(epsilon, rho, "replace-one")
        self._sensitivity = sensitivity
        law = self._budget.law(_changes(horizon, base, sensitivity))
        self._tree = OpenNodes.checked(horizon, base, law, rng)
        self._account = Account(self.privacy, "RunningCount")  # pays for all steps once
        self._state = _State(0, 0, self._tree.start())
        # A thread that holds the lock gets an error instead of waiting for itself.
        self._lock = threading.RLock()
        self._is_busy = False
        self._owner = Owner()
        self._saved_to: Path | None = None

    @property
    def step(self) -> int:
        """The number of steps that have been taken."""
        return self._state.step

    @property
    def horizon(self) -> int:
        """The largest number of steps."""
        return self._tree.thresholds

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all steps together, whether they are taken or not.

        It is stated for "replace-one", and also holds for "add-or-remove-one"
        (docs/proofs/streams.md, section 2).
        """
        return replace(self._budget.privacy, simulated=self._tree.rng is not None)

    @property
    def law(self) -> Law:
        """The law of each node's noise."""
        return self._tree.law

    @property
    def noise_scale(self) -> Fraction:
        """The parameter of the law: the Laplace scale in counts, or sigma^2 in squared counts."""
        return _parameter(self.law)

    def noise_deviation(self) -> float:
        """Return the standard deviation of the noise in every output, in counts.

        Examples
        --------
        >>> from dpcore.streams import RunningCount
        >>> for horizon in (30, 365):
        ...     print(horizon, round(RunningCount(horizon, epsilon=1.0).noise_deviation(), 1))
        30 17.3
        365 40.2
        """
        return float((level_count(self.horizon, self._tree.base) * self.law.variance) ** 0.5)

    def add(self, increment: int) -> int:
        """Take one step, and return the noisy running count after it.

        Parameters
        ----------
        increment
            Records that came at this step, 0 to 2^60 / horizon.

        Raises
        ------
        CounterBusyError
            A signal handler made this call, and has interrupted another call.
        CounterClosedError
            The count has been saved, or this is a forked copy.
        DtypeError, ParameterError
            ``increment`` is not as above, or the horizon has been reached. Nothing has changed.

        Notes
        -----
        O(base / (base - 1)) draws on average. No error quotes an increment.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> [visitors.add(arrived) for arrived in (112, 98, 120)]
        [101, 206, 312]
        """
        checked = self._checked(increment)
        return int(self._advance("increment", np.array([checked], np.int64))[0])

    def extend(self, increments: ArrayLike) -> NDArray[np.int64]:
        """Take several steps, and return the noisy running count after each of them.

        Parameters
        ----------
        increments
            (K,) integers, 0 to 2^60 / horizon each: records that came at each step.

        Returns
        -------
        numpy.ndarray
            (K,) int64, the same as from K calls of ``add``.

        Raises
        ------
        CounterBusyError, CounterClosedError, DtypeError, ParameterError
            As for ``add``, or fewer than K steps are left. Nothing has changed.

        Notes
        -----
        O(K) draws and additions.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> visitors.extend([112, 98, 120])
        array([101, 206, 312])
        """
        Column.of(increments, "increments").check_in_memory()
        array = _check.array("increments", increments, "iuf", "must hold integers")
        if array.ndim != 1:
            raise ParameterError("increments", array.shape, "must be one-dimensional")
        if array.size == 0:
            array = array.astype(np.int64)
        if array.dtype.kind == "f":
            raise DtypeError("increments", f"dtype {array.dtype}", "must hold integers")
        most = self._most()
        for value in (array.min(initial=0), array.max(initial=0)):
            if not 0 <= value <= most:
                raise ParameterError("increments", "others", f"must be between 0 and {most}")
        return self._advance("increments", array.astype(np.int64, copy=False))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a new file, and close this counter.

        The file holds the exact count and secret noise. Only its owner may read it, and nobody must
        copy it (docs/proofs/streams.md, section 4). ``resume`` continues from it.

        Raises
        ------
        CounterBusyError
            As for ``add``.
        CounterClosedError
            The count has been saved before, or this is a forked copy.
        FileError
            The file exists already, or cannot be written. Then the counter is still open. Or the
            file is written, but might not survive a power failure. Then the counter is closed.
        DtypeError, ParameterError
            ``path`` is not a path, or the study's generator is not one of NumPy's.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = visitors.extend([112, 98])
        ...     visitors.save(Path(folder) / "visitors")
        ...     again = RunningCount.resume(Path(folder) / "visitors")
        >>> again.step, again.add(120)
        (2, 312)
        """
        target = _path(path)
        self._check_here()
        with self._lock:
            self._check_open()
            attempt = saved_count.Attempt()
            try:
                self._is_busy = True
                content = saved_count.dump(self._fields())
                self._saved_to = target  # set before anybody can resume it
                saved_count.put(target, content, attempt)
            except BaseException:
                if not attempt.published:
                    self._saved_to = None
                raise
            finally:
                self._is_busy = False

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Continue from a saved state, and remove its file, so that it is resumed only once.

        Raises
        ------
        FileError
            The file does not exist (any more), or cannot be read and removed.
        FormatError
            The file is not a saved count, or is damaged. It stays where it was.
        DtypeError
            ``path`` is not a path.

        Notes
        -----
        A release continues with a fresh cryptographic source, a study with its generator.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from dpcore.streams import RunningCount
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RunningCount(horizon=30, epsilon=1.0).save(Path(folder) / "visitors")
        ...     visitors = RunningCount.resume(Path(folder) / "visitors")
        >>> visitors.horizon, visitors.step, visitors.noise_scale
        (30, 0, Fraction(5, 1))
        """
        target = _path(path)
        content = saved_count.read(target)
        counter = cls._restored(saved_count.load(content))
        saved_count.claim(target, content)
        return counter

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DtypeError(
            "counter", type(self).__name__, "must not be copied or pickled: save and resume it"
        )

    def _most(self) -> int:
        return _MOST_COUNT // self.horizon

    def _checked(self, increment: object) -> int:
        """Return an increment; messages must not quote it, because it is of records."""
        if isinstance(increment, bool | np.bool_ | np.timedelta64) or not isinstance(
            increment, Integral
        ):
            raise DtypeError("increment", f"a {type(increment).__name__}", "must be an integer")
        most = self._most()
        if not 0 <= int(increment) <= most:
            raise ParameterError("increment", "another", f"must be between 0 and {most}")
        return int(increment)

    def _check_here(self) -> None:
        if not self._owner.is_here:
            raise CounterClosedError(
                f"this running count belongs to process {self._owner.process}: a copy of it made "
                "by a fork would use the same noise again"
            )

    def _check_open(self) -> None:
        if self._is_busy:
            raise CounterBusyError(
                "this call has interrupted another call of the same running count, as signal "
                "handlers do: note the records there, and count them afterwards"
            )
        if self._saved_to is not None:
            raise CounterClosedError(
                f"this running count was saved to {str(self._saved_to)!r}: resume it from there"
            )

    def _advance(self, argument: str, increments: NDArray[np.int64]) -> NDArray[np.int64]:
        self._check_here()
        with self._lock:
            self._check_open()
            try:
                # Set before the state is read, because an interrupt could change the state.
                self._is_busy = True
                step, arrived, held = self._state
                left = self.horizon - step
                if increments.size > left:
                    raise ParameterError(argument, f"{increments.size} more", _beyond(left))
                noisy = increments.cumsum()
                noisy += arrived
                if increments.size > 0:
                    self._account.spend(self.privacy)  # to budgets that watch only now
                    last = int(noisy[-1])
                    held = self._tree.add_noise(noisy, step, held)
                    self._state = _State(step + increments.size, last, held)
                return noisy
            finally:
                self._is_busy = False

    def _fields(self) -> dict[str, Any]:
        return {
            "horizon": self.horizon,
            "epsilon": _pair(self._budget.epsilon),
            "rho": _pair(self._budget.rho),
            "base": self._tree.base,
            "sensitivity": self._sensitivity,
            "noise_scale": _pair(self.noise_scale),
            "step": self.step,
            "count": self._state.arrived,
            **self._tree.describe(self._state.held),
        }

    @classmethod
    def _restored(cls, fields: dict[str, Any]) -> Self:
        """Return the counter. Errors quote nothing of ``fields``."""
        try:
            with unwatched():  # the next step is charged, and only if nothing is wrong here
                counter = cls(
                    fields["horizon"],
                    epsilon=_fraction(fields["epsilon"]),
                    rho=_fraction(fields["rho"]),
                    base=fields["base"],
                    sensitivity=fields["sensitivity"],
                )
            if _fraction(fields["noise_scale"]) != counter.noise_scale:
                raise FormatError("a saved count with noise of another scale")
            step = _check.integer("step", fields["step"], 0, counter.horizon)
            count = _check.integer("count", fields["count"], 0, step * counter._most())
            counter._tree, held = OpenNodes.held_again(
                counter.horizon, counter._tree.base, counter.law, step, fields
            )
            counter._state = _State(step, count, held)
        except FormatError:
            raise
        except (DpcoreError, ArithmeticError, LookupError, TypeError, ValueError):
            raise FormatError("a saved count with a missing or contradictory field") from None
        return counter


def _changes(horizon: int, base: int, sensitivity: Sensitivity) -> int:
    """Return the most by which a record can shift the nodes' noise, in absolutes or squares."""
    _check.choice("sensitivity", sensitivity, Sensitivity)
    if sensitivity == "exact":
        return int(dyadic.diameter(horizon, min(base, horizon + 1)))
    if base != 2:
        raise ParameterError("base", base, 'must be 2 with sensitivity="paper"')
    return level_count(horizon, base)


def _parameter(law: Law) -> Fraction:
    return law.scale if isinstance(law, DiscreteLaplace) else law.sigma_squared


def _beyond(left: int) -> str:
    return f"must stay within the horizon: {left} steps are left"


def _pair(number: Fraction | None) -> list[int] | None:
    return None if number is None else [number.numerator, number.denominator]


def _fraction(pair: list[int] | None) -> Fraction | None:
    return None if pair is None else Fraction(*pair)


def _path(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file: a link to it can be neither claimed nor made."""
    _check.instance("path", path, str | os.PathLike, "must be a path")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, or a null character
        raise FileError(str(path), f"is not a path: {error}") from None
