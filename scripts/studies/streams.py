"""Running counts and curves beside others: docs/guides/streams.md, and its picture.

The deviations of other libraries are those of scripts/stream_peers.py.
"""

import json
import os
import platform
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from _pages import fill, parts, save, table
from _studies import given

import dpcore as dp
from dpcore.curves.colours import BLUE, GREEN, GREY, ORANGE
from dpcore.privacy.guarantees import Neighbours
from dpcore.streams import BufferedToeplitz, ConsistentTree, DyadicTree, RunningCDF
from dpcore.streams.windows import noise_of

from ._stream_rivals import (
    best_of_any,
    binary_tree,
    honaker,
    largest_of_any,
    odd_digits,
    square_root,
)

ADDED: Final = "add-or-remove-one"
BOTH: Final = "replace-one"
RELATIONS: Final[tuple[Neighbours, ...]] = (ADDED, BOTH)
HORIZONS = (128, 1024, 2**14, 2**16)
DAYS = (30, 365, 1000)
WINDOWS = (7, 30, 365)
WINDOWED = 1000  # steps
UNKNOWN = (16, 25, 256, 391, 4096, 9495, 65_536, 85_847)  # also the worst steps of epochs
CELLS = 1024
BATCH = 1000  # steps of a call that is timed
PEERS = json.loads((Path(__file__).parent / "stream_peers.json").read_text("utf-8"))
MISSING = "–"


def pair(variances: np.ndarray) -> str:
    """Return the root mean square and the largest deviation."""
    return f"{np.sqrt(np.mean(variances)):.2f} / {np.sqrt(np.max(variances)):.2f}"


def of_peer(steps: int, mean: str, largest: str) -> str:
    """Return the root mean square deviation of one stream, and the largest of another."""
    known = [PEERS["deviations"].get(name, {}).get(str(steps)) for name in (mean, largest)]
    shown = [MISSING if each is None else f"{each[at]:.2f}" for at, each in enumerate(known)]
    return " / ".join(shown)


def of(mechanism: dp.streams.StreamMechanism, steps: int) -> np.ndarray:
    """Return the variances of all steps of a horizon."""
    return np.asarray(mechanism.noise_deviation(steps)) ** 2


def with_epsilon(steps: int) -> list[str]:
    """Return a row: epsilon = 1."""
    return [
        f"{steps:,}",
        pair(of(ConsistentTree(1.0, neighbours=ADDED), steps)),
        pair(of(ConsistentTree(1.0, neighbours=BOTH), steps)),
        pair(of(DyadicTree(1.0, neighbours=ADDED), steps)),
        pair(of(DyadicTree(1.0, neighbours=BOTH), steps)),
        pair(binary_tree(steps)),
        pair(honaker(steps)),
        of_peer(steps, "dpcrpy AuBCR, epsilon", "dpcrpy AuBCR, epsilon"),
        pair(odd_digits(steps)),
    ]


def nuclear(steps: int) -> float:
    """Return the lower bound for any factorisation: the nuclear norm of the prefix sum over T."""
    return float(np.sum(0.5 / np.sin((2 * np.arange(steps) + 1) * np.pi / (4 * steps + 2))) / steps)


def with_rho(steps: int) -> list[str]:
    """Return a row: rho = 1/2."""
    dense = MISSING
    if steps <= (64 if given.quick else 128):
        least = np.sqrt(best_of_any(steps).mean()), np.sqrt(largest_of_any(steps).max())
        dense = f"{least[0]:.2f} / {least[1]:.2f}"
    return [
        f"{steps:,}",
        pair(of(BufferedToeplitz(rho=0.5, neighbours=ADDED), steps)),
        pair(of(BufferedToeplitz(rho=0.5, neighbours=BOTH), steps)),
        pair(of(DyadicTree(rho=0.5, neighbours=ADDED), steps)),
        of_peer(steps, "jax-privacy BLT, least mean", "jax-privacy BLT, least largest"),
        of_peer(steps, "dpcrpy AuBCR, rho", "dpcrpy AuBCR, rho"),
        pair(square_root(steps)),
        dense,
        f"{nuclear(steps):.2f}",
    ]


def unknown(steps: int) -> list[str]:
    """Return a row: the deviation without a horizon, over the largest one with it."""
    cells = []
    some = np.unique(np.linspace(1, steps, min(steps, 4096)).astype(np.int64))
    for kind in (
        ConsistentTree(1.0, neighbours=ADDED),
        BufferedToeplitz(rho=0.5, neighbours=ADDED),
    ):
        without = kind.noise_deviation(None, steps)
        cells.append(f"{without / kind.noise_deviation(steps, some).max():.2f}")
    return [f"{steps:,}", *cells]


