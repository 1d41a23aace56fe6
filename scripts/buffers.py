"""Find the rates of ``dpcore/streams/buffer_rates.py``, and print that table.

python scripts/buffers.py (a minute)

c(x) = prod (1 - (1 - l_i) x) / (1 - (1 - m_i) x), with rates m_1 < l_1 < m_2 < l_2 < ... in (0, 1).
Known horizons minimise the geometric mean of the largest and the root mean square deviation. An
unknown one minimises the largest ratio, over horizons t, of the deviation at step t to the largest
deviation of a mechanism that knows t.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize

NODES = tuple(range(4, 33, 4))
START = np.log(
    np.diff(
        -np.log1p(
            -np.exp(
                [
                    -21.513,
                    -19.847,
                    -18.438,
                    -17.012,
                    -15.599,
                    -14.183,
                    -12.767,
                    -11.352,
                    -9.937,
                    -8.521,
                    -7.106,
                    -5.692,
                    -4.282,
                    -2.888,
                    -1.559,
                    -0.464,
                ]
            )
        ),
        prepend=0.0,
    )
)


def rates(point: Any) -> Any:
    """The rates of c's poles and of its zeros, which alternate, from unconstrained numbers."""
    levels = -np.expm1(-np.cumsum(np.exp(point)))
    return levels[0::2], levels[1::2]


def weights(poles: Any, zeros: Any) -> Any:
    """c_k = sum w_i (1 - m_i)^(k - 1) for k >= 1; b_k = s + sum v_i (1 - l_i)^k."""
    apart = zeros[:, None] - poles[None, :]  # theta_j - h_i
    among = poles[:, None] - poles[None, :]
    np.fill_diagonal(among, 1.0)
    w = np.abs(np.prod(apart, axis=0) / np.prod(among, axis=0))
    among = zeros[:, None] - zeros[None, :]
    np.fill_diagonal(among, 1.0)
    v = np.abs(np.prod(apart, axis=1) / np.prod(among, axis=1)) / zeros
    return w, v, np.prod(poles / zeros)


def squares_of_c(poles: Any, w: Any, horizon: Any) -> Any:
    """The sum of the first squares of c."""
    if horizon == 1:
        return 1.0
    both = poles[:, None] + poles - poles[:, None] * poles
    return 1.0 + np.sum(np.outer(w, w) * -np.expm1((horizon - 1) * np.log1p(-both)) / both)


def squares_of_b(zeros: Any, v: Any, s: Any, horizon: Any) -> Any:
    """The sum of the first squares, and the mean of these sums over the steps."""
    T = float(horizon)

    def sums(rate: Any) -> Any:
        log = np.log1p(-rate)
        total = -np.expm1(T * log) / rate
        # sum_k k y^k = (y - y^T (y + T rate)) / rate^2
        y, last = 1.0 - rate, np.exp(T * log)
        small = T * rate < 1e-3
        ramp = np.where(
            small,
            T * (T - 1) / 2 * (1 - rate * (2 * T - 1) / 3),
            (y - last * (y + T * rate)) / rate**2,
        )
        return total, total - ramp / T

    total, mean = sums(zeros)
    both = zeros[:, None] + zeros - zeros[:, None] * zeros
    total2, mean2 = sums(both)
    square = np.outer(v, v)
    most = T * s * s + 2 * s * (v @ total) + np.sum(square * total2)
    return most, s * s * (T + 1) / 2 + 2 * s * (v @ mean) + np.sum(square * mean2)


def deviations(point: Any, horizon: Any) -> Any:
    """The largest and the root mean square deviation, for a column of C of norm 1."""
    poles, zeros = rates(point)
    w, v, s = weights(poles, zeros)
    most, mean = squares_of_b(zeros, v, s, horizon)
    c = squares_of_c(poles, w, horizon)
    return np.sqrt(c * most), np.sqrt(c * mean)


def known(point: Any, horizon: Any) -> Any:
    """What a known horizon minimises."""
    most, mean = deviations(point, horizon)
    return 0.5 * np.log(most * mean)


def ratios(point: Any, best: Any, horizon: Any = 2**32) -> Any:
    """Logarithms of the deviations over the best, for each t."""
    poles, zeros = rates(point)
    w, v, s = weights(poles, zeros)
    c = squares_of_c(poles, w, horizon)
    reached = [c * squares_of_b(zeros, v, s, t)[0] for t in best]
    return 0.5 * np.log(np.array(reached)) - np.log(list(best.values()))


def unknown(point: Any, best: Any, sharp: Any) -> Any:
    """What an unknown horizon minimises: nearly the largest ratio."""
    log = ratios(point, best)
    top = log.max()
    return top + np.log(np.mean(np.exp(sharp * (log - top)))) / sharp


def least(loss: Any, start: Any, *more: Any) -> Any:
    """Where a loss is least, and how small."""
    with np.errstate(all="ignore"):
        for _ in range(4):
            found = minimize(
                loss, start, more, method="BFGS", options={"gtol": 1e-8, "maxiter": 500}
            )
            start = found.x
    return found.x, found.fun


def stretched(point: Any, by: Any) -> Any:
    """Rates of another horizon to begin with: the slowest move with it, the fastest stay."""
    logs = np.log(-np.log1p(-np.stack(rates(point), 1).reshape(-1)))
    logs -= np.log(by) * (logs - logs[-1]) / (logs[0] - logs[-1])
    return np.log(np.diff(np.exp(logs), prepend=0.0))


def between(points: Any, power: Any) -> Any:
    """Log-rates interpolate linearly in the logarithm of the horizon, as in the table's use."""
    logs = [np.log(np.stack(rates(points[node]), 1)) for node in NODES]
    at = np.array(
        [np.interp(power, NODES, column) for column in np.reshape(logs, (len(NODES), -1)).T]
    )
    poles, zeros = np.exp(at).reshape(-1, 2).T
    return poles, zeros


def main() -> None:
    """Find and print the rates, and what they reach."""
    points = {}
    point = START
    for power in range(32, 1, -1):
        if power < 32:
            point = stretched(point, 0.5)
        point, _ = least(known, point, 2**power)
        points[power] = point
    best = {1: 1.0, 2: 1.25}
    for power in range(2, 33):
        best[2**power] = deviations(points[power], 2**power)[0]
        poles, zeros = between(points, power)
        w, v, s = weights(poles, zeros)
        most, mean = squares_of_b(zeros, v, s, 2**power)
        c = squares_of_c(poles, w, 2**power)
        print(
            power,
            np.round(deviations(points[power], 2**power), 4),
            np.round([np.sqrt(c * most), np.sqrt(c * mean)], 4),
            flush=True,
        )
    point = points[32]
    for sharp in (10, 40, 160, 640):
        point, value = least(unknown, point, best, sharp)
    print(np.exp(value), np.exp(ratios(point, best)).round(3).tolist())
    for node in NODES:
        print(node, np.round(np.log(np.stack(rates(points[node]), 1)), 2).tolist())
    print("None", np.round(np.log(np.stack(rates(point), 1)), 3).tolist())


if __name__ == "__main__":
    main()
