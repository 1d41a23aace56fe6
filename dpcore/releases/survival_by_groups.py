"""Release the survival curves of several public groups, for the price of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..curves.likely_mistakes import named
from ..curves.survival import Survival
from ..curves.survival_groups import GroupedSurvival
from ..mechanisms import Mechanism
from ..privacy.allowance import Allowance
from ..records.labels import Label, plain
from ..summaries.grid import Grid
from ..summaries.incidence_counts import incidence_counts_of_groups
from ..summaries.totals import NanPolicy
from .event_row import event_rows, groups_of

__all__ = ["released_by_groups", "survival_by_groups"]


def survival_by_groups(
    durations: Any,
    event: Any,
    by: Any,
    groups: Sequence[Label] | None,
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None,
    *,
    coarsens: bool,
    event_label: Label | None,
    nan_policy: NanPolicy,
) -> GroupedSurvival:
    """Do as ``survival`` does with groups, on a grid and for a spender that were checked.

    ``coarsens`` tells whether the grid is fine, and that of the release is to be chosen.
    """
    labels = groups_of(by, groups)
    wanted = None if event_label is None else plain("event_label", event_label)
    of_kind = [wanted], "event_label"
    given = durations, event, by, grid, labels
    counts = incidence_counts_of_groups(*given, *of_kind, nan_policy=nan_policy)
    return released_by_groups(counts, wanted, labels, grid, spender, rng, coarsens=coarsens)


def released_by_groups(
    counts: NDArray[np.int64],
    event_label: Label | None,
    groups: Sequence[Label],
    grid: Grid,
    spender: Mechanism | Allowance,
    rng: np.random.Generator | None = None,
    *,
    coarsens: bool,
) -> GroupedSurvival:
    """Release the curves of groups from their counts, (G, 2 N), that were checked."""
    events = [named(event_label, "event_label")]
    release = counts, events, groups, grid, spender, rng, "survival"
    own, rows = event_rows(*release, coarsens=coarsens)
    return GroupedSurvival(tuple(groups), tuple(Survival(own, *row) for row in rows))
