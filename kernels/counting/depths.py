"""Runs of cells with about equally many records, joined until enough of each class are expected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def equal_depths(totals: NDArray[np.float64], ends: NDArray[np.int64]) -> None:
    """Find after how many cells runs of about equally many records end. O(N + Q) a row.

    Parameters
    ----------
    totals
        (R, N) cumulative counts that never fall.
    ends
        (R, Q + 1) set to the ends, from 0 to N. Run q ends with the first cell up to which q / Q of
        all records are, and at N if all are there.
    """
    size, runs = totals.shape[1], ends.shape[1] - 1
    for r in range(totals.shape[0]):
        last = totals[r, size - 1]
        cell = ends[r, 0] = 0
        for q in range(1, runs):
            least = q * last / runs
            while totals[r, cell] < least:
                cell += 1
            ends[r, q] = cell + 1 if totals[r, cell] < last else size
        ends[r, runs] = size


@kernel
def sums_of_runs(
    totals: NDArray[np.float64],
    values: NDArray[np.float64],
    ends: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add up a value of each record over runs of cells. O(N + Q) a row.

    Parameters
    ----------
    totals
        (R, N) cumulative counts.
    values
        (N,) the value of the records in each cell.
    ends
        (R, Q + 1) after how many cells runs end, from 0 on.
    sums
        (R, Q) set to the sums.
    """
    for r in range(totals.shape[0]):
        before = 0.0
        for q in range(sums.shape[1]):
            added = 0.0
            for cell in range(ends[r, q], ends[r, q + 1]):
                added += (totals[r, cell] - before) * values[cell]
                before = totals[r, cell]
            sums[r, q] = added


@kernel
def join_small(
    expected: NDArray[np.float64],
    deviations: NDArray[np.float64],
    least: float,
    ends: NDArray[np.int64],
    joined: NDArray[np.int64],
) -> None:
    """Join runs of cells with the next ones while few records of a class are expected in them.

    Parameters
    ----------
    expected
        (R, Q, 2) the expected records of both classes in each run. Those of G groups replace them,
        with 0 beyond.
    deviations
        (N + 1, 2) the deviations of the noise in the records of each class up to each end.
    least
        More than 0 records of each class have to be expected, and at least so many; and, where the
        noise is known, as many as the deviations at both ends together.
    ends
        (R, Q + 1) after how many cells runs end. The ends of groups replace them, with N beyond.
    joined
        (R, Q) set to the number of runs in each group, 0 beyond G.

    Notes
    -----
    O(Q) a row. Runs at the end that are too small belong to the last group. Invariant: groups
    before ``group`` are large enough. Since ``before``, ``runs`` of them have not been enough, with
    ``rest`` expected records.
    """
    size = deviations.shape[0] - 1
    rest = np.zeros(2)
    for r in range(ends.shape[0]):
        group = before = runs = 0
        rest[:] = 0.0
        for q in range(joined.shape[1]):
            end, runs, is_enough = ends[r, q + 1], runs + 1, True
            for s in range(2):
                rest[s] += expected[r, q, s]
                noise = deviations[before, s] + deviations[end, s]
                is_small = rest[s] <= 0.0 or rest[s] < least
                if is_small or (noise < np.inf and rest[s] < noise):
                    is_enough = False
            if is_enough:
                expected[r, group], joined[r, group], ends[r, group + 1] = rest, runs, end
                group, before, runs = group + 1, end, 0
                rest[:] = 0.0
        if group == 0:
            group, expected[r, 0], joined[r, 0] = 1, 0.0, 0
        expected[r, group - 1] += rest
        joined[r, group - 1] += runs
        expected[r, group:], joined[r, group:], ends[r, group:] = 0.0, 0, size
