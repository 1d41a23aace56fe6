"""Monte Carlo studies: a function that takes about a millisecond, called many times.

The floor: its calls alone, with one generator for all of them.
"""

from __future__ import annotations

import numpy as np

from dpcore import studies

from ..registry import Contender, Job

DRAWS = 60_000  # of which the median is found in about a millisecond
STANDARD_ERRORS = 8


def median(rng):
    return {"median": float(np.median(rng.random(DRAWS)))}


STUDY = studies.Study(median, {})


def ours(workers: int):
    def start(size: int):
        studies.run(STUDY, replicates=20 * workers, seed=1, workers=workers)  # they are there
        return lambda: (
            studies.run(STUDY, replicates=size, seed=1, workers=workers).array("median").mean()
        )

    return start


def by_hand(size: int):
    def loop():
        children = np.random.SeedSequence(1).spawn(size)
        return np.mean([median(np.random.default_rng(child))["median"] for child in children])

    return loop


def by_joblib(size: int):
    import joblib

    def called(child):
        return median(np.random.default_rng(child))["median"]

    def tasks():
        children = np.random.SeedSequence(1).spawn(size)
        return np.mean(joblib.Parallel(2)(joblib.delayed(called)(child) for child in children))

    return tasks


def calls(size: int):
    def loop():
        rng = np.random.default_rng(1)
        for _ in range(size):
            median(rng)

    return loop


def disagreements(size: int, outcomes):
    error = STANDARD_ERRORS * 0.5 / (DRAWS * size) ** 0.5  # of a median's density 1
    return {name: f"{m:g}, not 0.5" for name, m in outcomes.items() if abs(m - 0.5) > error}


JOBS = (
    Job(
        name="study",
        title="A study: a function of about a millisecond, called with a generator for each call",
        unit="calls",
        sizes=(10**3, 2 * 10**4),
        quick=(10**3,),
        small=20,
        memory=None,
        make=lambda size: size,
        outcome=lambda size, answer: float(answer),
        disagreements=disagreements,
        agreement=f"the mean is 0.5, within {STANDARD_ERRORS} standard errors",
        contenders=(
            Contender("dpcore", "ours", ours(1)),
            Contender("dpcore, 2 workers", "ours", ours(2)),
            Contender("NumPy, a list", "numpy", by_hand),
            Contender("joblib, 2 workers", "peer", by_joblib, needs="joblib"),
            Contender("the calls alone, one generator", "floor", calls),
        ),
    ),
)
