"""Running counts that tests begin with."""

from __future__ import annotations

import numpy as np

from dpcore.streams import DyadicTree, RunningCount

BUDGETS = [{"epsilon": 0.5}, {"rho": 0.02}]


def seeded(seed=1, horizon=100, **options):
    budget = {} if options.keys() & {"epsilon", "rho"} else {"epsilon": 0.5}
    mechanism = DyadicTree(**budget, **options)
    return RunningCount(horizon, mechanism, rng=np.random.default_rng(seed))


def as_new(counter):
    """Put the counter back to its first step, with other draws to come."""
    fresh = [noise.start() for noise in counter._noises]
    counter._state = counter._state._replace(step=0, sums=np.zeros(1, np.int64), noise=tuple(fresh))


def releases(counter, increments, replicates):
    """Outputs of the whole stream, (replicates, horizon), each by a counter as good as new."""
    outputs = np.empty((replicates, counter.horizon), np.int64)
    for row in outputs:
        as_new(counter)
        row[:] = counter.extend(increments)
    return outputs
