"""Running counts that tests begin with."""

from __future__ import annotations

import numpy as np

from dpcore.streams import DyadicTree, RunningCount

BUDGETS = [{"epsilon": 0.5}, {"rho": 0.02}]


def seeded(seed=1, horizon=100, **options):
    budget = {} if options.keys() & {"epsilon", "rho"} else {"epsilon": 0.5}
    mechanism = DyadicTree(**budget, **options)
    return RunningCount(horizon, mechanism, rng=np.random.default_rng(seed))


def stepped(noise, before, at, increment, state):
    """Take a step of all counters of a noise, with what comes to each, and return the outputs."""
    outputs, state = noise.outputs(increment[None], before, at, state)
    return np.rint(outputs[0]).astype(np.int64), before + increment, state


def releases(noise, increments):
    """Outputs of a whole stream, (replicates, horizon), one by each counter of a noise."""
    rows = np.repeat(np.array(increments)[:, None], noise.width, axis=1)
    outputs, _ = noise.outputs(rows, np.zeros(noise.width, np.int64), 0, noise.start())
    return np.rint(outputs.T).astype(np.int64)
