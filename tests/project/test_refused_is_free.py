"""What is refused for a wrong argument costs a budget nothing, whatever was called."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, trust
from dpcore.mechanisms.medians import RecursiveMedians, recursive_medians
from dpcore.mechanisms.smooth_auc import SmoothS
from dpcore.privacy.spending import entered, left
from dpcore.releases.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.priroc import score_curves_at_medians
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.releases.roc_curve import smooth_roc_curve
from tests.project.bad_values import BAD
from tests.project.test_bad_arguments import (
    CALLS,
    COUNTS,
    GRID,
    HOW,
    RECORDS,
    SCORES,
    SUMS,
    by_scikit_learn,
)

pytestmark = pytest.mark.needs_jit  # many releases: a minute and more where kernels are interpreted

PAIR = mechanisms.Dyadic(0.5), mechanisms.Hierarchy(0.5)
RELEASE = {"counts": COUNTS, "rng": None, "replicates": 2}
PUBLIC = {**RELEASE, "workers": 1}
MORE = {
    "Dyadic.release": (mechanisms.Dyadic(1.0).release, PUBLIC),
    "Dawa.release_with_deviation": (
        mechanisms.Dawa(1.0).release_with_deviation,
        {"counts": COUNTS, "rng": None},
    ),
    "AdaptiveQuantiles.release": (mechanisms.AdaptiveQuantiles(1.0).release, PUBLIC),
    "Local.release": (trust.Local(1.0, clients=8).release, PUBLIC),
    "SquareWave.release": (trust.SquareWave(1.0, clients=8).release, PUBLIC),
    "DistributedNoise.release": (trust.DistributedNoise(1.0, clients=8).release, PUBLIC),
    "SmoothS.release": (SmoothS(1.0).release, RELEASE),
    "RecursiveMedians.choose": (
        RecursiveMedians(1.0).choose,
        {"counts": COUNTS, "rng": None},
    ),
    "recursive_medians": (
        recursive_medians,
        {"values": SCORES, "grid": GRID, "epsilon": 1.0, "depth": 2, **HOW},
    ),
    "score_curves, class by class": (
        dp.score_curves,
        {**RECORDS, "grid": GRID, "mechanism": PAIR, "pos_label": 1, **HOW},
    ),
    "score_curves_from_counts, class by class": (
        dp.score_curves_from_counts,
        {"counts": np.ones(16, int), "grid": GRID, "mechanism": PAIR, "rng": None},
    ),
    "smooth_roc_curve": (
        smooth_roc_curve,
        {**RECORDS, "epsilon": 1.0, "delta": None, "pos_label": 1, **HOW},
    ),
    "score_curves_at_medians": (
        score_curves_at_medians,
        {**RECORDS, "epsilon": 1.0, "share": 0.5, "depth": 2, "grid": GRID, **HOW},
    ),
    "hosmer_lemeshow_by_groups": (
        hosmer_lemeshow_by_groups,
        {"y_true": [0, 1] * 50, "y_prob": [0.2, 0.7] * 50, "groups": 3, "epsilon": 1.0}
        | {"grid": GRID, **HOW},
    ),
    "hosmer_lemeshow": (
        dp.hosmer_lemeshow,
        {"y_true": [0, 1] * 50, "y_prob": [0.2, 0.7] * 50, "groups": 3, "epsilon": 1.0}
        | {"grid": GRID, "fitted": True, "pos_label": 1, **HOW},
    ),
    "quantiles_from_counts": (
        quantiles_from_counts,
        {"counts": COUNTS, "probabilities": [0.5], "grid": GRID, "epsilon": 1.0, "rng": None},
    ),
    "project_sums": (
        dp.project_sums,
        {"sums": SUMS, "mechanism": mechanisms.PolynomialProjection(rho=1.0, degree=3)}
        | {"rng": None},
    ),
    "table of a mechanism": (
        dp.table_from_counts,
        {"counts": np.ones((4, 2), int), "grid": CALLS["TableGrid.count"][0].__self__}
        | {"mechanism": mechanisms.Hierarchy(1.0), "rng": None},
    ),
    "client_cdf, local": (
        trust.client_cdf,
        {"client_ids": [1, 2, 3], "values": [0.1, 0.2, 0.3], "grid": GRID, "rng": None}
        | {"trust": trust.Local(1.0, clients=8)},
    ),
}

PAID_BEFORE = {"RunningCount.add", "RunningCount.extend"}  # the counter is made first, each time
ALL = {name: call for name, call in (CALLS | MORE).items() if name not in PAID_BEFORE}
WRONG = BAD | {
    "a tiny number": 1e-13,
    "a tinier number": 1e-300,
    "a small number": 1e-4,
    "a large number": 1e300,
    "a large integer": 2**62,
    "a large count": np.array([2**62]),
    "no records": np.zeros(8, int),
}


class Everything:
    """Watches for all relations at once, and has no cap."""

    _key = "test", ""
    neighbours = "replace-one"

    def __init__(self):
        self.charged = []

    def _asked(self, privacy, what, stack):
        return lambda: self.charged.append((what, privacy))


@pytest.fixture
def watching():
    found = Everything()
    entered(found, everywhere=True)
    yield found
    left(found, everywhere=True)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused_costs_nothing(name, watching, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file
    call, arguments = ALL[name]
    for argument, kind in itertools.product(arguments, WRONG):
        bad = (i for i in [1]) if kind == "a generator" else WRONG[kind]
        before = list(watching.charged)
        try:
            call(**{**arguments, argument: bad})
        except (dp.DpcoreError, TypeError, ValueError) as error:
            if not isinstance(error, dp.DpcoreError) and not by_scikit_learn(name, argument):
                raise
            assert watching.charged == before, (argument, kind, error)  # noqa: PT017


SEEDED = [name for name, (_, arguments) in ALL.items() if "rng" in arguments]


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.filterwarnings("ignore")
def test_what_a_generator_has_drawn_is_charged_as_simulated(name, watching):
    call, arguments = ALL[name]
    call(**{**arguments, "rng": np.random.default_rng(1)})
    assert all(privacy.simulated for _, privacy in watching.charged), watching.charged