def last_day(days: int) -> list[str]:
    """Return a row: the deviation of the last curve over that of one release of all records."""
    cells, grid = [], dp.Grid.uniform(0, 1, CELLS)
    for budget, one in (
        ({"rho": 0.5}, dp.mechanisms.ToeplitzGaussian(rho=0.5, neighbours=ADDED)),
        ({"epsilon": 1.0}, dp.mechanisms.Hierarchy(1.0, neighbours=ADDED)),
    ):
        once = np.sqrt(one.mean_squared_error(CELLS))
        for relation in RELATIONS:
            stream = RunningCDF(grid, days, **budget, neighbours=relation)  # type: ignore[arg-type]
            deviations = [float(n.deviation(np.array([days]))[0]) for n in stream._noises]
            error = np.sqrt(stream._questions.variances(deviations).mean())
            cells.append(f"{error / once:.2f}")
    return [f"{days:,}", *cells]


def sliding(window: int) -> list[str]:
    """Return a row: the last steps, and as many by differences of a count of all steps so far."""
    cells = [f"{window:,}"]
    at = np.arange(window + 1, WINDOWED + 1)  # once a window is full
    for kind in (
        ConsistentTree(1.0, neighbours=ADDED),
        BufferedToeplitz(rho=0.5, neighbours=ADDED),
    ):
        for mechanism in (kind, replace(kind, neighbours=BOTH)):
            cells.append(pair(noise_of(mechanism, None, window, None).deviation(at) ** 2))
        cells.append(pair(kind.noise(WINDOWED).difference_deviation(at - window, at) ** 2))
    dense = "not tried"
    if window <= 30:
        dense = f"{np.sqrt(best_of_any(8 * window, window=window)[window:].mean()):.2f}"
    return [*cells, dense]


