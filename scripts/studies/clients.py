"""Clients with several records, measured: ``python scripts/study.py clients [--runs N]``.

Errors of released score curves where clients have unequally many records, by the contribution
bound and the trust model; see docs/clients.md, whose tables this writes. 10 runs take some minutes.
The first start makes ``.venv`` in the clone.
"""

import argparse
from typing import NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors by the bound of what clients contribute.")
parser.add_argument("--clients", type=int, default=200_000, metavar="M", help="of every population")
parser.add_argument("--runs", type=int, default=10, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import ndtr  # noqa: E402
from scipy.stats import rankdata  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.statistics import ROC  # noqa: E402
from dpcore.trust import (  # noqa: E402
    DistributedNoise,
    Local,
    SecureAggregation,
    client_score_curves,
)

Values = NDArray[np.float64]
BOUNDS, CELLS = (1, 2, 4, 8, 16), 2**10
EPSILONS = {"bound alone": None, "distributed, epsilon = 1": 1.0, "local, epsilon = 5": 5.0}
POPULATIONS = ("one record each", "unequal", "one class each", "dependent")
# Of the number of records, rounded down: TAIL * (u^(-1 / SHAPE) - 1) for a uniform u.
SHAPE, TAIL, MOST, MANY = 2.5, 5.0, 500, 8
DISTANCE = 1.1  # of the classes' normal scores, with variance 1
START, END = "<!-- study: start -->", "<!-- study: end -->"


def main() -> None:
    """Run, write, and say where."""
    page = ROOT / "docs" / "clients.md"
    before, _, rest = page.read_text("utf-8").partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no place for the tables: {START} ... {END}")
    text = "\n".join([START, *tables(), END])
    page.write_text(before + text + after, "utf-8")
    print(f"written: {page.relative_to(ROOT)}")


class Records(NamedTuple):
    """All that the clients have, each (n,)."""

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


def drawn(population: str, rng: np.random.Generator) -> Records:
    """Draw new records of all clients."""
    clients = ARGUMENTS.clients
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


def released(
    records: Records, bound: int, epsilon: float | None, model: str, rng: np.random.Generator
) -> dp.ScoreCurves:
    """Release the curves of what counts, simulated in aggregate."""
    grid, clients = dp.Grid.uniform(0, 1, CELLS), ARGUMENTS.clients
    if epsilon is None:
        exact = SecureAggregation(records=bound)
        return client_score_curves(*records, grid, exact, clients=clients, rng=rng)
    kind = Local if model.startswith("local") else DistributedNoise
    trust = kind(epsilon, clients=clients, records=bound)
    return client_score_curves(*records, grid, trust, rng=rng)


def errors_of(population: str, rng: np.random.Generator) -> Values:
    """Return the errors of area and share of positives, by model and bound, and what counts."""
    records = drawn(population, rng)
    area, share = records.area, records.labels.mean()
    errors = np.empty((3, len(EPSILONS), len(BOUNDS)))
    for at, (model, epsilon) in enumerate(EPSILONS.items()):
        for column, bound in enumerate(BOUNDS):
            curves = released(records, bound, epsilon, model, rng)
            positives, negatives = float(curves.positives[-1]), float(curves.negatives[-1])
            errors[:, at, column] = (
                abs(ROC.from_curves(curves).auc - area),
                abs(positives / (positives + negatives) - share),
                records.counting(bound),
            )
    return errors


def tables() -> list[str]:
    """Return all tables, and what they are of."""
    found = {}
    for at, population in enumerate(POPULATIONS):
        rngs = np.random.default_rng([1, at]).spawn(ARGUMENTS.runs)
        found[population] = np.mean([errors_of(population, rng) for rng in rngs], axis=0)
    sizes = np.bincount(drawn("unequal", np.random.default_rng(1)).client_ids)
    empty = 1 - np.count_nonzero(sizes) / ARGUMENTS.clients
    return [
        f"Written by `python scripts/study.py clients`: M = {ARGUMENTS.clients:,} clients,",
        f"{CELLS:,} cells, means of absolute errors in {ARGUMENTS.runs} repetitions with new",
        "records each, against all records of all clients. Epsilon is that of a client.",
        "",
        "- *One record each*; half of all records are positive, their normal scores",
        f"{DISTANCE} standard deviations apart.",
        f"- *Unequal*: a Pareto law with the exponent {SHAPE}, independent of the scores;",
        f"{sizes.sum() / ARGUMENTS.clients:.1f} records in the mean, none for",
        f"{100 * empty:.0f} % of the clients, at most {sizes.max()} (of one such draw).",
        "- *One class each*: the same numbers, and all records of a client are positive,",
        "or none is.",
        f"- *Dependent*: the same numbers, but of clients with more than {MANY} records 80 %",
        "are positive, of the others 40 %, and the former have scores 1.5 times as far apart.",
        "",
        "The share of all records that count, in %:",
        "",
        *header("population"),
        *(f"| {name} | {row(100 * found[name][2, 0], '.0f')} |" for name in POPULATIONS[:2]),
        "",
        "Errors of the area under the ROC curve:",
        "",
        *header("population", "model"),
        *rows(found, 0),
        "",
        "Errors of the share of positives:",
        "",
        *header("population", "model"),
        *rows(found, 1),
    ]


def header(*names: str) -> list[str]:
    """Return the first two lines of a table."""
    heads = [*names, *(f"c = {bound}" for bound in BOUNDS)]
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]


def rows(found: dict[str, Values], which: int) -> list[str]:
    """Return a line for each population and model."""
    return [
        f"| {population} | {model} | {row(found[population][which, at], '.2g')} |"
        for population in POPULATIONS
        for at, model in enumerate(EPSILONS)
    ]


def row(values: Values, style: str) -> str:
    """Return the cells of a line."""
    return " | ".join(format(value, style) for value in values)


if __name__ == "__main__":
    main()
