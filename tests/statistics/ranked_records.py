"""Records with labels of both classes, and the area of their ranks."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.mechanisms import NoNoise


def exact(labels, scores, grid=None):
    return dp.score_curves(labels, scores, grid, NoNoise())


def calibrated(n, rng):
    """Labels that are positive with the probability of their score: the area is about 5 / 6."""
    scores = rng.random(n)
    return rng.random(n) < scores, scores


def area_of_ranks(labels, scores):
    """The share of pairs whose positive has the higher score, ties counting half."""
    labels, negatives = (
        np.asarray(labels, bool),
        np.sort(np.asarray(scores)[~np.array(labels, bool)]),
    )
    mine = np.asarray(scores)[labels]
    sides = [np.searchsorted(negatives, mine, side) for side in ("left", "right")]
    return float(np.sum(sides) / (2 * mine.size * negatives.size))
