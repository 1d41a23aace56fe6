"""Running counts that tests begin with."""

from __future__ import annotations

import numpy as np

from dpcore.streams import RunningCount, running_count

BUDGETS = [{"epsilon": 0.5}, {"rho": 0.02}]


def seeded(seed=1, horizon=100, **options):
    budget = {} if options.keys() & {"epsilon", "rho"} else {"epsilon": 0.5}
    return RunningCount(horizon, **budget, **options, rng=np.random.default_rng(seed))


def releases(counter, increments, replicates):
    """Outputs of the whole stream, (replicates, horizon), each by a counter as good as new."""
    outputs = np.empty((replicates, counter.horizon), np.int64)
    for row in outputs:
        counter._state = running_count._State(0, 0, counter._tree.start())
        row[:] = counter.extend(increments)
    return outputs
