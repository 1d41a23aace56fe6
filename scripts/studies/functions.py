"""Shared functions, measured: ``python scripts/study.py functions [--runs N]``.

Errors of counts and quantiles that are asked point by point, beside whole curves; how long keys
are; the memory of a server; and what a client costs. Writes docs/function-sharing-accuracy.md and
.png. Takes some minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
import os

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors, sizes, memory and time of shared functions.")
parser.add_argument("--runs", type=int, default=200, metavar="N", help="of quantiles, each")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from dpcore.trust import (  # noqa: E402
    Central,
    Client,
    DistributedNoise,
    FunctionSharing,
    Protocol,
    comparison,
)

from ._function_experiments import (  # noqa: E402
    PROBABILITIES,
    ROUND,
    Errors,
    Model,
    of_arrays,
    of_client,
    of_counts,
    of_quantiles,
    of_server,
    pointwise_deviations,
)

EPSILON, RECORDS, SIZES = 1.0, 2**20, (2**8, 2**12, 2**16)
MODELS: dict[str, Model] = {
    "curator": Central(EPSILON),
    "distributed noise": DistributedNoise(EPSILON, RECORDS),
    **{
        f"{servers} servers, {honest} honest": FunctionSharing(EPSILON, servers, honest)
        for servers, honest in ((2, 1), (2, 2), (3, 1), (3, 2))
    },
}
DRAWN, DRAWN_SIZE = MODELS["2 servers, 1 honest"], 2**8
BITS, SECURITY, PEOPLE, SYCRET = (8, 12, 16, 20, 24, 32), 128, 10**6, 920
MOST_BITS = 24  # of a round
MANY_SERVERS = 3
CLIENTS, EVERY, CELLS = (10**4, 10**5), 10**3, 2**10
IN_FILE, AT_ONCE, KEY_BITS, ASKED = (10**4, 10**5, 10**6), 10**4, 16, 64
REPORTING = {(2, 2**10): 2000, (2, 2**16): 2000, (MANY_SERVERS, 2**10): 2000}
PAGE = ROOT / "docs" / "function-sharing-accuracy.md"
PICTURE = PAGE.with_suffix(".png")


def main() -> None:
    """Run, write, and say where."""
    draw()
    parts = [heading(), errors(), lengths(), memory(), costs()]
    PAGE.write_text("\n".join(line for part in parts for line in part) + "\n", "utf-8")
    for path in (PAGE, PICTURE):
        print(f"written: {path.relative_to(ROOT)}")


def heading() -> list[str]:
    """Return how the page begins."""
    return [
        "# Function sharing, measured",
        "",
        "Written by `python scripts/study.py functions`. Clients share step functions among",
        "servers ([function-sharing.md](function-sharing.md)), who add noise that they remember",
        "([pointwise.md](pointwise.md)): `trust.FunctionSharing`, of [trust.md](trust.md).",
        "Speed beside other libraries: [benchmarks.md](benchmarks.md).",
        "",
    ]


def errors() -> list[str]:
    """Return the section on errors."""
    return [
        "## Errors",
        "",
        f"Epsilon = {EPSILON:g}, and {RECORDS:,} clients, whose records are spread evenly over N",
        "cells. *Whole*: the curve that all nodes of the servers' tree give by least squares.",
        "*Pointwise*: `PointwiseCDF`, counts that are asked for one by one. Both have the same",
        "noise on the same nodes, for the same budget. A curator releases whole curves only.",
        "",
        "Counts: root mean squares over all thresholds, in records, by the exact law.",
        "",
        *table(of_counts_by_size()),
        "",
        f"Quantiles at {', '.join(f'{p:g}' for p in PROBABILITIES)}: how many records are between",
        f"the released and the true one; root mean squares of {ARGUMENTS.runs} runs, with the",
        "same seeds for all. Whole curves are made monotone, as `dp.cdf` does; pointwise it is",
        "binary search.",
        "",
        *table(of_quantiles_by_size()),
        "",
        f"![Standard deviation of a count, by threshold, of {DRAWN_SIZE} cells]({PICTURE.name})",
        "",
        "A count that is asked for by itself is a sum and difference of few nodes; least squares",
        "takes all nodes into account, and costs all of them: the server sends 8 bytes a node.",
        "",
    ]


def of_counts_by_size() -> dict[str, list[Errors]]:
    """Return the errors of counts, for each model and size."""
    return {
        name: [of_counts(model, size, RECORDS) for size in SIZES] for name, model in MODELS.items()
    }


def of_quantiles_by_size() -> dict[str, list[Errors]]:
    """Return those of quantiles."""
    return {
        name: [
            of_quantiles(model, size, RECORDS, np.random.default_rng(1).spawn(ARGUMENTS.runs))
            for size in SIZES
        ]
        for name, model in MODELS.items()
    }


def table(found: dict[str, list[Errors]]) -> list[str]:
    """Return a table of errors."""
    heads = [f"N = {size:,}, {kind}" for size in SIZES for kind in ("whole", "pointwise")]
    lines = header("", *heads)
    for name, of_sizes in found.items():
        cells = ["" if each is None else f"{each:.1f}" for pair in of_sizes for each in pair]
        lines.append(row(name, *cells))
    return lines


def lengths() -> list[str]:
    """Return the section on keys."""
    lines = [
        "## Lengths",
        "",
        "Of what one client makes, in bytes. Two servers get a key each. The ECDF paper says",
        "O(L (lambda + log n)) bits; here is that with the constant 1, the logarithm to base 2,",
        f"lambda = {SECURITY} and n = {PEOPLE:,}. A level of dpcore's keys has 128 bits, and a",
        "word of 64, modulo which counts are added up, whatever n is. Keys of sycret are for",
        f"L = 32. Of {MANY_SERVERS} servers one gets a vector of shares, and each other one a seed",
        "that stands for one.",
        "",
        *header(
            "L",
            "key",
            "the paper's L (lambda + log2 n)",
            "sycret",
            "report with a key",
            f"all {MANY_SERVERS} reports",
        ),
    ]
    for bits in BITS:
        of_paper = bits * (SECURITY + np.log2(PEOPLE)) / 8
        sent: tuple[str, ...] = ("", "")
        if bits <= MOST_BITS:
            two, more = (sent_by(servers, 2**bits) for servers in (2, MANY_SERVERS))
            sent = f"{two[0]:,}", f"{sum(more):,}"
        lines.append(
            row(str(bits), f"{comparison.key_bytes(bits):,}", f"{of_paper:.0f}", str(SYCRET), *sent)
        )
    return [*lines, ""]


def sent_by(servers: int, size: int) -> list[int]:
    """Return how many bytes a client sends to each server."""
    protocol = Protocol(FunctionSharing(EPSILON, servers), size, ROUND)
    return [len(report) for report in Client(protocol).report(0)]


def memory() -> list[str]:
    """Return the section on memory."""
    lines = [
        "## Memory",
        "",
        f"Of a `Server` with {CELLS:,} cells that settles and adds up every {EVERY:,} clients:",
        "what `tracemalloc` counts at the most and at the end; and what a set of as many ids",
        f"takes, 16 bytes each and what Python adds. {EVERY:,} clients make reports; the others",
        "have copies with ids of their own. What it takes at the most, less ids, is the work of",
        f"{os.cpu_count()} threads at {EVERY:,} clients, whatever n is.",
        "",
        *header("clients", "most", "at the end", "ids alone", "most, less ids", "end, less ids"),
    ]
    rng = np.random.default_rng(1)
    for clients in CLIENTS:
        most, end, ids = of_server(clients, EVERY, CELLS, rng)
        cells = (most, end, ids, most - ids, end - ids)
        lines.append(row(f"{clients:,}", *(f"{each / 1e6:.2f} MB" for each in cells)))
    lines += [
        "",
        f"Of `comparison.evaluate_sum` at {ASKED} thresholds, L = {KEY_BITS}, over a file of keys,",
        f"{AT_ONCE:,} at a time ({AT_ONCE * comparison.key_bytes(KEY_BITS) / 1e6:.0f} MB), on one",
        "thread. No ids are kept.",
        "",
        *header("clients", "file", "most"),
    ]
    for clients in IN_FILE:
        most = of_arrays(clients, AT_ONCE, KEY_BITS, ASKED, rng)
        file = clients * comparison.key_bytes(KEY_BITS)
        lines.append(row(f"{clients:,}", f"{file / 1e6:.0f} MB", f"{most / 1e6:.2f} MB"))
    return [*lines, ""]


def costs() -> list[str]:
    """Return the section on what a client costs."""
    lines = [
        "## What a client costs",
        "",
        f"On {os.cpu_count()} logical processors, in microseconds of one client: `Client.report`;",
        "`add` of the server that takes the longest, the median over clients; `settle` of all, and",
        f"`answer` at {ASKED} cells, by the number of clients. Bytes are those of the reports.",
        "",
        *header("servers", "N", "report", "add", "settle", f"answer at {ASKED} cells", "bytes"),
    ]
    rng = np.random.default_rng(1)
    for (servers, size), clients in REPORTING.items():
        found = of_client(FunctionSharing(EPSILON, servers), size, clients, ASKED, rng)
        seconds = found.report, found.add, found.settle, found.answer
        times = [f"{1e6 * each:.{0 if each > 1e-5 else 1}f}" for each in seconds]
        lines.append(row(str(servers), f"{size:,}", *times, " + ".join(map(str, found.sent))))
    return lines


def header(*names: str) -> list[str]:
    """Return the first two lines of a table."""
    return [row(*names), "|---" * len(names) + "|"]


def row(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def draw() -> None:
    """Draw the standard deviation of a count, by threshold."""
    assert isinstance(DRAWN, FunctionSharing)
    cells = np.arange(1, DRAWN_SIZE + 1)
    curves = {
        "2 servers, 1 honest: pointwise": pointwise_deviations(DRAWN, DRAWN_SIZE, RECORDS),
        "2 servers, 1 honest: whole curve": DRAWN.noise_deviation(DRAWN_SIZE),
        "curator: whole curve": MODELS["curator"].noise_deviation(DRAWN_SIZE),
    }
    plt.switch_backend("Agg")
    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for name, deviations in curves.items():
        ax.plot(cells, deviations, linewidth=1.0, label=name)
    ax.set_xlabel("cell")
    ax.set_ylabel("standard deviation, in records")
    ax.set_ylim(bottom=0)
    ax.legend()
    figure.savefig(PICTURE, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
