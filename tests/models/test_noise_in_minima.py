"""What is put together in the end: the minimum, the noise, and how far off both may be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.models import minimum, perturbation
from dpcore.models.losses import Logistic, Squares
from dpcore.models.minimum import Objective
from dpcore.models.perturbation import by_objective, by_output, objective_noise, output_noise
from dpcore.models.scaling import unit_records
from dpcore.models.spherical import longest, relative_error
from dpcore.noise.sources import source
from dpcore.privacy.allowance import Allowance

BUDGET = Allowance.checked(1.0, None, "replace-one")
RECORDS = unit_records(np.random.default_rng(1).uniform(-1, 1, (2, 40)), True)
DIRECTION = np.array([0.6, 0.0, -0.8])
UNIT = 2.0**-53
LOSSES = [Logistic(), Squares(np.random.default_rng(2).uniform(-1, 1, 40))]


@pytest.fixture
def ends(monkeypatch):
    """What is covered: vectors and distances, with noise of length 3 in one direction."""
    seen = []

    def covered(vector, distance, budget, stream):
        assert budget is BUDGET
        seen.append((vector, distance))
        return vector

    monkeypatch.setattr(perturbation, "spherical", lambda size, stream: 3.0 * DIRECTION)
    monkeypatch.setattr(perturbation, "covered", covered)
    return seen


@pytest.mark.parametrize("loss", LOSSES)
def test_noise_is_added_to_the_minimum(ends, loss):
    by_output(RECORDS, loss, 0.01, BUDGET, source(None))
    ((vector, distance),) = ends
    objective, scale = Objective(RECORDS, loss, 0.01), output_noise(loss, 40, 0.01, BUDGET)
    assert vector - objective.minimum() == pytest.approx(3.0 * scale * DIRECTION, abs=1e-10)
    off = (relative_error(3) + 2 * UNIT) * scale * longest(3) + 2 * UNIT * objective.longest
    assert distance == pytest.approx(objective.distance + off, rel=1e-12, abs=0.0)
    assert off > 1e-4 * objective.distance  # so that it can be told whether it is in


def test_noise_is_in_the_objective(ends):
    by_objective(RECORDS, 0.01, BUDGET, source(None))
    ((vector, distance),) = ends
    penalty, scale = objective_noise(40, 0.01, BUDGET)
    most = scale * longest(3) / 40
    objective = Objective(RECORDS, Logistic(), penalty, 3.0 * scale / 40 * DIRECTION, most)
    assert vector == pytest.approx(objective.minimum(), abs=1e-9)
    off = (relative_error(3) + 4 * UNIT) * most / penalty
    assert distance == pytest.approx(objective.distance + off, rel=1e-9, abs=0.0)
    assert off > 1e-4 * objective.distance


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [1e-6, 0.01, 5.0])
def test_bounds_of_errors_are_those_of_the_proof(loss, penalty):
    tilt = np.array([0.0, 0.3, 0.4])
    objective = Objective(RECORDS, loss, penalty, tilt, 0.5)
    plain = math.sqrt(2 * math.log(2) / penalty) if loss is LOSSES[0] else 0.5 / math.sqrt(penalty)
    length = 2 * 0.5 / penalty + plain
    steep = 1.0 if loss is LOSSES[0] else 1.0 + length
    step = 2.0 ** -math.floor(math.log2(2.0**33 / (4.0 * length)))  # 20 of 53 bits are records'
    margins = loss.curvature * 4 * math.sqrt(3) * step
    rounding = UNIT * (margins + 128 * steep + 8 * (0.5 + penalty * length))
    assert objective.rounding == pytest.approx(rounding, rel=1e-12, abs=0.0)
    enough = 4 * (rounding + UNIT * loss.curvature * length)
    assert objective.enough == pytest.approx(enough, rel=1e-12, abs=0.0)
    assert objective.distance == pytest.approx(2 * enough / penalty, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("penalty", [2.0**-24, 1e-4, 0.1, 1.0, 100.0])
def test_the_bound_of_squares_is_above_what_is_proved(penalty):
    """Of q within [0, 1], twice q (1 + sqrt(q (1 - q) / penalty)) / penalty."""
    q = np.linspace(0.0, 1.0, 10_001)
    moved = 2.0 * np.max(q * (1.0 + np.sqrt(q * (1.0 - q) / penalty))) / penalty
    bound = LOSSES[1].moved(penalty)
    assert moved <= bound
    assert penalty > 1e-4 or moved > 0.98 * bound


def test_long_minima_of_many_features_are_found(monkeypatch):
    """Losses are as good as hinges: steps from 0 went from one kink to the next, 2000 times."""
    monkeypatch.setattr(minimum, "_MOST_STEPS", 100)
    rng = np.random.default_rng(1)
    columns = unit_records(np.sign(rng.uniform(-1, 1, (100, 56))), True) * rng.choice([-1, 1], 56)
    tilt = rng.normal(size=101)
    tilt *= 0.02 / np.linalg.norm(tilt)
    objective = Objective(columns, Logistic(), minimum.LEAST_PENALTY, tilt, 0.1)
    minimiser = objective.minimum()
    gradient = objective.gradient(minimiser, objective.margins(minimiser))
    assert math.hypot(*gradient) <= objective.enough
    assert np.linalg.norm(minimiser) > 1000.0
