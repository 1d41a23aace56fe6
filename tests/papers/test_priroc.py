"""Score curves at private thresholds: what is counted, what it costs, what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.mechanisms.no_noise import NoNoise
from dpcore.papers import priroc as recipes
from dpcore.papers.medians import RecursiveMedians
from dpcore.papers.priroc import priroc, priroc_fix, score_curves_at_medians

RNG = np.random.default_rng


def records(n, seed=1):
    rng = RNG(seed)
    labels = rng.random(n) < 0.3
    return labels, rng.beta(2, np.where(labels, 9, 36))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(-0.2, 1.2)), min_size=1, max_size=60),
    st.integers(1, 40),
    st.integers(1, 4),
)
def test_counts_are_those_of_the_chosen_thresholds(some, cells, depth):
    labels, scores = (np.array(column) for column in zip(*some, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "_mechanism", lambda counter, epsilon: NoNoise())
        curves = score_curves_at_medians(
            labels, scores, dp.Grid.uniform(0, 1, cells), epsilon=1.0, depth=depth, rng=RNG(1)
        )
    assert set(curves.thresholds) <= set(dp.Grid.uniform(0, 1, cells).thresholds)
    assert curves.thresholds[-1] == 1.0
    exact = dp.score_curves(labels, scores, curves.grid, NoNoise())
    assert curves.negatives.tolist() == exact.negatives.tolist()
    assert curves.positives.tolist() == exact.positives.tolist()


@pytest.mark.needs_jit
@pytest.mark.parametrize("counter", ["hb", "dawa"])
@pytest.mark.parametrize("method", ["exponential", "smooth", "paper", "curve"])
def test_curves_are_near_the_truth(counter, method):
    labels, scores = records(100_000)
    curves = score_curves_at_medians(
        labels, scores, epsilon=5.0, depth=4, counter=counter, method=method
    )
    exact = dp.score_curves(labels, scores, curves.grid, NoNoise())
    assert np.abs(curves.negatives - exact.negatives).max() < 600
    assert np.abs(curves.positives - exact.positives).max() < 600
    assert curves.joint.is_monotone


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1 / 3, Fraction(1, 3), Fraction(7, 5)])
@pytest.mark.parametrize("share", [0.2, 0.1, Fraction(1, 3)])
def test_both_steps_cost_epsilon(monkeypatch, epsilon, share):
    spent = []
    original = recipes.RecursiveMedians, recipes._mechanism

    def medians(part, *others):
        spent.append(part)
        return original[0](part, *others)

    def mechanism(counter, rest):
        spent.append(rest)
        return original[1](counter, rest)

    monkeypatch.setattr(recipes, "RecursiveMedians", medians)
    monkeypatch.setattr(recipes, "_mechanism", mechanism)
    curves = score_curves_at_medians(*records(50), epsilon=epsilon, depth=2, share=share)
    assert sum(spent) == Fraction(epsilon)
    assert spent[0] == Fraction(share) * Fraction(epsilon)
    assert Fraction(epsilon) <= Fraction(curves.privacy.epsilon)
    assert curves.privacy.epsilon == pytest.approx(float(epsilon), rel=1e-15)
    assert not curves.privacy.simulated


def test_what_is_recorded():
    curves = priroc(*records(1000), epsilon=1.0, rng=RNG(1))
    assert curves.privacy == dp.Privacy(1.0, simulated=True)
    assert curves.joint.mechanism == {
        "name": "dawa",
        "epsilon": 0.8,
        "split": "auto",
        "thresholds-name": "recursive-medians",
        "thresholds-epsilon": 0.2,
        "thresholds-depth": 10,
        "thresholds-method": "paper",
    }
    assert curves.grid.size == 2**10
    assert dp.CDF.from_json(curves.joint.to_json()).mechanism == curves.joint.mechanism


def test_raw_curves_are_left_as_they_are():
    raw = score_curves_at_medians(*records(100), epsilon=0.5, isotonic=False, rng=RNG(1))
    assert raw.joint.processing == ()
    processed = score_curves_at_medians(*records(100), epsilon=0.5, rng=RNG(1))
    assert np.array_equal(raw.isotonic().joint.counts, processed.joint.counts)


@pytest.mark.parametrize(("counter", "mechanism"), [("dawa", Dawa), ("hb", Hierarchy)])
def test_fixed_thresholds_are_score_curves(counter, mechanism):
    labels, scores = records(1000)
    fixed = priroc_fix(labels, scores, epsilon=1.0, counter=counter, rng=RNG(1))
    more = {} if counter == "dawa" else {"branching": "hb", "budgets": "equal"}
    plain = dp.score_curves(
        labels, scores, dp.Grid.uniform(0, 1, 2**10), mechanism(1.0, **more), rng=RNG(1)
    )
    assert np.array_equal(fixed.joint.counts, plain.joint.counts)


def test_labels_and_missing_values_are_those_of_score_curves():
    labels = ["no", "yes", "no"]
    scores = [0.1, 0.7, np.nan]
    with pytest.raises(ParameterError, match="pos_label"):
        priroc(labels, scores, epsilon=1.0)
    with pytest.raises(MissingValueError):
        priroc(labels, scores, epsilon=1.0, pos_label="yes")
    assert priroc(labels, scores, epsilon=1.0, pos_label="yes", nan_policy="omit").n == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 0.001, "method": "paper", "depth": 10}, ParameterError, "epsilon .*0.001"),
        ({"epsilon": 1e-11}, ParameterError, "epsilon .*thresholds get 0.2.*1e-11"),
        ({"epsilon": 1.0, "share": 0}, ParameterError, "share"),
        ({"epsilon": 1.0, "share": 1}, ParameterError, "share"),
        ({"epsilon": 1.0, "depth": 0}, ParameterError, "depth"),
        ({"epsilon": 1.0, "counter": "laplace"}, ParameterError, "counter"),
        ({"epsilon": 1.0, "method": "laplace"}, ParameterError, "method"),
        ({"epsilon": 1.0, "grid": [0, 1]}, DtypeError, "grid"),
        ({"epsilon": 1.0, "isotonic": 1}, DtypeError, "isotonic"),
        ({"epsilon": 1.0, "rng": 1}, DtypeError, "rng"),
    ],
)
def test_refused_before_anything_is_drawn(monkeypatch, arguments, error, message):
    monkeypatch.setattr(recipes, "score_counts", None)
    with pytest.raises(error, match=message):
        score_curves_at_medians([0, 1], [0.2, 0.4], **arguments)


def test_no_records_are_refused_before_anything_is_drawn(monkeypatch):
    monkeypatch.setattr(recipes.RecursiveMedians, "choose", None)
    with pytest.raises(ParameterError, match="y_true"):
        priroc([], [], epsilon=1.0)


def test_a_budget_is_refused_for_any_number_of_chosen_thresholds(monkeypatch):
    monkeypatch.setattr(RecursiveMedians, "choose", None)
    with pytest.raises(ParameterError, match="epsilon"):
        score_curves_at_medians(
            np.zeros(50),
            np.full(50, 0.1),
            dp.Grid.uniform(0, 1, 1400),
            epsilon=4.5e-9,
            share=0.999,
            depth=16,
        )


def test_depth_may_be_any_integer():
    labels, scores = np.arange(100) % 2, np.linspace(0, 1, 100)
    for depth in (np.uint8(7), np.int64(5)):
        curves = score_curves_at_medians(labels, scores, epsilon=50.0, depth=depth)
        assert dp.ScoreCurves.from_json(curves.to_json()).grid == curves.grid
