"""Commands about durations: their options, and what they check before they read a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..curves.confidence import deviations
from ..curves.scores import MOST_SCORE_CELLS
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..records.files import Column as FileColumn
from ..releases.cdf import of_each
from ..releases.event_row import checked_spender, grid_of
from .arguments import UsageError
from .by_groups import BY, column_of, groups_of
from .options import Option, option
from .reports import picture
from .running import check_outputs, mechanism_of, written
from .shared_options import BOUNDS, BUDGET, FILE, FILES, LEVEL, size

__all__ = ["Durations", "asked_of", "columns_of", "options_of", "refuse_no_records", "write"]

_FEWEST: Final = 4  # cells, for which a budget is checked before the file is read


class Durations(NamedTuple):
    """What a command about durations was asked for.

    Parameters
    ----------
    groups
        The public groups, as they were typed; none without ``--by``.
    grid
        The grid on which durations are counted.
    spender
        The mechanism, or what the default one may spend.
    coarsens
        Whether the grid of the release is to be chosen.
    """

    groups: list[str]
    grid: dpcore.Grid
    spender: Mechanism | Allowance
    coarsens: bool


def options_of(**own: Option) -> dict[str, Option | None]:
    """Return the options, with those of one command after the column of events."""
    return {
        "file": FILE,
        "durations": option(
            "name of the column of durations", "C", flag="--duration", required=True
        ),
        "event": option("name of the column of events", "C", flag="--event", required=True),
        **own,
        **BOUNDS,
        **BY,
        "lower": option("least duration, known beforehand (0)", "A", float, default=0.0),
        "upper": option(
            "greatest duration, known beforehand. Longer ones count as censored there",
            "B",
            float,
            required=True,
        ),
        "size": size("between the bounds (by the number of records and the budget)"),
        "level": LEVEL,
        **BUDGET,
        "nan_policy": {},
        **FILES,
    }


def asked_of(options: argparse.Namespace, kinds: int) -> Durations:
    """Check all that does not depend on records, for so many kinds of events."""
    deviations(options.level)  # refuses another level
    if options.size is not None and not 1 <= options.size <= MOST_SCORE_CELLS:
        raise UsageError(f"--size must be between 1 and {MOST_SCORE_CELLS}; got {options.size}")
    groups, coarsens = groups_of(options), options.size is None
    bounds = options.lower, options.upper
    grid = grid_of(bounds)[0] if coarsens else dpcore.Grid.uniform(*bounds, options.size)
    spender: Any = mechanism_of(options, (kinds + 1) * (options.size or _FEWEST))(None)
    if options.mechanism == "best":
        relation = of_each(None, by_groups=True) if groups else "replace-one"
        how: Any = options.epsilon, options.rho, relation, options.delta
        spender = Allowance.checked(*how)
    checked_spender(spender, grid, kinds, None, by_groups=bool(groups), coarsens=coarsens)
    check_outputs(options)
    return Durations(groups, grid, spender, coarsens)


def columns_of(options: argparse.Namespace, groups: Sequence[str]) -> list[FileColumn]:
    """Return the columns of events, of durations, and of groups if there are any."""
    return [
        FileColumn(options.event, "labels", "--event"),
        FileColumn(options.durations, "numbers", "--duration"),
        *([column_of(options)] if groups else []),
    ]


def refuse_no_records(
    counts: NDArray[np.int64], options: argparse.Namespace, groups: Sequence[str]
) -> None:
    """Refuse counts of no records, unless sizes of groups may be private."""
    if not counts.any() and not groups:
        what = " and ".join(map(str, columns_of(options, groups)))
        raise UsageError(f"{what} hold no records in FILE {options.file!r}")


def write(options: argparse.Namespace, found: Any, legend: str) -> None:
    """Write the files that are asked for, with the legend in this corner of the picture."""
    name = options.durations
    how: Any = {"size": (6.4, 4.8), "legend": legend, "title": name, "xlabel": name}
    written(options, found.to_json, partial(picture, found, **how))
