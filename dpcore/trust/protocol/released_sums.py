"""Released sums of declared functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...curves import forms
from ...curves.confidence import deviations
from ...curves.field_tables import Rows
from ...curves.frames import frame_of
from ...curves.provenance import check_provenance
from ...curves.readings import with_intervals
from ...curves.shown import cost, line
from ...curves.stored import Stored
from ...errors import ParameterError, amount
from ...privacy.guarantees import Privacy
from ..functions.function import Function, function_from
from .partial_sums import PartialSum, of_all_servers
from .rounds import MOST_CLIENTS, FunctionRound
from .vector_sums import VectorSum

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ReleasedSum", "release_sum"]

_FUNCTION = forms.form(
    lambda function: function.describe(), lambda name, data: function_from(data[name])
)
_MOST: Final = 1e300


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ReleasedSum(Stored):
    """The released sum of a declared function of all records.

    ``trust.vector_sum`` and ``trust.release_sum`` make it.

    Parameters
    ----------
    total
        (d,) the sum of the function's values over all records, with noise.
    deviation
        (d,) the standard deviation of each total: of the noise, and at most of rounding if n is
        public.
    n
        The public number of records; None if it is not public.
    function
        The declared function.
    privacy
        The guarantee of the release.
    mechanism
        Name and parameters of the trust model.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, age = np.random.default_rng(1), dp.trust.functions.Identity(0, 100)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000)
    >>> released = dp.trust.vector_sum(rng.normal(40, 12, 10_000), age, trust, rng=rng)
    >>> released
    <ReleasedSum: 1 value of identity, n = 10000, epsilon = 1, SIMULATED>
    >>> (released.total / released.n).round(1), released.deviation.round(1)
    (array([39.8]), array([141.4]))
    """

    _kind = "dpcore.sum"

    total: NDArray[np.float64] = field(metadata=forms.ROW)
    deviation: NDArray[np.float64] = field(metadata=forms.like("total"))
    n: int | None = field(metadata=forms.or_null(forms.WHOLE))
    function: Function = field(metadata=_FUNCTION)
    privacy: Privacy = field(metadata=forms.PRIVACY)
    mechanism: Mapping[str, str | int | float] = field(metadata=forms.DESCRIPTION)

    def __post_init__(self) -> None:
        _check.instance("function", self.function, Function, "must be a declared function")
        check_provenance(self.privacy, self.mechanism)
        size = self.function.size
        for name in ("total", "deviation"):
            numbers = _check.doubles(
                _check.array(name, getattr(self, name), "iuf", "must be numbers")
            )
            # The ends of intervals must be doubles, too.
            if numbers.shape != (size,) or not (np.abs(numbers) <= _MOST).all():
                what = f"must be ({size},) finite numbers, within +-{_MOST:g}"
                raise ParameterError(name, numbers.shape, what)
            object.__setattr__(self, name, numbers)
        if np.any(self.deviation < 0):
            raise ParameterError("deviation", self.deviation.min(), "must be 0 or more")
        if self.n is not None:
            object.__setattr__(self, "n", _check.integer("n", self.n, 0, MOST_CLIENTS))

    def __repr__(self) -> str:
        records = "" if self.n is None else f"n = {self.n}, "
        what = f"{amount(self.total.size, 'value')} of {self.function.name}"
        return line("ReleasedSum", f"{what}, {records}{cost(self.privacy)}")

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each value: total, deviation, low, high.

        Parameters
        ----------
        level
            The level of the intervals, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> age = dp.trust.functions.Identity(0, 100)
        >>> released = dp.trust.vector_sum([20, 30], age, dp.trust.Central(epsilon=1e6))
        >>> released.to_frame()["total"].round(1).tolist()
        [50.0]
        """
        low, high = self._ends(level)
        own = {"total": self.total, "deviation": self.deviation}
        return frame_of({**own, "low": low, "high": high})

    def _ends(self, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of intervals for the totals, (d,) each."""
        reach = deviations(level) * self.deviation
        return self.total - reach, self.total + reach

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n, "mechanism": self.mechanism}

    def _readings(self, level: float) -> list[Rows]:
        names = (f"value {at}" for at in range(self.total.size))
        ends = zip(*self._ends(level), strict=True)
        return [with_intervals(level, zip(names, self.total, ends, strict=True))]

    @property
    def simulated(self) -> bool:
        """Whether somebody else can repeat the noise: then it protects nobody."""
        return self.privacy.simulated


def release_sum(sums: PartialSum | Sequence[PartialSum] | VectorSum) -> ReleasedSum:
    """Return the sum of a declared function over the records in the reports of a round.

    Parameters
    ----------
    sums
        As in ``combine``: of servers, or of clients' vectors. The round is one of
        ``Protocol.of_function``.

    Returns
    -------
    ReleasedSum
        ``n`` is the number of records in the reports, which is public.

    Raises
    ------
    DtypeError, ParameterError, RoundError
        As in ``combine``; or the round is about cells.

    Notes
    -----
    This is post-processing of the totals. O(d).

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.trust import Client, DistributedNoise, Protocol, Server, agree, release_sum
    >>> of = dp.trust.functions.Step(30.0)
    >>> protocol = Protocol.of_function(DistributedNoise(50.0, clients=3), of, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for record in [21, 34, 55]:
    ...     for server, report in zip(servers, Client(protocol).report(record)):
    ...         server.add(report)
    >>> agree(servers)
    3
    >>> release_sum([server.close() for server in servers])
    <ReleasedSum: 1 value of step, n = 3, epsilon = 50>
    """
    whole = of_all_servers(sums)
    of, protocol = whole.protocol.round, whole.protocol
    if not isinstance(of, FunctionRound) or protocol.function is None:
        raise ParameterError("sums", "those of cells", "must be of a function: see release")
    trust = protocol.mechanism(whole.reports)
    return ReleasedSum(
        total=np.asarray(of.estimates(whole.sums)),
        deviation=of.deviation(whole.sums),
        n=of.records_in(whole.sums),
        function=protocol.function,
        privacy=replace(trust.privacy, simulated=whole.simulated),
        mechanism=trust.describe(),
    )
