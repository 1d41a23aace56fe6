"""Print deviations of running counts for epsilon = 1 under add-or-remove-one, beside others' trees.

The numerical optimum is of factorisations A = B C with columns of C of absolute sum 1, for few
steps: L-BFGS over C, and B by least squares (p-identity style; not restricted to causal B).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import minimize

from dpcore.streams import ConsistentTree, DyadicTree
from tests.reference import consistent as reference

ADDED = "add-or-remove-one"


def summary(variances):
    """Return the root mean square and the maximum as text."""
    return f"{np.sqrt(np.mean(variances)):8.2f} {np.sqrt(np.max(variances)):8.2f}"


def classic(steps):
    """Chan, Shi & Song 2011: the binary digits of the step, with a root."""
    levels = int(steps).bit_length()
    ones = np.array([int(t).bit_count() for t in range(1, steps + 1)])
    return 2.0 * levels**2 * ones


def honaker(steps):
    """Honaker 2015, in a stream: each node of the classic tree is refined from below."""
    levels = int(steps).bit_length()
    refined = 2.0 ** np.arange(levels) / (2.0 ** (np.arange(levels) + 1) - 1)
    digits = np.arange(1, steps + 1)[:, None] >> np.arange(levels) & 1
    return 2.0 * levels**2 * (digits @ refined)


def odd(steps):
    """Andersson, Pagh & Torkamani 2024: digits -(k - 1) / 2 to (k - 1) / 2, the best odd k."""
    best = None
    for base in range(3, 64, 2):
        height = 1
        while (base**height - 1) // 2 < steps:
            height += 1
        numbers, terms = np.arange(1, steps + 1), np.zeros(steps)
        for _ in range(height):
            digit = (numbers + base // 2) % base - base // 2
            terms += np.abs(digit)
            numbers = (numbers - digit) // base
        variances = 2.0 * height**2 * terms
        if best is None or variances.mean() < best.mean():
            best = variances
    return best


def tree_start(steps):
    """C of the consistent tree: the counts of all nodes, with the scale in them."""
    branching = ConsistentTree(1.0, neighbours=ADDED).noise(steps).epochs[0].branching
    columns = [reference.record_shift(branching, step) for step in range(steps)]
    return np.array(columns, float).T / len(branching)


def optimum(steps, starts, iterations):
    """Return the least mean and its maximum, of A C^+ over C with absolute column sums 1."""
    prefix = np.tril(np.ones((steps, steps)))
    workload = prefix.T @ prefix

    def value(flat):
        raw = flat.reshape(-1, steps)
        smooth = np.sqrt(raw**2 + 1e-12)
        sums = smooth.sum(axis=0)
        scaled = raw / sums
        inverse = np.linalg.inv(scaled.T @ scaled + 1e-12 * np.eye(steps))
        middle = inverse @ workload @ inverse
        gradient = -2 * scaled @ middle
        along = (gradient * raw).sum(axis=0) / sums**2
        slope = gradient / sums - along * raw / smooth
        return np.sum(inverse * workload), slope.reshape(-1)

    best = None
    for start in starts:
        options = {"maxiter": iterations, "maxfun": 2 * iterations}
        done = minimize(value, start.reshape(-1), jac=True, method="L-BFGS-B", options=options)
        if best is None or done.fun < best.fun:
            best = done
    raw = best.x.reshape(-1, steps)
    strategy = raw / np.abs(raw).sum(axis=0)
    return 2 * ((prefix @ np.linalg.pinv(strategy)) ** 2).sum(axis=1)


def print_table(most):
    """Print deviations with a horizon, up to a largest one."""
    print("rms and largest deviation: consistent, dyadic, classic, Honaker, odd digits, optimum")
    for steps in (32, 64, 128, 1024, 2**13, 2**16):
        if steps > most:
            break
        ours = ConsistentTree(1.0, neighbours=ADDED).noise_deviation(steps) ** 2
        dyadic = DyadicTree(1.0, neighbours=ADDED).noise_deviation(steps) ** 2
        rows = [ours, dyadic, classic(steps), honaker(steps), odd(steps)]
        if steps <= 128:
            rng = np.random.default_rng(1)
            tree = tree_start(steps)
            noise = [tree + 0.02 * rng.standard_normal(tree.shape)]
            noise += [np.eye(steps) + 0.1 * rng.random((2, steps, steps)).sum(axis=0)]
            rows.append(optimum(steps, noise, 1500))
        print(f"{steps:6d}", *(summary(row) for row in rows), sep=" | ", flush=True)


def print_growing():
    """Print deviations without a horizon."""
    steps = 2 ** np.arange(4, 25, 2)
    growing = ConsistentTree(1.0, neighbours=ADDED).noise_deviation(None, steps)
    print("step, deviation without a horizon, largest and rms with this horizon")
    for step, deviation in zip(steps.tolist(), growing, strict=True):
        some = np.unique(np.linspace(1, step, 4096).astype(np.int64))
        known = ConsistentTree(1.0, neighbours=ADDED).noise_deviation(step, some)
        print(f"{step:9d} {deviation:7.2f} {known.max():7.2f} {np.sqrt((known**2).mean()):7.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=2**16, help="the largest horizon")
    print_growing()
    print_table(parser.parse_args().most)
