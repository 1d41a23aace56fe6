"""Gaussian mechanisms from releases alone: how far neighbours are apart, and bounds on delta.

Cumulative counts from Gaussian noise, whatever the mechanism, tell two inputs apart no better than
one Gaussian number does whose means are mu standard deviations apart: the distance of the two means
in the geometry of the release's own covariance. The best event is a half-space across it
(docs/proofs/privacy.md, sections 3 and 8).
"""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, ToeplitzGaussian
from dpcore.privacy import gaussian_delta, gaussian_sigma, zcdp_rho
from tests.audit.harness import delta_lower_bound, unit_changes

CELLS, RHO, EPSILON, DELTA, RELEASES = 5, 0.5, 1.0, 0.04, 400_000
OTHER_RELATION = {"neighbours": "add-or-remove-one"}
BINARY = {"branching": 2, "budgets": "equal"}
MECHANISMS = [
    (Dyadic, {}),
    (ToeplitzGaussian, {}),
    (ToeplitzGaussian, OTHER_RELATION),
    (Hierarchy, {}),
    (Hierarchy, OTHER_RELATION),
    (Hierarchy, BINARY),
    (Histogram, {}),
    (Dyadic, {"base": 3}),
    (Hierarchy, {**BINARY, **OTHER_RELATION}),
]


def released(mechanism, counts):
    seed = counts @ 7 ** np.arange(CELLS)
    return mechanism.release(counts, rng=np.random.default_rng(seed), replicates=RELEASES)


def audited(mechanism):
    """The largest squared distance of two neighbours' means, and a lower bound on delta."""
    base = np.full(CELLS, 4)
    changes = unit_changes(CELLS, mechanism.privacy.neighbours)
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
@pytest.mark.needs_jit
@pytest.mark.parametrize(("kind", "shape"), MECHANISMS)
def test_rho_holds_and_a_fifth_less_noise_is_caught(kind, shape):
    claim = gaussian_delta(1.0, EPSILON, np.sqrt(2 * RHO))  # of continuous noise: sigma is large
    distance, delta = audited(kind(rho=RHO, **shape))
    assert 0.97 * 2 * RHO < distance < 1.02 * 2 * RHO
    assert 0.8 * claim < delta < claim
    distance, delta = audited(kind(rho=RHO * 25 / 16, **shape))  # sigma is a fifth too small
    assert distance > 1.4 * 2 * RHO
    assert delta > 1.2 * claim


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("kind", "shape"), [(Histogram, OTHER_RELATION), *MECHANISMS[::-1]])
def test_delta_holds_and_a_fifth_less_noise_is_caught(kind, shape):
    mechanism = kind(epsilon=EPSILON, delta=DELTA, **shape)
    assert (mechanism.privacy.epsilon, mechanism.privacy.delta) == (EPSILON, DELTA)
    sigma = gaussian_sigma(EPSILON, DELTA)
    distance, delta = audited(mechanism)
    assert 0.97 < distance * sigma**2 < 1.02
    assert distance > 1.2 * 2 * zcdp_rho(EPSILON, DELTA)  # far more than rho would have let it be
    assert 0.6 * DELTA < delta <= DELTA
    too_much = gaussian_delta(0.8 * sigma, EPSILON)
    _, delta = audited(kind(epsilon=EPSILON, delta=too_much, **shape))
    assert delta > 1.1 * DELTA
