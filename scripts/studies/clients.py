"""Clients with several records, measured: ``python scripts/study.py clients``.

Measures the errors of released score curves if clients have unequally many records, by the
contribution bound and the trust model. Writes the tables of docs/guides/clients.md. Takes some
minutes.
"""

from typing import Any, NamedTuple

import numpy as np
from _pages import fill, parts, table
from _studies import replicates, run
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import rankdata

import dpcore as dp
from dpcore import studies
from dpcore.statistics import ROC
from dpcore.trust import DistributedNoise, Local, SecureAggregation, client_score_curves

Values = NDArray[np.float64]
Rng = np.random.Generator
RUNS, CLIENTS, CELLS = 10, 200_000, 2**10
BOUNDS = (1, 2, 4, 8, 16)
MODELS = ("bound alone", "distributed, epsilon = 1", "local, epsilon = 5")
POPULATIONS = ("one record each", "unequal", "one class each", "dependent")
# Of the number of records, rounded down: TAIL * (u^(-1 / SHAPE) - 1) for a uniform u.
SHAPE, TAIL, MOST, MANY = 2.5, 5.0, 500, 8
DISTANCE = 1.1  # of the classes' normal scores, with variance 1


class Records(NamedTuple):
    """The records of all clients, each array (n,)."""

    client_ids: NDArray[np.int64]
    labels: NDArray[np.bool_]
    scores: Values

    @property
    def area(self) -> float:
        """The exact area under the ROC curve."""
        ranks, positives = rankdata(self.scores), int(self.labels.sum())
        pairs = positives * (self.labels.size - positives)
        return float((ranks[self.labels].sum() - positives * (positives + 1) / 2) / pairs)

    def counting(self, bound: int) -> float:
        """Return the share of records that count."""
        return float(np.minimum(np.bincount(self.client_ids), bound).sum() / self.labels.size)


def drawn(population: str, rng: Rng, clients: int = CLIENTS) -> Records:
    """Draw new records of all clients."""
    if population == "one record each":
        sizes = np.ones(clients, np.int64)
    else:
        sizes = np.minimum(np.floor(TAIL * rng.pareto(SHAPE, clients)), MOST).astype(np.int64)
    client_ids = np.repeat(np.arange(clients), sizes)
    has_many = (sizes > MANY)[client_ids]
    distance: float | Values = DISTANCE
    if population == "one class each":
        labels = (rng.random(clients) < 0.5)[client_ids]
    elif population == "dependent":
        labels = rng.random(client_ids.size) < np.where(has_many, 0.8, 0.4)
        distance = np.where(has_many, 1.5 * DISTANCE, DISTANCE)
    else:
        labels = rng.random(client_ids.size) < 0.5
    middle = np.where(labels, 0.5, -0.5) * distance
    return Records(client_ids, labels, ndtr(rng.normal(middle)))


def released(records: Records, bound: int, model: str, rng: Rng, clients: int) -> dp.ScoreCurves:
    """Release the curves of the records that count, simulated in aggregate."""
    trust: Any = {
        "bound alone": SecureAggregation(records=bound),
        "distributed, epsilon = 1": DistributedNoise(1.0, clients=clients, records=bound),
        "local, epsilon = 5": Local(5.0, clients=clients, records=bound),
    }[model]
    known: dict[str, Any] = {"clients": clients} if model == "bound alone" else {}
    grid = dp.Grid.uniform(0, 1, CELLS)
    return client_score_curves(*records, grid, trust, rng=rng, **known)


@studies.study({"population": POPULATIONS, "model": MODELS, "clients": CLIENTS})
def bounded(population: str, model: str, clients: int, rng: Rng) -> dict[str, list[float]]:
    """Return errors and the share of records that count, for each bound, with the same records."""
    records = drawn(population, rng, clients)
    area, share = records.area, float(records.labels.mean())
    found: dict[str, list[float]] = {"area": [], "share": [], "counting": []}
    for bound in BOUNDS:
        curves = released(records, bound, model, rng, clients)
        positives, negatives = float(curves.positives[-1]), float(curves.negatives[-1])
        found["area"].append(abs(ROC.from_curves(curves).auc - area))
        found["share"].append(abs(positives / (positives + negatives) - share))
        found["counting"].append(records.counting(bound))
    return found


def main() -> None:
    """Run, and write all tables, with a description of the experiment."""
    found = run(bounded, RUNS)
    sizes = np.bincount(drawn("unequal", np.random.default_rng(1)).client_ids)
    empty = 1 - np.count_nonzero(sizes) / CLIENTS
    heads = [f"c = {bound}" for bound in BOUNDS]

    def mean(quantity: str, population: str, model: str) -> Values:
        values = found.array(quantity, population=population, model=model)
        return np.asarray(values.mean(axis=0))

    def errors(quantity: str) -> list[str]:
        rows = [
            [population, model, *(f"{x:.2g}" for x in mean(quantity, population, model))]
            for population in POPULATIONS
            for model in MODELS
        ]
        return table(["population", "model", *heads], rows)

    counting = [
        [population, *(f"{100 * x:.0f}" for x in mean("counting", population, MODELS[0]))]
        for population in POPULATIONS[:2]
    ]
    page = parts(
        f"Written by `python scripts/study.py clients`: M = {CLIENTS:,} clients and {CELLS:,}"
        f" cells. The tables show means of absolute errors over {replicates(found)} repetitions,"
        " each with new records, relative to all records of all clients. All bounds in a line"
        " are for the same records. Epsilon is that of a client.",
        [
            "- *One record each*: half of all records are positive. The scores of both classes are"
            f" normal, and their means are {DISTANCE} standard deviations apart.",
            "- *Unequal*: the number of a client's records follows a Pareto law with the exponent"
            f" {SHAPE}, independent of the scores. In one such draw, the mean was"
            f" {sizes.sum() / CLIENTS:.1f} records, {100 * empty:.0f} % of the clients had none,"
            f" and the largest number was {sizes.max()} (more than {MOST} are cut to {MOST}).",
            "- *One class each*: the same numbers of records. All records of a client are positive,"
            " or none is.",
            f"- *Dependent*: the same numbers of records. Clients with more than {MANY} records"
            " have 80 % positive records, and the other clients 40 %. The scores of the former are"
            " 1.5 times as far apart.",
        ],
        "The share of all records that count, in percent:",
        table(["population", *heads], counting),
        "Errors of the area under the ROC curve:",
        errors("area"),
        "Errors of the share of positives:",
        errors("share"),
    )
    fill("guides/clients.md", page, of="clients")
