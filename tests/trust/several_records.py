"""Clients with several records each: names, scores, labels, and models for them."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.trust import Central, DistributedNoise, Local, SecureAggregation
from tests.trust.rounds import RNG

GRID = dp.Grid.uniform(0, 1, 8)
M, RECORDS = 400, 1000
IDS = RNG(1).integers(M, size=RECORDS)
SCORES = RNG(2).random(RECORDS)
LABELS = RNG(3).random(RECORDS) < SCORES
MOST = int(np.bincount(IDS).max())
MODELS = [
    Central(1.0, records=3),
    SecureAggregation(records=3),
    DistributedNoise(1.0, clients=M, records=3),
    DistributedNoise(1.0, clients=2 * M, dropout=0.75, reporting=M, records=3),
    Local(4.0, clients=M, records=3),
]


def capped(bound):
    """How many records count of each client."""
    return np.minimum(np.bincount(IDS, minlength=M), bound)


def clients_of(model):
    """The number of clients, where the model does not say it."""
    return None if isinstance(model, DistributedNoise | Local) else M
