"""Curves of many groups, and many histograms. The floors: a pass over the records, random bits."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import STANDARD_ERRORS, difference, words

ROWS, FEW = 5 * 10**6, 10**4  # the latter with the few groups of tests
CELLS, WIDTH = 64, 2.0
EPSILON = 1.0
DEVIATIONS = 1.96  # of an interval of 95 %
DEVIATION = (2 * np.exp(-EPSILON)) ** 0.5 / -np.expm1(-EPSILON)  # of discrete Laplace noise
MOST_FOR_OPENDP = 1000  # groups: ten times as many take minutes


class Records(NamedTuple):
    values: np.ndarray
    codes: np.ndarray
    labels: np.ndarray  # (n,) codes or texts
    groups: list
    grid: dp.Grid


def coded(groups: int) -> Records:
    rng, rows = np.random.default_rng(1), ROWS if groups > 8 else FEW
    codes, values = rng.integers(groups, size=rows), rng.gamma(3.0, 10.0, rows)
    grid = dp.Grid.uniform(0, WIDTH * CELLS, CELLS)
    return Records(values, codes, codes, list(range(groups)), grid)


def named(groups: int) -> Records:
    inputs = coded(groups)
    names = np.array([f"shop-{code:06d}" for code in range(groups)])
    return inputs._replace(labels=names[inputs.codes], groups=names.tolist())


def ours(inputs: Records):
    def release():
        how = {"by": inputs.labels, "groups": inputs.groups, "epsilon": EPSILON}
        with warnings.catch_warnings():  # of groups of few records
            warnings.simplefilter("ignore", dp.errors.DpcoreWarning)
            return dp.cdf(inputs.values, inputs.grid, **how).quantile_interval(0.5)

    return release


def cells_of(inputs: Records) -> np.ndarray:
    """Return the cell of each record, by a division: close to ``Grid``, and not exact."""
    return np.minimum((inputs.values / WIDTH).astype(np.int64), CELLS - 1)


def intervals(noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return intervals for medians of groups, from noisy counts of their cells, (G, N)."""
    counts = np.cumsum(noisy, axis=1).astype(float)
    rest = counts - counts[:, -1:] / 2  # noise of half of the cells, whichever are below
    width = DEVIATIONS * DEVIATION * (CELLS / 4) ** 0.5
    first = np.argmax(rest + width >= 0, axis=1)
    behind = CELLS - np.argmax((rest - width < 0)[:, ::-1], axis=1)
    return WIDTH * first, WIDTH * np.minimum(behind + 1, CELLS)


