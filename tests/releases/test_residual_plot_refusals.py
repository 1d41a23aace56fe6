"""Residual plots that are refused: as early as can be, and with the user's own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcore as dp

LEAST = 8e-12  # enough for the table, and not for bounds


@pytest.mark.parametrize("known", [{}, {"predicted_range": (0, 1)}, {"residual_range": (0, 1)}])
def test_too_small_for_a_search_is_the_whole_budget_and_no_part_of_it(
    known: dict[str, Any],
) -> None:
    with pytest.raises(dp.ParameterError, match=r"epsilon is too small: .*; got 8e-12$"):
        dp.residual_plot(
            [1.0] * 9, [0.0] * 9, epsilon=LEAST, cells=1, search="sparse-vector", **known
        )


def test_generators_are_checked_before_the_records_are_looked_at() -> None:
    with pytest.raises(dp.DtypeError, match="rng must be"):
        dp.residual_plot([np.nan], [0.0], epsilon=1.0, rng=1)  # type: ignore[arg-type]
    with pytest.raises(dp.DtypeError, match="rng must be"):
        dp.table([np.nan], [0.0], dp.TableGrid.uniform((0, 1), (0, 1), 2), epsilon=1.0, rng=1)  # type: ignore[arg-type]
