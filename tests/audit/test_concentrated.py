"""Gaussian mechanisms from releases alone: how far neighbours are apart, and bounds on delta.

Cumulative counts from Gaussian noise, whatever the mechanism, tell two inputs apart no better than
one Gaussian number does whose means are sqrt(2 rho) standard deviations apart: the distance of the
two means in the geometry of the release's own covariance. The best event is a half-space across it.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, ToeplitzGaussian
from dpcore.privacy import gaussian_delta
from tests.audit.harness import delta_lower_bound

pytestmark = pytest.mark.needs_jit

CELLS, RHO, EPSILON, RELEASES = 5, 0.5, 1.0, 400_000
BOTH = ["replace-one", "add-or-remove-one"]
MECHANISMS = [
    *(lambda rho, relation=relation: ToeplitzGaussian(rho, relation) for relation in BOTH),
    *(lambda rho, relation=relation: Hierarchy(rho=rho, neighbours=relation) for relation in BOTH),
    lambda rho: Hierarchy(rho=rho, branching=2, budgets="equal"),
    lambda rho: Histogram(rho=rho),
    lambda rho: Dyadic(rho=rho),
    lambda rho: Dyadic(rho=rho, base=3),
]


def released(mechanism, counts):
    return mechanism.release(
        counts, rng=np.random.default_rng(counts @ 7 ** np.arange(CELLS)), replicates=RELEASES
    )


def audited(mechanism):
    """The largest squared distance of two neighbours' means, and a lower bound on delta."""
    base = np.full(CELLS, 4)
    unit = np.eye(CELLS, dtype=np.int64)
    changes = list(unit)
    if mechanism.privacy.neighbours == "replace-one":
        changes = [unit[a] - unit[b] for a in range(CELLS) for b in range(CELLS) if a != b]
    noise = released(mechanism, base) - np.cumsum(base)
    inverse = np.linalg.pinv(np.cov(noise.T), rcond=1e-6)
    steps = [np.cumsum(change) for change in changes]
    squares = [step @ inverse @ step for step in steps]
    worst = int(np.argmax(squares))
    direction = inverse @ steps[worst]
    first = released(mechanism, base + changes[worst]) @ direction
    second = released(mechanism, base) @ direction
    return squares[worst], delta_lower_bound(first, second, EPSILON)


@pytest.mark.sample(1)
@pytest.mark.parametrize("make", MECHANISMS)
def test_claim_holds_and_a_fifth_less_noise_is_caught(make):
    claim = gaussian_delta(1.0, EPSILON, np.sqrt(2 * RHO))  # of continuous noise: sigma is large
    distance, delta = audited(make(RHO))
    assert 0.97 * 2 * RHO < distance < 1.02 * 2 * RHO
    assert 0.8 * claim < delta < claim
    distance, delta = audited(make(RHO * 25 / 16))  # sigma is a fifth too small
    assert distance > 1.4 * 2 * RHO
    assert delta > 1.2 * claim
