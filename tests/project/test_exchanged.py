"""Labels and numbers that are exchanged are refused by their types, by every function, for free."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from tests.project import calls_of_sums  # noqa: F401  # adds its calls
from tests.project.calls import CALLS, PAID_BEFORE

OF_LABELS, OF_NUMBERS = {"y_true", "event"}, {"y_score", "durations", "scores"}
PAIRS = [
    (name, label, number)
    for name, (_, arguments) in CALLS.items()
    for label in sorted(OF_LABELS & arguments.keys())
    for number in sorted(OF_NUMBERS & arguments.keys())
] + [(name, "y_true", "y_prob") for name in ("hosmer_lemeshow", "hosmer_lemeshow_by_groups")]
CONTAINERS = {
    "arrays": np.asarray,
    "columns": lambda values: np.array(values)[:, np.newaxis],
    "series": pd.Series,
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "frames": lambda values: pd.DataFrame({"x": values}),
    "polars": pl.Series,
    "polars frames": lambda values: pl.DataFrame({"x": values}),
    "arrow": pa.array,
}


def test_all_pairs_are_here():
    called = {name.partition(" ")[0] for name, *_ in PAIRS}
    assert {"roc_curve", "survival", "cumulative_incidence", "survival_scores"} < called
    assert {"client_score_curves", "RunningScores.add", "score_counts"} < called


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_labels_and_numbers_in_the_wrong_order_are_refused(pair, watching):
    name, label, number = pair
    call, arguments = CALLS[name]
    stated = {"pos_label", "event_label"} & inspect.signature(call).parameters.keys()
    for made in CONTAINERS.values():
        labels, numbers = made(arguments[label]), made(arguments[number])
        watching.charged.clear()
        exchanged = {label: numbers, number: labels} | dict.fromkeys(stated)
        with pytest.raises(dp.DtypeError, match=f"{label} must be labels.*in this order"):
            call(**{**arguments, **exchanged})
        assert watching.charged == [] or name in PAID_BEFORE
