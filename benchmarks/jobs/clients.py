"""Clients with any number of records, of which some are chosen at random and counted.

The floor is to count the records of each client.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.trust import SecureAggregation, client_score_curves

from ..registry import Contender, Job

BOUND, CELLS = 4, 2**10
STANDARD_ERRORS = 8


class Inputs(NamedTuple):
    ids: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    clients: int
    kept: int  # the number of records of each client that count


def records(size: int) -> Inputs:
    rng = np.random.default_rng(1)
    clients = size // 3
    ids = (clients * rng.beta(0.5, 2, size)).astype(np.int64)  # some clients have hundreds
    scores = rng.random(size)
    held = np.bincount(ids, minlength=clients)
    kept = int(np.minimum(held, BOUND).sum())
    return Inputs(ids, rng.random(size) < scores, scores, clients, kept)


def ours(inputs: Inputs):
    grid, trust = dp.Grid.uniform(0, 1, CELLS), SecureAggregation(records=BOUND)

    def run():
        curves = client_score_curves(
            inputs.ids, inputs.labels, inputs.scores, grid, trust, clients=inputs.clients
        )
        return int(curves.negatives[-1]), int(curves.positives[-1])

    return run


def counted(labels: np.ndarray, scores: np.ndarray):
    negatives, positives = (
        np.histogram(scores[labels == label], CELLS, (0.0, 1.0))[0].sum() for label in (False, True)
    )
    return int(negatives), int(positives)


def numpy_by_hand(inputs: Inputs):
    rng = np.random.default_rng(1)

    def run():
        order = rng.permutation(inputs.ids.size)
        order = order[np.argsort(inputs.ids[order], kind="stable")]
        ids = inputs.ids[order]
        first = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        place = np.arange(ids.size) - np.repeat(first, np.diff(np.r_[first, ids.size]))
        chosen = order[place < BOUND]
        return counted(inputs.labels[chosen], inputs.scores[chosen])

    return run


def pandas_groups(inputs: Inputs):
    import pandas as pd

    frame = pd.DataFrame({"id": inputs.ids, "label": inputs.labels, "score": inputs.scores})

    def run():
        chosen = frame.sample(frac=1.0).groupby("id", sort=False).head(BOUND)
        return counted(chosen["label"].to_numpy(), chosen["score"].to_numpy())

    return run


def count(inputs: Inputs):
    return lambda: np.bincount(inputs.ids, minlength=inputs.clients)


def disagreements(inputs: Inputs, outcomes):
    share = inputs.labels.mean()
    spread = (inputs.kept * share * (1 - share)) ** 0.5
    found = {}
    for name, (negatives, positives) in outcomes.items():
        if negatives + positives != inputs.kept:
            found[name] = f"{negatives + positives} records, not {inputs.kept}"
        elif abs(positives - inputs.kept * share) > STANDARD_ERRORS * spread:
            found[name] = f"{positives} positives"
    return found


JOBS = (
    Job(
        name="clients",
        title=f"At most {BOUND} records of each client, at random, counted by class and score",
        unit="records",
        sizes=(3 * 10**5, 3 * 10**6),
        quick=(3 * 10**5,),
        small=3000,
        memory=3 * 10**6,
        make=records,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=(
            "the number of counted records is right; the share of positives among them is that of "
            f"all records, within {STANDARD_ERRORS} standard deviations"
        ),
        contenders=(
            Contender("dpcore", "ours", ours),
            Contender("NumPy by hand", "numpy", numpy_by_hand),
            Contender("pandas, head of shuffled groups", "peer", pandas_groups, needs="pandas"),
            Contender("counting the records of each client", "floor", count),
        ),
    ),
)
