"""Curves from the sums of a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._documentation import documented
from ...curves.cdf import CDF
from ...curves.likely_mistakes import warn_of_curve, warn_of_scores
from ...curves.scores import ScoreCurves, numbered
from ...errors import DtypeError, ParameterError
from ...kernels.trees import hierarchy as kernels
from ...summaries.grid import Grid, check_grid
from ..models.contribution import of_clients, raw_curve, without_empty
from ..models.local import Local
from ..models.tree_of_shares import TreeOfShares
from .parameters import Protocol
from .partial_sums import PartialSum, of_all_servers
from .possible import records_in
from .vector_sums import VectorSum
from .wire import RoundError

__all__ = ["release", "release_scores"]


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
    protocol = whole.protocol
    if grid is None:
        grid = numbered(protocol.size)
    check_grid("grid", grid)
    grid._refuse_times("grid")
    if grid.size != protocol.size:
        raise ParameterError("grid", grid.size, f"must have {protocol.size} cells")
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    if integers is not None and not isinstance(integers, bool):
        raise DtypeError("integers", type(integers).__name__, "must be None or a bool")
    if protocol.empty not in (None, protocol.size):
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
    protocol = whole.protocol
    check_grid("grid", grid)
    grid._refuse_times("grid")
    if protocol.size != 2 * grid.size or protocol.empty not in (None, grid.size):
        half = protocol.size / 2 if protocol.empty is None else protocol.empty
        raise ParameterError("grid", grid.size, f"must have {half:g} cells, half of the round's")
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    curves = ScoreCurves(grid, _released(whole))
    warn_of_scores(curves, "what clients take as a positive label")
    return curves.isotonic() if isotonic else curves


def _released(whole: PartialSum) -> CDF:
    """Return the raw curve over the counted cells, which are numbered."""
    n, trust = whole.reports, whole.protocol.mechanism(whole.reports)
    counts: NDArray[np.int64] | NDArray[np.float64]
    if isinstance(trust, TreeOfShares):
        counts = _of_noisy_nodes(whole, trust)
    elif isinstance(trust, Local):
        if not whole.by_level[-1]:
            raise RoundError("no report is about the cells, the last level of the tree")
        counts = _of_levels(whole, trust)
    else:
        counts = np.cumsum(whole.totals.view(np.int64))
    records = records_in(whole.protocol, whole.totals, n)
    joint = raw_curve(counts, records, trust, whole.simulated)
    return joint if whole.protocol.empty is None else of_clients(joint)


def _of_noisy_nodes(whole: PartialSum, trust: TreeOfShares) -> NDArray[np.float64]:
    """Return cumulative counts, (N,), from node counts with the noise of the trust model."""
    variances = trust.tree(whole.protocol.cells).variances
    return _estimates(whole, whole.totals.view(np.int64), variances)


def _of_levels(whole: PartialSum, trust: Local) -> NDArray[np.float64]:
    """Return cumulative counts, (N,), from perturbed bits; each level is scaled to all clients."""
    protocol, encoding = whole.protocol, trust.encoding
    nodes = np.zeros(protocol.words)
    variances = np.full(len(whole.by_level) + 1, np.inf)  # a level without reports keeps inf
    nodes[0], variances[0] = whole.reports, 0.0
    for level, reports in enumerate(whole.by_level, 1):
        part = slice(protocol.starts[level], protocol.starts[level + 1])
        if reports:
            scale = whole.reports / reports
            totals = whole.totals[part].view(np.int64)
            nodes[part] = scale * encoding.estimates(totals, reports)
            variances[level] = scale**2 * encoding.variance(reports)
    return _estimates(whole, nodes, variances)


def _estimates(
    whole: PartialSum, nodes: NDArray[Any], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return cumulative counts, (N,), by least squares; the last is the number of records."""
    protocol: Protocol = whole.protocol
    out = np.empty((1, protocol.cells))
    branching = np.array(protocol.branching, np.int64)
    kernels.cumulative_estimates(nodes[np.newaxis], branching, protocol.starts, variances, out)
    out[0, -1] = records_in(protocol, whole.totals, whole.reports)
    return np.asarray(out[0])
