"""The registry under pytest-benchmark: ``pytest benchmarks``, at the sizes of a quick run.

Answers are checked, too. ``--small`` checks only the answers, on small sizes.
"""

from __future__ import annotations

import pytest

from .jobs import JOBS
from .wording import size_text


def pytest_generate_tests(metafunc):
    """Make a case for each job, size and contender."""
    is_small = metafunc.config.getoption("--small")
    if "contender" in metafunc.fixturenames:
        cases = [
            pytest.param(job, size, each, id=f"{job.name}-{size_text(size)}-{each.name}")
            for job in JOBS
            for size in ((job.small,) if is_small else job.quick)
            for each in job.contenders
            if each.largest is None or size <= each.largest
        ]
        metafunc.parametrize(("job", "size", "contender"), cases)


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


@pytest.fixture(scope="module")
def ours(inputs):
    """Make the outcome of the first contender once for all contenders of a job and size."""
    kept: dict = {}

    def of(job, size):
        if (job.name, size) not in kept:
            kept.clear()
            first = job.contenders[0]
            kept[job.name, size] = job.outcome(inputs(job, size), first.start(inputs(job, size))())
        return kept[job.name, size]

    return of


def test_speed(request, inputs, ours, job, size, contender):
    """Take times, or only check the answer with ``--small``."""
    if not contender.is_installed():
        pytest.skip(f'{contender.needs} is not installed: pip install "dpcore[bench]"')
    call = contender.start(inputs(job, size))
    if request.config.getoption("--small"):
        answer = call()
    else:
        benchmark = request.getfixturevalue("benchmark")
        benchmark.group = f"{job.title}: {size_text(size)} {job.unit}"
        answer = benchmark.pedantic(call, rounds=5, warmup_rounds=1, iterations=1)
    if contender.kind == "floor":  # a part of the job, without an answer
        return
    compared = {job.contenders[0].name: ours(job, size)}
    compared[contender.name] = job.outcome(inputs(job, size), answer)
    assert job.disagreements(inputs(job, size), compared) == {}