def with_laplace(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return intervals(counts + difference(np.random.default_rng(), 1 / EPSILON, counts.shape))


def by_bincount(inputs: Records):
    groups = len(inputs.groups)

    def release():
        places = inputs.codes * CELLS + cells_of(inputs)
        counts = np.bincount(places, minlength=groups * CELLS)
        return with_laplace(counts.reshape(groups, CELLS))

    return release


def by_sorted_texts(inputs: Records):
    names = np.array(inputs.groups)

    def release():
        places = np.searchsorted(names, inputs.labels) * CELLS + cells_of(inputs)
        counts = np.bincount(places, minlength=names.size * CELLS)
        return with_laplace(counts.reshape(names.size, CELLS))

    return release


def by_pandas(inputs: Records):
    import pandas as pd

    labels = pd.Series(inputs.labels)

    def release():
        table = pd.DataFrame({"group": labels, "cell": cells_of(inputs)})
        counts = table.groupby(["group", "cell"]).size().unstack(fill_value=0)
        whole = counts.reindex(index=inputs.groups, columns=range(CELLS), fill_value=0)
        return with_laplace(whole.to_numpy())

    return release


def by_opendp(inputs: Records):
    """Public keys are joined with the counts. Without ``signed``, those below 0 become 0."""
    import opendp.prelude as odp
    import polars as pl

    odp.enable_features("contrib")
    groups = len(inputs.groups)
    frame = pl.DataFrame({"group": pl.Series(inputs.labels), "x": inputs.values}).lazy()
    named = pl.Series(np.array(inputs.groups)).to_list()
    keys = pl.LazyFrame(
        {
            "group": [group for group in named for _ in range(CELLS)],
            "cell": np.tile(np.arange(CELLS), groups),
        }
    )
    # Not by ``cut``: the codes of its categories are in the order in which they appear.
    cell = (pl.col("x") / WIDTH).clip(0, CELLS - 1).cast(pl.Int64)

    def release():
        context = odp.Context.compositor(
            data=frame,
            privacy_unit=odp.unit_of(contributions=1),
            privacy_loss=odp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
        )
        query = context.query().with_columns(cell=cell).group_by("group", "cell")
        counts = query.agg(odp.len(signed=True)).with_keys(keys).release().collect()
        return intervals(counts.sort("group", "cell")["len"].to_numpy().reshape(groups, CELLS))

    return release


def passes_and_bits(inputs: Records):
    memory, source = words(len(inputs.groups) * CELLS), CryptographicSource()
    return lambda: (inputs.values.max(), inputs.codes.max(), source.fill(memory))


def missed(inputs: Records, outcomes):
    """Find intervals that miss more exact medians than chance allows, or leave the grid."""
    values = inputs.values[np.lexsort((inputs.values, inputs.codes))]
    sizes = np.bincount(inputs.codes, minlength=len(inputs.groups))
    exact = values[np.cumsum(sizes) - sizes + (sizes - 1) // 2]
    allowed = sizes.size * 0.05 + STANDARD_ERRORS * (sizes.size * 0.05) ** 0.5
    wrong = {}
    for name, (low, high) in outcomes.items():
        misses = np.count_nonzero((exact < low) | (exact > high))
        if misses > allowed:
            wrong[name] = f"{misses} of {sizes.size} intervals miss the median"
        elif not (low.min() >= 0 and high.max() <= WIDTH * CELLS):
            wrong[name] = "intervals leave the grid"
    return wrong


def job(name, title, make, *contenders):
    return Job(
        name=name,
        title=f"Intervals of the medians of groups, 5 x 10^6 records, {title}, {CELLS} cells",
        unit="groups",
        sizes=(10, 10**3, 10**4, 10**5),
        quick=(20,),
        small=8,
        memory=10**4,
        make=make,
        outcome=lambda inputs, answer: tuple(np.asarray(end) for end in answer),
        disagreements=missed,
        agreement="so many intervals hold the exact medians as they say, and lie on the grid",
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            *contenders,
            Contender("pandas.groupby and NumPy", "numpy", by_pandas, noise="inexact"),
            Contender(
                "OpenDP, Polars",
                "peer",
                by_opendp,
                "opendp.extras.polars",
                MOST_FOR_OPENDP,
                noise="exact",
            ),
            Contender("two passes and random bits", "floor", passes_and_bits),
        ),
    )


# --- many histograms


def histograms(size: int) -> np.ndarray:
    return np.random.default_rng(1).poisson(100, (size, CELLS))


def in_one_call(counts: np.ndarray):
    mechanism = dp.mechanisms.Hierarchy(EPSILON)
    return lambda: mechanism.release(counts)


def in_a_loop(counts: np.ndarray):
    mechanism = dp.mechanisms.Hierarchy(EPSILON)
    return lambda: np.stack([mechanism.release(row) for row in counts])


def replicates_of_the_first(counts: np.ndarray):
    mechanism = dp.mechanisms.Hierarchy(EPSILON)
    return lambda: mechanism.release(counts[0], replicates=len(counts))


def numpy_histograms(counts: np.ndarray):
    """A replaced record changes two counts, so the scale is 2 / epsilon; no tree."""
    rng = np.random.default_rng(1)
    return lambda: np.cumsum(counts + difference(rng, 2 / EPSILON, counts.shape), axis=1)


def random_bits(counts: np.ndarray):
    memory, source = words(counts.size), CryptographicSource()
    return lambda: source.fill(memory)


def off(counts: np.ndarray, outcomes):
    exact = np.cumsum(counts, axis=1)
    most = 20 * (8 * CELLS) ** 0.5  # standard errors of the last count without a tree
    wrong = {}
    for name, outcome in outcomes.items():
        error = np.abs(outcome - (exact[0] if "replicates" in name else exact)).max()
        if not error <= most:
            wrong[name] = f"off by {error:g} counts"
    return wrong


JOBS = (
    job(
        "groups",
        "integer codes",
        coded,
        Contender("NumPy, bincount", "numpy", by_bincount, noise="inexact"),
    ),
    job(
        "groups-text",
        "labels of text",
        named,
        Contender("NumPy, searchsorted and bincount", "numpy", by_sorted_texts, noise="inexact"),
    ),
    Job(
        name="histograms",
        title=f"Noise for many histograms of {CELLS} cells, epsilon = {EPSILON:g} for each",
        unit="histograms",
        sizes=(10**4,),
        quick=(10**3,),
        small=10,
        memory=10**4,
        make=histograms,
        outcome=lambda counts, answer: answer,
        disagreements=off,
        agreement="counts are off by at most 20 standard errors of a sum of noisy cells",
        contenders=(
            Contender("dpcore, one call", "ours", in_one_call, noise="exact"),
            Contender("dpcore, replicates of one", "ours", replicates_of_the_first, noise="exact"),
            Contender("dpcore, a loop", "ours", in_a_loop, noise="exact"),
            Contender("NumPy, no tree", "numpy", numpy_histograms, noise="inexact"),
            Contender("random bits", "floor", random_bits),
        ),
    ),
)
