"""What covers floating point: vectors of one ball are rounded to units that noise makes up for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.models.lattice import SHARE, covered
from dpcore.noise.sources import GeneratorSource, source
from dpcore.privacy.allowance import Allowance

BUDGET = Allowance.checked(1.0, None, "replace-one")


class Noted:
    """A law without noise, whose scale is kept."""

    def __init__(self, law):
        self.scale = law.scale

    def fill(self, out, stream):
        out[:] = 0


@pytest.fixture
def noted(monkeypatch):
    laws = []
    law = Allowance.law

    def without_noise(self, *arguments):
        laws.append(Noted(law(self, *arguments)))
        return laws[-1]

    monkeypatch.setattr(Allowance, "law", without_noise)
    return laws


@pytest.mark.parametrize("distance", [1e-12, 0.3, 0.25, 77.0])
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_noise_is_enough_for_all_vectors_of_a_ball(noted, size, distance):
    rng = np.random.default_rng(1)
    most = 0.0
    for k in range(200):
        center = rng.normal(size=size) * 10.0 ** rng.uniform(-3, 3)
        away = rng.normal(size=(2, size)) if k % 2 else rng.choice([-1.0, 1.0], (1, size))
        away *= distance / np.linalg.norm(away, axis=1)[:, None] * rng.choice([0.5, 1.0])
        if k % 2 == 0:
            away = np.vstack([away, -away])
        first, second = (covered(center + off, distance, BUDGET, source(None)) for off in away)
        pitch = math.ldexp(1.0, math.frexp(distance)[1] - 4)
        most = max(most, np.abs(first - second).sum() / pitch)
    assert distance / 16 <= pitch <= distance / 8
    changes = noted[-1].scale * SHARE  # for epsilon = 1
    assert most <= changes
    assert most > 0.7 * changes


def test_rounding_alone_may_take_a_unit_a_coordinate(noted):
    first, second = (
        covered(np.full(3, 0.5 + side), 2.0, BUDGET, source(None)) for side in (-1e-9, 1e-9)
    )
    assert np.abs(first - second).sum() == 0.0  # the pitch is 1/4
    halves = (np.full(3, 1 / 8 + side) for side in (-1e-9, 1e-9))
    first, second = (covered(half, 2.0, BUDGET, source(None)) for half in halves)
    assert np.abs(first - second).sum() == 3 * 0.25


def test_noise_follows_the_law():
    stream = GeneratorSource(np.random.default_rng(2))
    drawn = np.concatenate([covered(np.zeros(4), 1.0, BUDGET, stream) for _ in range(2000)])
    pitch = 1 / 8
    assert np.all(drawn / pitch == np.rint(drawn / pitch))
    scale = 64 * (math.ceil(2 * 8 * 2) + 1 + 4) * pitch
    assert np.abs(drawn).mean() == pytest.approx(scale, rel=5 / math.sqrt(drawn.size))


def test_large_vectors_are_not_rounded_away():
    vector = np.array([2.0**80, -(2.0**60)])
    released = covered(vector, 1e-3, BUDGET, source(None))
    assert released == pytest.approx(vector, rel=1e-9)
