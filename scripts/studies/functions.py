"""Shared functions, measured: ``python scripts/study.py functions``.

Measures the errors of counts and quantiles that are asked point by point, beside whole curves; the
lengths of keys; the memory of a server; and the cost of a client. Writes
docs/measured/function-sharing-accuracy.md and .png. Takes some minutes. The machine should do
nothing else meanwhile, because the study measures memory and time.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _pages import parts, pivot, save, table, write
from _studies import given, replicates, run
from numpy.typing import NDArray
from papers._figure import panels

import dpcore as dp
from dpcore import studies
from dpcore.studies import Results
from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    FunctionSharing,
    PointwiseCDF,
    Protocol,
    SimulatedSum,
    comparison,
)
from dpcore.trust.protocol.trust_models import Pointwise

from ._function_costs import ROUND, of_arrays, of_client, of_server

Values = NDArray[np.float64]
Rng = np.random.Generator
Model = Central | DistributedNoise | FunctionSharing
Section = Iterator[str | list[str]]  # of the page: paragraphs and tables
RUNS, EPSILON, RECORDS, SIZES = 200, 1.0, 2**20, (2**8, 2**12, 2**16)
MODELS: dict[str, Model] = {
    "curator": Central(EPSILON),
    "distributed noise": DistributedNoise(EPSILON, RECORDS),
    **{
        f"{servers} servers, {honest} honest": FunctionSharing(EPSILON, servers, honest)
        for servers, honest in ((2, 1), (2, 2), (3, 1), (3, 2))
    },
}
KINDS = ("whole", "pointwise")
PROBABILITIES = np.arange(1, 10) / 10
DRAWN, DRAWN_SIZE = "2 servers, 1 honest", SIZES[0]
BITS, SECURITY, PEOPLE, SYCRET = (8, 12, 16, 20, 24, 32), 128, 10**6, 920
MOST_BITS = 24  # of a round
MANY_SERVERS = 3
CLIENTS, EVERY, CELLS = (10**4, 10**5), 10**3, 2**10
IN_FILE, AT_ONCE, KEY_BITS, ASKED = (10**4, 10**5, 10**6), 10**4, 16, 64
REPORTING = {(2, 2**10): 2000, (2, 2**16): 2000, (MANY_SERVERS, 2**10): 2000}


@studies.study({"model": MODELS, "size": SIZES})
def quantiles(model: Model, size: int, rng: Rng) -> dict[str, Values]:
    """Return how many records are between released quantiles and the true ones, by the kind."""
    counts, grid = even(size), dp.Grid.uniform(0, 1, size)
    curves: dict[str, dp.CDF | PointwiseCDF] = {}
    curves["whole"] = dp.cdf_from_counts(counts, grid, model, rng=rng)
    if isinstance(model, Pointwise):
        curves["pointwise"] = PointwiseCDF(SimulatedSum(counts, model, rng), grid)
    return {
        kind: RECORDS * (curve.quantile(PROBABILITIES) - PROBABILITIES)
        for kind, curve in curves.items()
    }


def deviations(model: Model, size: int) -> dict[str, Values]:
    """Return the standard deviation of each count, (N,), by the kind; no runs are needed."""
    found = {"whole": model.noise_deviation(size)}
    if isinstance(model, Pointwise):
        curve = PointwiseCDF(SimulatedSum(even(size), model, np.random.default_rng(1)))
        curve(curve.grid.thresholds)
        found["pointwise"] = curve.noise_deviation
    return found


def even(size: int) -> NDArray[np.int64]:
    """Return the counts of records that are spread evenly: quantiles are probabilities."""
    return np.full(size, RECORDS // size)


def main() -> None:
    """Measure, run, and write the page and the picture."""
    measured = [*memory(), *costs()]  # first: nothing of the runner is there yet
    page = parts(
        "# Function sharing, measured",
        "Written by `python scripts/study.py functions`. This page measures the errors, lengths,"
        " memory and times of `trust.FunctionSharing` ([trust.md](../proofs/trust.md)). Clients"
        " share step functions among servers"
        " ([function-sharing.md](../proofs/function-sharing.md)). The servers add noise that they"
        " remember. [benchmarks.md](benchmarks.md) compares the speed with other libraries.",
        *errors(run(quantiles, RUNS)),
        *lengths(),
        *measured,
    )
    save(picture(), "measured/function-sharing-accuracy.png")
    write("measured/function-sharing-accuracy.md", page)


def errors(results: Results) -> Section:
    """Return the section on errors."""

    def by_size(of: Callable[..., Any]) -> list[str]:
        rows, columns = {"model": "{}"}, {"size": "N = {:,}", "kind": "{}"}
        return pivot(results, rows, columns, lambda **at: root_mean_square(of(**at)), kind=KINDS)

    def of_counts(model: str, size: int, kind: str) -> Values:
        return deviations(MODELS[model], size).get(kind, np.empty(0))

    def of_quantiles(model: str, size: int, kind: str) -> Values:
        return results.array(kind, model=model, size=size)

    yield "## Errors"
    yield (
        f"Epsilon is {EPSILON:g}. There are {RECORDS:,} clients, whose records are spread evenly"
        " over N cells. *Whole* is the least-squares curve from all nodes of the servers' tree."
        " *Pointwise* is `PointwiseCDF`, which asks for counts one by one. Both have noise of the"
        " same law on the same nodes, for the same budget. A curator releases whole curves only."
    )
    yield "Counts: root mean squares over all thresholds, in records, by the exact law."
    yield by_size(of_counts)
    yield (
        f"Quantiles at {', '.join(f'{p:g}' for p in PROBABILITIES)}: the number of records between"
        " the released and the true quantile. The table shows root mean squares of"
        f" {replicates(results)} runs. Each number has its own noise, so lines of the same law"
        " differ by chance. Whole curves are made monotone, as in `dp.cdf`. Pointwise quantiles"
        " are found by binary search."
    )
    yield by_size(of_quantiles)
    yield (
        f"![Standard deviation of a count, by threshold, of {DRAWN_SIZE} cells]"
        "(function-sharing-accuracy.png)"
    )
    yield (
        "A single count is a sum and difference of few nodes. Least squares uses all nodes, so the"
        " server has to send all of them, with 8 bytes for each node."
    )


def root_mean_square(errors: Values) -> str:
    """Return the root mean square over all axes, or nothing if nothing is released."""
    return f"{np.sqrt(np.mean(np.square(errors))):.1f}" if errors.size else ""


def lengths() -> Section:
    """Return the section on keys."""
    yield "## Lengths"
    yield (
        "The table shows what one client makes, in bytes. Each of two servers gets a key."
        " Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative Distribution"
        " Functions* (the ECDF paper), state $O(L (\\lambda + \\log n))$ bits. The table has this"
        " with the constant 1, the logarithm to base 2,"
        f" $\\lambda = {SECURITY}$ and n = {PEOPLE:,}. A level of dpcore's keys has 128 bits and a"
        " word of 64 bits. Counts are added modulo this word, for any n. Keys of sycret are for"
        f" L = 32. With {MANY_SERVERS} servers, one server gets a vector of shares, and each other"
        " server gets a seed that stands for such a vector."
    )
    rows = []
    for bits in BITS:
        of_paper = bits * (SECURITY + np.log2(PEOPLE)) / 8
        sent = ["", ""]
        if bits <= MOST_BITS:
            two, more = (sent_by(servers, 2**bits) for servers in (2, MANY_SERVERS))
            sent = [f"{two[0]:,}", f"{sum(more):,}"]
        rows.append([bits, f"{comparison.key_bytes(bits):,}", f"{of_paper:.0f}", SYCRET, *sent])
    paper, of_all = "the paper's L (lambda + log2 n)", f"all {MANY_SERVERS} reports"
    yield table(["L", "key", paper, "sycret", "report with a key", of_all], rows)


def sent_by(servers: int, size: int) -> list[int]:
    """Return how many bytes a client sends to each server."""
    protocol = Protocol(FunctionSharing(EPSILON, servers), size, ROUND)
    return [len(report) for report in Client(protocol).report(0)]


def memory() -> Section:
    """Return the section on memory."""
    rng = np.random.default_rng(1)
    last = -1 if given.quick else None  # most clients take the longest
    rows = []
    for clients in CLIENTS[:last]:
        most, end, ids = of_server(clients, EVERY, CELLS, rng)
        megabytes = (f"{x / 1e6:.2f} MB" for x in (most, end, ids, most - ids, end - ids))
        rows.append([f"{clients:,}", *megabytes])
    yield "## Memory"
    yield (
        f"The memory of a `Server` with {CELLS:,} cells that settles and adds up every {EVERY:,}"
        " clients. The table shows the largest memory and the memory at the end, as `tracemalloc`"
        " counts them. It also shows the memory of a set of as many ids, with 16 bytes for each"
        f" and Python's overhead. {EVERY:,} clients make reports, and the others have copies with"
        " their own ids. The largest memory minus the ids is the work of"
        f" {os.cpu_count()} threads on {EVERY:,} clients, for any number of clients."
    )
    yield table(
        ["clients", "most", "at the end", "ids alone", "most minus ids", "end minus ids"], rows
    )
    key = comparison.key_bytes(KEY_BITS)
    rows = []
    for clients in IN_FILE[:last]:
        most = of_arrays(clients, AT_ONCE, KEY_BITS, ASKED, rng)
        rows.append([f"{clients:,}", f"{clients * key / 1e6:.0f} MB", f"{most / 1e6:.2f} MB"])
    yield (
        f"The memory of `comparison.evaluate_sum` at {ASKED} thresholds, with L = {KEY_BITS}, over"
        f" a file of keys, {AT_ONCE:,} at a time ({AT_ONCE * key / 1e6:.0f} MB), on one thread. No"
        " ids are kept."
    )
    yield table(["clients", "file", "most"], rows)


def costs() -> Section:
    """Return the section on the cost of a client."""
    rng, rows = np.random.default_rng(1), []
    for (servers, size), clients in REPORTING.items():
        found = of_client(FunctionSharing(EPSILON, servers), size, clients, ASKED, rng)
        seconds = found.report, found.add, found.settle, found.answer
        times = [f"{1e6 * each:.{0 if each > 1e-5 else 1}f}" for each in seconds]
        rows.append([servers, f"{size:,}", *times, " + ".join(map(str, found.sent))])
    yield "## What a client costs"
    yield (
        f"Times on {os.cpu_count()} logical processors, in microseconds for each client. `report`"
        " is `Client.report`, and `add` is of the slowest server; both are medians over clients."
        f" `settle` is of all clients, and `answer` is at {ASKED} cells; both are divided by the"
        " number of clients. Bytes are the lengths of the reports."
    )
    answer = f"answer at {ASKED} cells"
    yield table(["servers", "N", "report", "add", "settle", answer, "bytes"], rows)


def picture() -> Any:
    """Draw the standard deviation of a count, by threshold."""
    both, curator = (deviations(MODELS[name], DRAWN_SIZE) for name in (DRAWN, "curator"))
    curves = {
        f"{DRAWN}: pointwise": both["pointwise"],
        f"{DRAWN}: whole curve": both["whole"],
        "curator: whole curve": curator["whole"],
    }
    drawing, axes = panels(width=7.0, height=3.2)
    ax = axes[0, 0]
    for (name, each), line in zip(curves.items(), ("-", "--", "-."), strict=True):
        ax.plot(np.arange(1, DRAWN_SIZE + 1), each, line, linewidth=1.0, label=name)
    ax.set(xlabel="cell", ylabel="standard deviation, in records")
    ax.set_ylim(bottom=0)
    ax.legend()
    return drawing
