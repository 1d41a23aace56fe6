"""Curves from the sums of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..._documentation import documented
from ...curves.cdf import CDF
from ...curves.event_row import check_event_grid, deviation_of_at_risk
from ...curves.likely_mistakes import warn_of_curve, warn_of_durations, warn_of_scores
from ...curves.provenance import identifier_of
from ...curves.scores import ScoreCurves, numbered
from ...curves.survival import Survival
from ...errors import DtypeError, ParameterError
from ...summaries.grid import Grid, check_grid_of_numbers
from .partial_sums import PartialSum, of_all_servers
from .raw_curves import of_clients, raw_curve, without_empty
from .vector_sums import VectorSum

__all__ = ["release", "release_scores", "release_survival"]


@documented
def release(
    sums: PartialSum | Sequence[PartialSum] | VectorSum,
    grid: Grid | None = None,
    *,
    isotonic: bool = True,
    integers: bool | None = None,
) -> CDF:
    """Return the curve of the records in the reports of a round.

    Parameters
    ----------
    sums
        As in ``combine``: of servers, or of clients' vectors.
    grid
        The N thresholds of the cells. None: numbered cells, 1 to N.
    isotonic
        As in ``dpcore.cdf``.
    integers
        {integers}
        None: what the grid says, as ``Grid.integers`` does; otherwise values may lie anywhere in
        their cells. Reports do not say what the values of clients are.

    Returns
    -------
    CDF
        ``n`` is the number of records in the reports. It is public, or, if there is a cell for
        empty records, it is released like the counts. ``mechanism`` and ``noise_deviation`` are
        those of the trust model for as many clients as have reported.

    Raises
    ------
    RoundError
        As in ``combine``; or there are fewer reports than the trust model requires.
    DtypeError, ParameterError
        Another argument is not as above.

    Notes
    -----
    This is post-processing of the totals, by the same least squares as in the mechanisms. O(nodes).

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.trust import Client, Local, Protocol, Server
    >>> protocol = Protocol(Local(epsilon=4.0, clients=1000), 8, bytes(16))
    >>> server = Server(protocol)
    >>> for i in range(1000):
    ...     server.add(Client(protocol).report(i % 8)[0])
    >>> curve = dp.trust.release(server.close())
    >>> curve.n, curve.privacy.epsilon
    (1000, 4.0)
    """
    whole = of_all_servers(sums)
    protocol, size = whole.protocol, _cells(whole)
    if grid is None:
        grid = numbered(size)
    check_grid_of_numbers("grid", grid)
    if grid.size != size:
        raise ParameterError("grid", grid.size, f"must have {size} cells")
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    if integers is not None and not isinstance(integers, bool):
        raise DtypeError("integers", type(integers).__name__, "must be None or a bool")
    if protocol.empty not in (None, size):
        raise ParameterError("sums", protocol.empty, "must be about values: see release_scores")
    joint = _released(whole)
    curve = replace(joint, grid=grid) if protocol.empty is None else without_empty(joint, grid)
    curve = replace(curve, integers=integers)
    warn_of_curve(curve)
    return curve.isotonic() if isotonic else curve


def release_scores(
    sums: PartialSum | Sequence[PartialSum] | VectorSum, grid: Grid, *, isotonic: bool = True
) -> ScoreCurves:
    """Return the curves of both classes from a round about scored labels.

    Parameters
    ----------
    sums, isotonic
        As in ``release``.
    grid
        The thresholds of the scores, half as many as the round has cells (``cell_of`` with a
        label).

    Returns
    -------
    ScoreCurves
        ``Protocol.mechanism`` is their mechanism, which ``ROC.from_curves`` takes.

    Raises
    ------
    RoundError, DtypeError, ParameterError
        As in ``release``.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server
    >>> grid = dp.Grid.uniform(0, 1, 4)
    >>> protocol = Protocol(SecureAggregation(), 2 * grid.size, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for label, score in [(False, 0.1), (False, 0.4), (True, 0.35), (True, 0.8)]:
    ...     reports = Client(protocol).report(dp.trust.cell_of(score, grid, label))
    ...     for server, report in zip(servers, reports):
    ...         server.add(report)
    >>> dp.trust.agree(servers)
    4
    >>> curves = dp.trust.release_scores([server.close() for server in servers], grid)
    >>> curves.negatives, curves.positives
    (array([1., 2., 2., 2.]), array([0., 1., 1., 2.]))
    """
    whole = of_all_servers(sums)
    protocol, size = whole.protocol, _cells(whole)
    check_grid_of_numbers("grid", grid)
    if size != 2 * grid.size or protocol.empty not in (None, grid.size):
        half = size / 2 if protocol.empty is None else protocol.empty
        raise ParameterError("grid", grid.size, f"must have {half:g} cells, half of the round's")
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    _refuse_one_line(whole)
    curves = ScoreCurves(grid, _released(whole))
    warn_of_scores(curves, "what clients take as a positive label")
    return curves.isotonic() if isotonic else curves


def release_survival(sums: PartialSum | Sequence[PartialSum] | VectorSum, grid: Grid) -> Survival:
    """Return the survival curve from a round about durations, some of them censored.

    Parameters
    ----------
    sums
        As in ``release``.
    grid
        The thresholds of the durations, half as many as the round has cells (``cell_of`` with
        ``event``).

    Returns
    -------
    Survival
        Made monotone, as that of ``dpcore.survival``; its bands know the trust model.

    Raises
    ------
    RoundError, DtypeError, ParameterError
        As in ``release``; or the round has a cell for empty records.

    Warns
    -----
    DpcoreWarning
        As in ``dpcore.survival``.

    Examples
    --------
    >>> import dpcore as dp
    >>> from dpcore.trust import Client, Protocol, SecureAggregation, Server
    >>> grid = dp.Grid.integers(1, 4)
    >>> protocol = Protocol(SecureAggregation(), 2 * grid.size, bytes(16))
    >>> servers = [Server(protocol), Server(protocol)]
    >>> for duration, event in [(1, True), (2, False), (3, True), (4, False)]:
    ...     reports = Client(protocol).report(dp.trust.cell_of(duration, grid, event=event))
    ...     for server, report in zip(servers, reports):
    ...         server.add(report)
    >>> dp.trust.agree(servers)
    4
    >>> curve = dp.trust.release_survival([server.close() for server in servers], grid)
    >>> curve.at_risk, curve.survival
    (array([4., 3., 2., 1.]), array([0.75 , 0.75 , 0.375, 0.375]))
    """
    whole = of_all_servers(sums)
    protocol, size = whole.protocol, _cells(whole)
    check_event_grid(grid, kinds=1)
    if size != 2 * grid.size:
        what = f"must have {size / 2:g} cells, half of the round's"
        raise ParameterError("grid", grid.size, what)
    if protocol.empty is not None:
        what = "must be of clients that all have a record: there is a cell for empty ones"
        raise ParameterError("sums", protocol.empty, what)
    _refuse_one_line(whole)
    row, trust = _released(whole), protocol.mechanism(whole.reports)
    warn_of_durations({None: row}, grid, ["what clients take as the event"])
    return Survival(grid, row.isotonic(), deviation_of_at_risk(row, grid.size, trust), trust)


def _refuse_one_line(whole: PartialSum) -> None:
    trust = whole.protocol.trust
    if trust.one_row_only:
        what = "must not be of a trust model for cells on one line: the classes are on two"
        raise ParameterError("sums", type(trust).__name__, what)


def _cells(whole: PartialSum) -> int:
    """Return the number of cells of a round about cells."""
    if whole.protocol.function is not None:
        raise ParameterError("sums", "those of a function", "must be of cells: see release_sum")
    return whole.protocol.size


def _released(whole: PartialSum) -> CDF:
    """Return the raw curve over the counted cells, which are numbered."""
    of, sums = whole.protocol.round, whole.sums
    counts, trust = of.estimates(sums), whole.protocol.mechanism(whole.reports)
    # The same sums can be opened again, by several analysts, with the same noise.
    noise = () if whole.simulated else (identifier_of(whole.protocol.round_id, counts.tobytes()),)
    joint = raw_curve(counts, of.records_in(sums), trust, whole.simulated, noise)
    return joint if whole.protocol.empty is None else of_clients(joint)
