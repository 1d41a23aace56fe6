"""What was released stays with a curve that is processed: for combining, smoothing and storing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, with_simulated_deviation

GRID = dp.Grid.uniform(0, 1, 64)


def released(seed, isotonic, mechanism=None):
    values = np.random.default_rng(seed).beta(2, 5, 2000)
    rng = np.random.default_rng(seed + 100)
    own = Hierarchy(0.2) if mechanism is None else mechanism
    return dp.cdf(values, GRID, own, isotonic=isotonic, rng=rng)


@pytest.mark.parametrize("together", [dp.combine, dp.average])
def test_curves_as_they_come_are_combined_as_they_were_released(together):
    default = together([released(1, True), released(2, True)])
    of_raw = together([released(1, False), released(2, False)])
    assert default == of_raw.isotonic()
    assert default.processing == ("isotonic()",)
    assert default.raw.tolist() == of_raw.counts.tolist()
    assert together([released(1, True), released(2, False)]) == of_raw


def test_processed_curves_give_back_what_was_released():
    raw = released(1, False)
    assert raw.raw is None
    assert raw.as_released() is raw
    for processed in (raw.isotonic(), raw.without_negative_counts().isotonic()):
        assert processed.as_released() == raw
    fine = released(1, False, Dyadic(1.0))
    assert fine.isotonic().smooth() == fine.smooth()
    assert fine.smooth().as_released() == fine
    assert fine.isotonic().isotonic() == fine.isotonic()


def test_scores_are_smoothed_from_what_was_released():
    labels = np.arange(200) % 2 == 0
    how = {"mechanism": Dyadic(3.0)}
    scores = np.linspace(0, 1, 200)
    raw = dp.score_curves(labels, scores, GRID, isotonic=False, rng=np.random.default_rng(1), **how)
    assert raw.isotonic().smooth().joint == raw.smooth().joint


def test_older_files_have_none_and_cannot_be_combined():
    stored = json.loads(released(1, True).to_json())
    del stored["raw"]
    old = dp.CDF.from_json(json.dumps(stored))
    assert old.raw is None
    with pytest.raises(dp.ParameterError, match="keep raw counts"):
        dp.combine([old, old])
    with pytest.raises(dp.ParameterError, match="keep its raw counts"):
        old.as_released()


def test_a_simulated_deviation_is_not_that_of_the_raw_counts():
    assert with_simulated_deviation(released(1, True), replicates=3).raw is None


@pytest.mark.parametrize("raw", [[1.0], [1.0] * 64, [np.nan] * 63 + [2000.0], ["1"]])
def test_bad_raw_counts_are_refused(raw):
    curve = released(1, True)
    fields = {name: getattr(curve, name) for name in dp.CDF.__dataclass_fields__}
    with pytest.raises(dp.DpcoreError, match="raw"):
        dp.CDF(**{**fields, "raw": np.array(raw)})
    with pytest.raises(dp.ParameterError, match="raw"):
        dp.CDF(**{**fields, "processing": ()})
