"""All trust models for one's own clients, grid and epsilon, side by side."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from .. import _check
from ..curves.shown import cost, short
from ..errors import DpcoreError
from ..privacy.concentrated import probability
from ..privacy.guarantees import Privacy
from ..privacy.spending import unwatched
from ..summaries.grid import Grid
from .models.advised import Advised, advised_models
from .models.shuffled import Shuffled
from .protocol.rounds import MOST_CLIENTS, Round
from .protocol.wire import HEADER_BYTES

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Overview", "TrustOption", "overview"]

_MOST_CELLS: Final = 2**24
_TITLES: Final = ("model", "trusted", "guarantee", "RMSE", "usual", "K-S", "bytes", "servers")
_SIMULATED: Final = 2**6, 2**14, 2**4  # cells, clients, releases: more hardly change the ratio


@dataclass(frozen=True, slots=True)
class TrustOption:
    """A trust model for some clients and a grid. ``overview`` returns them.

    Parameters
    ----------
    model
        The name of the trust model.
    trusted
        Who has to be trusted. "A server": one of the servers does not collude with the others.
        "Clients": as many as the noise needs keep their shares to themselves. "Readers": all who
        see the exact sums.
    privacy
        The guarantee, with its relation.
    error
        The root of the mean squared deviation of F, by ``noise_deviation``. Under "local" and
        "shuffled" it is a bound for any records, and infinite if the trust model states none.
    largest_error
        The largest deviation of F.
    usual_error
        The root mean square error of F that is usual for spread records, by
        ``mean_squared_error``.
    expected_largest
        The expected largest error of F, the Kolmogorov-Smirnov distance, that belongs to
        ``usual_error``. It is simulated: to about 10 %, for "square-wave" to 30 %.
    sent
        The most bytes that a client sends, to all servers together.
    servers
        The number of servers.
    stored
        How many 64-bit numbers a server adds up.
    trust
        The trust model itself, which goes wherever a mechanism does.

    Examples
    --------
    >>> from dpcore.trust import overview
    >>> local = overview(10_000, 256, 1.0).options[-1]
    >>> local.trusted, local.sent, round(local.usual_error, 3)
    ('nobody', 125, 0.047)
    """

    model: str
    trusted: str
    privacy: Privacy
    error: float
    largest_error: float
    usual_error: float
    expected_largest: float
    sent: int
    servers: int
    stored: int
    trust: Advised | Shuffled

    def __post_init__(self) -> None:
        for name in ("model", "trusted"):
            _check.instance(name, getattr(self, name), str, "must be a string")
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        for name in ("error", "largest_error", "usual_error", "expected_largest"):
            _check.held(name, getattr(self, name))
        for name in ("sent", "servers", "stored"):
            _check.integer(name, getattr(self, name), 0, 2**63 - 1)
        _check.instance("trust", self.trust, Advised | Shuffled, "must be a trust model")

    @property
    def _texts(self) -> tuple[str, ...]:
        errors = (self.error, self.usual_error, self.expected_largest)
        shown = ("-" if math.isinf(error) else short(error, 2) for error in errors)
        guarantee = "none" if self.privacy.epsilon == math.inf else cost(self.privacy)
        sizes = f"{self.sent:,}", f"{self.servers:,}"
        return self.model, self.trusted, guarantee, *shown, *sizes


@dataclass(frozen=True, slots=True, repr=False)
class Overview:
    """Trust models for some clients and a grid, from the least error on. ``overview`` returns it.

    Parameters
    ----------
    clients, size
        M, and the number of cells.
    options
        A row for each trust model.
    refusals
        The names of trust models that cannot be used here, and why.

    Examples
    --------
    >>> from dpcore.trust import overview
    >>> found = overview(10_000, 256, 0.5)
    >>> [(option.model, option.servers) for option in found.options[-2:]]
    [('square-wave', 1), ('local', 1)]
    """

    clients: int
    size: int
    options: tuple[TrustOption, ...]
    refusals: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("clients", "size"):
            _check.integer(name, getattr(self, name), 1, 2**63 - 1)
        _check.tuple_of("options", self.options, TrustOption)
        _check.tuple_of("refusals", self.refusals, tuple)
        for refusal in self.refusals:
            _check.tuple_of("refusals", refusal, str, 2)

    def __repr__(self) -> str:
        rows = [_TITLES, *(option._texts for option in self.options)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self._title]
        for row in rows:
            left = [text.ljust(width) for text, width in zip(row[:3], widths, strict=False)]
            right = [text.rjust(width) for text, width in zip(row[3:], widths[3:], strict=True)]
            lines.append("  ".join((*left, " ".join(right))))
        lines += [f"{name}: {why}" for name, why in self.refusals]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the table in notebooks."""
        rows = [f"<tr>{''.join(f'<th>{title}</th>' for title in _TITLES)}</tr>"]
        for option in self.options:
            cells = "".join(f"<td>{html.escape(text)}</td>" for text in option._texts)
            rows.append(f"<tr>{cells}</tr>")
        refused = "".join(
            f"<div>{html.escape(f'{name}: {why}')}</div>" for name, why in self.refusals
        )
        return f"<div>{self._title}</div><table>{''.join(rows)}</table>{refused}"

    def to_frame(self) -> DataFrame:
        """Return the options as a pandas DataFrame, a row each.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> from dpcore.trust import overview
        >>> frame = overview(10_000, 256, 1.0).to_frame()
        >>> frame[frame["trusted"] == "nobody"][["model", "sent"]]
                 model  sent
        4  square-wave   100
        5        local   125
        """
        pandas = _check.extra("pandas", "to_frame", "dask")
        rows: list[dict[str, Any]] = [
            {
                "model": option.model,
                "trusted": option.trusted,
                "epsilon": option.privacy.epsilon,
                "delta": option.privacy.delta,
                "neighbours": option.privacy.neighbours,
                "error": option.error,
                "largest_error": option.largest_error,
                "usual_error": option.usual_error,
                "expected_largest": option.expected_largest,
                "sent": option.sent,
                "servers": option.servers,
                "stored": option.stored,
            }
            for option in self.options
        ]
        frame: DataFrame = pandas.DataFrame(rows)
        return frame

    @property
    def _title(self) -> str:
        return f"{self.clients:,} clients with a record each, {self.size:,} cells; errors of F"


