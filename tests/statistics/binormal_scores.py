"""Binormal scores, ROC curves of records without noise, and curves of given points."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.mechanisms import NoNoise
from dpcore.releases.roc_curve import roc_curve


def binormal(n, rng, share=0.3, apart=1.5):
    labels = rng.random(n) < share
    return labels, rng.normal(apart * labels, 1.0)


def separating(scores):
    """A grid with every score in a cell of its own."""
    return dp.Grid(np.unique(np.asarray(scores, float)))


def exact(labels, scores, grid=None):
    return roc_curve(labels, scores, grid=grid or separating(scores), mechanism=NoNoise())


class Points:
    def __init__(self, fpr, tpr):
        self.fpr, self.tpr = np.array(fpr), np.array(tpr)
