"""The levels that clients are asked for, drawn from the counts of all without replacement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels.clients import dealing as kernels
from ...noise import windows
from ...noise.sources import Source

__all__ = ["dealt", "dealt_exactly", "generator"]


def dealt(
    counts: NDArray[np.int64], asked: NDArray[np.int64], stream: Source
) -> list[NDArray[np.int64]]:
    """Return, for each level, the counts of the cells, (N,), of the clients asked for it.

    If clients have names, who is asked for what does not depend on the records and need not be
    secret. Here they have none: they are counts by cell, and somebody who knew how these are
    divided would learn something about them. So the distribution has to be exact, and the random
    bits secret (docs/proofs/local.md, section 3). A study draws from the same distribution with
    NumPy's floating-point sampler, in O(N).
    """
    if not stream.simulated:
        return dealt_exactly(counts, asked, stream)
    rng, left, parts = generator(stream), counts.copy(), []
    for reports in asked[:-1]:
        part = rng.multivariate_hypergeometric(left, reports, method="marginals")
        left -= part
        parts.append(part)
    return [*parts, left]


def dealt_exactly(
    counts: NDArray[np.int64], asked: NDArray[np.int64], stream: Source
) -> list[NDArray[np.int64]]:
    """Do as ``dealt`` for one client after another, in integers: O(clients), some 10^7 a second."""
    if asked.size == 1:
        return [counts.copy()]
    people, places = counts.copy(), asked.astype(np.int64)
    parts = np.zeros((asked.size, counts.size), np.int64)
    cut_short = np.empty(0, np.uint32)
    cell, left = 0, int(counts.sum())
    while left:
        window = windows.next_window(cut_short, min(left // 2 + 16, windows.WINDOW), stream)
        cell, used = kernels.deal(window, people, places, parts, cell)
        cut_short, left = window[used:], int(people[cell:].sum())
    return list(parts)


def generator(stream: Source) -> np.random.Generator:
    """Return a generator that a study's stream has seeded."""
    seed = np.empty(4, np.uint64)
    stream.fill(seed)
    return np.random.default_rng(seed)
