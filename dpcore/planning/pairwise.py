"""Which of several groups differ? Tests of pairs, with Holm's correction."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.by_groups import LABEL
from ..curves.cdf import CDF
from ..curves.field_tables import Rows, cut, text
from ..curves.frames import frame_of, labels_in_frame
from ..curves.own_mechanism import Releases
from ..curves.stored import Stored, one_of
from ..errors import ParameterError, amount
from .differences import Statistic
from .distribution_tests import DistributionTest
from .two_samples import two_sample_test

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["PairwiseTests", "pairwise_tests"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PairwiseTests(Stored):
    """Tests of pairs of groups against each other. Made by ``pairwise_tests``.

    Parameters
    ----------
    pairs
        The labels of both groups of each pair.
    tests
        Their tests, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, by = rng.normal([[40], [40], [45]], 9, (3, 900)), np.repeat(["a", "b", "c"], 900)
    >>> grid = dp.Grid.uniform(0, 100, 50)
    >>> curves = dp.cdf(values.ravel(), grid, by=by, groups=["a", "b", "c"], epsilon=1.0, rng=rng)
    >>> print(dp.pairwise_tests(curves).to_frame().round(3))
      first second  statistic  pvalue  adjusted_pvalue
    0     a      b      0.042   0.289            0.289
    1     a      c      0.265   0.001            0.003
    2     b      c      0.248   0.001            0.003
    """

    _kind = "dpcore.pairwise-tests"

    pairs: tuple[tuple[Any, Any], ...] = field(metadata=forms.tuple_of(forms.tuple_of(LABEL, 2)))
    tests: tuple[DistributionTest, ...] = field(metadata=forms.tuple_of(one_of(DistributionTest)))

    def __post_init__(self) -> None:
        _check.tuple_of("pairs", self.pairs, tuple)
        for pair in self.pairs:
            if len(pair) != 2:
                raise ParameterError("pairs", pair, "must hold two labels each")
            for label in pair:
                _check.instance("pairs", label, Hashable, "must hold labels, which have a hash")
        _check.tuple_of("tests", self.tests, DistributionTest)
        if len(self.pairs) != len(self.tests) or not self.tests:
            raise ParameterError(
                "tests", len(self.tests), "must be one for each pair, at least one"
            )

    @property
    def statistics(self) -> NDArray[np.float64]:
        """(m,) the statistics."""
        return np.array([test.statistic for test in self.tests])

    @property
    def pvalues(self) -> NDArray[np.float64]:
        """(m,) the p-value of each pair alone."""
        return np.array([test.pvalue for test in self.tests])

    @property
    def adjusted_pvalues(self) -> NDArray[np.float64]:
        """(m,) Holm's p-values, of which none is below the level by chance, with its probability.

        The smallest of m p-values is multiplied by m, the next one by m - 1, and so on; none is
        below that of a smaller one (Holm 1979, *A simple sequentially rejective multiple test
        procedure*). This holds however the tests depend on each other.
        """
        order = np.argsort(self.pvalues, kind="stable")
        factors = np.arange(order.size, 0, -1)
        adjusted = np.empty(order.size)
        adjusted[order] = np.minimum(np.maximum.accumulate(self.pvalues[order] * factors), 1.0)
        return adjusted

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each pair.

        Returns
        -------
        pandas.DataFrame
            (m, 5), with the columns ``first``, ``second``, ``statistic``, ``pvalue`` and
            ``adjusted_pvalue``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> curves = dp.cdf([0.5, 1.5] * 9, grid, exact, by=["a", "b"] * 9, groups=["a", "b"])
        >>> print(dp.pairwise_tests(curves).to_frame())
          first second  statistic  pvalue  adjusted_pvalue
        0     a      b        1.0   0.001            0.001
        """
        first, second = map(labels_in_frame, zip(*self.pairs, strict=True))
        columns = {
            "first": first,
            "second": second,
            "statistic": self.statistics,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
        }
        return frame_of(columns)

    def _guarantees(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(one for test in self.tests for one in test.privacy))

    def _readings(self, level: float) -> list[Rows]:
        rows = [
            (*map(str, pair), text(test.statistic), text(test.pvalue))
            for pair, test in zip(self.pairs, self.tests, strict=True)
        ]
        return [cut("Tests, each alone", ("first", "second", "statistic", "p-value"), rows)]

    def __len__(self) -> int:
        return len(self.tests)

    def __repr__(self) -> str:
        found = int(np.count_nonzero(self.adjusted_pvalues <= 0.05))
        name = self.tests[0].name
        return (
            f"<PairwiseTests: {name}, {amount(len(self), 'pair')}, {found} of adjusted p <= 0.05>"
        )


def pairwise_tests(
    curves: Mapping[Any, CDF],
    statistic: Statistic = "kolmogorov-smirnov",
    *,
    reference: Any = None,
    mechanism: Releases | None = None,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> PairwiseTests:
    """Test all pairs of groups against each other, or all groups against one.

    Parameters
    ----------
    curves
        Curves of at least two groups by their labels, such as a ``GroupedCDF``.
    statistic, mechanism
        As in ``two_sample_test``, for all pairs.
    reference
        The label of the group that all others are tested against. None: every pair is tested.
    simulations
        R, for each of the m pairs. The least adjusted p-value is at least m / (R + 1), so more than
        50 pairs need more simulations.
    rng
        The generator for them. None: one for each pair that its counts seed.

    Returns
    -------
    PairwiseTests
        With p-values of each pair alone, and Holm's for all.

    Raises
    ------
    DtypeError, ParameterError
        As in ``two_sample_test``; or there are fewer than two groups, or none with that label.

    Notes
    -----
    This is post-processing and costs no privacy. For m pairs, it takes as long as m tests.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, by = rng.normal([[40], [40], [45]], 9, (3, 900)), np.repeat(["a", "b", "c"], 900)
    >>> grid = dp.Grid.uniform(0, 100, 50)
    >>> curves = dp.cdf(values.ravel(), grid, by=by, groups=["a", "b", "c"], epsilon=1.0, rng=rng)
    >>> found = dp.pairwise_tests(curves, reference="a")
    >>> found.pairs, found.adjusted_pvalues.round(3)
    ((('b', 'a'), ('c', 'a')), array([0.274, 0.002]))
    """
    _check.instance("curves", curves, Mapping, "must be a mapping from labels to curves")
    labels = list(curves)
    if len(labels) < 2:
        raise ParameterError("curves", len(labels), "must be at least two")
    pairs = list(combinations(labels, 2))
    if reference is not None:
        if not _has(curves, reference):
            raise ParameterError("reference", reference, "must be the label of a curve")
        own = next(label for label in labels if label == reference)  # 1, where 1.0 is given
        pairs = [(label, own) for label in labels if label != reference]
    tests = [
        two_sample_test(
            curves[first],
            curves[second],
            statistic,
            mechanism=mechanism,
            simulations=simulations,
            rng=rng,
        )
        for first, second in pairs
    ]
    return PairwiseTests(tuple(pairs), tuple(tests))


def _has(curves: Mapping[Any, CDF], label: object) -> bool:
    """Return whether there is a curve with the label, which may have no hash."""
    try:
        return label in curves
    except TypeError:
        return False
