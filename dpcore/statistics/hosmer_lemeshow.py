"""The Hosmer-Lemeshow test: do predicted probabilities fit the labels?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from .._threads import on_threads, one_processor
from ..curves import forms
from ..curves.confidence import deviations, in_percent
from ..curves.drawing import drawing
from ..curves.field_tables import Rows, cut, text
from ..curves.own_mechanism import Releases, check_released
from ..curves.scores import ScoreCurves
from ..curves.shown import cost, line
from ..curves.simulated_releases import Simulation, blocks
from ..curves.stored import Stored, dumped, made, one_of
from ..errors import DpcoreError, DtypeError, ParameterError, amount
from ..noise.sources import source
from ..privacy.guarantees import Privacy
from .binning import Cells, check_edges
from .right_labels import RightLabels
from .risk_groups import are_few, check_groups, check_minimum, grouped_rows, risk_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HosmerLemeshow", "HosmerLemeshowUnderNoise", "statistics", "tested"]

SimulatedTests = Callable[[int, np.random.Generator], tuple[NDArray[np.float64], NDArray[np.int64]]]

_ESTIMATED: Final = 2  # degrees of freedom that a fit to the same records takes
_MOST_REPLICATES: Final = 2**20
_LEAST_SIZE: Final = 2**14  # of curves, so that a thread's block of releases stays in its cache
_LARGE: Final = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class _Simulation(Stored):
    """Tests of simulated labels that fit their probabilities, made as that of the release.

    Parameters
    ----------
    curves
        The released curves.
    mechanism
        The mechanism that released them.
    groups, minimum, fitted
        As in ``tested``.
    labels
        Two sets of labels to draw, each for half of the releases. Each cell has as many simulated
        records as released ones. Their probabilities are the upper ends of the cells in every other
        group, and the lower ends in the groups between; or the reverse. A statistic takes the
        middles, and real probabilities are anywhere in the cells, so these are the two cases in
        which a right model seems most wrong (docs/proofs/hosmer-lemeshow.md, section 4).
    """

    curves: ScoreCurves = field(metadata=one_of(ScoreCurves))
    mechanism: Releases = field(metadata=forms.REMADE)
    groups: int = field(metadata=forms.WHOLE)
    minimum: float | None = field(metadata=forms.or_null(forms.NUMBER))
    fitted: bool = field(metadata=forms.FLAG)
    labels: tuple[RightLabels, RightLabels] = field(metadata=forms.NOT_STORED)

    @classmethod
    def _of_stored(
        cls,
        curves: ScoreCurves,
        mechanism: Releases,
        groups: int,
        minimum: float | None,
        fitted: bool,
    ) -> _Simulation:
        groups, minimum = check_groups(groups, curves.n, fitted), check_minimum(minimum)
        cells = Cells.of(curves)
        records = np.diff(np.rint(cells.totals)).astype(np.int64)
        ends = risk_groups(curves, groups, minimum).edges[1:-1]
        is_upper = np.searchsorted(ends, cells.edges[1:]) % 2 == 1
        first, second = (
            RightLabels.of(records, np.where(upper, cells.edges[1:], cells.starts), fitted)
            for upper in (is_upper, ~is_upper)
        )
        return cls(curves, mechanism, groups, minimum, fitted, (first, second))

    def __call__(
        self, replicates: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        cells = Cells.of(self.curves)
        releases = Simulation(self.curves.joint.isotonic(), self.mechanism)
        null, degrees = np.empty(replicates), np.empty(replicates, np.int64)

        def test(block: tuple[slice, np.random.Generator]) -> None:
            some, own = block
            with one_processor():
                released = releases.of_samples(self._counts(some.stop - some.start, own), own)
            rows = self.curves.classes(released)
            grouped = grouped_rows(cells, *rows, self.groups, self.minimum)
            null[some] = statistics(grouped.observed, grouped.expected)
            degrees[some] = np.count_nonzero(grouped.merged, axis=1)

        size = self.curves.joint.grid.size
        parts = blocks(replicates, max(size, _LEAST_SIZE))
        workers = 1 if size > _LARGE else None  # each takes memory
        on_threads(test, list(zip(parts, rng.spawn(len(parts)), strict=True)), workers)
        return null, degrees - (_ESTIMATED if self.fitted else 0)

    def _counts(self, replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the joint counts of R draws of labels, (R, 2 N) or (R, 2 N + 1)."""
        which, size = rng.integers(2, size=replicates), self.curves.grid.size
        counts = np.zeros((replicates, self.curves.joint.grid.size), np.int64)
        for i, labels in enumerate(self.labels):
            positives = labels.draw(int(np.count_nonzero(which == i)), rng)
            counts[which == i, :size] = labels.records - positives
            counts[which == i, -1 : -size - 1 : -1] = positives
        if self.curves.has_empty:
            counts[:, size] = self.curves.joint.n - counts.sum(axis=1)
        return counts


