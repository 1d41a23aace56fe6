"""The registry under pytest-benchmark: ``pytest benchmarks``, at the sizes of a quick run."""

from __future__ import annotations

import pytest

from .jobs import JOBS
from .wording import size_text

CASES = [
    pytest.param(job, size, each, id=f"{job.name}-{size_text(size)}-{each.name}")
    for job in JOBS
    for size in job.quick
    for each in job.contenders
    if each.largest is None or size <= each.largest
]


@pytest.fixture(scope="module")
def inputs():
    """Make inputs once for all contenders of a job and size."""
    kept: dict = {}

    def of(job, size):
        if (job.name, size) not in kept:
            kept.clear()
            kept[job.name, size] = job.make(size)
        return kept[job.name, size]

    return of


@pytest.mark.parametrize(("job", "size", "contender"), CASES)
def test_speed(benchmark, inputs, job, size, contender):
    if not contender.is_installed():
        pytest.skip(f'{contender.needs} is not installed: pip install "dpcore[bench]"')
    benchmark.group = f"{job.title}: {size_text(size)} {job.unit}"
    call = contender.start(inputs(job, size))
    benchmark.pedantic(call, rounds=5, warmup_rounds=1, iterations=1)
