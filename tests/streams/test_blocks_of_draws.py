"""In what blocks noise is drawn, and that each draw becomes the node that it is for."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.noise.laws import DiscreteLaplace
from dpcore.streams import RunningCount


@pytest.fixture
def drawn(monkeypatch):
    """All draws, block by block."""
    blocks = []
    fill = DiscreteLaplace.fill

    def noted(self, out, stream):
        fill(self, out, stream)
        blocks.append(out.copy())

    monkeypatch.setattr(DiscreteLaplace, "fill", noted)
    return blocks


def outputs(draws, steps, base, levels):
    """What comes out where nothing is counted: the sum of the open nodes, by their definition."""
    draws, open_nodes, found = iter(draws), [0] * levels, []
    for step in range(steps):
        for level in range(levels):
            if step % base**level == 0:
                open_nodes[level] = next(draws)
        found.append(sum(open_nodes))
    return found


@pytest.mark.parametrize(("base", "levels"), [(2, 14), (3, 9), (7, 6), (5000, 2)])
@pytest.mark.parametrize("rng", [None, np.random.default_rng(1)])
def test_every_draw_is_the_noise_of_its_node(drawn, base, levels, rng):
    counter = RunningCount(5000, epsilon=1.0, base=base, rng=rng)
    found = []
    for steps in (1, 2, 1, 48, 9, 2500, 1, 2000, 438):
        found.extend(counter.extend(np.zeros(steps, int)).tolist())
    assert found == outputs(np.concatenate(drawn).tolist(), 5000, base, levels)


def test_a_release_draws_at_once_what_a_call_takes(drawn):
    counter = RunningCount(100_000, epsilon=1.0)
    counter.extend(np.zeros(30_000, int))
    nodes = sum(-(-30_000 // 2**level) for level in range(18))
    assert [block.size for block in drawn] == [nodes]
    counter.add(0)
    assert drawn[1].size == 1024
    counter.extend(np.zeros(69_999, int))
    assert max(block.size for block in drawn) == 2**16
    assert sum(block.size for block in drawn) == sum(-(-100_000 // 2**level) for level in range(18))


def test_a_study_draws_in_blocks_of_one_size(drawn):
    RunningCount(5000, epsilon=1.0, rng=np.random.default_rng(1)).extend(np.zeros(5000, int))
    assert [block.size for block in drawn[:-1]] == [1024] * 9
