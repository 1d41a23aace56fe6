"""Records with scores that may be miscalibrated, and their curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from scipy.special import expit, logit

import dpcore as dp
from dpcore.mechanisms import NoNoise


def exact(labels, scores, grid=None):
    return dp.score_curves(labels, scores, grid, NoNoise())


def released(counts, grid):
    """Curves with such joint counts, as they are: raw, and without a mechanism."""
    curves = exact([0], [0.5], grid)
    joint = replace(curves.joint, counts=np.asarray(counts, float), n=int(counts[-1]), raw=None)
    return replace(curves, joint=joint)


def miscalibrated(n, rng):
    """Scores that are too extreme, and the true probabilities."""
    truth = rng.beta(1.2, 3.0, n)
    return rng.random(n) < truth, expit(2 * logit(truth) + 0.5), truth


@st.composite
def records(draw):
    """Labels, and scores in the middles of cells."""
    cells = draw(st.integers(1, 24))
    at = draw(st.lists(st.integers(0, cells - 1), min_size=1, max_size=60))
    labels = draw(st.lists(st.booleans(), min_size=len(at), max_size=len(at)))
    return np.array(labels), (np.array(at) + 0.5) / cells, dp.Grid.uniform(0, 1, cells)


def ranked(n, rng):
    """Labels that are positive with the probability of their score: the area is about 5 / 6."""
    scores = rng.random(n)
    return rng.random(n) < scores, scores


def area_of_ranks(labels, scores):
    """The share of pairs whose positive has the higher score, ties counting half."""
    labels, scores = np.asarray(labels, bool), np.asarray(scores)
    negatives, positives = np.sort(scores[~labels]), scores[labels]
    sides = [np.searchsorted(negatives, positives, side) for side in ("left", "right")]
    return float(np.sum(sides) / (2 * positives.size * negatives.size))
