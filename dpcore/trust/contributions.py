"""Clients with any number of records: the records that they contribute, and curves of these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.cdf import CDF
from ..curves.likely_mistakes import named, warn_of_curve, warn_of_scores
from ..curves.scores import ScoreCurves
from ..errors import DtypeError, MissingValueError, ParameterError
from ..privacy.spending import spending
from ..records.column import Column
from ..summaries.grid import MOST_CELLS, Grid, check_grid_of_numbers
from ..summaries.score_counts import Label, records, score_counts
from ._choice import Contributed, choose, choose_slots
from .protocol.raw_curves import of_clients, raw_curve, without_empty
from .protocol.rounds import MOST_CLIENTS
from .protocol.trust_models import Bounded, names_of

__all__ = ["client_cdf", "client_score_curves"]


@documented
def client_cdf(
    client_ids: Any,
    values: Any,
    grid: Grid,
    trust: Bounded,
    *,
    clients: int | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    integers: bool | None = None,
) -> CDF:
    """Release the distribution of values when every client may have any number of them.

    At most ``trust.records`` of a client's values count; they are chosen at random. A client with
    fewer values fills up with empty records, which are counted in a cell of their own. So all
    clients contribute the same number of records. ``privacy`` covers everything that a client has,
    including the number of its records.

    Parameters
    ----------
    client_ids
        (n,) integers or strings: the client of each record. A client without records does not
        appear.
    values
        (n,) real numbers, n >= 0, none of them missing.
    grid
        N public thresholds.
    trust
        The trust model, with the contribution bound ``records``. Its ``record_privacy`` is the
        guarantee for one record.
    clients
        M, the public number of clients, for Central and SecureAggregation. The other trust models
        contain it.
    isotonic
        {isotonic}
    rng
        {rng}
    integers
        As in ``dpcore.cdf``.

    Returns
    -------
    CDF
        The curve of the records that count. Clients with more than ``records`` records have a
        smaller share in it than in all records. ``n`` is the number of records that count, released
        with noise like the counts. For Local, ``n`` is the number of reports that were about a
        record, which is in expectation 1 / ``records`` of the records that count.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above; or more clients have records than there are clients, M.

    Notes
    -----
    docs/guides/clients.md has the proofs. O(n + N), and the time that the trust model takes.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> client_ids, values = rng.integers(10_000, size=30_000), rng.beta(2, 5, 30_000)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000, records=4)
    >>> grid = dp.Grid.uniform(0, 1, 256)
    >>> curve = dp.trust.client_cdf(client_ids, values, grid, trust, rng=rng)
    >>> curve.privacy.neighbours, trust.record_privacy.epsilon
    ('replace-client', 0.25)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """
    number = _checked(grid, MOST_CELLS - 1, trust, clients, isotonic)
    given = Column.of(values)
    integers = given.stated(integers, by_grid=grid.of_integers)
    given.check_index(Column.of(client_ids, "client_ids"))
    column = given.joined()
    if np.isnan(column).any():
        raise MissingValueError("values")
    chosen = _contributed(client_ids, column.size, trust, number, rng)
    counts = np.append(grid.count(column[chosen.records]), chosen.empty)
    curve = without_empty(_released(counts, trust, rng, "client_cdf"), grid)
    curve = replace(curve, integers=integers)
    warn_of_curve(curve)
    return curve.isotonic() if isotonic else curve


def client_score_curves(
    client_ids: Any,
    y_true: Any,
    y_score: Any,
    grid: Grid,
    trust: Bounded,
    *,
    clients: int | None = None,
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
) -> ScoreCurves:
    """Release the score distributions of two classes when clients may have any number of records.

    This is ``dpcore.score_curves`` for clients with several records, with different numbers of
    records, or with none, and for any distribution of the classes over clients. ``client_cdf`` says
    which records count.

    Parameters
    ----------
    client_ids
        (n,) integers or strings: the client of each record.
    y_true, y_score, pos_label
        As in ``dpcore.score_curves``; n >= 0, and none missing.
    grid
        N public thresholds of the scores.
    trust, clients, isotonic, rng
        As in ``client_cdf``.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        As in ``client_cdf`` and ``dpcore.score_curves``.

    Notes
    -----
    docs/guides/clients.md has the proofs. The empty records are counted between the classes, so
    that each class is read off one end, with the noise of a cumulative count.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> client_ids = rng.integers(10_000, size=30_000)
    >>> y_true = client_ids % 3 == 0  # each client has records of one class
    >>> y_score = np.clip(rng.normal(np.where(y_true, 0.6, 0.4), 0.15), 0, 1)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000, records=4)
    >>> grid = dp.Grid.uniform(0, 1, 256)
    >>> curves = dp.trust.client_score_curves(client_ids, y_true, y_score, grid, trust, rng=rng)
    >>> round(dp.statistics.ROC.from_curves(curves).auc, 2)
    0.83
    """
    number = _checked(grid, (MOST_CELLS - 1) // 2, trust, clients, isotonic)
    given = Column.of(y_true, "y_true"), Column.of(y_score, "y_score")
    for column in given:
        column.check_index(Column.of(client_ids, "client_ids"))
    is_positive, scores = records(*given, pos_label, "raise")
    chosen = _contributed(client_ids, scores.size, trust, number, rng)
    own = score_counts(is_positive[chosen.records], scores[chosen.records], grid)
    counts = np.insert(own, grid.size, chosen.empty)
    curves = ScoreCurves(grid, _released(counts, trust, rng, "client_score_curves"))
    warn_of_scores(curves, named(pos_label))
    return curves.isotonic() if isotonic else curves


def _checked(grid: Grid, most: int, trust: object, clients: int | None, isotonic: object) -> int:
    """Check the public arguments, and return how many clients report."""
    check_grid_of_numbers("grid", grid)
    if grid.size > most:
        raise ParameterError("grid", grid.size, f"must have at most {most} cells")
    if not isinstance(trust, Bounded):
        raise DtypeError("trust", type(trust).__name__, f"must be a {names_of(Bounded)}")
    if trust.records is None:
        what = "must have a contribution bound; dpcore.cdf and dpcore.score_curves take it without"
        raise ParameterError("trust", "records=None", what)
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    if (reporters := trust.reporters) is not None:
        if clients is not None:
            raise ParameterError("clients", clients, "must be left out: the trust model has it")
        return reporters
    if clients is None:
        raise ParameterError("clients", None, "must be given: this trust model does not have it")
    return _check.integer("clients", clients, 1, MOST_CLIENTS)


def _contributed(
    client_ids: Any, size: int, trust: Bounded, clients: int, rng: np.random.Generator | None
) -> Contributed:
    """Choose records of each client at random, or one of the records that count."""
    assert trust.records is not None
    chooser = choose if trust.reported == trust.records else choose_slots
    return chooser(client_ids, size, clients, trust.records, rng)


def _released(
    counts: NDArray[np.int64], trust: Bounded, rng: np.random.Generator | None, what: str
) -> CDF:
    """Return the raw curve over numbered cells."""
    trust.noise_deviation(counts.size)  # refuses a budget too small for so many cells
    cost = replace(trust.privacy, neighbours="replace-client", simulated=rng is not None)
    check = partial(trust._check_total, int(counts.sum()), counts.size)
    with spending(cost, what, check):
        released = trust.release(counts, rng=rng)
    return of_clients(raw_curve(released, int(counts.sum()), trust, rng is not None))
