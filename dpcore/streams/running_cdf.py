"""Running curves: a distribution curve of all records so far, released after every step."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.likely_mistakes import mistake_in_running_curve, warn
from ..privacy.guarantees import Neighbours
from ..records.column import Column
from ..summaries.grid import Grid, check_grid
from ..summaries.totals import NanPolicy
from .base import StreamMechanism
from .default import asked
from .running_curve import RunningCurve, grid_of
from .stream import State

__all__ = ["RunningCDF"]


class RunningCDF(RunningCurve):
    """A private distribution curve of a stream's records, after every step.

    A step is a batch of records, such as those of a day. The curves of all steps together are one
    release.

    Parameters
    ----------
    grid
        The public thresholds, N of them.
    horizon
        The largest number of steps, 1 to 2^32. Public. None: not known.
    mechanism
        A mechanism of ``dpcore.streams``, which states the budget. None: the most accurate one for
        the budget below.
    epsilon, rho, delta
        The budget of all steps together: epsilon (pure differential privacy), or rho
        (zero-concentrated differential privacy), or epsilon with delta. With the last two, curves
        are several times more accurate.
    neighbours
        "add-or-remove-one": one record comes in addition, or never. None or "replace-one": that, or
        it comes at another step and with another value, for twice the noise (rho: square root of
        2).
    integers
        Whether the records are whole numbers, as in ``dpcore.cdf``. None: what the grid says.
    isotonic
        Whether the curves are made monotone.
    window
        None: a curve is of all records so far. Or it is of those of the last ``window`` steps, 1 to
        2^20. Then the noise depends on the window, and an unknown horizon costs none.
    rng
        None for a release, with a cryptographic source. A generator is for studies.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the budget is too small.

    Notes
    -----
    docs/proofs/running-cdf.md has the proof. Time and values have a factorisation each, so the
    errors of both multiply. The number of records is not public: ``n`` of a curve is released, like
    its counts. So curves state "add-or-remove-one", which both relations imply.

    Each curve states the cost of all steps. Curves of two steps are of the same records, so
    ``combine`` and ``average`` are not for them. They are for curves of the same step at several
    sites.

    A step takes O(N log N) for rho and O(N) for epsilon, and the stream keeps some dozen numbers
    for each cell. With a window, it also keeps the noisy sums of so many steps, and copies them at
    each step. It is saved, and charged to budgets, like a ``RunningCount``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> waits = dp.streams.RunningCDF(dp.Grid.uniform(0, 60, 60), horizon=365, rho=0.5, rng=rng)
    >>> for day in range(3):
    ...     curve = waits.add(rng.gamma(3.0, 5.0, 1000))
    >>> waits.step, round(curve.n, -2), curve.quantile([0.5, 0.9]).round()
    (3, 3000, array([13., 26.]))
    """

    kind: ClassVar[str] = "running-cdf"

    __slots__ = ("_integers", "_is_told")

    def __init__(
        self,
        grid: Grid,
        horizon: int | None = None,
        mechanism: StreamMechanism | None = None,
        *,
        epsilon: float | Fraction | None = None,
        rho: float | Fraction | None = None,
        neighbours: Neighbours | None = None,
        delta: float | None = None,
        integers: bool | None = None,
        isotonic: bool = True,
        window: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        check_grid("grid", grid)
        if integers is not None:
            _check.flag("integers", integers)
        chosen = asked(mechanism, epsilon, rho, neighbours, delta)
        self._integers, self._is_told = integers, False
        self._begin_curve(grid, grid, chosen, horizon, window, rng, isotonic=isotonic)

    @property
    def curve(self) -> CDF | None:
        """The curve of the last step; None before the first one, and after ``resume``."""
        curve: CDF | None = self._state.more
        return curve

    def add(self, values: Any, *, nan_policy: NanPolicy = "raise") -> CDF:
        """Take one step with the records of a batch, and return the curve of all records so far.

        Parameters
        ----------
        values
            (n,) numbers, in any container that ``dpcore.cdf`` takes; also none. At most
            2^48 / horizon for rho and 2^60 / horizon for epsilon; a window stands for the horizon.
            Where steps are scaled (``BufferedToeplitz``), at most some 2^37, and fewer for a rho
            above 1/2. Without both: 2^43 / step, or 65,536 if this is more, for rho, and 4,096
            times as many for epsilon.
        nan_policy
            "raise" or "omit", as in ``dpcore.cdf``.

        Returns
        -------
        CDF
            The released curve.

        Warns
        -----
        DpcoreWarning
            Once, if noise is at most 1 % of the records: nearly all are at the ends of the grid, or
            many at its lower end (docs/guides/roc.md, section 4).

        Raises
        ------
        CounterBusyError, CounterClosedError
            As for ``RunningCount.add``.
        DtypeError, ParameterError, MissingValueError
            The records are not as above, or the horizon has been reached. Nothing has changed.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> grid, rng = dp.Grid.uniform(0, 60, 60), np.random.default_rng(1)
        >>> waits = dp.streams.RunningCDF(grid, horizon=365, rho=0.5, rng=rng)
        >>> round(waits.add(rng.gamma(3.0, 5.0, 1000)).quantile(0.5))
        13
        """
        column = Column.of(values, "values")
        return self._step("values", self._grid.count(column, nan_policy=nan_policy))

    def add_counts(self, counts: NDArray[np.integer[Any]]) -> CDF:
        """Take one step with the counts of the cells, (N,), from ``Grid.count``.

        Use this for batches in chunks, or of several sites that trust one curator: add up their
        counts.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> grid, rng = dp.Grid.uniform(0, 3, 3), np.random.default_rng(1)
        >>> waits = dp.streams.RunningCDF(grid, horizon=365, rho=0.5, rng=rng)
        >>> waits.add_counts(np.array([500, 300, 200])).counts.round()
        array([ 500.,  799., 1002.])
        """
        exact = _check.counts("counts", counts, (self._grid.size,))
        return self._step("counts", exact)

    def _step(self, argument: str, counts: NDArray[np.int64]) -> CDF:
        """Take one step, and tell of a likely mistake once."""
        released: CDF = self._counted(argument, counts)
        text = None if self._is_told else mistake_in_running_curve(released.as_released())
        if text is not None:
            self._is_told = True
            warn(text)
        return released

    def _kept(self, state: State, outputs: NDArray[np.float64]) -> CDF:
        """Return the curve of the last step: it is kept if and only if the step is taken."""
        raw = self._raw(state, outputs, integers=self._integers)
        return raw.isotonic() if self._isotonic else raw

    def _more_form(self) -> dict[str, Any]:
        return {**super()._more_form(), "integers": self._integers, "is_told": self._is_told}

    @classmethod
    def _made_again(cls, mechanism: StreamMechanism, horizon: int | None, more: Any) -> Self:
        kept = {name: more.get(name) for name in ("integers", "isotonic", "window")}
        stream = cls(grid_of(more), horizon, mechanism, **kept)
        stream._is_told = more.get("is_told", False)  # in older files there is none
        _check.flag("is_told", stream._is_told)
        stream._take_identifier(more)
        return stream
