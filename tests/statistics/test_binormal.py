"""The symmetric binormal curve: its area, its symmetry, and binormal scores."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.statistics.between_curves import symmetric_difference
from dpcore.statistics.binormal import BinormalROC
from tests.statistics.binormal_scores import Points, binormal, exact

RNG = np.random.default_rng


@pytest.mark.parametrize("area", [0.0, 1e-9, 0.2, 0.5, 0.75, 0.99, 1 - 1e-12, 1.0])
def test_binormal_curves_have_their_area_and_symmetry(area):
    curve = BinormalROC(area, 10, dp.Privacy(1.0), {})
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(area, abs=2e-6)
    assert (curve.fpr[0], curve.tpr[0]) == (0.0, 0.0)
    assert (curve.fpr[-1], curve.tpr[-1]) == (1.0, 1.0)
    assert np.all(np.diff(curve.fpr) >= 0)
    assert np.all(np.diff(curve.tpr) >= 0)
    mirrored = Points(1 - curve.tpr[::-1], 1 - curve.fpr[::-1])
    assert symmetric_difference(curve, mirrored) < 1e-9
    at = curve.fpr[1:-1]
    inner = (at > 1e-9) & (at < 1 - 1e-9)
    assert curve(at[inner]) == pytest.approx(curve.tpr[1:-1][inner], abs=1e-6)


def test_binormal_curve_of_binormal_scores():
    rng = RNG(13)
    labels, scores = binormal(40_000, rng, share=0.5)
    released = smooth_roc_curve(labels, scores, epsilon=5.0, rng=rng)
    assert released.privacy == dp.Privacy(5.0, simulated=True)
    assert released.n == 40_000
    assert released.mechanism == {"name": "smooth-s", "epsilon": 5.0}
    truth = exact(labels, scores)
    assert symmetric_difference(truth, released) < 0.02
    assert released([[0.0, 0.5, 1.0]]).shape == (1, 3)
    with pytest.raises(dp.ParameterError, match="fpr"):
        released(1.5)
    with pytest.raises(dp.ParameterError, match="auc"):
        BinormalROC(1.5, 10, dp.Privacy(1.0), {})
