"""Monte Carlo studies: a release of about a millisecond, made many times.

The floor is its calls alone, with one generator for all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

import dpcore as dp
from dpcore import studies

from ..registry import Contender, Job

VALUES = 20_000
GRID = dp.Grid.uniform(0, 1, 2**10)
AT = 0.25  # a threshold of the grid
STANDARD_ERRORS = 8


def released(rng):
    curve = dp.cdf(rng.beta(2, 5, VALUES), GRID, epsilon=1.0, rng=rng)
    return {"share": curve(AT)}


STUDY = studies.Study(released, {})


def ours(workers: int):
    def start(size: int):
        studies.run(STUDY, replicates=20 * workers, seed=1, workers=workers)  # they are there
        return lambda: (
            studies.run(STUDY, replicates=size, seed=1, workers=workers).array("share").mean()
        )

    return start


def by_hand(size: int):
    def loop():
        children = np.random.SeedSequence(1).spawn(size)
        return np.mean([released(np.random.default_rng(child))["share"] for child in children])

    return loop


def by_joblib(size: int):
    import joblib

    def called(child):
        return released(np.random.default_rng(child))["share"]

    def tasks(number: int):
        children = np.random.SeedSequence(1).spawn(number)
        return np.mean(joblib.Parallel(2)(joblib.delayed(called)(child) for child in children))

    tasks(40)  # workers are there
    return lambda: tasks(size)


def calls(size: int):
    def loop():
        rng = np.random.default_rng(1)
        for _ in range(size):
            released(rng)

    return loop


def disagreements(size: int, outcomes):
    """Compare with the share by the law, and compare the bits of equal generators."""
    share = betainc(2, 5, AT)
    error = STANDARD_ERRORS * 0.5 / (VALUES * size) ** 0.5  # noise adds almost nothing
    firsts: dict[bool, float] = {}
    found = {}
    for name, mean in outcomes.items():
        first = firsts.setdefault(name.startswith("dpcore"), mean)
        if not abs(mean - share) <= error:
            found[name] = f"{mean:g}, not {share:g}"
        elif mean != first:
            found[name] = "other bits on other workers"
    return found


JOBS = (
    Job(
        name="study",
        title="A study: a release of about a millisecond, made with a generator for each call",
        unit="calls",
        sizes=(10**3, 25_000),
        quick=(10**3,),
        small=20,
        memory=None,
        make=lambda size: size,
        outcome=lambda size, answer: float(answer),
        disagreements=disagreements,
        agreement=(
            f"the mean is the mean of the law, within {STANDARD_ERRORS} standard errors; one worker"
            " and two workers give the same bits"
        ),
        contenders=(
            Contender("dpcore", "ours", ours(1), noise="exact"),
            Contender("dpcore, 2 workers", "ours", ours(2), noise="exact"),
            Contender("NumPy, a list", "numpy", by_hand, noise="exact"),
            Contender("joblib, 2 workers", "peer", by_joblib, "joblib", noise="exact"),
            Contender("the calls alone, one generator", "floor", calls),
        ),
    ),
)
