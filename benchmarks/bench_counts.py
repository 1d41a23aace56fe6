"""Values to cell counts: 10^7 doubles, 2^15 uniform cells.

Run: pytest benchmarks/bench_counts.py. Within a group, the figure in brackets is the ratio to the
fastest. "floor" is one pass over the input's memory.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dpcore as dp

VALUES, CELLS = 10_000_000, 2**15


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(1).beta(2, 5, VALUES)


@pytest.mark.benchmark(group="count uniform")
class TestUniform:
    def test_dpcore(self, measure, values):
        grid = dp.Grid.uniform(0, 1, CELLS)
        assert measure(lambda: grid.count(values)).sum() == VALUES

    def test_boost_histogram(self, measure, values, peer):
        bh = peer("boost_histogram")
        histogram = bh.Histogram(bh.axis.Regular(CELLS, 0, 1), storage=bh.storage.Int64())
        measure(lambda: histogram.fill(values))

    def test_fast_histogram(self, measure, values, peer):
        histogram = peer("fast_histogram").histogram1d
        measure(lambda: histogram(values, bins=CELLS, range=(0, 1)))

    def test_numpy_histogram(self, measure, values):
        measure(lambda: np.histogram(values, bins=CELLS, range=(0, 1)))

    def test_floor(self, measure, values):
        measure(values.max)


@pytest.mark.benchmark(group="count by search")
class TestSearch:
    def test_dpcore(self, measure, values):
        grid = dp.Grid.log(1e-6, 1, CELLS)
        measure(lambda: grid.count(values), rounds=5)

    def test_numpy_searchsorted(self, measure, values):
        thresholds = dp.Grid.log(1e-6, 1, CELLS).thresholds
        measure(lambda: np.bincount(np.searchsorted(thresholds, values), minlength=CELLS), rounds=3)

    def test_boost_histogram(self, measure, values, peer):
        bh = peer("boost_histogram")
        edges = np.r_[0.0, dp.Grid.log(1e-6, 1, CELLS).thresholds]
        histogram = bh.Histogram(bh.axis.Variable(edges), storage=bh.storage.Int64())
        measure(lambda: histogram.fill(values), rounds=3)


_PEAK = """
import resource, numpy as np, dpcore as dp
values = np.random.default_rng(1).random({values})
grid = dp.Grid.uniform(0, 1, {cells})
grid.count(values[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
grid.count(values)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_peak_memory_stays_near_the_input():
    pytest.importorskip("resource", reason="peak memory is read from the resource module (POSIX)")
    script = _PEAK.format(values=VALUES, cells=CELLS)
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    kibibytes = int(printed.stdout)
    print(f"peak memory while counting {VALUES} doubles: {kibibytes / 1024:.1f} MiB more")
    assert kibibytes < 50 * 1024