def _dumped_simulation(simulation: object) -> Any:
    """Return the parts of a simulation of curves, if it can be made from them again."""
    parts = dumped(simulation) if isinstance(simulation, _Simulation) else {}
    return parts if "mechanism" in parts else forms.ABSENT


def _simulation(name: str, data: Mapping[str, Any]) -> _Simulation:
    simulation = made(_Simulation, data[name])
    check_released("curves", simulation.curves.joint, simulation.mechanism)
    return simulation


_BY_CLASS: Final = forms.counted(forms.like("merged", columns=(2,)))
_SIMULATION: Final = forms.optional(forms.form(_dumped_simulation, _simulation))


@sealed
@dataclass(frozen=True, eq=False, repr=False)  # no slots, because the p-value is cached
class HosmerLemeshow(Stored):
    """Observed and expected records by groups of predicted probability, and the test's statistic.

    Made by ``from_curves``, ``dpcore.hosmer_lemeshow``, or ``hosmer_lemeshow_by_groups`` of the
    module ``dpcore.papers.hosmer_lemeshow_by_groups``. Arrays (G, 2) have negatives first and
    positives second.

    Parameters
    ----------
    edges
        (G + 1,) the edges of the groups, within [0, 1], never decreasing. A group has
        lower < probability <= upper.
    observed
        (G, 2) released numbers of records.
    expected
        (G, 2) released sums of their predicted probabilities.
    deviations
        (G, 2) bounds of the standard deviations of the noise in ``observed``, for raw curves. They
        are infinite if the mechanism has no closed form for them.
    merged
        (G,) how many of the requested groups are in each group.
    cell_errors
        (G,) bounds of the error of the expected positives: half a cell for each record, because the
        place of a probability in its cell is not known. 0 if the sums were released themselves.
    n
        The number of records.
    privacy
        The cost of the release.
    fitted
        Whether the model was fitted to these records by maximum likelihood: see ``from_curves``.
    simulation
        A function of a number R and a generator. It returns the statistics of R simulated releases,
        with labels for which the model is right, and their degrees of freedom, (R,) each. None if
        the mechanism of the release is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores**1.2  # there are fewer positives than predicted
    >>> test = dp.hosmer_lemeshow(labels, scores, groups=4, epsilon=5.0, fitted=False, rng=rng)
    >>> test.observed[:, 1].round(), test.expected[:, 1].round()
    (array([ 56., 165., 302., 410.]), array([ 70., 185., 325., 424.]))
    >>> round(test.statistic), test.degrees_of_freedom
    (15, 4)
    """

    _kind = "dpcore.hosmer-lemeshow"

    edges: NDArray[np.float64] = field(metadata=forms.like("merged", 1))
    observed: NDArray[np.float64] = field(metadata=_BY_CLASS)
    expected: NDArray[np.float64] = field(metadata=_BY_CLASS)
    deviations: NDArray[np.float64] = field(metadata=_BY_CLASS)
    merged: NDArray[np.int64] = field(metadata=forms.ROW)
    cell_errors: NDArray[np.float64] = field(metadata=forms.counted(forms.like("merged")))
    n: int = field(metadata=forms.WHOLE)
    privacy: Privacy = field(metadata=forms.PRIVACY)
    fitted: bool = field(default=True, metadata=forms.FLAG)
    simulation: SimulatedTests | None = field(default=None, compare=False, metadata=_SIMULATION)

    def __post_init__(self) -> None:
        _check.held("merged", self.merged, (None,))
        groups = self.merged.size
        check_edges(self.edges, groups)
        for name in ("observed", "expected", "deviations"):
            _check.held(name, getattr(self, name), (groups, 2))
        for name in ("observed", "expected"):
            _check.cumulative_counts(name, getattr(self, name))  # finite
        _check.held("cell_errors", self.cell_errors, (groups,))
        _check.integer("n", self.n, 0, 2**63 - 1)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        _check.flag("fitted", self.fitted)
        if self.simulation is not None and not callable(self.simulation):
            kind = type(self.simulation).__name__
            raise DtypeError(
                "simulation", kind, "must be None or a function of a number and a generator"
            )

    @classmethod
    def from_curves(
        cls,
        curves: ScoreCurves,
        groups: int = 10,
        *,
        mechanism: Releases | None = None,
        minimum_expected: float | None = None,
        fitted: bool = True,
    ) -> HosmerLemeshow:
        """Return the test of a released pair of curves, at no further cost.

        Parameters
        ----------
        curves
            Curves of predicted probabilities: thresholds within [0, 1], the last one 1. They are
            made monotone by ``isotonic`` if they are not.
        groups
            Q, the number of groups, 3 <= Q <= n. Each group has about n / Q records. Group q ends
            at the first threshold up to which q n / Q records were released. So records of one
            cell, and all records with one probability, are in one group.
        minimum_expected
            The least expected number of positives, and of negatives, in a group. A group with
            fewer, or with none at all, is merged with the next one, and the last group with the one
            before. None: the larger of 5 and a bound of the deviation of the noise in the group's
            count. 0: only groups in which no positive, or no negative, is expected are merged.
        mechanism
            The mechanism or trust model that released the curves; ``pvalue`` and ``under_noise``
            simulate it. ``dpcore.mechanisms.from_curve(curves.joint)`` makes it again from the
            description in the release. The curves must then be raw or made monotone by
            ``isotonic``. None: it is not known; ``pvalue`` and ``under_noise`` then raise an error.
        fitted
            Whether the model was fitted to these records. If so, there are G - 2 degrees of
            freedom, and otherwise G. True is valid for logistic regression with an intercept, by
            maximum likelihood without a penalty, whatever the features: such a model, if right, is
            rejected at most as often as stated. It is not valid for boosting, trees or strong
            penalties, whose residuals on their own training records have a trend. Test these on
            other records (docs/proofs/hosmer-lemeshow.md, section 5).

        Returns
        -------
        HosmerLemeshow
            A test of 1 to Q groups. ``merged`` shows which of them were merged.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism is not the one that the curves name.

        Notes
        -----
        The test is that of Hosmer & Lemeshow (1980), and Eq. 5 of the ECDF paper. The probability
        of every record is taken as the middle of its cell, so the error of an expected number is at
        most half a cell for each record of the group, as ``cell_errors`` says. ``pvalue`` allows
        for it (docs/proofs/hosmer-lemeshow.md, section 4). The cost is O(N + Q log N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> from dpcore.statistics import HosmerLemeshow
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000)
        >>> labels = rng.random(2000) < scores**1.2  # there are fewer positives than predicted
        >>> curves = dp.score_curves(labels, scores, epsilon=5.0, rng=rng)
        >>> test = HosmerLemeshow.from_curves(curves, 4, fitted=False)
        >>> round(test.statistic), test.degrees_of_freedom
        (13, 4)
        """
        _check.instance("curves", curves, ScoreCurves, "must be ScoreCurves")
        groups = check_groups(groups, curves.n, fitted)
        minimum = check_minimum(minimum_expected)
        if mechanism is not None:
            mechanism = check_released("curves", curves.joint, mechanism)
        return tested(curves, groups, mechanism, minimum, fitted)

    @property
    def contributions(self) -> NDArray[np.float64]:
        """(G,) the term of each group in the statistic; 0 where 0 are expected and 0 observed."""
        return _terms(self.observed, self.expected)

    @property
    def statistic(self) -> float:
        """H, the sum of (observed - expected)^2 / expected over groups and classes."""
        return float(statistics(self.observed, self.expected))

    @property
    def degrees_of_freedom(self) -> int:
        """G - 2 if the model was fitted to these records, and G otherwise."""
        return self.merged.size - (_ESTIMATED if self.fitted else 0)

    @property
    def cell_noncentrality(self) -> float:
        """The most that the width of cells can add to the statistic of a right model.

        It is the noncentrality of the chi-squared law if all probabilities are at ends of their
        cells: the sum of squared ``cell_errors`` over the variance of a group. On ``arcsine_grid``
        of N cells it is at most n sin^2(pi / (2 N)). As ``pvalue`` allows for it, misfits that add
        less are not found. Of 10 groups without noise, a model whose probabilities are in the
        middles is rejected at 5 % less often by up to 2.9 percentage points times this number.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            shifts = self.cell_errors**2 / self.expected.prod(axis=1) * self.expected.sum(axis=1)
        return float(np.nansum(shifts))

    @cached_property
    def pvalue(self) -> float:
        """The probability that a right model, released in the same way, has such a statistic.

        That is, a statistic at least as large as this one. **The noise of the release is taken into
        account**: the value is ``under_noise().pvalue`` of 999 simulated releases, so it is at
        least 0.001. So is the width of cells: wherever the probabilities are in their cells, a
        right model is not rejected more often. The simulations take less than half a second for the
        default grid, ten seconds for 2^16 cells, and half an hour for 2^23: for these, fewer
        replicates of ``under_noise`` may be enough. They run once, and the value is kept. The same
        release always has the same p-value, also read from JSON, unless its mechanism is a trust
        model, which JSON does not restore. Without noise
        (``dpcore.mechanisms.NoNoise``) it is not simulated, but computed.

        NaN if no degree of freedom is left. Raises ``ParameterError`` if the mechanism of the
        release is not known: pass it to ``from_curves``.
        """
        if self.degrees_of_freedom < 1:
            return math.nan
        if self.deviations.any():
            return self.under_noise().pvalue
        return self._tail(self.cell_noncentrality)  # (D + b)^2 / V has a noncentral law

    @property
    def pvalue_ignoring_noise(self) -> float:
        """The textbook's p-value, by the chi-squared law: **too small wherever there is noise**.

        Noise makes the statistic larger, and so does the width of cells. The chi-squared law does
        not account for them. So right models are rejected: at epsilon = 1 and 10,000 records, more
        often than not. NaN if no degree of freedom is left.
        """
        return self._tail(0.0)

    def _tail(self, noncentrality: float) -> float:
        """Return the share of the chi-squared law that is at least as far out as the statistic.

        The noncentral law is a mixture of central ones, whose tails are exact where they are tiny.
        """
        if self.degrees_of_freedom < 1:
            return math.nan
        from scipy.special import chdtrc, gammaln, xlogy  # take a while to import

        half = noncentrality / 2
        if not math.isfinite(half):
            return 1.0
        reach = 12.0 * math.sqrt(half) + 60.0  # the rest weighs less than 1e-30
        j = np.arange(max(0.0, math.floor(half - reach)), half + reach if half else 1.0)
        weights = np.exp(xlogy(j, half) - half - gammaln(j + 1.0))
        return float(weights @ chdtrc(self.degrees_of_freedom + 2.0 * j, self.statistic))

    def under_noise(
        self, replicates: int = 999, rng: np.random.Generator | None = None
    ) -> HosmerLemeshowUnderNoise:
        """Compare the test with simulated releases of a model that is right.

        This is post-processing. Only simulated labels are released; the records are not used, and
        nothing is spent.

        Parameters
        ----------
        replicates
            R, how many releases to simulate, 1 to 2^20. The p-value is at least 1 / (R + 1). The
            standard error of a small p-value p is about sqrt(p / R).
        rng
            The generator for the simulations. None: a generator seeded by the released numbers, so
            the same test always has the same result. It need not be secret, because these numbers
            are already public.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism of the release is not known.

        Notes
        -----
        This is a parametric bootstrap. docs/proofs/hosmer-lemeshow.md states its assumptions, and
        docs/measured/hosmer-lemeshow-accuracy.md shows how often it rejects. The cost is that of R
        releases.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> scores = rng.random(2000)
        >>> labels = rng.random(2000) < scores**1.5  # there are fewer positives than predicted
        >>> test = dp.hosmer_lemeshow(labels, scores, groups=4, epsilon=5.0, fitted=False, rng=rng)
        >>> found = test.under_noise(replicates=19, rng=rng)
        >>> found.null.size, found.pvalue
        (19, 0.05)
        """
        replicates = _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
        if rng is None:
            released = np.concatenate([self.observed, self.expected])
            rng = np.random.default_rng(released.view(np.uint32).ravel())
        source(rng)
        if self.simulation is None:
            raise ParameterError(
                "mechanism",
                None,
                "must be known, to simulate its noise: pass it to HosmerLemeshow.from_curves "
                "(dpcore.mechanisms.from_curve(curves.joint) makes it from a release)",
            )
        return HosmerLemeshowUnderNoise(self, *self.simulation(replicates, rng))

    @property
    def is_small(self) -> NDArray[np.bool_]:
        """(G,) whether the expected number of a class is below 5 or below the noise deviation."""
        return are_few(self.expected, self.deviations)

    @property
    def table(self) -> Mapping[str, NDArray[Any]]:
        """The columns by name, each (G,); ``pandas.DataFrame(test.table)`` shows them."""
        return {
            "lower": self.edges[:-1],
            "upper": self.edges[1:],
            "observed_negatives": self.observed[:, 0],
            "expected_negatives": self.expected[:, 0],
            "observed_positives": self.observed[:, 1],
            "expected_positives": self.expected[:, 1],
            "contribution": self.contributions,
            "merged": self.merged,
            "is_small": self.is_small,
        }

    def _columns(self) -> Mapping[str, Any]:
        return self.table

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

    def _readings(self, level: float) -> list[Rows]:
        whole = [("statistic", text(self.statistic))]
        with suppress(DpcoreError):  # the mechanism may not be known
            whole.append(("p-value", text(self.pvalue)))
        observed, reach = self.observed[:, 1], deviations(level) * self.deviations[:, 1]
        ends = (observed, observed - reach, observed + reach)
        sizes = (self.observed.sum(axis=1), self.expected[:, 1])
        of_groups = (self.edges[:-1], self.edges[1:], *sizes, *ends)
        names = ("from", "to", "records", "positives, expected", "observed", "low", "high")
        rows = [tuple(map(text, row)) for row in zip(*of_groups, strict=True)]
        groups = cut(f"Groups, with {in_percent(level)} intervals of the noise", names, rows)
        return [Rows("Test", ("", "value"), whole), groups]

    @drawing
    def plot(self, ax: Axes | None = None, **bars: Any) -> Axes:
        """Draw observed and expected positives of each group. This needs the extra ``plot``.

        Groups end at thresholds, at the places that the private curve gives, and need not be of one
        size. A line above each bar marks all records of the group.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        **bars
            Passed on to ``Axes.bar``, for the observed numbers; ``label`` is their text in the
            legend.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> scores = np.linspace(0.05, 0.95, 400)
        >>> labels = np.random.default_rng(1).random(400) < scores
        >>> exact = dp.mechanisms.NoNoise()
        >>> ax = dp.hosmer_lemeshow(labels, scores, groups=4, mechanism=exact).plot()
        >>> [round(bar.get_height()) for bar in ax.patches], ax.get_ylabel()
        ([15, 42, 63, 87], 'records in the group')
        """
        from ..curves.plots import plot_bars, shortly

        return plot_bars(
            self.observed,
            self.expected[:, 1],
            self.deviations[:, 1],
            self.edges,
            shortly(self.privacy),
            ax=ax,
            style=bars,
        )

    def __repr__(self) -> str:
        groups, fitted = self.merged.size, "" if self.fitted else ", not fitted"
        summary = f"statistic {self.statistic:.4g}, n = {self.n}, {cost(self.privacy)}"
        return line("HosmerLemeshow", f"{summary}, {amount(groups, 'group')}{fitted}", summary)


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class HosmerLemeshowUnderNoise:
    """A released Hosmer-Lemeshow test, with simulated ones for a model that is right.

    Made by ``HosmerLemeshow.under_noise``.

    Parameters
    ----------
    test
        The released ``HosmerLemeshow`` test.
    null
        (R,) the statistics of the simulated releases.
    null_degrees_of_freedom
        (R,) their degrees of freedom, which differ because merging depends on the noise.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores  # the model is right
    >>> test = dp.hosmer_lemeshow(labels, scores, groups=4, epsilon=1.0, fitted=False, rng=rng)
    >>> found = test.under_noise(replicates=19, rng=rng)
    >>> round(test.statistic), round(found.statistic)  # the noise adds to it
    (4, 0)
    >>> round(found.pvalue, 2)
    0.8
    """

    test: HosmerLemeshow
    null: NDArray[np.float64]
    null_degrees_of_freedom: NDArray[np.int64]

    def __post_init__(self) -> None:
        _check.instance("test", self.test, HosmerLemeshow, "must be a HosmerLemeshow")
        _check.held("null", self.null, (None,))
        _check.held("null_degrees_of_freedom", self.null_degrees_of_freedom, self.null.shape)

    def __repr__(self) -> str:
        size = self.null.size
        return line(
            "HosmerLemeshowUnderNoise",
            f"p-value {self.pvalue:.3g}, {amount(size, 'simulated release')}",
        )

    @property
    def pvalue(self) -> float:
        """The share of releases, including this one, whose statistic is at least as large.

        It is at least 1 / (R + 1). Statistics are compared by their normal scores, because their
        degrees of freedom may differ. NaN if the test has no degree of freedom.
        """
        normal_score = _normal_scores(self.test.statistic, self.test.degrees_of_freedom)
        if math.isnan(normal_score):
            return math.nan
        is_below = _normal_scores(self.null, self.null_degrees_of_freedom) < normal_score
        return (1.0 + float((~is_below).sum())) / (1.0 + self.null.size)

    @property
    def statistic(self) -> float:
        """H minus the mean amount that noise adds to it for a right model; it may be negative."""
        noise = float(self.null.mean()) - float(self.null_degrees_of_freedom.mean())
        return self.test.statistic - noise


def statistics(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return H of each table of observed and expected numbers, (..., G, 2) to (...)."""
    return np.asarray(_terms(observed, expected).sum(axis=-1))