def machine() -> str:
    """Return the processor and the version of Python."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((at.partition(":")[2].strip() for at in lines if "model name" in at), name)
    return f"{name}, {os.cpu_count()} logical processors, Python {platform.python_version()}"


def counted(steps: int, budget: dict[str, float]) -> dp.streams.RunningCount:
    """Take all steps of a running count, in calls of ``BATCH``."""
    counter = dp.streams.RunningCount(steps, **budget)  # type: ignore[arg-type]
    increments = np.full(BATCH, 3)
    for _ in range(0, steps, BATCH):
        counter.extend(increments)
    return counter


def curves(days: int, budget: dict[str, float]) -> RunningCDF:
    """Take all steps of a running curve."""
    stream = RunningCDF(dp.Grid.uniform(0, 1, CELLS), days, **budget)  # type: ignore[arg-type]
    counts = np.full(CELLS, 3)
    for _ in range(days):
        stream.add_counts(counts)
    return stream


def measured(run: Callable[[int, dict[str, float]], object], steps: int, rho: bool) -> list[float]:
    """Return the least seconds of three runs, and the bytes that are kept after another one."""
    budget = {"rho": 0.5} if rho else {"epsilon": 1.0}
    run(BATCH, budget)
    seconds = []
    for _ in range(3):
        start = perf_counter()
        run(steps, budget)
        seconds.append(perf_counter() - start)
    tracemalloc.start()
    kept = run(steps, budget)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return [min(seconds), held]


def speeds() -> list[list[str]]:
    """Return the rows on time and memory."""
    rows, steps = [], 10**4 if given.quick else 10**6
    days = 10 if given.quick else 1000
    for rho, budget in ((False, "epsilon"), (True, "rho")):
        seconds, held = measured(counted, steps, rho)
        what = f"{steps:,} steps of a count, {BATCH:,} a call, {budget}"
        rows.append([what, f"{seconds:.2f} s", f"{held / 1e3:.0f} kB"])
    for rho, budget in ((False, "epsilon"), (True, "rho")):
        seconds, held = measured(curves, days, rho)
        what = f"a day of a curve, {CELLS:,} cells, {days:,} days, {budget}"
        rows.append([what, f"{seconds / days * 1e3:.1f} ms", f"{held / 1e3:.0f} kB"])
    return rows


def picture() -> None:
    """Draw the quartiles of a stream, and deviations by horizon."""
    import matplotlib.pyplot as plt

    rng, days = np.random.default_rng(1), 120
    stream = RunningCDF(dp.Grid.uniform(0, 60, 120), days, rho=0.5, rng=rng)
    arrived, shown, truth = [], [], []
    for day in range(days):
        arrived.append(rng.gamma(3.0, 4.0 + 2.0 * (day > 60), 100))
        curve = stream.add(arrived[-1])
        shown.append(curve.quantile([0.25, 0.5, 0.75]))
        truth.append(np.quantile(np.concatenate(arrived), [0.25, 0.5, 0.75]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.plot(np.array(truth), color=GREY, linewidth=4, label=["records", None, None])
    left.plot(np.array(shown), color=BLUE, linewidth=1, label=["released, rho = 0.5", None, None])
    left.set(xlabel="day (100 records each)", ylabel="quartiles so far", ylim=(0, 30))
    left.legend(loc="upper left", frameon=False)
    horizons = 2 ** np.arange(3, 17)
    for colour, name, deviation in (
        (ORANGE, "DyadicTree (ECDF paper)", lambda t: of(DyadicTree(1.0, neighbours=ADDED), t)),
        (GREY, "binary tree", binary_tree),
        (GREEN, "odd digits", odd_digits),
        (BLUE, "ConsistentTree", lambda t: of(ConsistentTree(1.0, neighbours=ADDED), t)),
    ):
        means = [np.sqrt(np.mean(deviation(int(t)))) for t in horizons]
        width = 2 if colour == BLUE else 1
        right.plot(horizons, means, color=colour, label=name, linewidth=width)
    right.set(xlabel="horizon (steps)", ylabel="deviation of a count, epsilon = 1", xscale="log")
    right.set_ylim(0, 70)
    right.legend(loc="upper left", frameon=False)
    save(figure, "guides/streams.png")


def main() -> None:
    """Write the tables and the picture."""
    page = parts(
        "Deviations in counts: root mean square over the steps / largest. They are closed forms."
        " Unless said otherwise, the relation is add-or-remove-one.",
        "epsilon = 1. The binary tree is that of Chan, Shi & Song, which dpcrpy has, too, as it has"
        " Honaker's:",
        table(
            [
                "T",
                "`ConsistentTree`",
                "replace-one",
                "`DyadicTree`",
                "replace-one",
                "binary tree",
                "Honaker",
                "dpcrpy `AuBCR`",
                "odd digits",
            ],
            map(with_epsilon, HORIZONS),
        ),
        "rho = 1/2. *BLT* are two buffered matrices by the optimiser of jax-privacy, one for each"
        " number. *Square root* has the least largest deviation of all Toeplitz matrices. *Best of"
        " all* are two matrices, one for each number, which keep T numbers a counter. – is not"
        " computed:",
        table(
            [
                "T",
                "`BufferedToeplitz`",
                "replace-one",
                "`DyadicTree`",
                "BLT",
                "dpcrpy `AuBCR`",
                "square root",
                "best of all",
                "lower bound",
            ],
            map(with_rho, HORIZONS),
        ),
        "Without a horizon: the deviation at step t over the largest one with a horizon of t.",
        table(["t", "`ConsistentTree`", "`BufferedToeplitz`"], map(unknown, UNKNOWN)),
        f"Curves of {CELLS:,} cells: the root mean square deviation of the last curve over that of"
        " one release of all records with the same budget, by `ToeplitzGaussian` or `Hierarchy`,"
        " under add-or-remove-one.",
        table(
            ["days", "rho", "rho, replace-one", "epsilon", "epsilon, replace-one"],
            map(last_day, DAYS),
        ),
        "A sliding window of w steps, epsilon = 1 and rho = 1/2. *Difference* is that of two counts"
        f" of all steps so far, with a known horizon of {WINDOWED:,}. *Best of all*, rms, is a"
        " matrix for 8 w steps, which keeps 8 w numbers:",
        table(
            [
                "w",
                "`ConsistentTree`",
                "replace-one",
                "difference",
                "`BufferedToeplitz`",
                "replace-one",
                "difference",
                "best of all",
            ],
            map(sliding, WINDOWS),
        ),
        f"Time and memory in one run on {machine()}:",
        table(["", "time", "memory it keeps"], speeds()),
        f"Others: {' and '.join(f'{name} {at}' for name, at in PEERS['versions'].items())}, both"
        " Apache-2.0, with noise in floating point (`scripts/stream_peers.py`). OpenDP 0.16,"
        " python-dp 1.1, diffprivlib 0.6 and Tumult Core 0.20 have no counter for streams; OpenDP's"
        " b-ary tree is for one release.",
    )
    picture()
    fill("guides/streams.md", page)
