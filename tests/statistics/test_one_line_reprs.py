"""What statistics show of themselves: what they are, of how many records, at what cost."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore import statistics as st
from dpcore.papers.smooth_roc_curve import smooth_roc_curve

RNG = np.random.default_rng(1)
SCORES = RNG.random(20_000)
LABELS = RNG.random(20_000) < SCORES
ROC = dp.roc_curve(LABELS, SCORES, epsilon=0.5)
TEST = dp.hosmer_lemeshow(LABELS, SCORES, epsilon=0.5)
SHOWN = {
    "ScoreCurves": ROC.curves,
    "ROC": ROC,
    "ScoreHistogram": st.ScoreHistogram.quantile(ROC.curves),
    "Reliability": st.reliability(ROC.curves),
    "Bins": st.uniform_bins(ROC.curves),
    "ClasswiseCalibration": dp.classwise_calibration(
        LABELS, np.c_[1 - SCORES, SCORES], [False, True], epsilon=0.5
    ),
    "HosmerLemeshow": TEST,
    "HosmerLemeshowUnderNoise": TEST.under_noise(9),
    "BinormalROC": smooth_roc_curve(LABELS, SCORES, epsilon=0.5, delta=1e-6),
    "HistogramBinning": st.HistogramBinning.fit(ROC.curves),
    "IsotonicCalibration": st.IsotonicCalibration.fit(ROC.curves),
    "BayesianBinning": st.BayesianBinning.fit(ROC.curves),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_repr_says_what_it_is_in_a_line(name):
    shown = repr(SHOWN[name])
    assert shown.startswith(f"<{name}: ")
    assert len(shown) <= 88
    assert "\n" not in shown
    assert "array(" not in shown


def test_releases_are_equal_by_value():
    again = dp.ScoreCurves.from_json(ROC.curves.to_json())
    assert again == ROC.curves
    assert hash(again) == hash(ROC.curves)
    assert st.ROC(again, dp.mechanisms.from_curve(again.joint)) == ROC
    assert len({ROC, st.ROC(again, ROC.mechanism), st.ROC(again)}) == 2
    assert ROC.curves != dp.roc_curve(LABELS, SCORES, epsilon=0.5).curves
    binormal = SHOWN["BinormalROC"]
    assert binormal == st.BinormalROC(
        binormal.auc, binormal.n, binormal.privacy, binormal.mechanism
    )


def test_notebooks_show_a_picture_of_the_curve():
    html = ROC._repr_html_()
    assert html.startswith("<div><svg")
    assert f"area {ROC.auc:.4g}, n = 20000, epsilon = 0.5" in html
    assert "nan" not in html
    with pytest.warns(dp.DpcoreWarning):
        none = dp.roc_curve(np.zeros(99, bool), SCORES[:99], mechanism=dp.mechanisms.NoNoise())
    assert none._repr_html_() == "&lt;ROC: area nan, n = 99, epsilon = inf&gt;"