def _terms(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the term of each group in H, (..., G, 2) to (..., G)."""
    squares = (observed - expected) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.where(squares == 0.0, 0.0, squares / expected)
    return np.asarray(terms.sum(axis=-1))


def _normal_scores(statistic: Any, degrees_of_freedom: Any) -> NDArray[np.float64]:
    """Return the normal scores of chi-squared statistics.

    The approximation is that of Wilson & Hilferty (1931). It also works far out, where
    probabilities are too small for doubles. NaN if there is no degree of freedom.
    """
    degrees = np.where(np.asarray(degrees_of_freedom) < 1, np.nan, degrees_of_freedom)
    variance = 2.0 / (9.0 * degrees)
    return np.asarray((np.cbrt(statistic / degrees) - (1.0 - variance)) / np.sqrt(variance))


def tested(
    curves: ScoreCurves,
    groups: int,
    mechanism: Releases | None,
    minimum: float | None,
    fitted: bool,
) -> HosmerLemeshow:
    """Return the test for arguments as in ``HosmerLemeshow.from_curves``, all of them checked."""
    grouped = risk_groups(curves, groups, minimum)
    simulation = None
    if mechanism is not None:
        simulation = _Simulation._of_stored(curves, mechanism, groups, minimum, fitted)
    return HosmerLemeshow(*grouped, curves.n, curves.privacy, fitted, simulation)