_Make = Callable[[int], Advised | Shuffled]


class _Way(NamedTuple):
    """How the trust model for a number of clients is made, and the round of its reports."""

    make: _Make
    round: Callable[[Any, int], Round]


def overview(
    clients: int, grid: Grid | int, epsilon: float | Fraction, delta: float | None = None
) -> Overview:
    """Show all trust models for one's own clients, grid and epsilon, in a table.

    Parameters
    ----------
    clients
        M, the number of clients, with one record each.
    grid
        The grid, or its number of cells, 2 to 2^24.
    epsilon
        The budget. Secure aggregation alone has no guarantee, and does not use it.
    delta
        The delta of ``Shuffled``, which None leaves out. The others fail with no probability.

    Returns
    -------
    Overview
        A row for each trust model, from the least usual error on. It spends nothing.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    It asks every trust model that ``advise`` knows, your own included.
    ``DistributedNoise`` is without dropouts, and ``FunctionSharing`` has two servers.

    Examples
    --------
    >>> from dpcore.trust import overview
    >>> overview(10_000, 256, 1.0)
    10,000 clients with a record each, 256 cells; errors of F
    model               trusted            guarantee      RMSE  usual    K-S bytes servers
    secure-aggregation  a server, readers  none              0      0      0 2,264       2
    central             the curator        epsilon = 1  0.0013 0.0013 0.0035   100       1
    distributed-noise   a server, clients  epsilon = 1  0.0013 0.0013 0.0035 2,928       2
    function-sharing    a server           epsilon = 1  0.0018 0.0018 0.0049   600       2
    square-wave         nobody             epsilon = 1       -  0.026  0.073   100       1
    local               nobody             epsilon = 1   0.049  0.047   0.13   125       1
    >>> overview(10_000, 256, 1.0, delta=1e-6).options[4].model
    'shuffled'
    """
    clients = _check.integer("clients", clients, 1, MOST_CLIENTS)
    number = grid.size if isinstance(grid, Grid) else grid
    size = _check.integer("grid", number, 2, _MOST_CELLS)
    budget = _check.plain("epsilon", _check.positive("epsilon", epsilon) and epsilon)
    ways = {
        name: _Way(partial(model.for_advice, budget), model.round)
        for name, model in advised_models().items()
    }
    if delta is not None:  # the reports of local privacy are what is shuffled
        make = partial(Shuffled, budget, probability("delta", delta))
        ways[Shuffled.advised] = _Way(make, lambda trust, size: trust.local(size).round(size))
    options, refusals = [], []
    for name, way in ways.items():
        try:
            options.append(_option(way, clients, size))
        except DpcoreError as error:  # such as too few clients for it, or too large an epsilon
            refusals.append((name, str(error)))
    options.sort(key=lambda option: option.usual_error)
    return Overview(clients, size, tuple(options), tuple(refusals))


def _option(way: _Way, clients: int, size: int) -> TrustOption:
    """Return the row of a trust model."""
    trust = way.make(clients)
    deviation, own = trust.noise_deviation(size) / clients, way.round(trust, size)
    usual = math.sqrt(trust.mean_squared_error(size)) / clients
    return TrustOption(
        model=trust.advised,
        trusted=trust.trusted,
        privacy=trust.privacy,
        error=float(np.sqrt(np.mean(deviation**2))),
        largest_error=float(deviation.max()),
        usual_error=usual,
        expected_largest=usual * _largest_over_usual(way.make, clients, size),
        sent=sum(HEADER_BYTES + _payload(own, place) for place in range(own.receivers)),
        servers=own.receivers,
        stored=own.stored_words,
        trust=trust,
    )


def _largest_over_usual(make: _Make, clients: int, size: int) -> float:
    """Return the expected largest error of spread records over their root mean square error.

    It is simulated, for fewer clients and cells, and is the same in every call. From there on it
    grows as the largest of N normal numbers does, with the root of log(N).
    """
    cells, few = min(size, _SIMULATED[0]), min(clients, _SIMULATED[1])
    counts = np.bincount(np.arange(few) % cells, minlength=cells)
    trust, rng = make(few), np.random.default_rng(0)
    with unwatched():
        noisy = trust.release(counts, rng=rng, replicates=_SIMULATED[2])
    errors = np.abs(noisy - np.cumsum(counts))
    if not errors.any():  # no noise, or next to none
        return 1.0
    ratio = float(np.mean(np.max(errors, axis=1)) / np.sqrt(np.mean(errors**2)))
    return ratio * math.sqrt(math.log(size) / math.log(cells))


def _payload(own: Round, place: int) -> int:
    """Return the largest length of a client's payload for the server at a place."""
    return max(own.payload_bytes(own.kind(place), level) for level in range(len(own.asked) + 1))
