"""Running scores: the curves of both classes of a model in use, released after every step."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.likely_mistakes import mistake_in_running_scores, named, warn
from ..curves.scores import ScoreCurves, check_score_grid, numbered
from ..errors import ParameterError, shown
from ..privacy.guarantees import Neighbours
from ..records.labels import Label, label_form, label_of, plain
from ..summaries.grid import Grid
from ..summaries.score_counts import score_counts
from ..summaries.totals import NanPolicy
from .area_changes import AreaChange, Monitoring, may_be_empty, warn_of_few
from .base import StreamMechanism
from .default import asked
from .running_curve import RunningCurve, grid_of
from .stream import State
from .windows import bits_of, doubles_of

__all__ = ["RunningScores"]

_MOST_MONITORED: Final = 2**11  # steps: the covariances of all of them are held
_MOST_CELLS: Final = 2**11


class _Seen(NamedTuple):
    """What has been released, as far as it is kept."""

    curves: ScoreCurves | None
    now: NDArray[np.float64] | None  # (2 N,) the raw joint counts of the last step
    first: NDArray[np.float64] | None  # and of the first window
    pos_label: Label | None = None  # of all steps so far; None: no step has said it
    is_told: bool = False  # whether a warning has told of a likely mistake


class RunningScores(RunningCurve):
    """The private score distributions of both classes, after every step of a stream.

    A model that is in use is monitored so: a step is a batch of records with their labels and
    scores. ROC curves, calibration and the Hosmer-Lemeshow test are computed from the curves of
    each step, and ``change`` says whether the area has changed since the first window. All steps
    together are one release.

    Parameters
    ----------
    grid
        The public thresholds of the scores, N of them.
    horizon, mechanism, epsilon, rho, delta, neighbours
        As in ``RunningCDF``. "replace-one" includes a record whose label changes.
    isotonic
        Whether the curves are made monotone.
    window
        As in ``RunningCDF``: a curve is of the last ``window`` steps. None: of all steps so far.
    rng
        None for a release, with a cryptographic source. A generator is for studies.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the budget is too small.

    Notes
    -----
    docs/proofs/running-cdf.md has the proof. Each class has counters of its own, and a record
    changes those of one class. The numbers of records of both classes are released.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 32)
    >>> scores = dp.streams.RunningScores(grid, 60, window=10, rho=0.5, rng=rng)
    >>> for day in range(30):
    ...     y_score = rng.random(200)
    ...     y_true = rng.random(200) < (y_score if day < 15 else 0.5)  # the model fails
    ...     curves = scores.add(y_true, y_score)
    >>> change = scores.change()
    >>> round(change.reference, 2), round(change.area, 2), change.is_alarm
    (0.85, 0.51, True)
    """

    kind: ClassVar[str] = "running-scores"

    __slots__ = ("_monitoring",)

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
        isotonic: bool = True,
        window: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        check_score_grid(grid)
        chosen = asked(mechanism, epsilon, rho, neighbours, delta)
        cells = numbered(2 * grid.size)
        self._monitoring: Monitoring | None = None
        self._begin_curve(grid, cells, chosen, horizon, window, rng, isotonic=isotonic)
        self._state = self._state._replace(more=_Seen(None, None, None))

    @property
    def curves(self) -> ScoreCurves | None:
        """The curves of the last step; None before the first one, and after ``resume``."""
        seen: _Seen = self._state.more
        return seen.curves

    def add(
        self,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: Label | None = None,
        nan_policy: NanPolicy = "raise",
    ) -> ScoreCurves:
        """Take one step with the records of a batch, and return the curves of both classes.

        Parameters
        ----------
        y_true, y_score, pos_label, nan_policy
            As in ``dpcore.score_curves``; also no records. There may be as many as ``RunningCDF``
            takes.

        Returns
        -------
        ScoreCurves
            Of the window, or of all records so far.

        Raises
        ------
        CounterBusyError, CounterClosedError
            As for ``RunningCount.add``.
        DtypeError, ParameterError, MissingValueError
            The records are not as above, ``pos_label`` is not that of the steps before, or the
            horizon has been reached. Nothing has changed.

        Warns
        -----
        DpcoreWarning
            The released numbers suggest wrong labels, exchanged arguments or another grid
            (docs/guides/roc.md, section 4). Once for a stream, at a step where the noise is at most
            a hundredth of the records.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 32)
        >>> scores = dp.streams.RunningScores(grid, 365, rho=0.5, rng=rng)
        >>> y_score = rng.random(5000)
        >>> curves = scores.add(rng.random(5000) < y_score, y_score)
        >>> round(dp.statistics.ROC(curves).auc, 2)
        0.82
        """
        counts = score_counts(
            y_true, y_score, self._grid, pos_label=pos_label, nan_policy=nan_policy
        )
        label = plain("pos_label", 1 if pos_label is None else pos_label)
        return self._step("y_score", counts, label)

    def add_counts(self, counts: NDArray[np.integer[Any]]) -> ScoreCurves:
        """Take one step with counts, (2 N,), from ``dpcore.score_counts``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid([0.5, 1.0])
        >>> scores = dp.streams.RunningScores(grid, 365, rho=0.5, rng=rng)
        >>> curves = scores.add_counts(np.array([400, 100, 200, 50]))
        >>> curves.negatives.round(), curves.positives.round()
        (array([400., 499.]), array([ 50., 252.]))
        """
        exact = _check.counts("counts", counts, (self._cells.size,))
        return self._step("counts", exact, None)

    def change(self, false_alarm_rate: float = 0.05) -> AreaChange | None:
        """Compare the area of the last window with that of the first one, at no cost.

        If it is called after each step, up to the horizon, some call raises an alarm with the
        probability ``false_alarm_rate`` if nothing changes.

        Parameters
        ----------
        false_alarm_rate
            0.001 to 0.5, for the monitoring as a whole. Use the same one at all steps.

        Returns
        -------
        AreaChange or None
            None up to the end of the first window. If the number of a class is below 1, or within
            two deviations of its noise, all numbers are NaN, and there is no alarm.

        Warns
        -----
        DpcoreWarning
            One of the two windows has a class of fewer than 30 records, or whose number has a noise
            of more than a fifth. The false alarm rate may then be another one.

        Raises
        ------
        DtypeError, ParameterError
            The rate is not as above, or the stream has no window that is shorter than a horizon of
            at most 2,048 steps, or one cell or more than 2,048.

        Notes
        -----
        Assumptions: nothing changes means that records are independent draws from one population,
        with batches of similar sizes; areas are nearly normal. The variance is that of the noise,
        from the mechanism, and that of sampling (DeLong, DeLong & Clarke-Pearson 1988). The
        critical value is simulated, for the covariances of all steps, which windows in common
        cause. docs/guides/streams.md has measured rates. If batches shrink to a fifth over the
        monitoring, the rate is about 8 % instead of 5 %. The first call takes some seconds
        for 1,000 steps.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 32)
        >>> scores = dp.streams.RunningScores(grid, 60, window=10, rho=0.5, rng=rng)
        >>> for day in range(20):
        ...     y_score = rng.random(200)
        ...     curves = scores.add(rng.random(200) < y_score, y_score)
        >>> change = scores.change()
        >>> round(change.difference, 3), round(change.deviation, 3), round(change.critical_value, 2)
        (-0.021, 0.014, 3.05)
        """
        rate = _check.finite("false_alarm_rate", false_alarm_rate)
        if not 0.001 <= rate <= 0.5:
            raise ParameterError("false_alarm_rate", rate, "must be between 0.001 and 0.5")
        monitoring = self._monitored()
        state = self._state
        seen: _Seen = state.more
        if seen.first is None or seen.now is None or state.step <= monitoring.window:
            return None
        for joint in (seen.first, seen.now):
            warn_of_few(joint, monitoring)
        if may_be_empty(seen.first, monitoring) or may_be_empty(seen.now, monitoring):
            return AreaChange(state.step, np.nan, np.nan, np.nan, np.nan)
        first, now = monitoring.windows(seen.first), monitoring.windows(seen.now)
        step = np.array(state.step)
        return AreaChange(
            state.step,
            float(now.area),
            float(first.area),
            float(monitoring.deviation(step, first, now)),
            monitoring.critical_value(first, rate),
        )

    def _step(
        self, argument: str, counts: NDArray[np.int64], pos_label: Label | None
    ) -> ScoreCurves:
        """Take one step, if the label is that of the steps before; tell of a likely mistake."""
        self._check_here()  # a fork may hold the lock
        with self._lock:
            before: _Seen = self._state.more
            label = before.pos_label if pos_label is None else pos_label
            if before.pos_label is not None and label != before.pos_label:
                what = f"must be {shown(before.pos_label)}, as at the steps before"
                raise ParameterError("pos_label", pos_label, what)
            seen: _Seen = self._counted(argument, counts)
            assert seen.curves is not None
            raw = replace(seen.curves, joint=seen.curves.joint.as_released())
            text = None if seen.is_told else mistake_in_running_scores(raw, named(label))
            more = seen._replace(pos_label=label, is_told=seen.is_told or text is not None)
            self._state = self._state._replace(more=more)
        if text is not None:
            warn(text)
        return seen.curves

    def _monitored(self) -> Monitoring:
        if self._monitoring is None:
            horizon, window = self._horizon, self._window
            if horizon is None or horizon > _MOST_MONITORED:
                what = f"must be known, and at most {_MOST_MONITORED}, for alarms"
                raise ParameterError("horizon", horizon, what)
            if window is None or window >= horizon:
                raise ParameterError("window", window, "must be shorter than the horizon")
            if not 2 <= self._grid.size <= _MOST_CELLS:  # of one cell the area is always 1/2
                what = f"must have 2 to {_MOST_CELLS} cells for alarms"
                raise ParameterError("grid", self._grid.size, what)
            self._monitoring = Monitoring(self._questions, self._noises, horizon, window)
        return self._monitoring

    def _kept(self, state: State, outputs: NDArray[np.float64]) -> _Seen:
        """Return what is released at the last step: it is kept if and only if the step is taken."""
        raw = self._raw(state, outputs, integers=False)
        curves = ScoreCurves(self._grid, raw.isotonic() if self._isotonic else raw)
        before: _Seen = state.more
        now = raw.counts.astype(np.float64)
        first = now if state.step == self._window else before.first
        return before._replace(curves=curves, now=now, first=first)

    def _more_form(self) -> dict[str, Any]:
        seen: _Seen = self._state.more
        kept = {
            name: None if joint is None else bits_of(joint[None])
            for name, joint in (("now", seen.now), ("first", seen.first))
        }
        told = {"is_told": seen.is_told, "pos_label": label_form(seen.pos_label)}
        return {**super()._more_form(), **kept, **told}

    @classmethod
    def _made_again(cls, mechanism: StreamMechanism, horizon: int | None, more: Any) -> Self:
        stream = cls(
            grid_of(more), horizon, mechanism, isotonic=more["isotonic"], window=more.get("window")
        )
        now, first = (
            None if more[name] is None else doubles_of(more[name], (1, stream._cells.size))[0]
            for name in ("now", "first")
        )
        label = label_of(more.get("pos_label"))  # files of earlier versions do not have it
        is_told = more.get("is_told", False)
        _check.flag("is_told", is_told)
        seen = _Seen(None, now, first, label, is_told)
        stream._state = stream._state._replace(more=seen)
        stream._take_identifier(more)
        return stream
